// SPDX-License-Identifier: Apache-2.0
// Messages of a client into the service that owns a NIC (the model). Every answer must be valid: length, serial, error
// text. Malformed messages close the connection; and all resources of a disconnected client are freed, which the next
// client checks.
//
// Input: steps: a byte, the message's type; Shape; then the operands of the type. Handles and addresses from the
// service are filled in, so that inputs do not depend on them. The client's memory is never accessed: the client
// requests the agent, and has none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>

#include "host/service/packet_socket.h"
#include "host/service/protocol.h"
#include "host/service/service.h"
#include "sim/topology/rdma_system.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

using service::MessageType;
using spec::RdmaCtrlCmd;

enum Shape : uint8_t {
  kRaw = 1,          // length, bytes after the header, nothing filled in
  kWrongLength = 2,  // in the header
  kHandle = 4,       // commands: the first 4 bytes are an earlier handle, selected by a byte
  kNoFile = 8,
  kUnsealed = 16,
};
constexpr size_t kMostSteps = 32;
constexpr uint64_t kFileBytes = 64 * 1024, kPage = 4096;

class World {
 public:
  static World& Get() {
    static World world;
    return world;
  }
  service::Service& service() { return *service_; }
  service::EventLoop& loop() { return loop_; }
  Scheduler& scheduler() { return system_->scheduler(); }
  Topology& topology() { return system_->topology(); }

 private:
  World() {
    auto built = RdmaSystem::Build({.config = &spec::kNic1, .is_monitored = false, .open = false});
    EXPECT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    service::ServiceOptions options;
    service::GidEntry& gid = options.gids.emplace_back();
    std::ranges::copy(system_->host(0).gid(), gid.gid);
    options.neighbors = [](const std::array<uint8_t, 16>&) { return std::nullopt; };
    auto opened = service::Service::Open(system_->host(0).function(), loop_, options);
    EXPECT_TRUE(opened.ok());
    service_ = std::move(opened).value();
  }
  std::unique_ptr<RdmaSystem> system_;
  service::EventLoop loop_;
  std::unique_ptr<service::Service> service_;
};

host::FileDescriptor MemoryFile(bool is_sealed) {
  host::FileDescriptor file(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(kFileBytes)), 0);
  if (is_sealed) {
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  }
  return file;
}

class Client {
 public:
  Client() {
    auto pair = service::PacketPair(true);
    EXPECT_TRUE(pair.ok());
    socket_ = std::move(pair->second);
    world_.service().Adopt(std::move(pair->first));
  }
  // The answer's payload; none on an error, or if the client is disconnected.
  std::optional<Bytes> Ask(const Bytes& message, int fd = -1) {
    if (!service::SendPacket(socket_.get(), message, {}, std::span<const int>(&fd, fd >= 0 ? 1 : 0), false)) {
      is_dropped_ = true;
      return std::nullopt;
    }
    world_.loop().Poll(0);
    world_.service().Progress();
    std::optional<Bytes> payload;
    static std::array<uint8_t, service::kMaxMessageBytes> buffer;
    for (;;) {
      const service::Packet packet = service::ReceivePacket(socket_.get(), buffer, false);
      is_dropped_ = packet.received == service::Received::kClosed;
      if (packet.received != service::Received::kPacket) return payload;
      EXPECT_GE(packet.bytes, sizeof(service::Answer));
      const auto answer = service::Get<service::Answer>(buffer);
      EXPECT_EQ(answer.bytes, packet.bytes);
      EXPECT_EQ(answer.serial, service::Get<service::Header>(message).serial);
      EXPECT_FALSE(payload.has_value()) << "two answers";
      if (answer.error == 0) {
        payload.emplace(buffer.begin() + sizeof answer, buffer.begin() + static_cast<ptrdiff_t>(packet.bytes));
      } else {
        EXPECT_GT(packet.bytes, sizeof answer) << "no error text";
      }
    }
  }
  bool is_dropped() const { return is_dropped_; }

 private:
  World& world_ = World::Get();
  host::FileDescriptor socket_;
  bool is_dropped_ = false;
};

template <typename Message>
Bytes MessageOf(Message message, uint64_t serial = 1) {
  message.header.bytes = sizeof message;
  message.header.serial = serial;
  const auto bytes = service::BytesOf(message);
  return {bytes.begin(), bytes.end()};
}
service::Hello Greeting() {
  service::Hello hello;
  hello.force_agent = 1;
  return hello;
}
uint8_t RoceClass() { return spec::ConstantsOf(spec::Profile{spec::kProfileDefault}).net_ctrl_class_roce; }

class Run {
 public:
  explicit Run(InputReader input) : input_(input) {}

  void Go() {
    for (size_t i = 0; i < kMostSteps && !input_.is_empty() && !client_->is_dropped(); ++i) Step();
    client_.reset();
    service::Service& service = World::Get().service();
    const Picoseconds deadline = World::Get().scheduler().now() + 1'000'000'000'000;
    while (service.contexts() != 0) {
      ASSERT_LT(World::Get().scheduler().now(), deadline) << "a disconnected client is not removed";
      World::Get().loop().Poll(0);
      World::Get().topology().RunFor(1'000'000);
      service.Progress();
    }
    EXPECT_EQ(service.retained(), 0U);
    ASSERT_NO_FATAL_FAILURE(NextClient());
  }

 private:
  // Allocates all of the scarce resources that one program may have.
  static void NextClient() {
    Client next;
    ASSERT_TRUE(next.Ask(MessageOf(Greeting())).has_value());
    for (uint32_t i = 0; i < World::Get().service().process_quota().pds; ++i) {
      service::Execute command{.ctrl_class = RoceClass(), .command = static_cast<uint8_t>(RdmaCtrlCmd::kCreatePd)};
      command.response_bytes = spec::RdmaAckCreatePd::kBytes;
      ASSERT_TRUE(next.Ask(MessageOf(command)).has_value()) << "a protection domain was leaked, behind " << i;
    }
  }

  void Step() {
    const auto type = static_cast<MessageType>(input_.Byte() % 17);
    const uint8_t shape = input_.Byte();
    Bytes message;
    host::FileDescriptor file;
    if ((shape & kRaw) != 0) {
      message = Bytes(sizeof(service::Header));
      Append(message, input_.Fill(input_.Byte()));
      Finish(message, type, shape);
      if (type == MessageType::kHello || type == MessageType::kMapUser) return;
    } else {
      switch (type) {
        case MessageType::kHello: message = MessageOf(Greeting()); break;
        case MessageType::kExecute: message = Command(shape); break;
        case MessageType::kMap: {
          service::Map map;
          map.offset = uint64_t{input_.Byte()} * (kPage / 4);
          map.bytes = uint64_t{input_.Byte()} * (kPage / 4);
          message = MessageOf(map);
          if ((shape & kNoFile) == 0) file = MemoryFile((shape & kUnsealed) == 0);
          break;
        }
        case MessageType::kMapUser: {
          service::MapUser map;
          map.address = input_.U64();
          map.bytes = input_.U32();
          message = MessageOf(map);
          break;
        }
        case MessageType::kUnmap: {
          service::Unmap unmap;
          unmap.address = Address();
          message = MessageOf(unmap);
          break;
        }
        case MessageType::kMaxQueueSize: {
          service::MaxQueueSize query;
          query.index = input_.Byte();
          message = MessageOf(query);
          break;
        }
        case MessageType::kEnableQueue: {
          service::EnableQueue queue;
          queue.index = input_.Byte();
          queue.size = input_.U16();
          const uint8_t vector = input_.Byte();
          queue.vector = vector == 0xff ? service::kNoVector : vector;
          queue.descriptors = Address();
          queue.driver = queue.descriptors + uint64_t{input_.U16()};
          queue.device = queue.descriptors + uint64_t{input_.U16()};
          message = MessageOf(queue);
          break;
        }
        case MessageType::kResetQueue: {
          service::ResetQueue queue;
          queue.index = input_.Byte();
          message = MessageOf(queue);
          break;
        }
        case MessageType::kVectorFd: {
          service::VectorFd vector;
          vector.vector = input_.Byte();
          message = MessageOf(vector);
          break;
        }
        case MessageType::kContextFile: message = MessageOf(service::ContextFile{}); break;
        case MessageType::kJoin:
          message = MessageOf(service::Join{});
          if ((shape & kNoFile) == 0) file = MemoryFile(true);
          break;
        case MessageType::kFindPd: {
          service::FindPd find;
          find.pdn = input_.Byte();
          message = MessageOf(find);
          break;
        }
        case MessageType::kFindRegion: {
          service::FindRegion find;
          find.mrn = input_.Byte();
          message = MessageOf(find);
          break;
        }
        case MessageType::kDoorbell: {
          service::DoorbellWrite doorbell;
          doorbell.offset = input_.U32();
          doorbell.value = input_.U32();
          doorbell.bar = input_.Byte() % 8;
          doorbell.width = input_.Byte() % 16;
          message = MessageOf(doorbell);
          break;
        }
        default: message = MessageOf(service::OpenUcma{}); break;  // or one that does not exist
      }
      Finish(message, type, shape);
    }
    const auto payload = client_->Ask(message, file.get());
    if (!payload.has_value()) return;
    if (type == MessageType::kMap && payload->size() == sizeof(service::MapAnswer)) {
      addresses_.push_back(service::Get<service::MapAnswer>(*payload).address);
    }
    if (type == MessageType::kExecute && payload->size() >= sizeof(uint32_t)) {
      handles_.push_back(service::Get<uint32_t>(*payload));
    }
  }
  static void Finish(Bytes& message, MessageType type, uint8_t shape) {
    auto header = service::Get<service::Header>(message);
    header.type = type;
    header.serial = 1;
    header.bytes = static_cast<uint32_t>(message.size()) + ((shape & kWrongLength) != 0 ? 1 : 0);
    std::ranges::copy(service::BytesOf(header), message.begin());
  }
  uint64_t Address() {
    const uint8_t number = input_.Byte();
    const uint64_t offset = input_.U16();
    return (addresses_.empty() ? 0 : addresses_[number % addresses_.size()]) + offset;
  }
  Bytes Command(uint8_t shape) {
    const uint8_t command = input_.Byte();
    const auto& commands = spec::kNetCtrlRoceCommands;
    const bool is_known = command < std::size(commands);
    Bytes request = input_.Fill(is_known ? commands[command].request_bytes : input_.Byte());
    if ((shape & kHandle) != 0 && request.size() >= 4 && !handles_.empty()) {
      const uint32_t handle = handles_[input_.Byte() % handles_.size()];
      std::ranges::copy(service::BytesOf(handle), request.begin());
    }
    Bytes tail;
    uint64_t pages = 0;
    if (command == static_cast<uint8_t>(RdmaCtrlCmd::kRegUserMr) && is_known) {
      pages = spec::RdmaCmdRegUserMr::Decode(request.data()).npages;
    }
    if (command == static_cast<uint8_t>(RdmaCtrlCmd::kReregMr) && is_known) {
      pages = spec::RdmaCmdReregMr::Decode(request.data()).npages;
    }
    if (pages != 0) {
      pages = std::min<uint64_t>(pages, 16);
      const uint64_t first = Address();
      for (uint64_t i = 0; i < pages; ++i) Put(tail, first + i * kPage, 8);
    }
    if (command == static_cast<uint8_t>(RdmaCtrlCmd::kCreateQp) && is_known && !handles_.empty()) {
      auto qp = spec::RdmaCmdCreateQp::Decode(request.data());
      qp.send_cqn = handles_[qp.send_cqn % handles_.size()];
      qp.recv_cqn = handles_[qp.recv_cqn % handles_.size()];
      qp.Encode(request.data());
    }
    service::Execute execute{.ctrl_class = RoceClass(), .command = command};
    execute.request_bytes = static_cast<uint32_t>(request.size());
    execute.tail_bytes = static_cast<uint32_t>(tail.size());
    execute.response_bytes = is_known ? commands[command].response_bytes : input_.Byte();
    Bytes message = MessageOf(execute);
    Append(message, request);
    Append(message, tail);
    return message;
  }

  InputReader input_;
  std::unique_ptr<Client> client_ = std::make_unique<Client>();
  std::vector<uint32_t> handles_;
  std::vector<uint64_t> addresses_;
};

void Add(Bytes& seed, MessageType type, uint8_t shape = 0, const Bytes& more = {}) {
  seed.push_back(static_cast<uint8_t>(type));
  seed.push_back(shape);
  Append(seed, more);
}
template <typename Request>
void AddCommand(Bytes& seed, RdmaCtrlCmd command, const Request& request, uint8_t shape = 0, uint8_t handle = 0) {
  Bytes more{static_cast<uint8_t>(command)};
  more.resize(1 + Request::kBytes);
  request.Encode(more.data() + 1);
  if ((shape & kHandle) != 0) more.push_back(handle);
  Add(seed, MessageType::kExecute, shape, more);
}

}  // namespace

std::vector<Bytes> Seeds() {
  Bytes life;
  Add(life, MessageType::kHello);
  Add(life, MessageType::kExecute, 0, {static_cast<uint8_t>(RdmaCtrlCmd::kCreatePd)});
  AddCommand(life, RdmaCtrlCmd::kCreateCq, spec::RdmaCmdCreateCq{.cqe = 16});
  Add(life, MessageType::kMap, 0, {0, 64});
  Bytes region{static_cast<uint8_t>(RdmaCtrlCmd::kRegUserMr)};
  region.resize(1 + spec::RdmaCmdRegUserMr::kBytes);
  spec::RdmaCmdRegUserMr{.access_flags = 7, .virt_addr = 0x10000, .length = 3 * kPage, .npages = 3}.Encode(
      region.data() + 1);
  Append(region, Bytes{0, 0, 0, 0});
  Add(life, MessageType::kExecute, kHandle, region);
  Bytes change{static_cast<uint8_t>(RdmaCtrlCmd::kReregMr)};
  change.resize(1 + spec::RdmaCmdReregMr::kBytes);
  spec::RdmaCmdReregMr{.flags = 5, .access_flags = 1, .virt_addr = 0x10000, .length = kPage, .npages = 1}.Encode(
      change.data() + 1);
  Append(change, Bytes{0, 0, 0, 0});
  Add(life, MessageType::kExecute, kHandle, change);
  AddCommand(life, RdmaCtrlCmd::kCreateQp,
             spec::RdmaCmdCreateQp{.qp_type = spec::IbQpType::kRc,
                                   .send_cqn = 1,
                                   .recv_cqn = 1,
                                   .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}},
             kHandle, 0);
  for (const uint8_t index : std::initializer_list<uint8_t>{3, 4, 5, 19, 20, 21, 22}) {
    Add(life, MessageType::kMaxQueueSize, 0, {index});
    Add(life, MessageType::kEnableQueue, 0, {index, 8, 0, 0, 0, 0, 16, 0, 2, 0, 3});
    Add(life, MessageType::kDoorbell, 0, {0, 0, 0, 0, index, 0, 0, 0, 0, 2});
    Add(life, MessageType::kResetQueue, 0, {index});
  }
  Add(life, MessageType::kUnmap, 0, {0, 0, 0});
  Bytes small;
  Add(small, MessageType::kHello);
  Add(small, MessageType::kVectorFd, 0, {0});
  Add(small, MessageType::kOpenUcma);
  Add(small, MessageType::kMapUser, 0, {0, 0, 1, 0, 0, 0, 0, 0, 0, 16, 0, 0});
  AddCommand(small, RdmaCtrlCmd::kQueryQp, spec::RdmaCmdQueryQp{.qpn = 2});
  Add(small, MessageType::kExecute, 0, {static_cast<uint8_t>(RdmaCtrlCmd::kQueryDevice)});
  Add(small, MessageType::kMap, kNoFile, {0, 4});
  Add(small, MessageType::kMap, kUnsealed, {0, 4});
  Add(small, MessageType::kContextFile);
  Add(small, MessageType::kJoin);
  Add(small, MessageType::kFindPd, 0, {1});
  Add(small, MessageType::kFindRegion, 0, {1});
  Add(small, MessageType::kExecute, kRaw, {3, 1, 2, 3});
  return {life, small};
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vireo::sim::Run(vireo::sim::InputReader({data, size})).Go();
  return 0;
}
