// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "host/driver/file_descriptor.h"
#include "verif/system/verbs_end.h"

namespace vireo::sim {
namespace {

constexpr int kAnswerMs = 60'000;  // in addition to what a command waits itself

// libibverbs' numbers.
spec::IbWcStatus StatusOf(unsigned number) {
  using Status = spec::IbWcStatus;
  switch (number) {
    case IBV_WC_SUCCESS: return Status::kSuccess;
    case IBV_WC_LOC_LEN_ERR: return Status::kLocLenErr;
    case IBV_WC_LOC_QP_OP_ERR: return Status::kLocQpOpErr;
    case IBV_WC_LOC_PROT_ERR: return Status::kLocProtErr;
    case IBV_WC_WR_FLUSH_ERR: return Status::kWrFlushErr;
    case IBV_WC_MW_BIND_ERR: return Status::kMwBindErr;
    case IBV_WC_BAD_RESP_ERR: return Status::kBadRespErr;
    case IBV_WC_LOC_ACCESS_ERR: return Status::kLocAccessErr;
    case IBV_WC_REM_INV_REQ_ERR: return Status::kRemInvReqErr;
    case IBV_WC_REM_ACCESS_ERR: return Status::kRemAccessErr;
    case IBV_WC_REM_OP_ERR: return Status::kRemOpErr;
    case IBV_WC_RETRY_EXC_ERR: return Status::kRetryExcErr;
    case IBV_WC_RNR_RETRY_EXC_ERR: return Status::kRnrRetryExcErr;
    default: return Status::kGeneralErr;
  }
}

spec::IbWcOpcode OpcodeOf(unsigned number) {
  using Opcode = spec::IbWcOpcode;
  constexpr unsigned kWcFlush = 8, kWcAtomicWrite = 9;  // not in the header of every version
  switch (number) {
    case IBV_WC_SEND: return Opcode::kSend;
    case IBV_WC_RDMA_WRITE: return Opcode::kRdmaWrite;
    case IBV_WC_RDMA_READ: return Opcode::kRdmaRead;
    case IBV_WC_COMP_SWAP: return Opcode::kCompSwap;
    case IBV_WC_FETCH_ADD: return Opcode::kFetchAdd;
    case IBV_WC_BIND_MW: return Opcode::kBindMw;
    case IBV_WC_LOCAL_INV: return Opcode::kLocalInv;
    case kWcFlush: return Opcode::kFlush;
    case kWcAtomicWrite: return Opcode::kAtomicWrite;
    default: return Opcode::kRecv;
  }
}

std::string Hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<uint8_t> Unhex(const std::string& text) {
  std::vector<uint8_t> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) std::from_chars(&text[2 * i], &text[2 * i] + 2, bytes[i], 16);
  return bytes;
}

class LinuxEnd final : public VerbsEnd {
 public:
  bool Open(unsigned port) {
    socket_ = host::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return true;
    ADD_FAILURE() << "no connection to verbs_peer";
    return false;
  }
  const char* name() const override { return "Linux"; }

  std::optional<EndRegion> Register(uint64_t length, uint32_t access, const std::string& file) override {
    std::istringstream values;
    if (!Do(fmt::format("mr {} {} {}", length, access, file), values, /*may_refuse=*/true)) return {};
    EndRegion region{regions_++, 0, 0};
    values >> region.address >> region.rkey;
    return region;
  }
  bool Poke(size_t region, uint64_t offset, std::span<const uint8_t> bytes) override {
    return Do(fmt::format("poke {} {} {}", region, offset, Hex(bytes)));
  }
  std::optional<std::vector<uint8_t>> Peek(size_t region, uint64_t offset, size_t length) override {
    std::istringstream values;
    std::string bytes;
    if (!Do(fmt::format("peek {} {} {}", region, offset, length), values)) return {};
    values >> bytes;
    return Unhex(bytes);
  }
  std::optional<EndQp> CreateQp() override {
    std::istringstream values;
    if (!Do("qp", values)) return {};
    EndQp qp{qps_++, 0, {}};
    std::string gid;
    values >> qp.qpn >> gid;
    const std::vector<uint8_t> bytes = Unhex(gid);
    if (bytes.size() != qp.gid.size()) return ADD_FAILURE() << gid, std::nullopt;
    std::ranges::copy(bytes, qp.gid.begin());
    return qp;
  }
  bool Connect(size_t qp, const EndConnection& connection) override {
    // Numbers of access rights and MTUs are libibverbs'.
    return Do(fmt::format("connect {} {} {} {} {} {} {} {} {}", qp, connection.peer.qpn, connection.psn,
                          connection.peer_psn, Hex(connection.peer.gid), static_cast<unsigned>(kEndMtu),
                          connection.access, connection.timeout, connection.retries));
  }
  std::optional<EndWindow> AllocateWindow() override {
    std::istringstream values;
    if (!Do(fmt::format("mw {}", static_cast<unsigned>(IBV_MW_TYPE_2)), values)) return {};
    EndWindow window{windows_++, 0};
    values >> window.rkey;
    return window;
  }
  bool Post(size_t qp, const EndWork& work) override {
    const bool is_fenced = (work.flags & spec::IbSendFlags::kFence) != 0;
    const unsigned flags = IBV_SEND_SIGNALED | (is_fenced ? IBV_SEND_FENCE : 0);
    std::istringstream values;
    return Do(fmt::format("post {} {} {} {}", qp, work.wr_id, flags, Operation(work)), values, /*may_refuse=*/true);
  }
  bool PostReceive(size_t qp, uint64_t wr_id, size_t region, uint64_t offset, uint32_t length) override {
    return Do(fmt::format("recv {} {} {} {} {}", qp, wr_id, region, offset, length));
  }
  std::optional<EndCompletion> Poll(unsigned timeout_ms) override {
    std::istringstream values;
    if (!Do(fmt::format("poll {}", timeout_ms), values, false, static_cast<int>(timeout_ms))) return {};
    EndCompletion completion;
    unsigned status = 0, opcode = 0;
    if (!(values >> completion.wr_id >> status >> opcode >> completion.byte_len)) return {};
    completion.status = StatusOf(status);
    completion.opcode = OpcodeOf(opcode);
    return completion;
  }

 private:
  static std::string Operation(const EndWork& work) {
    using Opcode = spec::IbWrOpcode;
    const std::string at = fmt::format("{} {}", work.region, work.offset);  // of the element
    const std::string remote = fmt::format("{} {}", work.remote, work.rkey);
    switch (work.opcode) {
      case Opcode::kRdmaWrite: return fmt::format("write {} {} {}", at, work.length, remote);
      case Opcode::kRdmaRead: return fmt::format("read {} {} {}", at, work.length, remote);
      case Opcode::kSend: return fmt::format("send {} {}", at, work.length);
      case Opcode::kSendWithInv: return fmt::format("send_inv {} {} {}", at, work.length, work.rkey);
      case Opcode::kAtomicFetchAndAdd: return fmt::format("fetch_add {} {} {}", at, remote, work.value);
      case Opcode::kAtomicCmpAndSwp: return fmt::format("cmp_swap {} {} {} {}", at, remote, work.value, work.swap);
      case Opcode::kAtomicWrite: return fmt::format("atomic_write {} {}", remote, work.value);
      case Opcode::kFlush:
        return fmt::format("flush {} {} {} {}", remote, work.flush_length, work.placement,
                           static_cast<unsigned>(work.selectivity));
      case Opcode::kLocalInv: return fmt::format("local_inv {}", work.rkey);
      case Opcode::kBindMw:
        return fmt::format("bind {} {} {} {} {}", work.window, work.rkey, at, work.length, work.access);
      default: return "none";  // verbs_peer refuses it
    }
  }

 private:
  bool Do(const std::string& command) {
    std::istringstream values;
    return Do(command, values);
  }
  // Sends a command and reads its answer: true, and its values, if that begins with "ok".
  bool Do(const std::string& command, std::istringstream& values, bool may_refuse = false, int wait_ms = 0) {
    const std::string text = command + "\n";
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
      return ADD_FAILURE() << "verbs_peer has gone before: " << command, false;
    }
    while (unread_.find('\n') == std::string::npos) {
      pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      char buffer[4096];
      const ssize_t got =
          ::poll(&entry, 1, kAnswerMs + wait_ms) == 1 ? ::recv(socket_.get(), buffer, sizeof buffer, 0) : -1;
      if (got <= 0) return ADD_FAILURE() << "verbs_peer does not answer: " << command, false;
      unread_.append(buffer, static_cast<size_t>(got));
    }
    const std::string answer = unread_.substr(0, unread_.find('\n'));
    unread_.erase(0, answer.size() + 1);
    values = std::istringstream(answer);
    std::string result;
    values >> result;
    if (result == "ok") return true;
    if (!may_refuse) ADD_FAILURE() << "Linux: " << command << ": " << answer;
    return false;
  }

  host::FileDescriptor socket_;
  std::string unread_;
  size_t regions_ = 0, qps_ = 0, windows_ = 0;
};

}  // namespace

std::unique_ptr<VerbsEnd> OpenLinuxEnd(unsigned port) {
  auto end = std::make_unique<LinuxEnd>();
  if (!end->Open(port)) return nullptr;
  return end;
}

}  // namespace vireo::sim
