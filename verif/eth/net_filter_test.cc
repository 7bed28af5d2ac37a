// SPDX-License-Identifier: Apache-2.0
// The filter of net frames: the host gets the frames that virtio specifies, unchanged and in order, and RTL and model
// agree in every cycle.
#include "model/eth/net_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vnet_filter_512.h"
#include "Vnet_filter_64.h"
#include "model/eth/net_classify.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::NetClassify;
using model::NetFilter;
using spec::MgmtRxMode;
using spec::MgmtTable;
using spec::NetFrame;
using spec::TableWrite;

using Bytes = std::vector<uint8_t>;
using Mac = std::array<uint8_t, 6>;

constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr size_t kHeader = 12;  // net_hdr: virtio 1.3, 5.1.6
constexpr size_t kVlans = 4096;
constexpr size_t kMacs = 64;
static_assert(kMacs == spec::kTableMacFilterEntries && kHeader == spec::NetHdr::kBytes);

// As in verif/eth/CMakeLists.txt.
template <typename Top>
NetFilter::Sizes SizesOf() {
  constexpr bool kWide = std::is_same_v<Top, Vnet_filter_512>;
  return {.data_bits = kWide ? 512 : 64,
          .buffer_bytes = kWide ? 8192 : 4096,
          .max_frame_bytes = 1500,
          .bytes_per_frame = kWide ? 512 : 256};
}

// From a frame's class beat to its token: list of classes, decision, list of tokens.
constexpr uint64_t kLatency = NetClassify::kLatency + 2 + 2 + 2;
static_assert(NetFilter::kClassLatency == 2 && NetFilter::kDecisionCycles == 2);

// Firmware's configuration.
struct Setup {
  MgmtRxMode mode{};
  Mac mac{};
  std::vector<Mac> macs{};
  std::set<uint16_t> vlans{};
  uint16_t pairs = 1;
};

uint64_t Number(const Mac& mac) {
  uint64_t number = 0;
  for (unsigned i = 0; i < 6; ++i) number |= uint64_t{mac[i]} << 8 * i;
  return number;
}

// Virtio 1.3, 5.1.6.5.1 to 5.1.6.5.3, of the frame's bytes.
bool Passes(const Setup& setup, const Bytes& frame) {
  Mac mac;
  std::copy_n(frame.begin(), mac.size(), mac.begin());
  const bool tagged = frame[12] == 0x81 && frame[13] == 0x00;
  const auto vlan = static_cast<uint16_t>((frame[14] << 8 | frame[15]) & 0xfff);
  const bool listed = std::find(setup.macs.begin(), setup.macs.end(), mac) != setup.macs.end();
  const MgmtRxMode& mode = setup.mode;
  if (mode.promiscuous) return true;
  if (mode.vlan_filter && tagged && setup.vlans.count(vlan) == 0) return false;
  if (mac == kBroadcast) return !mode.no_broadcast;
  if (mac[0] % 2 == 1) return !mode.no_multicast && (mode.all_multicast || listed);
  return !mode.no_unicast && (mode.all_unicast || mac == setup.mac || listed);
}

// Passes frames to the model in the cycle of their first beat, before or after the block itself runs in it.
class Announcer final : public model::Block {
 public:
  Announcer(Agenda& agenda, NetFilter& block) : Block(agenda), block_(block) {}
  void Add(Cycle first, const Bytes& bytes) {
    line_.emplace_back(first, bytes);
    WakeAt(first);
  }
  bool IsEmpty() const { return line_.empty(); }
  void Run(Cycle now) override {
    while (!line_.empty() && line_.front().first <= now) {
      block_.OnNetFrame(line_.front().first, line_.front().second);
      line_.pop_front();
    }
  }

 private:
  NetFilter& block_;
  std::deque<std::pair<Cycle, Bytes>> line_;
};

// Frames in; drops and refusals out.
template <typename Top>
class NetIn final : public BenchStream {
 public:
  static constexpr size_t kBeatBytes = sizeof(Top::net_data_i);
  struct Sent {
    Bytes bytes;
    Cycle first = 0;
    bool dropped = false;  // as reported by the RTL
  };

  NetIn(Top& ports, NetFilter& model, Agenda& agenda, std::mt19937_64& random)
      : p_(ports), model_(model), announcer_(agenda, model), random_(random) {
    p_.net_valid_i = 0;
    model_.on_drop = [this](Cycle now) { model_drop_ = now; };
    model_.on_filtered = [this](Cycle now) { model_filtered_ = now; };
  }

  void Begin(Cycle cycle) override {
    while (!frames.empty() && scheduled_.size() < 3 && random_() % 16 < rate) {
      Cycle first = std::max(cycle, free_from_);
      if (rate < 16 && random_() % 2 == 0) first += random_() % 30;
      Sent frame{std::move(frames.front()), first};
      frames.pop_front();
      free_from_ = first + (frame.bytes.size() + kBeatBytes - 1) / kBeatBytes;
      if (!announcer_.IsEmpty() || random_() % 2 == 0) {
        announcer_.Add(first, frame.bytes);
      } else {
        model_.OnNetFrame(first, frame.bytes);
      }
      scheduled_.push_back(std::move(frame));
    }
    Scramble(p_.net_data_i, random_);
    Scramble(p_.net_bytes_i, random_, 14);
    p_.net_last_i = random_() & 1;
    p_.net_valid_i = !scheduled_.empty() && scheduled_.front().first <= cycle;
    if (!p_.net_valid_i) return;
    const Sent& frame = scheduled_.front();
    const size_t size = std::min(kBeatBytes, frame.bytes.size() - at_);
    const auto from = frame.bytes.begin() + static_cast<ptrdiff_t>(at_);
    std::copy(from, from + static_cast<ptrdiff_t>(size), BytesOf(p_.net_data_i).begin());
    p_.net_bytes_i = static_cast<uint16_t>(frame.bytes.size());
    at_ += size;
    p_.net_last_i = at_ == frame.bytes.size();
    if (frame.first == cycle) sent.push_back(frame);
    if (!p_.net_last_i) return;
    at_ = 0;
    scheduled_.pop_front();
  }
  void End(Cycle cycle) override {
    const std::string at = "cycle " + std::to_string(cycle);
    if ((p_.drop_o != 0) != (model_drop_ == cycle)) difference = "drop: " + at;
    if ((p_.filtered_o != 0) != (model_filtered_ == cycle)) difference = "filtered: " + at;
    if (p_.filtered_o) {
      ++filtered;
      filtered_at = cycle;
    }
    if (!p_.drop_o) return;
    for (auto frame = sent.rbegin(); frame != sent.rend() && frame->first + 1 >= cycle; ++frame) {
      if (frame->first + 1 == cycle) frame->dropped = true;
    }
  }
  bool IsEmpty() const override { return frames.empty() && scheduled_.empty(); }

  std::deque<Bytes> frames;  // to be sent
  std::deque<Sent> sent;
  unsigned rate = 16;
  uint64_t filtered = 0;
  Cycle filtered_at = 0;

 private:
  Top& p_;
  NetFilter& model_;
  Announcer announcer_;
  std::mt19937_64& random_;
  std::deque<Sent> scheduled_;
  Cycle free_from_ = 0;
  size_t at_ = 0;
  std::optional<Cycle> model_drop_, model_filtered_;
};

// Reads the frames whose tokens have come, and frees them.
template <typename Top>
class Reader final : public BenchStream {
 public:
  static constexpr size_t kBeatBytes = sizeof(Top::oldest_data_o);

  Reader(Top& ports, NetFilter& model, std::mt19937_64& random) : p_(ports), model_(model), random_(random) {
    p_.oldest_read_i = 0;
    p_.oldest_free_i = 0;
  }

  void Begin(Cycle cycle) override {
    const bool here = p_.oldest_valid_o != 0;
    if (here != model_.HasOldest(cycle)) difference = "oldest: cycle " + std::to_string(cycle);
    const bool checked = p_.oldest_checked_o != 0;
    if (checked != (here && model_.CheckedFrom() <= cycle)) difference = "checked: cycle " + std::to_string(cycle);
    if (checked && (p_.oldest_checksum_valid_o != 0) != model_.HasValidChecksum()) {
      difference = "checksum: cycle " + std::to_string(cycle);
    }
    if (!expected_.empty()) {
      const auto data = BytesOf(p_.oldest_data_o);
      if (!std::equal(expected_.begin(), expected_.end(), data.begin())) {
        difference = "beat: cycle " + std::to_string(cycle) + ": not what was sent";
      }
      if (random_() % 2 == 0) expected_.clear();  // it stays until the next
    }
    p_.oldest_read_i = 0;
    p_.oldest_free_i = 0;
    Scramble(p_.oldest_beat_i, random_, 7);
    if (!here || tokens == 0 || !difference.empty() || random_() % 16 >= rate) return;
    Bytes row(kHeader);
    row.insert(row.end(), model_.oldest().begin(), model_.oldest().end());
    const size_t beats = (row.size() + kBeatBytes - 1) / kBeatBytes;
    if (read_ == 0) orderly_ = in_order;
    // While the frame is still being stored, from its first beat on.
    if (!orderly_ && !checked) return;
    if (orderly_ && !checked) ++early;
    if (orderly_ && read_ + 1 == beats && !checked) return;
    const size_t beat = orderly_ ? read_ : random_() % beats;
    p_.oldest_read_i = 1;
    p_.oldest_beat_i = static_cast<std::remove_reference_t<decltype(p_.oldest_beat_i)>>(beat);
    const auto from = row.begin() + static_cast<ptrdiff_t>(beat * kBeatBytes);
    expected_.assign(from, from + std::min(static_cast<ptrdiff_t>(kBeatBytes), row.end() - from));
    ++read_;
    if (!(orderly_ ? read_ == beats : random_() % 4 == 0)) return;
    p_.oldest_free_i = 1;
    freed_at = cycle;
    frames.emplace_back(model_.oldest().begin(), model_.oldest().end());
    checksums.push_back(p_.oldest_checksum_valid_o != 0);
    model_.Free(cycle);
    read_ = 0;
    --tokens;
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return tokens == 0; }

  std::vector<Bytes> frames;    // that were freed
  std::vector<bool> checksums;  // whether they are valid
  uint64_t early = 0;           // beats that were read before that was known
  uint64_t tokens = 0;          // taken, their frames not yet freed
  unsigned rate = 16;
  bool in_order = true;  // every beat once; else some, in any order
  Cycle freed_at = 0;

 private:
  Top& p_;
  NetFilter& model_;
  std::mt19937_64& random_;
  Bytes expected_;
  size_t read_ = 0;
  bool orderly_ = true;  // of the frame that is being read
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::net_data_i);

  static std::shared_ptr<RtlTop<Top>> MakeRtl() {
    return std::make_shared<RtlTop<Top>>([](const Top& top, std::vector<uint8_t>& bytes) {
      const auto add = [&](const auto& port) {
        const auto data = BytesOf(port);
        bytes.insert(bytes.end(), data.begin(), data.end());
      };
      add(top.drop_o);
      add(top.filtered_o);
      add(top.frame_valid_o);
      add(top.frame_o);
      add(top.oldest_valid_o);
      add(top.oldest_data_o);
      add(top.oldest_checked_o);
      add(top.oldest_checksum_valid_o);
      add(top.idle_o);
    });
  }

  // `again`: a running simulation, to be reset. Its tables keep their contents, so they are cleared first.
  explicit Bench(std::shared_ptr<RtlTop<Top>> again = nullptr) : owner(again ? again : MakeRtl()) {
    p.table_write_valid_i = 0;
    p.oldest_read_i = p.oldest_free_i = p.net_valid_i = 0;
    if (again) rtl.Reset();
    block.frame_out.Connect(tokens, block);
    bench.AddOther(levels);
    bench.AddOther(reader);
    bench.AddOther(in);
    bench.AddOther(idle);
    bench.AddOther(contexts);
    frame.on_token = [this](Cycle, const NetFrame& token) {
      ++reader.tokens;
      got.push_back(token);
    };
    if (!again) return;
    for (size_t i = 0; i < kMacs; ++i) WriteMac(i, std::nullopt);
    for (size_t i = 0; i < kVlans / 32; ++i) WriteVlans(i, 0);
    EXPECT_EQ(bench.RunOut(2), "");
  }

  void WriteMac(size_t index, const std::optional<Mac>& mac) {
    TableWrite write{.table_id = MgmtTable::kMacFilter, .index = static_cast<uint32_t>(index)};
    spec::TableMacFilter entry;
    entry.valid = mac.has_value();
    if (mac) std::copy(mac->begin(), mac->end(), entry.mac);
    entry.Encode(write.data);
    writes.tokens.push_back(write);
  }
  void WriteVlans(size_t index, uint32_t members) {
    TableWrite write{.table_id = MgmtTable::kVlanFilter, .index = static_cast<uint32_t>(index)};
    spec::TableVlanFilter{.members = members}.Encode(write.data);
    writes.tokens.push_back(write);
  }
  void WriteOther() {
    TableWrite write{.table_id = MgmtTable::kGid, .index = static_cast<uint32_t>(random() % 4)};
    for (auto& byte : write.data) byte = static_cast<uint8_t>(random());
    writes.tokens.push_back(write);
  }
  void SetLevels(const Setup& next) {
    setup = next;
    set_levels = true;
  }
  // Everything; waits until the tables are written.
  void SetUp(const Setup& next) {
    for (size_t i = 0; i < next.macs.size(); ++i) WriteMac(i, next.macs[i]);
    for (size_t i = next.macs.size(); i < setup.macs.size(); ++i) WriteMac(i, std::nullopt);
    for (size_t word = 0; word < kVlans / 32; ++word) {
      const auto members = [word](const std::set<uint16_t>& all) {
        uint32_t bits = 0;
        for (const uint16_t vlan : all) bits |= vlan / 32 == word ? 1u << vlan % 32 : 0;
        return bits;
      };
      if (members(next.vlans) != members(setup.vlans)) WriteVlans(word, members(next.vlans));
    }
    SetLevels(next);
    ASSERT_EQ(bench.RunOut(2), "");
  }

  Bytes MakeFrame(const Mac& destination, std::optional<uint16_t> vlan, size_t bytes) {
    Bytes result(bytes);
    for (auto& byte : result) byte = static_cast<uint8_t>(random());
    std::copy(destination.begin(), destination.end(), result.begin());
    const bool ip = random() % 2 == 0;  // or an unknown EtherType
    size_t at = 12;
    if (vlan) {
      const auto tag = static_cast<uint16_t>(*vlan | random() % 16 << 12);
      result[at++] = 0x81;
      result[at++] = 0x00;
      result[at++] = static_cast<uint8_t>(tag >> 8);
      result[at++] = static_cast<uint8_t>(tag);
    }
    result[at++] = ip ? 0x08 : 0x88;
    result[at++] = ip ? 0x00 : 0xb5;
    return result;
  }
  Mac RandomMac(bool group) {
    Mac mac;
    for (auto& byte : mac) byte = static_cast<uint8_t>(random());
    mac[0] = static_cast<uint8_t>((mac[0] & 0xfe) | group);
    return mac;
  }
  Setup RandomSetup() {
    Setup result;
    result.mode = RandomMode();
    result.mac = RandomMac(false);
    for (size_t i = random() % 2 == 0 ? random() % 5 : random() % (kMacs + 1); i-- > 0;) {
      result.macs.push_back(RandomMac(random() % 2 == 0));
    }
    for (size_t i = random() % 40; i-- > 0;) result.vlans.insert(static_cast<uint16_t>(random() % kVlans));
    result.pairs = static_cast<uint16_t>(random() % 4 == 0 ? random() % 257 : random() % 17);
    return result;
  }
  MgmtRxMode RandomMode() {
    MgmtRxMode mode = MgmtRxMode::FromWord(static_cast<uint32_t>(random() & random() & 0x7f));
    mode.promiscuous &= random() % 2 == 0;
    return mode;
  }
  // An address related to the configuration, or nearly so.
  Bytes RandomFrame(size_t bytes) {
    Mac mac = RandomMac(random() % 2 == 0);
    switch (random() % 6) {
      case 0: mac = kBroadcast; break;
      case 1:
      case 2: mac = setup.mac; break;
      case 3:
      case 4:
        if (!setup.macs.empty()) mac = setup.macs[random() % setup.macs.size()];
        break;
      default: break;
    }
    if (random() % 8 == 0) mac[random() % 6] ^= static_cast<uint8_t>(1u << random() % 8);
    std::optional<uint16_t> vlan;
    if (random() % 3 == 0) vlan = static_cast<uint16_t>(random() % kVlans);
    if (vlan && !setup.vlans.empty() && random() % 2 == 0) {
      auto member = setup.vlans.begin();
      std::advance(member, random() % setup.vlans.size());
      vlan = *member;
    }
    Bytes frame = MakeFrame(mac, vlan, bytes);
    if (random() % 2 == 0) MakeDatagram(frame, vlan ? 18 : 14);
    return frame;
  }
  // A datagram of UDP over IPv6 from byte `at` on, if there is room for one, with the right checksum or nearly so.
  void MakeDatagram(Bytes& frame, size_t at) {
    constexpr size_t kIpBytes = 40, kUdpBytes = 8;
    if (frame.size() < at + kIpBytes + kUdpBytes) return;
    const auto put = [&frame](size_t to, size_t value) {
      frame[to] = static_cast<uint8_t>(value >> 8);
      frame[to + 1] = static_cast<uint8_t>(value);
    };
    const size_t length = frame.size() - at - kIpBytes;
    put(at - 2, 0x86dd);
    frame[at] = 0x60;
    put(at + 4, length);
    frame[at + 6] = 17;
    put(at + kIpBytes + 4, length);
    put(at + kIpBytes + 6, 0);
    uint32_t sum = static_cast<uint32_t>(17 + length);
    for (size_t i = at + 8; i < frame.size(); ++i) sum += (i - at) % 2 == 0 ? uint32_t{frame[i]} << 8 : frame[i];
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    put(at + kIpBytes + 6, sum == 0xffff ? 0xffff : 0xffff - sum);
    if (random() % 4 == 0) frame.back() ^= static_cast<uint8_t>(1u << random() % 8);
  }
  size_t RandomBytes() { return 20 + (random() % 3 == 0 ? random() % 1481 : random() % 120); }

  // Until everything has left.
  std::string RunOut() {
    std::string difference = bench.RunOut(30);
    while (difference.empty() && !block.IsIdle()) difference = bench.Run(1);
    return difference.empty() ? bench.Run(5) : difference;
  }
  // Of the frames sent since the last call, with the present configuration.
  void CheckAll() {
    std::vector<Bytes> frames;
    std::vector<std::string> tokens_expected, tokens_got;
    uint64_t refused = 0;
    std::vector<bool> checksums;
    for (const auto& sent : in.sent) {
      if (sent.dropped) continue;
      if (!Passes(setup, sent.bytes)) {
        ++refused;
        continue;
      }
      const auto classified = NetClassify::Classify(sent.bytes);
      NetFrame token;
      token.bytes = static_cast<uint16_t>(sent.bytes.size());
      token.pair_index = static_cast<uint8_t>(uint64_t{classified.flow_hash} * setup.pairs / 65536);
      checksums.push_back(classified.checksum_valid);
      tokens_expected.push_back(TokenText(token));
      frames.push_back(sent.bytes);
    }
    for (const auto& token : got) tokens_got.push_back(TokenText(token));
    EXPECT_EQ(tokens_got, tokens_expected);
    EXPECT_EQ(reader.frames, frames);
    EXPECT_EQ(reader.checksums, checksums);
    valid += static_cast<uint64_t>(std::count(checksums.begin(), checksums.end(), true));
    EXPECT_EQ(in.filtered, refused);
    Forget();
  }
  void Forget() {
    in.sent.clear();
    in.filtered = 0;
    reader.frames.clear();
    reader.checksums.clear();
    got.clear();
  }
  uint64_t Dropped() const {
    return static_cast<uint64_t>(
        std::count_if(in.sent.begin(), in.sent.end(), [](const auto& sent) { return sent.dropped; }));
  }

  std::mt19937_64 random = sim::MakeRandom("net_filter");
  Agenda agenda;
  NetFilter block{agenda, SizesOf<Top>()};
  Channel<NetFrame> tokens = Channel<NetFrame>::Sink();
  std::shared_ptr<RtlTop<Top>> owner;
  RtlTop<Top>& rtl = *owner;
  Top& p = rtl.ports();
  BlockBench<Top> bench{rtl, agenda, random};
  Setup setup;
  bool set_levels = true;
  unsigned level_rate = 0;  // of spontaneous changes, in 1,024ths
  Probe levels{[this](Cycle cycle) {
                 if (random() % 1024 < level_rate) {
                   setup.mode = RandomMode();
                   if (random() % 2 == 0) setup.mac = RandomMac(false);
                   setup.pairs = static_cast<uint16_t>(random() % 257);
                   set_levels = true;
                 }
                 if (!std::exchange(set_levels, false)) return std::string();
                 p.rx_mode_i = setup.mode.ToWord();
                 p.mac_i = Number(setup.mac);
                 p.active_pairs_i = setup.pairs;
                 block.SetRxMode(cycle, setup.mode);
                 block.SetMac(cycle, Number(setup.mac));
                 block.SetActivePairs(cycle, setup.pairs);
                 return std::string();
               },
               nullptr};
  NetIn<Top> in{p, block, agenda, random};
  Reader<Top> reader{p, block, random};
  bool model_idle = true;
  Probe idle{[this](Cycle) { return Same("idle", p.idle_o, model_idle); },
             [this](Cycle) {
               model_idle = block.IsIdle();
               return std::string();
             }};
  decltype(bench.Out("frame", tokens, p.frame_valid_o, p.frame_ready_i, p.frame_o)) frame =
      bench.Out("frame", tokens, p.frame_valid_o, p.frame_ready_i, p.frame_o);
  decltype(bench.template Pulse<TableWrite>(p.table_write_valid_i, p.table_write_i, nullptr)) writes =
      bench.template Pulse<TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle cycle, const TableWrite& write) { block.OnTableWrite(cycle, write); });
  std::vector<NetFrame> got;
  uint64_t valid = 0;  // checksums
  ContextBench<Top, NetFilter> contexts{p, block};
};

template <typename Top>
class NetFilterTest : public ::testing::Test {};
using Tops = ::testing::Types<Vnet_filter_64, Vnet_filter_512>;
TYPED_TEST_SUITE(NetFilterTest, Tops);

// A frame of each kind.
template <typename B>
std::vector<Bytes> OneOfEach(B& bench) {
  std::vector<Bytes> frames;
  const Setup& setup = bench.setup;
  for (const Mac& mac :
       {kBroadcast, setup.macs[0], setup.macs[1], setup.mac, bench.RandomMac(true), bench.RandomMac(false)}) {
    frames.push_back(bench.MakeFrame(mac, std::nullopt, 60));
    frames.push_back(bench.MakeFrame(mac, *setup.vlans.begin(), 64));
    frames.push_back(bench.MakeFrame(mac, static_cast<uint16_t>(*setup.vlans.begin() ^ 1), 64));
  }
  return frames;
}

TYPED_TEST(NetFilterTest, EveryReceiveModeFollowsVirtio) {
  Bench<TypeParam> bench;
  Setup setup{.mac = bench.RandomMac(false), .vlans = {2748}, .pairs = 5};
  setup.macs = {bench.RandomMac(true), bench.RandomMac(false)};
  uint64_t passed = 0, refused = 0;
  for (uint32_t mode = 0; mode < 128; ++mode) {
    setup.mode = MgmtRxMode::FromWord(mode);
    bench.SetUp(setup);
    // In two halves, so that there is room for each.
    const auto frames = OneOfEach(bench);
    for (size_t i = 0; i < frames.size(); ++i) {
      bench.in.frames.push_back(frames[i]);
      if (i % 9 == 8) {
        ASSERT_EQ(bench.RunOut(), "");
      }
    }
    EXPECT_EQ(bench.Dropped(), 0u);
    passed += bench.got.size();
    refused += bench.in.filtered;
    bench.CheckAll();
    if (this->HasFailure()) break;
  }
  EXPECT_GT(passed, 100u);
  EXPECT_GT(refused, 100u);
}

TYPED_TEST(NetFilterTest, HostGetsItsFramesUnchanged) {
  bool drops = false;
  uint64_t valid = 0, early = 0;
  for (const bool slow : {false, true}) {
    Bench<TypeParam> bench;
    bench.in.rate = slow ? 3 : 16;
    bench.reader.rate = slow ? 16 : 8;
    for (unsigned i = 0; i < 40; ++i) {
      bench.SetUp(bench.RandomSetup());
      for (unsigned n = 0; n < 30; ++n) bench.in.frames.push_back(bench.RandomFrame(bench.RandomBytes()));
      bench.reader.in_order = i % 2 == 0;
      ASSERT_EQ(bench.RunOut(), "");
      drops |= bench.Dropped() != 0;
      bench.CheckAll();
    }
    valid += bench.valid;
    early += bench.reader.early;
  }
  EXPECT_TRUE(drops);
  EXPECT_GT(valid, 100u);
  EXPECT_GT(early, 100u);
}

TYPED_TEST(NetFilterTest, MatchesModelUnderConfigurationChanges) {
  struct Rates {
    unsigned in, token, read, write;
  };
  size_t errors = 0;  // of parity
  for (const Rates& rates : {Rates{16, 16, 16, 16}, Rates{1, 16, 16, 1}, Rates{16, 16, 4, 3}, Rates{16, 1, 16, 1},
                             Rates{4, 3, 9, 2}, Rates{8, 16, 16, 8}}) {
    Bench<TypeParam> bench;
    bench.SetUp(bench.RandomSetup());
    bench.level_rate = 20;
    bench.in.rate = rates.in;
    bench.frame.rate = rates.token;
    bench.reader.rate = rates.read;
    bench.writes.rate = rates.write;
    for (unsigned round = 0; round < 100; ++round) {
      bench.reader.in_order = round % 2 == 0;
      for (unsigned i = 0; i < 20; ++i) bench.in.frames.push_back(bench.RandomFrame(bench.RandomBytes()));
      for (unsigned i = 0; i < 60; ++i) {
        switch (bench.random() % 4) {
          case 0: bench.WriteOther(); break;
          case 1: bench.WriteVlans(bench.random() % (kVlans / 32), static_cast<uint32_t>(bench.random())); break;
          default: {
            const size_t index = bench.random() % kMacs;
            std::optional<Mac> mac = bench.RandomMac(bench.random() % 2 == 0);
            if (index < bench.setup.macs.size()) mac = bench.setup.macs[index];
            if (bench.random() % 8 == 0) mac.reset();
            bench.WriteMac(index, mac);
          }
        }
      }
      const bool is_vlan = bench.random() % 2 == 0;
      bench.contexts.Flip(is_vlan ? spec::ContextRam::kNetFilterVlan : spec::ContextRam::kNetFilterMac,
                          static_cast<uint32_t>(is_vlan ? bench.random() % 8 : bench.random() % 4),
                          static_cast<uint32_t>(bench.random() % 1024));
      ASSERT_EQ(bench.bench.Run(100 + bench.random() % 300), "");
    }
    ASSERT_EQ(bench.RunOut(), "");
    EXPECT_GT(bench.got.size(), 20u);
    EXPECT_GT(bench.in.filtered, 20u);
    EXPECT_EQ(bench.got.size() + bench.in.filtered + bench.Dropped(), bench.in.sent.size());
    EXPECT_EQ(bench.reader.frames.size(), bench.got.size());
    errors += bench.contexts.errors.size();
  }
  EXPECT_GT(errors, 50u);
}

TYPED_TEST(NetFilterTest, EveryLengthIsStoredBehindTwelveZeros) {
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}, .pairs = 16});
  for (size_t bytes = 20; bytes < 20 + 2 * bench.kBeatBytes + 40; ++bytes) {
    for (unsigned i = 0; i < 2; ++i) bench.in.frames.push_back(bench.RandomFrame(bytes));
    ASSERT_EQ(bench.RunOut(), "");
  }
  for (size_t bytes = 1484; bytes <= 1500; ++bytes) {
    bench.in.frames.push_back(bench.RandomFrame(bytes));
    ASSERT_EQ(bench.RunOut(), "");
  }
  EXPECT_EQ(bench.Dropped(), 0u);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, TokenAndFrameComeTheirLatencyAfterTheHeadersAndTheCheckAfterTheLastBeat) {
  for (const size_t bytes : {60u, 82u, 83u, 300u, 1500u}) {
    Bench<TypeParam> bench;
    const Mac own = bench.RandomMac(false);
    bench.SetUp({.mac = own});
    bench.reader.rate = 0;
    bench.frame.rate = 0;
    bench.in.frames.push_back(bench.MakeFrame(own, std::nullopt, bytes));
    const Cycle start = bench.bench.cycle();
    const Cycle token = start + std::min(bytes - 1, size_t{81}) / bench.kBeatBytes + kLatency;
    const Cycle checked =
        std::max(token, start + (bytes - 1) / bench.kBeatBytes + NetClassify::kLatency + NetFilter::kClassLatency);
    // A port that is read between two cycles has the value of the next one.
    while (bench.bench.cycle() < checked + 2) {
      ASSERT_EQ(bench.bench.Run(1), "");
      EXPECT_EQ(bench.p.frame_valid_o, bench.bench.cycle() >= token);
      EXPECT_EQ(bench.p.oldest_valid_o, bench.bench.cycle() >= token);
      EXPECT_EQ(bench.p.oldest_checked_o, bench.bench.cycle() >= checked);
      EXPECT_EQ(bench.p.idle_o, 0);
    }
  }
}

TYPED_TEST(NetFilterTest, EachSearchedAddressTakesACycle) {
  Bench<TypeParam> bench;
  Setup setup;
  for (size_t i = 0; i < kMacs; ++i) setup.macs.push_back(bench.RandomMac(i % 2 == 0));
  bench.SetUp(setup);
  for (const size_t index : {size_t{0}, size_t{1}, size_t{30}, kMacs - 1}) {
    bench.frame.rate = 0;
    bench.in.frames.push_back(bench.MakeFrame(setup.macs[index], std::nullopt, bench.kBeatBytes < 60 ? 60 : 64));
    const size_t beats = bench.kBeatBytes < 60 ? (60 + bench.kBeatBytes - 1) / bench.kBeatBytes : 1;
    ASSERT_EQ(bench.bench.Run(beats - 1 + kLatency + index + 1 - 1), "");
    EXPECT_EQ(bench.p.frame_valid_o, 0);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.p.frame_valid_o, 1);
    bench.frame.rate = 16;
    ASSERT_EQ(bench.RunOut(), "");
  }
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, FirstInvalidAddressEndsTheTable) {
  Bench<TypeParam> bench;
  Setup setup;
  for (unsigned i = 0; i < 5; ++i) setup.macs.push_back(bench.RandomMac(i % 2 == 0));
  bench.SetUp(setup);
  const auto send_all = [&] {
    for (const Mac& mac : setup.macs) bench.in.frames.push_back(bench.MakeFrame(mac, std::nullopt, 60));
    ASSERT_EQ(bench.RunOut(), "");
  };
  send_all();
  bench.CheckAll();
  // Entries behind it do not count, though present.
  bench.WriteMac(2, std::nullopt);
  ASSERT_EQ(bench.bench.RunOut(2), "");
  send_all();
  EXPECT_EQ(bench.got.size(), 2u);
  EXPECT_EQ(bench.in.filtered, 3u);
  bench.setup.macs.resize(2);
  bench.CheckAll();
  // An entry that is not valid is no address, whatever its bytes: all zero is not in the table.
  bench.in.frames.push_back(bench.MakeFrame(Mac{}, std::nullopt, 60));
  bench.setup.mac = bench.RandomMac(false);
  bench.set_levels = true;
  ASSERT_EQ(bench.RunOut(), "");
  EXPECT_EQ(bench.in.filtered, 1u);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, AddressOrVlanWithBadParityIsNotInItsTable) {
  Bench<TypeParam> bench;
  Setup setup{.mode = {.vlan_filter = true}, .mac = bench.RandomMac(false), .vlans = {77}};
  for (unsigned i = 0; i < 3; ++i) setup.macs.push_back(bench.RandomMac(i % 2 == 0));
  bench.SetUp(setup);
  const auto send = [&](const Mac& mac, std::optional<uint16_t> vlan, bool passes) {
    bench.in.frames.push_back(bench.MakeFrame(mac, vlan, 64));
    ASSERT_EQ(bench.RunOut(), "");
    EXPECT_EQ(bench.got.size(), passes ? 1u : 0u);
    EXPECT_EQ(bench.in.filtered, passes ? 0u : 1u);
    bench.got.clear();
    bench.in.filtered = 0;
  };
  auto& errors = bench.contexts.errors;
  for (const uint32_t bit : {0u, 20u, 1000u}) {
    bench.contexts.Flip(spec::ContextRam::kNetFilterMac, 1, bit);
    ASSERT_EQ(bench.bench.Run(3), "");
    // Not read by these.
    for (const Mac& mac : {setup.mac, kBroadcast, setup.macs[0]}) send(mac, std::nullopt, true);
    EXPECT_TRUE(errors.empty());
    send(setup.macs[1], std::nullopt, false);
    EXPECT_EQ(errors, std::vector<Cycle>{bench.in.filtered_at});
    send(setup.macs[2], std::nullopt, false);  // an entry behind it
    EXPECT_EQ(errors.size(), 2u);
    errors.clear();
    bench.WriteMac(1, setup.macs[1]);
    ASSERT_EQ(bench.bench.RunOut(2), "");
    for (const Mac& mac : setup.macs) send(mac, std::nullopt, true);
    EXPECT_TRUE(errors.empty());

    bench.contexts.Flip(spec::ContextRam::kNetFilterVlan, 77 / 32, bit);
    ASSERT_EQ(bench.bench.Run(3), "");
    send(setup.mac, std::nullopt, true);  // reads the word of VLAN 0
    EXPECT_TRUE(errors.empty());
    send(setup.mac, 77, false);
    EXPECT_EQ(errors, std::vector<Cycle>{bench.in.filtered_at});
    errors.clear();
    bench.WriteVlans(77 / 32, 1u << 77 % 32);
    ASSERT_EQ(bench.bench.RunOut(2), "");
    send(setup.mac, 77, true);
    EXPECT_TRUE(errors.empty());
  }
}

TYPED_TEST(NetFilterTest, RefusalIsReportedTwoCyclesBeforeATokenWouldBe) {
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.no_broadcast = true}});
  bench.in.frames.push_back(bench.MakeFrame(kBroadcast, std::nullopt, 64));
  const size_t beats = 64 / bench.kBeatBytes;
  const Cycle due = bench.bench.cycle() + beats - 1 + kLatency - 2;
  ASSERT_EQ(bench.RunOut(), "");
  EXPECT_EQ(bench.in.filtered, 1u);
  EXPECT_EQ(bench.in.filtered_at, due);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, RoomIsCountedToTheBeat) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}});
  bench.reader.rate = 0;
  // 1,012 bytes behind 12 of room are 1,024.
  const size_t fit = sizes.buffer_bytes / 1024;
  for (size_t i = 0; i + 1 < fit; ++i) bench.in.frames.push_back(bench.RandomFrame(1012));
  bench.in.frames.push_back(bench.RandomFrame(1013));                     // one beat too many
  bench.in.frames.push_back(bench.RandomFrame(1012 - bench.kBeatBytes));  // one beat less
  bench.in.frames.push_back(bench.RandomFrame(20 + bench.kBeatBytes));    // two more at least
  if (bench.kBeatBytes > 32) bench.in.frames.push_back(bench.RandomFrame(bench.kBeatBytes - kHeader));
  ASSERT_EQ(bench.bench.Run(fit * 1200 / bench.kBeatBytes + 400), "");
  EXPECT_EQ(bench.in.sent.size(), fit + 2 + (bench.kBeatBytes > 32));
  EXPECT_EQ(bench.Dropped(), 2u);
  EXPECT_TRUE(bench.in.sent[fit - 1].dropped);
  EXPECT_FALSE(bench.in.sent[fit].dropped);
  EXPECT_TRUE(bench.in.sent[fit + 1].dropped);
  bench.reader.rate = 16;
  ASSERT_EQ(bench.RunOut(), "");
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, FreedRoomCountsOneCycleLater) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}});
  bench.reader.rate = 0;
  const size_t fit = sizes.buffer_bytes / 1024;
  for (size_t i = 0; i < fit; ++i) bench.in.frames.push_back(bench.RandomFrame(1012));
  ASSERT_EQ(bench.bench.Run(fit * 1024 / bench.kBeatBytes + 100), "");
  EXPECT_EQ(bench.Dropped(), 0u);
  ASSERT_EQ(bench.in.sent.size(), fit);
  // Freed in cycle t: a frame that starts in t is dropped, one that starts in t + 1 is not.
  const size_t beats = 1024 / bench.kBeatBytes;
  const size_t small = bench.kBeatBytes < 20 ? 24 : bench.kBeatBytes;
  const size_t small_beats = small / bench.kBeatBytes;
  bench.reader.rate = 16;
  ASSERT_EQ(bench.bench.Run(beats - small_beats), "");
  for (unsigned i = 0; i < 2; ++i) bench.in.frames.push_back(bench.RandomFrame(small));
  // The first of them ends in the cycle of the free, so it started before; the second starts one cycle later.
  ASSERT_EQ(bench.bench.Run(small_beats + 1), "");
  ASSERT_EQ(bench.in.sent.size(), fit + 2);
  EXPECT_EQ(bench.in.sent[fit + 1].first, bench.reader.freed_at + 1);
  ASSERT_EQ(bench.RunOut(), "");
  EXPECT_TRUE(bench.in.sent[fit].dropped);
  EXPECT_FALSE(bench.in.sent[fit + 1].dropped);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, FrameThatStartsInTheCycleOfAFreeDoesNotGetItsRoom) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}});
  bench.reader.rate = 0;
  const size_t fit = sizes.buffer_bytes / 1024;
  for (size_t i = 0; i < fit; ++i) bench.in.frames.push_back(bench.RandomFrame(1012));
  ASSERT_EQ(bench.bench.Run(fit * 1024 / bench.kBeatBytes + 100), "");
  bench.reader.rate = 16;
  ASSERT_EQ(bench.bench.Run(1024 / bench.kBeatBytes - 1), "");
  bench.in.frames.push_back(bench.RandomFrame(64));
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.in.sent.size(), fit + 1);
  EXPECT_EQ(bench.in.sent[fit].first, bench.reader.freed_at);
  ASSERT_EQ(bench.RunOut(), "");
  EXPECT_TRUE(bench.in.sent[fit].dropped);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, FrameCountIsLimited) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}});
  const size_t frames = sizes.buffer_bytes / sizes.bytes_per_frame;
  bench.reader.rate = 0;
  bench.frame.rate = 0;
  for (size_t i = 0; i < frames + 3; ++i) bench.in.frames.push_back(bench.RandomFrame(20));
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.Dropped(), 3u);
  bench.reader.rate = bench.frame.rate = 16;
  ASSERT_EQ(bench.RunOut(), "");
  EXPECT_EQ(bench.got.size(), frames);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, DecidesAFrameEveryThreeCycles) {
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}});
  bench.in.rate = 16;
  constexpr size_t kFrames = 12;
  for (size_t i = 0; i < kFrames; ++i) bench.in.frames.push_back(bench.RandomFrame(24));
  const size_t beats = (24 + bench.kBeatBytes - 1) / bench.kBeatBytes;
  const Cycle last = bench.bench.cycle() + beats - 1 + kLatency + 3 * (kFrames - 1);
  ASSERT_EQ(bench.RunOut(), "");
  ASSERT_EQ(bench.tokens.sent().size(), kFrames);
  EXPECT_EQ(bench.tokens.sent().back().cycle, last);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, OversizedFramesAreDroppedAndTakeNoRoom) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  bench.SetUp({.mode = {.promiscuous = true}});
  for (const size_t bytes : {sizes.max_frame_bytes, sizes.max_frame_bytes + 1, 16383u, sizes.max_frame_bytes}) {
    bench.in.frames.push_back(bench.RandomFrame(bytes));
    ASSERT_EQ(bench.RunOut(), "");
  }
  ASSERT_EQ(bench.in.sent.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(bench.in.sent[i].dropped, i == 1 || i == 2);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, RefusedFramesFreeTheirRoomInOrder) {
  Bench<TypeParam> bench;
  const Mac own = bench.RandomMac(false);
  bench.SetUp({.mode = {.no_multicast = true}, .mac = own});
  bench.reader.rate = 0;
  bench.in.frames.push_back(bench.MakeFrame(own, std::nullopt, 52));
  for (unsigned i = 0; i < 3; ++i) {
    bench.in.frames.push_back(bench.MakeFrame(bench.RandomMac(true), std::nullopt, 64));
  }
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.in.filtered, 3u);
  EXPECT_FALSE(bench.block.IsIdle());
  bench.reader.rate = 16;
  // Reads the beats, frees with the last, then one in every cycle.
  ASSERT_EQ(bench.bench.Run(64 / bench.kBeatBytes + 2), "");
  EXPECT_FALSE(bench.block.IsIdle());
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_TRUE(bench.block.IsIdle());
  EXPECT_EQ(bench.Dropped(), 0u);
  bench.CheckAll();
}

TYPED_TEST(NetFilterTest, FlowsSpreadOverTheActivePairs) {
  Bench<TypeParam> bench;
  for (const uint16_t pairs : std::initializer_list<uint16_t>{1, 2, 3, 16, 256}) {
    bench.SetUp({.mode = {.promiscuous = true}, .pairs = pairs});
    std::vector<unsigned> hits(pairs);
    for (unsigned i = 0; i < 64; ++i) {
      bench.in.frames.push_back(bench.MakeFrame(bench.RandomMac(false), std::nullopt, 60));
      if (i % 8 == 7) {
        ASSERT_EQ(bench.RunOut(), "");
      }
    }
    ASSERT_EQ(bench.got.size(), 64u);
    for (const auto& token : bench.got) {
      ASSERT_LT(token.pair_index, pairs);
      ++hits[token.pair_index];
    }
    if (pairs <= 3) {
      EXPECT_GT(*std::min_element(hits.begin(), hits.end()), 4u);
    }
    bench.CheckAll();
  }
}

TYPED_TEST(NetFilterTest, ResetDiscardsEveryFrame) {
  std::shared_ptr<RtlTop<TypeParam>> rtl;
  for (unsigned i = 0; i < 10; ++i) {
    Bench<TypeParam> bench(rtl);
    rtl = bench.owner;
    bench.SetUp(bench.RandomSetup());
    bench.reader.rate = 4;
    for (unsigned n = 0; n < 60; ++n) bench.in.frames.push_back(bench.RandomFrame(bench.RandomBytes()));
    ASSERT_EQ(bench.bench.Run(100 + bench.random() % 400), "");
  }
  Bench<TypeParam> bench(rtl);
  bench.SetUp(bench.RandomSetup());
  for (unsigned n = 0; n < 60; ++n) bench.in.frames.push_back(bench.RandomFrame(bench.RandomBytes()));
  ASSERT_EQ(bench.RunOut(), "");
  bench.CheckAll();
}

}  // namespace
}  // namespace vireo::verif
