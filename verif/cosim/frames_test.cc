// SPDX-License-Identifier: Apache-2.0
// Malformed and forged frames into two NICs with continuous RDMA WRITEs between them: the writes must not be affected,
// and protected memory must not change. Model, RTL, and both in lockstep. VIREO_FRAMES=N sends N frames.
//
// There are two kinds of connections: streams, which must not be affected, and victims, which may. Frames that a NIC
// may accept (valid lengths, checksum and ICRC) are addressed to victims only: who can forge them may affect that
// connection, but nothing else. All other frames are addressed to both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/topology/rdma_system.h"
#include "sim/traffic/forged_frame.h"
#include "sim/wire/fault.h"
#include "verif/cosim/every_device.h"

namespace vireo::sim {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kDefaultFrames = 400;
constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;
constexpr Picoseconds kTimeout = 20'000 * kMicrosecond;
constexpr Picoseconds kSecond = 1'000'000 * kMicrosecond;
constexpr size_t kStreams = 2, kVictims = 3;  // connections
constexpr size_t kOutstanding = 4;            // writes of one side of a stream
constexpr uint64_t kVictimLifetime = 60;      // frames
constexpr uint64_t kStreamBytes = 16'384, kLargestWrite = 3000;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kVictimPages = 4, kVictimBytes = 2 * kPage + 1234;  // with guard bytes before and after
constexpr uint32_t kVictimAccess =
    spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteRead;

// --- Frames

enum class Header : uint8_t { kEthernet, kIpv4, kUdp, kBth, kReth, kAeth, kImmdt };
constexpr std::array<const char*, 7> kHeaderNames = {"ethernet", "ipv4", "udp", "bth", "reth", "aeth", "immdt"};

struct Place {
  Header header;
  size_t at;
};

// Of an untagged RoCEv2 frame over IPv4.
std::vector<Place> HeadersOf(const Bytes& frame) {
  const auto roce = FindRoce(frame);
  if (!roce || roce->is_ipv6) return {};
  std::vector<Place> result = {{Header::kEthernet, 0},
                               {Header::kIpv4, roce->ip_offset},
                               {Header::kUdp, roce->bth_offset - spec::Udp::kBytes},
                               {Header::kBth, roce->bth_offset}};
  const spec::OpcodeInfo& info = spec::kOpcodeInfo[static_cast<uint8_t>(roce->bth.opcode)];
  if (info.has_reth) result.push_back({Header::kReth, roce->bth_offset + info.reth_offset});
  if (info.has_aeth) result.push_back({Header::kAeth, roce->bth_offset + info.aeth_offset});
  if (info.has_immdt) result.push_back({Header::kImmdt, roce->bth_offset + info.immdt_offset});
  return result;
}

template <typename F>
decltype(auto) WithHeader(Header header, F&& f) {
  switch (header) {
    case Header::kEthernet: return f(spec::Ethernet());
    case Header::kIpv4: return f(spec::Ipv4());
    case Header::kUdp: return f(spec::Udp());
    case Header::kBth: return f(spec::Bth());
    case Header::kReth: return f(spec::Reth());
    case Header::kAeth: return f(spec::Aeth());
    case Header::kImmdt: break;
  }
  return f(spec::Immdt());
}

size_t FieldsOf(Header header) {
  return WithHeader(header, [](auto fields) {
    size_t count = 0;
    decltype(fields)::Visit(fields, [&](const char*, auto&, unsigned) { ++count; });
    return count;
  });
}

// --- The attack

class Frames : public testing::TestWithParam<EveryDevice>, private EventSink {
 protected:
  struct Stream {
    std::unique_ptr<ConnectedPair> pair;
    std::array<std::deque<uint64_t>, 2> outstanding;  // by side: wr_ids
    std::array<Bytes, 2> expected;                    // the memory
    std::array<Bytes, 2> source;
  };
  // Memory and completion queues stay; queue pairs are replaced.
  struct VictimSide {
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::CompletionQueue> cq;
    host::DmaBuffer memory;
    Bytes before;
    std::shared_ptr<verbs::MemoryRegion> region;
  };
  struct Victim {
    std::array<std::shared_ptr<verbs::QueuePair>, 2> qp;
    uint64_t born = 0;
  };

  void SetUp() override {
    const auto& [device, config] = GetParam();
    config_ = config;
    random_ = MakeRandom(fmt::format("frames.{}", config->name));  // the same frames for every device
    if (const char* text = std::getenv("VIREO_FRAMES"); text != nullptr) {
      frames_ = std::strtoull(text, nullptr, 10);
      ASSERT_NE(frames_, 0U) << "VIREO_FRAMES is a number from 1";
    }
    // The monitor's picture of a connection does not survive forged frames.
    auto built = RdmaSystem::Build({.device = device, .config = config, .is_monitored = false});
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    for (size_t i = 0; i < 2; ++i) system_->topology().station(i).tap().AddSink(*this);
    for (Stream& stream : streams_) ASSERT_NO_FATAL_FAILURE(MakeStream(stream));
    for (size_t i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(MakeVictimSide(i));
    for (size_t i = 0; i < kVictims; ++i) ASSERT_NO_FATAL_FAILURE(MakeVictim(i));
  }
  void TearDown() override {
    for (Victim& victim : victims_) victim = {};
    for (VictimSide& side : victim_sides_) side = {};
    for (Stream& stream : streams_) stream = {};
    if (system_ == nullptr) return;
    EXPECT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() + kSecond)) << Recent();
    EXPECT_EQ(system_->Violations(), "") << Recent();
  }

  uint64_t Below(uint64_t bound) { return UniformBelow(random_, bound); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  void Fill(uint8_t* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(random_() >> 32);
  }
  std::string Recent() const {
    std::string text = "the last frames sent, oldest first:\n";
    for (const std::string& line : recent_) text += "  " + line + "\n";
    return text;
  }

  void MakeStream(Stream& stream) {
    std::string error;
    stream.pair = MakeConnectedPair(system_->host(0), system_->host(1),
                                    {.memory_bytes = 2 * kStreamBytes, .interrupts = false}, &error);
    ASSERT_NE(stream.pair, nullptr) << error;
    for (size_t i = 0; i < 2; ++i) {
      auto& side = stream.pair->side.at(i);
      stream_qps_.at(i).insert(side.qp->qpn());
      Fill(side.memory->data(), side.memory->size());
      stream.expected.at(i).assign(side.memory->data(), side.memory->data() + side.memory->size());
    }
  }
  void MakeVictimSide(size_t number) {
    VictimSide& side = victim_sides_.at(number);
    RdmaHost& host = system_->host(number);
    auto pd = host.device().CreatePd();
    ASSERT_TRUE(pd.ok());
    side.pd = *pd;
    auto cq = host.device().CreateCq(64, std::nullopt);
    ASSERT_TRUE(cq.ok());
    side.cq = *cq;
    auto memory = host.function().AllocateDma((kVictimPages + 1) * kPage, kPage);
    ASSERT_TRUE(memory.ok());
    side.memory = std::move(memory).value();
    Fill(side.memory->data(), side.memory->size());
    side.before.assign(side.memory->data(), side.memory->data() + side.memory->size());
    const uint64_t first = side.memory->address() + kPage;
    const std::array<uint64_t, 3> pages = {first, first + kPage, first + 2 * kPage};
    auto region = side.pd->Register(first, kVictimBytes, kVictimAccess, 12, pages);
    ASSERT_TRUE(region.ok()) << host::ToString(region.error());
    side.region = *region;
  }
  void MakeVictim(size_t number) {
    Victim& victim = victims_.at(number);
    victim = {};
    victim.born = sent_;
    for (size_t i = 0; i < 2; ++i) {
      VictimSide& side = victim_sides_.at(i);
      auto qp = side.pd->CreateQp({.send_cq = side.cq, .recv_cq = side.cq, .max_send_wr = 8, .max_recv_wr = 8});
      ASSERT_TRUE(qp.ok()) << host::ToString(qp.error());
      victim.qp.at(i) = *qp;
    }
    const std::array<uint32_t, 2> psn = {static_cast<uint32_t>(Below(1U << spec::kPsnBits)),
                                         static_cast<uint32_t>((1U << spec::kPsnBits) - 1 - Below(8))};
    for (size_t i = 0; i < 2; ++i) {
      const verbs::Status connected =
          victim.qp.at(i)->Connect({.dest_qpn = victim.qp.at(1 - i)->qpn(),
                                    .local_psn = psn.at(i),
                                    .remote_psn = psn.at(1 - i),
                                    .path_mtu = OneIn(2) ? spec::IbMtu::kMtu256 : spec::IbMtu::kMtu1024,
                                    .path = system_->host(i).PathTo(system_->host(1 - i))});
      ASSERT_TRUE(connected.ok()) << host::ToString(connected.error());
    }
  }

  // Frames sent by the NICs, by receiver. Called while the simulation runs.
  void OnEvent(const BoundaryEvent& event) override {
    if (event.kind != EventKind::kTransmitEnd) return;
    const size_t target = 1U - event.nic;
    const auto roce = FindRoce(event.payload);
    if (!roce) return;
    const bool is_stream = stream_qps_.at(target).contains(roce->bth.dest_qp);
    auto& seen = seen_.at(target).at(is_stream ? 0 : 1);
    seen.emplace_back(event.payload.begin(), event.payload.end());
    if (seen.size() > 32) seen.pop_front();
  }

  // --- Traffic

  void PostStream(Stream& stream, size_t from) {
    auto& outstanding = stream.outstanding.at(from);
    if (outstanding.size() >= kOutstanding) return;
    auto& near = stream.pair->side.at(from);
    auto& far = stream.pair->side.at(1 - from);
    const uint64_t bytes = OneIn(3) ? 1 + Below(kLargestWrite) : 1 + Below(300);
    // Sources in the first half, targets in the second one.
    const uint64_t source = Below(kStreamBytes - bytes), target = kStreamBytes + Below(kStreamBytes - bytes);
    const spec::RdmaSge sge = near.region->Sge(source, static_cast<uint32_t>(bytes));
    const verbs::Status posted = near.qp->PostSend({.wr_id = ++next_wr_id_,
                                                    .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                    .sg_list = std::span(&sge, 1),
                                                    .remote_addr = far.region->address() + target,
                                                    .rkey = far.region->rkey()});
    ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
    outstanding.push_back(next_wr_id_);
    stream_bytes_ += bytes;
    std::memcpy(stream.expected.at(1 - from).data() + target, stream.expected.at(from).data() + source, bytes);
  }
  void PostVictim(Victim& victim, size_t from) {
    VictimSide& near = victim_sides_.at(from);
    const VictimSide& far = victim_sides_.at(1 - from);
    const auto bytes = static_cast<uint32_t>(Below(OneIn(4) ? 2000 : 200));
    const spec::RdmaSge sge = near.region->Sge(Below(kVictimBytes - bytes), bytes);
    // The queue may be full or in error.
    static_cast<void>(victim.qp.at(from)->PostSend({.wr_id = ++next_wr_id_,
                                                    .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                    .sg_list = std::span(&sge, 1),
                                                    .remote_addr = far.region->address() + Below(kVictimBytes - bytes),
                                                    .rkey = far.region->rkey()}));
  }
  void Poll() {
    std::array<spec::RdmaCqReq, 16> completions;
    for (Stream& stream : streams_) {
      for (size_t i = 0; i < 2; ++i) {
        const auto polled = stream.pair->side.at(i).cq->Poll(completions);
        ASSERT_TRUE(polled.ok()) << host::ToString(polled.error());
        for (size_t k = 0; k < *polled; ++k) {
          ASSERT_EQ(completions.at(k).status, spec::IbWcStatus::kSuccess)
              << spec::ToString(completions.at(k).status) << ", host " << i << ", QP " << completions.at(k).qp_num
              << "\n"
              << Recent();
          ASSERT_FALSE(stream.outstanding.at(i).empty());
          ASSERT_EQ(completions.at(k).wr_id, stream.outstanding.at(i).front());
          stream.outstanding.at(i).pop_front();
          ++stream_messages_;
        }
      }
    }
    for (size_t i = 0; i < 2; ++i) {
      for (;;) {  // with any status
        const auto polled = victim_sides_.at(i).cq->Poll(completions);
        ASSERT_TRUE(polled.ok());
        if (*polled < completions.size()) break;
      }
      for (;;) {
        auto event = system_->host(i).device().PollEvent();
        ASSERT_TRUE(event.ok());
        if (!event->has_value()) break;
        ++events_;
      }
    }
  }
  bool IsDrained() const {
    return std::ranges::all_of(
        streams_, [](const Stream& stream) { return stream.outstanding[0].empty() && stream.outstanding[1].empty(); });
  }
  void Drain() {
    const Picoseconds deadline = system_->scheduler().now() + kTimeout;
    while (!IsDrained()) {
      ASSERT_LT(system_->scheduler().now(), deadline) << "a write of a stream hangs\n" << Recent();
      system_->topology().RunFor(kMicrosecond);
      ASSERT_NO_FATAL_FAILURE(Poll());
    }
    // Acknowledged data is in memory a little later.
    system_->topology().RunFor(20 * kMicrosecond);
  }
  void Compare() {
    for (const Stream& stream : streams_) {
      for (size_t i = 0; i < 2; ++i) {
        const auto& memory = stream.pair->side.at(i).memory;
        ASSERT_EQ(std::memcmp(stream.expected.at(i).data(), memory->data(), memory->size()), 0)
            << "the stream's memory of host " << i << "\n"
            << Recent();
      }
    }
    for (size_t i = 0; i < 2; ++i) {
      const VictimSide& side = victim_sides_.at(i);
      for (size_t k = 0; k < side.before.size(); ++k) {
        if (k >= kPage && k < kPage + kVictimBytes) continue;
        ASSERT_EQ(side.memory->data()[k], side.before[k]) << "beside the region of host " << i << ", " << k << "\n"
                                                          << Recent();
      }
    }
  }

  // --- Attack frames

  struct Forged {
    Bytes bytes;
    bool bad_fcs = false;
    std::string what;
  };

  // Changes the field to another value.
  uint64_t Other(uint64_t value, unsigned bits) {
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    uint64_t other = value;
    switch (Below(5)) {
      case 0: other = value + 1; break;
      case 1: other = value - 1; break;
      case 2: other = value ^ uint64_t { 1 } << Below(bits); break;
      case 3: other = OneIn(2) ? 0 : ~uint64_t{0}; break;
      default: other = random_(); break;
    }
    return (other & mask) != value ? other & mask : value ^ 1;
  }

  // Modifies all fields of all headers evenly.
  std::string MutateField(Bytes& frame) {
    const std::vector<Place> headers = HeadersOf(frame);
    if (headers.empty()) return "";
    // The least modified field.
    const Place place = *std::ranges::min_element(
        headers, {}, [this](const Place& each) { return turns_[each.header] * 100 / FieldsOf(each.header); });
    const size_t wanted = turns_[place.header]++ % FieldsOf(place.header);
    std::string name;
    WithHeader(place.header, [&](auto kind) {
      using Fields = decltype(kind);
      auto fields = Fields::Decode(frame.data() + place.at);
      size_t i = 0;
      Fields::Visit(fields, [&](const char* field_name, auto& field, unsigned bits) {
        if (i++ != wanted) return;
        name = fmt::format("{}.{}", kHeaderNames.at(static_cast<size_t>(place.header)), field_name);
        field = static_cast<std::remove_cvref_t<decltype(field)>>(Other(static_cast<uint64_t>(field), bits));
      });
      fields.Encode(frame.data() + place.at);
    });
    ++hits_[name];
    return name;
  }

  // A frame with random contents that looks like a packet to a victim, with valid checksum, lengths and ICRC.
  Forged Invent(size_t target) {
    Forged forged;
    const auto& seen = seen_.at(target).at(1);
    const Bytes& like = seen[Below(seen.size())];
    const auto roce = FindRoce(like);
    spec::Bth bth = roce->bth;
    bth.opcode = static_cast<spec::BthOpcode>(Below(256));
    if (OneIn(2)) {
      // An RC opcode.
      constexpr auto kLastRc = static_cast<uint64_t>(spec::BthOpcode::kRcRdmaWriteOnlyWithImmediate);
      bth.opcode = static_cast<spec::BthOpcode>(Below(OneIn(2) ? kLastRc + 1 : 32));
    }
    const spec::OpcodeInfo& info = spec::kOpcodeInfo[static_cast<uint8_t>(bth.opcode)];
    bth.psn = static_cast<uint32_t>(bth.psn + Below(5)) % (1U << spec::kPsnBits);
    bth.pad_count = static_cast<uint8_t>(OneIn(4) ? Below(4) : 0);
    bth.ack_req = OneIn(2);
    bth.solicited_event = OneIn(4);
    bth.dest_qp = victims_.at(Below(kVictims)).qp.at(target)->qpn();
    forged.bytes.assign(like.begin(), like.begin() + static_cast<ptrdiff_t>(roce->bth_offset));
    forged.bytes.resize(roce->bth_offset + spec::Bth::kBytes + info.extension_bytes +
                        Below(OneIn(4) ? 4200 : 300) / (OneIn(4) ? 1 : 4) * (OneIn(4) ? 1 : 4) + spec::kIcrcBytes);
    Fill(forged.bytes.data() + roce->bth_offset, forged.bytes.size() - roce->bth_offset);
    bth.Encode(forged.bytes.data() + roce->bth_offset);
    if (info.has_reth && !OneIn(4)) {
      const VictimSide& side = victim_sides_.at(target);
      spec::Reth reth;
      reth.virtual_address = side.region->address() + Below(OneIn(3) ? 2 * kVictimBytes : kVictimBytes);
      reth.rkey = side.region->rkey() ^ (OneIn(8) ? 1U : 0U);
      reth.dma_length = static_cast<uint32_t>(OneIn(2) ? Below(3000)
                                                       : forged.bytes.size() - roce->bth_offset - spec::Bth::kBytes -
                                                             info.extension_bytes - spec::kIcrcBytes - bth.pad_count);
      reth.Encode(forged.bytes.data() + roce->bth_offset + info.reth_offset);
    }
    FixAll(forged.bytes);
    forged.what = fmt::format("invented, opcode {:#x}", static_cast<unsigned>(bth.opcode));
    return forged;
  }

  Forged Forge(size_t target) {
    if (seen_.at(target).at(0).empty() || seen_.at(target).at(1).empty()) return {};
    const auto& seen = seen_.at(target).at(Below(2));
    // Recent frames are closer to the expected PSNs.
    const size_t age = OneIn(2) ? Below(std::min<size_t>(seen.size(), 3)) : Below(seen.size());
    Forged forged{seen[seen.size() - 1 - age], false, ""};
    Bytes& frame = forged.bytes;
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: {
        forged.what = MutateField(frame);
        switch (Below(3)) {
          case 0: break;
          case 1: FixChecksum(frame); break;
          default:
            // A length stays wrong.
            FixChecksum(frame);
            FixIcrc(frame, spec::Ethernet::kBytes, frame.size() - spec::Ethernet::kBytes);
            forged.what += ", ICRC valid";
            break;
        }
        break;
      }
      case 5:
        frame.resize(1 + Below(frame.size()));
        forged.what = "cut";
        if (OneIn(2)) FixAll(frame), forged.what += ", lengths valid";
        break;
      case 6: {
        const bool is_huge = OneIn(4);
        frame.resize(frame.size() + 1 + Below(is_huge ? config_->max_frame_bytes + 100 : 300));
        forged.what = "lengthened";
        if (OneIn(2)) FixAll(frame), forged.what += ", lengths valid";
        break;
      }
      case 7:
        for (uint64_t flips = 1 + Below(8); flips != 0; --flips) {
          const uint64_t bit = Below(8 * frame.size());
          frame[bit / 8] = static_cast<uint8_t>(frame[bit / 8] ^ 1U << bit % 8);
        }
        forged.what = "flipped bits";
        forged.bad_fcs = OneIn(4);
        break;
      case 8: {
        // Wrong lengths, everything else valid.
        const bool is_udp = OneIn(2);
        uint8_t* field = frame.data() + spec::Ethernet::kBytes +
                         (is_udp ? spec::Ipv4::kBytes + spec::Udp::kLengthOffset : spec::Ipv4::kTotalLengthOffset);
        const uint64_t is = static_cast<uint64_t>(field[0] << 8 | field[1]);
        PutNetwork16(field, OneIn(2) ? is + Below(9) - 4 : Below(0x10000));
        FixChecksum(frame);
        const size_t whole = frame.size() - spec::Ethernet::kBytes;
        const size_t claimed = is_udp ? whole : std::min<size_t>(whole, static_cast<size_t>(field[0] << 8 | field[1]));
        FixIcrc(frame, spec::Ethernet::kBytes, claimed);
        forged.what = is_udp ? "UDP length" : "IP length";
        break;
      }
      case 9: {
        // Random bytes after a prefix of a real frame.
        const size_t kept = Below(std::min<size_t>(frame.size(), 80));
        frame.resize(std::max<size_t>(kept, 1 + Below(OneIn(8) ? config_->max_frame_bytes : 400)));
        Fill(frame.data() + kept, frame.size() - kept);
        forged.what = "noise";
        if (OneIn(3)) FixAll(frame), forged.what += ", ICRC valid";
        break;
      }
      case 10:
        if (OneIn(3)) {
          // One or two VLAN tags.
          for (uint64_t tags = 1 + Below(2); tags != 0; --tags) {
            const std::array<uint8_t, 4> tag = {0x81, 0x00, static_cast<uint8_t>(Below(256)), 1};
            frame.insert(frame.begin() + 12, tag.begin(), tag.end());
          }
          forged.what = "tagged";
        } else {
          forged.what = "again";
          forged.bad_fcs = OneIn(2);
        }
        break;
      default: forged = Invent(target); break;
    }
    return forged;
  }

  void Send(size_t target) {
    Forged forged = Forge(target);
    if (forged.bytes.empty()) return;
    const auto roce = FindRoce(forged.bytes);
    const bool is_real = MayBeAccepted(forged.bytes) && !forged.bad_fcs;
    if (is_real && stream_qps_.at(target).contains(roce->bth.dest_qp)) return;
    ++sent_;
    real_ += is_real;
    bytes_ += forged.bytes.size();
    ++kinds_[forged.what.substr(0, forged.what.find(','))];
    recent_.push_back(fmt::format("{} ns, to NIC {}: {}, {} bytes{}{}",
                                  system_->scheduler().now() / kPicosecondsPerNanosecond, target, forged.what,
                                  forged.bytes.size(), forged.bad_fcs ? ", bad FCS" : "",
                                  is_real ? ", for QP " + std::to_string(roce->bth.dest_qp) : ""));
    if (recent_.size() > 12) recent_.pop_front();
    const uint64_t wire_bytes = forged.bytes.size() + kPreambleBytes + kFcsBytes + kInterframeGapBytes;
    system_->topology().station(target).mac().OnFrame({std::move(forged.bytes), forged.bad_fcs, ""});
    // Less than a fifth of the line rate, so that the streams' frames fit into the receive buffer.
    system_->topology().RunFor(wire_bytes * 8 * 1'000'000 / config_->link_mbps * (5 + Below(10)));
  }

  void Attack() {
    uint64_t idle = 0;
    for (uint64_t round = 0; sent_ < frames_; ++round) {
      const uint64_t before = sent_;
      for (size_t i = 0; i < kStreams; ++i) {
        if (OneIn(4)) {
          ASSERT_NO_FATAL_FAILURE(PostStream(streams_.at(i), Below(2)));
        }
      }
      if (OneIn(3)) PostVictim(victims_.at(Below(kVictims)), Below(2));
      for (uint64_t burst = OneIn(4) ? 1 + Below(4) : 1; burst != 0; --burst) Send(Below(2));
      if (OneIn(4)) system_->topology().RunFor(Below(2 * kMicrosecond));
      ASSERT_FALSE(system_->is_mismatched()) << Recent();
      ASSERT_NO_FATAL_FAILURE(Poll());
      const size_t oldest = round % kVictims;
      if (sent_ - victims_.at(oldest).born > kVictimLifetime) {
        ASSERT_NO_FATAL_FAILURE(MakeVictim(oldest));
      }
      // Until there is a frame to copy, and if everything is refused.
      idle = sent_ == before ? idle + 1 : 0;
      ASSERT_LT(idle, 10'000U) << "no frames";
      if (round % 4096 == 4095) {
        ASSERT_NO_FATAL_FAILURE(Drain());
        ASSERT_NO_FATAL_FAILURE(Compare());
        ASSERT_EQ(system_->Violations(), "") << Recent();
      }
    }
    ASSERT_NO_FATAL_FAILURE(Drain());
    Compare();
  }

  const spec::Config* config_ = nullptr;
  uint64_t frames_ = kDefaultFrames;
  std::mt19937_64 random_;
  std::unique_ptr<RdmaSystem> system_;
  std::array<Stream, kStreams> streams_;
  std::array<VictimSide, 2> victim_sides_;
  std::array<Victim, kVictims> victims_;
  std::array<std::set<uint32_t>, 2> stream_qps_;          // by host
  std::array<std::array<std::deque<Bytes>, 2>, 2> seen_;  // by receiver; the streams', the victims'
  std::map<Header, uint64_t> turns_;
  std::map<std::string, uint64_t> hits_, kinds_;
  std::deque<std::string> recent_;
  uint64_t next_wr_id_ = 0, sent_ = 0, real_ = 0, bytes_ = 0, events_ = 0, stream_messages_ = 0, stream_bytes_ = 0;
};

TEST_P(Frames, MalformedFramesHaveNoEffect) {
  const std::clock_t begin = std::clock();
  ASSERT_NO_FATAL_FAILURE(Attack());
  EXPECT_GT(stream_messages_, frames_ / 10);
  // All headers of an RC WRITE; enough frames modify every field.
  if (frames_ >= kDefaultFrames) {
    std::set<std::string> wanted;
    for (const Header header :
         {Header::kEthernet, Header::kIpv4, Header::kUdp, Header::kBth, Header::kReth, Header::kAeth}) {
      WithHeader(header, [&](auto fields) {
        decltype(fields)::Visit(fields, [&](const char* name, auto&, unsigned) {
          wanted.insert(fmt::format("{}.{}", kHeaderNames.at(static_cast<size_t>(header)), name));
        });
      });
    }
    for (const std::string& name : wanted) EXPECT_TRUE(hits_.contains(name)) << name << " was never changed";
  }
  if (std::getenv("VIREO_FRAMES") == nullptr) return;
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  fmt::print(
      "{} frames of {} bytes in {:.1f} s of CPU: {} valid for the parser, {} fields modified; {} writes of "
      "{} "
      "bytes intact, {} events of victims; {} us\n",
      sent_, bytes_, seconds, real_, hits_.size(), stream_messages_, stream_bytes_, events_,
      system_->scheduler().now() / kMicrosecond);
}

VIREO_ON_EVERY_DEVICE_ONCE(Frames);

}  // namespace
}  // namespace vireo::sim
