// SPDX-License-Identifier: Apache-2.0
// The commands of rdma_cm. [<rdma/rdma_user_cm.h>; semantics and errors: Linux, drivers/infiniband/core/ucma.c, cma.c]
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "host/service/cm/ucma.h"
#include "host/service/cm/ucma_abi.h"
#include "host/service/ucma_protocol.h"

namespace vireo::service {
namespace {

using State = UcmaId::State;

constexpr uint32_t kMaxBacklog = 1024;  // Linux' default
constexpr uint8_t kIbRateDefault = 0;   // IB_RATE_PORT_CURRENT

// False: too short. `least`: length in the oldest supported ABI.
template <typename T>
bool Take(std::span<const uint8_t> in, T& command, size_t least = sizeof(T)) {
  if (in.size() < least) return false;
  std::memcpy(static_cast<void*>(&command), in.data(), std::min(in.size(), sizeof command));
  return true;
}

// Accesses a kernel structure in place: unaligned fields are copied as bytes.
template <typename T>
std::span<const uint8_t> BytesOf(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

template <typename T>
int WriteResponse(std::vector<uint8_t>& response, size_t out, const T& answer, size_t least = sizeof(T)) {
  if (out < least) return -ENOSPC;
  const auto bytes = BytesOf(answer);
  response.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(out, sizeof answer)));
  return 0;
}

int ToErrno(const host::Status& status) { return status.ok() ? 0 : -EINVAL; }

// enum ib_rate of a link. [IBTA vol. 1, 15.2.5.16.1 (rate of a path)]
uint8_t ToIbRate(uint32_t mbps) {
  struct Rate {
    uint32_t mbps;
    uint8_t value;
  };
  constexpr Rate kRates[] = {{2'500, 2},    {10'000, 3},   {40'000, 7},  {25'000, 15},
                             {100'000, 16}, {200'000, 17}, {50'000, 20}, {400'000, 21}};
  const auto* const found = std::ranges::find(kRates, mbps, &Rate::mbps);
  return found == std::end(kRates) ? kIbRateDefault : found->value;
}

uint64_t ServiceId(const UcmaId& id, const UcmaAddress& address) { return uint64_t{id.space} << 16 | address.port; }

uint64_t ToNetwork64(uint64_t value) { return __builtin_bswap64(value); }

ib_user_path_rec PathRecord(const UcmaId& id, uint8_t mtu, uint32_t mbps, uint8_t life_time) {
  constexpr uint8_t kExactly = 2;  // selector value "exactly"
  ib_user_path_rec path{};
  std::ranges::copy(id.path.dgid, path.dgid);
  std::ranges::copy(id.path.sgid, path.sgid);
  path.flow_label = htonl(id.path.flow_label);
  path.reversible = 1;
  path.mtu = mtu;
  path.pkey = htons(spec::kPkeyDefault);
  path.hop_limit = id.path.hop_limit;
  path.traffic_class = id.path.traffic_class;
  path.numb_path = 1;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kExactly;
  path.rate = ToIbRate(mbps);
  path.packet_life_time = life_time;
  return path;
}

}  // namespace

// By RDMA_USER_CM_CMD_*; null: not in Linux either.
const UcmaFile::Command UcmaFile::kCommands[] = {&UcmaFile::CreateId,     &UcmaFile::DestroyId,
                                                 &UcmaFile::BindIp,       &UcmaFile::ResolveIp,
                                                 &UcmaFile::ResolveRoute, &UcmaFile::QueryRoute,
                                                 &UcmaFile::Connect,      &UcmaFile::Listen,
                                                 &UcmaFile::Accept,       &UcmaFile::Reject,
                                                 &UcmaFile::Disconnect,   &UcmaFile::InitQpAttr,
                                                 &UcmaFile::GetEvent,     nullptr,
                                                 &UcmaFile::SetOption,    &UcmaFile::Notify,
                                                 &UcmaFile::Unsupported,  &UcmaFile::Unsupported,
                                                 &UcmaFile::MigrateId,    &UcmaFile::Query,
                                                 &UcmaFile::Bind,         &UcmaFile::ResolveAddress,
                                                 &UcmaFile::Unsupported};
static_assert(RDMA_USER_CM_CMD_JOIN_MCAST == 22 && RDMA_USER_CM_CMD_QUERY == 19);

int UcmaFile::Write(std::span<const uint8_t> command, std::vector<uint8_t>& response) {
  response.clear();
  rdma_ucm_cmd_hdr header;
  if (!Take(command, header)) return -EINVAL;
  if (header.cmd == kUcmaFileNumber) return WriteResponse(response, header.out, number_);
  if (header.cmd >= std::size(kCommands) && header.cmd != kUcmaReach) return -EINVAL;
  if (sizeof header + header.in > command.size()) return -EINVAL;
  if (header.cmd == kUcmaReach) {
    cm::Gid gid;
    if (!Take(command.subspan(sizeof header, header.in), gid)) return -EINVAL;
    return WriteResponse(response, header.out, ucma_.ReachOf(gid));
  }
  const Command handler = kCommands[header.cmd];
  if (handler == nullptr) return -ENOSYS;
  const int result = (this->*handler)({.in = command.subspan(sizeof header, header.in),
                                       .option = command.subspan(sizeof header + header.in),
                                       .out = header.out,
                                       .response = response});
  if (result != 0) response.clear();
  return result;
}

UcmaId* UcmaFile::Find(uint32_t number, int* error) {
  UcmaId* const id = ucma_.Find(number);
  *error = id == nullptr ? -ENOENT : id->file != this ? -EINVAL : 0;
  return *error == 0 ? id : nullptr;
}

int UcmaFile::Unsupported(const Call& /*call*/) { return -EOPNOTSUPP; }

// --- Creation and destruction of IDs

int UcmaFile::CreateId(const Call& call) {
  rdma_ucm_create_id command;
  if (!Take(call.in, command)) return -EINVAL;
  if (call.out < sizeof(rdma_ucm_create_id_resp)) return -ENOSPC;
  bool is_datagram = false;
  switch (command.ps) {
    case RDMA_PS_TCP: break;
    case RDMA_PS_UDP: is_datagram = true; break;
    case RDMA_PS_IB:
      if (command.qp_type != kQpTypeRc && command.qp_type != kQpTypeUd) return -EINVAL;
      is_datagram = command.qp_type == kQpTypeUd;
      break;
    default: return -EINVAL;
  }
  UcmaId& id = ucma_.Create(*this, command.ps, is_datagram);
  id.uid = command.uid;
  return WriteResponse(call.response, call.out, rdma_ucm_create_id_resp{.id = id.number});
}

int UcmaFile::DestroyId(const Call& call) {
  rdma_ucm_destroy_id command;
  if (!Take(call.in, command)) return -EINVAL;
  if (call.out < sizeof(rdma_ucm_destroy_id_resp)) return -ENOSPC;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  const rdma_ucm_destroy_id_resp answer{.events_reported = id->events_reported};
  ucma_.Destroy(*id);
  return WriteResponse(call.response, call.out, answer);
}

int UcmaFile::MigrateId(const Call& call) {
  rdma_ucm_migrate_id command;
  if (!Take(call.in, command)) return -EINVAL;
  if (call.out < sizeof(rdma_ucm_migrate_resp)) return -ENOSPC;
  // The new file sends the command; `fd` is the file that has the ID.
  const auto from = ucma_.files_.find(command.fd);
  if (from == ucma_.files_.end()) return -EBADF;
  int error = 0;
  UcmaId* const id = from->second->Find(command.id, &error);
  if (id == nullptr) return error;
  const rdma_ucm_migrate_resp answer{.events_reported = id->events_reported};
  auto& events = from->second->events_;
  if (from->second != this) {
    id->file = this;
    std::vector<Pending> moved;
    for (auto& event : events) {
      if (event.id == id->number) moved.push_back(std::move(event));
    }
    std::erase_if(events, [&](const Pending& event) { return event.id == id->number; });
    for (auto& event : moved) {
      if (UcmaId* const child = event.child == 0 ? nullptr : ucma_.Find(event.child - 1); child != nullptr) {
        child->file = this;
      }
      Queue(std::move(event));
    }
  }
  return WriteResponse(call.response, call.out, answer);
}

int UcmaFile::GetEvent(const Call& call) {
  rdma_ucm_get_event command;
  if (!Take(call.in, command)) return -EINVAL;
  // Fields added to ABI 4 later may be missing.
  if (call.out < offsetof(rdma_ucm_event_resp, reserved)) return -ENOSPC;
  if (events_.empty()) return -EAGAIN;
  const Pending event = std::move(events_.front());
  events_.pop_front();
  if (UcmaId* const id = ucma_.Find(event.id); id != nullptr) {
    ++id->events_reported;
    if (event.child != 0) ++id->backlog;
  }
  call.response.assign(event.response.begin(),
                       event.response.begin() + static_cast<std::ptrdiff_t>(std::min(call.out, event.response.size())));
  return 0;
}

// --- Addresses

int UcmaFile::BindIp(const Call& call) {
  rdma_ucm_bind_ip command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  const auto address = FromSockaddr(BytesOf(command.addr));
  if (!address.has_value()) return -EINVAL;
  return ucma_.Bind(*id, *address);
}

int UcmaFile::Bind(const Call& call) {
  rdma_ucm_bind command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (command.reserved != 0 || command.addr_size > sizeof command.addr) return -EINVAL;
  const auto address = FromSockaddr(BytesOf(command.addr).first(command.addr_size));
  if (!address.has_value()) return -EINVAL;
  return ucma_.Bind(*id, *address);
}

namespace {

// A source address is optional. False: present, but of an unknown family.
bool SourceOf(std::span<const uint8_t> bytes, std::optional<UcmaAddress>& source) {
  sa_family_t family = AF_UNSPEC;
  if (bytes.size() >= sizeof family) std::memcpy(&family, bytes.data(), sizeof family);
  if (family == AF_UNSPEC) return true;
  source = FromSockaddr(bytes);
  return source.has_value();
}

}  // namespace

int UcmaFile::ResolveIp(const Call& call) {
  rdma_ucm_resolve_ip command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  std::optional<UcmaAddress> source;
  const auto destination = FromSockaddr(BytesOf(command.dst_addr));
  if (!SourceOf(BytesOf(command.src_addr), source) || !destination.has_value()) return -EINVAL;
  return ucma_.Resolve(*id, source, *destination);
}

int UcmaFile::ResolveAddress(const Call& call) {
  rdma_ucm_resolve_addr command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (command.reserved != 0 || command.src_size > sizeof command.src_addr ||
      command.dst_size > sizeof command.dst_addr) {
    return -EINVAL;
  }
  std::optional<UcmaAddress> source;
  const auto destination = FromSockaddr(BytesOf(command.dst_addr).first(command.dst_size));
  if (!SourceOf(BytesOf(command.src_addr).first(command.src_size), source) || !destination.has_value()) return -EINVAL;
  return ucma_.Resolve(*id, source, *destination);
}

int UcmaFile::ResolveRoute(const Call& call) {
  rdma_ucm_resolve_route command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (!id->Is(State::kAddressResolved)) return -EINVAL;
  id->state = State::kRouteResolved;
  id->path.traffic_class = id->type_of_service;
  ucma_.Report(*id, static_cast<uint32_t>(UcmaEvent::kRouteResolved), 0);
  return 0;
}

int UcmaFile::QueryRoute(const Call& call) {
  rdma_ucm_query command;
  if (!Take(call.in, command, offsetof(rdma_ucm_query, option))) return -EINVAL;
  constexpr size_t kLeast = offsetof(rdma_ucm_query_route_resp, ibdev_index);
  if (call.out < kLeast) return -ENOSPC;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  rdma_ucm_query_route_resp answer{};
  uint8_t address[sizeof(sockaddr_in6)];
  std::memcpy(&answer.src_addr, address, ToSockaddr(id->source, address));
  std::memcpy(&answer.dst_addr, address, ToSockaddr(id->destination, address));
  if (id->has_device) {
    answer.node_guid = ToNetwork64(ucma_.identity_.node_guid);
    answer.ibdev_index = ucma_.identity_.device_index;
    answer.port_num = 1;
    answer.ib_route[0] = PathRecord(*id, static_cast<uint8_t>(ucma_.identity_.active_mtu), ucma_.identity_.link_mbps,
                                    ucma_.PacketLifeTime(*id));
    // Before ROUTE_RESOLVED, an ID has addresses but no path.
    const bool has_path = id->state >= State::kRouteResolved && !id->Is(State::kListen);
    answer.num_paths = has_path ? 1 : 0;
  }
  return WriteResponse(call.response, call.out, answer, kLeast);
}

int UcmaFile::Query(const Call& call) {
  rdma_ucm_query command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  const Ucma::Identity& identity = ucma_.identity_;
  if (command.option == RDMA_USER_CM_QUERY_PATH) {
    if (call.out < sizeof(rdma_ucm_query_path_resp)) return -ENOSPC;
    const bool has_path = id->has_device && id->state >= State::kRouteResolved && !id->Is(State::kListen);
    const rdma_ucm_query_path_resp head{.num_paths = has_path ? 1U : 0U, .reserved = 0};
    call.response.resize(sizeof head);
    std::memcpy(call.response.data(), &head, sizeof head);
    if (!has_path || call.out < sizeof head + sizeof(ib_path_rec_data)) return 0;
    ib_path_rec_data data{};
    data.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
    // A PathRecord of subnet administration. [IBTA vol. 1, 15.2.5.16]
    uint8_t record[sizeof data.path_rec]{};
    const auto path =
        PathRecord(*id, static_cast<uint8_t>(identity.active_mtu), identity.link_mbps, ucma_.PacketLifeTime(*id));
    const uint64_t service = ToNetwork64(ServiceId(*id, id->destination));
    std::memcpy(record, &service, 8);
    std::copy_n(path.dgid, 16, record + 8);
    std::copy_n(path.sgid, 16, record + 24);
    const uint32_t flow_and_hops = htonl((id->path.flow_label & 0xf'ffff) << 8 | path.hop_limit);
    std::memcpy(record + 44, &flow_and_hops, 4);
    record[48] = path.traffic_class;
    record[49] = static_cast<uint8_t>(0x80 | path.numb_path);  // reversible
    std::memcpy(record + 50, &path.pkey, 2);
    record[54] = static_cast<uint8_t>(path.mtu_selector << 6 | static_cast<uint8_t>(path.mtu));
    record[55] = static_cast<uint8_t>(path.rate_selector << 6 | path.rate);
    record[56] = static_cast<uint8_t>(path.packet_life_time_selector << 6 | path.packet_life_time);
    std::memcpy(data.path_rec, record, sizeof record);
    const auto bytes = BytesOf(data);
    call.response.insert(call.response.end(), bytes.begin(), bytes.end());
    return 0;
  }
  if (command.option != RDMA_USER_CM_QUERY_ADDR && command.option != RDMA_USER_CM_QUERY_GID) return -ENOSYS;

  rdma_ucm_query_addr_resp answer{};
  if (id->has_device) {
    answer.node_guid = ToNetwork64(identity.node_guid);
    answer.ibdev_index = identity.device_index;
    answer.port_num = 1;
    answer.pkey = htons(spec::kPkeyDefault);
  }
  uint8_t bytes[kSockaddrIbBytes]{};
  if (command.option == RDMA_USER_CM_QUERY_ADDR) {
    answer.src_size = static_cast<uint16_t>(ToSockaddr(id->source, bytes));
    std::memcpy(&answer.src_addr, bytes, answer.src_size);
    answer.dst_size = static_cast<uint16_t>(ToSockaddr(id->destination, bytes));
    std::memcpy(&answer.dst_addr, bytes, answer.dst_size);
  } else {
    answer.src_size = answer.dst_size = kSockaddrIbBytes;
    ToSockaddrIb(id->path.sgid, spec::kPkeyDefault, ServiceId(*id, id->source), bytes);
    std::memcpy(&answer.src_addr, bytes, sizeof bytes);
    ToSockaddrIb(id->path.dgid, spec::kPkeyDefault, ServiceId(*id, id->destination), bytes);
    std::memcpy(&answer.dst_addr, bytes, sizeof bytes);
  }
  return WriteResponse(call.response, call.out, answer, offsetof(rdma_ucm_query_addr_resp, ibdev_index));
}

// --- Connections

int UcmaFile::Listen(const Call& call) {
  rdma_ucm_listen command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (id->Is(State::kIdle)) {
    error = ucma_.Bind(*id, {.family = AF_INET});
    if (error != 0) return error;
  }
  if (!id->Is(State::kBound)) return -EINVAL;
  error = ucma_.CheckPort(*id, id->source, true);
  if (error != 0) return error;
  id->backlog = command.backlog > 0 && command.backlog < kMaxBacklog ? command.backlog : kMaxBacklog;
  id->state = State::kListen;
  ucma_.manager_.OnServiceAdded();
  return 0;
}

int UcmaFile::Connect(const Call& call) {
  rdma_ucm_connect command{};
  if (!Take(call.in, command, offsetof(rdma_ucm_connect, ece))) return -EINVAL;
  const auto& param = command.conn_param;
  if (param.valid == 0) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (!id->Is(State::kRouteResolved)) return -EINVAL;
  const size_t room = (id->is_datagram ? cm::SidrReq::kPrivateBytes : cm::Req::kPrivateBytes) - cm::IpHeader::kBytes;
  if (param.private_data_len > room) return -EINVAL;

  std::vector<uint8_t> data(cm::IpHeader::kBytes);
  cm::Encode(cm::IpHeader{.ip_version = static_cast<uint8_t>(id->source.family == AF_INET ? 4 : 6),
                          .source_port = id->source.port,
                          .source = ToIpHeader(id->source),
                          .destination = ToIpHeader(id->destination)},
             std::span(data).first<cm::IpHeader::kBytes>());
  data.insert(data.end(), param.private_data, param.private_data + param.private_data_len);
  id->qpn = param.qp_num;
  id->srq = param.srq != 0;
  id->responder_resources = param.responder_resources;
  const uint64_t service = ServiceId(*id, id->destination);
  if (id->connection != 0) ucma_.manager_.Destroy(id->connection);
  auto made = id->is_datagram
                  ? ucma_.manager_.Resolve(*id, id->path, service, data)
                  : ucma_.manager_.Connect(*id, id->path,
                                           {.service_id = service,
                                            .qpn = id->qpn,
                                            .starting_psn = id->psn,
                                            .responder_resources = param.responder_resources,
                                            .initiator_depth = param.initiator_depth,
                                            .flow_control = param.flow_control != 0,
                                            .srq = id->srq,
                                            .retry_count = param.retry_count,
                                            .rnr_retry_count = param.rnr_retry_count,
                                            .path_mtu = static_cast<uint8_t>(ucma_.identity_.active_mtu),
                                            .local_ack_timeout = ucma_.manager_.AckTimeout(ucma_.PacketLifeTime(*id)),
                                            .private_data = data});
  if (!made.ok()) return -EINVAL;
  id->connection = *made;
  id->state = State::kConnect;
  return 0;
}

int UcmaFile::Accept(const Call& call) {
  rdma_ucm_accept command{};
  if (!Take(call.in, command, offsetof(rdma_ucm_accept, ece))) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (!id->Is(State::kConnect)) return -EINVAL;
  const auto& param = command.conn_param;
  // Without parameters: the active side sends RTU.
  if (param.valid == 0) return id->is_datagram ? -EINVAL : ToErrno(ucma_.manager_.Ready(id->connection));
  const std::span<const uint8_t> data(param.private_data, param.private_data_len);
  host::Status done;
  if (id->is_datagram) {
    if (param.qkey != 0) id->qkey = param.qkey;
    if (id->qkey == 0) id->qkey = kUcmaUdpQkey;
    done = ucma_.manager_.SidrReply(id->connection, cm::SidrStatus::kValid, param.qp_num, id->qkey, data);
  } else {
    done = ucma_.manager_.Accept(id->connection, {.qpn = param.qp_num,
                                                  .starting_psn = id->psn,
                                                  .responder_resources = param.responder_resources,
                                                  .initiator_depth = param.initiator_depth,
                                                  .flow_control = param.flow_control != 0,
                                                  .srq = param.srq != 0,
                                                  .rnr_retry_count = param.rnr_retry_count,
                                                  .private_data = data});
  }
  if (!done.ok()) return -EINVAL;
  id->uid = command.uid;
  id->qpn = param.qp_num;
  id->responder_resources = param.responder_resources;
  return 0;
}

int UcmaFile::Reject(const Call& call) {
  rdma_ucm_reject command;
  if (!Take(call.in, command)) return -EINVAL;
  auto reason = static_cast<cm::RejectReason>(command.reason);
  if (command.reason == 0) reason = cm::RejectReason::kConsumer;
  if (reason != cm::RejectReason::kConsumer && reason != cm::RejectReason::kVendorOption) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (id->connection == 0) return -EINVAL;
  const std::span<const uint8_t> data(command.private_data, command.private_data_len);
  if (!id->is_datagram) return ToErrno(ucma_.manager_.Reject(id->connection, reason, data));
  return ToErrno(ucma_.manager_.SidrReply(id->connection, cm::SidrStatus::kReject, 0, 0, data));
}

int UcmaFile::Disconnect(const Call& call) {
  rdma_ucm_disconnect command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (id->connection == 0 || id->is_datagram) return -EINVAL;
  // Linux reports no error for a closed connection.
  (void)ucma_.manager_.Disconnect(id->connection);
  return 0;
}

int UcmaFile::Notify(const Call& call) {
  rdma_ucm_notify command;
  if (!Take(call.in, command)) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (id->connection == 0 || command.event != kAsyncCommEst) return -EINVAL;
  return ToErrno(ucma_.manager_.Establish(id->connection));
}

int UcmaFile::InitQpAttr(const Call& call) {
  rdma_ucm_init_qp_attr command;
  if (!Take(call.in, command)) return -EINVAL;
  if (call.out < sizeof(ib_uverbs_qp_attr)) return -ENOSPC;
  if (command.qp_state > kQpStateError) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  if (!id->has_device) return -EINVAL;
  ib_uverbs_qp_attr answer{};
  answer.qp_state = command.qp_state;
  if (id->is_datagram) {
    if (id->qkey == 0) id->qkey = kUcmaUdpQkey;
    answer.qp_attr_mask = qp_mask::kState | qp_mask::kPkeyIndex | qp_mask::kPort | qp_mask::kQkey;
    answer.port_num = 1;
    answer.qkey = id->qkey;
    return WriteResponse(call.response, call.out, answer);
  }
  const auto known = id->connection == 0 ? std::nullopt : ucma_.manager_.Query(id->connection);
  if (!known.has_value()) {
    answer.qp_attr_mask = qp_mask::kState | qp_mask::kPkeyIndex | qp_mask::kPort | qp_mask::kAccessFlags;
    answer.port_num = 1;
    return WriteResponse(call.response, call.out, answer);
  }
  const bool is_asked = known->state == cm::State::kReqSent || known->state == cm::State::kMraReqReceived;
  const bool has_peer = known->state == cm::State::kReqReceived || known->state == cm::State::kRepReceived ||
                        known->state == cm::State::kRepSent || known->state == cm::State::kMraRepReceived ||
                        known->state == cm::State::kEstablished;
  switch (command.qp_state) {
    case kQpStateInit:
      if (!is_asked && !has_peer) return -EINVAL;
      answer.qp_attr_mask = qp_mask::kState | qp_mask::kAccessFlags | qp_mask::kPkeyIndex | qp_mask::kPort;
      answer.qp_access_flags = kAccessRemoteWrite;
      if (known->responder_resources != 0) answer.qp_access_flags |= kAccessRemoteRead | kAccessRemoteAtomic;
      answer.port_num = 1;
      break;
    case kQpStateRtr:
      if (!has_peer) return -EINVAL;
      answer.qp_attr_mask = qp_mask::kState | qp_mask::kAv | qp_mask::kPathMtu | qp_mask::kDestQpn | qp_mask::kRqPsn |
                            qp_mask::kMaxDestRdAtomic | qp_mask::kMinRnrTimer;
      answer.ah_attr = ToUverbs(known->path);
      answer.path_mtu = known->path_mtu;
      answer.dest_qp_num = known->remote_qpn;
      answer.rq_psn = id->psn;
      answer.max_dest_rd_atomic = known->responder_resources;
      break;
    case kQpStateRts:
      if (!has_peer) return -EINVAL;
      answer.qp_attr_mask = qp_mask::kState | qp_mask::kSqPsn | qp_mask::kRetryCount | qp_mask::kRnrRetry |
                            qp_mask::kTimeout | qp_mask::kMaxQpRdAtomic;
      answer.sq_psn = known->sq_psn;
      answer.retry_cnt = known->retry_count;
      answer.rnr_retry = known->rnr_retry_count;
      answer.timeout = id->ack_timeout.value_or(known->timeout);
      answer.max_rd_atomic = known->initiator_depth;
      break;
    default: return -EINVAL;
  }
  return WriteResponse(call.response, call.out, answer);
}

int UcmaFile::SetOption(const Call& call) {
  rdma_ucm_set_option command;
  if (!Take(call.in, command)) return -EINVAL;
  if (command.optlen > 4096 || command.optlen > call.option.size()) return -EINVAL;
  int error = 0;
  UcmaId* const id = Find(command.id, &error);
  if (id == nullptr) return error;
  // RDMA_OPTION_IB_PATH is not supported: the path comes from RESOLVE_ROUTE.
  if (command.level != RDMA_OPTION_ID) return -ENOSYS;
  const auto option = call.option.first(command.optlen);
  int number = 0;
  switch (command.optname) {
    case RDMA_OPTION_ID_TOS:
      if (option.size() != 1) return -EINVAL;
      id->type_of_service = option[0];
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
    case RDMA_OPTION_ID_AFONLY:
      if (option.size() != sizeof number) return -EINVAL;
      std::memcpy(&number, option.data(), sizeof number);
      // Only before a port is bound; as in Linux, REUSEADDR may be set later.
      if (!id->Is(State::kIdle) && !(command.optname == RDMA_OPTION_ID_REUSEADDR && number != 0)) return -EINVAL;
      (command.optname == RDMA_OPTION_ID_REUSEADDR ? id->reuse_address : id->family_only) = number != 0;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (option.size() != 1 || id->is_datagram || option[0] > 31) return -EINVAL;
      id->ack_timeout = option[0];
      return 0;
    default: return -ENOSYS;
  }
}

}  // namespace vireo::service
