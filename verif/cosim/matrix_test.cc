// SPDX-License-Identifier: Apache-2.0
// The matrix of supported traffic: transport × operation × size × path MTU × number of SGEs × addressing. For each
// message every byte of both memories, both completions and every frame on the wire are checked: the packets for its
// length [IBTA vol. 1, 9.4], with the addresses, the IP version and the VLAN tag of its path.
//
// Messages are sent in batches of random order, so that each also follows others. Where cycles are cheap the whole
// matrix runs, elsewhere a random sample, which always has the empty and the longest message of every operation, the
// smallest and the largest MTU, and the minimum and maximum number of SGEs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/traffic/frame_log.h"
#include "verif/cosim/system_test.h"

namespace vireo::sim {
namespace {

using spec::BthOperation;
using spec::IbMtu;
using spec::IbQpType;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::PacketPosition;

constexpr std::array<IbMtu, 5> kMtus = {IbMtu::kMtu256, IbMtu::kMtu512, IbMtu::kMtu1024, IbMtu::kMtu2048,
                                        IbMtu::kMtu4096};
constexpr uint32_t BytesOf(IbMtu mtu) { return uint32_t{128} << static_cast<uint8_t>(mtu); }
constexpr uint32_t kLinkMtu = 4096;  // link MTU of every configuration: the longest datagram
constexpr uint32_t kAtomicBytes = 8;
constexpr uint32_t kLong = 65'536, kVeryLong = 1'048'576;
constexpr uint32_t kGrh = spec::kRdmaUdGrhBytes;
constexpr uint64_t kTimeoutNs = 100'000'000;

// Per batch.
constexpr size_t kMessages = 16;
constexpr uint64_t kBytes = 131'072;
// Maximum overhead of a message in memory: gaps between its elements and to the next message, the header of a datagram,
// unused room of a receive.
constexpr uint64_t kElementGap = 70, kMessageGap = 100, kSpare = 50;  // the last one also aligns an atomic operation

// The path of both directions: GIDs, and the resulting headers.
struct Addressing {
  std::string_view name;
  uint8_t gid;
  bool is_ipv6;
  bool is_tagged;
};
constexpr Addressing kIpv4 = {"ipv4", RdmaHost::kIpv4Gid, false, false};
constexpr Addressing kIpv6 = {"ipv6", RdmaHost::kIpv6Gid, true, false};
constexpr Addressing kTaggedIpv4 = {"tagged_ipv4", RdmaHost::kIpv6Gid + 1, false, true};  // beside GID 0
constexpr Addressing kTaggedIpv6 = {"tagged_ipv6", RdmaHost::kIpv6Gid, true, true};
// The VLAN tag of each host's frames: one VLAN, otherwise different.
constexpr std::array<uint16_t, 2> kTags = {0xb123, 0x4123};

struct Message {
  IbWrOpcode opcode;
  uint32_t bytes;
  IbMtu mtu;
  size_t elements;

  bool is_read() const { return opcode == IbWrOpcode::kRdmaRead; }
  bool is_atomic() const { return opcode == IbWrOpcode::kAtomicCmpAndSwp || opcode == IbWrOpcode::kAtomicFetchAndAdd; }
  bool is_store() const { return opcode == IbWrOpcode::kAtomicWrite; }
  bool is_flush() const { return opcode == IbWrOpcode::kFlush; }  // `bytes` of the peer's memory
  bool is_aligned() const { return is_atomic() || is_store(); }
  bool has_response() const { return is_read() || is_atomic(); }  // with data for the sender
  bool is_send() const { return opcode == IbWrOpcode::kSend || opcode == IbWrOpcode::kSendWithImm; }
  bool has_immediate() const { return opcode == IbWrOpcode::kSendWithImm || opcode == IbWrOpcode::kRdmaWriteWithImm; }
  bool takes_receive() const { return is_send() || has_immediate(); }
  // More packets than a receive buffer holds, arriving faster than a receiver of one packet per up to 12 cycles accepts
  // them: some are lost.
  bool overruns() const { return bytes > kLong && BytesOf(mtu) < 1024 && !is_flush(); }
  std::string Name() const {
    return fmt::format("{} of {} bytes, MTU {}, {} elements", spec::ToString(opcode), bytes, BytesOf(mtu), elements);
  }
};

// The checked properties of a RoCE packet.
struct Packet {
  BthOperation operation;
  PacketPosition position;
  bool has_immediate;
  uint32_t payload;

  bool operator==(const Packet&) const = default;
  std::string Text() const {
    return fmt::format("{} {}{} of {} bytes", spec::ToString(operation), spec::ToString(position),
                       has_immediate ? " with immediate data" : "", payload);
  }
};
Packet PacketOf(const FrameLog::Entry& entry) {
  const auto udp = spec::Udp::Decode(entry.frame.data() + entry.headers.bth_offset - spec::Udp::kBytes);
  const size_t around = spec::Udp::kBytes + spec::Bth::kBytes + entry.info().extension_bytes +
                        entry.headers.bth.pad_count + spec::kIcrcBytes;
  return {.operation = entry.info().operation,
          .position = entry.info().position,
          .has_immediate = entry.info().has_immdt,
          .payload = static_cast<uint32_t>(udp.length - around)};
}
// The packets of that many bytes: all but the last one are full, and an empty message has one, too.
// [IBTA vol. 1, 9.4.1, 9.4.3, 9.4.4]
void AddPackets(BthOperation operation, const Message& message, std::vector<Packet>& packets) {
  const uint32_t mtu = BytesOf(message.mtu);
  for (uint32_t at = 0; at == 0 || at < message.bytes; at += mtu) {
    const bool is_first = at == 0, is_last = message.bytes - at <= mtu;
    packets.push_back({.operation = operation,
                       .position = is_first && is_last ? PacketPosition::kOnly
                                   : is_first          ? PacketPosition::kFirst
                                   : is_last           ? PacketPosition::kLast
                                                       : PacketPosition::kMiddle,
                       .has_immediate = is_last && message.has_immediate(),
                       .payload = std::min(mtu, message.bytes - at)});
  }
}

class Matrix : public SystemTest {
 protected:
  explicit Matrix(IbQpType type) : type_(type) {}
  void SetUp() override {
    Build();
    if (!HasFatalFailure()) log_.Watch(system_->host(1).station());
  }
  void TearDown() override {
    connected_.reset();
    datagrams_.reset();
    SystemTest::TearDown();
  }
  void Run(const Addressing& addressing) {
    if (addressing.is_tagged && !has_additions()) GTEST_SKIP() << "GIDs have no VLAN in this profile";
    addressing_ = addressing;
    const std::string name = fmt::format("matrix.{}.{}.{}.{}", spec::ToString(type_), addressing.name, config().name,
                                         std::get<2>(GetParam()));
    random_ = MakeRandom(name);
    for (size_t i = 0; i < 2 && addressing.gid != RdmaHost::kIpv4Gid; ++i) {
      uint8_t gid[16];
      std::ranges::copy(system_->host(i).gid(addressing.gid), gid);
      const auto tag = addressing.is_tagged ? std::optional(kTags.at(i)) : std::nullopt;
      const verbs::Status added = system_->host(i).device().AddGid(addressing.gid, gid, tag);
      ASSERT_TRUE(added.ok()) << host::ToString(added.error());
    }
    if (is_datagram()) {
      ASSERT_NO_FATAL_FAILURE(RunAll(IbMtu::kMtu4096, kMtus));
    } else {
      const IbMtu between = kMtus.at(1 + UniformBelow(random_, kMtus.size() - 2));
      for (const IbMtu mtu : kMtus) {
        if (!has_cheap_cycles() && mtu != kMtus.front() && mtu != between && mtu != kMtus.back()) continue;
        ASSERT_NO_FATAL_FAILURE(RunAll(mtu, std::span(&mtu, 1)));
      }
    }
  }

 private:
  // One end of a pair, connected or datagram.
  struct Side {
    verbs::QueuePair* qp = nullptr;
    verbs::CompletionQueue* cq = nullptr;
    const host::DmaMemory* memory = nullptr;
    const verbs::MemoryRegion* region = nullptr;
  };
  // A message with its place on both sides.
  struct Posted {
    Message message;
    Elements near, far;
    Bytes data;
    std::array<uint8_t, 4> immediate;
    uint64_t compare_add, swap;                          // of an atomic operation
    bool is_whole;                                       // a FLUSH of the region
    std::array<std::pair<uint64_t, uint64_t>, 2> place;  // from, to: in the memory of each side
  };

  bool is_datagram() const { return type_ == IbQpType::kUd; }
  bool has_atomics() const { return type_ == IbQpType::kRc && system_->host(0).device().has_atomics(); }
  Side& near() { return sides_[0]; }
  Side& far() { return sides_[1]; }
  std::vector<IbWrOpcode> Opcodes() const {
    if (is_datagram()) return {IbWrOpcode::kSend, IbWrOpcode::kSendWithImm};
    std::vector<IbWrOpcode> opcodes = {IbWrOpcode::kSend, IbWrOpcode::kSendWithImm, IbWrOpcode::kRdmaWrite,
                                       IbWrOpcode::kRdmaWriteWithImm};
    if (type_ == IbQpType::kRc) opcodes.push_back(IbWrOpcode::kRdmaRead);
    if (has_atomics()) {
      opcodes.insert(opcodes.end(), {IbWrOpcode::kAtomicCmpAndSwp, IbWrOpcode::kAtomicFetchAndAdd});
    }
    if (type_ == IbQpType::kRc && system_->host(0).device().has_atomic_write()) {
      opcodes.push_back(IbWrOpcode::kAtomicWrite);
    }
    if (type_ == IbQpType::kRc && system_->host(0).device().has_flush(spec::FlushPlacement::kGlobalVisibility)) {
      opcodes.push_back(IbWrOpcode::kFlush);
    }
    return opcodes;
  }

  // The messages of every size around these MTUs, in random order.
  std::vector<Message> Choose(IbMtu mtu, std::span<const IbMtu> around) {
    std::vector<uint32_t> sizes = {0, 1, 3, 4};
    for (const IbMtu one : around) {
      for (const uint32_t bytes : {BytesOf(one) - 1, BytesOf(one), BytesOf(one) + 1}) {
        if (!is_datagram() || bytes <= kLinkMtu) sizes.push_back(bytes);
      }
    }
    if (!is_datagram()) sizes.push_back(kLong);
    if (!is_datagram() && has_cheap_cycles() && has_fast_wire()) sizes.push_back(kVeryLong);
    if (has_atomics()) sizes.push_back(kAtomicBytes);
    std::vector<Message> messages;
    for (const IbWrOpcode opcode : Opcodes()) {
      for (const uint32_t bytes : sizes) {
        for (const size_t elements : {size_t{1}, size_t{3}, size_t{config().max_send_sge}}) {
          const Message message = {.opcode = opcode, .bytes = bytes, .mtu = mtu, .elements = elements};
          if (message.is_flush() && elements != 1) continue;  // it has none
          if (message.is_aligned() == (bytes == kAtomicBytes) && IsTaken(message)) messages.push_back(message);
        }
      }
    }
    for (size_t i = messages.size(); i > 1; --i) std::swap(messages[i - 1], messages[UniformBelow(random_, i)]);
    return messages;
  }
  bool IsTaken(const Message& message) {
    const bool is_few = message.elements == 1, is_most = message.elements == config().max_send_sge;
    if (message.overruns() && (type_ != IbQpType::kRc || !is_most)) return false;
    if (has_cheap_cycles()) return true;
    const bool is_small = message.mtu == kMtus.front(), is_large = message.mtu == kMtus.back();
    if (message.bytes == kLong) return (is_small && is_most) || (is_large && is_few && has_fast_wire());
    const bool is_extreme = message.bytes == 0 || message.is_aligned() || (is_datagram() && message.bytes == kLinkMtu);
    if (is_extreme && (is_small || is_large) && (is_few || is_most)) return true;
    return UniformBelow(random_, kOneIn) == 0;
  }

  void RunAll(IbMtu mtu, std::span<const IbMtu> around) {
    const std::vector<Message> messages = Choose(mtu, around);
    uint64_t longest = 0;
    for (const Message& message : messages) longest = std::max<uint64_t>(longest, message.bytes);
    const uint64_t beside = kMessages * (config().max_send_sge * kElementGap + kMessageGap + kSpare + kGrh);
    ASSERT_NO_FATAL_FAILURE(Connect(mtu, longest + kBytes + beside));
    for (size_t first = 0, next = 0; first < messages.size(); first = next) {
      for (uint64_t bytes = 0; next < messages.size() && next - first < kMessages; ++next) {
        bytes += messages[next].bytes;
        if (next != first && bytes > kBytes) break;
      }
      RunBatch(std::span(messages).subspan(first, next - first));
      ASSERT_FALSE(HasFailure()) << spec::ToString(type_) << " over " << addressing_.name << ", messages "
                                 << Names(std::span(messages).subspan(first, next - first));
    }
  }
  static std::string Names(std::span<const Message> batch) {
    std::string names;
    for (const Message& message : batch) names += "\n  " + message.Name();
    return names;
  }

  void Connect(IbMtu mtu, uint64_t memory_bytes) {
    connected_.reset();
    datagrams_.reset();
    std::string error;
    const auto set = [&](auto& options) {
      options.memory_bytes = memory_bytes;
      options.gid_index = addressing_.gid;
      options.qp.type = type_;
      options.qp.max_send_sge = config().max_send_sge;
      options.qp.max_recv_sge = config().max_recv_sge;
    };
    const auto take = [this](auto& pair) {
      for (size_t i = 0; i < 2; ++i) {
        auto& one = pair.side.at(i);
        Fill(*one.memory, random_);
        sides_.at(i) = {one.qp.get(), one.cq.get(), one.memory.get(), one.region.get()};
        expected_.at(i) = Copy(*one.memory);
      }
    };
    if (is_datagram()) {
      DatagramPairOptions options;
      set(options);
      datagrams_ = MakeDatagramPair(system_->host(0), system_->host(1), options, &error);
      ASSERT_NE(datagrams_, nullptr) << error;
      take(*datagrams_);
      return;
    }
    ConnectedPairOptions options;
    set(options);
    options.path_mtu = mtu;
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic =
        static_cast<uint8_t>(config().max_rd_atomic);
    options.connection.access = system_->host(0).device().all_access();
    connected_ = MakeConnectedPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(connected_, nullptr) << error;
    take(*connected_);
  }

  // From host 0; READs and atomic operations are also requested from there.
  void RunBatch(std::span<const Message> batch) {
    log_.Clear();
    const std::vector<Posted> all = Place(batch);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].message.takes_receive()) continue;
      const verbs::Status posted = far().qp->PostRecv(
          {.wr_id = kFirstReceive + i, .sg_list = all[i].message.is_send() ? all[i].far : Elements{}});
      ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const verbs::Status posted = near().qp->PostSend(Request(i, all[i]));
      ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
    }
    for (size_t i = 0; i < all.size(); ++i) ASSERT_NO_FATAL_FAILURE(ExpectSent(i, all[i].message));
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].message.takes_receive()) continue;
      ASSERT_NO_FATAL_FAILURE(ExpectReceived(kFirstReceive + i, all[i]));
    }
    Settle();
    for (const Side& side : sides_) {
      std::array<spec::RdmaCqReq, 1> more;
      const auto polled = side.cq->Poll(more);
      ASSERT_TRUE(polled.ok());
      EXPECT_EQ(*polled, 0U) << "an extra completion";
    }
    for (const FrameLog::Entry& entry : log_.entries()) ASSERT_EQ(WrongAddress(entry), "");
    // After a loss packets are retransmitted: then only the arrived data is known.
    if (std::ranges::none_of(batch, &Message::overruns)) {
      ASSERT_NO_FATAL_FAILURE(ExpectPackets(batch));
    }
    ExpectMemory(all);
  }

  std::vector<Posted> Place(std::span<const Message> batch) {
    std::vector<Posted> all;
    std::array<uint64_t, 2> at{};
    for (const Message& message : batch) {
      Posted& posted = all.emplace_back();
      posted.message = message;
      for (uint8_t& byte : posted.immediate) byte = static_cast<uint8_t>(UniformBelow(random_, 256));
      for (uint64_t& from : at) from += UniformBelow(random_, kMessageGap);
      const std::array<uint64_t, 2> from = at;
      posted.near = Cut(near(), from[0], message.bytes, message.elements, random_);
      at[0] += message.bytes + message.elements * kElementGap;
      if (message.is_send()) {
        const auto room =
            static_cast<uint32_t>(message.bytes + (is_datagram() ? kGrh : 0) + UniformBelow(random_, kSpare));
        posted.far = Cut(far(), from[1], room, std::min<size_t>(message.elements, config().max_recv_sge), random_);
        at[1] += room + message.elements * kElementGap;
      } else {
        if (message.is_aligned()) at[1] = (at[1] + kAtomicBytes - 1) / kAtomicBytes * kAtomicBytes;
        posted.far = {far().region->Sge(at[1], message.bytes)};
        at[1] += message.bytes;
      }
      // The value of an ATOMIC WRITE is in its work request; what is written is compared with it. A FLUSH has no data.
      if (message.is_store() || message.is_flush()) posted.near.clear();
      posted.is_whole = UniformBelow(random_, 2) == 0;
      posted.data = message.has_response() ? Gather(far(), posted.far) : Gather(near(), posted.near);
      posted.swap = random_();
      // Half of the comparisons fail, in a single bit.
      posted.compare_add = message.opcode != IbWrOpcode::kAtomicCmpAndSwp ? random_() : ValueOf(posted.data);
      if (message.is_atomic() && UniformBelow(random_, 2) == 0)
        posted.compare_add ^= uint64_t{1} << UniformBelow(random_, 64);
      if (message.is_store()) posted.data = BytesOfValue(posted.compare_add);
      for (size_t i = 0; i < 2; ++i) posted.place.at(i) = {from.at(i), at.at(i)};
    }
    return all;
  }
  // The number in an operand of an atomic operation: in host order.
  static uint64_t ValueOf(const Bytes& data) {
    uint64_t value = 0;
    if (data.size() == sizeof value) std::memcpy(&value, data.data(), sizeof value);
    return value;
  }
  // The operand after the operation. [IBTA vol. 1, 9.4.5]
  static Bytes After(const Posted& posted) {
    const uint64_t before = ValueOf(posted.data);
    uint64_t after = before + posted.compare_add;
    if (posted.message.opcode == IbWrOpcode::kAtomicCmpAndSwp) {
      after = before == posted.compare_add ? posted.swap : before;
    }
    return BytesOfValue(after);
  }
  static Bytes BytesOfValue(uint64_t value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }
  verbs::SendRequest Request(uint64_t wr_id, const Posted& posted) {
    verbs::SendRequest request = {.wr_id = wr_id, .opcode = posted.message.opcode, .sg_list = posted.near};
    request.compare_add = posted.compare_add;
    request.swap = posted.swap;
    if (posted.message.is_flush()) {
      request.flush_length = posted.message.bytes;
      request.flush_placement = spec::FlushPlacement::kGlobalVisibility;
      request.flush_selectivity =
          posted.is_whole ? spec::FlushSelectivity::kMemoryRegion : spec::FlushSelectivity::kRange;
    }
    std::ranges::copy(posted.immediate, request.imm_data);
    if (is_datagram()) return datagrams_->To(0, request);
    if (posted.message.is_send()) return request;
    request.remote_addr = posted.far.front().addr;
    request.rkey = far().region->rkey();
    return request;
  }

  static IbWcOpcode CompletionOf(const Message& message) {
    switch (message.opcode) {
      case IbWrOpcode::kRdmaRead: return IbWcOpcode::kRdmaRead;
      case IbWrOpcode::kAtomicCmpAndSwp: return IbWcOpcode::kCompSwap;
      case IbWrOpcode::kAtomicFetchAndAdd: return IbWcOpcode::kFetchAdd;
      case IbWrOpcode::kAtomicWrite: return IbWcOpcode::kAtomicWrite;
      case IbWrOpcode::kFlush: return IbWcOpcode::kFlush;
      default: return message.is_send() ? IbWcOpcode::kSend : IbWcOpcode::kRdmaWrite;
    }
  }
  void ExpectSent(uint64_t wr_id, const Message& message) {
    const auto completion = NextOf(*near().cq, 0, kTimeoutNs);
    ASSERT_TRUE(completion.has_value()) << message.Name();
    ASSERT_EQ(completion->wr_id, wr_id) << message.Name();
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess)
        << spec::ToString(completion->status) << ", " << completion->vendor_err << ": " << message.Name();
    EXPECT_EQ(completion->opcode, CompletionOf(message)) << message.Name();
    EXPECT_EQ(completion->byte_len, message.has_response() ? message.bytes : 0) << message.Name();
    EXPECT_EQ(completion->qp_num, near().qp->qpn()) << message.Name();
    EXPECT_EQ(completion->wc_flags, 0U) << message.Name();
  }
  void ExpectReceived(uint64_t wr_id, const Posted& posted) {
    const Message& message = posted.message;
    const auto completion = NextOf(*far().cq, 1, kTimeoutNs);
    ASSERT_TRUE(completion.has_value()) << message.Name();
    ASSERT_EQ(completion->wr_id, wr_id) << message.Name();
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess)
        << spec::ToString(completion->status) << ", " << completion->vendor_err << ": " << message.Name();
    EXPECT_EQ(completion->opcode, message.is_send() ? IbWcOpcode::kRecv : IbWcOpcode::kRecvRdmaWithImm)
        << message.Name();
    EXPECT_EQ(completion->byte_len, message.bytes + (is_datagram() ? kGrh : 0)) << message.Name();
    EXPECT_EQ(completion->qp_num, far().qp->qpn()) << message.Name();
    EXPECT_EQ(completion->wc_flags,
              (is_datagram() ? spec::IbWcFlags::kGrh : 0) | (message.has_immediate() ? spec::IbWcFlags::kWithImm : 0))
        << message.Name();
    if (is_datagram()) {
      EXPECT_EQ(completion->src_qp, near().qp->qpn()) << message.Name();
    }
    if (message.has_immediate()) {
      EXPECT_TRUE(std::ranges::equal(posted.immediate, completion->imm_data)) << message.Name();
    }
  }

  // Compares the frame's addressing with the path. Returns a mismatch, empty if none.
  std::string WrongAddress(const FrameLog::Entry& entry) {
    const size_t sender = entry.is_sent ? 1 : 0;
    const RdmaHost &from = system_->host(sender), &to = system_->host(1 - sender);
    const uint8_t* at = entry.frame.data();
    const std::string who = fmt::format("{} of host {}: ", spec::ToString(entry.opcode()), sender);

    const auto ethernet = spec::Ethernet::Decode(at);
    if (!std::ranges::equal(ethernet.source, from.mac()) || !std::ranges::equal(ethernet.destination, to.mac())) {
      return who + "MAC address";
    }
    at += spec::Ethernet::kBytes;
    auto ethertype = ethernet.ethertype;
    if ((ethertype == spec::Ethertype::kVlan) != addressing_.is_tagged) return who + "VLAN tag or none";
    if (addressing_.is_tagged) {
      if ((at[0] << 8 | at[1]) != kTags.at(sender)) return who + fmt::format("tag {:#x}", at[0] << 8 | at[1]);
      ethertype = spec::VlanTag::Decode(at).ethertype;
      at += spec::VlanTag::kBytes;
    }
    if (ethertype != (addressing_.is_ipv6 ? spec::Ethertype::kIpv6 : spec::Ethertype::kIpv4)) return who + "ethertype";

    const auto source = from.gid(addressing_.gid), destination = to.gid(addressing_.gid);
    size_t bytes = static_cast<size_t>(at - entry.frame.data());
    if (addressing_.is_ipv6) {
      const auto ip = spec::Ipv6::Decode(at);
      if (ip.version != 6) return who + "IP version";
      if (!std::ranges::equal(ip.source, source) || !std::ranges::equal(ip.destination, destination)) {
        return who + "IPv6 address";
      }
      bytes += spec::Ipv6::kBytes + ip.payload_length;
    } else {
      const auto ip = spec::Ipv4::Decode(at);
      if (ip.version != 4) return who + "IP version";
      const auto is_mapped = [](const std::array<uint8_t, 16>& gid, const uint8_t* address) {
        return std::equal(gid.end() - 4, gid.end(), address);  // the end of ::ffff:a.b.c.d
      };
      if (!is_mapped(source, at + spec::Ipv4::kSourceOffset) ||
          !is_mapped(destination, at + spec::Ipv4::kDestinationOffset)) {
        return who + "IPv4 address";
      }
      bytes += ip.total_length;
    }
    const size_t length = std::max<size_t>(bytes, spec::kEthernetFrameBytesMin);
    if (entry.frame.size() != length) return who + fmt::format("{} bytes, expected {}", entry.frame.size(), length);
    if (entry.headers.bth.dest_qp != sides_.at(1 - sender).qp->qpn()) return who + "destination QP";
    return "";
  }

  // Host 1 received the packets of these messages, once and in order; it answered READs and atomic operations with
  // their data, other RC requests with acknowledges, and UC and UD with nothing.
  void ExpectPackets(std::span<const Message> batch) {
    std::vector<Packet> requests, responses;
    for (const Message& message : batch) {
      if (message.is_read()) {
        requests.push_back({BthOperation::kRdmaReadRequest, PacketPosition::kOnly, false, 0});
        AddPackets(BthOperation::kRdmaReadResponse, message, responses);
      } else if (message.is_atomic()) {
        requests.push_back(
            {message.opcode == IbWrOpcode::kAtomicCmpAndSwp ? BthOperation::kCompareSwap : BthOperation::kFetchAdd,
             PacketPosition::kOnly, false, 0});
        responses.push_back({BthOperation::kAtomicAcknowledge, PacketPosition::kOnly, false, 0});
      } else if (message.is_store()) {
        requests.push_back({BthOperation::kAtomicWrite, PacketPosition::kOnly, false, kAtomicBytes});
        responses.push_back({BthOperation::kRdmaReadResponse, PacketPosition::kOnly, false, 0});
      } else if (message.is_flush()) {
        requests.push_back({BthOperation::kFlush, PacketPosition::kOnly, false, 0});
        responses.push_back({BthOperation::kRdmaReadResponse, PacketPosition::kOnly, false, 0});
      } else {
        AddPackets(message.is_send() ? BthOperation::kSend : BthOperation::kRdmaWrite, message, requests);
      }
    }
    const std::string service = std::string(spec::ToString(type_)) + "_";
    size_t request = 0, response = 0;
    for (const FrameLog::Entry& entry : log_.entries()) {
      const char* name = spec::ToString(entry.opcode());
      ASSERT_NE(name, nullptr);
      ASSERT_TRUE(std::string_view(name).starts_with(service)) << name;
      if (entry.is_sent && entry.info().operation == BthOperation::kAcknowledge) {
        ASSERT_EQ(type_, IbQpType::kRc) << name;
        ASSERT_EQ(entry.syndrome(), spec::AethSyndrome::kAckNoCredits);
        continue;
      }
      const std::vector<Packet>& expected = entry.is_sent ? responses : requests;
      size_t& at = entry.is_sent ? response : request;
      const Packet packet = PacketOf(entry);
      ASSERT_LT(at, expected.size()) << packet.Text() << " is extra";
      ASSERT_TRUE(packet == expected[at])
          << packet.Text() << " instead of " << expected[at].Text() << ", number " << at;
      ++at;
    }
    EXPECT_EQ(request, requests.size());
    EXPECT_EQ(response, responses.size());
  }

  // Every byte of both memories. A datagram comes with its network header; for IPv4 after 20 zeros. [IBTA Annex
  // A17, 4.5.4]
  void ExpectMemory(const std::vector<Posted>& all) {
    size_t number = 0;
    for (const Posted& posted : all) {
      if (posted.message.has_response()) Scatter(near(), posted.near, posted.data, expected_[0]);
      if (posted.message.is_atomic()) Scatter(far(), posted.far, After(posted), expected_[1]);
      if (posted.message.has_response() || posted.message.is_flush()) continue;
      Bytes arrives;
      if (is_datagram()) {
        ASSERT_LT(number, log_.entries().size());
        const FrameLog::Entry& entry = log_.entries()[number++];
        const uint8_t* ip = entry.frame.data() + entry.headers.ip_offset;
        const size_t bytes = addressing_.is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes;
        arrives.resize(kGrh - bytes);
        arrives.insert(arrives.end(), ip, ip + bytes);
      }
      arrives.insert(arrives.end(), posted.data.begin(), posted.data.end());
      Scatter(far(), posted.far, arrives, expected_[1]);
    }
    for (size_t i = 0; i < 2; ++i) {
      const Bytes& expected = expected_.at(i);
      const uint8_t* memory = sides_.at(i).memory->data();
      const auto [is, got] = std::mismatch(expected.begin(), expected.end(), memory);
      if (is == expected.end()) continue;
      const auto at = static_cast<uint64_t>(is - expected.begin());
      std::string whose = "of no message";
      for (const Posted& posted : all) {
        const auto& [from, to] = posted.place.at(i);
        if (at >= from && at < to) whose = fmt::format("{} in the place of {}", at - from, posted.message.Name());
      }
      ADD_FAILURE() << "host " << i << ": byte " << at << " is " << int{*got} << ", expected " << int{*is} << ": "
                    << whose;
    }
  }

  static constexpr uint64_t kFirstReceive = 1000;
  static constexpr uint64_t kOneIn = 10;  // in a sample

  const IbQpType type_;
  Addressing addressing_ = kIpv4;
  std::mt19937_64 random_;
  std::unique_ptr<ConnectedPair> connected_;  // this, or the next one
  std::unique_ptr<DatagramPair> datagrams_;
  std::array<Side, 2> sides_;
  std::array<Bytes, 2> expected_;  // all of their memory
  FrameLog log_;                   // of host 1
};

class RcMatrix : public Matrix {
 protected:
  RcMatrix() : Matrix(IbQpType::kRc) {}
};
class UcMatrix : public Matrix {
 protected:
  UcMatrix() : Matrix(IbQpType::kUc) {}
};
class UdMatrix : public Matrix {
 protected:
  UdMatrix() : Matrix(IbQpType::kUd) {}
};

TEST_P(RcMatrix, OverIpv4) { Run(kIpv4); }
TEST_P(RcMatrix, OverIpv6) { Run(kIpv6); }
TEST_P(RcMatrix, OverIpv4InVlan) { Run(kTaggedIpv4); }
TEST_P(RcMatrix, OverIpv6InVlan) { Run(kTaggedIpv6); }

TEST_P(UcMatrix, OverIpv4) { Run(kIpv4); }
TEST_P(UcMatrix, OverIpv6) { Run(kIpv6); }
TEST_P(UcMatrix, OverIpv4InVlan) { Run(kTaggedIpv4); }
TEST_P(UcMatrix, OverIpv6InVlan) { Run(kTaggedIpv6); }

TEST_P(UdMatrix, OverIpv4) { Run(kIpv4); }
TEST_P(UdMatrix, OverIpv6) { Run(kIpv6); }
TEST_P(UdMatrix, OverIpv4InVlan) { Run(kTaggedIpv4); }
TEST_P(UdMatrix, OverIpv6InVlan) { Run(kTaggedIpv6); }

VIREO_ON_EVERY_DEVICE(RcMatrix);
VIREO_ON_EVERY_DEVICE(UcMatrix);
VIREO_ON_EVERY_DEVICE(UdMatrix);

}  // namespace
}  // namespace vireo::sim
