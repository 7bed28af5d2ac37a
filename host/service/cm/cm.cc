// SPDX-License-Identifier: Apache-2.0
#include "host/service/cm/cm.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vireo::service::cm {
namespace {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using Kind = Event::Kind;

// Lower limit of the peer's timeouts: prevents retransmission storms.
constexpr uint8_t kTimeoutFloor = 8;

Error NoConnection(uint32_t id) { return {ErrorCode::kInvalidArgument, "no connection " + std::to_string(id)}; }
Error BadState(const char* what) {
  return {ErrorCode::kBadState, std::string(what) + " not allowed in this state of the connection"};
}

template <typename Message>
Status Fill(Message& message, std::span<const uint8_t> data) {
  if (data.size() > Message::kPrivateBytes) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(data.size()) + " bytes of private data; at most " +
                                                  std::to_string(Message::kPrivateBytes)};
  }
  std::ranges::copy(data, message.private_data.begin());
  return {};
}

void PutGuid(uint64_t guid, std::span<uint8_t> bytes) {
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(guid >> (56 - 8 * i));
}

}  // namespace

struct ConnectionManager::Connection {
  uint32_t id = 0;
  Handler* handler = nullptr;  // null: destroyed by the user, waiting for the close handshake
  Path path;
  State state = State::kIdle;
  uint64_t tid = 0;
  uint64_t service_id = 0;
  uint32_t remote_id = 0;  // 0: not known yet
  uint64_t remote_guid = 0;
  uint32_t local_qpn = 0, remote_qpn = 0;
  uint32_t sq_psn = 0, rq_psn = 0;
  uint8_t path_mtu = 0, ack_timeout = 0, retry_count = 0, rnr_retry_count = 0;
  uint8_t responder_resources = 0, initiator_depth = 0;
  uint8_t max_retries = 0;
  uint64_t interval_ns = 0;
  Mad sent{};  // last message: retransmitted, or repeated as the answer to a duplicate
  unsigned retries_left = 0;
  std::optional<uint64_t> deadline;
  bool report_established = false;  // by the next Tick
};

ConnectionManager::ConnectionManager(MadTransport& transport, Clock clock, const Options& options)
    : transport_(transport), clock_(std::move(clock)), options_(options), random_(options.seed) {}

ConnectionManager::~ConnectionManager() = default;

ConnectionManager::Connection* ConnectionManager::Find(uint32_t id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

// The connection of a message: both ids match (a remote id that is not known yet matches any), and the source GID is
// the peer's.
ConnectionManager::Connection* ConnectionManager::FindPeer(uint32_t local, uint32_t remote, const Path& path) const {
  Connection* const c = Find(local);
  if (c == nullptr || c->path.dgid != path.dgid || (c->remote_id != 0 && c->remote_id != remote)) return nullptr;
  return c;
}

ConnectionManager::Connection& ConnectionManager::Add(Handler* handler, const Path& path) {
  uint32_t id = 0;
  do id = static_cast<uint32_t>(random_());
  while (id == 0 || connections_.contains(id));
  auto& c = connections_[id] = std::make_unique<Connection>();
  c->id = id;
  c->handler = handler;
  c->path = path;
  c->tid = random_();
  c->max_retries = options_.max_retries;
  // The peer's response time plus two packet lifetimes.
  c->interval_ns = TimeoutNs(options_.response_timeout) + 2 * TimeoutNs(options_.packet_life_time);
  return *c;
}

void ConnectionManager::Remove(uint32_t id) { connections_.erase(id); }

void ConnectionManager::Send(const Path& path, const Mad& mad) { transport_.SendMad(path, mad); }

void ConnectionManager::SendUntilAnswered(Connection& c, const Mad& mad) {
  c.sent = mad;
  c.retries_left = c.max_retries;
  c.deadline = clock_() + c.interval_ns;
  Send(c.path, mad);
}

void ConnectionManager::StopTimer(Connection& c) { c.deadline.reset(); }

void ConnectionManager::SendRej(const Connection& c, Answered answered, RejectReason reason,
                                std::span<const uint8_t> private_data) {
  Rej rej{.local_comm_id = c.id, .remote_comm_id = c.remote_id, .answered = answered, .reason = reason};
  // After a timeout the peer may not know our id yet, but it knows our GUID. [IBTA 12.6.7.2]
  if (reason == RejectReason::kTimeout) {
    rej.info_length = 8;
    PutGuid(options_.node_guid, rej.info);
  }
  std::ranges::copy(private_data, rej.private_data.begin());
  Send(c.path, Encode(rej, c.tid));
}

void ConnectionManager::SendMra(const Connection& c, Answered answered) {
  Send(c.path, Encode(Mra{.local_comm_id = c.id,
                          .remote_comm_id = c.remote_id,
                          .answered = answered,
                          .service_timeout = options_.mra_service_timeout},
                      c.tid));
}

void ConnectionManager::SendDrep(const Connection& c, uint64_t tid) {
  Send(c.path, Encode(Drep{.local_comm_id = c.id, .remote_comm_id = c.remote_id}, tid));
}

void ConnectionManager::EnterTimewait(Connection& c) {
  c.state = State::kTimewait;
  c.deadline = clock_() + TimeoutNs(c.ack_timeout);
}

void ConnectionManager::Notify(Connection& c, const Event& event) {
  if (c.handler != nullptr) {
    c.handler->OnCmEvent(c.id, event);
  } else if (c.state == State::kTimewait || c.state == State::kIdle) {
    Remove(c.id);
  }
}

uint8_t ConnectionManager::AckTimeout(uint8_t packet_life_time) const {
  // Twice the packet lifetime plus the CA's delay: a sum of powers of 2, rounded up. [IBTA 12.7.34]
  const int life = packet_life_time + 1, delay = options_.target_ack_delay;
  const int larger = std::max(life, delay), smaller = std::min(life, delay);
  return static_cast<uint8_t>(std::min(larger + (smaller >= larger - 1 ? 1 : 0), 31));
}

// --- Calls of users

Result<uint32_t> ConnectionManager::Connect(Handler& handler, const Path& path, const ConnectParameters& parameters) {
  Req req;
  if (Status filled = Fill(req, parameters.private_data); !filled.ok()) return filled.error();
  Connection& c = Add(&handler, path);
  c.service_id = parameters.service_id;
  c.local_qpn = parameters.qpn;
  c.rq_psn = parameters.starting_psn & 0xff'ffff;
  c.responder_resources = parameters.responder_resources;
  c.initiator_depth = parameters.initiator_depth;
  c.retry_count = std::min<uint8_t>(parameters.retry_count, 7);
  c.rnr_retry_count = std::min<uint8_t>(parameters.rnr_retry_count, 7);
  c.path_mtu = parameters.path_mtu;
  c.ack_timeout = parameters.local_ack_timeout & 0x1f;

  req.local_comm_id = c.id;
  req.service_id = parameters.service_id;
  req.local_ca_guid = options_.node_guid;
  req.local_qpn = parameters.qpn & 0xff'ffff;
  req.responder_resources = c.responder_resources;
  req.initiator_depth = c.initiator_depth;
  req.remote_cm_response_timeout = req.local_cm_response_timeout = options_.response_timeout;
  req.flow_control = parameters.flow_control;
  req.starting_psn = c.rq_psn;
  req.retry_count = c.retry_count;
  req.pkey = spec::kPkeyDefault;
  req.path_mtu = c.path_mtu;
  req.rnr_retry_count = c.rnr_retry_count;
  req.max_cm_retries = options_.max_retries;
  req.srq = parameters.srq;
  req.primary.local_lid = req.primary.remote_lid = 0xffff;
  req.primary.local_gid = path.sgid;
  req.primary.remote_gid = path.dgid;
  req.primary.flow_label = path.flow_label & 0xf'ffff;
  req.primary.traffic_class = path.traffic_class;
  req.primary.hop_limit = path.hop_limit;
  req.primary.local_ack_timeout = c.ack_timeout;
  c.state = State::kReqSent;
  SendUntilAnswered(c, Encode(req, c.tid));
  return c.id;
}

Result<uint32_t> ConnectionManager::Resolve(Handler& handler, const Path& path, uint64_t service_id,
                                            std::span<const uint8_t> private_data) {
  SidrReq req{.pkey = spec::kPkeyDefault, .service_id = service_id};
  if (Status filled = Fill(req, private_data); !filled.ok()) return filled.error();
  Connection& c = Add(&handler, path);
  c.service_id = service_id;
  c.state = State::kSidrReqSent;
  req.request_id = c.id;
  SendUntilAnswered(c, Encode(req, c.tid));
  return c.id;
}

Status ConnectionManager::Accept(uint32_t id, const AcceptParameters& parameters) {
  Connection* const c = Find(id);
  if (c == nullptr) return NoConnection(id);
  if (c->state != State::kReqReceived) return BadState("accept");
  Rep rep;
  if (Status filled = Fill(rep, parameters.private_data); !filled.ok()) return filled;
  c->local_qpn = parameters.qpn;
  c->rq_psn = parameters.starting_psn & 0xff'ffff;
  c->responder_resources = parameters.responder_resources;
  c->initiator_depth = parameters.initiator_depth;
  rep.local_comm_id = c->id;
  rep.remote_comm_id = c->remote_id;
  rep.local_qpn = parameters.qpn & 0xff'ffff;
  rep.starting_psn = c->rq_psn;
  rep.responder_resources = c->responder_resources;
  rep.initiator_depth = c->initiator_depth;
  rep.target_ack_delay = options_.target_ack_delay;
  rep.flow_control = parameters.flow_control;
  rep.rnr_retry_count = std::min<uint8_t>(parameters.rnr_retry_count, 7);
  rep.srq = parameters.srq;
  rep.local_ca_guid = options_.node_guid;
  c->state = State::kRepSent;
  SendUntilAnswered(*c, Encode(rep, c->tid));
  return {};
}

Status ConnectionManager::Ready(uint32_t id) {
  Connection* const c = Find(id);
  if (c == nullptr) return NoConnection(id);
  if (c->state != State::kRepReceived) return BadState("ready");
  c->state = State::kEstablished;
  c->sent = Encode(Rtu{.local_comm_id = c->id, .remote_comm_id = c->remote_id}, c->tid);
  Send(c->path, c->sent);
  return {};
}

Status ConnectionManager::Establish(uint32_t id) {
  Connection* const c = Find(id);
  if (c == nullptr) return NoConnection(id);
  if (c->state == State::kEstablished) return {};
  if (c->state != State::kRepSent && c->state != State::kMraRepReceived) return BadState("establish");
  c->state = State::kEstablished;
  c->report_established = true;
  c->deadline = clock_();
  return {};
}

Status ConnectionManager::Reject(uint32_t id, RejectReason reason, std::span<const uint8_t> private_data) {
  Connection* const c = Find(id);
  if (c == nullptr) return NoConnection(id);
  if (private_data.size() > Rej::kPrivateBytes) {
    return Error{ErrorCode::kInvalidArgument, "more private data than a REJ holds"};
  }
  Answered answered = Answered::kReq;
  switch (c->state) {
    case State::kReqReceived:
    case State::kReqSent:
    case State::kMraReqReceived: break;
    case State::kRepReceived: answered = Answered::kRep; break;
    case State::kRepSent:
    case State::kMraRepReceived: answered = Answered::kOther; break;
    default: return BadState("reject");
  }
  StopTimer(*c);
  SendRej(*c, answered, reason, private_data);
  c->state = State::kIdle;
  return {};
}

Status ConnectionManager::Disconnect(uint32_t id) {
  Connection* const c = Find(id);
  if (c == nullptr) return NoConnection(id);
  if (c->state == State::kDreqReceived) {
    SendDrep(*c, c->tid);
    EnterTimewait(*c);
    return {};
  }
  if (c->state != State::kEstablished) return BadState("disconnect");
  c->state = State::kDreqSent;
  c->report_established = false;
  c->tid = random_();
  SendUntilAnswered(
      *c, Encode(Dreq{.local_comm_id = c->id, .remote_comm_id = c->remote_id, .remote_qpn = c->remote_qpn}, c->tid));
  return {};
}

Status ConnectionManager::SidrReply(uint32_t id, SidrStatus status, uint32_t qpn, uint32_t qkey,
                                    std::span<const uint8_t> private_data) {
  Connection* const c = Find(id);
  if (c == nullptr) return NoConnection(id);
  if (c->state != State::kSidrReqReceived) return BadState("SIDR reply");
  SidrRep rep{.request_id = c->remote_id, .status = status, .service_id = c->service_id};
  if (Status filled = Fill(rep, private_data); !filled.ok()) return filled;
  if (status == SidrStatus::kValid) {
    rep.qpn = qpn & 0xff'ffff;
    rep.qkey = qkey;
  }
  c->state = State::kSidrRepSent;
  c->sent = Encode(rep, c->tid);
  Send(c->path, c->sent);
  return {};
}

void ConnectionManager::Destroy(uint32_t id) {
  Connection* const c = Find(id);
  if (c == nullptr) return;
  c->handler = nullptr;
  switch (c->state) {
    case State::kReqSent:
    case State::kMraReqReceived: SendRej(*c, Answered::kReq, RejectReason::kTimeout, {}); break;
    case State::kReqReceived: SendRej(*c, Answered::kReq, RejectReason::kConsumer, {}); break;
    case State::kRepReceived: SendRej(*c, Answered::kRep, RejectReason::kConsumer, {}); break;
    case State::kRepSent:
    case State::kMraRepReceived: SendRej(*c, Answered::kOther, RejectReason::kConsumer, {}); break;
    case State::kEstablished: (void)Disconnect(id); return;
    case State::kDreqSent: return;  // retransmitted until it is answered
    case State::kDreqReceived: SendDrep(*c, c->tid); break;
    case State::kSidrReqReceived: (void)SidrReply(id, SidrStatus::kReject, 0, 0, {}); break;
    case State::kIdle:
    case State::kTimewait:  // a DREQ for an unknown connection is answered, too
    case State::kSidrReqSent:
    case State::kSidrRepSent: break;
  }
  Remove(id);
}

std::optional<ConnectionManager::QpAttributes> ConnectionManager::Query(uint32_t id) const {
  const Connection* const c = Find(id);
  if (c == nullptr) return std::nullopt;
  return QpAttributes{.state = c->state,
                      .path = c->path,
                      .path_mtu = c->path_mtu,
                      .remote_qpn = c->remote_qpn,
                      .rq_psn = c->rq_psn,
                      .sq_psn = c->sq_psn,
                      .responder_resources = c->responder_resources,
                      .initiator_depth = c->initiator_depth,
                      .timeout = c->ack_timeout,
                      .retry_count = c->retry_count,
                      .rnr_retry_count = c->rnr_retry_count};
}

// --- Timers

std::optional<uint64_t> ConnectionManager::NextDeadline() const {
  std::optional<uint64_t> earliest;
  for (const auto& [id, c] : connections_) {
    if (c->deadline.has_value() && (!earliest.has_value() || *c->deadline < *earliest)) earliest = c->deadline;
  }
  for (const QueuedRequest& one : queued_) {
    const uint64_t due = one.retry ? 0 : one.expires_at_ns;
    if (!earliest.has_value() || due < *earliest) earliest = due;
  }
  return earliest;
}

void ConnectionManager::OnServiceAdded() {
  for (QueuedRequest& one : queued_) one.retry = true;
}

bool ConnectionManager::QueueRequest(const Path& path, MadView mad) {
  constexpr size_t kMostAtOnce = 256;
  const uint64_t now = clock_();
  const uint64_t expires_at = expires_at_ns_.value_or(now + options_.refusal_delay_ns);
  if (expires_at <= now || queued_.size() == kMostAtOnce) return false;
  const bool is_known = std::ranges::any_of(queued_, [&](const QueuedRequest& one) {
    return one.path.dgid == path.dgid && std::ranges::equal(one.mad, mad);  // a retransmission
  });
  if (is_known) return true;
  QueuedRequest& one = queued_.emplace_back();
  one.path = path;
  one.expires_at_ns = expires_at;
  std::ranges::copy(mad, one.mad.begin());
  return true;
}

void ConnectionManager::RetryQueued(uint64_t now_ns) {
  std::vector<QueuedRequest> due;
  std::erase_if(queued_, [&](const QueuedRequest& one) {
    const bool is_due = one.retry || one.expires_at_ns <= now_ns;
    if (is_due) due.push_back(one);
    return is_due;
  });
  for (const QueuedRequest& one : due) {
    expires_at_ns_ = one.expires_at_ns;
    OnMad(one.path, one.mad);
  }
  expires_at_ns_.reset();
}

void ConnectionManager::Tick() {
  const uint64_t now = clock_();
  std::vector<uint32_t> due;  // handlers may change the map
  for (const auto& [id, c] : connections_) {
    if (c->deadline.has_value() && *c->deadline <= now) due.push_back(id);
  }
  for (const uint32_t id : due) {
    Connection* const c = Find(id);
    if (c != nullptr && c->deadline.has_value() && *c->deadline <= now) OnDeadline(*c);
  }
  RetryQueued(now);
}

void ConnectionManager::OnDeadline(Connection& c) {
  StopTimer(c);
  switch (c.state) {
    case State::kEstablished:
      if (!std::exchange(c.report_established, false)) return;
      return Notify(c, {.kind = Kind::kEstablished});
    case State::kTimewait: c.state = State::kIdle; return Notify(c, {.kind = Kind::kTimewaitExit});
    case State::kReqSent:
    case State::kRepSent:
    case State::kDreqSent:
    case State::kSidrReqSent:
      if (c.retries_left > 0) {
        --c.retries_left;
        c.deadline = clock_() + c.interval_ns;
        return Send(c.path, c.sent);
      }
      break;
    default: break;  // the time of an MRA has expired
  }
  switch (c.state) {
    case State::kDreqSent: EnterTimewait(c); return Notify(c, {.kind = Kind::kDisconnected, .status = -ETIMEDOUT});
    case State::kReqSent:
    case State::kMraReqReceived: SendRej(c, Answered::kReq, RejectReason::kTimeout, {}); break;
    case State::kRepSent:
    case State::kMraRepReceived: SendRej(c, Answered::kRep, RejectReason::kTimeout, {}); break;
    default: break;
  }
  c.state = State::kIdle;
  Notify(c, {.kind = Kind::kUnreachable, .status = -ETIMEDOUT});
}

// --- Received messages

void ConnectionManager::OnMad(const Path& path, MadView mad) {
  const auto header = Parse(mad);
  if (!header.has_value()) return;
  const uint64_t tid = header->transaction_id;
  switch (header->attribute) {
    case Attribute::kReq: return OnReq(path, mad, tid);
    case Attribute::kMra: return OnMra(path, mad);
    case Attribute::kRej: return OnRej(path, mad);
    case Attribute::kRep: return OnRep(path, mad, tid);
    case Attribute::kRtu: return OnRtu(path, mad);
    case Attribute::kDreq: return OnDreq(path, mad, tid);
    case Attribute::kDrep: return OnDrep(path, mad);
    case Attribute::kSidrReq: return OnSidrReq(path, mad, tid);
    case Attribute::kSidrRep: return OnSidrRep(path, mad);
  }
}

void ConnectionManager::OnReq(const Path& path, MadView mad, uint64_t tid) {
  const auto req = Decode<Req>(mad);
  if (req.local_comm_id == 0) return;  // invalid: 0 means "not known" here
  const auto reject = [&](RejectReason reason) {
    Rej rej{.remote_comm_id = req.local_comm_id, .answered = Answered::kReq, .reason = reason};
    Send(path, Encode(rej, tid));
  };
  uint32_t stale = 0;
  for (const auto& [id, c] : connections_) {
    if (c->remote_guid != req.local_ca_guid || c->state == State::kIdle) continue;
    // On a connection of a NIC to itself, the side that sent this REQ does not know the peer's id yet.
    if (c->remote_id == req.local_comm_id) {
      switch (c->state) {
        case State::kReqReceived: return SendMra(*c, Answered::kReq);
        case State::kRepSent:
        case State::kMraRepReceived: return Send(c->path, c->sent);
        case State::kTimewait: return reject(RejectReason::kStaleConnection);
        default: return;
      }
    }
    if (c->remote_qpn == req.local_qpn && c->state != State::kTimewait) stale = id;
  }
  if (stale != 0) {  // the peer reuses this QP for a new connection: the old one is stale [IBTA 12.9.8.3.1]
    reject(RejectReason::kStaleConnection);
    (void)Disconnect(stale);
    return;
  }
  if (req.transport_service != 0) return reject(RejectReason::kUnsupported);

  Connection& c = Add(nullptr, path);
  c.path.flow_label = req.primary.flow_label;
  c.path.traffic_class = req.primary.traffic_class;
  c.state = State::kReqReceived;
  c.tid = tid;
  c.service_id = req.service_id;
  c.remote_id = req.local_comm_id;
  c.remote_guid = req.local_ca_guid;
  c.remote_qpn = req.local_qpn;
  c.sq_psn = req.starting_psn;
  c.path_mtu = req.path_mtu;
  c.ack_timeout = req.primary.local_ack_timeout;
  c.retry_count = req.retry_count;
  c.rnr_retry_count = req.rnr_retry_count;
  c.responder_resources = req.initiator_depth;
  c.initiator_depth = req.responder_resources;
  c.max_retries = req.max_cm_retries;
  c.interval_ns = TimeoutNs(std::max(req.local_cm_response_timeout, kTimeoutFloor));

  const uint32_t id = c.id;
  const Incoming incoming{.id = id,
                          .service_id = req.service_id,
                          .path = c.path,
                          .event = {.kind = Kind::kRequest,
                                    .remote_qpn = req.local_qpn,
                                    .qkey = req.local_qkey,
                                    .responder_resources = c.responder_resources,
                                    .initiator_depth = c.initiator_depth,
                                    .flow_control = req.flow_control,
                                    .srq = req.srq,
                                    .retry_count = req.retry_count,
                                    .rnr_retry_count = req.rnr_retry_count,
                                    .private_data = req.private_data}};
  const Answer answer = acceptor_ ? acceptor_(incoming) : Answer{};
  Connection* const made = Find(id);  // the acceptor may have destroyed it
  if (answer.verdict == Answer::Verdict::kTaken) {
    if (made != nullptr) made->handler = answer.handler;
    return;
  }
  if (answer.verdict == Answer::Verdict::kNoService && !QueueRequest(path, mad))
    reject(RejectReason::kInvalidServiceId);
  Remove(id);
}

void ConnectionManager::OnMra(const Path& path, MadView mad) {
  const auto mra = Decode<Mra>(mad);
  Connection* const c = FindPeer(mra.remote_comm_id, mra.local_comm_id, path);
  if (c == nullptr) return;
  const uint64_t until = clock_() + TimeoutNs(mra.service_timeout) + TimeoutNs(options_.packet_life_time);
  if (mra.answered == Answered::kReq && c->state == State::kReqSent) {
    c->state = State::kMraReqReceived;
    c->deadline = until;
  } else if (mra.answered == Answered::kRep && c->state == State::kRepSent) {
    c->state = State::kMraRepReceived;
    c->deadline = until;
  }
}

void ConnectionManager::OnRej(const Path& path, MadView mad) {
  const auto rej = Decode<Rej>(mad);
  Connection* c = FindPeer(rej.remote_comm_id, rej.local_comm_id, path);
  if (c == nullptr && rej.reason == RejectReason::kTimeout) {
    for (const auto& [id, each] : connections_) {
      if (each->remote_id == rej.local_comm_id && each->path.dgid == path.dgid) c = each.get();
    }
  }
  if (c == nullptr) return;
  switch (c->state) {
    case State::kReqSent:
    case State::kMraReqReceived:
    case State::kReqReceived:
    case State::kRepSent:
    case State::kMraRepReceived:
      StopTimer(*c);
      c->state = State::kIdle;
      break;
    case State::kRepReceived:
    case State::kEstablished:
    case State::kDreqSent:
      c->report_established = false;
      EnterTimewait(*c);
      break;
    default: return;
  }
  Notify(*c, {.kind = Kind::kRejected, .status = static_cast<int>(rej.reason), .private_data = rej.private_data});
}

void ConnectionManager::OnRep(const Path& path, MadView mad, uint64_t tid) {
  const auto rep = Decode<Rep>(mad);
  Connection* const c = FindPeer(rep.remote_comm_id, rep.local_comm_id, path);
  if (c == nullptr) {
    const Rej rej{.local_comm_id = rep.remote_comm_id,
                  .remote_comm_id = rep.local_comm_id,
                  .answered = Answered::kRep,
                  .reason = RejectReason::kInvalidCommId};
    return Send(path, Encode(rej, tid));
  }
  switch (c->state) {
    case State::kReqSent:
    case State::kMraReqReceived: break;
    case State::kRepReceived: return SendMra(*c, Answered::kRep);
    case State::kEstablished:  // the RTU was lost (active side); the passive side never sent one
      if (Parse(c->sent)->attribute == Attribute::kRtu) Send(c->path, c->sent);
      return;
    default: return;
  }
  StopTimer(*c);
  c->state = State::kRepReceived;
  c->remote_id = rep.local_comm_id;
  c->remote_guid = rep.local_ca_guid;
  c->remote_qpn = rep.local_qpn;
  c->sq_psn = rep.starting_psn;
  c->rnr_retry_count = rep.rnr_retry_count;
  c->responder_resources = rep.initiator_depth;
  c->initiator_depth = rep.responder_resources;
  Notify(*c, {.kind = Kind::kReply,
              .remote_qpn = rep.local_qpn,
              .qkey = rep.local_qkey,
              .responder_resources = rep.initiator_depth,
              .initiator_depth = rep.responder_resources,
              .flow_control = rep.flow_control,
              .srq = rep.srq,
              .rnr_retry_count = rep.rnr_retry_count,
              .private_data = rep.private_data});
}

void ConnectionManager::OnRtu(const Path& path, MadView mad) {
  const auto rtu = Decode<Rtu>(mad);
  Connection* const c = FindPeer(rtu.remote_comm_id, rtu.local_comm_id, path);
  if (c == nullptr || (c->state != State::kRepSent && c->state != State::kMraRepReceived)) return;
  StopTimer(*c);
  c->state = State::kEstablished;
  Notify(*c, {.kind = Kind::kEstablished, .private_data = rtu.private_data});
}

void ConnectionManager::OnDreq(const Path& path, MadView mad, uint64_t tid) {
  const auto dreq = Decode<Dreq>(mad);
  Connection* const c = FindPeer(dreq.remote_comm_id, dreq.local_comm_id, path);
  if (c == nullptr) {  // already closed here: let the peer close, too
    const Drep drep{.local_comm_id = dreq.remote_comm_id, .remote_comm_id = dreq.local_comm_id};
    return Send(path, Encode(drep, tid));
  }
  switch (c->state) {
    case State::kRepSent:
    case State::kMraRepReceived:
    case State::kEstablished:
    case State::kDreqSent: break;
    case State::kTimewait: return SendDrep(*c, tid);
    default: return;
  }
  if (dreq.remote_qpn != c->local_qpn) return;
  StopTimer(*c);
  c->report_established = false;
  const bool both = c->state == State::kDreqSent;
  c->tid = tid;
  c->state = State::kDreqReceived;
  if (both || c->handler == nullptr) {  // the user has already disconnected
    SendDrep(*c, tid);
    EnterTimewait(*c);
  }
  Notify(*c, {.kind = Kind::kDisconnected, .private_data = dreq.private_data});
}

void ConnectionManager::OnDrep(const Path& path, MadView mad) {
  const auto drep = Decode<Drep>(mad);
  Connection* const c = FindPeer(drep.remote_comm_id, drep.local_comm_id, path);
  if (c == nullptr || c->state != State::kDreqSent) return;
  EnterTimewait(*c);
  Notify(*c, {.kind = Kind::kDisconnected, .private_data = drep.private_data});
}

void ConnectionManager::OnSidrReq(const Path& path, MadView mad, uint64_t tid) {
  const auto req = Decode<SidrReq>(mad);
  if (req.request_id == 0) return;
  for (const auto& [id, c] : connections_) {
    if (c->remote_id != req.request_id || c->path.dgid != path.dgid) continue;
    if (c->state == State::kSidrReqReceived) return;
    if (c->state == State::kSidrRepSent) return Send(c->path, c->sent);
  }
  Connection& c = Add(nullptr, path);
  c.state = State::kSidrReqReceived;
  c.tid = tid;
  c.service_id = req.service_id;
  c.remote_id = req.request_id;
  const uint32_t id = c.id;
  const Incoming incoming{.id = id,
                          .is_sidr = true,
                          .service_id = req.service_id,
                          .path = path,
                          .event = {.kind = Kind::kRequest, .private_data = req.private_data}};
  const Answer answer = acceptor_ ? acceptor_(incoming) : Answer{};
  Connection* const made = Find(id);
  if (answer.verdict == Answer::Verdict::kTaken) {
    if (made != nullptr) made->handler = answer.handler;
    return;
  }
  if (answer.verdict == Answer::Verdict::kNoService && !QueueRequest(path, mad)) {
    (void)SidrReply(id, SidrStatus::kUnsupported, 0, 0, {});
  }
  Remove(id);
}

void ConnectionManager::OnSidrRep(const Path& path, MadView mad) {
  const auto rep = Decode<SidrRep>(mad);
  Connection* const c = Find(rep.request_id);
  if (c == nullptr || c->state != State::kSidrReqSent || c->path.dgid != path.dgid) return;
  StopTimer(*c);
  c->state = State::kIdle;
  c->remote_qpn = rep.qpn;
  Notify(*c, {.kind = Kind::kSidrReply,
              .status = static_cast<int>(rep.status),
              .remote_qpn = rep.qpn,
              .qkey = rep.qkey,
              .private_data = rep.private_data});
}

}  // namespace vireo::service::cm
