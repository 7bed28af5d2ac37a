// SPDX-License-Identifier: Apache-2.0
#include "platform/vireo_nic.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "platform/thread_pool.h"
#include "sim/device/model_nic.h"
#include "sim/nic/nic_context.h"
#include "sim/time/module_scheduler.h"
#include "sim/topology/firmware_runner.h"
#include "sim/wire/wire.h"

namespace vireo::platform {
namespace {

using sc_core::sc_time;
using sim::Cycle;
using sim::Picoseconds;
using spec::PciHeader;

constexpr unsigned kBars = sizeof(PciHeader{}.base_address) / sizeof(uint32_t);
constexpr uint64_t kBarAttributeBits = 0xf;  // of a memory BAR's low register (PCIe 5.0, 7.5.1.2.1)
constexpr size_t kMessageBytes = 4;          // PCIe 5.0, 6.1.4: what MSI-X writes

// Synchronizes a temporally decoupled initiator: waits for its local time offset.
void Synchronize(sc_time& delay) {
  if (delay == sc_core::SC_ZERO_TIME) return;
  sc_core::wait(delay);
  delay = sc_core::SC_ZERO_TIME;
}

uint64_t LittleEndian(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[i]} << 8 * i;
  return value;
}

void PutLittleEndian(uint64_t value, uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * i);
}

}  // namespace

// Environment of the device: converts calls of the seam to transactions and transactions to calls of the seam.
class VireoNic::Impl final : private sim::NicEnvironment,
                             private sim::Scheduler::Client,
                             private sim::FrameReceiver,
                             public FrameInterface,
                             public EdgeInterface {
 public:
  Impl(VireoNic& module, const Options& options);

  tlm::tlm_response_status Config(tlm::tlm_generic_payload& transaction);
  tlm::tlm_response_status Memory(tlm::tlm_generic_payload& transaction);
  tlm::tlm_response_status Management(tlm::tlm_generic_payload& transaction);
  unsigned DebugConfig(tlm::tlm_generic_payload& transaction);
  void Reset();

  void TakeFrame(const Frame& frame) override;
  void ReturnCredits(sim::CreditKind kind, uint32_t beats) override { nic_.ReturnCredits(EdgeCycle(), kind, beats); }
  void RefuseDmaWrite() override { nic_.RefuseDmaWrite(EdgeCycle()); }
  void ReceiveFrame(std::span<const uint8_t> bytes, bool mac_error) override;
  void SetLink(bool up) override { nic_.SetLink(EdgeCycle(), up); }

  bool is_ready() const { return firmware_ != nullptr && firmware_->is_started(); }
  bool IsIdle() { return scheduler_.empty() && IsIdleUntilDeadline() && readers_.IsIdle(); }
  bool IsIdleUntilDeadline() const { return nic_.IsIdle() && bus_.empty() && !bus_is_busy_ && interrupts_.empty(); }
  Cycle NextDeadline() const { return nic_.NextDeadline(); }
  uint64_t run_cycles() const { return nic_.run_cycles(); }
  const Counters& counters() const { return counters_; }

 private:
  // Of a read of the platform.
  struct Answer {
    uint64_t value = ~uint64_t{0};
    bool is_done = false;
    sc_core::sc_event done;

    void Put(uint64_t what) {
      value = what;
      is_done = true;
      done.notify();
    }
    uint64_t Wait() {
      while (!is_done) sc_core::wait(done);
      return value;
    }
  };
  // Output to the bus, in order.
  struct BusItem {
    enum class Kind : uint8_t { kRead, kWrite, kMessage, kBarAnswer } kind{};
    sim::DmaRead read{};
    uint64_t address = 0, value = 0;
    uint16_t vector = 0;
    std::vector<uint8_t> data{};
  };
  struct Completion {
    sim::DmaRead read;
    std::vector<uint8_t> data;  // none: it failed
  };

  // --- sim::NicEnvironment
  void CompleteBarRead(Cycle, uint64_t value) override {
    PutOnBus({.kind = BusItem::Kind::kBarAnswer, .value = value});
  }
  void ReadDma(Cycle, const sim::DmaRead& read) override { PutOnBus({.kind = BusItem::Kind::kRead, .read = read}); }
  void WriteDma(Cycle, const sim::DmaWrite& write) override {
    PutOnBus({.kind = BusItem::Kind::kWrite,
              .address = write.address,
              .data = std::vector<uint8_t>(write.data.begin(), write.data.end())});
  }
  void SendMsix(Cycle, uint16_t vector) override;
  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override;
  void CompleteCsrRead(Cycle cycle, uint32_t value) override;
  void SetFirmwareInterrupt(Cycle cycle, bool level) override;

  void OnTime(uint64_t) override;
  void OnFrame(sim::WireFrame frame) override;

  void Restart(Cycle cycle);
  std::optional<tlm::tlm_response_status> Check(const tlm::tlm_generic_payload& transaction, unsigned longest);
  tlm::tlm_response_status Refuse(tlm::tlm_response_status status);
  bool AccessWindow(uint32_t offset, unsigned bytes, bool write, uint64_t* value);
  uint64_t AccessBar(bool write, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);
  uint32_t ReadConfig(uint64_t offset, unsigned bytes) {
    return nic_.ReadConfig(clock_.Containing(scheduler_.now()), static_cast<uint16_t>(offset), bytes);
  }
  void WriteConfig(uint64_t offset, unsigned bytes, uint64_t value) {
    nic_.WriteConfig(clock_.Containing(scheduler_.now()), static_cast<uint16_t>(offset), bytes,
                     static_cast<uint32_t>(value));
  }
  Cycle Claim(Cycle& free);
  Cycle EdgeCycle();

  void PutOnBus(BusItem item);
  void RunBus();
  void SendInterrupts();
  void Read(const sim::DmaRead& read);
  void Write(const BusItem& item, std::vector<uint8_t> data, DmaExtension::Kind kind);
  bool Transport(tlm::tlm_command command, uint64_t address, std::span<uint8_t> data, DmaExtension& extension,
                 sc_time* delay);
  void GiveCredits(Cycle cycle, uint32_t beats);

  VireoNic& module_;
  const Options options_;
  const std::string name_;
  const sim::CoreClock clock_;
  const uint32_t beat_bytes_;
  sim::ModuleScheduler scheduler_{"scheduler"};
  sim::ModelNic nic_;
  const sim::Scheduler::ClientNumber client_;
  std::unique_ptr<sim::Wire> wire_;
  std::unique_ptr<sim::MacPort> mac_;              // null: the platform's
  std::unique_ptr<sim::FirmwareRunner> firmware_;  // likewise
  Counters counters_;

  uint64_t epoch_ = 0;  // number of resets
  Cycle first_input_ = 0;
  Cycle bar_free_ = 0, csr_free_ = 0, completion_free_ = 0;
  std::deque<std::shared_ptr<Answer>> bar_reads_;  // outstanding
  std::shared_ptr<Answer> csr_read_;               // likewise
  std::multimap<Cycle, Completion> completions_;   // by the first cycle in which they may enter
  std::multimap<Cycle, uint32_t> credits_;         // of the write buffer, likewise

  std::deque<BusItem> bus_;
  bool bus_is_busy_ = false;
  sc_core::sc_event bus_event_;
  ThreadPool readers_{"reader"};

  std::deque<bool> interrupts_;  // levels for edge_out, not sent
  sc_core::sc_event interrupt_event_;
};

VireoNic::Impl::Impl(VireoNic& module, const Options& options)
    : module_(module),
      options_(options),
      name_(module.name()),
      clock_(options.config->core_clock_khz),
      beat_bytes_(sim::BeatBytes(*options.config)),
      nic_({name_, 0, *options_.config, clock_, scheduler_, *this}, options.pci),
      client_(scheduler_.AddClient(*this)) {
  if (options.has_mac) {
    sim::MacParameters parameters;
    parameters.buffer_bytes = std::max(parameters.buffer_bytes, 4 * options.config->max_frame_bytes);
    wire_ = std::make_unique<sim::Wire>(scheduler_, sim::WireParameters{options.config->link_mbps, 0});
    mac_ = std::make_unique<sim::MacPort>(scheduler_, clock_, *options_.config, parameters);
    mac_->Attach(nic_);
    mac_->Connect(*wire_, 0);
    wire_->Connect(1, *this);
  }
  if (options.runs_firmware) {
    const sim::FirmwareRunner::Options runner{.access_cycles = options.access_cycles, .firmware = options.firmware};
    firmware_ = std::make_unique<sim::FirmwareRunner>(scheduler_, clock_, static_cast<sim::Nic&>(nic_), runner);
  }
  Restart(0);
  sc_core::sc_spawn_options spawn;
  spawn.set_stack_size(ThreadPool::kStackBytes);
  sc_core::sc_spawn([this] { RunBus(); }, "bus", &spawn);
  sc_core::sc_spawn_options method;
  method.spawn_method();
  method.dont_initialize();
  method.set_sensitivity(&interrupt_event_);
  sc_core::sc_spawn([this] { SendInterrupts(); }, "interrupt", &method);
}

// --- Reset and time

void VireoNic::Impl::Reset() {
  const Cycle cycle = clock_.AtOrAfter(scheduler_.now());
  if (clock_.Begin(cycle) == scheduler_.now()) return Restart(cycle);
  scheduler_.Call(clock_.Begin(cycle), [this, cycle] { Restart(cycle); });
}

void VireoNic::Impl::Restart(Cycle cycle) {
  ++epoch_;
  first_input_ = bar_free_ = csr_free_ = completion_free_ = cycle + sim::kResetCycles;
  completions_.clear();
  credits_.clear();
  bus_.clear();
  interrupts_.clear();
  for (const auto& read : std::exchange(bar_reads_, {})) read->Put(~uint64_t{0});
  if (const auto read = std::exchange(csr_read_, nullptr)) read->Put(~uint64_t{0});
  nic_.Reset(cycle);
  if (mac_ != nullptr) mac_->Restart(first_input_);
  if (firmware_ != nullptr) firmware_->Restart(first_input_);
  if (options_.write_buffer_bytes != 0) GiveCredits(first_input_, options_.write_buffer_bytes / beat_bytes_);
}

void VireoNic::Impl::GiveCredits(Cycle cycle, uint32_t beats) {
  credits_.emplace(cycle, beats);
  scheduler_.At(clock_.Begin(cycle), client_);
}

// At the start of a cycle.
void VireoNic::Impl::OnTime(uint64_t) {
  const Cycle cycle = clock_.Containing(scheduler_.now());
  for (; !credits_.empty() && credits_.begin()->first <= cycle; credits_.erase(credits_.begin())) {
    nic_.ReturnCredits(cycle, sim::CreditKind::kDmaWrite, credits_.begin()->second);
  }
  if (completions_.empty() || std::max(completions_.begin()->first, completion_free_) > cycle) return;
  const Completion completion = std::move(completions_.begin()->second);
  completions_.erase(completions_.begin());
  const sim::DmaRead& read = completion.read;
  const bool failed = completion.data.empty();
  completion_free_ = cycle + sim::DmaBeats(read.address, completion.data.size(), beat_bytes_);
  nic_.CompleteDmaRead(cycle, {.tag = read.tag,
                               .offset = 0,
                               .address = read.address,
                               .data = completion.data,
                               .last = true,
                               .status = failed ? sim::DmaStatus::kUnsupportedRequest : sim::DmaStatus::kOk});
  if (!completions_.empty()) scheduler_.At(clock_.Begin(completion_free_), client_);
}

// In a thread: waits for the start of the next cycle in which a port is free, and takes it.
Cycle VireoNic::Impl::Claim(Cycle& free) {
  for (;;) {
    const uint64_t epoch = epoch_;
    const Cycle cycle = std::max(clock_.AtOrAfter(scheduler_.now()), free);
    free = cycle + 1;
    const Picoseconds left = clock_.Begin(cycle) - scheduler_.now();
    if (left != 0) sc_core::wait(sc_time::from_value(left));
    if (epoch == epoch_) return cycle;
  }
}

Cycle VireoNic::Impl::EdgeCycle() {
  const Cycle cycle = clock_.Containing(scheduler_.now());
  if (clock_.Begin(cycle) != scheduler_.now()) SC_REPORT_FATAL("vireo", "edge_in: not at the start of a core cycle");
  return cycle;
}

// --- Requests of the platform

tlm::tlm_response_status VireoNic::Impl::Refuse(tlm::tlm_response_status status) {
  ++counters_.refused_accesses;
  return status;
}

std::optional<tlm::tlm_response_status> VireoNic::Impl::Check(const tlm::tlm_generic_payload& transaction,
                                                              unsigned longest) {
  const unsigned bytes = transaction.get_data_length();
  if (!transaction.is_read() && !transaction.is_write()) return Refuse(tlm::TLM_COMMAND_ERROR_RESPONSE);
  if (transaction.get_byte_enable_ptr() != nullptr) return Refuse(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  if (!std::has_single_bit(bytes) || bytes > longest || transaction.get_address() % bytes != 0 ||
      transaction.get_streaming_width() < bytes) {
    return Refuse(tlm::TLM_BURST_ERROR_RESPONSE);
  }
  return std::nullopt;
}

tlm::tlm_response_status VireoNic::Impl::Config(tlm::tlm_generic_payload& transaction) {
  if (const auto error = Check(transaction, sizeof(uint32_t))) return *error;
  const unsigned bytes = transaction.get_data_length();
  const uint64_t address = transaction.get_address();
  uint8_t* const data = transaction.get_data_ptr();
  if (address >= spec::kPcieConfigBytes) return Refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  uint64_t value = transaction.is_write() ? LittleEndian(data, bytes) : 0;
  if (!AccessWindow(static_cast<uint32_t>(address), bytes, transaction.is_write(), &value)) {
    if (transaction.is_write()) {
      WriteConfig(address, bytes, value);
    } else {
      value = ReadConfig(address, bytes);
    }
  }
  if (transaction.is_read()) PutLittleEndian(value, data, bytes);
  return tlm::TLM_OK_RESPONSE;
}

unsigned VireoNic::Impl::DebugConfig(tlm::tlm_generic_payload& transaction) {
  const uint64_t address = transaction.get_address();
  const unsigned bytes = transaction.get_data_length();
  if (address >= spec::kPcieConfigBytes || bytes > spec::kPcieConfigBytes - address) return 0;
  if (!transaction.is_read() && !transaction.is_write()) return 0;
  // As one access where that is one.
  const bool is_one = std::has_single_bit(bytes) && bytes <= sizeof(uint32_t) && address % bytes == 0;
  const unsigned step = is_one ? bytes : 1;
  for (unsigned i = 0; i < bytes; i += step) {
    uint8_t* const data = transaction.get_data_ptr() + i;
    if (transaction.is_read()) PutLittleEndian(ReadConfig(address + i, step), data, step);
    if (transaction.is_write()) WriteConfig(address + i, step, LittleEndian(data, step));
  }
  return bytes;
}

tlm::tlm_response_status VireoNic::Impl::Memory(tlm::tlm_generic_payload& transaction) {
  if (const auto error = Check(transaction, sizeof(uint64_t))) return *error;
  const unsigned bytes = transaction.get_data_length();
  const uint64_t address = transaction.get_address();
  uint8_t* const data = transaction.get_data_ptr();
  const auto header_word = [&](unsigned bar) {
    return ReadConfig(PciHeader::kBaseAddressOffset + bar * sizeof(uint32_t), 4);
  };
  const bool is_enabled = (ReadConfig(PciHeader::kCommandOffset, 2) & spec::PciCommand::kMemorySpace) != 0;
  for (unsigned bar = 0; is_enabled && bar < kBars; ++bar) {
    const uint64_t size = model::PciConfig::BarBytes(bar);
    if (size == 0) continue;
    // All are 64-bit ones.
    const uint64_t base = (header_word(bar) & ~kBarAttributeBits) | uint64_t{header_word(bar + 1)} << 32;
    if (address < base || address - base >= size) continue;
    const uint64_t value = transaction.is_write() ? LittleEndian(data, bytes) : 0;
    const uint64_t answer = AccessBar(transaction.is_write(), bar, address - base, bytes, value);
    if (transaction.is_read()) PutLittleEndian(answer, data, bytes);
    return tlm::TLM_OK_RESPONSE;
  }
  // As a root complex answers an unclaimed address.
  if (transaction.is_read()) std::fill_n(data, bytes, uint8_t{0xff});
  return Refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

// virtio 1.3, 4.1.4.9: the data of virtio_pci_cfg_cap are those of the BAR that its fields name. False: not there.
bool VireoNic::Impl::AccessWindow(uint32_t offset, unsigned bytes, bool write, uint64_t* value) {
  using Cap = spec::VirtioPciCfgCap;
  constexpr uint32_t kDataAt = spec::kPciCapAtPciCfg + Cap::kPciCfgDataOffset;
  if (offset < kDataAt || offset >= kDataAt + sizeof(uint32_t)) return false;
  uint8_t fields[Cap::kBytes];
  for (size_t i = 0; i < sizeof fields; ++i) {
    fields[i] = static_cast<uint8_t>(ReadConfig(spec::kPciCapAtPciCfg + i, 1));
  }
  const spec::VirtioPciCap cap = Cap::Decode(fields).cap;
  const bool is_valid = std::has_single_bit(cap.length) && cap.length <= sizeof(uint32_t) &&
                        cap.offset % cap.length == 0 &&
                        uint64_t{cap.offset} + cap.length <= model::PciConfig::BarBytes(cap.bar);
  // Without a valid choice it reads 0; a write that does not start at the window's first byte has no effect.
  if (!is_valid || (write && offset != kDataAt)) {
    *value = 0;
    return true;
  }
  const uint64_t answer = AccessBar(write, cap.bar, cap.offset, cap.length, *value);
  const uint64_t ones = (uint64_t{1} << 8 * bytes) - 1;
  *value = answer >> 8 * (offset - kDataAt) & ones;
  return true;
}

uint64_t VireoNic::Impl::AccessBar(bool write, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  const Cycle cycle = Claim(bar_free_);
  if (write) {
    nic_.WriteBar(cycle, bar, offset, bytes, value);
    return 0;
  }
  const auto answer = std::make_shared<Answer>();
  bar_reads_.push_back(answer);
  nic_.ReadBar(cycle, bar, offset, bytes);
  return answer->Wait();
}

tlm::tlm_response_status VireoNic::Impl::Management(tlm::tlm_generic_payload& transaction) {
  if (const auto error = Check(transaction, sizeof(uint32_t))) return *error;
  if (transaction.get_data_length() != sizeof(uint32_t)) return Refuse(tlm::TLM_BURST_ERROR_RESPONSE);
  const uint64_t address = transaction.get_address();
  if (address >= spec::kMgmtBytes || firmware_ != nullptr) return Refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  uint8_t* const data = transaction.get_data_ptr();
  Cycle cycle = Claim(csr_free_);
  if (transaction.is_write()) {
    nic_.WriteCsr(cycle, static_cast<uint32_t>(address), static_cast<uint32_t>(LittleEndian(data, sizeof(uint32_t))));
  } else {
    while (const auto before = csr_read_) {  // one read at a time
      before->Wait();
      cycle = Claim(csr_free_);
    }
    const auto answer = csr_read_ = std::make_shared<Answer>();
    nic_.ReadCsr(cycle, static_cast<uint32_t>(address));
    PutLittleEndian(answer->Wait(), data, sizeof(uint32_t));
  }
  return tlm::TLM_OK_RESPONSE;
}

void VireoNic::Impl::CompleteCsrRead(Cycle cycle, uint32_t value) {
  if (firmware_ != nullptr) return firmware_->CompleteCsrRead(cycle, value);
  if (const auto read = std::exchange(csr_read_, nullptr)) read->Put(value);
}

void VireoNic::Impl::SetFirmwareInterrupt(Cycle cycle, bool level) {
  if (firmware_ != nullptr) return firmware_->SetFirmwareInterrupt(cycle, level);
  // A delta later: a register read that is answered in this cycle returns first.
  interrupts_.push_back(level);
  interrupt_event_.notify(sc_core::SC_ZERO_TIME);
}

void VireoNic::Impl::SendInterrupts() {
  for (const bool level : std::exchange(interrupts_, {})) {
    if (module_.edge_out.size() != 0) module_.edge_out->SetFirmwareInterrupt(level);
  }
}

// --- Frames

void VireoNic::Impl::TakeFrame(const Frame& frame) {
  if (mac_ == nullptr || frame.bytes.empty() || frame.bytes.size() > options_.config->max_frame_bytes) {
    ++counters_.dropped_frames;
    return;
  }
  ++counters_.received_frames;
  mac_->OnFrame({.bytes = frame.bytes, .bad_fcs = frame.bad_fcs, .comment = {}});
}

void VireoNic::Impl::OnFrame(sim::WireFrame frame) {
  ++counters_.sent_frames;
  if (module_.frame_out.size() != 0) module_.frame_out->TakeFrame({std::move(frame.bytes), frame.bad_fcs});
}

void VireoNic::Impl::TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) {
  if (mac_ != nullptr) return mac_->TransmitFrame(start, end, bytes);
  ++counters_.sent_frames;
  if (module_.edge_out.size() != 0) module_.edge_out->TransmitFrame(start, end, bytes);
}

void VireoNic::Impl::ReceiveFrame(std::span<const uint8_t> bytes, bool mac_error) {
  const Cycle start = EdgeCycle();
  ++counters_.received_frames;
  nic_.ReceiveFrame(start, start + sim::FrameBeats(bytes.size(), beat_bytes_) - 1, bytes, mac_error);
}

// --- The bus

void VireoNic::Impl::SendMsix(Cycle, uint16_t vector) {
  const model::MsixMessage& message = nic_.message();
  PutOnBus({.kind = BusItem::Kind::kMessage, .address = message.address, .value = message.data, .vector = vector});
}

void VireoNic::Impl::PutOnBus(BusItem item) {
  bus_.push_back(std::move(item));
  bus_event_.notify(sc_core::SC_ZERO_TIME);
}

void VireoNic::Impl::RunBus() {
  for (;;) {
    while (bus_.empty()) {
      bus_is_busy_ = false;
      sc_core::wait(bus_event_);
    }
    bus_is_busy_ = true;
    BusItem item = std::move(bus_.front());
    bus_.pop_front();
    switch (item.kind) {
      case BusItem::Kind::kRead:
        ++counters_.dma_reads;
        readers_.Run([this, read = item.read] { Read(read); });
        sc_core::wait(sc_core::SC_ZERO_TIME);  // it starts before later items
        break;
      case BusItem::Kind::kWrite:
        ++counters_.dma_writes;
        Write(item, std::move(item.data), DmaExtension::Kind::kWrite);
        break;
      case BusItem::Kind::kMessage: {
        ++counters_.messages;
        std::vector<uint8_t> data(kMessageBytes);
        PutLittleEndian(item.value, data.data(), data.size());
        Write(item, std::move(data), DmaExtension::Kind::kMessage);
        break;
      }
      case BusItem::Kind::kBarAnswer:
        if (bar_reads_.empty()) break;
        bar_reads_.front()->Put(item.value);
        bar_reads_.pop_front();
        break;
    }
  }
}

bool VireoNic::Impl::Transport(tlm::tlm_command command, uint64_t address, std::span<uint8_t> data,
                               DmaExtension& extension, sc_time* delay) {
  tlm::tlm_generic_payload transaction;
  transaction.set_command(command);
  transaction.set_address(address);
  transaction.set_data_ptr(data.data());
  transaction.set_data_length(static_cast<unsigned>(data.size()));
  transaction.set_streaming_width(static_cast<unsigned>(data.size()));
  transaction.set_extension(&extension);
  module_.dma_socket->b_transport(transaction, *delay);
  transaction.clear_extension(&extension);
  return transaction.is_response_ok();
}

void VireoNic::Impl::Write(const BusItem& item, std::vector<uint8_t> data, DmaExtension::Kind kind) {
  const uint64_t epoch = epoch_;
  DmaExtension extension;
  extension.kind = kind;
  extension.vector = item.vector;
  sc_time delay = sc_core::SC_ZERO_TIME;
  if (!Transport(tlm::TLM_WRITE_COMMAND, item.address, data, extension, &delay)) ++counters_.failed_writes;
  if (epoch != epoch_ || kind == DmaExtension::Kind::kMessage || options_.write_buffer_bytes == 0) return;
  GiveCredits(clock_.AtOrAfter(scheduler_.now() + delay.value()),
              sim::DmaBeats(item.address, data.size(), beat_bytes_));
}

// In a thread of its own.
void VireoNic::Impl::Read(const sim::DmaRead& read) {
  const uint64_t epoch = epoch_;
  bool in_parts = false;
  uint32_t done = 0;
  DmaExtension extension;
  extension.kind = DmaExtension::Kind::kRead;
  extension.tag = read.tag;
  extension.complete = [&](std::span<const uint8_t> part, sim::DmaStatus status, bool last) {
    in_parts = true;
    if (epoch != epoch_) return;
    nic_.CompleteDmaRead(EdgeCycle(), {.tag = read.tag,
                                       .offset = done,
                                       .address = read.address + done,
                                       .data = part,
                                       .last = last,
                                       .status = status});
    done += static_cast<uint32_t>(part.size());
    if (status != sim::DmaStatus::kOk) ++counters_.failed_reads;
  };
  std::vector<uint8_t> data(read.bytes);
  sc_time delay = sc_core::SC_ZERO_TIME;
  const bool ok = Transport(tlm::TLM_READ_COMMAND, read.address, data, extension, &delay);
  if (in_parts) return;
  if (!ok) {
    ++counters_.failed_reads;
    data.clear();
  }
  if (epoch != epoch_) return;
  const Cycle cycle = clock_.AtOrAfter(scheduler_.now() + delay.value());
  completions_.emplace(cycle, Completion{read, std::move(data)});
  scheduler_.At(clock_.Begin(std::max(cycle, completion_free_)), client_);
}

// --- The module

VireoNic::VireoNic(const sc_core::sc_module_name& name, const Options& options)
    : sc_core::sc_module(name),
      config_socket("config_socket"),
      memory_socket("memory_socket"),
      dma_socket("dma_socket"),
      frame_out("frame_out"),
      frame_in("frame_in"),
      management_socket("management_socket"),
      edge_out("edge_out"),
      edge_in("edge_in") {
  if (sc_core::sc_get_time_resolution() != sc_time(1, sc_core::SC_PS)) {
    SC_REPORT_FATAL("vireo", "the time resolution must be 1 ps");
  }
  const bool is_buffer_small =
      options.write_buffer_bytes != 0 && options.write_buffer_bytes < spec::kPcieRequestBoundary;
  if (is_buffer_small || options.access_cycles == 0) {
    SC_REPORT_FATAL("vireo", "VireoNic::Options: write_buffer_bytes or access_cycles is too small");
  }
  impl_ = std::make_unique<Impl>(*this, options);
  config_socket.register_b_transport(this, &VireoNic::AccessConfig);
  config_socket.register_transport_dbg(this, &VireoNic::DebugConfig);
  memory_socket.register_b_transport(this, &VireoNic::AccessMemory);
  management_socket.register_b_transport(this, &VireoNic::AccessManagement);
  frame_in.bind(*impl_);
  edge_in.bind(*impl_);
}

VireoNic::~VireoNic() = default;

void VireoNic::AccessConfig(tlm::tlm_generic_payload& transaction, sc_time& delay) {
  Synchronize(delay);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(impl_->Config(transaction));
}

void VireoNic::AccessMemory(tlm::tlm_generic_payload& transaction, sc_time& delay) {
  Synchronize(delay);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(impl_->Memory(transaction));
}

void VireoNic::AccessManagement(tlm::tlm_generic_payload& transaction, sc_time& delay) {
  Synchronize(delay);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(impl_->Management(transaction));
}

unsigned VireoNic::DebugConfig(tlm::tlm_generic_payload& transaction) { return impl_->DebugConfig(transaction); }

void VireoNic::Reset() { impl_->Reset(); }
bool VireoNic::is_ready() const { return impl_->is_ready(); }
bool VireoNic::IsIdle() const { return impl_->IsIdle(); }
bool VireoNic::IsIdleUntilDeadline() const { return impl_->IsIdleUntilDeadline(); }
sim::Cycle VireoNic::NextDeadline() const { return impl_->NextDeadline(); }
uint64_t VireoNic::run_cycles() const { return impl_->run_cycles(); }
const VireoNic::Counters& VireoNic::counters() const { return impl_->counters(); }

}  // namespace vireo::platform
