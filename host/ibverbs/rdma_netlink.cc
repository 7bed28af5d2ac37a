// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/rdma_netlink.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

using service::ObjectBytes;
using service::ObjectKind;

// A netlink message under construction.
class Message {
 public:
  Message(const nlmsghdr& request, uint16_t type, uint16_t flags, uint32_t port_id) : bytes_(NLMSG_HDRLEN) {
    header_ = {
        .nlmsg_len = 0, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = request.nlmsg_seq, .nlmsg_pid = port_id};
  }
  void Append(const void* data, size_t count) {
    const auto* const from = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + count);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  void Put(uint16_t type, const void* data, size_t count) {
    const nlattr attribute{.nla_len = static_cast<uint16_t>(NLA_HDRLEN + count), .nla_type = type};
    Append(&attribute, sizeof attribute);
    Append(data, count);
  }
  template <typename Integer>
  void Put(uint16_t type, Integer value) {
    Put(type, &value, sizeof value);
  }
  void PutText(uint16_t type, std::string_view text) {
    const std::string terminated(text);
    Put(type, terminated.c_str(), terminated.size() + 1);
  }
  // Attributes from Begin to End lie in one.
  size_t Begin(uint16_t type) {
    const size_t at = bytes_.size();
    const nlattr attribute{.nla_len = 0, .nla_type = static_cast<uint16_t>(type | NLA_F_NESTED)};
    Append(&attribute, sizeof attribute);
    return at;
  }
  void End(size_t at) {
    const auto length = static_cast<uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
  }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t> Take() {
    header_.nlmsg_len = static_cast<uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return std::move(bytes_);
  }

 private:
  nlmsghdr header_{};
  std::vector<uint8_t> bytes_;
};

struct Request {
  nlmsghdr header{};
  uint32_t port_id = 0;
  std::map<uint16_t, std::span<const uint8_t>> attributes{};

  uint16_t command() const { return RDMA_NL_GET_OP(header.nlmsg_type); }
  bool is_dump() const { return (header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP; }
  std::optional<uint32_t> Number(uint16_t type) const {
    const auto found = attributes.find(type);
    uint32_t value = 0;
    if (found == attributes.end() || found->second.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
};

std::optional<std::map<uint16_t, std::span<const uint8_t>>> AttributesOf(std::span<const uint8_t> bytes) {
  std::map<uint16_t, std::span<const uint8_t>> found;
  while (!bytes.empty()) {
    nlattr attribute;
    if (bytes.size() < sizeof attribute) return std::nullopt;
    std::memcpy(&attribute, bytes.data(), sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > bytes.size()) return std::nullopt;
    found[attribute.nla_type & NLA_TYPE_MASK] = bytes.subspan(NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN);
    bytes = bytes.subspan(std::min<size_t>(NLA_ALIGN(attribute.nla_len), bytes.size()));
  }
  return found;
}

// A device and its connection of this moment.
struct Seen {
  const Device* device = nullptr;
  std::unique_ptr<service::SharedDevice> shared;
  const service::SharedDevice::Info& info() const { return shared->info(); }
};

// Those that answer; with an index, that one.
std::vector<Seen> Devices(std::optional<uint32_t> index) {
  std::vector<Seen> found;
  for (const Device* device : VisibleDevices()) {
    if (index.has_value() && device->info.ifindex != *index) continue;
    if (auto shared = service::SharedDevice::Connect(device->socket); shared.ok()) {
      found.push_back({device, std::move(shared).value()});
    }
  }
  return found;
}

// Objects of one kind: how Linux names them.
struct Kind {
  ObjectKind kind;
  uint16_t command;       // that lists them
  uint16_t table, entry;  // attributes
  uint16_t number;
  const char* name;  // in the summary
};
constexpr Kind kKinds[] = {
    {ObjectKind::kPd, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY,
     RDMA_NLDEV_ATTR_RES_PDN, "pd"},
    {ObjectKind::kCq, RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY,
     RDMA_NLDEV_ATTR_RES_CQN, "cq"},
    {ObjectKind::kQp, RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
     RDMA_NLDEV_ATTR_RES_LQPN, "qp"},
    {ObjectKind::kMr, RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY,
     RDMA_NLDEV_ATTR_RES_MRN, "mr"},
    {ObjectKind::kContext, RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
     RDMA_NLDEV_ATTR_RES_CTXN, "ctx"},
    {ObjectKind::kSrq, RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
     RDMA_NLDEV_ATTR_RES_SRQN, "srq"},
};

bool HasPort(const ObjectBytes& qp) { return qp.qp_state != static_cast<uint8_t>(spec::IbQpState::kReset); }

// `qps`: all queue pairs, for a shared receive queue.
void PutObject(Message& message, const Kind& kind, const ObjectBytes& object, std::span<const ObjectBytes> qps) {
  message.Put(kind.number, object.number);
  switch (kind.kind) {
    case ObjectKind::kContext: break;
    case ObjectKind::kPd:
      message.Put(RDMA_NLDEV_ATTR_RES_USECNT, uint64_t{object.users});
      message.Put(RDMA_NLDEV_ATTR_RES_CTXN, object.context);
      break;
    case ObjectKind::kMr:
      message.Put(RDMA_NLDEV_ATTR_RES_MRLEN, object.length);
      message.Put(RDMA_NLDEV_ATTR_RES_PDN, object.pdn);
      break;
    case ObjectKind::kCq:
      message.Put(RDMA_NLDEV_ATTR_RES_CQE, object.cqe);
      message.Put(RDMA_NLDEV_ATTR_RES_USECNT, uint64_t{object.users});
      message.Put(RDMA_NLDEV_ATTR_RES_CTXN, object.context);
      break;
    case ObjectKind::kQp: {
      const auto type = static_cast<spec::IbQpType>(object.qp_type);
      if (HasPort(object)) message.Put(RDMA_NLDEV_ATTR_PORT_INDEX, uint32_t{kPort});
      if (type == spec::IbQpType::kRc || type == spec::IbQpType::kUc) {
        message.Put(RDMA_NLDEV_ATTR_RES_RQPN, object.dest_qpn);
        message.Put(RDMA_NLDEV_ATTR_RES_RQ_PSN, object.rq_psn);
        message.Put(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, static_cast<uint8_t>(IBV_MIG_MIGRATED));
      }
      message.Put(RDMA_NLDEV_ATTR_RES_SQ_PSN, object.sq_psn);
      message.Put(RDMA_NLDEV_ATTR_RES_TYPE, object.qp_type);
      message.Put(RDMA_NLDEV_ATTR_RES_STATE, object.qp_state);
      message.Put(RDMA_NLDEV_ATTR_RES_PDN, object.pdn);
      break;
    }
    case ObjectKind::kSrq: {
      message.Put(RDMA_NLDEV_ATTR_RES_TYPE, uint8_t{0});  // basic
      message.Put(RDMA_NLDEV_ATTR_RES_PDN, object.pdn);
      const size_t table = message.Begin(RDMA_NLDEV_ATTR_RES_QP);
      for (auto qp = qps.begin(); qp != qps.end(); ++qp) {
        if (qp->srqn != object.number) continue;
        // As a range of consecutive numbers: there may be more than an attribute can list one by one.
        const auto first = qp;
        while (std::next(qp) != qps.end() && std::next(qp)->srqn == object.number &&
               std::next(qp)->number == qp->number + 1) {
          ++qp;
        }
        const size_t entry = message.Begin(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
        if (first == qp) {
          message.Put(RDMA_NLDEV_ATTR_RES_LQPN, qp->number);
        } else {
          message.Put(RDMA_NLDEV_ATTR_MIN_RANGE, first->number);
          message.Put(RDMA_NLDEV_ATTR_MAX_RANGE, qp->number);
        }
        message.End(entry);
      }
      message.End(table);
      break;
    }
  }
  if (object.process > 0) {
    message.Put(RDMA_NLDEV_ATTR_RES_PID, static_cast<uint32_t>(object.process));
  } else {
    message.PutText(RDMA_NLDEV_ATTR_RES_KERN_NAME, "unknown");
  }
}

// Answers one request.
class Server {
 public:
  explicit Server(const Request& request) : request_(request) {}

  // 0 or an errno; the datagrams that it made are in `datagrams` then.
  int Serve() {
    const auto device = request_.Number(RDMA_NLDEV_ATTR_DEV_INDEX);
    if (RDMA_NL_GET_CLIENT(request_.header.nlmsg_type) != RDMA_NL_NLDEV) return EINVAL;
    const uint16_t command = request_.command();
    if (command == RDMA_NLDEV_CMD_SYS_GET && !request_.is_dump()) return System();
    const auto* const kind = std::ranges::find(kKinds, command, &Kind::command);
    const bool is_of_device =
        kind != std::end(kKinds) || command == RDMA_NLDEV_CMD_PORT_GET || command == RDMA_NLDEV_CMD_STAT_GET;
    if (!is_of_device && command != RDMA_NLDEV_CMD_GET && command != RDMA_NLDEV_CMD_RES_GET) {
      return command < RDMA_NLDEV_NUM_OPS ? EOPNOTSUPP : EINVAL;
    }
    // Without a device a dump is of all of them.
    if (!device.has_value() && (is_of_device || !request_.is_dump())) return EINVAL;
    const std::vector<Seen> devices = Devices(device);
    if (devices.empty() && device.has_value()) return EINVAL;
    for (const Seen& seen : devices) {
      const int error = kind != std::end(kKinds)             ? Objects(seen, *kind)
                        : command == RDMA_NLDEV_CMD_GET      ? About(seen)
                        : command == RDMA_NLDEV_CMD_PORT_GET ? Port(seen)
                        : command == RDMA_NLDEV_CMD_RES_GET  ? Summary(seen)
                                                             : Counters(seen);
      if (error != 0) return error;
    }
    return 0;
  }

  std::vector<std::vector<uint8_t>> datagrams;

 private:
  // Small enough for a buffer of a page with one more entry.
  static constexpr size_t kFullBytes = 3072;

  Message Begin() const {
    const auto flags = static_cast<uint16_t>(request_.is_dump() ? NLM_F_MULTI : 0);
    return {request_.header, request_.header.nlmsg_type, flags, request_.port_id};
  }
  Message Begin(const Seen& seen) const {
    Message message = Begin();
    message.Put(RDMA_NLDEV_ATTR_DEV_INDEX, seen.info().ifindex);
    message.PutText(RDMA_NLDEV_ATTR_DEV_NAME, seen.info().name);
    return message;
  }
  void Finish(Message& message) { datagrams.push_back(message.Take()); }

  int System() {
    Message message = Begin();
    message.Put(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, uint8_t{1});    // shared
    message.Put(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, uint8_t{1});  // regions need no ibv_fork_init
    Finish(message);
    return 0;
  }

  int About(const Seen& seen) {
    Message message = Begin(seen);
    message.Put(RDMA_NLDEV_ATTR_PORT_INDEX, uint32_t{kPort});
    message.PutText(RDMA_NLDEV_ATTR_FW_VERSION, "vireo");
    message.Put(RDMA_NLDEV_ATTR_NODE_GUID, seen.info().node_guid);
    message.Put(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, seen.info().node_guid);
    message.Put(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, static_cast<uint8_t>(IBV_NODE_CA));
    message.PutText(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
    Finish(message);
    return 0;
  }

  // The request names the port; a dump and queue pairs may leave it out.
  bool IsOtherPort() const {
    const auto port = request_.Number(RDMA_NLDEV_ATTR_PORT_INDEX);
    return port.has_value() && *port != kPort;
  }

  int Port(const Seen& seen) {
    if (IsOtherPort() || (!request_.is_dump() && !request_.Number(RDMA_NLDEV_ATTR_PORT_INDEX).has_value())) {
      return EINVAL;
    }
    Message message = Begin(seen);
    const bool is_up = seen.info().link_up;
    constexpr uint8_t kLinkUp = 5, kDisabled = 3;  // [IBTA vol. 1, 14.2.5.6, PortPhysicalState]
    message.Put(RDMA_NLDEV_ATTR_PORT_INDEX, uint32_t{kPort});
    message.Put(RDMA_NLDEV_ATTR_PORT_STATE, static_cast<uint8_t>(is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN));
    message.Put(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, is_up ? kLinkUp : kDisabled);
    message.Put(RDMA_NLDEV_ATTR_NDEV_INDEX, seen.info().ifindex);
    message.PutText(RDMA_NLDEV_ATTR_NDEV_NAME, seen.info().netdev);
    Finish(message);
    return 0;
  }

  int Summary(const Seen& seen) {
    Message message = Begin(seen);
    const size_t table = message.Begin(RDMA_NLDEV_ATTR_RES_SUMMARY);
    for (const Kind& kind : kKinds) {
      const auto objects = seen.shared->Objects(kind.kind);
      if (!objects.ok()) return EIO;
      const size_t entry = message.Begin(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
      message.PutText(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kind.name);
      message.Put(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, uint64_t{objects->size()});
      message.End(entry);
    }
    message.End(table);
    Finish(message);
    return 0;
  }

  int Objects(const Seen& seen, const Kind& kind) {
    const auto objects = seen.shared->Objects(kind.kind, /*with_state=*/true);
    if (!objects.ok()) return EIO;
    Result<std::vector<ObjectBytes>> qps = std::vector<ObjectBytes>();
    if (kind.kind == ObjectKind::kSrq) qps = seen.shared->Objects(ObjectKind::kQp);
    if (!qps.ok()) return EIO;
    if (!request_.is_dump()) {
      const auto number = request_.Number(kind.number);
      if (!number.has_value()) return EINVAL;
      const auto object = std::ranges::find(*objects, *number, &ObjectBytes::number);
      if (object == objects->end()) return ENOENT;
      Message message = Begin(seen);
      PutObject(message, kind, *object, *qps);
      Finish(message);
      return 0;
    }
    if (IsOtherPort()) return EINVAL;
    const bool is_of_port = kind.kind == ObjectKind::kQp && request_.Number(RDMA_NLDEV_ATTR_PORT_INDEX).has_value();
    for (auto next = objects->begin(); next != objects->end();) {
      Message message = Begin(seen);
      const size_t table = message.Begin(kind.table);
      for (; next != objects->end() && message.size() < kFullBytes; ++next) {
        if (is_of_port && !HasPort(*next)) continue;
        const size_t entry = message.Begin(kind.entry);
        PutObject(message, kind, *next, *qps);
        message.End(entry);
      }
      message.End(table);
      Finish(message);
    }
    return 0;
  }

  // Counters of single queue pairs or regions are none that were bound to them.
  int Counters(const Seen& seen) {
    if (request_.is_dump()) return request_.Number(RDMA_NLDEV_ATTR_STAT_RES).has_value() ? 0 : EINVAL;
    if (request_.Number(RDMA_NLDEV_ATTR_STAT_RES).has_value()) return EOPNOTSUPP;
    if (request_.Number(RDMA_NLDEV_ATTR_PORT_INDEX) != kPort) return EINVAL;
    const auto counters = seen.shared->Counters();
    if (!counters.ok()) return EIO;
    Message message = Begin(seen);
    message.Put(RDMA_NLDEV_ATTR_PORT_INDEX, uint32_t{kPort});
    const size_t table = message.Begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
    for (const service::Counter& counter : *counters) {
      const size_t entry = message.Begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
      message.PutText(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
                      std::string_view(counter.name).substr(counter.name.rfind('/') + 1));
      message.Put(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, counter.value);
      message.End(entry);
    }
    message.End(table);
    Finish(message);
    return 0;
  }

  const Request& request_;
};

// Behind a dump, and of what failed or asked for it: Linux echoes the request's header.
std::vector<uint8_t> Acknowledge(const Request& request, int error) {
  Message message(request.header, NLMSG_ERROR, NLM_F_CAPPED, request.port_id);
  const nlmsgerr answer{.error = -error, .msg = request.header};
  message.Append(&answer, sizeof answer);
  return message.Take();
}
std::vector<uint8_t> Done(const Request& request) {
  Message message(request.header, NLMSG_DONE, NLM_F_MULTI, request.port_id);
  constexpr int kNoError = 0;
  message.Append(&kNoError, sizeof kNoError);
  return message.Take();
}

}  // namespace

std::vector<std::vector<uint8_t>> AnswerRdmaNetlink(std::span<const uint8_t> bytes, uint32_t port_id) {
  std::vector<std::vector<uint8_t>> answers;
  while (bytes.size() >= NLMSG_HDRLEN) {
    Request request{.port_id = port_id};
    std::memcpy(&request.header, bytes.data(), sizeof request.header);
    const size_t length = request.header.nlmsg_len;
    if (length < NLMSG_HDRLEN || length > bytes.size()) break;  // as Linux: the rest is dropped
    const auto attributes = AttributesOf(bytes.subspan(NLMSG_HDRLEN, length - NLMSG_HDRLEN));
    bytes = bytes.subspan(std::min<size_t>(NLMSG_ALIGN(length), bytes.size()));
    if ((request.header.nlmsg_flags & NLM_F_REQUEST) == 0) continue;
    int error = EINVAL;
    if (attributes.has_value()) {
      request.attributes = *attributes;
      Server server(request);
      error = server.Serve();
      if (error == 0) std::ranges::move(server.datagrams, std::back_inserter(answers));
    }
    if (error == 0 && request.is_dump()) {
      answers.push_back(Done(request));
    } else if (error != 0 || (request.header.nlmsg_flags & NLM_F_ACK) != 0) {
      answers.push_back(Acknowledge(request, error));
    }
  }
  return answers;
}

}  // namespace vireo::ibverbs
