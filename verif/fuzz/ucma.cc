// SPDX-License-Identifier: Apache-2.0
// Commands to rdma_cm's device, on two NICs whose connection managers are connected by a wire: every command succeeds
// or returns an errno; no response exceeds its room; and closed files are freed completely.
//
// Input: steps, each a byte Step and its operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>

#include "host/service/ucma_protocol.h"
#include "verif/fuzz/target.h"
#include "verif/host/service/cm/ucma_bench.h"

namespace vireo::sim {
namespace {

// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kCommand,  // file, command, room in units of 16 bytes, length, bytes
  kRaw,      // file, length, bytes including the header
  kDeliver,
  kTime,   // a second
  kClose,  // file: closed and opened again
  kCount,
};
constexpr size_t kMostSteps = 200;
constexpr size_t kFiles = 3;  // two on the first NIC

class Run : public UcmaWorld {
 public:
  explicit Run(InputReader input) : input_(input) {
    for (size_t i = 0; i < kFiles; ++i) Open(i);
  }
  void Go() {
    for (size_t i = 0; i < kMostSteps && !input_.is_empty(); ++i) {
      switch (static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount))) {
        case Step::kCommand: Command(); break;
        case Step::kRaw: {
          const size_t file = input_.Byte() % kFiles;
          const auto bytes = input_.Take(input_.Byte());
          if (bytes.size() >= sizeof(rdma_ucm_cmd_hdr)) Write(file, bytes);
          break;
        }
        case Step::kDeliver: Deliver(); break;
        case Step::kTime:
          now_ += 1'000'000'000;
          for (UcmaHost& host : hosts_) host.manager.Tick();
          break;
        case Step::kClose:
        case Step::kCount: Open(input_.Byte() % kFiles); break;
      }
    }
    for (auto& file : files_) file.reset();
    for (UcmaHost& host : hosts_) EXPECT_EQ(host.ucma.ids(), 0U);
    // Abandoned connections end by timeout.
    constexpr int kMostSeconds = 100'000;
    for (int i = 0; hosts_[0].manager.NextDeadline().has_value() || hosts_[1].manager.NextDeadline().has_value(); ++i) {
      ASSERT_LT(i, kMostSeconds) << "deadlines never end";
      now_ += 1'000'000'000;
      for (UcmaHost& host : hosts_) host.manager.Tick();
      Deliver();
    }
    for (UcmaHost& host : hosts_) EXPECT_EQ(host.manager.connections(), 0U);
  }

 private:
  void Open(size_t file) {
    files_[file].reset();
    files_[file] = hosts_[file == 2 ? 1 : 0].ucma.Open([] {});
  }
  void Write(size_t file, std::span<const uint8_t> command) {
    std::vector<uint8_t> response;
    const int result = files_[file]->Write(command, response);
    EXPECT_LE(result, 0);
    EXPECT_GT(result, -4096);
    rdma_ucm_cmd_hdr header{};
    std::memcpy(&header, command.data(), sizeof header);
    EXPECT_LE(response.size(), header.cmd == service::kUcmaFileNumber ? sizeof(uint32_t) : size_t{header.out});
    EXPECT_LE(response.size(), service::kUcmaAnswerBytesMax);
    EXPECT_TRUE(result == 0 || response.empty());
  }
  void Command() {
    const size_t file = input_.Byte() % kFiles;
    rdma_ucm_cmd_hdr header{};
    header.cmd = input_.Byte() % 32;
    header.out = static_cast<uint16_t>(input_.Byte() * 16);
    const Bytes body = input_.Fill(input_.U16() % 512);
    header.in = static_cast<uint16_t>(body.size());
    // The option's bytes follow the command.
    if (header.cmd == RDMA_USER_CM_CMD_SET_OPTION)
      header.in = std::min<uint16_t>(header.in, sizeof(rdma_ucm_set_option));
    Bytes command(sizeof header);
    std::memcpy(command.data(), &header, sizeof header);
    Append(command, body);
    Write(file, command);
  }

  InputReader input_;
  std::array<std::unique_ptr<service::UcmaFile>, kFiles> files_;
};

// Builds a seed from a program's commands.
class Script {
 public:
  template <typename Command>
  Script& Do(uint8_t file, uint32_t number, const Command& command) {
    for (const uint32_t byte : {uint32_t{static_cast<uint8_t>(Step::kCommand)}, uint32_t{file}, number, 63U}) {
      seed.push_back(static_cast<uint8_t>(byte));
    }
    Put(seed, sizeof command, 2);
    Append(seed, {reinterpret_cast<const uint8_t*>(&command), sizeof command});
    return *this;
  }
  Script& Then(Step step) {
    seed.push_back(static_cast<uint8_t>(step));
    return *this;
  }
  uint32_t Create(uint8_t file, uint16_t space) {
    rdma_ucm_create_id command{};
    command.uid = ++uids_;
    command.ps = space;
    Do(file, RDMA_USER_CM_CMD_CREATE_ID, command);
    return next_id_.at(file == 2 ? 1 : 0)++;
  }
  void Event(uint8_t file) { Do(file, RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}); }

  Bytes seed;

 private:
  uint64_t uids_ = 0x1000;
  std::array<uint32_t, 2> next_id_ = FirstIds();
  // The first program's IDs.
  static std::array<uint32_t, 2> FirstIds() {
    UcmaWorldOfSeeds world;
    return {world.first.Create(1), world.second.Create(1)};
  }
  struct UcmaWorldOfSeeds {
    uint64_t now = 1;
    UcmaHost a{1, &now}, b{2, &now};
    Program first{a}, second{b};
  };
};

// rping and udaddy between file 0 and file 2.
Bytes Conversation(uint16_t space) {
  Script script;
  const uint32_t listener = script.Create(0, space);
  rdma_ucm_bind_ip bind{};
  bind.addr = V4(1, 7174);
  bind.id = listener;
  script.Do(0, RDMA_USER_CM_CMD_BIND_IP, bind);
  script.Do(0, RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = listener, .backlog = 3});
  const uint32_t active = script.Create(2, space);
  rdma_ucm_resolve_ip resolve{};
  resolve.dst_addr = V4(1, 7174);
  resolve.id = active;
  resolve.timeout_ms = 2000;
  script.Do(2, RDMA_USER_CM_CMD_RESOLVE_IP, resolve);
  script.Event(2);
  script.Do(2, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = active, .timeout_ms = 2000});
  script.Event(2);
  script.Do(2, RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query{.response = 0, .id = active, .option = 0});
  script.Do(2, RDMA_USER_CM_CMD_INIT_QP_ATTR, rdma_ucm_init_qp_attr{.response = 0, .id = active, .qp_state = 1});
  rdma_ucm_connect connect{};
  connect.conn_param = Program::Parameters(0x200, "ask");
  connect.id = active;
  script.Do(2, RDMA_USER_CM_CMD_CONNECT, connect);
  script.Then(Step::kDeliver);
  script.Event(0);
  const uint32_t passive = listener + 1;
  rdma_ucm_accept accept{};
  accept.conn_param = Program::Parameters(0x100, "take");
  accept.uid = 77;
  accept.id = passive;
  script.Do(0, RDMA_USER_CM_CMD_INIT_QP_ATTR, rdma_ucm_init_qp_attr{.response = 0, .id = passive, .qp_state = 2});
  script.Do(0, RDMA_USER_CM_CMD_ACCEPT, accept);
  script.Then(Step::kDeliver);
  script.Event(2);
  rdma_ucm_accept ready{};
  ready.id = active;
  script.Do(2, RDMA_USER_CM_CMD_ACCEPT, ready);
  script.Then(Step::kDeliver);
  script.Event(0);
  script.Do(2, RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = active});
  script.Then(Step::kDeliver);
  script.Event(0);
  script.Do(0, RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = passive});
  script.Then(Step::kDeliver).Then(Step::kTime);
  for (const uint32_t id : {passive, listener}) {
    script.Do(0, RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{.response = 0, .id = id, .reserved = 0});
  }
  script.Do(2, RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{.response = 0, .id = active, .reserved = 0});
  return script.seed;
}

Bytes Others() {
  Script script;
  const uint32_t id = script.Create(0, RDMA_PS_TCP);
  rdma_ucm_bind bind{};
  bind.id = id;
  bind.addr_size = sizeof(sockaddr_in6);
  const sockaddr_in6 address = V6(1, 0);
  std::memcpy(&bind.addr, &address, sizeof address);
  script.Do(0, RDMA_USER_CM_CMD_BIND, bind);
  for (uint32_t option = 0; option < 3; ++option) {
    script.Do(0, RDMA_USER_CM_CMD_QUERY, rdma_ucm_query{.response = 0, .id = id, .option = option});
  }
  rdma_ucm_resolve_addr resolve{};
  resolve.id = id;
  resolve.dst_size = sizeof(sockaddr_in6);
  const sockaddr_in6 to = V6(2, 7174);
  std::memcpy(&resolve.dst_addr, &to, sizeof to);
  script.Do(0, RDMA_USER_CM_CMD_RESOLVE_ADDR, resolve);
  struct {
    rdma_ucm_set_option command{};
    uint32_t value = 1;
    uint32_t unused = 0;
  } option;
  option.command = {.optval = 0, .id = id, .level = RDMA_OPTION_ID, .optname = RDMA_OPTION_ID_REUSEADDR, .optlen = 4};
  script.Do(0, RDMA_USER_CM_CMD_SET_OPTION, option);
  script.Do(0, RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = id, .event = 4});
  rdma_ucm_migrate_id migrate{};
  migrate.id = id;
  migrate.fd = 1;
  script.Do(1, RDMA_USER_CM_CMD_MIGRATE_ID, migrate);
  rdma_ucm_reject reject{};
  reject.id = id;
  reject.private_data_len = 3;
  script.Do(0, RDMA_USER_CM_CMD_REJECT, reject);
  script.Then(Step::kClose);
  return script.seed;
}

}  // namespace

std::vector<Bytes> Seeds() { return {Conversation(RDMA_PS_TCP), Conversation(RDMA_PS_UDP), Others()}; }

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vireo::sim::Run(vireo::sim::InputReader({data, size})).Go();
  return 0;
}
