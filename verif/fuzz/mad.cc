// SPDX-License-Identifier: Apache-2.0
// Management datagrams into a connection manager, interleaved with its users' calls. Every MAD that it sends must parse
// and encode to the same bytes; its timers must terminate; destroyed connections must be freed.
//
// Input: steps, each a byte Step and its operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "host/service/cm/cm.h"
#include "verif/fuzz/target.h"
#include "verif/host/service/cm/recorded_mads.h"

namespace vireo::sim {
namespace {

using namespace service::cm;  // NOLINT(google-build-using-namespace): namespace under test

// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kRaw,      // Aim, length, bytes
  kReflect,  // returns its oldest undelivered MAD
  kTime,     // to the next deadline
  kConnect,
  kResolve,
  kAccept,  // from here on, with a connection as operand
  kReady,
  kEstablish,
  kReject,
  kDisconnect,
  kSidrReply,
  kDestroy,
  kCount,
};
// Fields set in a raw MAD so that it is not dropped immediately.
enum Aim : uint8_t {
  kHeader = 1,    // the constants of the header
  kLocalId = 2,   // `remote` is an id of this manager
  kSamePeer = 4,  // `local` is the peer's id of an earlier MAD
  kService = 8,   // REQ, SIDR_REQ: an existing service
};
constexpr uint64_t kServiceId = 0x0106'1c06;
constexpr size_t kMostSteps = 300;

Gid GidOf(uint8_t n) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n}; }

template <typename Message>
Mad Again(MadView mad, uint64_t transaction_id) {
  return Encode(Decode<Message>(mad), transaction_id);
}
// Normalizes a MAD of this attribute: reserved bits 0, all else unchanged.
Mad Normal(Attribute attribute, MadView mad, uint64_t transaction_id) {
  switch (attribute) {
    case Attribute::kReq: return Again<Req>(mad, transaction_id);
    case Attribute::kMra: return Again<Mra>(mad, transaction_id);
    case Attribute::kRej: return Again<Rej>(mad, transaction_id);
    case Attribute::kRep: return Again<Rep>(mad, transaction_id);
    case Attribute::kRtu: return Again<Rtu>(mad, transaction_id);
    case Attribute::kDreq: return Again<Dreq>(mad, transaction_id);
    case Attribute::kDrep: return Again<Drep>(mad, transaction_id);
    case Attribute::kSidrReq: return Again<SidrReq>(mad, transaction_id);
    case Attribute::kSidrRep: return Again<SidrRep>(mad, transaction_id);
  }
  Mad copy;
  std::ranges::copy(mad, copy.begin());
  return copy;
}

struct Side final : MadTransport, Handler {
  Side() : manager(*this, [this] { return now; }, {.node_guid = 1, .seed = 1}) {
    manager.SetAcceptor([this](const Incoming& incoming) -> ConnectionManager::Answer {
      if (incoming.service_id == kServiceId + 1) return {.verdict = ConnectionManager::Answer::Verdict::kIgnored};
      if (incoming.service_id != kServiceId) return {};
      ids.push_back(incoming.id);
      return {.verdict = ConnectionManager::Answer::Verdict::kTaken, .handler = this};
    });
  }
  void SendMad(const Path& path, MadView mad) override {
    const auto header = Parse(mad);
    ASSERT_TRUE(header.has_value());
    EXPECT_TRUE(std::ranges::equal(Normal(header->attribute, mad, header->transaction_id), mad));
    auto& [to, copy] = sent.emplace_back();
    to = path;
    std::ranges::copy(mad, copy.begin());
    if (sent.size() > 64) sent.pop_front();
  }
  void OnCmEvent(uint32_t id, const Event& event) override {
    EXPECT_TRUE(manager.Query(id).has_value());
    EXPECT_LE(event.private_data.size(), kMessageBytes);
    uint32_t sum = 0;  // reads every byte
    for (const uint8_t byte : event.private_data) sum += byte;
    last_sum = sum;
  }

  uint64_t now = 1;
  uint32_t last_sum = 0;
  std::vector<uint32_t> ids;  // all ids so far
  std::deque<std::pair<Path, Mad>> sent;
  ConnectionManager manager;
};

class Run {
 public:
  explicit Run(InputReader input) : input_(input) {}

  void Go() {
    for (size_t i = 0; i < kMostSteps && !input_.is_empty(); ++i) {
      Do(static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount)));
    }
    for (const uint32_t id : side_.ids) side_.manager.Destroy(id);
    // Closed connections leave TIMEWAIT after a bounded time.
    constexpr int kMostDeadlines = 100'000;
    for (int i = 0; side_.manager.NextDeadline().has_value(); ++i) {
      ASSERT_LT(i, kMostDeadlines) << "deadlines never end";
      PassTime();
    }
    EXPECT_EQ(side_.manager.connections(), 0U);
  }

 private:
  uint32_t Id() {
    const uint8_t number = input_.Byte();
    return side_.ids.empty() ? number : side_.ids[number % side_.ids.size()];
  }
  void PassTime() {
    const auto deadline = side_.manager.NextDeadline();
    if (deadline.has_value()) side_.now = std::max(side_.now, *deadline);
    side_.manager.Tick();
  }
  Bytes PrivateData() { return input_.Fill(input_.Byte()); }

  void Raw() {
    const uint8_t aim = input_.Byte();
    const auto bytes = input_.Take(std::min<size_t>(kMadBytes, size_t{input_.Byte()} + 1));
    Mad mad{};
    std::ranges::copy(bytes, mad.begin());
    if ((aim & kHeader) != 0) {
      for (const auto& [at, value] : {std::pair{0, 1}, {1, 7}, {2, 2}, {3, 3}}) {
        mad[static_cast<size_t>(at)] = static_cast<uint8_t>(value);
      }
      mad[16] = 0;
      if (mad[17] < 0x10 || mad[17] > 0x18) mad[17] = static_cast<uint8_t>(0x10 + mad[17] % 9);
    }
    const auto header = Parse(mad);
    if (header.has_value()) {
      const Mad normal = Normal(header->attribute, mad, header->transaction_id);
      EXPECT_EQ(Normal(header->attribute, normal, header->transaction_id), normal);
    }
    const size_t body = MadHeader::kBytes;
    const auto put = [&](size_t at, uint64_t value, unsigned bytes) {
      for (unsigned i = 0; i < bytes; ++i) mad[at + i] = static_cast<uint8_t>(value >> 8 * (bytes - 1 - i));
    };
    const bool is_request =
        mad[17] == static_cast<uint8_t>(Attribute::kReq) || mad[17] == static_cast<uint8_t>(Attribute::kSidrReq);
    if ((aim & kSamePeer) != 0) put(body, 0x11, 4);
    if ((aim & kLocalId) != 0 && !is_request && !side_.ids.empty()) put(body + 4, Id(), 4);
    if ((aim & kService) != 0 && is_request) put(body + 8, kServiceId, 8);
    side_.manager.OnMad(path_, mad);
  }
  void Do(Step step) {
    switch (step) {
      case Step::kRaw: return Raw();
      case Step::kReflect: {
        if (side_.sent.empty()) return;
        auto [path, mad] = side_.sent.front();
        side_.sent.pop_front();
        std::swap(path.sgid, path.dgid);
        return side_.manager.OnMad(path, mad);
      }
      case Step::kTime: return PassTime();
      case Step::kConnect: {
        const Bytes data = PrivateData();
        const auto id = side_.manager.Connect(
            side_, path_, {.service_id = kServiceId, .qpn = 0x11, .starting_psn = 0x123456, .private_data = data});
        if (id.ok()) side_.ids.push_back(*id);
        return;
      }
      case Step::kResolve: {
        const auto id = side_.manager.Resolve(side_, path_, kServiceId, PrivateData());
        if (id.ok()) side_.ids.push_back(*id);
        return;
      }
      // In every state: succeeds or is refused.
      case Step::kAccept: {
        const uint32_t id = Id();
        const Bytes data = PrivateData();
        return static_cast<void>(side_.manager.Accept(id, {.qpn = 0x12, .starting_psn = 5, .private_data = data}));
      }
      case Step::kReady: return static_cast<void>(side_.manager.Ready(Id()));
      case Step::kEstablish: return static_cast<void>(side_.manager.Establish(Id()));
      case Step::kReject: {
        const uint32_t id = Id();
        return static_cast<void>(side_.manager.Reject(id, RejectReason{input_.Byte()}, PrivateData()));
      }
      case Step::kDisconnect: return static_cast<void>(side_.manager.Disconnect(Id()));
      case Step::kSidrReply: {
        const uint32_t id = Id();
        return static_cast<void>(
            side_.manager.SidrReply(id, SidrStatus{static_cast<uint8_t>(input_.Byte() % 6)}, 3, 4, PrivateData()));
      }
      case Step::kDestroy:
      case Step::kCount: return side_.manager.Destroy(Id());
    }
  }

  InputReader input_;
  Side side_;
  const Path path_{.sgid_index = 0, .sgid = GidOf(1), .dgid = GidOf(2)};
};

void AddRaw(Bytes& seed, const Mad& mad, uint8_t aim) {
  for (const uint8_t byte : {static_cast<uint8_t>(Step::kRaw), aim, uint8_t{kMadBytes - 1}}) seed.push_back(byte);
  Append(seed, mad);
}
void AddStep(Bytes& seed, Step step, std::initializer_list<uint8_t> more = {}) {
  seed.push_back(static_cast<uint8_t>(step));
  Append(seed, std::vector<uint8_t>(more));
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* const name : {"cm_rping.pcap", "cm_udaddy.pcap"}) {
    const auto mads = RecordedMads(name);
    for (const Mad& mad : mads) AddRaw(seeds.emplace_back(), mad, 0);
    // All MADs, both directions, as if sent to this side; it accepts.
    Bytes& passive = seeds.emplace_back();
    for (const Mad& mad : mads) {
      AddRaw(passive, mad, kLocalId | kSamePeer | kService);
      if (mad[17] == static_cast<uint8_t>(Attribute::kReq)) AddStep(passive, Step::kAccept, {0, 1, 9});
      if (mad[17] == static_cast<uint8_t>(Attribute::kSidrReq)) AddStep(passive, Step::kSidrReply, {0, 0, 1, 9});
      AddStep(passive, Step::kTime);
    }
    Bytes& active = seeds.emplace_back();
    AddStep(active, Step::kConnect, {2, 'h', 'i'});
    for (const Mad& mad : mads) {
      AddRaw(active, mad, kLocalId | kSamePeer | kService);
      if (mad[17] == static_cast<uint8_t>(Attribute::kRep)) AddStep(active, Step::kReady, {0});
    }
    AddStep(active, Step::kDisconnect, {0});
  }
  // Loopback.
  Bytes& loop = seeds.emplace_back();
  AddStep(loop, Step::kConnect, {0});
  AddStep(loop, Step::kReflect);
  AddStep(loop, Step::kAccept, {1, 0});
  AddStep(loop, Step::kReflect);
  AddStep(loop, Step::kReady, {0});
  AddStep(loop, Step::kReflect);
  AddStep(loop, Step::kEstablish, {1});
  AddStep(loop, Step::kDisconnect, {1});
  AddStep(loop, Step::kReflect);
  AddStep(loop, Step::kDisconnect, {0});
  AddStep(loop, Step::kReflect);
  AddStep(loop, Step::kTime);
  Bytes& resolve = seeds.emplace_back();
  AddStep(resolve, Step::kResolve, {1, 1});
  AddStep(resolve, Step::kReflect);
  AddStep(resolve, Step::kSidrReply, {1, 0, 0});
  AddStep(resolve, Step::kReflect);
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vireo::sim::Run(vireo::sim::InputReader({data, size})).Go();
  return 0;
}
