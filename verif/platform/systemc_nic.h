// SPDX-License-Identifier: Apache-2.0
// The SystemC module as a device of the suite: drives platform::VireoNic only through its TLM-2.0 sockets and ports,
// each input in its cycle, and passes every output to the seam in the cycle in which it comes.
//
// Needs a scheduler that runs in the SystemC kernel: SystemcScheduler, hence one system per process.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "platform/thread_pool.h"
#include "platform/vireo_nic.h"
#include "sim/device/lockstep_nic.h"
#include "sim/nic/nic.h"
#include "sim/nic/nic_context.h"
#include "sim/time/scheduler.h"
#include "sim/topology/rdma_system.h"

namespace vireo::sim {

// Faults of this driver, for mutants of the comparison. In cycles.
struct SystemcNicFaults {
  Cycle bar_access_delay = 0;
  Cycle csr_access_delay = 0;
};

class SystemcNic final : public Nic,
                         private Scheduler::Client,
                         private sc_core::sc_module,
                         private platform::EdgeOutputInterface {
 public:
  explicit SystemcNic(const NicContext& context, const SystemcNicFaults& faults = {})
      : SystemcNic(sc_core::sc_module_name(context.name.c_str()), context, faults) {}

  void Reset(Cycle cycle) override;
  uint32_t ReadConfig(Cycle, uint16_t offset, unsigned bytes) override { return Config(false, offset, bytes, 0); }
  void WriteConfig(Cycle, uint16_t offset, unsigned bytes, uint32_t value) override {
    Config(true, offset, bytes, value);
  }
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override;
  void RefuseDmaWrite(Cycle cycle) override;
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override;
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override;
  void SetLink(Cycle cycle, bool up) override;
  void ReadCsr(Cycle cycle, uint32_t offset) override;
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override;
  bool IsIdle() const override { return accesses_ == 0 && nic_.IsIdleUntilDeadline(); }
  Cycle NextDeadline() const override { return nic_.NextDeadline(); }

 private:
  SystemcNic(const sc_core::sc_module_name& name, const NicContext& context, const SystemcNicFaults& faults);

  using InitiatorSocket = tlm_utils::simple_initiator_socket<SystemcNic>;
  // Of the module, outstanding.
  struct Read {
    const platform::DmaExtension::Complete* complete = nullptr;  // null: the tag is free
    sc_core::sc_event done;
  };

  // platform::EdgeOutputInterface
  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override;
  void SetFirmwareInterrupt(bool level) override;

  // RunUntil() also checks whether it is done after an action of the module.
  void OnTime(uint64_t) override {}
  void Touch() { scheduler_.At(scheduler_.now(), client_); }

  void ServeDma(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  void Start(Cycle delay, std::function<void()> access);
  uint64_t Access(InitiatorSocket& socket, bool is_write, uint64_t address, unsigned bytes, uint64_t value);
  uint32_t Config(bool is_write, uint64_t offset, unsigned bytes, uint32_t value);
  uint64_t BarAddress(unsigned bar);
  Cycle Now() const { return clock_.Containing(scheduler_.now()); }
  void CheckCycle(Cycle cycle, const char* what) const;

  Scheduler& scheduler_;
  const CoreClock clock_;
  NicEnvironment& environment_;
  const SystemcNicFaults faults_;
  const Scheduler::ClientNumber client_;
  InitiatorSocket config_, memory_, management_;
  tlm_utils::simple_target_socket<SystemcNic> dma_;
  platform::VireoNic nic_;
  platform::ThreadPool threads_{"access"};
  std::vector<std::unique_ptr<Read>> reads_;  // by tag
  uint64_t epoch_ = 0;                        // number of resets
  size_t accesses_ = 0;                       // outstanding
};

// Devices of programs that link this file, beside those of NicDeviceFactory():
// - systemc: the SystemC module,
// - systemc_rtl: RTL as master in lockstep with the SystemC module as shadow,
// - systemc_model: the model, likewise.
NicFactory SystemcDeviceFactory(std::string_view name, const LockstepOptions& lockstep = {},
                                const SystemcNicFaults& faults = {});
// A system of these devices, in the SystemC kernel.
void UseSystemcDevices(RdmaSystemOptions& options, const SystemcNicFaults& faults = {});

}  // namespace vireo::sim
