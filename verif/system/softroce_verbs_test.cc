// SPDX-License-Identifier: Apache-2.0
// Verbs between a NIC of the simulation, by host/verbs, and Soft-RoCE of Linux 6.12, by libibverbs of Debian 13: FLUSH
// and ATOMIC WRITE, which no program of Debian posts, and the operations that memory of a peer is refused or changed
// by, in both directions, with and without loss; see docs/interop.md. One guest for all cases.
//
// VIREO_SYSTEM=full runs every case on every device; else all on the model, and some in lockstep.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/system/flush_icrc_relay.h"
#include "verif/system/guest.h"
#include "verif/system/guest_line.h"
#include "verif/system/verbs_end.h"

namespace vireo::sim {
namespace {

using spec::FlushPlacement;
using spec::FlushSelectivity;
using spec::IbAccessFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr auto kGuestTimeout = std::chrono::seconds(60);
constexpr unsigned kCompletionMs = 60'000;
constexpr uint64_t kBytes = 65'536;  // of a region
constexpr uint32_t kWrites = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite;
constexpr uint32_t kRemote = IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteRead | IbAccessFlags::kRemoteAtomic;
constexpr uint32_t kAll = IbAccessFlags::kLocalWrite | kRemote | IbAccessFlags::kFlushGlobal;

struct Case {
  const char* device;
  const char* loss;  // rate, on the simulated wire; empty: none
  bool linux_requests;
};
std::string NameOf(const Case& one) {
  const std::string loss = one.loss;
  return std::string(one.device) +
         (loss.empty()     ? "_NoLoss"
          : loss == "0.01" ? "_Loss1Percent"
                           : "_Loss5Percent") +
         (one.linux_requests ? "_FromLinux" : "_ToLinux");
}
void PrintTo(const Case& one, std::ostream* out) { *out << NameOf(one); }

std::vector<Case> Cases(const std::vector<const char*>& devices, bool has_loss) {
  std::vector<Case> cases;
  for (const char* device : devices) {
    for (const char* loss : {"", "0.01", "0.05"}) {
      if (*loss != '\0' && (!has_loss || (std::string(device) != "model" && !IsFullSystemTest()))) continue;
      for (const bool linux_requests : {true, false}) cases.push_back({device, loss, linux_requests});
    }
  }
  return cases;
}
std::vector<const char*> Devices(bool in_lockstep) {
  if (IsFullSystemTest()) return {"model", "rtl", "lockstep"};
  return in_lockstep ? std::vector<const char*>{"model", "lockstep"} : std::vector<const char*>{"model"};
}

uint8_t Pattern(uint64_t at, unsigned round) { return static_cast<uint8_t>(at * 7 + at / 251 + round * 13 + 1); }

class SoftRoceVerbs : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    if (World().directory.empty()) {
      std::string pattern = (std::filesystem::temp_directory_path() / "vireo_system_XXXXXX").string();
      ASSERT_NE(mkdtemp(pattern.data()), nullptr);
      World().directory = pattern;
      std::filesystem::create_directory(World().directory + "/pmem");
    }
  }
  static void EndWorld() {
    World().guest.reset();
    StopSimulator();
    World().relay.reset();
    std::error_code error;
    if (!World().directory.empty()) std::filesystem::remove_all(World().directory, error);
  }
  friend class AtEnd;

  void SetUp() override {
    if (World().guest == nullptr) {
      if (World().is_unavailable.empty()) Boot();
      if (!World().is_unavailable.empty()) GTEST_SKIP() << World().is_unavailable;
      ASSERT_NE(World().guest, nullptr);
    }
    const Case& one = GetParam();
    const std::string faults = Faults();
    if (World().simulator == nullptr || World().device != one.device || World().faults != faults) {
      StopSimulator();
      std::vector<std::string> arguments = {"--nics", "1",     "--device", one.device, "--wire",
                                            Wire(),   "--mtu", "1500",     "--pmem",   Pmem()};
      if (!faults.empty()) arguments.insert(arguments.end(), {"--wire-faults", faults});
      World().simulator = std::make_unique<SimulatorProcess>(arguments);
      World().device = one.device;
      World().faults = faults;
    }
    ASSERT_TRUE(World().simulator->is_ready()) << World().simulator->error();
    Run("ip neigh flush dev eth0");
    World().relay->SetActive(true);
    vireo_ = OpenVireoEnd(World().simulator->socket(0));
    linux_ = OpenLinuxEnd(World().guest->tcp_port());
    ASSERT_TRUE(vireo_ != nullptr && linux_ != nullptr);
  }
  void TearDown() override {
    vireo_.reset();
    linux_.reset();
  }

  // Of the simulated wire, in both directions. Names of the opcodes whose frames are lost at the case's rate.
  virtual std::vector<std::string> LostOpcodes() const { return {}; }
  virtual std::string Faults() const {
    std::string faults;
    for (const std::string& opcode : LostOpcodes()) {
      if (*GetParam().loss != '\0') faults += "drop opcode=" + opcode + " rate=" + GetParam().loss + ";";
    }
    return faults;
  }

  static bool Run(const std::string& line) {
    bool is_running = true;
    ExpectSuccess(*World().guest, 0, line, kGuestTimeout, is_running);
    if (!is_running) World().guest.reset();  // the next case boots a new one
    return is_running;
  }
  VerbsEnd& requester() { return GetParam().linux_requests ? *linux_ : *vireo_; }
  VerbsEnd& responder() { return GetParam().linux_requests ? *vireo_ : *linux_; }
  static std::string Pmem() { return World().directory + "/pmem"; }

  // A new connection, with these rights of the requester; the numbers of the queue pairs go to qps_.
  void Connect(uint32_t access = kRemote | IbAccessFlags::kFlushGlobal, uint8_t timeout = 20, uint8_t retries = 6) {
    const auto here = requester().CreateQp(), there = responder().CreateQp();
    ASSERT_TRUE(here.has_value() && there.has_value());
    constexpr uint32_t kPsn = 0xffff'f0, kPeerPsn = 0x12'3456;  // one of them wraps
    ASSERT_TRUE(requester().Connect(here->number, {.peer = *there,
                                                   .psn = kPsn,
                                                   .peer_psn = kPeerPsn,
                                                   .access = kRemote,
                                                   .timeout = timeout,
                                                   .retries = retries}));
    ASSERT_TRUE(
        responder().Connect(there->number, {.peer = *here, .psn = kPeerPsn, .peer_psn = kPsn, .access = access}));
    here_ = here->number;
    there_ = there->number;
  }
  void ConnectWithMemory() {
    Connect();
    if (HasFatalFailure()) return;
    const auto local = requester().Register(kBytes, kAll), remote = responder().Register(kBytes, kAll);
    ASSERT_TRUE(local.has_value() && remote.has_value());
    local_ = *local;
    remote_ = *remote;
  }

  EndWork Remote(IbWrOpcode opcode, uint64_t wr_id, uint64_t offset) const {
    return {.wr_id = wr_id,
            .opcode = opcode,
            .region = local_.number,
            .remote = remote_.address + offset,
            .rkey = remote_.rkey};
  }
  EndWork Write(uint64_t wr_id, uint64_t offset, uint32_t length) const {
    EndWork work = Remote(IbWrOpcode::kRdmaWrite, wr_id, offset);
    work.offset = offset;
    work.length = length;
    return work;
  }
  EndWork Flush(uint64_t wr_id, uint64_t offset, uint32_t length,
                FlushSelectivity selectivity = FlushSelectivity::kRange) const {
    EndWork work = Remote(IbWrOpcode::kFlush, wr_id, offset);
    work.flush_length = length;
    work.selectivity = selectivity;
    return work;
  }
  EndWork Store(uint64_t wr_id, uint64_t offset, uint64_t value) const {
    EndWork work = Remote(IbWrOpcode::kAtomicWrite, wr_id, offset);
    work.value = value;
    return work;
  }

  void Post(const EndWork& work) { ASSERT_TRUE(requester().Post(here_, work)) << work.wr_id; }
  void ExpectDone(uint64_t wr_id, IbWcOpcode opcode, IbWcStatus status = IbWcStatus::kSuccess) {
    const auto completion = requester().Poll(kCompletionMs);
    ASSERT_TRUE(completion.has_value()) << "no completion of work request " << wr_id;
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_STREQ(ToString(completion->status), ToString(status)) << wr_id;
    if (status == IbWcStatus::kSuccess) {
      EXPECT_STREQ(ToString(completion->opcode), ToString(opcode)) << wr_id;
    }
    ASSERT_FALSE(HasNonfatalFailure()) << requester().name() << " as requester";
  }
  // What the responder does with one request.
  void ExpectStatus(const EndWork& work, IbWcStatus status) {
    Post(work);
    if (!HasFatalFailure()) ExpectDone(work.wr_id, {}, status);
  }
  void ExpectBytes(uint64_t offset, const std::vector<uint8_t>& expected) {
    const auto bytes = responder().Peek(remote_.number, offset, expected.size());
    ASSERT_TRUE(bytes.has_value());
    EXPECT_EQ(*bytes, expected) << "at " << offset;
  }
  static std::vector<uint8_t> Word(uint64_t value) {
    std::vector<uint8_t> bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    return bytes;
  }

  static FlushIcrcRelay& relay() { return *World().relay; }

  std::unique_ptr<VerbsEnd> vireo_, linux_;
  EndRegion local_, remote_;
  size_t here_ = 0, there_ = 0;

 private:
  struct Shared {
    std::string directory, is_unavailable;
    std::unique_ptr<Guest> guest;
    std::unique_ptr<FlushIcrcRelay> relay;
    std::unique_ptr<SimulatorProcess> simulator;
    std::string device, faults;  // of the simulator
  };
  static Shared& World() {
    static Shared world;
    return world;
  }
  static std::string Wire() { return World().directory + "/wire"; }
  static void Boot() {
    const std::string wire = World().directory + "/guest_wire";
    World().relay.reset();
    World().relay = std::make_unique<FlushIcrcRelay>(Wire(), wire);
    ASSERT_TRUE(World().relay->is_open());
    Guest::Booted booted =
        Guest::Start({.directory = World().directory, .wire = wire, .kernel = "trixie", .has_peer = true});
    if (booted.is_unavailable) World().is_unavailable = booted.reason;
    if (booted.guest == nullptr && !booted.is_unavailable) ADD_FAILURE() << booted.reason;
    if (booted.guest == nullptr) return;
    if (const auto reason = booted.guest->AwaitBoot(); reason.has_value()) {
      ADD_FAILURE() << *reason;
      return;
    }
    World().guest = std::move(booted.guest);
    const std::string port = std::to_string(World().guest->tcp_port());
    char hex[16];
    static_cast<void>(std::snprintf(hex, sizeof hex, ":%04X ", World().guest->tcp_port()));
    if (!Run("verbs_peer " + port + " >/run/peer 2>&1 & peer=$!")) return;
    // Poll: there is no notification of a listening port.
    Run("until grep '" + std::string(hex) +
        ".* 0A ' /proc/net/tcp >/run/none || ! kill -0 $peer; do usleep 20000; done; "
        "kill -0 $peer || { cat /run/peer; false; }");
  }
  // The simulator exits with another status than 0 only for device errors: in lockstep, a difference.
  static void StopSimulator() {
    if (World().simulator != nullptr) {
      EXPECT_EQ(World().simulator->Stop(), 0) << World().device;
    }
    World().simulator.reset();
  }
};

// Ends what all suites share.
class AtEnd : public testing::Environment {
 public:
  void TearDown() override { SoftRoceVerbs::EndWorld(); }
};
const testing::Environment* const kAtEnd = testing::AddGlobalTestEnvironment(new AtEnd);

// --- Streams

// What may be lost depends on Linux, 6.12: as requester it sends a FLUSH or ATOMIC WRITE again with address 0
// [drivers/infiniband/sw/rxe/rxe_req.c, req_retry], so only responses are lost; as responder it does not find the
// result of a FLUSH that is repeated [rxe_resp.c, rxe_prepare_res], so FLUSH's responses are not. A response that takes
// longer than the timeout counts as lost.
class SoftRoceFlushStream : public SoftRoceVerbs {
 protected:
  std::vector<std::string> LostOpcodes() const override {
    if (GetParam().linux_requests) return {"rc_acknowledge", "rc_rdma_read_response_only"};
    return {"rc_rdma_write_first", "rc_rdma_write_middle", "rc_rdma_write_last", "rc_flush",
            "rc_atomic_write",     "rc_acknowledge"};
  }
};
class SoftRoceAtomicStream : public SoftRoceVerbs {
 protected:
  std::vector<std::string> LostOpcodes() const override {
    std::vector<std::string> opcodes = {"rc_rdma_read_response_only", "rc_atomic_acknowledge"};
    if (!GetParam().linux_requests)
      opcodes.insert(opcodes.end(), {"rc_atomic_write", "rc_fetch_add", "rc_compare_swap"});
    return opcodes;
  }
};

// A writer that uses FLUSH and ATOMIC WRITE as they are meant: data, FLUSH, then a word that says how far it is.
TEST_P(SoftRoceFlushStream, DataIsFlushedBeforeItsWordIsStored) {
  ConnectWithMemory();
  if (HasFatalFailure()) return;
  constexpr unsigned kRounds = 24;
  // Linux does not count FLUSHes among what the responder may have outstanding.
  const unsigned at_once = GetParam().linux_requests ? kEndReads / 2 : 8;
  constexpr uint32_t kLength = 2500;  // 3 packets
  constexpr uint64_t kWord = 60'000, kTotal = uint64_t{kRounds} * kLength;
  std::vector<uint8_t> data(kTotal);
  for (uint64_t i = 0; i < kTotal; ++i) data[i] = Pattern(i, 1);
  ASSERT_TRUE(requester().Poke(local_.number, 0, data));
  for (unsigned first = 0; first < kRounds; first += at_once) {
    for (unsigned round = first; round < first + at_once; ++round) {
      const uint64_t at = uint64_t{round} * kLength;
      Post(Write(3 * round, at, kLength));
      Post(round % 2 == 0 ? Flush(3 * round + 1, at, kLength)
                          : Flush(3 * round + 1, 0, 0, FlushSelectivity::kMemoryRegion));
      Post(Store(3 * round + 2, kWord, round + 1));
      if (HasFatalFailure()) return;
    }
    for (unsigned round = first; round < first + at_once; ++round) {
      ExpectDone(3 * round, IbWcOpcode::kRdmaWrite);
      ExpectDone(3 * round + 1, IbWcOpcode::kFlush);
      ExpectDone(3 * round + 2, IbWcOpcode::kAtomicWrite);
      if (HasFatalFailure()) return;
    }
    ExpectBytes(kWord, Word(first + at_once));
    ExpectBytes(uint64_t{first} * kLength,
                {data.begin() + static_cast<ptrdiff_t>(uint64_t{first} * kLength),
                 data.begin() + static_cast<ptrdiff_t>(uint64_t{first + at_once} * kLength)});
  }
}

// Each word is stored once and in order with the atomic operations between: a repeated request has no second effect.
TEST_P(SoftRoceAtomicStream, WordsAreStoredOnceAmongAtomicOperations) {
  ConnectWithMemory();
  if (HasFatalFailure()) return;
  constexpr unsigned kRounds = 12;
  for (unsigned round = 0; round < kRounds; ++round) {
    Post(Store(3 * round, 64, uint64_t{round} << 32));
    EndWork add = Remote(IbWrOpcode::kAtomicFetchAndAdd, 3 * round + 1, 64);
    add.offset = uint64_t{round} * 16;
    add.length = spec::kAtomicBytes;
    add.value = round + 1;
    Post(add);
    EndWork swap = Remote(IbWrOpcode::kAtomicCmpAndSwp, 3 * round + 2, 64);
    swap.offset = uint64_t{round} * 16 + 8;
    swap.length = spec::kAtomicBytes;
    swap.value = (uint64_t{round} << 32) + round + 1;
    swap.swap = ~uint64_t{round};
    Post(swap);
    if (HasFatalFailure()) return;
  }
  for (unsigned round = 0; round < kRounds; ++round) {
    ExpectDone(3 * round, IbWcOpcode::kAtomicWrite);
    ExpectDone(3 * round + 1, IbWcOpcode::kFetchAdd);
    ExpectDone(3 * round + 2, IbWcOpcode::kCompSwap);
    if (HasFatalFailure()) return;
  }
  for (unsigned round = 0; round < kRounds; ++round) {
    EXPECT_EQ(requester().Peek(local_.number, uint64_t{round} * 16, 8), Word(uint64_t{round} << 32)) << round;
    EXPECT_EQ(requester().Peek(local_.number, uint64_t{round} * 16 + 8, 8), Word((uint64_t{round} << 32) + round + 1))
        << round;
  }
  ExpectBytes(64, Word(~uint64_t{kRounds - 1}));
}

INSTANTIATE_TEST_SUITE_P(Ways, SoftRoceFlushStream, testing::ValuesIn(Cases(Devices(true), true)),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Ways, SoftRoceAtomicStream, testing::ValuesIn(Cases(Devices(true), true)),
                         [](const auto& info) { return NameOf(info.param); });

// --- Refusals

class SoftRoceRefusal : public SoftRoceVerbs {
 protected:
  // On a new connection, because a refusal ends it.
  void ExpectRefusal(const char* what, uint32_t qp_access, uint32_t region_access, IbWcStatus status,
                     const std::function<void(EndWork&)>& change, IbWrOpcode opcode = IbWrOpcode::kFlush) {
    SCOPED_TRACE(what);
    Connect(qp_access);
    if (HasFatalFailure()) return;
    const auto local = requester().Register(4096, kAll), remote = responder().Register(4096, region_access);
    ASSERT_TRUE(local.has_value() && remote.has_value());
    local_ = *local;
    remote_ = *remote;
    const std::vector<uint8_t> before(64, 0xaa);
    ASSERT_TRUE(responder().Poke(remote_.number, 0, before));
    EndWork work = opcode == IbWrOpcode::kFlush         ? Flush(1, 0, 64)
                   : opcode == IbWrOpcode::kAtomicWrite ? Store(1, 0, 0x1122'3344'5566'7788)
                                                        : Write(1, 0, 64);
    if (opcode == IbWrOpcode::kAtomicFetchAndAdd || opcode == IbWrOpcode::kRdmaRead) {
      work = Remote(opcode, 1, 0);
      work.length = spec::kAtomicBytes;
      work.value = 1;
    }
    change(work);
    ExpectStatus(work, status);
    if (HasFatalFailure()) return;
    ExpectBytes(0, before);
  }
  static void Nothing(EndWork& /*work*/) {}
};

TEST_P(SoftRoceRefusal, KeysAndRangesAreRemoteAccessErrors) {
  constexpr uint32_t kQp = kRemote | IbAccessFlags::kFlushGlobal;
  const IbWcStatus refused = IbWcStatus::kRemAccessErr;
  ExpectRefusal("FLUSH, region without the right", kQp, kWrites | kRemote, refused, Nothing);
  ExpectRefusal("FLUSH of the region, which is without the right", kQp, kWrites | kRemote, refused,
                [](EndWork& work) { work.selectivity = FlushSelectivity::kMemoryRegion; });
  ExpectRefusal("FLUSH behind the end", kQp, kAll, refused, [](EndWork& work) { work.flush_length = 4097; });
  ExpectRefusal("FLUSH before the start", kQp, kAll, refused, [](EndWork& work) { work.remote -= 1; });
  ExpectRefusal("FLUSH of no bytes outside", kQp, kAll, refused, [](EndWork& work) {
    work.remote += 8192;
    work.flush_length = 0;
  });
  ExpectRefusal("FLUSH, unknown key", kQp, kAll, refused, [](EndWork& work) { work.rkey ^= 0xff; });
  ExpectRefusal("FLUSH of a region, unknown key", kQp, kAll, refused, [](EndWork& work) {
    work.rkey ^= 0xff;
    work.selectivity = FlushSelectivity::kMemoryRegion;
  });
  const auto store = IbWrOpcode::kAtomicWrite;
  ExpectRefusal("ATOMIC WRITE, region without the right", kQp, IbAccessFlags::kLocalWrite, refused, Nothing, store);
  ExpectRefusal("ATOMIC WRITE behind the end", kQp, kAll, refused, [](EndWork& work) { work.remote += 4096; }, store);
  ExpectRefusal("ATOMIC WRITE, unknown key", kQp, kAll, refused, [](EndWork& work) { work.rkey ^= 0xff; }, store);
}

// A queue pair that is not set up for an operation does not support it. [IBTA vol. 1, 9.9.3, table of a responder's
// errors]
TEST_P(SoftRoceRefusal, OperationsThatTheQueuePairDoesNotAllowAreInvalidRequests) {
  const IbWcStatus refused = IbWcStatus::kRemInvReqErr;
  ExpectRefusal("FLUSH", kRemote, kAll, refused, Nothing);
  ExpectRefusal("WRITE", IbAccessFlags::kRemoteRead, kAll, refused, Nothing, IbWrOpcode::kRdmaWrite);
  ExpectRefusal("ATOMIC WRITE", IbAccessFlags::kRemoteRead, kAll, refused, Nothing, IbWrOpcode::kAtomicWrite);
  ExpectRefusal("READ", IbAccessFlags::kRemoteWrite, kAll, refused, Nothing, IbWrOpcode::kRdmaRead);
  ExpectRefusal("FETCH ADD", IbAccessFlags::kRemoteWrite, kAll, refused, Nothing, IbWrOpcode::kAtomicFetchAndAdd);
}

TEST_P(SoftRoceRefusal, AtomicWriteIsAligned) {
  ExpectRefusal(
      "ATOMIC WRITE to an odd address", kRemote, kAll, IbWcStatus::kRemInvReqErr,
      [](EndWork& work) { work.remote += 4; }, IbWrOpcode::kAtomicWrite);
}

INSTANTIATE_TEST_SUITE_P(Ways, SoftRoceRefusal, testing::ValuesIn(Cases(Devices(false), false)),
                         [](const auto& info) { return NameOf(info.param); });

// --- Windows and invalidates

class SoftRoceWindow : public SoftRoceVerbs {
 protected:
  // The next completion of the responder.
  void ExpectThere(uint64_t wr_id, IbWcOpcode opcode) {
    const auto completion = responder().Poll(kCompletionMs);
    ASSERT_TRUE(completion.has_value()) << "no completion of " << wr_id << " at the responder";
    EXPECT_EQ(completion->wr_id, wr_id);
    ASSERT_STREQ(ToString(completion->status), "success") << responder().name() << " as responder";
    EXPECT_STREQ(ToString(completion->opcode), ToString(opcode));
  }
};

// Part of a region, by a window of type 2, until a SEND of the peer ends it.
TEST_P(SoftRoceWindow, WindowIsUsedUntilASendInvalidatesIt) {
  Connect();
  if (HasFatalFailure()) return;
  constexpr uint64_t kStart = 4096, kLength = 8192;
  const auto local = requester().Register(kBytes, kAll);
  const auto remote = responder().Register(kBytes, kAll | IbAccessFlags::kMwBind);
  const auto window = responder().AllocateWindow();
  ASSERT_TRUE(local.has_value() && remote.has_value() && window.has_value());
  local_ = *local;
  remote_ = *remote;
  EndWork bind{.wr_id = 1, .opcode = IbWrOpcode::kBindMw, .region = remote_.number, .offset = kStart};
  bind.length = kLength;
  bind.window = window->number;
  bind.rkey = (window->rkey & ~0xffU) | ((window->rkey + 1) & 0xff);
  bind.access = IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteAtomic;
  ASSERT_TRUE(responder().Post(there_, bind));
  ExpectThere(1, IbWcOpcode::kBindMw);
  if (HasFatalFailure()) return;
  remote_.rkey = bind.rkey;
  std::vector<uint8_t> data(kLength);
  for (size_t i = 0; i < data.size(); ++i) data[i] = Pattern(i, 5);
  ASSERT_TRUE(requester().Poke(local_.number, kStart, data));
  Post(Write(2, kStart, kLength));
  Post(Store(3, kStart + 16, 0x0123'4567'89ab'cdef));
  if (HasFatalFailure()) return;
  ExpectDone(2, IbWcOpcode::kRdmaWrite);
  ExpectDone(3, IbWcOpcode::kAtomicWrite);
  if (HasFatalFailure()) return;
  const std::vector<uint8_t> word = Word(0x0123'4567'89ab'cdef);
  std::ranges::copy(word, data.begin() + 16);
  ExpectBytes(kStart, data);
  ASSERT_TRUE(responder().PostReceive(there_, 4, remote_.number, 32'768, 100));
  EndWork send{
      .wr_id = 5, .opcode = IbWrOpcode::kSendWithInv, .region = local_.number, .offset = kStart, .length = 100};
  send.rkey = bind.rkey;
  Post(send);
  if (HasFatalFailure()) return;
  ExpectDone(5, IbWcOpcode::kSend);
  ExpectThere(4, IbWcOpcode::kRecv);
  if (HasFatalFailure()) return;
  std::vector<uint8_t> sent;
  for (size_t i = 0; i < 100; ++i) sent.push_back(Pattern(i, 5));
  ExpectBytes(32'768, sent);
  ExpectStatus(Write(6, kStart, 64), IbWcStatus::kRemAccessErr);
  if (HasFatalFailure()) return;
  ExpectBytes(kStart, data);
}

TEST_P(SoftRoceWindow, WindowsEndIsTheEnd) {
  // It compares the range with the region's [drivers/infiniband/sw/rxe/rxe_resp.c, check_rkey].
  if (!GetParam().linux_requests) GTEST_SKIP() << "Linux does not check a window's bounds";
  for (const bool is_behind : {false, true}) {
    Connect();
    if (HasFatalFailure()) return;
    const auto local = requester().Register(kBytes, kAll);
    const auto remote = responder().Register(kBytes, kAll | IbAccessFlags::kMwBind);
    const auto window = responder().AllocateWindow();
    ASSERT_TRUE(local.has_value() && remote.has_value() && window.has_value());
    local_ = *local;
    remote_ = *remote;
    EndWork bind{.wr_id = 1, .opcode = IbWrOpcode::kBindMw, .region = remote_.number, .offset = 4096, .length = 4096};
    bind.window = window->number;
    bind.rkey = (window->rkey & ~0xffU) | ((window->rkey + 1) & 0xff);
    bind.access = IbAccessFlags::kRemoteWrite;
    ASSERT_TRUE(responder().Post(there_, bind));
    ExpectThere(1, IbWcOpcode::kBindMw);
    if (HasFatalFailure()) return;
    remote_.rkey = bind.rkey;
    ExpectStatus(Write(2, is_behind ? 8191 : 4095, 2), IbWcStatus::kRemAccessErr);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SoftRoceWindow, testing::ValuesIn(Cases(Devices(false), false)),
                         [](const auto& info) { return NameOf(info.param); });

// --- What only one end has

class SoftRocePlacement : public SoftRoceVerbs {};

// Persistence needs persistent memory: Linux refuses to register other memory for it, and so does Vireo.
TEST_P(SoftRocePlacement, PersistenceNeedsPersistentMemory) {
  EXPECT_FALSE(linux_->Register(4096, kAll | IbAccessFlags::kFlushPersistent).has_value());
  EXPECT_FALSE(vireo_->Register(4096, kAll | IbAccessFlags::kFlushPersistent).has_value());
}

// Linux flushes Vireo's persistent memory, for each placement and for both.
TEST_P(SoftRocePlacement, LinuxFlushesForPersistence) {
  if (!GetParam().linux_requests) GTEST_SKIP() << "no persistent memory in the guest";
  const std::string file = Pmem() + "/memory";
  std::ofstream(file) << std::string(4096, '\0');
  constexpr uint32_t kPersistent = IbAccessFlags::kFlushPersistent;
  Connect(kRemote | IbAccessFlags::kFlushGlobal | kPersistent);
  if (HasFatalFailure()) return;
  const auto local = requester().Register(4096, kAll), remote = responder().Register(4096, kAll | kPersistent, file);
  ASSERT_TRUE(local.has_value() && remote.has_value());
  local_ = *local;
  remote_ = *remote;
  std::vector<uint8_t> data(1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = Pattern(i, 3);
  ASSERT_TRUE(requester().Poke(local_.number, 8, data));
  uint64_t wr_id = 0;
  for (const uint8_t placement :
       {FlushPlacement::kGlobalVisibility, FlushPlacement::kPersistence,
        static_cast<uint8_t>(FlushPlacement::kGlobalVisibility | FlushPlacement::kPersistence)}) {
    for (const FlushSelectivity selectivity : {FlushSelectivity::kRange, FlushSelectivity::kMemoryRegion}) {
      Post(Write(wr_id, 8, static_cast<uint32_t>(data.size())));
      EndWork flush = Flush(wr_id + 1, 8, static_cast<uint32_t>(data.size()), selectivity);
      flush.placement = placement;
      Post(flush);
      if (HasFatalFailure()) return;
      ExpectDone(wr_id++, IbWcOpcode::kRdmaWrite);
      ExpectDone(wr_id++, IbWcOpcode::kFlush);
      if (HasFatalFailure()) return;
    }
  }
  ExpectBytes(8, data);
}

// What the relay of these tests is for: when Linux has it mended, this test says so.
TEST_P(SoftRocePlacement, LinuxCountsTheHeadersOfAFlushTwice) {
  relay().SetActive(false);
  const auto before = relay().counts();
  Connect(kRemote | IbAccessFlags::kFlushGlobal, /*timeout=*/16, /*retries=*/1);
  if (HasFatalFailure()) return;
  const auto remote = responder().Register(4096, kAll);
  ASSERT_TRUE(remote.has_value());
  remote_ = *remote;
  Post(Flush(1, 0, 64));
  if (HasFatalFailure()) return;
  const auto completion = requester().Poll(kCompletionMs);
  ASSERT_TRUE(completion.has_value());
  const auto after = relay().counts();
  EXPECT_EQ(after.linux_other, 0U);
  EXPECT_EQ(after.ours_other, 0U);
  if (after.linux_right != 0) {
    EXPECT_STREQ(ToString(completion->status), "success");
    std::printf("soft-roce: this Linux has the standard's ICRC in FLUSH requests\n");
    return;
  }
  EXPECT_STREQ(ToString(completion->status), "retry_exc_err");
  EXPECT_EQ(GetParam().linux_requests ? after.linux_own - before.linux_own : after.ours_right - before.ours_right, 2U);
}

INSTANTIATE_TEST_SUITE_P(Ways, SoftRocePlacement, testing::ValuesIn(Cases(Devices(false), false)),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace vireo::sim
