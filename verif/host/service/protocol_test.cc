// SPDX-License-Identifier: Apache-2.0
// Invalid messages of a client: a malformed message closes its connection, a forbidden request is answered with an
// error, and other clients are not affected.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>

#include "host/driver/unix_socket.h"
#include "host/service/packet_socket.h"
#include "host/service/protocol.h"
#include "verif/host/service/service_bench.h"

namespace vireo::sim {
namespace {

using host::ErrorCode;
using service::Answer;
using service::BytesOf;
using service::Get;
using service::Header;

template <typename Message>
std::vector<uint8_t> Bytes(Message message, uint64_t serial = 1) {
  message.header.bytes = sizeof message;
  message.header.serial = serial;
  const auto bytes = BytesOf(message);
  return {bytes.begin(), bytes.end()};
}

host::FileDescriptor MemoryFile(size_t bytes, bool is_sealed) {
  host::FileDescriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  if (is_sealed) {
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  }
  return file;
}

// A client that sends arbitrary messages.
class RawClient {
 public:
  explicit RawClient(const std::string& path, bool is_greeting = true) {
    auto socket = host::ConnectTo(path, SOCK_SEQPACKET);
    EXPECT_TRUE(socket.ok());
    socket_ = std::move(socket).value();
    if (!is_greeting) return;
    service::Hello hello;
    hello.force_agent = 1;
    EXPECT_EQ(Ask(Bytes(hello)), std::optional<ErrorCode>());
  }
  void Send(const std::vector<uint8_t>& bytes, int fd = -1) {
    ASSERT_TRUE(service::SendPacket(socket_.get(), bytes, {}, std::span<const int>(&fd, fd >= 0 ? 1 : 0)));
  }
  // None on success, else the error; kLost if the service closed the connection.
  std::optional<ErrorCode> Ask(const std::vector<uint8_t>& bytes, int fd = -1) {
    Send(bytes, fd);
    std::array<uint8_t, service::kMaxMessageBytes> buffer{};
    const service::Packet packet = service::ReceivePacket(socket_.get(), buffer, true);
    if (packet.received != service::Received::kPacket) return ErrorCode::kLost;
    const auto answer = Get<Answer>(buffer);
    EXPECT_EQ(answer.bytes, packet.bytes);
    EXPECT_EQ(answer.serial, Get<Header>(bytes).serial);
    if (answer.error == 0) {
      payload.assign(buffer.begin() + sizeof answer, buffer.begin() + static_cast<long>(packet.bytes));
      return std::nullopt;
    }
    EXPECT_GT(packet.bytes, sizeof answer) << "no error text";
    return static_cast<ErrorCode>(answer.error - 1);
  }
  std::vector<uint8_t> payload;

 private:
  host::FileDescriptor socket_;
};

class ServiceProtocol : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(simulator_.is_ready());
    neighbour_ = Endpoint::Open(simulator_.socket(0), 4096);
    ASSERT_NE(neighbour_, nullptr);
  }
  void TearDown() override {
    ASSERT_NE(neighbour_, nullptr);
    EXPECT_TRUE(neighbour_->shared->roce().QueryQp(neighbour_->qp->qpn(), 0).ok());
    EXPECT_TRUE(neighbour_->device->CreatePd().ok());
  }
  RawClient ConnectedClient() { return RawClient(simulator_.socket(0)); }

  SimulatorProcess simulator_{{"--nics", "1"}};
  std::unique_ptr<Endpoint> neighbour_;
};

TEST_F(ServiceProtocol, MalformedMessageClosesTheConnection) {
  const std::vector<std::vector<uint8_t>> messages = {
      Bytes(service::Execute{}),       Bytes(service::Map{}),          Bytes(service::MapUser{}),
      Bytes(service::Unmap{}),         Bytes(service::MaxQueueSize{}), Bytes(service::EnableQueue{}),
      Bytes(service::ResetQueue{}),    Bytes(service::VectorFd{}),     Bytes(service::OpenUcma{}),
      Bytes(service::DoorbellWrite{}), Bytes(service::Counters{}),     Bytes(service::IsNeighbor{}),
      Bytes(service::Objects{})};
  for (const auto& good : messages) {
    const auto type = static_cast<int>(Get<Header>(good).type);
    // Before kHello.
    EXPECT_EQ(RawClient(simulator_.socket(0), false).Ask(good), ErrorCode::kLost) << type;
    // One byte less or more, with and without a matching length in the header.
    for (const bool in_header : {false, true}) {
      for (const int change : {-1, 1}) {
        std::vector<uint8_t> bad = good;
        bad.resize(good.size() + static_cast<size_t>(change));
        auto header = Get<Header>(good);
        if (in_header) header.bytes = static_cast<uint32_t>(bad.size());
        std::memcpy(bad.data(), &header, sizeof header);
        // A command has a variable length: its lengths are then inconsistent.
        const bool is_command = header.type == service::MessageType::kExecute && in_header && change > 0;
        EXPECT_EQ(ConnectedClient().Ask(bad), is_command ? ErrorCode::kInvalidArgument : ErrorCode::kLost)
            << type << change;
      }
    }
    std::vector<uint8_t> bad = good;
    bad[offsetof(Header, reserved)] = 1;
    EXPECT_EQ(ConnectedClient().Ask(bad), ErrorCode::kLost) << type;
  }
  for (const int type : {0, 12, 0xffff}) {
    service::OpenUcma unknown;
    unknown.header.type = static_cast<service::MessageType>(type);
    EXPECT_EQ(ConnectedClient().Ask(Bytes(unknown)), ErrorCode::kLost) << type;
  }
  EXPECT_EQ(ConnectedClient().Ask(Bytes(service::Hello{})), ErrorCode::kLost);  // a second time
  EXPECT_EQ(ConnectedClient().Ask({1}), ErrorCode::kLost);
  EXPECT_EQ(ConnectedClient().Ask(std::vector<uint8_t>(service::kMaxMessageBytes + 1)), ErrorCode::kLost);
}

TEST_F(ServiceProtocol, OtherVersionIsUnsupported) {
  RawClient client(simulator_.socket(0), false);
  service::Hello hello;
  hello.version = service::kProtocolVersion + 1;
  EXPECT_EQ(client.Ask(Bytes(hello)), ErrorCode::kUnsupported);
  hello.version = service::kProtocolVersion;
  EXPECT_EQ(client.Ask(Bytes(hello)), std::nullopt);
}

// If the probe bytes are not at the claimed address, the memory is not accessed directly.
TEST_F(ServiceProtocol, FailedProbeSelectsTheAgent) {
  RawClient client(simulator_.socket(0), false);
  service::Hello hello;
  static std::array<uint8_t, 16> probe{};
  hello.probe_address = reinterpret_cast<uintptr_t>(probe.data());
  hello.probe[3] = 1;
  EXPECT_EQ(client.Ask(Bytes(hello)), std::nullopt);
  EXPECT_EQ(Get<service::HelloAnswer>(client.payload).uses_agent, 1);
  RawClient honest(simulator_.socket(0), false);
  hello.probe[3] = 0;
  EXPECT_EQ(honest.Ask(Bytes(hello)), std::nullopt);
  EXPECT_EQ(Get<service::HelloAnswer>(honest.payload).uses_agent, 0);
}

TEST_F(ServiceProtocol, CommandWithInconsistentLengthsIsRefused) {
  RawClient client = ConnectedClient();
  const auto roce_class = neighbour_->shared->constants().net_ctrl_class_roce;
  const auto command = [&](spec::RdmaCtrlCmd number, uint32_t request, uint32_t tail, uint32_t response, size_t more,
                           const std::function<void(service::Execute&)>& change = {}, int fd = -1) {
    service::Execute message;
    message.ctrl_class = roce_class;
    message.command = static_cast<uint8_t>(number);
    message.request_bytes = request;
    message.tail_bytes = tail;
    message.response_bytes = response;
    if (change) change(message);
    message.header.bytes = static_cast<uint32_t>(sizeof message + more);
    std::vector<uint8_t> bytes(BytesOf(message).begin(), BytesOf(message).end());
    bytes.resize(bytes.size() + more);
    return client.Ask(bytes, fd);
  };
  using Cmd = spec::RdmaCtrlCmd;
  constexpr auto kBad = ErrorCode::kInvalidArgument;
  EXPECT_EQ(command(Cmd::kCreatePd, 0, 0, 4, 0), std::nullopt);
  EXPECT_EQ(command(Cmd::kCreatePd, 0, 0, 4, 0, [](auto& m) { m.ctrl_class = 0; }), kBad);
  EXPECT_EQ(command(Cmd::kCreatePd, 0, 0, 3, 0), kBad);
  EXPECT_EQ(command(Cmd::kCreatePd, 0, 0, 5, 0), kBad);
  EXPECT_EQ(command(Cmd::kCreatePd, 0, 0, ~0U, 0), kBad);
  EXPECT_EQ(command(Cmd::kCreatePd, 1, 0, 4, 1), kBad);
  EXPECT_EQ(command(Cmd::kCreatePd, 0, 1, 4, 1), kBad);
  EXPECT_EQ(command(Cmd::kCreatePd, ~0U, 1, 4, 0), kBad);  // wraps to 0
  EXPECT_EQ(command(Cmd::kCreatePd, 0, ~0U, 4, 0), kBad);
  EXPECT_EQ(command(Cmd::kCreateCq, 3, 0, 4, 3), kBad);
  EXPECT_EQ(command(static_cast<Cmd>(0x55), 0, 0, 0, 0), ErrorCode::kRefused);
  // A tail in a file: no file, not a memory file, a file that is too short.
  const auto in_file = [](auto& m) { m.tail_in_file = 1; };
  constexpr uint32_t kRequest = spec::RdmaCmdRegUserMr::kBytes, kResponse = spec::RdmaAckRegUserMr::kBytes;
  EXPECT_EQ(command(Cmd::kRegUserMr, kRequest, 8, kResponse, kRequest, in_file), kBad);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const host::FileDescriptor in(pipe[0]), out(pipe[1]), file = MemoryFile(4, false);
  EXPECT_EQ(command(Cmd::kRegUserMr, kRequest, 8, kResponse, kRequest, in_file, in.get()), kBad);
  EXPECT_EQ(command(Cmd::kRegUserMr, kRequest, 8, kResponse, kRequest, in_file, file.get()), kBad);
  EXPECT_EQ(command(Cmd::kRegUserMr, kRequest, service::kMaxTailBytes + 1, kResponse, kRequest, in_file, file.get()),
            kBad);
}

TEST_F(ServiceProtocol, InvalidMappingsAreRefused) {
  RawClient client = ConnectedClient();
  constexpr auto kBad = ErrorCode::kInvalidArgument;
  const host::FileDescriptor sealed = MemoryFile(8192, true), open = MemoryFile(8192, false);
  const auto map = [&](uint64_t offset, uint64_t bytes, int fd) {
    service::Map message;
    message.offset = offset;
    message.bytes = bytes;
    return client.Ask(Bytes(message), fd);
  };
  EXPECT_EQ(map(4096, 4096, sealed.get()), std::nullopt);
  EXPECT_EQ(map(0, 4096, -1), kBad);
  EXPECT_EQ(map(0, 4096, open.get()), kBad);  // could shrink
  EXPECT_EQ(map(0, 0, sealed.get()), kBad);
  EXPECT_EQ(map(0, 4095, sealed.get()), kBad);
  EXPECT_EQ(map(1, 4096, sealed.get()), kBad);
  EXPECT_EQ(map(4096, 8192, sealed.get()), kBad);
  EXPECT_EQ(map(~uint64_t{4095}, 8192, sealed.get()), kBad);
  const host::FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(map(0, 4096, null.get()), kBad);
  const auto map_user = [&](uint64_t address, uint64_t bytes) {
    service::MapUser message;
    message.address = address;
    message.bytes = bytes;
    return client.Ask(Bytes(message));
  };
  EXPECT_EQ(map_user(0x10000, 4096), std::nullopt);  // an unmapped page fails only at its use
  EXPECT_EQ(map_user(0x10001, 4096), kBad);
  EXPECT_EQ(map_user(0x10000, 0), kBad);
  EXPECT_EQ(map_user(0x10000, 100), kBad);
  EXPECT_EQ(map_user(~uint64_t{4095}, 8192), kBad);
  service::Unmap unmap;
  unmap.address = 0x1000;
  EXPECT_EQ(client.Ask(Bytes(unmap)), kBad);
  unmap.address = neighbour_->mapping->address();
  EXPECT_EQ(client.Ask(Bytes(unmap)), kBad);
}

TEST_F(ServiceProtocol, InvalidQueuesAndVectorsAreRefused) {
  RawClient client = ConnectedClient();
  constexpr auto kBad = ErrorCode::kInvalidArgument;
  const host::FileDescriptor file = MemoryFile(65536, true);
  service::Map map;
  map.bytes = 65536;
  ASSERT_EQ(client.Ask(Bytes(map), file.get()), std::nullopt);
  const uint64_t memory = Get<service::MapAnswer>(client.payload).address;
  service::Execute create;
  create.ctrl_class = neighbour_->shared->constants().net_ctrl_class_roce;
  create.command = static_cast<uint8_t>(spec::RdmaCtrlCmd::kCreateCq);
  create.request_bytes = create.response_bytes = 4;
  create.header.bytes = sizeof create + 4;
  std::vector<uint8_t> bytes(BytesOf(create).begin(), BytesOf(create).end());
  bytes.insert(bytes.end(), {16, 0, 0, 0});
  ASSERT_EQ(client.Ask(bytes), std::nullopt);
  const auto cqn = spec::RdmaAckCreateCq::Decode(client.payload.data()).cqn;
  const auto index = neighbour_->shared->CompletionQueueIndex(cqn);
  const auto other = neighbour_->shared->CompletionQueueIndex(neighbour_->cq->cqn());
  ASSERT_TRUE(index.ok() && other.ok());

  for (const uint32_t bad : {0U, uint32_t{*other}, 70'000U, ~0U}) {
    service::MaxQueueSize size;
    size.index = bad;
    EXPECT_EQ(client.Ask(Bytes(size)), kBad) << bad;
    service::ResetQueue reset;
    reset.index = bad;
    EXPECT_EQ(client.Ask(Bytes(reset)), kBad) << bad;
  }
  service::EnableQueue good;
  good.index = *index;
  good.size = 16;
  good.descriptors = memory;
  good.driver = memory + 4096;
  good.device = memory + 8192;
  const auto enable = [&](const std::function<void(service::EnableQueue&)>& change) {
    service::EnableQueue message = good;
    change(message);
    return client.Ask(Bytes(message));
  };
  EXPECT_EQ(enable([&](auto& m) { m.index = *other; }), kBad);
  EXPECT_EQ(enable([](auto& m) { m.size = 0; }), kBad);
  EXPECT_EQ(enable([](auto& m) { m.size = 65'536; }), kBad);
  EXPECT_EQ(enable([](auto& m) { m.vector = 60'000; }), kBad);
  EXPECT_EQ(enable([&](auto& m) { m.descriptors = memory + 65536 - 16 * 15; }), kBad);
  EXPECT_EQ(enable([](auto& m) { m.descriptors = 0; }), kBad);
  EXPECT_EQ(enable([&](auto& m) { m.driver = memory + 65536; }), kBad);
  EXPECT_EQ(enable([&](auto& m) { m.device = memory - 1; }), kBad);
  EXPECT_EQ(enable([](auto& m) { m.device = ~uint64_t{0}; }), kBad);
  service::ResetQueue reset;
  reset.index = *index;
  EXPECT_EQ(client.Ask(Bytes(reset)), ErrorCode::kBadState);  // not enabled
  EXPECT_EQ(enable([](auto&) {}), std::nullopt);
  EXPECT_EQ(enable([](auto&) {}), ErrorCode::kBadState);  // enabled
  service::Unmap unmap;
  unmap.address = memory;
  EXPECT_EQ(client.Ask(Bytes(unmap)), ErrorCode::kBadState);  // in use by the queue
  EXPECT_EQ(client.Ask(Bytes(reset)), std::nullopt);
  EXPECT_EQ(client.Ask(Bytes(unmap)), std::nullopt);

  service::VectorFd vector;
  vector.vector = neighbour_->shared->vectors();
  EXPECT_EQ(client.Ask(Bytes(vector)), kBad);
  vector.vector = ~0U;
  EXPECT_EQ(client.Ask(Bytes(vector)), kBad);
  EXPECT_EQ(client.Ask(Bytes(service::OpenUcma{})), std::nullopt);
}

TEST_F(ServiceProtocol, CountersAndNeighborsAreAnswered) {
  RawClient client = ConnectedClient();
  ASSERT_EQ(client.Ask(Bytes(service::Counters{})), std::nullopt);
  ASSERT_EQ(client.payload.size() % sizeof(service::CounterBytes), 0U);
  std::vector<std::string> names;
  for (size_t at = 0; at < client.payload.size(); at += sizeof(service::CounterBytes)) {
    const auto counter = Get<service::CounterBytes>(std::span(client.payload).subspan(at));
    names.emplace_back(counter.name);
    EXPECT_EQ(counter.value, 0U) << counter.name;
  }
  for (const char* name : {"counters/port_xmit_packets", "counters/port_rcv_data", "hw_counters/rx_buffer_drops"}) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  }
  const auto is_known = [&client](std::array<uint8_t, 4> last) {
    service::IsNeighbor message;
    message.gid[10] = message.gid[11] = 0xff;
    std::ranges::copy(last, message.gid + 12);
    EXPECT_EQ(client.Ask(Bytes(message)), std::nullopt);
    return Get<service::NeighborAnswer>(client.payload).is_known != 0;
  };
  EXPECT_TRUE(is_known({10, 0, 0, 1}));
  EXPECT_FALSE(is_known({10, 0, 0, 2}));  // there is one NIC
  EXPECT_FALSE(is_known({127, 0, 0, 1}));
}

TEST_F(ServiceProtocol, ObjectsOfOthersAreListed) {
  RawClient client = ConnectedClient();
  const auto list = [&client](service::ObjectKind kind, uint32_t first, bool with_state = true) {
    EXPECT_EQ(client.Ask(Bytes(service::Objects{
                  .first = first, .kind = kind, .with_state = static_cast<uint8_t>(with_state ? 1 : 0)})),
              std::nullopt);
    std::vector<service::ObjectBytes> found;
    for (size_t at = 0; at < client.payload.size(); at += sizeof(service::ObjectBytes)) {
      found.push_back(Get<service::ObjectBytes>(std::span(client.payload).subspan(at)));
      EXPECT_EQ(found.back().process, ::getpid());
    }
    return found;
  };
  const uint32_t qpn = neighbour_->qp->qpn();
  const auto qps = list(service::ObjectKind::kQp, 0);
  ASSERT_EQ(qps.size(), 1U);
  EXPECT_EQ(qps[0].number, qpn);
  EXPECT_EQ(qps[0].pdn, neighbour_->pd->pdn());
  EXPECT_EQ(qps[0].qp_type, static_cast<uint8_t>(neighbour_->qp->type()));
  EXPECT_EQ(qps[0].qp_state, static_cast<uint8_t>(neighbour_->qp->Query()->qp_state));
  EXPECT_EQ(list(service::ObjectKind::kQp, qpn, false).size(), 1U);
  EXPECT_TRUE(list(service::ObjectKind::kQp, qpn + 1).empty());
  const auto regions = list(service::ObjectKind::kMr, 0);
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].length, neighbour_->region->length());
  const auto pds = list(service::ObjectKind::kPd, 0);
  ASSERT_EQ(pds.size(), 1U);
  EXPECT_EQ(pds[0].users, 2U);
  EXPECT_EQ(list(service::ObjectKind::kContext, 0).size(), 1U);  // not the one that asks
  EXPECT_TRUE(list(service::ObjectKind::kSrq, 0).empty());
  EXPECT_EQ(client.Ask(Bytes(service::Objects{.kind = static_cast<service::ObjectKind>(6)})),
            ErrorCode::kInvalidArgument);

  // As many as an answer holds, and the rest behind them.
  std::vector<std::shared_ptr<verbs::ProtectionDomain>> more;
  while (more.size() < service::kMaxObjectsAtATime) {
    auto pd = neighbour_->device->CreatePd();
    ASSERT_TRUE(pd.ok()) << ToString(pd.error());
    more.push_back(*pd);
  }
  const auto part = list(service::ObjectKind::kPd, 0);
  ASSERT_EQ(part.size(), service::kMaxObjectsAtATime);
  EXPECT_TRUE(std::ranges::is_sorted(part, {}, &service::ObjectBytes::number));
  EXPECT_EQ(list(service::ObjectKind::kPd, part.back().number + 1).size(), 1U);
  const auto other = service::SharedDevice::Connect(simulator_.socket(0));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->Objects(service::ObjectKind::kPd)->size(), more.size() + 1);
}

TEST_F(ServiceProtocol, ContextIsJoinedWithItsFileOnly) {
  RawClient client = ConnectedClient();
  constexpr auto kBad = ErrorCode::kInvalidArgument;
  EXPECT_EQ(client.Ask(Bytes(service::Join{})), kBad);
  const host::FileDescriptor other = MemoryFile(4096, true);
  EXPECT_EQ(client.Ask(Bytes(service::Join{}), other.get()), kBad);
  service::FindPd pd;
  pd.pdn = neighbour_->pd->pdn();
  EXPECT_EQ(client.Ask(Bytes(pd)), ErrorCode::kRefused);
  service::FindRegion region;
  region.mrn = neighbour_->region->mrn();
  EXPECT_EQ(client.Ask(Bytes(region)), ErrorCode::kRefused);

  const auto opened = neighbour_->shared->OpenContextFile();
  ASSERT_TRUE(opened.ok());
  const host::FileDescriptor file(*opened);
  EXPECT_NE(::pwrite(file.get(), "x", 1, 0), 1);
  ASSERT_EQ(client.Ask(Bytes(service::Join{}), file.get()), std::nullopt);
  EXPECT_EQ(client.Ask(Bytes(service::Join{}), file.get()), ErrorCode::kBadState);
  EXPECT_EQ(client.Ask(Bytes(pd)), std::nullopt);
  ASSERT_EQ(client.Ask(Bytes(region)), std::nullopt);
  EXPECT_EQ(Get<service::RegionAnswer>(client.payload).rkey, neighbour_->region->rkey());
  pd.pdn = ~0U;
  EXPECT_EQ(client.Ask(Bytes(pd)), ErrorCode::kRefused);
  region.mrn = ~0U;
  EXPECT_EQ(client.Ask(Bytes(region)), ErrorCode::kRefused);
  // Neither the file of its own context, nor a context with objects.
  EXPECT_EQ(neighbour_->shared->Join(file.get()).error().code, ErrorCode::kBadState);
}

// Doorbells of other clients' queues are dropped, and no other register can be written.
TEST_F(ServiceProtocol, DoorbellOfAnotherClientIsIgnored) {
  RawClient client = ConnectedClient();
  for (const int width : {0, 1, 2, 4, 8, 255}) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{0x4}, uint64_t{0x1000}, uint64_t{0x2004}, ~uint64_t{0}}) {
      service::DoorbellWrite doorbell;
      doorbell.offset = offset;
      doorbell.width = static_cast<uint8_t>(width);
      doorbell.value = ~uint64_t{0};
      client.Send(Bytes(doorbell));
    }
  }
  EXPECT_EQ(client.Ask(Bytes(service::OpenUcma{})), std::nullopt);  // the connection still works
}

TEST(ServiceClient, ConnectReportsTheReason) {
  const auto none = service::SharedDevice::Connect("/nonexistent/socket");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kLost);
  const auto empty = service::SharedDevice::Connect("");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  const auto long_path = service::SharedDevice::Connect(std::string(200, 'x'));
  ASSERT_FALSE(long_path.ok());
  EXPECT_EQ(long_path.error().code, ErrorCode::kInvalidArgument);
}

TEST(ServiceClient, DetectsServiceExit) {
  SimulatorProcess simulator({"--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  auto self = Endpoint::Open(simulator.socket(0), 4096);
  ASSERT_NE(self, nullptr);
  EXPECT_EQ(simulator.Stop(), 0);
  EXPECT_EQ(self->shared->roce().QueryDevice().error().code, ErrorCode::kLost);
  EXPECT_EQ(self->device->PollEvent().error().code, ErrorCode::kLost);
  EXPECT_EQ(self->shared->function().health().error().code, ErrorCode::kLost);
  EXPECT_EQ(self->cq->Wait(~uint64_t{0}).error().code, ErrorCode::kLost);
}

TEST(ServiceClient, IsInvalidInAForkedChild) {
  SimulatorProcess simulator({"--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  auto self = Endpoint::Open(simulator.socket(0), 4096);
  ASSERT_NE(self, nullptr);
  ClientProcess child([&] {
    const auto refused = self->shared->roce().QueryDevice();
    const bool is_refused = !refused.ok() && refused.error().code == ErrorCode::kBadState;
    self.reset();
    auto own = Endpoint::Open(simulator.socket(0), 4096);
    return is_refused && own != nullptr;
  });
  EXPECT_TRUE(child.Succeeds());
  EXPECT_TRUE(self->shared->roce().QueryQp(self->qp->qpn(), 0).ok());
}

}  // namespace
}  // namespace vireo::sim
