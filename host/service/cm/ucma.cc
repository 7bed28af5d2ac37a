// SPDX-License-Identifier: Apache-2.0
#include "host/service/cm/ucma.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/service/cm/ucma_abi.h"

namespace vireo::service {
namespace {

using State = UcmaId::State;
using Kind = cm::Event::Kind;

// Linux' default ephemeral port range (ip_local_port_range).
constexpr uint16_t kEphemeralFirst = 32768, kEphemeralLast = 60999;

}  // namespace

void UcmaId::OnCmEvent(uint32_t /*id*/, const cm::Event& event) { file->ucma_.OnCmEvent(*this, event); }

Ucma::Ucma(cm::ConnectionManager& manager, Identity identity, Neighbors neighbors)
    : manager_(manager), identity_(std::move(identity)), neighbors_(std::move(neighbors)), random_(identity_.seed) {
  manager_.SetAcceptor([this](const cm::Incoming& incoming) { return OnIncoming(incoming); });
}

Ucma::~Ucma() { manager_.SetAcceptor(nullptr); }

std::unique_ptr<UcmaFile> Ucma::Open(std::function<void()> on_event) {
  const uint32_t number = next_file_++;
  std::unique_ptr<UcmaFile> file(new UcmaFile(*this, number, std::move(on_event)));
  files_[number] = file.get();
  return file;
}

UcmaId& Ucma::Create(UcmaFile& file, uint16_t space, bool is_datagram) {
  while (ids_.contains(next_id_)) ++next_id_;
  auto& id = ids_[next_id_] = std::make_unique<UcmaId>();
  id->number = next_id_++;
  id->file = &file;
  id->space = space;
  id->is_datagram = is_datagram;
  id->psn = static_cast<uint32_t>(random_()) & 0xff'ffff;
  return *id;
}

UcmaId* Ucma::Find(uint32_t number) {
  const auto found = ids_.find(number);
  return found == ids_.end() ? nullptr : found->second.get();
}

void Ucma::Destroy(UcmaId& id) {
  if (id.connection != 0) manager_.Destroy(id.connection);
  id.file->DropEvents(id.number);
  ids_.erase(id.number);
}

// --- Addresses and ports

const Ucma::Identity::Gid* Ucma::OwnGid(const UcmaAddress& address) const {
  const auto found = std::ranges::find(identity_.gids, address.gid, &Identity::Gid::gid);
  return found == identity_.gids.end() ? nullptr : &*found;
}

int Ucma::CheckPort(const UcmaId& id, const UcmaAddress& address, bool listens) const {
  for (const auto& [number, other] : ids_) {
    if (other.get() == &id || !other->owns_port || other->space != id.space || other->source.port != address.port) {
      continue;
    }
    if (!listens && id.reuse_address && other->reuse_address && !other->Is(State::kListen)) continue;
    if (id.family_only && other->family_only && address.family != other->source.family) continue;
    if (address.is_unspecific() || other->source.is_unspecific()) return -EADDRNOTAVAIL;
    if (address.gid == other->source.gid) return -EADDRINUSE;
  }
  return 0;
}

int Ucma::Bind(UcmaId& id, const UcmaAddress& address) {
  if (!id.Is(State::kIdle)) return -EINVAL;
  const Identity::Gid* gid = nullptr;
  if (!address.is_unspecific()) {
    gid = OwnGid(address);
    if (gid == nullptr) return -EADDRNOTAVAIL;
  }
  UcmaAddress bound = address;
  if (address.port != 0) {
    if (const int error = CheckPort(id, bound, false); error != 0) return error;
  } else {
    constexpr uint32_t kPorts = kEphemeralLast - kEphemeralFirst + 1;
    const auto start = static_cast<uint32_t>(random_() % kPorts);
    uint32_t tried = 0;
    // A port that is free on all addresses.
    const auto is_taken = [&](uint16_t port) {
      return std::ranges::any_of(ids_, [&](const auto& other) {
        return other.second->owns_port && other.second->space == id.space && other.second->source.port == port;
      });
    };
    do {
      bound.port = static_cast<uint16_t>(kEphemeralFirst + (start + tried) % kPorts);
    } while (++tried <= kPorts && is_taken(bound.port));
    if (tried > kPorts) return -EADDRNOTAVAIL;
  }
  id.source = bound;
  id.owns_port = true;
  id.state = State::kBound;
  if (gid != nullptr) {
    id.has_device = true;
    id.path.sgid_index = gid->index;
    id.path.sgid = gid->gid;
  }
  return 0;
}

int Ucma::Resolve(UcmaId& id, const std::optional<UcmaAddress>& source, const UcmaAddress& destination) {
  if (id.Is(State::kIdle)) {
    const UcmaAddress any{.family = destination.family};
    UcmaAddress from = source.value_or(any);
    if (source.has_value() && source->family != destination.family) return -EINVAL;
    if (from.family == AF_INET && from.is_any()) from.gid = cm::Gid{};  // every form of 0.0.0.0
    if (const int error = Bind(id, from); error != 0) return error;
  }
  if (!id.Is(State::kBound)) return -EINVAL;
  if (id.source.family != destination.family) return -EINVAL;
  id.destination = destination;

  // A source GID of the destination's family: IPv4-mapped or not.
  const auto is_mapped = [](const cm::Gid& gid) {
    return std::all_of(gid.begin(), gid.begin() + 10, [](uint8_t byte) { return byte == 0; }) && gid[10] == 0xff;
  };
  const Identity::Gid* own = nullptr;
  const bool to_self = destination.is_unspecific();
  if (id.has_device) {
    own = OwnGid(id.source);
  } else {
    for (const auto& gid : identity_.gids) {
      const bool fits = to_self ? is_mapped(gid.gid) == (destination.family == AF_INET)
                                : is_mapped(gid.gid) == is_mapped(destination.gid);
      if (fits && own == nullptr) own = &gid;
    }
  }
  if (own == nullptr) {
    Report(id, static_cast<uint32_t>(UcmaEvent::kAddressError), -ENETUNREACH);
    return 0;
  }
  if (to_self) id.destination.gid = own->gid;
  std::erase_if(resolving_, [&id](const Resolving& one) { return one.id == id.number; });  // replaced by this one
  const Reach reach = OwnGid(id.destination) != nullptr ? Reach::kReachable : neighbors_(id.destination.gid);
  if (reach == Reach::kSearching) {
    resolving_.push_back({.id = id.number, .own = *own});
  } else {
    ConcludeResolve(id, *own, reach);
  }
  return 0;
}

uint32_t Ucma::ReachOf(const cm::Gid& gid) const {
  switch (std::ranges::find(identity_.gids, gid, &Identity::Gid::gid) != identity_.gids.end() ? Reach::kReachable
                                                                                              : neighbors_(gid)) {
    case Reach::kNowhere: return 0;
    case Reach::kSearching: return 1;
    case Reach::kReachable: break;
  }
  return 2;
}

void Ucma::ConcludeResolve(UcmaId& id, const Identity::Gid& own, Reach reach) {
  if (reach != Reach::kReachable) {
    return Report(id, static_cast<uint32_t>(UcmaEvent::kAddressError), -EHOSTUNREACH);
  }
  id.source.gid = own.gid;
  id.has_device = true;
  id.path.sgid_index = own.index;
  id.path.sgid = own.gid;
  id.path.dgid = id.destination.gid;
  id.path.traffic_class = id.type_of_service;
  id.state = State::kAddressResolved;
  Report(id, static_cast<uint32_t>(UcmaEvent::kAddressResolved), 0);
}

void Ucma::ResolveWaiting() {
  std::erase_if(resolving_, [this](const Resolving& one) {
    UcmaId* const id = Find(one.id);
    // Destroyed meanwhile, or no longer resolving.
    if (id == nullptr || !id->Is(State::kBound)) return true;
    const Reach reach = neighbors_(id->destination.gid);
    if (reach == Reach::kSearching) return false;
    ConcludeResolve(*id, one.own, reach);
    return true;
  });
}

uint8_t Ucma::PacketLifeTime(const UcmaId& id) const {
  if (id.ack_timeout.value_or(0) != 0) return static_cast<uint8_t>(*id.ack_timeout - 1);
  return manager_.options().packet_life_time;
}

// --- Events

cm::ConnectionManager::Answer Ucma::OnIncoming(const cm::Incoming& incoming) {
  using Verdict = cm::ConnectionManager::Answer::Verdict;
  const auto data = incoming.event.private_data;
  const cm::IpHeader header = cm::Decode(data.first<cm::IpHeader::kBytes>());
  if (header.version != 0 || (header.ip_version != 4 && header.ip_version != 6)) return {};
  const uint64_t space = incoming.service_id >> 16;
  const auto port = static_cast<uint16_t>(incoming.service_id);
  const UcmaAddress to = FromIpHeader(header.ip_version, header.destination, port);

  UcmaId* listener = nullptr;
  for (const auto& [number, id] : ids_) {
    if (!id->Is(State::kListen) || id->space != space || id->source.port != port ||
        id->is_datagram != incoming.is_sidr) {
      continue;
    }
    const bool any = id->source.is_unspecific() &&
                     (id->source.family == to.family || (id->source.family == AF_INET6 && !id->family_only));
    if (any || id->source.gid == to.gid) listener = id.get();
  }
  if (listener == nullptr) return {.verdict = Verdict::kNoService};
  if (listener->backlog == 0) return {.verdict = Verdict::kIgnored};
  --listener->backlog;

  UcmaId& child = Create(*listener->file, listener->space, listener->is_datagram);
  child.state = State::kConnect;
  child.source = to;
  child.destination = FromIpHeader(header.ip_version, header.source, header.source_port);
  child.has_device = true;
  child.path = incoming.path;
  child.connection = incoming.id;
  child.type_of_service = listener->type_of_service;
  child.ack_timeout = listener->ack_timeout;
  child.responder_resources = incoming.event.responder_resources;
  cm::Event event = incoming.event;
  event.private_data = data.subspan(cm::IpHeader::kBytes);
  // Counted and reported for the listener, with its uid.
  Report(*listener, static_cast<uint32_t>(UcmaEvent::kConnectRequest), 0, event, child.number + 1);
  return {.verdict = Verdict::kTaken, .handler = &child};
}

void Ucma::OnCmEvent(UcmaId& id, const cm::Event& event) {
  const auto report = [&](UcmaEvent what, int status) { Report(id, static_cast<uint32_t>(what), status, event); };
  switch (event.kind) {
    case Kind::kRequest: return;
    case Kind::kReply: return report(UcmaEvent::kConnectResponse, 0);
    case Kind::kEstablished: return report(UcmaEvent::kEstablished, 0);
    case Kind::kRejected: return report(UcmaEvent::kRejected, event.status);
    case Kind::kUnreachable: return report(UcmaEvent::kUnreachable, event.status);
    case Kind::kDisconnected:
      if (!id.Is(State::kConnect)) return;
      id.state = State::kDisconnected;
      return report(UcmaEvent::kDisconnected, event.status);
    case Kind::kTimewaitExit: return report(UcmaEvent::kTimewaitExit, 0);
    case Kind::kSidrReply:
      if (event.status != 0) return report(UcmaEvent::kUnreachable, event.status);
      id.qkey = event.qkey;
      return report(UcmaEvent::kEstablished, 0);
  }
}

void Ucma::Report(UcmaId& id, uint32_t event, int status) { Report(id, event, status, cm::Event{}); }

// `child`: its number + 1; 0: none.
void Ucma::Report(UcmaId& id, uint32_t event, int status, const cm::Event& what, uint32_t child) {
  // No events of a connection that the program has not accepted yet; its accept will fail.
  const bool is_passive_unknown = !id.owns_port && id.uid == 0;
  if (is_passive_unknown) return;
  rdma_ucm_event_resp response{};
  response.uid = id.uid;
  response.id = child != 0 ? child - 1 : id.number;
  response.event = event;
  response.status = static_cast<uint32_t>(status);
  const UcmaId& whose = child != 0 ? *Find(child - 1) : id;
  const auto bytes = static_cast<uint8_t>(std::min<size_t>(what.private_data.size(), 255));
  if (id.is_datagram) {
    auto& ud = response.param.ud;
    ud.qp_num = what.remote_qpn;
    ud.qkey = what.qkey;
    if (whose.has_device) ud.ah_attr = ToUverbs(whose.path);
    std::copy_n(what.private_data.begin(), bytes, ud.private_data);
    ud.private_data_len = bytes;
  } else {
    auto& conn = response.param.conn;
    conn.qp_num = what.remote_qpn;
    conn.srq = what.srq ? 1 : 0;
    conn.responder_resources = what.responder_resources;
    conn.initiator_depth = what.initiator_depth;
    conn.flow_control = what.flow_control ? 1 : 0;
    conn.retry_count = what.retry_count;
    conn.rnr_retry_count = what.rnr_retry_count;
    std::copy_n(what.private_data.begin(), bytes, conn.private_data);
    conn.private_data_len = bytes;
  }
  UcmaFile::Pending pending{.id = id.number, .child = child, .response = std::vector<uint8_t>(sizeof response)};
  std::memcpy(pending.response.data(), &response, sizeof response);
  id.file->Queue(std::move(pending));
}

// --- A file's queue

UcmaFile::~UcmaFile() {
  std::vector<uint32_t> own;
  for (const auto& [number, id] : ucma_.ids_) {
    if (id->file == this) own.push_back(number);
  }
  for (const uint32_t number : own) {
    if (UcmaId* const id = ucma_.Find(number); id != nullptr) ucma_.Destroy(*id);
  }
  ucma_.files_.erase(number_);
}

void UcmaFile::Queue(Pending event) {
  const bool first = events_.empty();
  events_.push_back(std::move(event));
  if (first && on_event_) on_event_();
}

void UcmaFile::DropEvents(uint32_t id) {
  std::vector<uint32_t> unreported;
  std::erase_if(events_, [&](const Pending& event) {
    if (event.id != id) return false;
    if (event.child != 0) unreported.push_back(event.child - 1);
    return true;
  });
  for (const uint32_t child : unreported) {
    if (UcmaId* const made = ucma_.Find(child); made != nullptr) ucma_.Destroy(*made);
  }
}

}  // namespace vireo::service
