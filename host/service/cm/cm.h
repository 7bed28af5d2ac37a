// SPDX-License-Identifier: Apache-2.0
// Communication management (IBTA vol. 1, chapter 12): establishes and closes connections of RC queue pairs, and
// resolves service IDs to datagram queue pairs (SIDR), with the messages of messages.h. State names follow IBTA's state
// tables; where these are ambiguous, the behaviour follows Linux' ib_cm, the usual peer.
//
// Does not modify queue pairs: its user does, with QpAttributes. Addresses are GIDs only. Not supported: LAP and APR
// (alternate paths), redirection, reliable datagrams.
//
// Not thread-safe. Handlers are called from OnMad and Tick only, never from within a user's call; they may call every
// function, including Destroy of the same connection. Errors: kInvalidArgument (no such id, private data too long),
// kBadState.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "host/driver/result.h"
#include "host/service/cm/messages.h"

namespace vireo::service::cm {

// A path from one of this NIC's GIDs to a peer's.
struct Path {
  uint8_t sgid_index = 0;
  Gid sgid{}, dgid{};
  uint32_t flow_label = 0;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
};

class MadTransport {
 public:
  virtual ~MadTransport() = default;
  // Sends to QP 1 of path.dgid, unreliably: loss is not reported. Does not call OnMad.
  virtual void SendMad(const Path& path, MadView mad) = 0;
};

enum class State : uint8_t {
  kIdle,  // rejected, unreachable, or closed
  kReqSent,
  kMraReqReceived,
  kReqReceived,
  kRepSent,
  kMraRepReceived,
  kRepReceived,
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimewait,
  kSidrReqSent,
  kSidrReqReceived,
  kSidrRepSent,
};

struct ConnectParameters {
  uint64_t service_id = 0;
  uint32_t qpn = 0;
  uint32_t starting_psn = 0;  // 24 bits
  uint8_t responder_resources = 0, initiator_depth = 0;
  bool flow_control = false, srq = false;
  uint8_t retry_count = 7, rnr_retry_count = 7;
  uint8_t path_mtu = 3;           // spec::IbMtu
  uint8_t local_ack_timeout = 0;  // 5 bits
  std::span<const uint8_t> private_data{};
};

struct AcceptParameters {
  uint32_t qpn = 0;
  uint32_t starting_psn = 0;
  uint8_t responder_resources = 0, initiator_depth = 0;
  bool flow_control = false, srq = false;
  uint8_t rnr_retry_count = 7;
  std::span<const uint8_t> private_data{};
};

// From this side's view: responder_resources is what this side's responder needs.
struct Event {
  enum class Kind : uint8_t {
    kRequest,      // REQ or SIDR_REQ; passed to the acceptor only
    kReply,        // REP
    kEstablished,  // RTU received, or after Establish()
    kRejected,     // `status`: RejectReason
    kUnreachable,  // no answer to REQ, REP or SIDR_REQ: -ETIMEDOUT
    kDisconnected,
    kTimewaitExit,
    kSidrReply,  // `status`: SidrStatus
  };
  Kind kind = Kind::kRequest;
  int status = 0;
  uint32_t remote_qpn = 0, qkey = 0;
  uint8_t responder_resources = 0, initiator_depth = 0;
  bool flow_control = false, srq = false;
  uint8_t retry_count = 0, rnr_retry_count = 0;
  std::span<const uint8_t> private_data{};
};

class Handler {
 public:
  virtual void OnCmEvent(uint32_t id, const Event& event) = 0;

 protected:
  ~Handler() = default;
};

// The contents of a REQ or SIDR_REQ.
struct Incoming {
  uint32_t id = 0;  // of the new connection
  bool is_sidr = false;
  uint64_t service_id = 0;
  Path path;
  Event event;
};

class ConnectionManager {
 public:
  struct Options {
    uint64_t node_guid = 0;
    uint64_t seed = 0;                 // of connection IDs
    uint8_t response_timeout = 20;     // exponent: of this side's and the peer's answer to a message
    uint8_t max_retries = 15;          // 4 bits
    uint8_t packet_life_time = 16;     // exponent, as Linux uses for RoCE
    uint8_t target_ack_delay = 15;     // exponent
    uint8_t mra_service_timeout = 24;  // exponent: the time requested by an MRA
    // How long a request for an unknown service is queued before it is rejected.
    uint64_t refusal_delay_ns = 0;
  };
  // Nanoseconds of the users' clock: acceptors are processes, so this is not the simulation's time.
  using Clock = std::function<uint64_t()>;
  struct Answer {
    enum class Verdict : uint8_t { kTaken, kNoService, kIgnored } verdict = Verdict::kNoService;
    Handler* handler = nullptr;  // of the connection, if taken; outlives it
  };
  // kIgnored: dropped; the peer retries.
  using Acceptor = std::function<Answer(const Incoming&)>;

  ConnectionManager(MadTransport& transport, Clock clock, const Options& options);
  ~ConnectionManager();
  void SetAcceptor(Acceptor acceptor) { acceptor_ = std::move(acceptor); }
  // A service was added: the next Tick retries queued requests.
  void OnServiceAdded();

  // Sends REQ (SIDR_REQ) and returns the connection's id. The handler must outlive the connection.
  host::Result<uint32_t> Connect(Handler& handler, const Path& path, const ConnectParameters& parameters);
  host::Result<uint32_t> Resolve(Handler& handler, const Path& path, uint64_t service_id,
                                 std::span<const uint8_t> private_data);
  host::Status Accept(uint32_t id, const AcceptParameters& parameters);  // REP
  host::Status Ready(uint32_t id);                                       // RTU, after a kReply
  // Data arrived on the connection before the RTU. kEstablished follows with the next Tick. No effect if already
  // established.
  host::Status Establish(uint32_t id);
  host::Status Reject(uint32_t id, RejectReason reason, std::span<const uint8_t> private_data);
  // Sends DREQ, or DREP if the peer has sent DREQ.
  host::Status Disconnect(uint32_t id);
  host::Status SidrReply(uint32_t id, SidrStatus status, uint32_t qpn, uint32_t qkey,
                         std::span<const uint8_t> private_data);
  // Ends the connection: no more events to the handler. The peer is notified in every state.
  void Destroy(uint32_t id);

  // For INIT_QP_ATTR. [IBTA 12.9.8, table of QP attributes]
  struct QpAttributes {
    State state = State::kIdle;
    Path path;
    uint8_t path_mtu = 0;
    uint32_t remote_qpn = 0, rq_psn = 0, sq_psn = 0;
    uint8_t responder_resources = 0, initiator_depth = 0;
    uint8_t timeout = 0, retry_count = 0, rnr_retry_count = 0;
  };
  std::optional<QpAttributes> Query(uint32_t id) const;
  uint8_t AckTimeout(uint8_t packet_life_time) const;  // exponent, this CA's delay included
  const Options& options() const { return options_; }

  // Handles a received MAD; `path` is the path of an answer. Unknown messages are dropped.
  void OnMad(const Path& path, MadView mad);
  // The clock's time of the next deadline; none: no deadline.
  std::optional<uint64_t> NextDeadline() const;
  void Tick();

  size_t connections() const { return connections_.size(); }

 private:
  struct Connection;
  struct QueuedRequest {  // for a service that does not exist yet
    Path path;
    Mad mad{};
    uint64_t expires_at_ns = 0;
    bool retry = false;
  };

  Connection* Find(uint32_t id) const;
  Connection* FindPeer(uint32_t local, uint32_t remote, const Path& path) const;
  Connection& Add(Handler* handler, const Path& path);
  void Remove(uint32_t id);
  void Send(const Path& path, const Mad& mad);
  // Sends it, and retransmits until StopTimer or until the retries are exhausted.
  void SendUntilAnswered(Connection& c, const Mad& mad);
  static void StopTimer(Connection& c);
  void SendRej(const Connection& c, Answered answered, RejectReason reason, std::span<const uint8_t> private_data);
  void SendMra(const Connection& c, Answered answered);
  void SendDrep(const Connection& c, uint64_t tid);
  void EnterTimewait(Connection& c);
  void Notify(Connection& c, const Event& event);  // may destroy c
  void OnDeadline(Connection& c);
  bool QueueRequest(const Path& path, MadView mad);  // false: expired, or the queue is full
  void RetryQueued(uint64_t now_ns);

  void OnReq(const Path& path, MadView mad, uint64_t tid);
  void OnMra(const Path& path, MadView mad);
  void OnRej(const Path& path, MadView mad);
  void OnRep(const Path& path, MadView mad, uint64_t tid);
  void OnRtu(const Path& path, MadView mad);
  void OnDreq(const Path& path, MadView mad, uint64_t tid);
  void OnDrep(const Path& path, MadView mad);
  void OnSidrReq(const Path& path, MadView mad, uint64_t tid);
  void OnSidrRep(const Path& path, MadView mad);

  MadTransport& transport_;
  const Clock clock_;
  const Options options_;
  Acceptor acceptor_;
  std::mt19937_64 random_;
  std::map<uint32_t, std::unique_ptr<Connection>> connections_;
  std::vector<QueuedRequest> queued_;
  std::optional<uint64_t> expires_at_ns_;  // of the queued request that is being retried
};

}  // namespace vireo::service::cm
