// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/ucma_file.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "host/service/cm/ucma_abi.h"
#include "host/service/ucma_protocol.h"

namespace vireo::ibverbs {
namespace {

using service::UcmaAddress;
using service::UcmaMessage;

constexpr int kLost = INT_MIN;
constexpr size_t kHeader = sizeof(rdma_ucm_cmd_hdr);
constexpr size_t kPortOfSockaddr = 2;  // sin_port, sin6_port
static_assert(offsetof(sockaddr_in, sin_port) == kPortOfSockaddr &&
              offsetof(sockaddr_in6, sin6_port) == kPortOfSockaddr);

template <typename T>
T Field(std::span<const uint8_t> bytes, size_t offset) {
  T value{};
  if (bytes.size() >= offset + sizeof value) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
void SetField(std::vector<uint8_t>& bytes, size_t offset, T value) {
  if (bytes.size() >= offset + sizeof value) std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename T>
std::vector<uint8_t> MakeCommand(uint32_t number, const T& body, size_t out) {
  const rdma_ucm_cmd_hdr header{.cmd = number, .in = sizeof body, .out = static_cast<uint16_t>(out)};
  std::vector<uint8_t> bytes(kHeader + sizeof body);
  std::memcpy(bytes.data(), &header, kHeader);
  std::memcpy(bytes.data() + kHeader, &body, sizeof body);
  return bytes;
}

uint32_t NumberOf(std::span<const uint8_t> command) { return Field<rdma_ucm_cmd_hdr>(command, 0).cmd; }

// Offset of the ID in a command; none: the command has no ID, or is not supported.
std::optional<size_t> IdOffset(uint32_t number) {
  switch (number) {
    case RDMA_USER_CM_CMD_DESTROY_ID: return kHeader + offsetof(rdma_ucm_destroy_id, id);
    case RDMA_USER_CM_CMD_BIND_IP: return kHeader + offsetof(rdma_ucm_bind_ip, id);
    case RDMA_USER_CM_CMD_RESOLVE_IP: return kHeader + offsetof(rdma_ucm_resolve_ip, id);
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE: return kHeader + offsetof(rdma_ucm_resolve_route, id);
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
    case RDMA_USER_CM_CMD_QUERY: return kHeader + offsetof(rdma_ucm_query, id);
    case RDMA_USER_CM_CMD_CONNECT: return kHeader + offsetof(rdma_ucm_connect, id);
    case RDMA_USER_CM_CMD_LISTEN: return kHeader + offsetof(rdma_ucm_listen, id);
    case RDMA_USER_CM_CMD_ACCEPT: return kHeader + offsetof(rdma_ucm_accept, id);
    case RDMA_USER_CM_CMD_REJECT: return kHeader + offsetof(rdma_ucm_reject, id);
    case RDMA_USER_CM_CMD_DISCONNECT: return kHeader + offsetof(rdma_ucm_disconnect, id);
    case RDMA_USER_CM_CMD_INIT_QP_ATTR: return kHeader + offsetof(rdma_ucm_init_qp_attr, id);
    case RDMA_USER_CM_CMD_SET_OPTION: return kHeader + offsetof(rdma_ucm_set_option, id);
    case RDMA_USER_CM_CMD_NOTIFY: return kHeader + offsetof(rdma_ucm_notify, id);
    case RDMA_USER_CM_CMD_MIGRATE_ID: return kHeader + offsetof(rdma_ucm_migrate_id, id);
    case RDMA_USER_CM_CMD_BIND: return kHeader + offsetof(rdma_ucm_bind, id);
    case RDMA_USER_CM_CMD_RESOLVE_ADDR: return kHeader + offsetof(rdma_ucm_resolve_addr, id);
    default: return std::nullopt;
  }
}

// None: no address, or of an unknown family; the NIC reports the error.
std::optional<UcmaAddress> AddressAt(std::span<const uint8_t> command, size_t offset) {
  return command.size() <= offset ? std::nullopt : service::FromSockaddr(command.subspan(offset));
}

size_t BoundAddressOffset(uint32_t number) {
  return kHeader +
         (number == RDMA_USER_CM_CMD_BIND_IP ? offsetof(rdma_ucm_bind_ip, addr) : offsetof(rdma_ucm_bind, addr));
}

// Same network, with assumed prefix lengths: /24 for IPv4, /64 for IPv6.
bool IsInNetworkOf(const service::cm::Gid& own, const service::cm::Gid& destination) {
  constexpr service::cm::Gid kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool is_ipv4 = std::equal(kMapped.begin(), kMapped.begin() + 12, destination.begin());
  return std::equal(own.begin(), own.begin() + (is_ipv4 ? 15 : 8), destination.begin());
}

bool AwaitReadable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&one, 1, -1) >= 0;
}

bool IsReadable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) == 1;
}

}  // namespace

// The number of an ID on one NIC.
struct UcmaFile::NicId {
  size_t nic = 0;
  uint32_t id = 0;

  bool operator<(const NicId& other) const { return std::pair(nic, id) < std::pair(other.nic, other.id); }
};

struct UcmaFile::Id {
  std::vector<NicId> nic_ids;  // not empty; one if bound to a NIC
  Bytes create;                // commands for Recreate: CREATE_ID
  std::vector<Bytes> options;  // SET_OPTION
  Bytes bind;                  // BIND to a wildcard address, with a port
};

// IDs of all files of the process, because an ID can migrate between files. Copied by value, so that concurrent misuse
// of an ID by two threads is memory-safe.
class UcmaFile::Ids {
 public:
  uint32_t Add(Id id) {
    const std::lock_guard guard(lock_);
    while (ids_.contains(next_)) ++next_;
    for (const NicId& nic_id : id.nic_ids) numbers_[nic_id] = next_;
    ids_[next_] = std::move(id);
    return next_++;
  }
  std::optional<Id> Find(uint32_t number) const {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(number);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<uint32_t> NumberAt(const NicId& nic_id) const {
    const std::lock_guard guard(lock_);
    const auto found = numbers_.find(nic_id);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  void Set(uint32_t number, Id id) {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(number);
    if (found == ids_.end()) return;
    for (const NicId& nic_id : found->second.nic_ids) numbers_.erase(nic_id);
    for (const NicId& nic_id : id.nic_ids) numbers_[nic_id] = number;
    found->second = std::move(id);
  }
  void Remove(uint32_t number) {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(number);
    if (found == ids_.end()) return;
    for (const NicId& nic_id : found->second.nic_ids) numbers_.erase(nic_id);
    ids_.erase(found);
  }

 private:
  mutable std::mutex lock_;
  std::map<uint32_t, Id> ids_;
  std::map<NicId, uint32_t> numbers_;
  uint32_t next_ = 0;
};

// Never destroyed, like the files.
UcmaFile::Ids& UcmaFile::ProcessIds() {
  static Ids* const ids = new Ids;
  return *ids;
}

UcmaFile::UcmaFile(std::vector<UcmaNic> nics) : readable_(epoll_create1(EPOLL_CLOEXEC)) {
  for (UcmaNic& nic : nics) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(readable_.get(), EPOLL_CTL_ADD, nic.socket.get(), &event);
    const size_t number = nic.number;
    nics_.emplace(number, std::move(nic));
  }
}

int UcmaFile::Duplicate() const { return fcntl(readable_.get(), F_DUPFD_CLOEXEC, 0); }
bool UcmaFile::AwaitEvent() const { return AwaitReadable(readable_.get()); }

int UcmaFile::Exchange(size_t nic, std::span<const uint8_t> command, Bytes& response) {
  const auto found = nics_.find(nic);
  if (found == nics_.end()) return kLost;
  const int fd = found->second.socket.get();
  ssize_t sent = 0;
  do sent = send(fd, command.data(), command.size(), MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return kLost;
  Bytes bytes(service::kUcmaAnswerBytesMax);
  while (true) {
    const ssize_t got = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      // A sent command is executed: signals do not cancel it.
      if (!AwaitReadable(fd) && errno != EINTR) return kLost;
      continue;
    }
    UcmaMessage message;
    if (got < static_cast<ssize_t>(sizeof message)) return kLost;  // closed by the service
    std::memcpy(&message, bytes.data(), sizeof message);
    if (message.type == UcmaMessage::Type::kToken) continue;  // if events are still pending, another follows the answer
    response.assign(bytes.begin() + sizeof message, bytes.begin() + got);
    return message.result;
  }
}

int UcmaFile::Forward(const NicId& nic_id, std::span<const uint8_t> command, Bytes& response) {
  Bytes own(command.begin(), command.end());
  if (const auto offset = IdOffset(NumberOf(command)); offset.has_value()) SetField(own, *offset, nic_id.id);
  const int result = Exchange(nic_id.nic, own, response);
  if (result == kLost) RemoveNic(nic_id.nic);
  return result == kLost ? -ENODEV : result;
}

int UcmaFile::Forward(const NicId& nic_id, std::span<const uint8_t> command) {
  Bytes ignored;
  return Forward(nic_id, command, ignored);
}

// Keeps the last NIC, so that the file stays readable and every command returns -ENODEV.
void UcmaFile::RemoveNic(size_t nic) {
  if (nics_.size() > 1) nics_.erase(nic);
}

int UcmaFile::Command(std::span<const uint8_t> command, UcmaFile* from, Bytes& response) {
  response.clear();
  const uint32_t number = NumberOf(command);
  std::map<size_t, uint32_t> numbers;
  if (number == RDMA_USER_CM_CMD_MIGRATE_ID) {
    if (from == nullptr) return -EBADF;
    numbers = from->Numbers();  // before taking our lock: it may be the same file, or query ours
  }
  const std::lock_guard guard(lock_);
  if (nics_.empty()) return -ENODEV;
  if (number == RDMA_USER_CM_CMD_CREATE_ID) return Create(command, response);
  if (number == RDMA_USER_CM_CMD_GET_EVENT) return GetEvent(command, response);
  const auto offset = IdOffset(number);
  // Malformed or unknown: any NIC returns the error.
  if (!offset.has_value() || command.size() < *offset + sizeof(uint32_t)) {
    return Forward({.nic = nics_.begin()->first, .id = 0}, command, response);
  }
  const auto which = Field<uint32_t>(command, *offset);
  std::optional<Id> id = ProcessIds().Find(which);
  if (!id.has_value()) return -ENOENT;
  switch (number) {
    case RDMA_USER_CM_CMD_DESTROY_ID: return Destroy(which, *id, command, response);
    case RDMA_USER_CM_CMD_SET_OPTION: return SetOption(which, std::move(*id), command);
    case RDMA_USER_CM_CMD_BIND_IP:
    case RDMA_USER_CM_CMD_BIND: return Bind(which, std::move(*id), command);
    case RDMA_USER_CM_CMD_RESOLVE_IP:
    case RDMA_USER_CM_CMD_RESOLVE_ADDR: return Resolve(which, std::move(*id), command);
    case RDMA_USER_CM_CMD_LISTEN: return Listen(which, std::move(*id), command);
    case RDMA_USER_CM_CMD_MIGRATE_ID: return Migrate(command, numbers, response);
    default: return Forward(id->nic_ids.front(), command, response);
  }
}

// --- Creation, options and destruction of IDs

int UcmaFile::Create(std::span<const uint8_t> command, Bytes& response) {
  Id id;
  id.create.assign(command.begin(), command.end());
  std::vector<size_t> nics;
  nics.reserve(nics_.size());
  for (const auto& [nic, unused] : nics_) nics.push_back(nic);
  int result = -ENODEV;
  for (const size_t nic : nics) {
    const int made = Forward({.nic = nic, .id = 0}, command, response);
    if (made == -ENODEV) continue;  // the NIC is lost
    result = made;
    if (made != 0) break;
    id.nic_ids.push_back({.nic = nic, .id = Field<uint32_t>(response, 0)});
  }
  if (result != 0) {
    for (const NicId& nic_id : id.nic_ids) DestroyAt(nic_id);
    response.clear();
    return result;
  }
  SetField(response, offsetof(rdma_ucm_create_id_resp, id), ProcessIds().Add(std::move(id)));
  return 0;
}

int UcmaFile::DestroyAt(const NicId& nic_id) {
  return Forward(nic_id,
                 MakeCommand(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{}, sizeof(rdma_ucm_destroy_id_resp)));
}

int UcmaFile::Destroy(uint32_t number, const Id& id, std::span<const uint8_t> command, Bytes& response) {
  constexpr size_t kReported = offsetof(rdma_ucm_destroy_id_resp, events_reported);
  uint32_t reported = 0;
  int result = -ENODEV;
  for (const NicId& nic_id : id.nic_ids) {
    const int done = Forward(nic_id, command, response);
    if (done == -ENODEV) continue;
    result = done;
    if (done != 0) break;
    reported += Field<uint32_t>(response, kReported);
  }
  if (result == 0 || result == -ENODEV) ProcessIds().Remove(number);
  if (result == 0) SetField(response, kReported, reported);
  return result;
}

void UcmaFile::BindToNic(uint32_t number, Id& id, size_t nic) {
  for (const NicId& nic_id : id.nic_ids) {
    if (nic_id.nic != nic) DestroyAt(nic_id);
  }
  std::erase_if(id.nic_ids, [nic](const NicId& nic_id) { return nic_id.nic != nic; });
  ProcessIds().Set(number, id);
}

int UcmaFile::ForwardAndBind(uint32_t number, Id& id, std::optional<size_t> nic, std::span<const uint8_t> command) {
  const auto nic_id = std::ranges::find(id.nic_ids, nic.value_or(id.nic_ids.front().nic), &NicId::nic);
  if (nic_id == id.nic_ids.end()) return -ENODEV;
  const int result = Forward(*nic_id, command);
  if (result == 0) BindToNic(number, id, nic_id->nic);
  return result;
}

int UcmaFile::Recreate(uint32_t number, Id& id, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    NicId& nic_id = id.nic_ids[i];
    DestroyAt(nic_id);
    Bytes response;
    if (const int made = Forward(nic_id, id.create, response); made != 0) return made;
    nic_id.id = Field<uint32_t>(response, 0);
    for (const Bytes& option : id.options) {
      if (const int set = Forward(nic_id, option); set != 0) return set;
    }
  }
  ProcessIds().Set(number, id);
  return 0;
}

int UcmaFile::SetOption(uint32_t number, Id id, std::span<const uint8_t> command) {
  for (const NicId& nic_id : id.nic_ids) {
    if (const int result = Forward(nic_id, command); result != 0) return result;
  }
  if (id.nic_ids.size() > 1) {
    id.options.emplace_back(command.begin(), command.end());
    ProcessIds().Set(number, std::move(id));
  }
  return 0;
}

int UcmaFile::Migrate(std::span<const uint8_t> command, const std::map<size_t, uint32_t>& numbers, Bytes& response) {
  constexpr size_t kFile = kHeader + offsetof(rdma_ucm_migrate_id, fd);
  constexpr size_t kReported = offsetof(rdma_ucm_migrate_resp, events_reported);
  const std::optional<Id> id = ProcessIds().Find(Field<uint32_t>(command, kHeader + offsetof(rdma_ucm_migrate_id, id)));
  if (!id.has_value()) return -ENOENT;
  Bytes own(command.begin(), command.end());
  uint32_t reported = 0;
  for (const NicId& nic_id : id->nic_ids) {
    const auto from = numbers.find(nic_id.nic);
    if (from == numbers.end()) return -ENODEV;
    SetField(own, kFile, from->second);
    if (const int result = Forward(nic_id, own, response); result != 0) return result;
    reported += Field<uint32_t>(response, kReported);
  }
  SetField(response, kReported, reported);
  return 0;
}

std::map<size_t, uint32_t> UcmaFile::Numbers() {
  const rdma_ucm_cmd_hdr header{.cmd = service::kUcmaFileNumber, .in = 0, .out = sizeof(uint32_t)};
  Bytes command(sizeof header);
  std::memcpy(command.data(), &header, sizeof header);
  std::map<size_t, uint32_t> numbers;
  const std::lock_guard guard(lock_);
  for (const auto& [nic, unused] : nics_) {
    Bytes response;
    if (Exchange(nic, command, response) == 0) numbers[nic] = Field<uint32_t>(response, 0);
  }
  return numbers;
}

int UcmaFile::GetEvent(std::span<const uint8_t> command, Bytes& response) {
  // NICs with a readable socket first. The others may have an event, too: its token may be in flight.
  std::vector<size_t> order;
  order.reserve(nics_.size());
  for (const auto& [nic, state] : nics_) order.push_back(nic);
  std::stable_partition(order.begin(), order.end(),
                        [this](size_t nic) { return IsReadable(nics_.at(nic).socket.get()); });
  for (const size_t nic : order) {
    while (true) {
      const int result = Exchange(nic, command, response);
      if (result == kLost) {
        RemoveNic(nic);
        if (nics_.contains(nic)) return -ENODEV;  // the last NIC
      }
      if (result == kLost || result == -EAGAIN) break;
      if (result != 0) return result;
      constexpr size_t kId = offsetof(rdma_ucm_event_resp, id);
      const NicId nic_id{.nic = nic, .id = Field<uint32_t>(response, kId)};
      const bool is_request = Field<uint32_t>(response, offsetof(rdma_ucm_event_resp, event)) ==
                              static_cast<uint32_t>(service::UcmaEvent::kConnectRequest);
      const std::optional<uint32_t> number =
          is_request ? ProcessIds().Add({.nic_ids = {nic_id}, .create = {}, .options = {}, .bind = {}})
                     : ProcessIds().NumberAt(nic_id);
      if (!number.has_value()) continue;  // the ID was destroyed
      SetField(response, kId, *number);
      return 0;
    }
  }
  return -EAGAIN;
}

// --- Addresses

std::optional<size_t> UcmaFile::NicOf(const UcmaAddress& address) const {
  for (const auto& [nic, state] : nics_) {
    const auto gids = state.gids();
    if (std::ranges::find(gids, address.gid) != gids.end()) return nic;
  }
  return std::nullopt;
}

size_t UcmaFile::RouteTo(const UcmaAddress& destination) {
  const size_t first = nics_.begin()->first;
  if (destination.is_unspecific()) return first;
  if (const auto own = NicOf(destination); own.has_value()) return *own;
  for (const auto& [nic, state] : nics_) {
    if (destination.scope != 0 && destination.scope == state.ifindex) return nic;
  }
  const Bytes command = MakeCommand(service::kUcmaReach, destination.gid, sizeof(uint32_t));
  std::optional<size_t> best;
  std::pair<uint32_t, bool> best_rank;
  for (const auto& [nic, state] : nics_) {
    Bytes response;
    if (Exchange(nic, command, response) != 0) continue;
    const bool is_near =
        std::ranges::any_of(state.gids(), [&](const auto& own) { return IsInNetworkOf(own, destination.gid); });
    const std::pair rank(Field<uint32_t>(response, 0), is_near);
    if (best.has_value() && rank <= best_rank) continue;
    best = nic;
    best_rank = rank;
  }
  return best.value_or(first);
}

std::optional<uint16_t> UcmaFile::PortAt(const NicId& nic_id) {
  Bytes response;
  const Bytes command = MakeCommand(RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query{}, sizeof(rdma_ucm_query_route_resp));
  if (Forward(nic_id, command, response) != 0) return std::nullopt;
  return Field<uint16_t>(response, offsetof(rdma_ucm_query_route_resp, src_addr) + kPortOfSockaddr);
}

int UcmaFile::Bind(uint32_t number, Id id, std::span<const uint8_t> command) {
  if (id.nic_ids.size() == 1) return Forward(id.nic_ids.front(), command);
  const auto address = AddressAt(command, BoundAddressOffset(NumberOf(command)));
  if (address.has_value() && address->is_unspecific()) return BindEverywhere(number, id, command);
  return ForwardAndBind(number, id, address.has_value() ? NicOf(*address) : std::nullopt, command);
}

int UcmaFile::BindEverywhere(uint32_t number, Id& id, std::span<const uint8_t> command) {
  const size_t port_at = BoundAddressOffset(NumberOf(command)) + kPortOfSockaddr;
  const bool has_port = Field<uint16_t>(command, port_at) != 0;
  // A port chosen by the first NIC may be in use on another one: retry with another port.
  constexpr int kChoices = 100;
  for (int choice = 0; choice < kChoices; ++choice) {
    Bytes own(command.begin(), command.end());
    size_t bound = 0;
    int result = 0;
    for (; bound < id.nic_ids.size(); ++bound) {
      result = Forward(id.nic_ids[bound], own);
      if (result != 0) break;
      if (bound == 0 && !has_port) SetField(own, port_at, PortAt(id.nic_ids[0]).value_or(0));
    }
    if (result == 0) {
      id.bind = std::move(own);
      ProcessIds().Set(number, id);
      return 0;
    }
    if (const int recreated = Recreate(number, id, bound); recreated != 0) return recreated;
    if (has_port || bound == 0) return result;
  }
  return -EADDRNOTAVAIL;
}

int UcmaFile::Resolve(uint32_t number, Id id, std::span<const uint8_t> command) {
  if (id.nic_ids.size() == 1) return Forward(id.nic_ids.front(), command);
  const bool is_ip = NumberOf(command) == RDMA_USER_CM_CMD_RESOLVE_IP;
  const auto source = AddressAt(
      command, kHeader + (is_ip ? offsetof(rdma_ucm_resolve_ip, src_addr) : offsetof(rdma_ucm_resolve_addr, src_addr)));
  const auto destination = AddressAt(
      command, kHeader + (is_ip ? offsetof(rdma_ucm_resolve_ip, dst_addr) : offsetof(rdma_ucm_resolve_addr, dst_addr)));
  std::optional<size_t> nic;
  if (source.has_value() && !source->is_unspecific()) {
    nic = NicOf(*source);
  } else if (destination.has_value()) {
    nic = RouteTo(*destination);
  }
  return ForwardAndBind(number, id, nic, command);
}

int UcmaFile::Listen(uint32_t number, Id id, std::span<const uint8_t> command) {
  if (id.nic_ids.size() == 1) return Forward(id.nic_ids.front(), command);
  if (id.bind.empty()) {
    // As in the kernel: 0.0.0.0 and an ephemeral port.
    rdma_ucm_bind_ip bind{};
    bind.addr.sin6_family = AF_INET;
    const Bytes any = MakeCommand(RDMA_USER_CM_CMD_BIND_IP, bind, 0);
    if (const int result = BindEverywhere(number, id, any); result != 0) return result;
  }
  for (size_t listening = 0; listening < id.nic_ids.size(); ++listening) {
    const int result = Forward(id.nic_ids[listening], command);
    if (result == 0) continue;
    if (listening != 0) {  // undo: bound on all NICs, listening on none
      const Bytes bind = id.bind;
      if (const int recreated = Recreate(number, id, id.nic_ids.size()); recreated != 0) return recreated;
      if (const int bound = BindEverywhere(number, id, bind); bound != 0) return bound;
    }
    return result;
  }
  return 0;
}

}  // namespace vireo::ibverbs
