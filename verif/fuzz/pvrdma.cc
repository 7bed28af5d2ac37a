// SPDX-License-Identifier: Apache-2.0
// A hostile guest of a PVRDMA function: its registers, shared region, commands, page directories, rings, work requests
// and doorbells, on the model of the NIC. No access outside its memory, no hang; a pair of other guests, one of them on
// the same NIC, exchanges messages afterwards; a reset leaves no object behind.
//
// Input: a byte that selects how far the guest starts by the rules, then steps: a byte Step and its operands. Of the
// objects the guest makes those that a step may use: what the NIC's firmware executes takes most of an input's time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "verif/fuzz/target.h"
#include "verif/sim/pvrdma/side.h"
#include "verif/sim/pvrdma/world.h"

namespace vireo::sim {
namespace {

using pvrdma::Command;
using pvrdma::Driver;
using pvrdma::LocalGuest;
using pvrdma::Side;

// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kRegister,  // register, value (4); write
  kDoorbell,  // page, register, bits, number; write
  kWord,      // memory, offset (2), value (8): into shared region, directory, ring
  kIndex,     // ring and index, value (4)
  kCommand,   // command, changes, then each: offset, value (4)
  kSend,      // opcode, flags, elements, then each: offset (2), length (2), key; rings
  kReceive,   // elements, as above
  kTakeAway,  // memory: the guest frees it
  kTime,      // 0.2 us times the byte
  kCount,
};
constexpr size_t kMostSteps = 40;
constexpr uint32_t kEntries = 8;  // of the guest's work queues

// A step and its operands, which do not depend on what the guest has.
struct Action {
  Step step = Step::kTime;
  InputReader operands{{}};
};

size_t OperandBytes(Step step, InputReader operands) {
  constexpr size_t kChangeBytes = 5, kElementBytes = 5;
  switch (step) {
    case Step::kRegister:
    case Step::kIndex: return 5;
    case Step::kDoorbell: return 4;
    case Step::kWord: return 11;
    case Step::kCommand: operands.Byte(); return 2 + operands.Byte() % 4U * kChangeBytes;
    case Step::kSend: operands.U16(); return 3 + operands.Byte() % 3U * kElementBytes;
    case Step::kReceive: return 1 + operands.Byte() % 3U * kElementBytes;
    case Step::kTakeAway:
    case Step::kTime:
    case Step::kCount: break;
  }
  return 1;
}

// What the guest makes besides a queue pair, because a step may use it.
struct Needs {
  bool region = false, srq = false;

  void Add(Step step, InputReader operands) {
    const uint8_t first = operands.Byte(), second = operands.Byte();
    switch (step) {
      case Step::kDoorbell: srq |= second % 4U * 4 == pvrdma::kSrqDoorbell; break;
      case Step::kWord: region |= first % 8 % 3 == 2; break;
      case Step::kIndex: srq |= first >= 0xf0; break;
      case Step::kCommand: {
        const auto command = static_cast<Command>(first % 24);
        region |= command == Command::kCreateMr || command == Command::kDestroyMr;
        srq |= command == Command::kModifySrq || command == Command::kQuerySrq || command == Command::kDestroySrq ||
               (command == Command::kCreateQp && (first / 24 % 2 != 0 || second % 4 != 0));
        break;
      }
      case Step::kReceive: srq |= first % 3 == 2; [[fallthrough]];
      case Step::kSend:
      case Step::kTakeAway: region = true; break;
      case Step::kRegister:
      case Step::kTime:
      case Step::kCount: break;
    }
  }
};

// The NICs and the guests that keep the rules stay from one input to the next.
struct Scene {
  Scene() {
    for (const size_t guest : {1U, 2U}) {
      world.driver(guest).Start();
      world.driver(guest).Bind(0, pvrdma::World::GidOf(guest));
    }
    first = std::make_unique<Side>(world.driver(1), pvrdma::DriverQpOptions{});
    second = std::make_unique<Side>(world.driver(2), pvrdma::DriverQpOptions{});
    first->qp.Connect({.dest_qpn = second->qp.qpn(), .dgid = pvrdma::World::GidOf(2)});
    second->qp.Connect({.dest_qpn = first->qp.qpn(), .dgid = pvrdma::World::GidOf(1)});
  }
  static Scene& Get() {
    static Scene& scene = *new Scene;  // the simulation must not end after GoogleTest
    return scene;
  }
  // A slow control processor: while the NIC waits for the host, it looks less often, and nothing else costs time.
  pvrdma::World world{{.config = &spec::kNic1,
                       .guests = {0, 0, 1},
                       .is_monitored = false,
                       .is_traced = false,
                       .firmware_access_cycles = 120}};
  std::unique_ptr<Side> first, second;
};

// The hostile guest's objects.
struct Own {
  Own(Driver& driver, const pvrdma::DriverQpOptions& options, const Needs& needs)
      : pd(driver.CreatePd()), cq(driver, 64), qp(driver, pd, cq, cq, options) {
    if (needs.region) region = driver.CreateRegion(pd, pvrdma::kPages);
    if (needs.srq) srq.emplace(driver, pd, kEntries, 2);
  }
  uint32_t pd;
  pvrdma::DriverCq cq;
  pvrdma::DriverQp qp;
  Driver::Region region{};  // empty, unless it is needed
  std::optional<pvrdma::DriverSrq> srq;
};

class Run {
 public:
  explicit Run(InputReader input) : how_(input.Byte()) {
    while (actions_.size() < kMostSteps && !input.is_empty()) {
      const auto step = static_cast<Step>(input.Byte() % static_cast<unsigned>(Step::kCount));
      const InputReader operands(input.Take(OperandBytes(step, input)));
      actions_.push_back({step, operands});
      needs_.Add(step, operands);
    }
  }

  void Go() {
    guest_.pci().Reset();
    driver_.emplace(guest_);
    if ((how_ & 3) == 3) {
      driver_->Prepare();
    } else {
      driver_->Start();
      driver_->Bind(0, pvrdma::World::GidOf(0));
      constexpr std::array<uint8_t, 4> kTypes = {2, 3, 4, 2};
      own_.emplace(
          *driver_,
          pvrdma::DriverQpOptions{
              .type = kTypes[how_ >> 2 & 3], .send_wr = kEntries, .recv_wr = kEntries, .send_sge = 2, .recv_sge = 2},
          needs_);
      if ((how_ & 3) != 2) {
        own_->qp.Connect({.dest_qpn = own_->qp.qpn(), .dgid = pvrdma::World::GidOf(0)});  // to itself
      }
    }
    for (const Action& action : actions_) {
      input_ = action.operands;
      Do(action.step);
    }
    Pass(20'000);
    guest_.pci().Reset();
    EXPECT_TRUE(guest_.device().objects().pds.empty() && guest_.device().objects().gids.empty());
    own_.reset();
    driver_.reset();
    pvrdma::PingPong(*scene_.first, *scene_.second, 1, 600, false);
    EXPECT_TRUE(scene_.first->driver.TakeEvents().empty());
    EXPECT_EQ(scene_.world.system().Violations(), "");
  }

 private:
  void Pass(uint64_t ns) { guest_.Wait(guest_.NowNs() + ns); }

  // Something that the guest has; empty after it was taken away.
  std::span<uint8_t> Memory(uint8_t which) {
    if (own_.has_value()) {
      pvrdma::GuestBuffer* const buffers[] = {&own_->cq.buffer(), &own_->qp.buffer(), &own_->region.buffer};
      if (which % 8 < 3) return Of(buffers[which % 8]->memory);
      if (which % 8 < 6) return Of(buffers[which % 8 - 3]->directory);
    }
    return {reinterpret_cast<uint8_t*>(&driver_->region()), sizeof(pvrdma::SharedRegion)};
  }
  static std::span<uint8_t> Of(const host::DmaBuffer& buffer) {
    return buffer == nullptr ? std::span<uint8_t>() : std::span(buffer->data(), buffer->size());
  }

  void Do(Step step) {
    switch (step) {
      case Step::kRegister: {
        const uint32_t offset = input_.Byte() % 12U * 4;
        const uint32_t value = input_.U32();
        if (offset == pvrdma::kDsrHigh && value == 0) return static_cast<void>(driver_->WriteRegion());
        return driver_->WriteRegister(offset, value);
      }
      case Step::kDoorbell: {
        const uint32_t page = input_.Byte() % 3U, offset = input_.Byte() % 4U * 4;
        const uint32_t bits = uint32_t{input_.Byte()} << 24;
        uint32_t number = input_.Byte();
        if (own_.has_value() && number >= 0x80) {
          number = offset == pvrdma::kQpDoorbell   ? own_->qp.handle()
                   : offset == pvrdma::kCqDoorbell ? own_->cq.handle()
                                                   : own_->srq->handle();
        }
        return driver_->Ring(page, offset, bits | number);
      }
      case Step::kWord: {
        const auto memory = Memory(input_.Byte());
        const size_t offset = input_.U16() % 4096U / 8 * 8;
        const uint64_t value = input_.U64();
        if (offset + sizeof value <= memory.size()) std::memcpy(memory.data() + offset, &value, sizeof value);
        return;
      }
      case Step::kIndex: {
        const uint8_t which = input_.Byte();
        const uint32_t value = input_.U32();
        const auto memory = Memory(which % 2);
        if (!own_.has_value() || memory.empty()) return;
        if (which >= 0xf0) {
          own_->srq->state().prod_tail = value;
        } else {
          std::memcpy(memory.data() + which / 2 % 4 * sizeof value, &value, sizeof value);
        }
        return;
      }
      case Step::kCommand: return Execute();
      case Step::kSend: {
        const auto opcode = static_cast<pvrdma::WrOpcode>(input_.Byte() % 12U);
        pvrdma::SendWqe wqe = !own_.has_value() ? pvrdma::SendWqe{} : pvrdma::Remote(opcode, 1, own_->region, 0x4000);
        wqe.flags = input_.Byte();
        if (!own_.has_value() || !HasRoom(true)) return;
        const auto elements = Elements(&wqe.num_sge);
        return own_->qp.Send(wqe, elements);
      }
      case Step::kReceive: {
        pvrdma::RecvWqe wqe{.wr_id = 2};
        if (!own_.has_value() || !HasRoom(false)) return;
        const auto elements = Elements(&wqe.num_sge);
        if (wqe.num_sge == 2 && own_->srq->state().prod_tail != (own_->srq->state().cons_head ^ kEntries)) {
          return own_->srq->Receive(wqe, elements);
        }
        return own_->qp.Receive(wqe, elements);
      }
      case Step::kTakeAway: {
        const uint8_t which = input_.Byte();
        if (!own_.has_value() || which < 0xc0) return;  // seldom: it ends all the rest
        own_->region.buffer = {};
        return;
      }
      case Step::kTime:
      case Step::kCount: return Pass(200U * input_.Byte());
    }
  }
  bool HasRoom(bool sends) {
    if (Memory(1).empty()) return false;
    const auto header = pvrdma::Load<pvrdma::RingHeader>(Memory(1).data());
    const pvrdma::RingState& state = sends ? header.first : header.second;
    return state.prod_tail != (state.cons_head ^ kEntries);
  }
  std::vector<pvrdma::Sge> Elements(uint32_t* count) {
    const uint8_t how = input_.Byte();
    *count = how < 0xf0 ? how % 3 : how * 0x0101'0101U;
    std::vector<pvrdma::Sge> elements;
    for (int i = 0; i < how % 3; ++i) {
      pvrdma::Sge& sge = elements.emplace_back();
      sge.addr = own_->region.start + input_.U16();
      sge.length = input_.U16() % 6000;
      sge.lkey = own_->region.lkey ^ (input_.Byte() < 0xe0 ? 0 : 0x100);
    }
    return elements;
  }

  template <typename T>
  void Fill(const T& request) {
    std::memcpy(request_.data(), &request, sizeof request);
  }
  // A valid command, then changed.
  void Execute() {
    const uint8_t command = input_.Byte();
    request_ = {};
    if (own_.has_value()) {
      switch (static_cast<Command>(command % 24)) {
        case Command::kQueryPort: Fill(pvrdma::QueryPort{.port = 1}); break;
        case Command::kQueryPkey: Fill(pvrdma::QueryPkey{.port = 1}); break;
        case Command::kDestroyPd: Fill(pvrdma::HandleCommand{.handle = own_->pd}); break;
        case Command::kCreateMr:
          Fill(pvrdma::CreateMr{.start = 0x1000,
                                .length = pvrdma::kBytes,
                                .directory = AddressOf(own_->region.buffer.directory),
                                .pd = own_->pd,
                                .access_flags = 7,
                                .pages = pvrdma::kPages});
          break;
        case Command::kDestroyMr: Fill(pvrdma::HandleCommand{.handle = own_->region.handle}); break;
        case Command::kCreateCq:
          Fill(pvrdma::CreateCq{.directory = AddressOf(own_->cq.buffer().directory), .cqe = 64, .pages = 2});
          break;
        case Command::kDestroyCq: Fill(pvrdma::HandleCommand{.handle = own_->cq.handle()}); break;
        case Command::kCreateSrq: {
          pvrdma::CreateSrq request = pvrdma::DriverSrq::Request(own_->pd, kEntries, 2);
          request.directory = AddressOf(own_->cq.buffer().directory);
          Fill(request);
          break;
        }
        case Command::kModifySrq:
          Fill(pvrdma::ModifySrq{.handle = own_->srq->handle(),
                                 .mask = pvrdma::kMaskSrqLimit,
                                 .attributes = {.srq_limit = command / 24U}});
          break;
        case Command::kQuerySrq:
        case Command::kDestroySrq: Fill(pvrdma::HandleCommand{.handle = own_->srq->handle()}); break;
        case Command::kCreateQp: {
          pvrdma::DriverQpOptions options{.send_wr = 8, .recv_wr = 8, .send_sge = 2, .recv_sge = 2};
          if (command / 24 % 2 != 0) options.srq = own_->srq->handle();
          pvrdma::CreateQp request = pvrdma::DriverQp::Request(own_->pd, own_->cq.handle(), own_->cq.handle(), options);
          request.directory = AddressOf(own_->qp.buffer().directory);
          Fill(request);
          break;
        }
        case Command::kModifyQp:
          Fill(pvrdma::ModifyQp{.handle = own_->qp.handle(), .mask = 1, .attributes = {.qp_state = command / 24 % 7U}});
          break;
        case Command::kQueryQp: Fill(pvrdma::QueryQp{.handle = own_->qp.handle()}); break;
        case Command::kDestroyQp: Fill(pvrdma::HandleCommand{.handle = own_->qp.handle()}); break;
        case Command::kCreateUc: Fill(pvrdma::CreateUc{.pfn = driver_->region().uar_pfn + 1}); break;
        case Command::kDestroyUc: Fill(pvrdma::HandleCommand{.handle = 1}); break;
        case Command::kCreateBind: {
          pvrdma::CreateBind request{.vlan = pvrdma::kNoVlan, .index = 1, .gid_type = pvrdma::kGidRoceV2};
          std::ranges::copy(pvrdma::World::GidOf(0, command), request.gid);
          Fill(request);
          break;
        }
        default: break;
      }
    }
    pvrdma::Store(request_.data(), pvrdma::CommandHeader{.response = 1, .command = static_cast<Command>(command % 24)});
    for (uint8_t changes = input_.Byte() % 4; changes != 0; --changes) {
      const size_t offset = input_.Byte() % (request_.size() - sizeof(uint32_t));
      pvrdma::Store(request_.data() + offset, input_.U32());
    }
    uint32_t at = 0;
    for (const uint8_t byte : request_) driver_->command_slot()[at++] = byte;
    driver_->WriteRegister(pvrdma::kRequest, 0);
    static_cast<void>(driver_->ReadRegister(pvrdma::kErr));
  }
  static uint64_t AddressOf(const host::DmaBuffer& buffer) { return buffer == nullptr ? 0 : buffer->address(); }

  Scene& scene_ = Scene::Get();
  const uint8_t how_;
  std::vector<Action> actions_;
  Needs needs_;
  InputReader input_{{}};  // operands of the current step
  LocalGuest& guest_ = scene_.world.guest(0);
  std::optional<Driver> driver_;
  std::optional<Own> own_;
  std::array<uint8_t, pvrdma::Commands::kRequestBytes> request_{};
};

uint8_t Number(Step step) { return static_cast<uint8_t>(step); }

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  // Every command twice, on each kind of queue pair.
  for (const uint8_t how : std::initializer_list<uint8_t>{0, 4, 8, 2}) {
    Bytes& seed = seeds.emplace_back(Bytes{how});
    for (uint8_t command = 0; command < 24; ++command) {
      if (command == static_cast<uint8_t>(Command::kDestroyQp)) continue;
      Append(seed, Bytes{Number(Step::kCommand), command, 0});
    }
    Bytes& changed = seeds.emplace_back(Bytes{how});
    for (uint8_t command = 2; command < 17; ++command) {
      Append(changed,
             Bytes{Number(Step::kCommand), command, 1, static_cast<uint8_t>(16 + 4 * (command % 9)), 1, 0, 0, 0});
    }
    // Messages both ways.
    Bytes& messages = seeds.emplace_back(Bytes{how});
    for (uint8_t opcode = 0; opcode < 5; ++opcode) {
      Append(messages, Bytes{Number(Step::kReceive), 1, 0, 1, 0, 2, 0});
      Append(messages, Bytes{Number(Step::kSend), opcode, 2, 2, 10, 0, 0, 8, 0, 0, 16, 200, 0, 0});
      Append(messages, Bytes{Number(Step::kTime), 20, Number(Step::kDoorbell), 0, 1, 0x40, 0x80});
    }
    Append(messages, Bytes{Number(Step::kTakeAway), 0xff, Number(Step::kTime), 200});
    // Indices and states.
    Bytes& indices = seeds.emplace_back(Bytes{how});
    for (uint8_t which = 0; which < 8; ++which) {
      Append(indices, Bytes{Number(Step::kIndex), which, 3, 0, 0, 0, Number(Step::kDoorbell), 0, 0, 0xc0, 0x80});
      Append(indices, Bytes{Number(Step::kTime), 5});
    }
    Append(indices, Bytes{Number(Step::kCommand), 24 * 6 + 10, 0, Number(Step::kCommand), 10, 0});
  }
  // Bring-up with a shared region that changes.
  Bytes& start = seeds.emplace_back(Bytes{3});
  for (const uint8_t offset : std::initializer_list<uint8_t>{16, 24, 32, 40, 48, 56, 64, 0}) {
    Append(start, Bytes{Number(Step::kWord), 7, offset, 0, 0, 0, 0, 1, 0, 0, 0, 0});
    Append(start, Bytes{Number(Step::kRegister), 1, 0, 0, 0, 0, Number(Step::kRegister), 2, 0, 0, 0, 0});
    Append(start, Bytes{Number(Step::kRegister), 3, 0, 0, 0, 0, Number(Step::kRegister), 4, 0, 0, 0, 0});
  }
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vireo::sim::Run(vireo::sim::InputReader({data, size})).Go();
  return 0;
}
