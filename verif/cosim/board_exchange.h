// SPDX-License-Identifier: Apache-2.0
// One exchange between a NIC and a model, for comparing a board with the Verilated RTL.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "sim/device/board/board_nic.h"
#include "sim/device/nic_devices.h"
#include "sim/topology/rdma_system.h"

namespace vireo::sim {

using LineMaker = std::function<std::unique_ptr<ByteLine>()>;

struct Outcome {
  uint64_t events = 0;  // hash of everything at the seams
  BoardLink::Counters counters;
};

// WRITE, SEND and READ between two hosts; the first NIC is a board at a line, or without one the Verilated RTL.
inline Outcome Exchange(const std::string& firmware, const LineMaker& line) {
  Outcome run;
  RdmaSystemOptions options;
  options.device = line ? "board" : "rtl";
  options.peer = "model";
  options.config = &spec::kNic1;
  options.firmware = firmware;
  options.devices = [&line](std::string_view name, const LockstepOptions& lockstep) -> NicFactory {
    if (name != "board") return NicDeviceFactory(name, lockstep);
    return [&line](const NicContext& context) -> std::unique_ptr<Nic> {
      auto link = std::make_unique<BoardLink>(line());
      EXPECT_EQ(link->Open(context.config), "");
      return std::make_unique<BoardNic>(context, std::move(link));
    };
  };
  auto built = RdmaSystem::Build(options);
  if (built.system == nullptr) {
    ADD_FAILURE() << built.error;
    return run;
  }
  RdmaSystem& system = *built.system;
  std::string error;
  auto pair = MakeConnectedPair(system.host(0), system.host(1), {}, &error);
  if (pair == nullptr) {
    ADD_FAILURE() << error;
    return run;
  }
  std::mt19937_64 random(1);  // the same data on every device
  for (auto& side : pair->side) {
    for (size_t i = 0; i < side.memory->size(); ++i) side.memory->data()[i] = static_cast<uint8_t>(random() >> 32);
  }
  constexpr uint32_t kBytes = 3001;
  const auto next = [&](size_t side) {
    auto completion = pair->side.at(side).cq->Wait(system.host(side).function().NowNs() + 10'000'000);
    ASSERT_TRUE(completion.ok() && completion->has_value());
    EXPECT_EQ((*completion)->status, spec::IbWcStatus::kSuccess);
  };
  for (const size_t from : {0, 1}) {
    auto& near = pair->side.at(from);
    auto& far = pair->side.at(1 - from);
    const auto* const data = near.memory->data();
    const auto post = [&](verbs::SendRequest request, uint64_t offset) {
      const spec::RdmaSge element = near.region->Sge(offset, kBytes);
      request.sg_list = {&element, 1};
      request.remote_addr = far.region->address() + 8003;
      request.rkey = far.region->rkey();
      EXPECT_TRUE(near.qp->PostSend(request).ok());
      next(from);
    };
    post({.wr_id = 1, .opcode = spec::IbWrOpcode::kRdmaWrite}, 5);
    const spec::RdmaSge room = far.region->Sge(16001, kBytes);
    EXPECT_TRUE(far.qp->PostRecv({.wr_id = 2, .sg_list = {&room, 1}}).ok());
    post({.wr_id = 3, .opcode = spec::IbWrOpcode::kSend}, 5);
    next(1 - from);
    post({.wr_id = 4, .opcode = spec::IbWrOpcode::kRdmaRead}, 30007);
    for (const auto* const copy :
         {far.memory->data() + 8003, far.memory->data() + 16001, near.memory->data() + 30007}) {
      EXPECT_TRUE(std::equal(data + 5, data + 5 + kBytes, copy));
    }
  }
  pair.reset();
  // A fixed time: a NIC in RTL is quiet while its processor, elsewhere, still runs.
  system.topology().RunFor(1'000'000'000);
  EXPECT_EQ(system.Violations(), "");
  run.events = system.topology().trace().hash();
  if (line) run.counters = dynamic_cast<BoardNic&>(system.topology().station(0).nic()).link().counters();
  return run;
}

}  // namespace vireo::sim
