// SPDX-License-Identifier: Apache-2.0
// Communication management: makes and ends connections of RC queue pairs, and finds the queue pairs of datagram
// services (SIDR), with the messages of messages.h. What IBTA vol. 1 chapter 12 calls the communication manager; state
// names and what happens in a doubtful state are those of its tables and of Linux' ib_cm, which is the peer.
//
// It moves no queue pair: its user asks for attributes (QpAttributes) and does that. It knows no addresses but GIDs.
// Not there: LAP and APR (alternate paths), redirection, reliable datagrams.
//
// One thread. Handlers are called from OnMad and Tick, never from a user's own call; they may call back everything,
// Destroy of the same connection included. Errors: kInvalidArgument (no such id, private data too long), kBadState.
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

// From one of this NIC's GIDs to another's. QP 1 is the MAD's, any other the connection's.
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
  // To QP 1 of path.dgid. A datagram: it may be lost, and then that is nobody's error. Does not call OnMad.
  virtual void SendMad(const Path& path, MadView mad) = 0;
};

enum class State : uint8_t {
  kIdle,  // rejected, unreachable, or over
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

// Seen from here: responder_resources is what this side's responder needs.
struct Event {
  enum class Kind : uint8_t {
    kRequest,      // REQ or SIDR_REQ; by the acceptor only
    kReply,        // REP
    kEstablished,  // RTU, or what Establish() was told
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

// What a REQ or SIDR_REQ asks for.
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
    uint64_t seed = 0;                 // of the numbers of connections
    uint8_t response_timeout = 20;     // exponent: this and the peer's answer to a message
    uint8_t max_retries = 15;          // 4 bits
    uint8_t packet_life_time = 16;     // exponent, what Linux takes for RoCE
    uint8_t target_ack_delay = 15;     // exponent
    uint8_t mra_service_timeout = 24;  // exponent: time that an MRA asks for
    // How long a request for a service that is not there waits for it before it is refused.
    uint64_t refusal_delay_ns = 0;
  };
  // Nanoseconds of the time in which the users live: those that accept are processes, so not a simulation's time.
  using Clock = std::function<uint64_t()>;
  struct Answer {
    enum class Verdict : uint8_t { kTaken, kNoService, kIgnored } verdict = Verdict::kNoService;
    Handler* handler = nullptr;  // of the connection, if taken; outlives it
  };
  // kIgnored: as if it had not come; the peer asks again.
  using Acceptor = std::function<Answer(const Incoming&)>;

  ConnectionManager(MadTransport& transport, Clock clock, const Options& options);
  ~ConnectionManager();
  void SetAcceptor(Acceptor acceptor) { acceptor_ = std::move(acceptor); }
  // There may be a service that was not there: with the next Tick, those who wait for one ask again.
  void OnServiceAdded();

  // Sends REQ (SIDR_REQ). The handler outlives the connection. Gives its id.
  host::Result<uint32_t> Connect(Handler& handler, const Path& path, const ConnectParameters& parameters);
  host::Result<uint32_t> Resolve(Handler& handler, const Path& path, uint64_t service_id,
                                 std::span<const uint8_t> private_data);
  host::Status Accept(uint32_t id, const AcceptParameters& parameters);  // REP
  host::Status Ready(uint32_t id);                                       // RTU, after a kReply
  // Data came on the connection before the RTU did. kEstablished follows with the next Tick. Nothing if it is
  // established already.
  host::Status Establish(uint32_t id);
  host::Status Reject(uint32_t id, RejectReason reason, std::span<const uint8_t> private_data);
  // DREQ, or DREP if the peer was first.
  host::Status Disconnect(uint32_t id);
  host::Status SidrReply(uint32_t id, SidrStatus status, uint32_t qpn, uint32_t qkey,
                         std::span<const uint8_t> private_data);
  // The handler hears no more. The peer is told, whatever the state.
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
  uint8_t AckTimeout(uint8_t packet_life_time) const;  // exponent, with this CA's delay
  const Options& options() const { return options_; }

  // A MAD came; `path` is that of an answer to it. What is not understood is dropped.
  void OnMad(const Path& path, MadView mad);
  // The clock's time of the earliest thing to do; none: nothing.
  std::optional<uint64_t> NextDeadline() const;
  void Tick();

  size_t connections() const { return connections_.size(); }

 private:
  struct Connection;
  struct Early {  // a request that waits for its service
    Path path;
    Mad mad{};
    uint64_t refused_at_ns = 0;
    bool asks_again = false;
  };

  Connection* Find(uint32_t id) const;
  Connection* FindPeer(uint32_t local, uint32_t remote, const Path& path) const;
  Connection& Add(Handler* handler, const Path& path);
  void Remove(uint32_t id);
  void Send(const Path& path, const Mad& mad);
  // Sends it, and again and again until Settle or the retries are used up.
  void SendUntilAnswered(Connection& c, const Mad& mad);
  static void Settle(Connection& c);
  void SendRej(const Connection& c, Answered answered, RejectReason reason, std::span<const uint8_t> private_data);
  void SendMra(const Connection& c, Answered answered);
  void SendDrep(const Connection& c, uint64_t tid);
  void EnterTimewait(Connection& c);
  void Tell(Connection& c, const Event& event);  // the last thing that is done with c
  void OnDeadline(Connection& c);
  bool Waits(const Path& path, MadView mad);  // false: it has waited long enough
  void AskAgain(uint64_t now_ns);

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
  std::vector<Early> early_;
  std::optional<uint64_t> refused_at_ns_;  // of the one that asks again now
};

}  // namespace vireo::service::cm
