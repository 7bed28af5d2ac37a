// SPDX-License-Identifier: Apache-2.0
#include "verif/platform/systemc_nic.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "sim/device/model_nic.h"
#include "sim/device/nic_devices.h"
#include "sim/time/systemc_scheduler.h"

namespace vireo::sim {
namespace {

using platform::DmaExtension;
using platform::VireoNic;

VireoNic::Options OptionsOf(const spec::Config& config) {
  VireoNic::Options options;
  options.config = &config;
  options.write_buffer_bytes = 0;
  options.has_mac = false;
  options.runs_firmware = false;
  return options;
}

[[noreturn]] void Defect(const std::string& what) {
  std::fprintf(stderr, "SystemcNic: %s\n", what.c_str());
  std::abort();
}

}  // namespace

SystemcNic::SystemcNic(const sc_core::sc_module_name& name, const NicContext& context, const SystemcNicFaults& faults)
    : sc_core::sc_module(name),
      scheduler_(context.scheduler),
      clock_(context.clock),
      environment_(context.environment),
      faults_(faults),
      client_(scheduler_.AddClient(*this)),
      config_("config"),
      memory_("memory"),
      management_("management"),
      dma_("dma"),
      nic_("nic", OptionsOf(context.config)) {
  config_.bind(nic_.config_socket);
  memory_.bind(nic_.memory_socket);
  management_.bind(nic_.management_socket);
  nic_.dma_socket.bind(dma_);
  nic_.edge_out.bind(*this);
  dma_.register_b_transport(this, &SystemcNic::ServeDma);
  for (unsigned tag = 0; tag < context.config.dma_tags; ++tag) reads_.push_back(std::make_unique<Read>());
}

// Nothing here may move an input to another cycle.
void SystemcNic::CheckCycle(Cycle cycle, const char* what) const {
  if (clock_.Begin(cycle) != scheduler_.now()) Defect(std::string(what) + " not at the start of its cycle");
}

void SystemcNic::Reset(Cycle cycle) {
  CheckCycle(cycle, "reset");
  ++epoch_;
  for (const auto& read : reads_) {
    if (std::exchange(read->complete, nullptr) != nullptr) read->done.notify(sc_core::SC_ZERO_TIME);
  }
  nic_.Reset();
}

// --- Inputs

uint64_t SystemcNic::Access(InitiatorSocket& socket, bool is_write, uint64_t address, unsigned bytes, uint64_t value) {
  uint8_t data[sizeof value];
  for (unsigned i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(value >> 8 * i);
  tlm::tlm_generic_payload transaction;
  transaction.set_command(is_write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  transaction.set_address(address);
  transaction.set_data_ptr(data);
  transaction.set_data_length(bytes);
  transaction.set_streaming_width(bytes);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->b_transport(transaction, delay);
  if (!transaction.is_response_ok() || delay != sc_core::SC_ZERO_TIME) {
    Defect("access at " + std::to_string(address) + ": " + transaction.get_response_string());
  }
  value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint64_t{data[i]} << 8 * i;
  return value;
}

// Debug transport, because b_transport would serve the window of virtio_pci_cfg.
uint32_t SystemcNic::Config(bool is_write, uint64_t offset, unsigned bytes, uint32_t value) {
  // A host enumerates when all NICs are built, but before it runs the simulation: sockets are bound from here on.
  if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) sc_core::sc_start(sc_core::SC_ZERO_TIME);
  uint8_t data[sizeof value];
  for (unsigned i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(value >> 8 * i);
  tlm::tlm_generic_payload transaction;
  transaction.set_command(is_write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  transaction.set_address(offset);
  transaction.set_data_ptr(data);
  transaction.set_data_length(bytes);
  if (config_->transport_dbg(transaction) != bytes) Defect("configuration space at " + std::to_string(offset));
  value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint32_t{data[i]} << 8 * i;
  return value;
}

// An access in a thread of its own, in this cycle.
void SystemcNic::Start(Cycle delay, std::function<void()> access) {
  ++accesses_;
  threads_.Run([this, delay, access = std::move(access)] {
    if (delay != 0) sc_core::wait(sc_core::sc_time::from_value(clock_.Begin(Now() + delay) - scheduler_.now()));
    access();
    --accesses_;
    Touch();
  });
}

uint64_t SystemcNic::BarAddress(unsigned bar) {
  const uint64_t at = spec::PciHeader::kBaseAddressOffset + bar * sizeof(uint32_t);
  return (Config(false, at, 4, 0) & ~uint64_t{0xf}) | uint64_t{Config(false, at + sizeof(uint32_t), 4, 0)} << 32;
}

void SystemcNic::ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) {
  CheckCycle(cycle, "BAR read");
  Start(faults_.bar_access_delay, [this, address = BarAddress(bar) + offset, bytes, epoch = epoch_] {
    const uint64_t value = Access(memory_, false, address, bytes, 0);
    if (epoch == epoch_) environment_.CompleteBarRead(Now(), value);
  });
}

void SystemcNic::WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  CheckCycle(cycle, "BAR write");
  Start(faults_.bar_access_delay,
        [this, address = BarAddress(bar) + offset, bytes, value] { Access(memory_, true, address, bytes, value); });
}

void SystemcNic::ReadCsr(Cycle cycle, uint32_t offset) {
  CheckCycle(cycle, "CSR read");
  Start(faults_.csr_access_delay, [this, offset, epoch = epoch_] {
    const uint64_t value = Access(management_, false, offset, sizeof(uint32_t), 0);
    if (epoch == epoch_) environment_.CompleteCsrRead(Now(), static_cast<uint32_t>(value));
  });
}

void SystemcNic::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  CheckCycle(cycle, "CSR write");
  Start(faults_.csr_access_delay,
        [this, offset, value] { Access(management_, true, offset, sizeof(uint32_t), value); });
}

void SystemcNic::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  CheckCycle(cycle, "completion");
  Read& read = *reads_.at(completion.tag);
  if (read.complete == nullptr) Defect("completion for tag " + std::to_string(completion.tag) + ", which is free");
  (*read.complete)(completion.data, completion.status, completion.last);
  if (!completion.last) return;
  read.complete = nullptr;
  read.done.notify(sc_core::SC_ZERO_TIME);
}

void SystemcNic::RefuseDmaWrite(Cycle cycle) {
  CheckCycle(cycle, "refusal");
  nic_.edge_in->RefuseDmaWrite();
}

void SystemcNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  CheckCycle(cycle, "credits");
  nic_.edge_in->ReturnCredits(kind, beats);
}

void SystemcNic::ReceiveFrame(Cycle start, Cycle, std::span<const uint8_t> bytes, bool mac_error) {
  CheckCycle(start, "frame");
  nic_.edge_in->ReceiveFrame(bytes, mac_error);
}

void SystemcNic::SetLink(Cycle cycle, bool up) {
  CheckCycle(cycle, "link");
  nic_.edge_in->SetLink(up);
}

// --- Outputs, in the cycle in which they come

void SystemcNic::ServeDma(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
  const auto* extension = transaction.get_extension<DmaExtension>();
  if (extension == nullptr || delay != sc_core::SC_ZERO_TIME) Defect("DMA without its extension");
  const std::span<uint8_t> data(transaction.get_data_ptr(), transaction.get_data_length());
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  switch (extension->kind) {
    case DmaExtension::Kind::kRead: {
      Read& read = *reads_.at(extension->tag);
      const uint64_t epoch = epoch_;
      read.complete = &extension->complete;
      environment_.ReadDma(
          Now(), {extension->tag, transaction.get_address(), static_cast<uint32_t>(transaction.get_data_length())});
      Touch();
      while (epoch == epoch_ && read.complete == &extension->complete) sc_core::wait(read.done);
      return;
    }
    case DmaExtension::Kind::kWrite: environment_.WriteDma(Now(), {transaction.get_address(), data}); break;
    case DmaExtension::Kind::kMessage: environment_.SendMsix(Now(), extension->vector); break;
  }
  Touch();
}

void SystemcNic::TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) {
  if (end != Now()) Defect("frame outside of its cycle");
  environment_.TransmitFrame(start, end, bytes);
  Touch();
}

void SystemcNic::SetFirmwareInterrupt(bool level) {
  environment_.SetFirmwareInterrupt(Now(), level);
  Touch();
}

// --- Devices

NicFactory SystemcDeviceFactory(std::string_view name, const LockstepOptions& lockstep,
                                const SystemcNicFaults& faults) {
  const NicFactory systemc = [faults](const NicContext& context) {
    return std::make_unique<SystemcNic>(context, faults);
  };
  if (name == "systemc") return systemc;
  if (name != "systemc_rtl" && name != "systemc_model") return NicDeviceFactory(name, lockstep);
  const std::string master = name == "systemc_rtl" ? "rtl" : "model";
  LockstepOptions options = lockstep;
  options.master_name = master;
  options.shadow_name = "systemc";
  return [options, systemc, factory = NicDeviceFactory(master)](const NicContext& context) -> std::unique_ptr<Nic> {
    auto nic = std::make_unique<LockstepNic>(context, factory, systemc, options);
    if (!nic->is_built()) return nullptr;
    return nic;
  };
}

void UseSystemcDevices(RdmaSystemOptions& options, const SystemcNicFaults& faults) {
  options.devices = [faults](std::string_view name, const LockstepOptions& lockstep) {
    return SystemcDeviceFactory(name, lockstep, faults);
  };
  options.make_scheduler = [] { return std::make_unique<SystemcScheduler>(); };
}

}  // namespace vireo::sim
