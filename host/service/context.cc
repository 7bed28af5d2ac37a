// SPDX-License-Identifier: Apache-2.0
#include "host/service/context.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "host/driver/device.h"
#include "host/service/service.h"

namespace vireo::service {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using spec::RdmaCtrlCmd;

namespace {

template <WireMessage Message>
std::vector<uint8_t> Payload(const Message& message) {
  const std::span<const uint8_t> bytes = BytesOf(message);
  return {bytes.begin(), bytes.end()};
}

// Bytes of a message of this type: exactly, or (kExecute) at least.
std::optional<size_t> BytesOfType(MessageType type) {
  switch (type) {
    case MessageType::kHello: return sizeof(Hello);
    case MessageType::kExecute: return sizeof(Execute);
    case MessageType::kMap: return sizeof(Map);
    case MessageType::kMapUser: return sizeof(MapUser);
    case MessageType::kUnmap: return sizeof(Unmap);
    case MessageType::kMaxQueueSize: return sizeof(MaxQueueSize);
    case MessageType::kEnableQueue: return sizeof(EnableQueue);
    case MessageType::kResetQueue: return sizeof(ResetQueue);
    case MessageType::kVectorFd: return sizeof(VectorFd);
    case MessageType::kOpenUcma: return sizeof(OpenUcma);
    case MessageType::kDoorbell: return sizeof(DoorbellWrite);
    case MessageType::kAwait: return sizeof(Await);
    case MessageType::kContextFile: return sizeof(ContextFile);
    case MessageType::kJoin: return sizeof(Join);
    case MessageType::kFindPd: return sizeof(FindPd);
    case MessageType::kFindRegion: return sizeof(FindRegion);
    case MessageType::kCounters: return sizeof(Counters);
    case MessageType::kIsNeighbor: return sizeof(IsNeighbor);
    case MessageType::kObjects: return sizeof(Objects);
  }
  return std::nullopt;
}

}  // namespace

// --- Life

Context::Context(Service& service, uint32_t number, host::FileDescriptor socket)
    : service_(service), number_(number), socket_(std::move(socket)) {
  service_.loop_.Watch(socket_.get(), [this] { Receive(); });
}

void Context::End() {
  if (std::exchange(is_ended_, true)) return;
  if (clock_client_.has_value()) service_.options_.clock->Detach(*clock_client_);
  pending_request_.reset();
  service_.loop_.Unwatch(socket_.get());
  if (process_.is_open()) service_.loop_.Unwatch(process_.get());
}

Context::~Context() {
  End();
  bool released = true;
  const auto reset_qp = [this](uint32_t qpn) {
    uint8_t request[spec::RdmaCmdDestroyQp::kBytes];
    spec::RdmaCmdDestroyQp{.qpn = qpn}.Encode(request);
    return StopQueuesOf(RdmaCtrlCmd::kDestroyQp, request);
  };
  const auto reset_cq = [this](uint32_t cqn) {
    uint8_t request[spec::RdmaCmdDestroyCq::kBytes];
    spec::RdmaCmdDestroyCq{.cqn = cqn}.Encode(request);
    return StopQueuesOf(RdmaCtrlCmd::kDestroyCq, request);
  };
  released = objects_.EndAll(service_.device()->base().roce(), reset_qp, reset_cq);
  for (const Vector& vector : vectors_) {
    if (vector.device_vector.has_value()) --service_.vector_uses_[*vector.device_vector];
  }
  if (!released || !queues_.empty()) {
    service_.retained_.push_back(std::make_shared<ContextMemory>(std::move(memory_)));
  }
}

// --- Messages

void Context::Receive() {
  // Bounds the messages per call, so that a client that floods doorbells does not starve others.
  constexpr int kMessagesAtATime = 64;
  std::array<uint8_t, kMaxMessageBytes> buffer;  // NOLINT: only received bytes are read
  for (int i = 0; i < kMessagesAtATime && !is_ended_ && !pending_request_.has_value(); ++i) {
    Packet packet = ReceivePacket(socket_.get(), buffer, false);
    if (packet.received == Received::kNothing) return;
    if (packet.received == Received::kClosed || packet.bytes > buffer.size() ||
        !Take(std::span(buffer).first(packet.bytes), std::move(packet.fds))) {
      return End();
    }
  }
}

bool Context::Take(std::span<const uint8_t> message, std::vector<host::FileDescriptor> fds) {
  if (message.size() < sizeof(Header)) return false;
  const auto header = Get<Header>(message);
  const std::optional<size_t> bytes = BytesOfType(header.type);
  if (!bytes.has_value() || header.bytes != message.size() || header.reserved != 0) return false;
  if (header.type == MessageType::kExecute ? message.size() < *bytes : message.size() != *bytes) return false;
  if ((header.type == MessageType::kHello) == has_hello_) return false;
  if (clock_client_.has_value()) {
    if (header.type == MessageType::kAwait) return OnAwait(Get<Await>(message));
    service_.options_.clock->OnMessage(*clock_client_);
  }
  if (header.type == MessageType::kDoorbell) {
    OnDoorbell(Get<DoorbellWrite>(message));
    return true;
  }
  searched_.reset();
  const Result<Reply> reply = Serve(message, fds);
  if (!reply.ok() && searched_.has_value()) {
    pending_request_.emplace(PendingRequest{*searched_, {message.begin(), message.end()}, std::move(fds)});
    service_.loop_.Unwatch(socket_.get());  // no requests are read meanwhile; process_ reports the client's end
    return true;
  }
  return Answer(header.serial, reply);
}

bool Context::Answer(uint64_t serial, const Result<Reply>& reply) {
  if (clock_client_.has_value()) service_.options_.clock->Publish();
  service::Answer answer;
  answer.serial = serial;
  std::span<const uint8_t> payload;
  std::span<const int> reply_fds;
  if (reply.ok()) {
    payload = reply->payload;
    reply_fds = reply->fds;
  } else {
    const Error& error = reply.error();
    answer.error = static_cast<uint8_t>(1 + static_cast<unsigned>(error.code));
    answer.rdma = static_cast<uint8_t>(error.rdma);
    payload = {reinterpret_cast<const uint8_t*>(error.text.data()), std::min<size_t>(error.text.size(), 4096)};
  }
  answer.bytes = static_cast<uint32_t>(sizeof answer + payload.size());
  const bool is_sent = SendPacket(socket_.get(), BytesOf(answer), payload, reply_fds, false);
  sent_.Close();
  sent_agent_.Close();
  return is_sent;
}

void Context::Resume() {
  if (!pending_request_.has_value()) return;
  const bool is_found = service_.FindNeighbor(pending_request_->gid).has_value();
  if (!is_found && service_.IsSearching(pending_request_->gid)) return;
  PendingRequest waiting = std::move(*pending_request_);
  pending_request_.reset();
  service_.loop_.Watch(socket_.get(), [this] { Receive(); });
  has_search_ended_ = !is_found;
  if (!Take(waiting.message, std::move(waiting.fds))) End();
  has_search_ended_ = false;
}

Result<Context::Reply> Context::Serve(std::span<const uint8_t> message, std::span<const host::FileDescriptor> fds) {
  switch (Get<Header>(message).type) {
    case MessageType::kHello: return OnHello(Get<Hello>(message));
    case MessageType::kExecute: return OnExecute(message, fds);
    case MessageType::kMap: return OnMap(Get<Map>(message), fds);
    case MessageType::kMapUser: return OnMapUser(Get<MapUser>(message));
    case MessageType::kUnmap: return OnUnmap(Get<Unmap>(message));
    case MessageType::kMaxQueueSize: return OnMaxQueueSize(Get<MaxQueueSize>(message));
    case MessageType::kEnableQueue: return OnEnableQueue(Get<EnableQueue>(message));
    case MessageType::kResetQueue: return OnResetQueue(Get<ResetQueue>(message));
    case MessageType::kVectorFd: return OnVectorFd(Get<VectorFd>(message));
    case MessageType::kOpenUcma: return OnOpenUcma();
    case MessageType::kContextFile: return OnContextFile();
    case MessageType::kJoin: return OnJoin(fds);
    case MessageType::kFindPd: return OnFindPd(Get<FindPd>(message));
    case MessageType::kFindRegion: return OnFindRegion(Get<FindRegion>(message));
    case MessageType::kCounters: return OnCounters();
    case MessageType::kIsNeighbor: return OnIsNeighbor(Get<IsNeighbor>(message));
    case MessageType::kObjects: return OnObjects(Get<Objects>(message));
    case MessageType::kAwait:
      return Error{ErrorCode::kUnsupported, "the service has no clock: programs use the system's time"};
    case MessageType::kDoorbell: break;
  }
  return Error{ErrorCode::kInvalidArgument, "no such request"};
}

bool Context::OnAwait(const Await& message) {
  service_.options_.clock->OnAwait(*clock_client_, message,
                                   [this, serial = message.header.serial](const AwaitAnswer& answer) {
                                     if (!Answer(serial, Reply{Payload(answer), {}})) End();
                                   });
  return true;
}

// Uses direct access if the system allows it. The bytes at the probe address must match, because a pid may mean another
// process in another namespace.
bool Context::FindMemory(const Hello& message) {
  if (message.force_agent != 0 || pid_ <= 0) return false;
  std::shared_ptr<MemoryAccess> direct = MakeProcessMemory(pid_);
  std::array<uint8_t, sizeof message.probe> seen{};
  if (!direct->Read(message.probe_address, seen) || !std::ranges::equal(seen, message.probe) ||
      !direct->Write(message.probe_address, seen)) {
    return false;
  }
  access_ = std::move(direct);
  return true;
}

Result<Context::Reply> Context::OnHello(const Hello& message) {
  if (message.version != kProtocolVersion) {
    return Error{ErrorCode::kUnsupported, "the service has protocol version " + std::to_string(kProtocolVersion)};
  }
  ucred peer{};
  socklen_t peer_bytes = sizeof peer;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0) pid_ = peer.pid;
  // A child of the client may hold the socket open after the client's end.
  if (pid_ > 0 && pid_ != ::getpid()) {
    // The C library's function has no C++ declaration before 2.37.
    process_ = host::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (process_.is_open()) service_.loop_.Watch(process_.get(), [this] { End(); });
  }
  Reply reply;
  Result<std::pair<host::FileDescriptor, host::FileDescriptor>> events = PacketPair(true);
  if (!events.ok()) return events.error();
  events_ = std::move(events->first);
  sent_ = std::move(events->second);
  reply.fds.push_back(sent_.get());
  reply.fds.push_back(service_.gid_table_->file());
  const bool is_direct = FindMemory(message);
  if (!is_direct) {
    Result<std::pair<host::FileDescriptor, host::FileDescriptor>> agent = PacketPair(false);
    if (!agent.ok()) return agent.error();
    access_ = MakeAgentMemory(std::move(agent->first));
    sent_agent_ = std::move(agent->second);
    reply.fds.push_back(sent_agent_.get());
  }
  has_hello_ = true;
  if (service_.options_.clock != nullptr) {
    reply.fds.push_back(service_.options_.clock->page());
    clock_client_ = service_.options_.clock->Attach(pid_);
  }
  vectors_.resize(service_.vectors());

  host::VirtioNetDevice& net = service_.net();
  const spec::NetConfig& config = service_.net_config();
  using spec::NetFeature;
  using spec::VirtioFeature;
  const Result<uint16_t> first_cq = net.CompletionQueueIndex(0);
  HelloAnswer answer;
  answer.profile = static_cast<uint8_t>(net.profile());
  answer.uses_agent = is_direct ? 0 : 1;
  answer.ring_packed = net.features().Has(VirtioFeature::kRingPacked) ? 1 : 0;
  answer.ring_event_idx = net.features().Has(VirtioFeature::kRingEventIdx) ? 1 : 0;
  answer.ring_indirect = net.features().Has(VirtioFeature::kRingIndirectDesc) ? 1 : 0;
  answer.sends_position = net.features().Has(VirtioFeature::kNotificationData) ? 1 : 0;
  answer.active_mtu = static_cast<uint8_t>(service_.active_mtu());
  answer.link_up = !net.features().Has(NetFeature::kStatus) || (config.status & spec::NetStatus::kLinkUp) != 0 ? 1 : 0;
  answer.vectors = service_.vectors();
  answer.first_queue = static_cast<uint16_t>((first_cq.ok() ? *first_cq : 0) - spec::kRdmaCompleteqOffset);
  answer.max_cqs = net.rdma_config().max_rdma_cqs;
  answer.max_qps = net.rdma_config().max_rdma_qps;
  answer.own_cqs = service_.process_quota().cqs;
  answer.own_qps = service_.process_quota().qps;
  answer.ifindex = service_.options().ifindex;
  answer.link_mbps = service_.link_mbps();
  if (clock_client_.has_value()) {
    answer.has_clock = 1;
    answer.call_cost_ns = service_.options_.clock->call_cost_ns();
  }
  answer.node_guid = service_.node_guid();
  std::ranges::copy(config.mac, answer.mac);
  std::ranges::copy(service_.options().name, answer.name);
  std::ranges::copy(service_.options().netdev, answer.netdev);
  std::ranges::copy(service_.options().pmem, answer.pmem);
  reply.payload = Payload(answer);
  return reply;
}

// --- Commands

Result<Context::Reply> Context::OnExecute(std::span<const uint8_t> message, std::span<const host::FileDescriptor> fds) {
  const auto execute = Get<Execute>(message);
  const std::span<const uint8_t> rest = message.subspan(sizeof execute);
  const bool in_file = execute.tail_in_file != 0;
  if (rest.size() != uint64_t{execute.request_bytes} + (in_file ? 0 : execute.tail_bytes) ||
      execute.tail_bytes > kMaxTailBytes || execute.response_bytes > kMaxMessageBytes / 2 ||
      execute.ctrl_class != service_.net().constants().net_ctrl_class_roce) {
    return Error{ErrorCode::kInvalidArgument, "a command whose lengths are inconsistent"};
  }
  std::vector<uint8_t> file_tail;
  if (in_file) {
    if (fds.size() != 1 || !IsMemoryFile(fds[0].get(), 0)) {
      return Error{ErrorCode::kInvalidArgument, "a page list without its memory file"};
    }
    file_tail.resize(execute.tail_bytes);
    for (size_t done = 0; done < file_tail.size();) {
      const ssize_t got =
          ::pread(fds[0].get(), file_tail.data() + done, file_tail.size() - done, static_cast<off_t>(done));
      if (got <= 0) return Error{ErrorCode::kInvalidArgument, "a page list shorter than declared"};
      done += static_cast<size_t>(got);
    }
  }
  ContextObjects::Command command;
  command.command = static_cast<RdmaCtrlCmd>(execute.command);
  command.request = rest.first(execute.request_bytes);
  command.tail = in_file ? std::span<const uint8_t>(file_tail) : rest.subspan(execute.request_bytes);
  command.response_bytes = execute.response_bytes;
  if (Status allowed = objects_.Check(command, memory_); !allowed.ok()) return allowed.error();
  if (Status room = service_.CheckRoom(*this, objects_.MadeBy(command)); !room.ok()) return room.error();
  std::vector<uint8_t> request(command.request.begin(), command.request.end());
  const auto find = [this](const std::array<uint8_t, 16>& gid) -> std::optional<std::array<uint8_t, 6>> {
    if (has_search_ended_) return std::nullopt;
    const auto mac = service_.FindNeighbor(gid);
    if (!mac.has_value() && service_.IsSearching(gid)) searched_ = gid;
    return mac;
  };
  if (Status filled = ResolveDestination(command.command, request, find); !filled.ok()) return filled.error();
  Reply reply;
  reply.payload.resize(execute.response_bytes);
  Status done =
      service_.net().control().Execute(execute.ctrl_class, execute.command, request, command.tail, reply.payload);
  if (!done.ok()) return done.error();
  if (command.command == RdmaCtrlCmd::kQueryDevice) ReportQuota(reply.payload);
  // While ownership is as it was: a later object may have the same number.
  service_.RouteEvents();
  objects_.Note(command, reply.payload, memory_);
  if (!StopQueuesOf(command.command, command.request)) {
    return Error{ErrorCode::kTimeout, "the object is destroyed, but the device has not released its queues"};
  }
  return reply;
}

// What this program can have of the device, in the device's answer.
void Context::ReportQuota(std::span<uint8_t> answer) const {
  const verbs::Quota& quota = service_.process_quota();
  auto device = spec::RdmaAckQueryDevice::Decode(answer.data());
  const auto least = [](uint32_t& what, uint32_t limit) { what = std::min(what, limit); };
  // A page of a region may have any size that the device has.
  const uint64_t all_pages = service_.device()->attributes().max_mr_pages;
  if (all_pages != 0)
    device.max_mr_size = device.max_mr_size / all_pages * std::min<uint64_t>(all_pages, quota.pages);
  else
    device.max_mr_size = std::min(device.max_mr_size, uint64_t{quota.pages} << spec::kRdmaPageShiftDefault);
  least(device.max_mr_pages, quota.pages);
  least(device.max_mr, quota.mrs);
  least(device.max_mw, quota.mrs);
  device.max_fast_mr_pages = 0;  // their pages could be any memory, so alloc_mr is the service's own
  least(device.max_pd, quota.pds);
  least(device.max_ah, quota.ahs);
  least(device.max_srq, quota.srqs);
  device.Encode(answer.data());
}

// Resets the queues of a destroyed object before its number can be reused.
bool Context::StopQueuesOf(RdmaCtrlCmd command, std::span<const uint8_t> request) {
  const host::VirtioNetDevice& net = service_.net();
  bool is_stopped = true;
  const auto stop = [&](const Result<uint16_t>& index) {
    if (index.ok() && queues_.contains(*index)) is_stopped = StopQueue(*index) && is_stopped;
  };
  if (command == RdmaCtrlCmd::kDestroyQp) {
    const uint32_t qpn = spec::RdmaCmdDestroyQp::Decode(request.data()).qpn;
    stop(net.SendQueueIndex(qpn));
    stop(net.ReceiveQueueIndex(qpn));
  } else if (command == RdmaCtrlCmd::kDestroySrq) {
    stop(net.ReceiveQueueIndex(spec::RdmaCmdDestroySrq::Decode(request.data()).srqn));
  } else if (command == RdmaCtrlCmd::kDestroyCq) {
    stop(net.CompletionQueueIndex(spec::RdmaCmdDestroyCq::Decode(request.data()).cqn));
  }
  return is_stopped;
}

// --- Memory

Result<Context::Reply> Context::OnMap(const Map& message, std::span<const host::FileDescriptor> fds) {
  if (fds.size() != 1) return Error{ErrorCode::kInvalidArgument, "memory without its file"};
  const Result<uint64_t> address =
      memory_.MapFile(service_.device_->function(), fds[0].get(), message.offset, message.bytes);
  if (!address.ok()) return address.error();
  return Reply{Payload(MapAnswer{*address}), {}};
}

Result<Context::Reply> Context::OnMapUser(const MapUser& message) {
  const Result<uint64_t> address =
      memory_.MapUser(service_.device_->function(), access_, message.address, message.bytes);
  if (!address.ok()) return address.error();
  return Reply{Payload(MapAnswer{*address}), {}};
}

Result<Context::Reply> Context::OnUnmap(const Unmap& message) {
  if (Status unmapped = memory_.Unmap(message.address); !unmapped.ok()) return unmapped.error();
  return Reply{};
}

// --- Queues

Result<uint16_t> Context::OwnQueue(uint32_t index) const {
  const std::optional<Service::QueueUser> user = service_.UserOf(index);
  if (user.has_value() && (user->is_cq ? objects_.OwnsCq(user->number) : objects_.OwnsQp(user->number))) {
    return static_cast<uint16_t>(index);
  }
  return Error{ErrorCode::kInvalidArgument, "queue " + std::to_string(index) + " is not a queue of this client"};
}

Result<Context::Reply> Context::OnMaxQueueSize(const MaxQueueSize& message) {
  const Result<uint16_t> index = OwnQueue(message.index);
  if (!index.ok()) return index.error();
  const Result<uint16_t> size = service_.net().MaxQueueSize(*index);
  if (!size.ok()) return size.error();
  return Reply{Payload(MaxQueueSizeAnswer{*size}), {}};
}

Result<Context::Reply> Context::OnEnableQueue(const EnableQueue& message) {
  const Result<uint16_t> index = OwnQueue(message.index);
  if (!index.ok()) return index.error();
  if (queues_.contains(*index)) return Error{ErrorCode::kBadState, "the queue is enabled"};
  if (message.size == 0 || message.size > spec::kVirtqSizeMax) {
    return Error{ErrorCode::kInvalidArgument, "a queue of " + std::to_string(message.size) + " entries"};
  }
  if (message.vector != kNoVector && message.vector >= vectors_.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 "vector " + std::to_string(message.vector) + " of " + std::to_string(vectors_.size())};
  }
  host::VirtioNetDevice& net = service_.net();
  // virtio 1.3, 2.7 and 2.8.10: sizes of the ring areas.
  const bool is_packed = net.features().Has(spec::VirtioFeature::kRingPacked);
  const uint64_t size = message.size;
  const uint64_t driver_bytes = is_packed ? 4 : 6 + 2 * size;
  const uint64_t device_bytes = is_packed ? 4 : 6 + 8 * size;
  ContextMemory::Use memory = memory_.Find(message.descriptors, 16 * size);
  if (memory == nullptr || memory_.Find(message.driver, driver_bytes) != memory ||
      memory_.Find(message.device, device_bytes) != memory) {
    return Error{ErrorCode::kInvalidArgument, "a ring outside this client's mapped memory"};
  }
  std::optional<uint16_t> vector;
  if (message.vector != kNoVector) {
    Vector& own = vectors_[message.vector];
    if (Status made = MakeVector(own); !made.ok()) return made.error();
    vector = static_cast<uint16_t>(service_.first_vector_ + *own.device_vector);
  }
  if (net.constants().rdma_last_command >= static_cast<uint8_t>(RdmaCtrlCmd::kSetWindow)) {
    // Descriptors may reference only the mapping that contains the ring. A queue reset ends the window.
    const Status bounded = net.roce().SetWindow({.vq_index = *index,
                                                 .flags = spec::RdmaWindowFlags::kEnable,
                                                 .base = memory->address(),
                                                 .length = memory->bytes()});
    if (!bounded.ok()) return bounded.error();
  }
  const host::RingAddresses addresses{
      .descriptors = message.descriptors, .driver = message.driver, .device = message.device};
  const Result<host::Doorbell> doorbell = net.pci().DoorbellOf(*index);
  if (!doorbell.ok()) return doorbell.error();
  if (Status enabled = net.pci().EnableQueue(*index, static_cast<uint16_t>(size), addresses, vector); !enabled.ok()) {
    return enabled.error();
  }
  queues_[*index] = Queue{std::move(memory), doorbell->bar(), doorbell->offset()};
  EnableQueueAnswer answer;
  answer.doorbell_offset = doorbell->offset();
  answer.doorbell_value = doorbell->value();
  answer.doorbell_bar = doorbell->bar();
  return Reply{Payload(answer), {}};
}

bool Context::StopQueue(uint16_t index) {
  if (!service_.StopQueue(index)) return false;  // the queue's memory stays mapped
  queues_.erase(index);
  return true;
}

Result<Context::Reply> Context::OnResetQueue(const ResetQueue& message) {
  const Result<uint16_t> index = OwnQueue(message.index);
  if (!index.ok()) return index.error();
  if (!queues_.contains(*index)) return Error{ErrorCode::kBadState, "the queue is not enabled"};
  if (!StopQueue(*index)) return Error{ErrorCode::kTimeout, "the device has not released the queue"};
  return Reply{};
}

void Context::OnDoorbell(const DoorbellWrite& message) {
  host::VirtioNetDevice& net = service_.net();
  const bool sends_position = net.features().Has(spec::VirtioFeature::kNotificationData);
  const uint64_t width = sends_position ? spec::VirtqNotificationData::kBytes : spec::VirtqNotification::kBytes;
  for (const auto& [index, queue] : queues_) {
    if (message.bar != queue.bar) continue;
    const bool rings = message.offset == queue.doorbell && message.width == width;
    const bool arms = message.offset == queue.doorbell + spec::kRdmaCqArmOffset &&
                      message.width == spec::RdmaCqArm::kBytes && net.constants().rdma_has_cq_arm;
    const uint64_t at = message.offset - queue.doorbell;
    constexpr uint64_t kPushed = spec::kRdmaPushOffset + spec::RdmaPush::kBytes + spec::kRdmaPushMost;
    const bool pushes = message.offset >= queue.doorbell && message.width == spec::RdmaPush::kBytes &&
                        net.constants().rdma_has_additions && at % spec::RdmaPush::kBytes == 0 &&
                        (at == spec::kRdmaPushEndOffset || (at >= spec::kRdmaPushOffset && at < kPushed));
    if (!rings && !arms && !pushes) continue;
    service_.device_->function().WriteBar(message.bar, message.offset, message.width, message.value);
    return;
  }
}

// --- Interrupts and events

Status Context::MakeVector(Vector& vector) {
  if (!vector.fd.is_open()) vector.fd = host::FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!vector.fd.is_open()) return Error{ErrorCode::kNoMemory, "no eventfd for a vector"};
  if (!vector.device_vector.has_value()) vector.device_vector = service_.TakeVector();
  return {};
}

Result<Context::Reply> Context::OnVectorFd(const VectorFd& message) {
  if (message.vector >= vectors_.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 "vector " + std::to_string(message.vector) + " of " + std::to_string(vectors_.size())};
  }
  Vector& vector = vectors_[message.vector];
  if (Status made = MakeVector(vector); !made.ok()) return made.error();
  return Reply{{}, {vector.fd.get()}};
}

void Context::OnInterrupt(uint16_t device_vector) {
  for (const Vector& vector : vectors_) {
    // EAGAIN is harmless: a saturated counter is readable, too.
    if (vector.device_vector == device_vector) static_cast<void>(::eventfd_write(vector.fd.get(), 1));
  }
}

void Context::OnEvent(const host::DeviceEvent& event) {
  if (!events_.is_open()) return;
  using Kind = host::DeviceEvent::Kind;
  // Verbs have no such events, and programs that poll the descriptor would block in reading one. An object's own event
  // tells of a stopped virtqueue, the port's of the link.
  if (event.kind == Kind::kConfigChanged) return;
  if (event.kind == Kind::kRdma && event.rdma.event_type == spec::RdmaEventType::kVqErr) return;
  if (event.kind != Kind::kRdma) {
    const uint8_t byte = event.kind == Kind::kNeedsReset ? kEventNeedsReset : kEventGidTableChanged;
    static_cast<void>(SendPacket(events_.get(), {&byte, 1}, {}, {}, false));
    return;
  }
  const auto add = [](uint32_t a, uint32_t b) { return a > ~b ? ~uint32_t{0} : a + b; };
  spec::RdmaEvent rdma = event.rdma;
  rdma.lost = add(rdma.lost, lost_events_);
  std::array<uint8_t, spec::RdmaEvent::kBytes> bytes{};
  rdma.Encode(bytes.data());
  // If the client does not read events, some are dropped and counted in the next one.
  lost_events_ = SendPacket(events_.get(), bytes, {}, {}, false) ? 0 : add(lost_events_, 1);
}

Result<Context::Reply> Context::OnOpenUcma() {
  if (service_.ucma_ == nullptr) return Error{ErrorCode::kUnsupported, "the service has no connection manager"};
  Result<std::pair<host::FileDescriptor, host::FileDescriptor>> channel = PacketPair(true);
  if (!channel.ok()) return channel.error();
  sent_ = std::move(channel->second);
  service_.ucma_->OnChannel(std::move(channel->first));
  return Reply{{}, {sent_.get()}};
}

// --- Objects of other contexts

namespace {

bool IsSameFile(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

Result<Context::Reply> Context::OnContextFile() {
  host::FileDescriptor& file = objects_.file();
  if (!file.is_open()) {
    file = host::FileDescriptor(::memfd_create("vireo-context", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const std::string& name = service_.options().name;
    if (!file.is_open() || ::write(file.get(), name.data(), name.size()) != static_cast<ssize_t>(name.size()) ||
        ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
      file.Close();
      return Error{ErrorCode::kNoMemory, "no file for the context"};
    }
  }
  return Reply{{}, {file.get()}};
}

Result<Context::Reply> Context::OnJoin(std::span<const host::FileDescriptor> fds) {
  if (fds.size() != 1) return Error{ErrorCode::kInvalidArgument, "a context to join without its file"};
  for (const auto& other : service_.contexts_) {
    const host::FileDescriptor& file = other->objects_.file();
    if (other.get() == this || other->is_ended() || !file.is_open() || !IsSameFile(fds[0].get(), file.get())) continue;
    if (Status joined = objects_.Join(other->objects_); !joined.ok()) return joined.error();
    return Reply{};
  }
  return Error{ErrorCode::kInvalidArgument, "no context of this NIC has this file"};
}

Result<Context::Reply> Context::OnFindPd(const FindPd& message) const {
  if (Status found = objects_.FindPd(message.pdn); !found.ok()) return found.error();
  return Reply{};
}

Result<Context::Reply> Context::OnFindRegion(const FindRegion& message) const {
  const Result<ContextObjects::Keys> keys = objects_.FindRegion(message.mrn);
  if (!keys.ok()) return keys.error();
  return Reply{Payload(RegionAnswer{keys->lkey, keys->rkey, keys->address, keys->length}), {}};
}

Result<Context::Reply> Context::OnIsNeighbor(const IsNeighbor& message) const {
  const Neighbors& neighbors = service_.options_.neighbors;
  const bool is_known = neighbors != nullptr && neighbors(std::to_array(message.gid)).has_value();
  return Reply{Payload(NeighborAnswer{is_known ? 1U : 0U}), {}};
}

Result<Context::Reply> Context::OnCounters() const {
  Reply reply;
  if (service_.options_.counters == nullptr) return reply;
  for (const Counter& counter : service_.options_.counters()) {
    CounterBytes bytes{.value = counter.value};
    std::copy_n(counter.name.begin(), std::min(counter.name.size(), sizeof bytes.name - 1), bytes.name);
    const std::vector<uint8_t> payload = Payload(bytes);
    reply.payload.insert(reply.payload.end(), payload.begin(), payload.end());
  }
  return reply;
}

Result<Context::Reply> Context::OnObjects(const Objects& message) const {
  if (message.kind > ObjectKind::kSrq) return Error{ErrorCode::kInvalidArgument, "no such kind of objects"};
  Reply reply;
  for (const ObjectBytes& object : service_.ListObjects(message.kind, message.first, message.with_state != 0, this)) {
    const std::vector<uint8_t> payload = Payload(object);
    reply.payload.insert(reply.payload.end(), payload.begin(), payload.end());
  }
  return reply;
}

}  // namespace vireo::service
