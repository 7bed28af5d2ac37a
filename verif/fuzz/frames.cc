// SPDX-License-Identifier: Apache-2.0
// Frames from the wire to a victim queue pair in some state, while a background connection is active: see NicWorld. No
// hang, no DMA outside the windows, no change of memory that a peer may not write. In lockstep, model and RTL must
// match in every cycle.
//
// Input: a byte that selects the victim queue pair, then steps: a byte Step and its operands. QPN, first PSN, key and
// address of the victim are filled in, so that inputs do not depend on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "sim/traffic/forged_frame.h"
#include "verif/fuzz/nic_world.h"
#include "verif/fuzz/recorded.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kPacket,   // opcode, PSN, Packet, payload bytes (2), 16 bytes of extended headers
  kFrame,    // Frame, length (2), bytes
  kReceive,  // the victim posts a receive of (2) bytes
  kSend,     // the victim posts: opcode, (2) bytes
  kTime,     // 0.1 us times the byte
  kCount,
};
enum Packet : uint8_t {
  kAckReq = 1,
  kSolicited = 2,
  kBadKey = 4,
  kOwnReth = 8,  // address, key and length as in the input
  kPads = 0x30,
  kStranger = 0x40,  // to a nonexistent queue pair
  kBadIcrc = 0x80,
};
enum Frame : uint8_t { kForUs = 1, kForVictim = 2, kMadeRight = 4, kBadFcs = 8 };
constexpr size_t kMostSteps = 24;
constexpr uint32_t kStrangerQpn = 0x3ff;
constexpr uint32_t kFirstPsn = 0xfffffd;  // wraps soon
constexpr uint32_t kQkey = 0x1111;

class Run {
 public:
  Run(NicWorld& world, InputReader input) : world_(world), input_(input) {}

  void Go() {
    ASSERT_NO_FATAL_FAILURE(MakeVictim());
    ASSERT_NO_FATAL_FAILURE(world_.PostGood());
    for (size_t i = 0; i < kMostSteps && !input_.is_empty(); ++i) {
      switch (static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount))) {
        case Step::kPacket: SendPacket(); break;
        case Step::kFrame: SendFrame(); break;
        case Step::kReceive: Receive(); break;
        case Step::kSend: Send(); break;
        case Step::kTime:
        case Step::kCount: world_.system().topology().RunFor(input_.Byte() * NicWorld::kMicrosecond / 10); break;
      }
      ASSERT_FALSE(world_.system().is_mismatched());
    }
    ASSERT_NO_FATAL_FAILURE(world_.ExpectGood());
    ASSERT_NO_FATAL_FAILURE(world_.PollVictims());
  }

 private:
  void MakeVictim() {
    const uint8_t kind = input_.Byte();
    constexpr spec::IbQpType kTypes[] = {spec::IbQpType::kRc, spec::IbQpType::kUc, spec::IbQpType::kUd,
                                         spec::IbQpType::kRc};
    const spec::IbQpType type = kTypes[kind % 4];
    victim_ = world_.MakeVictim(type);
    ASSERT_NE(victim_, nullptr);
    if (type == spec::IbQpType::kUd) {
      ASSERT_TRUE(victim_->Start({.qkey = kQkey, .local_psn = kFirstPsn}).ok());
    } else {
      // There is no peer: the input contains the answers to the victim's packets.
      const verbs::Status connected =
          victim_->Connect({.dest_qpn = 0x3456,
                            .local_psn = kFirstPsn,
                            .remote_psn = kFirstPsn,
                            .path_mtu = (kind & 4) != 0 ? spec::IbMtu::kMtu256 : spec::IbMtu::kMtu1024,
                            .path = world_.attacked().PathTo(world_.system().host(1)),
                            .timeout = 1,
                            .retry_cnt = 1,
                            .rnr_retry = 1,
                            .min_rnr_timer = 1});
      ASSERT_TRUE(connected.ok()) << host::ToString(connected.error());
    }
    using Mask = spec::IbQpAttrMask;
    // A few stay in states without traffic.
    if ((kind & 0x18) == 0x18) {
      const auto state = (kind & 0x20) != 0 ? spec::IbQpState::kErr : spec::IbQpState::kSqd;
      ASSERT_TRUE(victim_->Modify({.qp_state = state}, Mask::kState).ok());
    }
  }
  void Receive() {
    const uint32_t bytes = input_.U16() % 3000;
    const spec::RdmaSge sge = world_.region().Sge(0, bytes);
    static_cast<void>(victim_->PostRecv({.wr_id = 1, .sg_list = std::span(&sge, 1)}));  // may be full, or in ERR
  }
  void Send() {
    const auto opcode = static_cast<spec::IbWrOpcode>(input_.Byte() % 16);
    const uint32_t bytes = input_.U16() % 3000;
    if (victim_->type() == spec::IbQpType::kUd) return;
    const spec::RdmaSge sge = world_.region().Sge(100, bytes);
    // What an ATOMIC WRITE or FLUSH needs is in the work request.
    const size_t elements = opcode == spec::IbWrOpcode::kAtomicWrite || opcode == spec::IbWrOpcode::kFlush ? 0 : 1;
    static_cast<void>(victim_->PostSend(
        {.wr_id = 2, .opcode = opcode, .sg_list = std::span(&sge, elements), .remote_addr = 0x1000, .rkey = 0x77}));
  }
  uint32_t AddressOf(size_t host) const {
    const auto gid = world_.system().host(host).gid();
    return static_cast<uint32_t>(gid[12] << 24 | gid[13] << 16 | gid[14] << 8 | gid[15]);
  }
  // The frame's Ethernet, IP and UDP headers from host 1 to host 0.
  Bytes Headers() const {
    Bytes bytes(spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes);
    spec::Ethernet ethernet{.ethertype = spec::Ethertype::kIpv4};
    std::ranges::copy(world_.attacked().mac(), ethernet.destination);
    std::ranges::copy(world_.system().host(1).mac(), ethernet.source);
    ethernet.Encode(bytes.data());
    spec::Ipv4{.version = 4,
               .ihl = 5,
               .dont_fragment = true,
               .time_to_live = 64,
               .protocol = spec::IpProtocol::kUdp,
               .source = AddressOf(1),
               .destination = AddressOf(0)}
        .Encode(bytes.data() + spec::Ethernet::kBytes);
    spec::Udp{.source_port = spec::kUdpSourcePortBase, .destination_port = spec::kUdpPortRocev2}.Encode(
        bytes.data() + spec::Ethernet::kBytes + spec::Ipv4::kBytes);
    return bytes;
  }
  void SendPacket() {
    spec::Bth bth{};
    bth.opcode = static_cast<spec::BthOpcode>(input_.Byte());
    bth.psn = (kFirstPsn + static_cast<uint32_t>(static_cast<int8_t>(input_.Byte()))) % (1U << spec::kPsnBits);
    const uint8_t flags = input_.Byte();
    const size_t payload = input_.U16() % 1100;
    const Bytes extension = input_.Fill(16);
    bth.ack_req = (flags & kAckReq) != 0;
    bth.solicited_event = (flags & kSolicited) != 0;
    bth.pad_count = static_cast<uint8_t>((flags & kPads) >> 4);
    bth.pkey = spec::kPkeyDefault;
    bth.dest_qp = (flags & kStranger) != 0 ? kStrangerQpn : victim_->qpn();
    const spec::OpcodeInfo& info = spec::kOpcodeInfo[static_cast<uint8_t>(bth.opcode)];
    Bytes frame = Headers();
    const size_t at = frame.size();
    frame.resize(at + spec::Bth::kBytes + info.extension_bytes + payload + bth.pad_count + spec::kIcrcBytes);
    bth.Encode(frame.data() + at);
    uint8_t* after = frame.data() + at + spec::Bth::kBytes;
    std::copy_n(extension.begin(), std::min<size_t>(extension.size(), info.extension_bytes), after);
    if (info.has_reth && (flags & kOwnReth) == 0) {
      auto reth = spec::Reth::Decode(extension.data());
      reth.virtual_address = world_.region().address() + reth.virtual_address % 0x4000;
      reth.rkey = world_.region().rkey() ^ ((flags & kBadKey) != 0 ? 1U : 0U);
      reth.dma_length %= 0x1000;
      reth.Encode(frame.data() + at + info.reth_offset);
    }
    if (info.has_deth) {
      spec::Deth{.qkey = (flags & kBadKey) != 0 ? 5 : kQkey, .source_qp = 9}.Encode(frame.data() + at +
                                                                                    info.deth_offset);
    }
    FixAll(frame);
    if ((flags & kBadIcrc) != 0) frame.back() ^= 1;
    Throw(std::move(frame), false);
  }
  void SendFrame() {
    const uint8_t flags = input_.Byte();
    const size_t bytes = input_.U16() % (spec::kNic1.max_frame_bytes + 100);
    const auto taken = input_.Take(bytes);
    if (taken.empty()) return;
    Bytes frame(taken.begin(), taken.end());
    if ((flags & kForUs) != 0 && frame.size() >= spec::Ethernet::kBytes) {
      std::ranges::copy(world_.attacked().mac(), frame.begin());
      if (const auto roce = FindRoce(frame); roce.has_value() && !roce->is_ipv6) {
        auto ip = spec::Ipv4::Decode(frame.data() + roce->ip_offset);
        ip.source = AddressOf(1);
        ip.destination = AddressOf(0);
        ip.Encode(frame.data() + roce->ip_offset);
      }
    }
    if ((flags & kForVictim) != 0) {
      if (const auto roce = FindRoce(frame); roce.has_value()) {
        spec::Bth bth = roce->bth;
        bth.dest_qp = victim_->qpn();
        bth.psn = (kFirstPsn + bth.psn % 8) % (1U << spec::kPsnBits);
        bth.Encode(frame.data() + roce->bth_offset);
      }
    }
    if ((flags & kMadeRight) != 0) FixAll(frame);
    Throw(std::move(frame), (flags & kBadFcs) != 0);
  }
  // A valid forged frame may legally change its target, so frames go to the victim or to a nonexistent QP only.
  void Throw(Bytes frame, bool bad_fcs) {
    const auto roce = FindRoce(frame);
    if (roce.has_value() && !bad_fcs && MayBeAccepted(frame) && roce->bth.dest_qp != victim_->qpn() &&
        roce->bth.dest_qp != kStrangerQpn) {
      return;
    }
    const uint64_t wire_bytes = frame.size() + kPreambleBytes + kFcsBytes + kInterframeGapBytes;
    world_.system().topology().station(0).mac().OnFrame({std::move(frame), bad_fcs, ""});
    // Leave room in the receive buffer for the background connection.
    world_.system().topology().RunFor(wire_bytes * 8 * 1'000'000 / spec::kNic1.link_mbps * 3);
  }

  NicWorld& world_;
  InputReader input_;
  std::shared_ptr<verbs::QueuePair> victim_;
};

void AddPacket(Bytes& seed, spec::BthOpcode opcode, uint8_t psn, uint8_t flags, uint16_t payload, uint32_t length) {
  for (const uint8_t byte : {static_cast<uint8_t>(Step::kPacket), static_cast<uint8_t>(opcode), psn, flags}) {
    seed.push_back(byte);
  }
  Put(seed, payload, 2);
  uint8_t reth[spec::Reth::kBytes]{};
  spec::Reth{.virtual_address = 40, .dma_length = length}.Encode(reth);
  Append(seed, reth);
}

}  // namespace

std::vector<Bytes> Seeds() {
  using Op = spec::BthOpcode;
  std::vector<Bytes> seeds;
  Bytes& write = seeds.emplace_back(Bytes{0});
  AddPacket(write, Op::kRcRdmaWriteFirst, 0, 0, 1024, 2100);
  AddPacket(write, Op::kRcRdmaWriteMiddle, 1, 0, 1024, 0);
  AddPacket(write, Op::kRcRdmaWriteLast, 2, kAckReq, 52, 0);
  AddPacket(write, Op::kRcRdmaWriteOnly, 3, kAckReq, 64, 64);
  AddPacket(write, Op::kRcRdmaReadRequest, 4, kAckReq, 0, 1000);
  AddPacket(write, Op::kRcAtomicWrite, 5, kAckReq, 8, 8);
  Bytes& send = seeds.emplace_back(Bytes{0});
  for (int i = 0; i < 2; ++i) Append(send, Bytes{static_cast<uint8_t>(Step::kReceive), 0, 8});
  AddPacket(send, Op::kRcSendOnly, 0, kAckReq | kSolicited, 100, 0);
  AddPacket(send, Op::kRcSendFirst, 1, 0, 1024, 0);
  AddPacket(send, Op::kRcSendLast, 2, kAckReq, 8, 0);
  AddPacket(send, Op::kRcSendOnly, 3, kAckReq, 8, 0);  // no receive posted
  Bytes& answers = seeds.emplace_back(Bytes{0});
  for (const uint8_t opcode : std::initializer_list<uint8_t>{0, 1, 2, 4})
    Append(answers, Bytes{static_cast<uint8_t>(Step::kSend), opcode, 200, 1});
  Append(answers, Bytes{static_cast<uint8_t>(Step::kTime), 50});
  for (const uint8_t psn : std::initializer_list<uint8_t>{0, 1, 2, 3})
    AddPacket(answers, Op::kRcAcknowledge, psn, 0, 0, 0);
  AddPacket(answers, Op::kRcRdmaReadResponseOnly, 3, 0, 456, 0);
  Bytes& uc = seeds.emplace_back(Bytes{1});
  Append(uc, Bytes{static_cast<uint8_t>(Step::kReceive), 0, 8});
  AddPacket(uc, Op::kUcSendOnly, 0, 0, 99, 0);
  AddPacket(uc, Op::kUcRdmaWriteOnly, 1, 0, 64, 64);
  Bytes& ud = seeds.emplace_back(Bytes{2});
  Append(ud, Bytes{static_cast<uint8_t>(Step::kReceive), 0, 8});
  AddPacket(ud, Op::kUdSendOnly, 0, 0, 256, 0);
  std::set<spec::BthOpcode> opcodes;
  for (const auto& frame : RecordedFrames()) {
    const auto roce = FindRoce(frame);
    if (!roce.has_value() || roce->is_ipv6 || !opcodes.insert(roce->bth.opcode).second) continue;
    Bytes& seed = seeds.emplace_back(Bytes{0, static_cast<uint8_t>(Step::kFrame), kForUs | kForVictim | kMadeRight});
    Put(seed, frame.size(), 2);
    Append(seed, frame);
  }
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vireo::sim;  // NOLINT(google-build-using-namespace)
  NicWorld& world = NicWorld::Next();
  if (testing::Test::HasFatalFailure()) return 0;
  Run(world, InputReader({data, size})).Go();
  return 0;
}
