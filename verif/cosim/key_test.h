// SPDX-License-Identifier: Apache-2.0
// Base of tests of keys that come and go while their memory is in use: of windows, of registrations by work request, of
// regions that an invalidate ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/traffic/frame_log.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {

class KeyTest : public PairTest {
 protected:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kTimeoutNs = 50'000'000;  // with loss
  static constexpr uint32_t kBytes = 256;             // of ExpectWrite

  // Frames of NIC `watched` are in log_.
  void BuildAndWatch(const std::array<std::string, 2>& faults, size_t watched) {
    BuildWith(faults);
    if (!HasFatalFailure()) log_.Watch(system_->host(watched).station());
  }
  static verbs::SendRequest Access(spec::IbWrOpcode opcode, uint64_t wr_id, const Elements& list, uint32_t rkey,
                                   uint64_t address) {
    return {.wr_id = wr_id, .opcode = opcode, .sg_list = list, .remote_addr = address, .rkey = rkey};
  }
  static verbs::SendRequest LocalInvalidate(uint64_t wr_id, uint32_t key) {
    return {.wr_id = wr_id, .opcode = spec::IbWrOpcode::kLocalInv, .invalidate_rkey = key};
  }
  // Of a local operation.
  void ExpectDone(size_t number, uint64_t wr_id, spec::IbWcOpcode opcode) {
    const auto completion = Next(number, kTimeoutNs);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_EQ(completion->status, spec::IbWcStatus::kSuccess) << spec::ToString(completion->status);
    EXPECT_EQ(completion->opcode, opcode);
  }
  // A WRITE of kBytes by side 0. `place(i)`: where its byte i is in the memory of side 1, if it succeeds.
  template <typename PlaceOfByte>
  void ExpectWriteTo(uint64_t wr_id, uint32_t rkey, uint64_t address, const PlaceOfByte& place,
                     spec::IbWcStatus expected) {
    auto memory = Memory();
    const uint64_t from = 16 * (wr_id % 64);
    if (expected == spec::IbWcStatus::kSuccess) {
      for (uint32_t i = 0; i < kBytes; ++i) memory[1].at(place(i)) = near().memory->data()[from + i];
    }
    PostSend(Access(spec::IbWrOpcode::kRdmaWrite, wr_id, {near().region->Sge(from, kBytes)}, rkey, address));
    ExpectNext(0, wr_id, expected, kTimeoutNs);
    RunFor(20'000);
    ExpectMemory(memory);
  }

  FrameLog log_;
};

}  // namespace vireo::sim
