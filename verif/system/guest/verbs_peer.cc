// SPDX-License-Identifier: Apache-2.0
// verbs_peer PORT: RDMA verbs by text over TCP, for a test that has the other end of the wire: the first device of
// libibverbs, in a guest. Each connection has a process with a protection domain and a completion queue of its own, so
// that the kernel frees all of it at its end. Each line is a command, each answer one line: "ok VALUES" or "error
// ERRNO". Numbers are decimal or 0x…; bytes and GIDs hexadecimal; regions (MR), windows (MW) and queue pairs (QP) are
// named by their order of creation.
//
//   mr LENGTH ACCESS [FILE]            memory, of a file's beginning if named (MAP_SHARED)      ok ADDRESS RKEY
//   poke MR OFFSET BYTES               peek MR OFFSET LENGTH                                    ok [BYTES]
//   qp                                 RC, in RESET                                             ok QPN GID
//   connect QP QPN PSN PEER_PSN GID MTU ACCESS TIMEOUT RETRIES                                  to RTS
//   mw TYPE                                                                                     ok RKEY
//   bind1 QP MW MR OFFSET LENGTH ACCESS WR_ID                                   type 1          ok RKEY
//   recv QP WR_ID MR OFFSET LENGTH
//   post QP WR_ID FLAGS OPERATION …    one work request:
//     write MR OFFSET LENGTH ADDRESS RKEY      send MR OFFSET LENGTH            atomic_write ADDRESS RKEY VALUE
//     read MR OFFSET LENGTH ADDRESS RKEY       send_inv MR OFFSET LENGTH RKEY   flush ADDRESS RKEY LENGTH TYPE LEVEL
//     fetch_add MR OFFSET ADDRESS RKEY ADD     cmp_swap MR OFFSET ADDRESS RKEY COMPARE SWAP
//     bind MW RKEY MR OFFSET LENGTH ACCESS     type 2                           local_inv RKEY
//   poll TIMEOUT_MS                    the next completion           ok [WR_ID STATUS OPCODE BYTES IMM_OR_RKEY]
//
// STATUS and OPCODE are the numbers of ibv_wc_status and ibv_wc_opcode. There are no checks of numbers and lengths.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kGidIndex = 1;  // of rxe: IPv4
constexpr int kDepth = 256;
constexpr uint64_t kSendOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |
                              IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                              IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
                              IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_FLUSH;

struct Region {
  uint8_t* memory = nullptr;
  ibv_mr* mr = nullptr;
};

std::string Ok(const std::string& values = "") { return values.empty() ? "ok" : "ok " + values; }
std::string Failed(int number) { return "error " + std::to_string(number == 0 ? EIO : number); }

std::string Hex(const uint8_t* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    char digits[3];
    static_cast<void>(std::snprintf(digits, sizeof digits, "%02x", bytes[i]));
    text += digits;
  }
  return text;
}

void Unhex(const std::string& text, uint8_t* bytes) {
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes[i / 2] = static_cast<uint8_t>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
  }
}

class Session {
 public:
  // Errors are the answers of the commands that follow.
  Session() {
    ibv_device** const devices = ibv_get_device_list(nullptr);
    if (devices == nullptr || devices[0] == nullptr) return;
    context_ = ibv_open_device(devices[0]);
    if (context_ == nullptr) return;
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 2 * kDepth, nullptr, nullptr, 0);
  }

  std::string Answer(const std::string& line) {
    words_ = std::istringstream(line);
    const std::string command = Word();
    if (pd_ == nullptr || cq_ == nullptr) return Failed(ENODEV);
    if (command == "mr") return Register();
    if (command == "poke") {
      const size_t region = Number();
      uint8_t* const at = regions_.at(region).memory + Number();
      Unhex(Word(), at);
      return Ok();
    }
    if (command == "peek") {
      const size_t region = Number();
      const uint8_t* const at = regions_.at(region).memory + Number();
      return Ok(Hex(at, Number()));
    }
    if (command == "qp") return CreateQp();
    if (command == "connect") return Connect();
    if (command == "mw") {
      ibv_mw* const window = ibv_alloc_mw(pd_, static_cast<ibv_mw_type>(Number()));
      if (window == nullptr) return Failed(errno);
      windows_.push_back(window);
      return Ok(std::to_string(window->rkey));
    }
    if (command == "bind1") return BindTypeOne();
    if (command == "recv") return PostReceive();
    if (command == "post") return Post();
    if (command == "poll") return Poll();
    return Failed(EINVAL);
  }

 private:
  std::string Word() {
    std::string word;
    words_ >> word;
    return word;
  }
  uint64_t Number() { return std::strtoull(Word().c_str(), nullptr, 0); }
  // The words MR OFFSET LENGTH.
  ibv_sge Element(bool has_length = true) {
    const Region& region = regions_.at(Number());
    const uint64_t offset = Number();
    const uint64_t length = has_length ? Number() : sizeof(uint64_t);
    return {reinterpret_cast<uintptr_t>(region.memory) + offset, static_cast<uint32_t>(length), region.mr->lkey};
  }

  std::string Register() {
    const size_t length = Number();
    const auto access = static_cast<unsigned>(Number());
    const std::string file = Word();
    const int fd = file.empty() ? -1 : open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (!file.empty() && fd < 0) return Failed(errno);
    void* const memory =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, file.empty() ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    const int mapping_error = errno;
    if (fd >= 0) close(fd);
    if (memory == MAP_FAILED) return Failed(mapping_error);
    ibv_mr* const mr = ibv_reg_mr(pd_, memory, length, access);
    if (mr == nullptr) return Failed(errno);
    regions_.push_back({static_cast<uint8_t*>(memory), mr});
    return Ok(std::to_string(reinterpret_cast<uintptr_t>(memory)) + " " + std::to_string(mr->rkey));
  }

  std::string CreateQp() {
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = attributes.recv_cq = cq_;
    attributes.cap = {kDepth, kDepth, 1, 1, 0};
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = pd_;
    attributes.send_ops_flags = kSendOps;
    ibv_qp* const qp = ibv_create_qp_ex(context_, &attributes);
    ibv_gid gid{};
    if (qp == nullptr || ibv_query_gid(context_, 1, kGidIndex, &gid) != 0) return Failed(errno);
    qps_.push_back(qp);
    return Ok(std::to_string(qp->qp_num) + " " + Hex(gid.raw, sizeof gid.raw));
  }

  std::string Connect() {
    ibv_qp* const qp = qps_.at(Number());
    ibv_qp_attr attributes{};
    attributes.dest_qp_num = static_cast<uint32_t>(Number());
    attributes.sq_psn = static_cast<uint32_t>(Number());
    attributes.rq_psn = static_cast<uint32_t>(Number());
    Unhex(Word(), attributes.ah_attr.grh.dgid.raw);
    attributes.path_mtu = static_cast<ibv_mtu>(Number());
    attributes.qp_access_flags = static_cast<unsigned>(Number());
    attributes.timeout = static_cast<uint8_t>(Number());
    attributes.retry_cnt = attributes.rnr_retry = static_cast<uint8_t>(Number());
    attributes.port_num = attributes.ah_attr.port_num = 1;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.sgid_index = kGidIndex;
    attributes.ah_attr.grh.hop_limit = 64;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 12;
    constexpr int kMasks[] = {
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
            IBV_QP_MIN_RNR_TIMER,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC};
    constexpr ibv_qp_state kStates[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
    for (int step = 0; step < 3; ++step) {
      attributes.qp_state = kStates[step];
      if (const int error = ibv_modify_qp(qp, &attributes, kMasks[step]); error != 0) return Failed(error);
    }
    return Ok();
  }

  std::string BindTypeOne() {
    ibv_qp* const qp = qps_.at(Number());
    ibv_mw* const window = windows_.at(Number());
    const Region& region = regions_.at(Number());
    ibv_mw_bind bind{};
    bind.bind_info.mr = region.mr;
    bind.bind_info.addr = reinterpret_cast<uintptr_t>(region.memory) + Number();
    bind.bind_info.length = Number();
    bind.bind_info.mw_access_flags = static_cast<unsigned>(Number());
    bind.wr_id = Number();
    bind.send_flags = IBV_SEND_SIGNALED;
    if (const int error = ibv_bind_mw(qp, window, &bind); error != 0) return Failed(error);
    return Ok(std::to_string(window->rkey));
  }

  std::string PostReceive() {
    ibv_qp* const qp = qps_.at(Number());
    ibv_recv_wr request{}, *bad = nullptr;
    request.wr_id = Number();
    ibv_sge element = Element();
    request.sg_list = &element;
    request.num_sge = 1;
    const int error = ibv_post_recv(qp, &request, &bad);
    return error == 0 ? Ok() : Failed(error);
  }

  std::string Post() {
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(qps_.at(Number()));
    ibv_wr_start(qp);
    qp->wr_id = Number();
    qp->wr_flags = static_cast<unsigned>(Number());
    const std::string operation = Word();
    const bool is_known = PostTo(qp, operation);
    if (!is_known) {
      ibv_wr_abort(qp);
      return Failed(EINVAL);
    }
    const int error = ibv_wr_complete(qp);
    return error == 0 ? Ok() : Failed(error);
  }

  bool PostTo(ibv_qp_ex* qp, const std::string& operation) {
    if (operation == "write" || operation == "read") {
      const ibv_sge element = Element();
      const uint64_t address = Number();
      const auto rkey = static_cast<uint32_t>(Number());
      operation == "write" ? ibv_wr_rdma_write(qp, rkey, address) : ibv_wr_rdma_read(qp, rkey, address);
      ibv_wr_set_sge(qp, element.lkey, element.addr, element.length);
    } else if (operation == "send" || operation == "send_inv") {
      const ibv_sge element = Element();
      operation == "send" ? ibv_wr_send(qp) : ibv_wr_send_inv(qp, static_cast<uint32_t>(Number()));
      ibv_wr_set_sge(qp, element.lkey, element.addr, element.length);
    } else if (operation == "fetch_add" || operation == "cmp_swap") {
      const ibv_sge element = Element(/*has_length=*/false);
      const uint64_t address = Number();
      const auto rkey = static_cast<uint32_t>(Number());
      const uint64_t first = Number();
      if (operation == "fetch_add") {
        ibv_wr_atomic_fetch_add(qp, rkey, address, first);
      } else {
        ibv_wr_atomic_cmp_swp(qp, rkey, address, first, Number());
      }
      ibv_wr_set_sge(qp, element.lkey, element.addr, element.length);
    } else if (operation == "atomic_write") {
      const uint64_t address = Number();
      const auto rkey = static_cast<uint32_t>(Number());
      const uint64_t value = Number();
      ibv_wr_atomic_write(qp, rkey, address, &value);
    } else if (operation == "flush") {
      const uint64_t address = Number();
      const auto rkey = static_cast<uint32_t>(Number());
      const size_t length = Number();
      const auto type = static_cast<uint8_t>(Number());
      ibv_wr_flush(qp, rkey, address, length, type, static_cast<uint8_t>(Number()));
    } else if (operation == "local_inv") {
      ibv_wr_local_inv(qp, static_cast<uint32_t>(Number()));
    } else if (operation == "bind") {
      ibv_mw* const window = windows_.at(Number());
      const auto rkey = static_cast<uint32_t>(Number());
      const Region& region = regions_.at(Number());
      ibv_mw_bind_info bind{};
      bind.mr = region.mr;
      bind.addr = reinterpret_cast<uintptr_t>(region.memory) + Number();
      bind.length = Number();
      bind.mw_access_flags = static_cast<unsigned>(Number());
      ibv_wr_bind_mw(qp, window, rkey, &bind);
    } else {
      return false;
    }
    return true;
  }

  // Sleeps between looks: the guest has one processor, which its RDMA stack needs.
  std::string Poll() {
    constexpr unsigned kPauseUs = 500;
    for (uint64_t left_us = Number() * 1000;; left_us -= left_us < kPauseUs ? left_us : kPauseUs) {
      ibv_wc completion{};
      const int count = ibv_poll_cq(cq_, 1, &completion);
      if (count < 0) return Failed(EIO);
      if (count == 1) {
        std::ostringstream text;
        text << completion.wr_id << ' ' << completion.status << ' ' << completion.opcode << ' ' << completion.byte_len
             << ' ' << ((completion.wc_flags & IBV_WC_WITH_INV) != 0 ? completion.invalidated_rkey : 0);
        return Ok(text.str());
      }
      if (left_us == 0) return Ok();
      usleep(kPauseUs);
    }
  }

  std::istringstream words_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  std::vector<Region> regions_;
  std::vector<ibv_mw*> windows_;
  std::vector<ibv_qp*> qps_;
};

int Serve(int connection) {
  FILE* const lines = fdopen(connection, "r");
  if (lines == nullptr) return 1;
  Session session;
  char* line = nullptr;
  size_t room = 0;
  while (getline(&line, &room, lines) > 0) {
    const std::string answer = session.Answer(line) + "\n";
    if (send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(answer.size())) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(argv[1])));
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 4) != 0) {
    std::perror("verbs_peer");
    return 1;
  }
  signal(SIGCHLD, SIG_IGN);  // no zombies
  for (;;) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) continue;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fork() == 0) _exit(Serve(connection));
    close(connection);
  }
}
