// SPDX-License-Identifier: Apache-2.0
#include "host/service/client.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "host/driver/packed_ring.h"
#include "host/driver/split_ring.h"
#include "host/driver/unix_socket.h"
#include "host/service/client_clock.h"
#include "host/service/context_function.h"
#include "host/service/memory_agent.h"
#include "host/service/packet_socket.h"

namespace vireo::service {

using host::Error;
using host::ErrorCode;

// --- Connection

bool Connection::is_owner() const { return ::getpid() == owner_; }

Status Connection::health() const {
  if (!is_owner()) return Error{ErrorCode::kBadState, "the device belongs to the process that opened it"};
  if (is_lost_) return Error{ErrorCode::kLost, "connection to the service lost"};
  return {};
}

Error Connection::MarkLost(const std::string& why) {
  is_lost_ = true;
  return {ErrorCode::kLost, "connection to the service lost: " + why};
}

Result<std::vector<uint8_t>> Connection::CallBytes(std::span<uint8_t> message, size_t payload_bytes,
                                                   std::span<const uint8_t> more, int fd,
                                                   std::vector<host::FileDescriptor>* fds) {
  const std::lock_guard lock(mutex_);
  if (clock_ != nullptr) {
    const uint64_t now_ns = clock_->NowNs();
    if (Status turn = AwaitLocked(now_ns, now_ns, false); !turn.ok()) return turn.error();
  }
  return Exchange(message, payload_bytes, more, fd, fds);
}

Status Connection::Await(uint64_t from_ns, uint64_t until_ns, bool ends_at_write) {
  const std::lock_guard lock(mutex_);
  return AwaitLocked(from_ns, until_ns, ends_at_write);
}

Status Connection::AwaitLocked(uint64_t from_ns, uint64_t until_ns, bool ends_at_write) {
  service::Await message;
  message.from_ns = from_ns;
  message.until_ns = until_ns;
  message.thread = static_cast<int32_t>(::syscall(SYS_gettid));  // glibc before 2.30 has no function for it
  message.ends_at_write = ends_at_write ? 1 : 0;
  Result<std::vector<uint8_t>> answer =
      Exchange({reinterpret_cast<uint8_t*>(&message), sizeof message}, sizeof(AwaitAnswer), {}, -1, nullptr);
  if (!answer.ok()) return answer.error();
  clock_->OnAnswer(Get<AwaitAnswer>(*answer));
  return {};
}

Result<std::vector<uint8_t>> Connection::Exchange(std::span<uint8_t> message, size_t payload_bytes,
                                                  std::span<const uint8_t> more, int fd,
                                                  std::vector<host::FileDescriptor>* fds) {
  if (Status healthy = health(); !healthy.ok()) return healthy.error();
  auto header = Get<Header>(message);
  header.bytes = static_cast<uint32_t>(message.size() + more.size());
  header.serial = ++serial_;
  std::memcpy(message.data(), &header, sizeof header);
  const std::span<const int> sent_fds(&fd, fd >= 0 ? 1 : 0);
  if (!SendPacket(socket_.get(), message, more, sent_fds)) return MarkLost(std::strerror(errno));

  std::vector<uint8_t> buffer(kMaxMessageBytes);
  Packet packet = ReceivePacket(socket_.get(), buffer, true);
  if (packet.received != Received::kPacket) return MarkLost("closed by the service");
  if (packet.bytes < sizeof(Answer) || packet.bytes > buffer.size()) return MarkLost("answer of a wrong length");
  const auto answer = Get<Answer>(buffer);
  if (answer.bytes != packet.bytes || answer.serial != header.serial) return MarkLost("answer to another request");
  const auto payload = std::span(buffer).subspan(sizeof(Answer), packet.bytes - sizeof(Answer));
  if (answer.error != 0) {
    return Error{static_cast<ErrorCode>(answer.error - 1), std::string(payload.begin(), payload.end()),
                 static_cast<spec::RdmaError>(answer.rdma)};
  }
  if (payload.size() < payload_bytes) return MarkLost("answer too short");
  if (fds != nullptr) *fds = std::move(packet.fds);
  return std::vector<uint8_t>(payload.begin(), payload.end());
}

void Connection::Ring(DoorbellWrite doorbell) {
  if (is_lost_) return;
  doorbell.header.bytes = sizeof doorbell;
  // No lock: packets are atomic, and the order of doorbells of different queues is irrelevant.
  if (!SendPacket(socket_.get(), BytesOf(doorbell))) is_lost_ = true;
}

// --- Commands

class SharedDevice::Commands final : public host::CommandChannel {
 public:
  Commands(Connection& connection, spec::Profile profile) : connection_(connection), profile_(profile) {}
  spec::Profile profile() const override { return profile_; }

  Status Execute(uint8_t ctrl_class, uint8_t command, std::span<const uint8_t> request, std::span<const uint8_t> tail,
                 std::span<uint8_t> response) override {
    service::Execute message;
    message.ctrl_class = ctrl_class;
    message.command = command;
    message.request_bytes = static_cast<uint32_t>(request.size());
    message.tail_bytes = static_cast<uint32_t>(tail.size());
    message.response_bytes = static_cast<uint32_t>(response.size());
    std::vector<uint8_t> more(request.begin(), request.end());
    host::FileDescriptor file;
    if (sizeof message + request.size() + tail.size() <= kMaxMessageBytes / 2) {
      more.insert(more.end(), tail.begin(), tail.end());
    } else {
      Result<host::FileDescriptor> made = FileOf(tail);
      if (!made.ok()) return made.error();
      file = std::move(made).value();
      message.tail_in_file = 1;
    }
    Result<std::vector<uint8_t>> answer = connection_.Call(message, response.size(), more, file.get());
    if (!answer.ok()) return answer.error();
    std::copy_n(answer->begin(), response.size(), response.begin());
    return {};
  }

 private:
  static Result<host::FileDescriptor> FileOf(std::span<const uint8_t> bytes) {
    if (bytes.size() > kMaxTailBytes) {
      return Error{ErrorCode::kInvalidArgument, "a page list of " + std::to_string(bytes.size()) + " bytes"};
    }
    host::FileDescriptor file(::memfd_create("vireo-pages", MFD_CLOEXEC));
    for (size_t done = 0; file.is_open() && done < bytes.size();) {
      const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (wrote <= 0) file.Close();
      done += static_cast<size_t>(std::max<ssize_t>(wrote, 0));
    }
    if (!file.is_open()) return Error{ErrorCode::kNoMemory, std::string("page list: ") + std::strerror(errno)};
    return file;
  }

  Connection& connection_;
  const spec::Profile profile_;
};

// --- The device

SharedDevice::SharedDevice() = default;

SharedDevice::~SharedDevice() {
  if (agent_ != nullptr && !connection_->is_owner()) agent_->Abandon();
}

Result<std::unique_ptr<SharedDevice>> SharedDevice::Connect(const std::string& socket_path) {
  Result<host::FileDescriptor> socket = host::ConnectTo(socket_path, SOCK_SEQPACKET);
  if (!socket.ok()) return socket.error();
  std::unique_ptr<SharedDevice> device(new SharedDevice());
  device->connection_ = std::make_shared<Connection>(std::move(socket).value(), ::getpid());
  if (Status has_hello = device->Handshake(); !has_hello.ok()) return has_hello.error();
  Result<std::unique_ptr<ContextFunction>> function = ContextFunction::Create(device->connection_, device->vectors_);
  if (!function.ok()) return function.error();
  device->function_ = std::move(function).value();
  device->channel_ = std::make_unique<Commands>(*device->connection_, device->profile_);
  device->commands_ = std::make_unique<host::RoceCommands>(*device->channel_);
  return device;
}

Status SharedDevice::Handshake() {
#ifdef PR_SET_PTRACER
  // Where Yama restricts ptrace to parents, allow the service to access this process.
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(connection_->socket(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0) {
    ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(peer.pid), 0, 0, 0);
  }
#endif
  Hello hello;
  const char* const dma = std::getenv("VIREO_DMA");  // NOLINT(concurrency-mt-unsafe)
  hello.force_agent = dma != nullptr && std::string_view(dma) == "agent" ? 1 : 0;
  // Random bytes, to detect that the pid means another process to the service.
  std::array<uint8_t, sizeof hello.probe> probe{};
  if (::getrandom(probe.data(), probe.size(), 0) != static_cast<ssize_t>(probe.size())) {
    return Error{ErrorCode::kNoMemory, "the system has no random number source"};
  }
  std::ranges::copy(probe, hello.probe);
  hello.probe_address = reinterpret_cast<uintptr_t>(probe.data());
  std::vector<host::FileDescriptor> fds;
  Result<std::vector<uint8_t>> answer = connection_->Call(hello, sizeof(HelloAnswer), {}, -1, &fds);
  if (!answer.ok()) return answer.error();

  const auto hello_answer = Get<HelloAnswer>(*answer);
  if (hello_answer.version != kProtocolVersion) {
    return Error{ErrorCode::kUnsupported, "the service has protocol version " + std::to_string(hello_answer.version)};
  }
  const size_t agent_fds = hello_answer.uses_agent != 0 ? 1 : 0;
  if (fds.size() != 2 + agent_fds + (hello_answer.has_clock != 0 ? 1 : 0) || answer->size() != sizeof hello_answer) {
    return Error{ErrorCode::kMisbehaved, "the service's hello answer is inconsistent"};
  }
  events_ = std::move(fds[0]);
  profile_ = static_cast<spec::Profile>(hello_answer.profile);
  vectors_ = hello_answer.vectors;
  first_queue_ = hello_answer.first_queue;
  ring_packed_ = hello_answer.ring_packed != 0;
  ring_event_idx_ = hello_answer.ring_event_idx != 0;
  ring_indirect_ = hello_answer.ring_indirect != 0;
  sends_position_ = hello_answer.sends_position != 0;
  info_.name.assign(hello_answer.name, ::strnlen(hello_answer.name, sizeof hello_answer.name));
  info_.netdev.assign(hello_answer.netdev, ::strnlen(hello_answer.netdev, sizeof hello_answer.netdev));
  info_.pmem.assign(hello_answer.pmem, ::strnlen(hello_answer.pmem, sizeof hello_answer.pmem));
  info_.ifindex = hello_answer.ifindex;
  std::ranges::copy(hello_answer.mac, info_.mac);
  info_.node_guid = hello_answer.node_guid;
  info_.active_mtu = static_cast<spec::IbMtu>(hello_answer.active_mtu);
  info_.link_mbps = hello_answer.link_mbps;
  info_.link_up = hello_answer.link_up != 0;
  info_.max_cqs = hello_answer.max_cqs;
  info_.max_qps = hello_answer.max_qps;
  info_.own_cqs = hello_answer.own_cqs;
  info_.own_qps = hello_answer.own_qps;
  info_.uses_agent = hello_answer.uses_agent != 0;
  info_.has_clock = hello_answer.has_clock != 0;
  info_.call_cost_ns = hello_answer.call_cost_ns;
  if (info_.has_clock) {
    ClientClock& clock = ClientClock::OfProcess();
    if (Status attached = clock.Attach(fds.back().get(), connection_); !attached.ok()) return attached;
    connection_->SetClock(clock);
  }
  Result<std::shared_ptr<const GidTable>> gids = GidTable::Map(fds[1].get());
  if (!gids.ok()) return gids.error();
  gid_table_ = std::move(gids).value();
  if (hello_answer.uses_agent != 0) {
    Result<std::unique_ptr<MemoryAgent>> agent = MemoryAgent::Start(std::move(fds[2]));
    if (!agent.ok()) return agent.error();
    agent_ = std::move(agent).value();
  }
  return {};
}

const spec::ProfileConstants& SharedDevice::constants() const { return spec::ConstantsOf(profile_); }
host::PciFunction& SharedDevice::function() { return *function_; }

int SharedDevice::vector_fd(uint16_t vector) {
  const Result<int> fd = function_->VectorFd(vector);
  return fd.ok() ? *fd : -1;
}

void SharedDevice::CountCall() {
  if (!info_.has_clock) return;
  const uint64_t until_ns = ClientClock::OfProcess().NowNs() + info_.call_cost_ns;
  // If the connection is lost, the next call reports it.
  static_cast<void>(connection_->Await(until_ns, until_ns, false));
}

void SharedDevice::AwaitWrite() {
  if (!info_.has_clock) return;
  constexpr uint64_t kLongestNs = 1000;
  const uint64_t now_ns = ClientClock::OfProcess().NowNs();
  static_cast<void>(connection_->Await(now_ns, now_ns + kLongestNs, true));
}

Result<int> SharedDevice::OpenUcma() {
  std::vector<host::FileDescriptor> fds;
  Result<std::vector<uint8_t>> opened = connection_->Call(service::OpenUcma{}, 0, {}, -1, &fds);
  if (!opened.ok()) return opened.error();
  if (fds.size() != 1) return Error{ErrorCode::kMisbehaved, "the service sent no descriptor for a channel"};
  return fds[0].Release();
}

// --- Objects of other contexts

Result<int> SharedDevice::OpenContextFile() {
  std::vector<host::FileDescriptor> fds;
  Result<std::vector<uint8_t>> opened = connection_->Call(service::ContextFile{}, 0, {}, -1, &fds);
  if (!opened.ok()) return opened.error();
  if (fds.size() != 1) return Error{ErrorCode::kMisbehaved, "the service sent no descriptor for the context"};
  return fds[0].Release();
}

Status SharedDevice::Join(int context_file) {
  Result<std::vector<uint8_t>> joined = connection_->Call(service::Join{}, 0, {}, context_file);
  return joined.ok() ? Status() : Status(joined.error());
}

Status SharedDevice::FindPd(uint32_t pdn) {
  service::FindPd message;
  message.pdn = pdn;
  Result<std::vector<uint8_t>> found = connection_->Call(message, 0);
  return found.ok() ? Status() : Status(found.error());
}

Result<SharedDevice::Region> SharedDevice::FindRegion(uint32_t mrn) {
  service::FindRegion message;
  message.mrn = mrn;
  Result<std::vector<uint8_t>> found = connection_->Call(message, sizeof(RegionAnswer));
  if (!found.ok()) return found.error();
  const auto answer = Get<RegionAnswer>(*found);
  return Region{.lkey = answer.lkey, .rkey = answer.rkey, .address = answer.address, .length = answer.length};
}

bool SharedDevice::IsNeighbor(const std::array<uint8_t, 16>& gid) {
  service::IsNeighbor message;
  std::ranges::copy(gid, message.gid);
  const Result<std::vector<uint8_t>> answer = connection_->Call(message, sizeof(NeighborAnswer));
  return answer.ok() && Get<NeighborAnswer>(*answer).is_known != 0;
}

Result<std::vector<ObjectBytes>> SharedDevice::Objects(ObjectKind kind, bool with_state) {
  std::vector<ObjectBytes> objects;
  service::Objects message{.kind = kind, .with_state = static_cast<uint8_t>(with_state ? 1 : 0)};
  for (;;) {
    Result<std::vector<uint8_t>> answer = connection_->Call(message, 0);
    if (!answer.ok()) return answer.error();
    std::span<const uint8_t> rest = *answer;
    for (; rest.size() >= sizeof(ObjectBytes); rest = rest.subspan(sizeof(ObjectBytes))) {
      objects.push_back(Get<ObjectBytes>(rest));
    }
    if (answer->size() < kMaxObjectsAtATime * sizeof(ObjectBytes)) return objects;
    message.first = objects.back().number + 1;
  }
}

Result<std::vector<Counter>> SharedDevice::Counters() {
  Result<std::vector<uint8_t>> answer = connection_->Call(service::Counters{}, 0);
  if (!answer.ok()) return answer.error();
  std::vector<Counter> counters;
  std::span<const uint8_t> rest = *answer;
  for (; rest.size() >= sizeof(CounterBytes); rest = rest.subspan(sizeof(CounterBytes))) {
    const auto bytes = Get<CounterBytes>(rest);
    counters.push_back({.name = std::string(bytes.name, strnlen(bytes.name, sizeof bytes.name)), .value = bytes.value});
  }
  return counters;
}

// --- Queues

Result<uint16_t> SharedDevice::CompletionQueueIndex(uint32_t cqn) const {
  if (cqn >= info_.max_cqs) {
    return Error{ErrorCode::kInvalidArgument, "CQ " + std::to_string(cqn) + " of " + std::to_string(info_.max_cqs)};
  }
  return static_cast<uint16_t>(first_queue_ + spec::kRdmaCompleteqOffset + cqn);
}

Result<uint16_t> SharedDevice::SendQueueIndex(uint32_t qpn) const {
  if (qpn >= info_.max_qps) {
    return Error{ErrorCode::kInvalidArgument, "QP " + std::to_string(qpn) + " of " + std::to_string(info_.max_qps)};
  }
  return static_cast<uint16_t>(first_queue_ + info_.max_cqs + spec::kRdmaTransmitqOffset + 2 * qpn);
}

Result<uint16_t> SharedDevice::ReceiveQueueIndex(uint32_t qpn) const {
  Result<uint16_t> send = SendQueueIndex(qpn);
  if (!send.ok()) return send;
  return static_cast<uint16_t>(*send - spec::kRdmaTransmitqOffset + spec::kRdmaReceiveqOffset);
}

Result<uint16_t> SharedDevice::MaxQueueSize(uint16_t index) {
  service::MaxQueueSize message;
  message.index = index;
  Result<std::vector<uint8_t>> answer = connection_->Call(message, sizeof(MaxQueueSizeAnswer));
  if (!answer.ok()) return answer.error();
  return static_cast<uint16_t>(Get<MaxQueueSizeAnswer>(*answer).size);
}

Result<host::Queue> SharedDevice::OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                                            uint16_t indirect_segments) {
  if (vector.has_value()) {
    // Also adds it to the vectors that Wait waits for.
    if (Result<int> fd = function_->VectorFd(*vector); !fd.ok()) return fd.error();
  }
  const host::RingOptions options{.event_idx = ring_event_idx_,
                                  .indirect_segments = ring_indirect_ ? indirect_segments : uint16_t{0}};
  Result<std::unique_ptr<host::Virtqueue>> ring = ring_packed_ ? host::PackedRing::Create(*function_, size, options)
                                                               : host::SplitRing::Create(*function_, size, options);
  if (!ring.ok()) return ring.error();
  const host::RingAddresses addresses = (*ring)->addresses();
  EnableQueue message;
  message.index = index;
  message.size = size;
  message.vector = vector.has_value() ? *vector : kNoVector;
  message.descriptors = addresses.descriptors;
  message.driver = addresses.driver;
  message.device = addresses.device;
  Result<std::vector<uint8_t>> answer = connection_->Call(message, sizeof(EnableQueueAnswer));
  if (!answer.ok()) return answer.error();
  const auto enabled = Get<EnableQueueAnswer>(*answer);
  return host::Queue{index, std::move(ring).value(),
                     host::Doorbell(*function_, enabled.doorbell_bar, enabled.doorbell_offset, enabled.doorbell_value,
                                    sends_position_),
                     vector};
}

Result<std::vector<host::Token>> SharedDevice::StopQueue(host::Queue& queue, bool destroyed) {
  // The service resets the queues of a destroyed object, and their numbers may already be reused.
  if (!destroyed) {
    ResetQueue message;
    message.index = queue.index;
    if (Result<std::vector<uint8_t>> reset = connection_->Call(message, 0); !reset.ok()) return reset.error();
  }
  return queue.ring->Detach();
}

// --- Events

Result<std::optional<host::DeviceEvent>> SharedDevice::PollEvent() {
  if (Status healthy = connection_->health(); !healthy.ok()) return healthy.error();
  std::array<uint8_t, spec::RdmaEvent::kBytes> bytes{};
  const Packet packet = ReceivePacket(events_.get(), bytes, false);
  if (packet.received == Received::kNothing) return std::optional<host::DeviceEvent>();
  if (packet.received == Received::kClosed) return Error{ErrorCode::kLost, "connection to the service lost"};
  using Kind = host::DeviceEvent::Kind;
  if (packet.bytes == bytes.size()) {
    return std::optional(host::DeviceEvent{Kind::kRdma, spec::RdmaEvent::Decode(bytes.data())});
  }
  switch (bytes[0]) {
    case kEventNeedsReset: return std::optional(host::DeviceEvent{Kind::kNeedsReset, {}});
    case kEventGidTableChanged: return std::optional(host::DeviceEvent{Kind::kGidTableChanged, {}});
    default: return std::optional(host::DeviceEvent{Kind::kConfigChanged, {}});
  }
}

}  // namespace vireo::service
