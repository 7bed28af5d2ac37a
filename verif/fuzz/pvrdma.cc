// SPDX-License-Identifier: Apache-2.0
// A hostile guest of a PVRDMA function: its registers, shared region, commands, page directories, rings, work requests
// and doorbells, on the model of the NIC. No access outside its memory, no hang; a pair of other guests, one of them on
// the same NIC, exchanges messages afterwards; a reset leaves no object behind.
//
// Input: a byte that selects how far the guest starts by the rules, then steps: a byte Step and its operands.
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
using pvrdma::kPageBytes;
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
  pvrdma::World world{{.config = &spec::kNic1, .guests = {0, 0, 1}, .is_monitored = false}};
  std::unique_ptr<Side> first, second;
};

class Run {
 public:
  explicit Run(InputReader input) : input_(input) {}

  void Go() {
    guest_.pci().Reset();
    driver_.emplace(guest_);
    const uint8_t how = input_.Byte();
    if ((how & 3) == 3) {
      driver_->Prepare();
    } else {
      driver_->Start();
      driver_->Bind(0, pvrdma::World::GidOf(0));
      constexpr std::array<uint8_t, 4> kTypes = {2, 3, 4, 2};
      side_ = std::make_unique<Side>(
          *driver_, pvrdma::DriverQpOptions{
                        .type = kTypes[how >> 2 & 3], .send_wr = 8, .recv_wr = 8, .send_sge = 2, .recv_sge = 2});
      srq_.emplace(*driver_, side_->pd, 8, 2);
      if ((how & 3) != 2) {
        side_->qp.Connect({.dest_qpn = side_->qp.qpn(), .dgid = pvrdma::World::GidOf(0)});  // to itself
      }
    }
    for (size_t i = 0; i < kMostSteps && !input_.is_empty(); ++i) {
      Do(static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount)));
    }
    Pass(20'000);
    guest_.pci().Reset();
    EXPECT_TRUE(guest_.device().objects().pds.empty() && guest_.device().objects().gids.empty());
    side_.reset();
    srq_.reset();
    driver_.reset();
    pvrdma::PingPong(*scene_.first, *scene_.second, 1, 600, false);
    EXPECT_TRUE(scene_.first->driver.TakeEvents().empty());
    EXPECT_EQ(scene_.world.system().Violations(), "");
  }

 private:
  void Pass(uint64_t ns) { guest_.Wait(guest_.NowNs() + ns); }

  // Something that the guest has; empty after it was taken away.
  std::span<uint8_t> Memory(uint8_t which) {
    if (side_ != nullptr) {
      pvrdma::GuestBuffer* const buffers[] = {&side_->cq.buffer(), &side_->qp.buffer(), &side_->region.buffer};
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
        if (side_ != nullptr && number >= 0x80) {
          number = offset == pvrdma::kQpDoorbell   ? side_->qp.handle()
                   : offset == pvrdma::kCqDoorbell ? side_->cq.handle()
                                                   : srq_->handle();
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
        if (side_ == nullptr || memory.empty()) return;
        if (which >= 0xf0) {
          srq_->state().prod_tail = value;
        } else {
          std::memcpy(memory.data() + which / 2 % 4 * sizeof value, &value, sizeof value);
        }
        return;
      }
      case Step::kCommand: return Execute();
      case Step::kSend: {
        const auto opcode = static_cast<pvrdma::WrOpcode>(input_.Byte() % 12U);
        pvrdma::SendWqe wqe = side_ == nullptr ? pvrdma::SendWqe{} : pvrdma::Remote(opcode, 1, side_->region, 0x4000);
        wqe.flags = input_.Byte();
        if (side_ == nullptr || !HasRoom(true)) return;
        const auto elements = Elements(&wqe.num_sge);
        return side_->qp.Send(wqe, elements);
      }
      case Step::kReceive: {
        pvrdma::RecvWqe wqe{.wr_id = 2};
        if (side_ == nullptr || !HasRoom(false)) return;
        const auto elements = Elements(&wqe.num_sge);
        if (wqe.num_sge == 2 && srq_->state().prod_tail != (srq_->state().cons_head ^ kEntries)) {
          return srq_->Receive(wqe, elements);
        }
        return side_->qp.Receive(wqe, elements);
      }
      case Step::kTakeAway: {
        const uint8_t which = input_.Byte();
        if (side_ == nullptr || which < 0xc0) return;  // seldom: it ends all the rest
        side_->region.buffer = {};
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
      sge.addr = side_->region.start + input_.U16();
      sge.length = input_.U16() % 6000;
      sge.lkey = side_->region.lkey ^ (input_.Byte() < 0xe0 ? 0 : 0x100);
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
    if (side_ != nullptr) {
      switch (static_cast<Command>(command % 24)) {
        case Command::kQueryPort: Fill(pvrdma::QueryPort{.port = 1}); break;
        case Command::kQueryPkey: Fill(pvrdma::QueryPkey{.port = 1}); break;
        case Command::kDestroyPd: Fill(pvrdma::HandleCommand{.handle = side_->pd}); break;
        case Command::kCreateMr:
          Fill(pvrdma::CreateMr{.start = 0x1000,
                                .length = pvrdma::kBytes,
                                .directory = AddressOf(side_->region.buffer.directory),
                                .pd = side_->pd,
                                .access_flags = 7,
                                .pages = pvrdma::kPages});
          break;
        case Command::kDestroyMr: Fill(pvrdma::HandleCommand{.handle = side_->region.handle}); break;
        case Command::kCreateCq:
          Fill(pvrdma::CreateCq{.directory = AddressOf(side_->cq.buffer().directory), .cqe = 64, .pages = 2});
          break;
        case Command::kDestroyCq: Fill(pvrdma::HandleCommand{.handle = side_->cq.handle()}); break;
        case Command::kCreateSrq: {
          pvrdma::CreateSrq request = pvrdma::DriverSrq::Request(side_->pd, kEntries, 2);
          request.directory = AddressOf(side_->cq.buffer().directory);
          Fill(request);
          break;
        }
        case Command::kModifySrq:
          Fill(pvrdma::ModifySrq{
              .handle = srq_->handle(), .mask = pvrdma::kMaskSrqLimit, .attributes = {.srq_limit = command / 24U}});
          break;
        case Command::kQuerySrq:
        case Command::kDestroySrq: Fill(pvrdma::HandleCommand{.handle = srq_->handle()}); break;
        case Command::kCreateQp: {
          pvrdma::DriverQpOptions options{.send_wr = 8, .recv_wr = 8, .send_sge = 2, .recv_sge = 2};
          if (command / 24 % 2 != 0) options.srq = srq_->handle();
          pvrdma::CreateQp request =
              pvrdma::DriverQp::Request(side_->pd, side_->cq.handle(), side_->cq.handle(), options);
          request.directory = AddressOf(side_->qp.buffer().directory);
          Fill(request);
          break;
        }
        case Command::kModifyQp:
          Fill(
              pvrdma::ModifyQp{.handle = side_->qp.handle(), .mask = 1, .attributes = {.qp_state = command / 24 % 7U}});
          break;
        case Command::kQueryQp: Fill(pvrdma::QueryQp{.handle = side_->qp.handle()}); break;
        case Command::kDestroyQp: Fill(pvrdma::HandleCommand{.handle = side_->qp.handle()}); break;
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
  InputReader input_;
  LocalGuest& guest_ = scene_.world.guest(0);
  std::optional<Driver> driver_;
  std::unique_ptr<Side> side_;
  std::optional<pvrdma::DriverSrq> srq_;  // with side_
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
