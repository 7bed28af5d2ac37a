// SPDX-License-Identifier: Apache-2.0
// The firmware on a mock device, and a driver that sends commands through the control queue.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "firmware/app/firmware.h"
#include "verif/common/full_nic1.h"
#include "verif/firmware/mock_device.h"

namespace vireo::verif {

using spec::IbQpState;
using spec::IbQpType;
using spec::MgmtTable;
using spec::RdmaCtrlCmd;
using spec::RdmaError;

constexpr uint32_t Bit(spec::NetFeature feature) { return static_cast<uint32_t>(feature); }
constexpr uint32_t Bit(spec::VirtioFeature feature) { return static_cast<uint32_t>(feature); }

// The answer to a command: the ack byte, and the response.
struct Answer {
  std::vector<uint8_t> bytes;

  bool is_empty() const { return bytes.empty(); }
  RdmaError error() const { return bytes.empty() ? RdmaError::kInternal : RdmaError{bytes[0]}; }
  bool ok() const { return !bytes.empty() && bytes[0] == static_cast<uint8_t>(RdmaError::kOk); }
  template <typename T>
  T As() const {
    EXPECT_EQ(bytes.size(), 1 + T::kBytes);
    return bytes.size() == 1 + T::kBytes ? T::Decode(bytes.data() + 1) : T{};
  }
};

template <typename T>
std::vector<uint8_t> BytesOf(const T& value) {
  std::vector<uint8_t> bytes(T::kBytes);
  value.Encode(bytes.data());
  return bytes;
}

inline constexpr uint64_t kPageBytes = uint64_t{1} << spec::kRdmaPageShiftDefault;
// The tail of reg_user_mr: `count` pages from address `first`.
std::vector<uint8_t> PageList(uint64_t first, uint64_t count, uint8_t shift = spec::kRdmaPageShiftDefault);

struct BenchOptions {
  spec::Profile profile = spec::Profile::kVireo;
  const spec::Config* config = &kFullNic1;
  // In addition to version_1 and ctrl_vq, and with roce net_f_roce and ring_reset.
  std::set<uint32_t> features{};
  bool has_roce = true;
  bool has_ring_reset = true;
  uint32_t max_polls = 1000;
  bool brings_up = true;
};

class Bench {
 public:
  explicit Bench(const BenchOptions& options = {});
  Bench(const Bench&) = delete;

  // Negotiates features, sets DRIVER_OK, and runs the firmware until idle.
  void BringUp();
  // Runs the firmware until it is idle. The test fails if it never is.
  void Settle();
  // Device reset by the driver, then BringUp.
  void Restart();

  uint8_t roce_class() const { return constants().net_ctrl_class_roce; }
  const spec::ProfileConstants& constants() const { return spec::ConstantsOf(options.profile); }

  // Sends one command; `writable` is the room for ack and response.
  Answer Send(uint8_t ctrl_class, uint8_t command, const std::vector<uint8_t>& request, uint32_t writable = 256,
              uint64_t fails_from = ~uint64_t{0});
  Answer Roce(RdmaCtrlCmd command, const std::vector<uint8_t>& request = {}, uint32_t writable = 256) {
    return Send(roce_class(), static_cast<uint8_t>(command), request, writable);
  }
  template <typename Command>
  bool Net(spec::NetCtrlClass ctrl_class, Command command, const std::vector<uint8_t>& request = {}) {
    const Answer answer = Send(static_cast<uint8_t>(ctrl_class), static_cast<uint8_t>(command), request);
    EXPECT_EQ(answer.bytes.size(), 1u);
    return answer.ok();
  }

  // Commands that must succeed; return the handle.
  uint32_t CreatePd();
  uint32_t CreateCq(uint32_t cqe = 16);
  spec::RdmaAckGetDmaMr GetDmaMr(uint32_t pdn, uint32_t access = 0);
  spec::RdmaAckAllocMw AllocMw(const spec::RdmaCmdAllocMw& request);
  spec::RdmaAckAllocMr AllocMr(const spec::RdmaCmdAllocMr& request);
  spec::RdmaAckRegUserMr RegUserMr(const spec::RdmaCmdRegUserMr& request, const std::vector<uint8_t>& pages);
  uint32_t CreateQp(const spec::RdmaCmdCreateQp& request);
  uint32_t CreateQp(IbQpType type);  // with a new PD and CQ
  uint32_t CreateAh(uint32_t pdn);
  uint32_t CreateSrq(const spec::RdmaCmdCreateSrq& request);
  void AddGid(uint16_t index, uint8_t last_byte, bool ipv4 = true);
  // Enables the virtqueues of a QP and of its CQs.
  void EnableQueues(uint32_t qpn);
  // Takes a QP from RESET to `state` by the usual transitions. GID 0 must exist.
  void Bring(uint32_t qpn, IbQpState state);
  spec::RdmaAckQueryQp QueryQp(uint32_t qpn);

  // Valid requests in the preceding state.
  spec::RdmaCmdModifyQp ToInit(uint32_t qpn) const;
  spec::RdmaCmdModifyQp ToRtr(uint32_t qpn) const;
  spec::RdmaCmdModifyQp ToRts(uint32_t qpn) const;
  spec::RdmaCmdModifyQp ToState(uint32_t qpn, IbQpState state) const;  // no other attributes
  RdmaError Modify(const spec::RdmaCmdModifyQp& request) {
    return Roce(RdmaCtrlCmd::kModifyQp, BytesOf(request)).error();
  }

  uint32_t pairs() const;  // N
  uint32_t ControlQueue() const { return 2 * pairs(); }
  uint32_t CqQueue(uint32_t cqn) const { return 2 * pairs() + spec::kRdmaCompleteqOffset + cqn; }
  uint32_t SendQueue(uint32_t qpn) const {
    return 2 * pairs() + options.config->num_cqs + spec::kRdmaTransmitqOffset + 2 * qpn;
  }
  uint32_t ReceiveQueue(uint32_t qpn) const {
    return 2 * pairs() + options.config->num_cqs + spec::kRdmaReceiveqOffset + 2 * qpn;
  }
  uint32_t EventQueue() const {
    return 2 * pairs() + options.config->num_cqs + 2 * options.config->num_qps + spec::kRdmaEventqOffset;
  }
  spec::TableVirtqueue Queue(uint32_t index) const {
    return device.Get<spec::TableVirtqueue>(MgmtTable::kVirtqueue, index);
  }

  const BenchOptions options;
  MockDevice device;
  std::unique_ptr<firmware::Firmware> control;
};

// A test that also fails on device accesses that violate the contract.
class FirmwareTest : public ::testing::Test {
 protected:
  void Use(const BenchOptions& options) {
    Check();
    bench_.emplace(options);
  }
  Bench& bench() {
    if (!bench_) bench_.emplace();
    return *bench_;
  }
  MockDevice& device() { return bench().device; }
  void TearDown() override { Check(); }

 private:
  void Check() {
    if (!bench_) return;
    for (const auto& violation : bench_->device.violations()) ADD_FAILURE() << violation;
  }
  std::optional<Bench> bench_;
};

// A GID: ::ffff:10.0.0.last or fd00::last.
void SetGid(uint8_t* gid, uint8_t last, bool ipv4 = true);

}  // namespace vireo::verif
