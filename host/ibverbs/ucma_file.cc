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

// Where a command has its ID, from the command's begin; nothing: it has none, or it is one that no NIC offers.
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

// Nothing: no address, or one of a family that nobody knows; the NIC that is asked says what is wrong.
std::optional<UcmaAddress> AddressAt(std::span<const uint8_t> command, size_t offset) {
  return command.size() <= offset ? std::nullopt : service::FromSockaddr(command.subspan(offset));
}

size_t BoundAddressOffset(uint32_t number) {
  return kHeader +
         (number == RDMA_USER_CM_CMD_BIND_IP ? offsetof(rdma_ucm_bind_ip, addr) : offsetof(rdma_ucm_bind, addr));
}

// Of the networks that the NICs' addresses would lie in if they said so.
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

// An ID as one NIC knows it.
struct UcmaFile::Place {
  size_t nic = 0;
  uint32_t id = 0;

  bool operator<(const Place& other) const { return std::pair(nic, id) < std::pair(other.nic, other.id); }
};

struct UcmaFile::Id {
  std::vector<Place> places;   // not empty; one, when it is known which NIC it is on
  Bytes create;                // the command; the following are what came after it
  std::vector<Bytes> options;  // SET_OPTION
  Bytes bind;                  // to no address in particular, with a port
};

// The process's IDs: of all its files, since an ID can go from one to another. Values, so that of two threads that use
// an ID in wrong ways at once nothing worse comes than what they asked for.
class UcmaFile::Ids {
 public:
  uint32_t Add(Id id) {
    const std::lock_guard guard(lock_);
    while (ids_.contains(next_)) ++next_;
    for (const Place& place : id.places) numbers_[place] = next_;
    ids_[next_] = std::move(id);
    return next_++;
  }
  std::optional<Id> Find(uint32_t number) const {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(number);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<uint32_t> NumberAt(const Place& place) const {
    const std::lock_guard guard(lock_);
    const auto found = numbers_.find(place);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  void Set(uint32_t number, Id id) {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(number);
    if (found == ids_.end()) return;
    for (const Place& place : found->second.places) numbers_.erase(place);
    for (const Place& place : id.places) numbers_[place] = number;
    found->second = std::move(id);
  }
  void Remove(uint32_t number) {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(number);
    if (found == ids_.end()) return;
    for (const Place& place : found->second.places) numbers_.erase(place);
    ids_.erase(found);
  }

 private:
  mutable std::mutex lock_;
  std::map<uint32_t, Id> ids_;
  std::map<Place, uint32_t> numbers_;
  uint32_t next_ = 0;
};

// Never destroyed, as the files.
UcmaFile::Ids& UcmaFile::TheIds() {
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
      // A command that was sent is carried out: signals do not end it.
      if (!AwaitReadable(fd) && errno != EINTR) return kLost;
      continue;
    }
    UcmaMessage message;
    if (got < static_cast<ssize_t>(sizeof message)) return kLost;  // the service is gone
    std::memcpy(&message, bytes.data(), sizeof message);
    if (message.type == UcmaMessage::Type::kToken) continue;  // another follows the answer, if it still means anything
    response.assign(bytes.begin() + sizeof message, bytes.begin() + got);
    return message.result;
  }
}

int UcmaFile::At(const Place& place, std::span<const uint8_t> command, Bytes& response) {
  Bytes own(command.begin(), command.end());
  if (const auto offset = IdOffset(NumberOf(command)); offset.has_value()) SetField(own, *offset, place.id);
  const int result = Exchange(place.nic, own, response);
  if (result == kLost) Lose(place.nic);
  return result == kLost ? -ENODEV : result;
}

int UcmaFile::At(const Place& place, std::span<const uint8_t> command) {
  Bytes ignored;
  return At(place, command, ignored);
}

// The last one stays, so that the file is readable and every command says what happened.
void UcmaFile::Lose(size_t nic) {
  if (nics_.size() > 1) nics_.erase(nic);
}

int UcmaFile::Command(std::span<const uint8_t> command, UcmaFile* from, Bytes& response) {
  response.clear();
  const uint32_t number = NumberOf(command);
  std::map<size_t, uint32_t> numbers;
  if (number == RDMA_USER_CM_CMD_MIGRATE_ID) {
    if (from == nullptr) return -EBADF;
    numbers = from->Numbers();  // before our lock: it may be the same file, or ask for ours
  }
  const std::lock_guard guard(lock_);
  if (nics_.empty()) return -ENODEV;
  if (number == RDMA_USER_CM_CMD_CREATE_ID) return Create(command, response);
  if (number == RDMA_USER_CM_CMD_GET_EVENT) return GetEvent(command, response);
  const auto offset = IdOffset(number);
  // One that nobody understands: any NIC says so.
  if (!offset.has_value() || command.size() < *offset + sizeof(uint32_t)) {
    return At({.nic = nics_.begin()->first, .id = 0}, command, response);
  }
  const auto which = Field<uint32_t>(command, *offset);
  std::optional<Id> id = TheIds().Find(which);
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
    default: return At(id->places.front(), command, response);
  }
}

// --- Life of an ID

int UcmaFile::Create(std::span<const uint8_t> command, Bytes& response) {
  Id id;
  id.create.assign(command.begin(), command.end());
  std::vector<size_t> nics;
  nics.reserve(nics_.size());
  for (const auto& [nic, unused] : nics_) nics.push_back(nic);
  int result = -ENODEV;
  for (const size_t nic : nics) {
    const int made = At({.nic = nic, .id = 0}, command, response);
    if (made == -ENODEV) continue;  // it is gone
    result = made;
    if (made != 0) break;
    id.places.push_back({.nic = nic, .id = Field<uint32_t>(response, 0)});
  }
  if (result != 0) {
    for (const Place& place : id.places) DestroyAt(place);
    response.clear();
    return result;
  }
  SetField(response, offsetof(rdma_ucm_create_id_resp, id), TheIds().Add(std::move(id)));
  return 0;
}

int UcmaFile::DestroyAt(const Place& place) {
  return At(place, MakeCommand(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{}, sizeof(rdma_ucm_destroy_id_resp)));
}

int UcmaFile::Destroy(uint32_t number, const Id& id, std::span<const uint8_t> command, Bytes& response) {
  constexpr size_t kReported = offsetof(rdma_ucm_destroy_id_resp, events_reported);
  uint32_t reported = 0;
  int result = -ENODEV;
  for (const Place& place : id.places) {
    const int done = At(place, command, response);
    if (done == -ENODEV) continue;
    result = done;
    if (done != 0) break;
    reported += Field<uint32_t>(response, kReported);
  }
  if (result == 0 || result == -ENODEV) TheIds().Remove(number);
  if (result == 0) SetField(response, kReported, reported);
  return result;
}

void UcmaFile::Settle(uint32_t number, Id& id, size_t nic) {
  for (const Place& place : id.places) {
    if (place.nic != nic) DestroyAt(place);
  }
  std::erase_if(id.places, [nic](const Place& place) { return place.nic != nic; });
  TheIds().Set(number, id);
}

int UcmaFile::SettleBy(uint32_t number, Id& id, std::optional<size_t> nic, std::span<const uint8_t> command) {
  const auto place = std::ranges::find(id.places, nic.value_or(id.places.front().nic), &Place::nic);
  if (place == id.places.end()) return -ENODEV;
  const int result = At(*place, command);
  if (result == 0) Settle(number, id, place->nic);
  return result;
}

int UcmaFile::Renew(uint32_t number, Id& id, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Place& place = id.places[i];
    DestroyAt(place);
    Bytes response;
    if (const int made = At(place, id.create, response); made != 0) return made;
    place.id = Field<uint32_t>(response, 0);
    for (const Bytes& option : id.options) {
      if (const int set = At(place, option); set != 0) return set;
    }
  }
  TheIds().Set(number, id);
  return 0;
}

int UcmaFile::SetOption(uint32_t number, Id id, std::span<const uint8_t> command) {
  for (const Place& place : id.places) {
    if (const int result = At(place, command); result != 0) return result;
  }
  if (id.places.size() > 1) {
    id.options.emplace_back(command.begin(), command.end());
    TheIds().Set(number, std::move(id));
  }
  return 0;
}

int UcmaFile::Migrate(std::span<const uint8_t> command, const std::map<size_t, uint32_t>& numbers, Bytes& response) {
  constexpr size_t kFile = kHeader + offsetof(rdma_ucm_migrate_id, fd);
  constexpr size_t kReported = offsetof(rdma_ucm_migrate_resp, events_reported);
  const std::optional<Id> id = TheIds().Find(Field<uint32_t>(command, kHeader + offsetof(rdma_ucm_migrate_id, id)));
  if (!id.has_value()) return -ENOENT;
  Bytes own(command.begin(), command.end());
  uint32_t reported = 0;
  for (const Place& place : id->places) {
    const auto from = numbers.find(place.nic);
    if (from == numbers.end()) return -ENODEV;
    SetField(own, kFile, from->second);
    if (const int result = At(place, own, response); result != 0) return result;
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
  // Those first that say that they have one. Those that do not may: what says so can be on its way.
  std::vector<size_t> order;
  order.reserve(nics_.size());
  for (const auto& [nic, state] : nics_) order.push_back(nic);
  std::stable_partition(order.begin(), order.end(),
                        [this](size_t nic) { return IsReadable(nics_.at(nic).socket.get()); });
  for (const size_t nic : order) {
    while (true) {
      const int result = Exchange(nic, command, response);
      if (result == kLost) {
        Lose(nic);
        if (nics_.contains(nic)) return -ENODEV;  // it was the last one
      }
      if (result == kLost || result == -EAGAIN) break;
      if (result != 0) return result;
      constexpr size_t kId = offsetof(rdma_ucm_event_resp, id);
      const Place place{.nic = nic, .id = Field<uint32_t>(response, kId)};
      const bool is_request = Field<uint32_t>(response, offsetof(rdma_ucm_event_resp, event)) ==
                              static_cast<uint32_t>(service::UcmaEvent::kConnectRequest);
      const std::optional<uint32_t> number =
          is_request ? TheIds().Add({.places = {place}, .create = {}, .options = {}, .bind = {}})
                     : TheIds().NumberAt(place);
      if (!number.has_value()) continue;  // of an ID that is no longer there
      SetField(response, kId, *number);
      return 0;
    }
  }
  return -EAGAIN;
}

// --- Addresses

std::optional<size_t> UcmaFile::Having(const UcmaAddress& address) const {
  for (const auto& [nic, state] : nics_) {
    if (std::ranges::find(state.gids, address.gid) != state.gids.end()) return nic;
  }
  return std::nullopt;
}

size_t UcmaFile::RouteTo(const UcmaAddress& destination) {
  const size_t first = nics_.begin()->first;
  if (destination.is_any() || destination.is_loopback()) return first;
  if (const auto own = Having(destination); own.has_value()) return *own;
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
        std::ranges::any_of(state.gids, [&](const auto& own) { return IsInNetworkOf(own, destination.gid); });
    const std::pair rank(Field<uint32_t>(response, 0), is_near);
    if (best.has_value() && rank <= best_rank) continue;
    best = nic;
    best_rank = rank;
  }
  return best.value_or(first);
}

std::optional<uint16_t> UcmaFile::PortAt(const Place& place) {
  Bytes response;
  const Bytes command = MakeCommand(RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query{}, sizeof(rdma_ucm_query_route_resp));
  if (At(place, command, response) != 0) return std::nullopt;
  return Field<uint16_t>(response, offsetof(rdma_ucm_query_route_resp, src_addr) + kPortOfSockaddr);
}

int UcmaFile::Bind(uint32_t number, Id id, std::span<const uint8_t> command) {
  if (id.places.size() == 1) return At(id.places.front(), command);
  const auto address = AddressAt(command, BoundAddressOffset(NumberOf(command)));
  if (address.has_value() && address->is_any()) return BindEverywhere(number, id, command);
  return SettleBy(number, id, address.has_value() ? Having(*address) : std::nullopt, command);
}

int UcmaFile::BindEverywhere(uint32_t number, Id& id, std::span<const uint8_t> command) {
  const size_t port_at = BoundAddressOffset(NumberOf(command)) + kPortOfSockaddr;
  const bool has_port = Field<uint16_t>(command, port_at) != 0;
  // A port that the first NIC chose may be in use on another one.
  constexpr int kChoices = 100;
  for (int choice = 0; choice < kChoices; ++choice) {
    Bytes own(command.begin(), command.end());
    size_t bound = 0;
    int result = 0;
    for (; bound < id.places.size(); ++bound) {
      result = At(id.places[bound], own);
      if (result != 0) break;
      if (bound == 0 && !has_port) SetField(own, port_at, PortAt(id.places[0]).value_or(0));
    }
    if (result == 0) {
      id.bind = std::move(own);
      TheIds().Set(number, id);
      return 0;
    }
    if (const int renewed = Renew(number, id, bound); renewed != 0) return renewed;
    if (has_port || bound == 0) return result;
  }
  return -EADDRNOTAVAIL;
}

int UcmaFile::Resolve(uint32_t number, Id id, std::span<const uint8_t> command) {
  if (id.places.size() == 1) return At(id.places.front(), command);
  const bool is_ip = NumberOf(command) == RDMA_USER_CM_CMD_RESOLVE_IP;
  const auto source = AddressAt(
      command, kHeader + (is_ip ? offsetof(rdma_ucm_resolve_ip, src_addr) : offsetof(rdma_ucm_resolve_addr, src_addr)));
  const auto destination = AddressAt(
      command, kHeader + (is_ip ? offsetof(rdma_ucm_resolve_ip, dst_addr) : offsetof(rdma_ucm_resolve_addr, dst_addr)));
  std::optional<size_t> nic;
  if (source.has_value() && !source->is_any()) {
    nic = Having(*source);
  } else if (destination.has_value()) {
    nic = RouteTo(*destination);
  }
  return SettleBy(number, id, nic, command);
}

int UcmaFile::Listen(uint32_t number, Id id, std::span<const uint8_t> command) {
  if (id.places.size() == 1) return At(id.places.front(), command);
  if (id.bind.empty()) {
    // As the kernel: at 0.0.0.0 and a port of its choice.
    rdma_ucm_bind_ip bind{};
    bind.addr.sin6_family = AF_INET;
    const Bytes any = MakeCommand(RDMA_USER_CM_CMD_BIND_IP, bind, 0);
    if (const int result = BindEverywhere(number, id, any); result != 0) return result;
  }
  for (size_t listening = 0; listening < id.places.size(); ++listening) {
    const int result = At(id.places[listening], command);
    if (result == 0) continue;
    if (listening != 0) {  // then it is only bound, as before
      const Bytes bind = id.bind;
      if (const int renewed = Renew(number, id, id.places.size()); renewed != 0) return renewed;
      if (const int bound = BindEverywhere(number, id, bind); bound != 0) return bound;
    }
    return result;
  }
  return 0;
}

}  // namespace vireo::ibverbs
