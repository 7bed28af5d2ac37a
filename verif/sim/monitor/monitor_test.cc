// SPDX-License-Identifier: Apache-2.0
// Each rule of the monitor: events that obey it give no report, and one changed event gives exactly the report of that
// rule. Frames are built here, with a CRC of its own.
#include "sim/monitor/monitor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

namespace vireo::sim {
namespace {

using Bytes = std::vector<uint8_t>;
using spec::BthOpcode;
using Common = spec::VirtioPciCommonCfg;

constexpr uint64_t kPeerMac = 0x0200'0000'0002, kOwnMac = 0x0200'0000'0001;
constexpr uint32_t kPeerIp = 0x0a00'0002, kOwnIp = 0x0a00'0001;
constexpr uint8_t kHopLimit = 64, kRnrTimer = 12;
constexpr uint32_t kQpn = 2, kPeerQpn = 7, kRkey = 0x0000'0311;  // region 3, key 0x11
constexpr uint64_t kRegion = 0x7000'0000, kRegionBytes = 16384;  // its pages are at kPages
constexpr uint64_t kPages = 0x9000'0000;
constexpr uint32_t kMtu = 1024;
constexpr uint16_t kQueueSize = 8;

Bytes Pattern(size_t bytes, uint8_t first = 1) {
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(first + 3 * i);
  return data;
}

void PutMac(uint8_t* at, uint64_t mac) {
  for (size_t i = 0; i < 6; ++i) at[i] = static_cast<uint8_t>(mac >> 8 * (5 - i));
}

void PutIp(uint8_t* at, uint32_t ip) {
  at[10] = at[11] = 0xff;
  for (size_t i = 0; i < 4; ++i) at[12 + i] = static_cast<uint8_t>(ip >> 8 * (3 - i));
}

uint32_t BitwiseCrc(const Bytes& bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? spec::kIcrcPolynomial : 0);
  }
  return ~crc;
}

// Recomputes the ICRC of an untagged IPv4 frame that ends with it.
void SetIcrc(Bytes& frame) {
  Bytes covered(8, 0xff);
  covered.insert(covered.end(), frame.begin() + 14, frame.end() - 4);
  const auto mask = [&covered](size_t header, const uint8_t* ones, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) covered[8 + header + i] |= ones[i];
  };
  mask(0, spec::Ipv4::kIcrcOnes, spec::Ipv4::kBytes);
  mask(20, spec::Udp::kIcrcOnes, spec::Udp::kBytes);
  mask(28, spec::Bth::kIcrcOnes, spec::Bth::kBytes);
  const uint32_t crc = BitwiseCrc(covered);
  for (size_t i = 0; i < 4; ++i) frame[frame.size() - 4 + i] = static_cast<uint8_t>(crc >> 8 * i);
}

struct PacketOf {
  BthOpcode opcode{};
  uint32_t psn = 0;
  Bytes extension{}, payload{};
  bool is_received = false;
  bool is_padded = true;
  bool is_solicited = false;
  bool asks = false;
  uint16_t pkey = spec::kPkeyDefault;
  uint8_t hop_limit = kHopLimit;
};

Bytes Frame(const PacketOf& packet) {
  const size_t pad = packet.is_padded ? (4 - packet.payload.size() % 4) % 4 : 0;
  const size_t udp = 8 + 12 + packet.extension.size() + packet.payload.size() + pad + 4;
  Bytes frame(42);
  PutMac(frame.data(), packet.is_received ? kOwnMac : kPeerMac);
  PutMac(frame.data() + 6, packet.is_received ? kPeerMac : kOwnMac);
  frame[12] = 0x08;
  spec::Ipv4 ip{.version = 4,
                .ihl = 5,
                .total_length = static_cast<uint16_t>(20 + udp),
                .dont_fragment = true,
                .time_to_live = packet.hop_limit,
                .protocol = spec::IpProtocol::kUdp,
                .source = packet.is_received ? kPeerIp : kOwnIp,
                .destination = packet.is_received ? kOwnIp : kPeerIp};
  ip.Encode(frame.data() + 14);
  uint32_t sum = 0;
  for (size_t i = 14; i < 34; i += 2) sum += uint32_t{frame[i]} << 8 | frame[i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  ip.header_checksum = static_cast<uint16_t>(~sum);
  ip.Encode(frame.data() + 14);
  const spec::Udp header{.source_port = 0xc000,
                         .destination_port = spec::kUdpPortRocev2,
                         .length = static_cast<uint16_t>(udp),
                         .checksum = 0};
  header.Encode(frame.data() + 34);
  const spec::Bth bth{.opcode = packet.opcode,
                      .solicited_event = packet.is_solicited,
                      .pad_count = static_cast<uint8_t>(pad),
                      .pkey = packet.pkey,
                      .dest_qp = packet.is_received ? kQpn : kPeerQpn,
                      .ack_req = packet.asks,
                      .psn = packet.psn};
  std::array<uint8_t, 12> bth_bytes{};
  bth.Encode(bth_bytes.data());
  frame.insert(frame.end(), bth_bytes.begin(), bth_bytes.end());
  frame.insert(frame.end(), packet.extension.begin(), packet.extension.end());
  frame.insert(frame.end(), packet.payload.begin(), packet.payload.end());
  frame.insert(frame.end(), pad + 4, 0);
  SetIcrc(frame);
  return frame;
}

template <typename Struct>
Bytes Encoded(const Struct& value) {
  Bytes bytes(Struct::kBytes);
  value.Encode(bytes.data());
  return bytes;
}
Bytes RethOf(uint64_t address, uint32_t bytes) {
  return Encoded(spec::Reth{.virtual_address = address, .rkey = kRkey, .dma_length = bytes});
}
Bytes FlushOf(uint64_t address, uint32_t bytes, uint8_t placement) {
  Bytes extension = Encoded(spec::Feth{.placement = placement});
  const Bytes reth = RethOf(address, bytes);
  extension.insert(extension.end(), reth.begin(), reth.end());
  return extension;
}
Bytes AtomicEthOf(uint64_t address, uint64_t swap_add, uint64_t compare = 0) {
  return Encoded(
      spec::AtomicEth{.virtual_address = address, .rkey = kRkey, .swap_add_data = swap_add, .compare_data = compare});
}
Bytes OperandOf(uint64_t value) {
  Bytes bytes(8);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * i);
  return bytes;
}
Bytes Ack(uint32_t msn = 0) { return Encoded(spec::Aeth{.kind = spec::AethKind::kAck, .value = 31, .msn = msn}); }

Bytes AtomicAck(uint32_t msn, uint64_t before) {
  Bytes bytes = Ack(msn);
  const Bytes value = Encoded(spec::AtomicAckEth{.original_data = before});
  bytes.insert(bytes.end(), value.begin(), value.end());
  return bytes;
}

// A NIC with an RC QP in RTS, PSNs from 100 (sent) and 500 (received), its CQ and send queue, and a region.
class MonitorTest : public testing::Test {
 protected:
  static constexpr uint16_t kCq = 5, kSq = 6, kRq = 7, kControl = 4;
  static constexpr uint64_t kRemote = 0x5000;
  static constexpr uint64_t kRings = 0x1'0000'0000;  // 64 KiB per queue

  MonitorTest() {
    Event({.kind = EventKind::kReset, .payload = {}});
    for (uint64_t page = 0; page < 4; ++page) {
      WriteTable(spec::MgmtTable::kTranslation, static_cast<uint32_t>(8 + page),
                 Encoded(spec::TableTranslation{.address = kPages + 8192 * page}));
    }
    WriteTable(spec::MgmtTable::kMr, 3, Encoded(Region()));
    WriteQp(true);
    SetUp(kCq, spec::TableQueueKind::kCq, 1);
    SetUp(kSq, spec::TableQueueKind::kSq, kQpn);
    SetUp(kControl, spec::TableQueueKind::kControl, 0);
  }

  static spec::TableMr Region(bool remote_read = false) {
    return {.valid = true,
            .remote_write = true,
            .remote_read = remote_read,
            .key = kRkey & 0xff,
            .page_shift = 12,
            .npages = 4,
            .first_translation = 8,
            .virt_addr = kRegion,
            .length = kRegionBytes};
  }
  void WriteQp(bool load, spec::IbQpState state = spec::IbQpState::kRts) {
    spec::TableQpContext context{.state = state,
                                 .qp_type = spec::IbQpType::kRc,
                                 .path_mtu = spec::IbMtu::kMtu1024,
                                 .valid = true,
                                 .load_requester = load,
                                 .load_responder = load,
                                 .remote_write = true,
                                 .remote_read = true,
                                 .remote_atomic = true,
                                 .min_rnr_timer = kRnrTimer,
                                 .timeout = 14,
                                 .send_cqn = 1,
                                 .recv_cqn = 1,
                                 .dest_qpn = kPeerQpn,
                                 .next_psn = 100,
                                 .expected_psn = 500};
    context.flush_global = context.flush_persistent = true;
    PutMac(context.path.dmac, kPeerMac);
    PutIp(context.path.dgid, kPeerIp);
    PutIp(context.path.sgid, kOwnIp);
    context.path.ipv4 = true;
    context.path.hop_limit = kHopLimit;
    WriteTable(spec::MgmtTable::kQpContext, kQpn, Encoded(context));
  }

  // --- Events
  void Event(BoundaryEvent event) {
    event.cycle = cycle_ += 1000;
    monitor_.OnEvent(event);
  }
  void WriteBar(uint64_t offset, uint64_t value, uint32_t bytes) {
    Bytes payload(bytes);
    for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<uint8_t>(value >> 8 * i);
    Event(
        {.kind = EventKind::kBarWrite, .address = offset, .id = spec::kBarVirtio, .bytes = bytes, .payload = payload});
  }
  void WriteCsr(uint64_t offset, uint32_t value) {
    const Bytes payload = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                           static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
    Event({.kind = EventKind::kCsrWrite, .address = offset, .bytes = 4, .payload = payload});
  }
  void WriteTable(spec::MgmtTable table, uint32_t index, Bytes entry,
                  spec::MgmtTableOperation operation = spec::MgmtTableOperation::kWrite) {
    entry.resize((entry.size() + 3) / 4 * 4);
    for (size_t i = 0; i < entry.size(); i += 4) {
      WriteCsr(spec::kMgmtTableDataRegister + i,
               entry[i] | uint32_t{entry[i + 1]} << 8 | uint32_t{entry[i + 2]} << 16 | uint32_t{entry[i + 3]} << 24);
    }
    WriteCsr(spec::kMgmtTableIndexRegister, index);
    WriteCsr(spec::kMgmtTableCommandRegister,
             spec::MgmtTableCommand{.table_id = table, .operation = operation}.ToWord());
  }
  void SetUp(uint16_t queue, spec::TableQueueKind kind, uint32_t owner) {
    WriteTable(spec::MgmtTable::kVirtqueue, queue, Encoded(spec::TableVirtqueue{.kind = kind, .owner = owner}));
    WriteBar(Common::kQueueSelectOffset, queue, 2);
    WriteBar(Common::kQueueSizeOffset, kQueueSize, 2);
    WriteBar(Common::kQueueMsixVectorOffset, queue, 2);
    WriteBar(Common::kQueueDescOffset, Desc(queue), 8);
    WriteBar(Common::kQueueDriverOffset, Driver(queue), 8);
    WriteBar(Common::kQueueDeviceOffset, Device(queue), 8);
    WriteBar(Common::kQueueEnableOffset, 1, 2);
  }
  static uint64_t Desc(uint16_t queue) { return kRings + uint64_t{queue} * 0x10000; }
  static uint64_t Driver(uint16_t queue) { return Desc(queue) + 0x1000; }
  static uint64_t Device(uint16_t queue) { return Desc(queue) + 0x2000; }
  uint32_t Length(uint16_t queue) const { return queue == kSq ? work_bytes_ : 0x80; }
  static uint64_t Buffer(uint16_t queue, uint16_t head) { return Desc(queue) + 0x4000 + uint64_t{head} * 0x400; }

  void Read(uint64_t address, const Bytes& data) {
    const auto bytes = static_cast<uint32_t>(data.size());
    Event({.kind = EventKind::kDmaRead, .address = address, .id = 1, .bytes = bytes, .payload = {}});
    Event({.kind = EventKind::kDmaCompletion,
           .status = 0x80,
           .address = address,
           .id = 1,
           .bytes = bytes,
           .payload = data});
  }
  void Write(uint64_t address, const Bytes& data) {
    Event({.kind = EventKind::kDmaWrite,
           .address = address,
           .bytes = static_cast<uint32_t>(data.size()),
           .payload = data});
  }
  // The device reads the ring: `count` buffers more, heads from `head` on.
  void Take(uint16_t queue, uint16_t head, uint16_t count = 1) {
    for (uint16_t i = 0; i < count; ++i, ++head) {
      uint16_t& index = available_.at(queue);
      ++index;
      Read(Driver(queue) + 2, {static_cast<uint8_t>(index), static_cast<uint8_t>(index >> 8)});
      Read(Driver(queue) + 4 + 2 * ((index - 1) % kQueueSize), {static_cast<uint8_t>(head), 0});
      Read(Desc(queue) + 16 * head,
           Encoded(spec::VirtqDesc{
               .addr = Buffer(queue, head), .len = Length(queue), .flags = spec::VirtqDescFlags::kWrite}));
    }
  }
  void WriteElement(uint16_t queue, uint16_t number, uint16_t head) {
    const uint32_t bytes = queue == kCq ? used_length_ : 0;
    Write(Device(queue) + 4 + 8 * (number % kQueueSize), Encoded(spec::VirtqUsedElem{.id = head, .len = bytes}));
  }
  void WriteIndex(uint16_t queue, uint16_t index) {
    Write(Device(queue) + 2, {static_cast<uint8_t>(index), static_cast<uint8_t>(index >> 8)});
  }
  void WriteCqe(uint16_t head, spec::IbWcOpcode opcode = spec::IbWcOpcode::kRdmaWrite,
                spec::IbWcStatus status = spec::IbWcStatus::kSuccess, uint64_t wr_id = 0) {
    Write(Buffer(kCq, head),
          Encoded(spec::RdmaCqReq{.wr_id = wr_id, .status = status, .opcode = opcode, .qp_num = kQpn}));
  }
  // The first bytes of a send work request, whose wr_id is its head.
  void ReadWork(uint16_t head, uint8_t flags) {
    Bytes work = Encoded(spec::RdmaSqReq{.wr_id = head, .opcode = spec::IbWrOpcode::kSend, .send_flags = flags});
    work.resize(48);
    Read(Buffer(kSq, head), work);
  }
  // Buffers with the same work request; of an RDMA operation at kRemote.
  void ReadWorks(spec::RdmaSqReq work, uint16_t count) {
    spec::RdmaSqReqRdma{.remote_addr = kRemote, .rkey = kRkey}.Encode(work.wr);
    Bytes bytes = Encoded(work);
    bytes.resize(48);
    Take(kSq, 0, count);
    for (uint16_t i = 0; i < count; ++i) Read(Buffer(kSq, i), bytes);
  }
  // Elements of the region behind the parts of a work request that ReadWorks reads.
  void ReadElements(uint16_t head, const std::vector<spec::RdmaSge>& elements) {
    Bytes tail = Encoded(spec::RdmaSqReqNumSge{.num_sge = static_cast<uint32_t>(elements.size())});
    tail.resize(spec::RdmaSqReq::kBytes - spec::RdmaSqReq::kSizeOffset);
    for (const spec::RdmaSge& element : elements) {
      const Bytes bytes = Encoded(element);
      tail.insert(tail.end(), bytes.begin(), bytes.end());
    }
    Read(Buffer(kSq, head) + spec::RdmaSqReq::kSizeOffset, tail);
  }
  static spec::RdmaSge Element(uint64_t offset, uint32_t bytes) {
    return {.addr = kRegion + offset, .length = bytes, .lkey = kRkey};
  }
  void Unmask(uint16_t vector) {
    constexpr uint64_t kControl = spec::kPciCapAtMsix + 2;
    const Bytes enable = {0, 0x80}, zero(4);
    Event({.kind = EventKind::kConfigWrite, .address = kControl, .bytes = 2, .payload = enable});
    Event({.kind = EventKind::kBarWrite,
           .address = spec::kBarMsixTable + uint64_t{vector} * spec::MsixTableEntry::kBytes + 12,
           .id = spec::kBarMsix,
           .bytes = 4,
           .payload = zero});
  }
  void ArmCq(uint16_t seen, bool solicited = false) {
    const spec::RdmaCqArm arm{.seen_used_idx = seen, .solicited = solicited, .next_completion = !solicited};
    WriteBar(spec::kBarVirtioNotify + kCq * spec::kNotifyOffMultiplier + spec::kRdmaCqArmOffset, arm.ToWord(), 4);
  }
  // A SEND, from its work request to its used element.
  void SendAcknowledged(uint16_t number, bool is_signaled) {
    ReadWork(number, is_signaled ? spec::IbSendFlags::kSignaled : 0);
    Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100u + number});
    Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100u + number, .extension = Ack()});
    WriteElement(kSq, number, number);
  }
  // A CQE of a receive, with its message.
  void Complete(uint16_t number, bool is_solicited = false) {
    Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500u + number, .is_solicited = is_solicited});
    Take(kCq, number % kQueueSize);
    WriteCqe(number % kQueueSize, spec::IbWcOpcode::kRecv);
    WriteElement(kCq, number, number % kQueueSize);
    WriteIndex(kCq, number + 1);
  }
  void Interrupt(uint32_t vector) { Event({.kind = EventKind::kMsix, .id = vector, .payload = {}}); }
  void Send(const Bytes& frame) {
    Event({.kind = EventKind::kTransmitStart, .payload = {}});
    Event({.kind = EventKind::kTransmitEnd, .bytes = static_cast<uint32_t>(frame.size()), .payload = frame});
  }
  void Send(const PacketOf& packet) { Send(Frame(packet)); }
  void Receive(PacketOf packet) {
    packet.is_received = true;
    const Bytes frame = Frame(packet);
    Event({.kind = EventKind::kReceiveEnd, .bytes = static_cast<uint32_t>(frame.size()), .payload = frame});
  }

  // The device says that it is idle.
  static constexpr Cycle kLater = 5000;
  void SayIdle(Cycle deadline = kNever) { monitor_.OnIdle(++cycle_, deadline); }
  // And an input wakes it.
  void BeIdle(Cycle deadline = kNever) {
    SayIdle(deadline);
    Event({.kind = EventKind::kCredits, .bytes = 1, .payload = {}});
  }
  // Firmware has finished the fixture's commands, and serves the datapath.
  void Serve(bool pause = false) {
    WriteCsr(spec::kMgmtControlRegister, spec::MgmtControl{.datapath_enable = true, .pause = pause}.ToWord());
    Take(kControl, 0);
    WriteElement(kControl, answers_, 0);
    WriteIndex(kControl, ++answers_);
  }
  void Ring(uint16_t queue) {
    WriteBar(spec::kBarVirtioNotify + uint64_t{queue} * spec::kNotifyOffMultiplier, queue, 2);
  }
  void ReadStatus(bool is_idle) {
    Event({.kind = EventKind::kCsrRead, .address = spec::kMgmtStatusRegister, .bytes = 4, .payload = {}});
    const Bytes value = Encoded(spec::MgmtStatus{.idle = is_idle});
    Event({.kind = EventKind::kCsrCompletion, .bytes = 4, .payload = value});
  }

  // --- Reports
  void ExpectGood() { EXPECT_EQ(monitor_.Violations(), std::vector<std::string>()); }
  // Exactly one report, of this rule, with these words.
  void ExpectOnly(const std::string& rule, const std::string& seen, const std::string& expected) {
    ASSERT_EQ(monitor_.Violations().size(), 1U) << testing::PrintToString(monitor_.Violations());
    const std::string& report = monitor_.Violations().front();
    EXPECT_TRUE(report.starts_with("monitor: " + rule + ": nic 3, cycle ")) << report;
    EXPECT_NE(report.find(seen), std::string::npos) << report;
    EXPECT_NE(report.find("expected " + expected), std::string::npos) << report;
    EXPECT_TRUE(report.ends_with("]")) << "no source: " << report;
  }

  Monitor monitor_{3, 250'000};
  Cycle cycle_ = 0;
  uint32_t used_length_ = spec::RdmaCqReq::kBytes;
  uint32_t work_bytes_ = spec::RdmaSqReq::kBytes + 0x40;  // of send work requests
  std::array<uint16_t, 16> available_{};
  uint16_t answers_ = 0;
};

const PacketOf kSend = {.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(61)};

// --- Form of packets

TEST_F(MonitorTest, GoodPacketsGiveNoReport) {
  Send(kSend);
  Send(
      {.opcode = BthOpcode::kRcRdmaWriteFirst, .psn = 101, .extension = RethOf(0, kMtu + 2), .payload = Pattern(kMtu)});
  Send({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = 102, .payload = Pattern(2)});
  Bytes padded = Frame({.opcode = BthOpcode::kRcSendOnly, .psn = 103});
  padded.resize(60);
  Send(padded);
  ExpectGood();
}

TEST_F(MonitorTest, ReportsAWrongIcrc) {
  Bytes frame = Frame(kSend);
  frame.back() ^= 0x40;
  Send(frame);
  ExpectOnly("wire.icrc", "seen ICRC 0x", "0x");
}

TEST_F(MonitorTest, ReportsLengthsThatDisagree) {
  Bytes frame = Frame(kSend);
  frame[39] ^= 4;  // UDP length
  Send(frame);
  ExpectOnly("wire.length", "UDP length", "lengths that agree");
}

TEST_F(MonitorTest, ReportsBytesBehindTheDatagram) {
  Bytes frame = Frame(kSend);
  frame.resize(frame.size() + 4);
  Send(frame);
  ExpectOnly("wire.length", "4 bytes behind the datagram", "none");
}

TEST_F(MonitorTest, ReportsPaddingThatIsNotZero) {
  Bytes frame = Frame(kSend);
  frame[frame.size() - 5] = 9;
  SetIcrc(frame);
  Send(frame);
  ExpectOnly("wire.padding", "padding byte 0x9", "0");
}

TEST_F(MonitorTest, ReportsAPayloadWithoutItsPadding) {
  PacketOf packet = kSend;
  packet.is_padded = false;
  Send(packet);
  ExpectOnly("wire.padding", "61 bytes of payload and 0 of padding", "a multiple of 4");
}

TEST_F(MonitorTest, ReportsAWrongIpv4Checksum) {
  Bytes frame = Frame(kSend);
  frame[24] ^= 1;
  Send(frame);
  ExpectOnly("wire.header", "IPv4 header checksum", "0x");
}

TEST_F(MonitorTest, ReportsAPayloadBeyondThePathMtu) {
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(kMtu + 4)});
  ExpectOnly("wire.payload", "rc_send_only with 1028 bytes", "0 to 1024");
}

TEST_F(MonitorTest, ReportsAPacketOnAnotherPath) {
  PacketOf packet = kSend;
  packet.hop_limit = 255;
  Send(packet);
  ExpectOnly("wire.path", "PSN 100 with another hop limit", "that of the QP's path");
}

TEST_F(MonitorTest, FramesOfADriverAreNotJudged) {
  SetUp(8, spec::TableQueueKind::kTransmit, 0);
  WriteBar(spec::kBarVirtioNotify + 8 * spec::kNotifyOffMultiplier, 8, 2);
  Bytes frame = Frame(kSend);
  frame.back() ^= 1;
  PutMac(frame.data(), kPeerMac + 1);  // no QP sends there
  Send(frame);
  ExpectGood();
}

// --- Messages and PSNs

TEST_F(MonitorTest, ReportsAMessageShorterThanItsReth) {
  Send(
      {.opcode = BthOpcode::kRcRdmaWriteFirst, .psn = 100, .extension = RethOf(0, kMtu + 9), .payload = Pattern(kMtu)});
  Send({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = 101, .payload = Pattern(8)});
  ExpectOnly("message.packets", "8 bytes of payload", "9, as the RETH announced");
}

TEST_F(MonitorTest, ReportsAMessageWithinAnother) {
  Send({.opcode = BthOpcode::kRcSendFirst, .psn = 100, .payload = Pattern(kMtu)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = Pattern(4)});
  ExpectOnly("message.packets", "rc_send_only", "the rest of the message in progress");
}

TEST_F(MonitorTest, ReportsASkippedPsn) {
  Send(kSend);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 102});
  ExpectOnly("psn.contiguous", "QP 2: PSN 102", "PSN 101");
}

TEST_F(MonitorTest, GapOfAQueuePairThatFailsIsNone) {
  Take(kCq, 0);
  Send(kSend);
  Send({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = 102, .payload = Pattern(8)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 103});
  WriteCqe(0, spec::IbWcOpcode::kSend, spec::IbWcStatus::kLocProtErr);
  WriteElement(kCq, 0, 0);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 105});
  ExpectGood();
}

TEST_F(MonitorTest, ReportsAGapThatThePeerHasReceived) {
  Take(kCq, 0);
  Send(kSend);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 102});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101});
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 102, .extension = Ack()});
  WriteCqe(0, spec::IbWcOpcode::kSend, spec::IbWcStatus::kLocProtErr);
  WriteElement(kCq, 0, 0);
  ExpectOnly("psn.contiguous", "QP 2: PSN 102", "PSN 101");
}

TEST_F(MonitorTest, ReadTakesAsManyPsnsAsResponses) {
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 100, .extension = RethOf(0, 2 * kMtu + 1)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 103});
  ExpectGood();
}

TEST_F(MonitorTest, ReportsMorePsnsThanTheWindow) {
  const auto read = [](uint32_t psn, uint32_t bytes) {
    return PacketOf{.opcode = BthOpcode::kRcRdmaReadRequest, .psn = psn & 0xff'ffff, .extension = RethOf(0, bytes)};
  };
  constexpr uint32_t kMost = uint32_t{1} << 31;  // 2^21 responses
  for (uint32_t i = 0; i < 4; ++i) Send(read(100 + (i << 21), kMost));
  ExpectGood();
  Send(read(100 + (4u << 21), 1));
  ExpectOnly("psn.window", "8388609 PSNs not acknowledged", "at most 8388608");
}

TEST_F(MonitorTest, ReportsARetransmissionWithOtherPayload) {
  Send(kSend);
  Send(kSend);
  ExpectGood();
  PacketOf other = kSend;
  other.payload[60] ^= 1;
  Send(other);
  ExpectOnly("psn.retransmission", "other payload", "the same as sent before");
}

TEST_F(MonitorTest, ReportsARetransmissionWithOtherPayloadBehindItsAcknowledge) {
  Send(kSend);
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = kSend.psn, .extension = Ack(1)});
  Send(kSend);
  ExpectGood();
  PacketOf other = kSend;
  other.payload[60] ^= 1;
  Send(other);
  ExpectOnly("psn.retransmission", "other payload", "the same as sent before");
}

TEST_F(MonitorTest, RestOfAReadMayBeRequestedAgain) {
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 100, .extension = RethOf(0x5000, 3 * kMtu)});
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 101, .extension = RethOf(0x5000 + kMtu, 2 * kMtu)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 101, .extension = RethOf(0x5000 + kMtu, 3 * kMtu)});
  ExpectOnly("psn.retransmission", "READ of 3072 bytes", "2048 bytes at 0x5400");
}

// --- Acknowledges

TEST_F(MonitorTest, ReportsAnAcknowledgeOfWhatHasNotArrived) {
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500});
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(1)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 501, .extension = Ack(1)});
  ExpectOnly("ack.received", "rc_acknowledge of PSN 501", "a PSN before 501");
}

TEST_F(MonitorTest, PacketsOfAnotherPartitionDoNotArrive) {
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500, .pkey = 0x8001});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack()});
  ExpectOnly("ack.received", "rc_acknowledge of PSN 500", "a PSN before 500");
}

TEST_F(MonitorTest, ReportsAWrongMsn) {
  Receive({.opcode = BthOpcode::kRcSendFirst, .psn = 500, .payload = Pattern(kMtu)});
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(0)});
  Receive({.opcode = BthOpcode::kRcSendLast, .psn = 501, .payload = Pattern(8)});
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(0)});  // before the last packet is executed
  ExpectGood();
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 501, .extension = Ack(2)});
  ExpectOnly("ack.msn", "MSN 2 with PSN 501", "1 messages");
}

TEST_F(MonitorTest, ReportsASecondNakOfOneGap) {
  const auto nak = [](uint32_t psn) {
    const spec::Aeth aeth{.kind = spec::AethKind::kNak,
                          .value = static_cast<uint8_t>(spec::NakCode::kPsnSequenceError)};
    return PacketOf{.opcode = BthOpcode::kRcAcknowledge, .psn = psn, .extension = Encoded(aeth)};
  };
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 501});
  Send(nak(500));
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500});
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 502});
  Send(nak(501));
  ExpectGood();
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 503});
  Send(nak(501));
  ExpectOnly("ack.nak_once", "another sequence NAK of PSN 501", "one, until that packet has arrived");
}

TEST_F(MonitorTest, ReportsAnRnrNakWithAnotherTimer) {
  const auto rnr = [](uint8_t timer) {
    return PacketOf{.opcode = BthOpcode::kRcAcknowledge,
                    .psn = 500,
                    .extension = Encoded(spec::Aeth{.kind = spec::AethKind::kRnrNak, .value = timer})};
  };
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500});
  Send(rnr(kRnrTimer));
  ExpectGood();
  Send(rnr(0));
  ExpectOnly("ack.rnr_timer", "RNR NAK with timer 0", "12, the QP's");
}

TEST_F(MonitorTest, ReportsAnAcknowledgeOfAWriteBeyondItsRegion) {
  Receive({.opcode = BthOpcode::kRcRdmaWriteOnly,
           .psn = 500,
           .extension = RethOf(kRegion + kRegionBytes - 7, 8),
           .payload = Pattern(8)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(1)});
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 500", "a NAK of PSN 500");
}

TEST_F(MonitorTest, ReportsAnAnswerToAReadThatIsNotAllowed) {
  Receive({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 500, .extension = RethOf(kRegion, 4)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 500, .extension = Ack(1), .payload = Pattern(4)});
  ExpectOnly("ack.refused", "rc_rdma_read_response_only of PSN 500", "a NAK of PSN 500");
}

// The command may take effect before its answer, or not.
TEST_F(MonitorTest, RegionIsAllowedUntilItsDeregistrationIsAnswered) {
  const auto write = [](uint32_t psn) {
    return PacketOf{
        .opcode = BthOpcode::kRcRdmaWriteOnly, .psn = psn, .extension = RethOf(kRegion, 8), .payload = Pattern(8)};
  };
  Take(kControl, 0);
  WriteTable(spec::MgmtTable::kMr, 3, {}, spec::MgmtTableOperation::kClear);
  Receive(write(500));
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(1)});
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Receive(write(501));
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 501, .extension = Ack(2)});
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 501", "a NAK of PSN 501");
}

// Likewise, the rights of before or the new ones count until the answer; then the new ones.
TEST_F(MonitorTest, RightsOfBeforeAReregistrationCountUntilItsAnswer) {
  const auto write = [](uint32_t psn) {
    return PacketOf{
        .opcode = BthOpcode::kRcRdmaWriteOnly, .psn = psn, .extension = RethOf(kRegion, 8), .payload = Pattern(8)};
  };
  Take(kControl, 0);
  spec::TableMr region = Region(true);
  region.remote_write = false;
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(region));
  Receive(write(500));
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(1)});
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Receive(write(501));
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 501, .extension = Ack(2)});
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 501", "a NAK of PSN 501");
}

// A request that was under way at the change may be checked behind it.
TEST_F(MonitorTest, RequestThatArrivesBeforeAReregistrationMayHaveTheNewRights) {
  Receive({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 500, .extension = RethOf(kRegion, 4)});
  Take(kControl, 0);
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(Region(true)));
  WriteElement(kControl, 0, 0);
  Read(kPages, Pattern(4));
  Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 500, .extension = Ack(1), .payload = Pattern(4)});
  ExpectGood();
}

// Nor is it known where its payload goes.
TEST_F(MonitorTest, WriteThatArrivesBeforeItsRegionMovesIsExpectedNowhere) {
  Receive({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 500, .extension = RethOf(kRegion, 8), .payload = Pattern(8)});
  Take(kControl, 0);
  spec::TableMr region = Region();
  region.first_translation = 9;
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(region));
  WriteElement(kControl, 0, 0);
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(1)});
  ExpectGood();
}

TEST_F(MonitorTest, ReportsAReadThatIsExecutedTwice) {
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(Region(true)));
  const PacketOf request = {
      .opcode = BthOpcode::kRcRdmaReadRequest, .psn = 500, .extension = RethOf(kRegion, kMtu + 1)};
  Read(kPages, Pattern(kMtu));
  Read(kPages + kMtu, Pattern(1));
  const auto respond = [this] {
    Send({.opcode = BthOpcode::kRcRdmaReadResponseFirst, .psn = 500, .extension = Ack(1), .payload = Pattern(kMtu)});
    Send({.opcode = BthOpcode::kRcRdmaReadResponseLast, .psn = 501, .extension = Ack(1), .payload = Pattern(1)});
  };
  Receive(request);
  respond();
  Receive(request);
  respond();
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaReadResponseFirst, .psn = 500, .extension = Ack(1), .payload = Pattern(kMtu)});
  ExpectOnly("read.once", "rc_rdma_read_response_first of PSN 500", "one response per PSN");
}

// --- Atomic operations

class AtomicMonitorTest : public MonitorTest {
 protected:
  AtomicMonitorTest() {
    spec::TableMr region = Region();
    region.remote_atomic = true;
    WriteTable(spec::MgmtTable::kMr, 3, Encoded(region));
  }
  static constexpr uint64_t kBefore = 0x1234'5678'9abc'def0;
  static PacketOf FetchAdd(uint32_t psn, uint64_t address = kRegion + 8, uint64_t add = 5) {
    return {.opcode = BthOpcode::kRcFetchAdd, .psn = psn, .extension = AtomicEthOf(address, add)};
  }
  static PacketOf CompareSwap(uint32_t psn, uint64_t compare, uint64_t swap) {
    return {.opcode = BthOpcode::kRcCompareSwap, .psn = psn, .extension = AtomicEthOf(kRegion + 8, swap, compare)};
  }
  void Answer(uint32_t psn, uint64_t before) {
    Send({.opcode = BthOpcode::kRcAtomicAcknowledge, .psn = psn, .extension = AtomicAck(psn - 499, before)});
  }
};

TEST_F(AtomicMonitorTest, ReportsAnAtomicOperationThatIsExecutedTwice) {
  Receive(FetchAdd(500));
  Read(kPages + 8, OperandOf(kBefore));
  Write(kPages + 8, OperandOf(kBefore + 5));
  Answer(500, kBefore);
  Receive(FetchAdd(500));
  Answer(500, kBefore);
  ExpectGood();
  Receive(FetchAdd(500));
  Read(kPages + 8, OperandOf(kBefore + 5));
  Write(kPages + 8, OperandOf(kBefore + 10));
  Answer(500, kBefore + 5);
  ExpectOnly("atomic.once", "another response to PSN 500", "0x123456789abcdef0");
}

TEST_F(AtomicMonitorTest, ReportsAnAtomicOperationWhoseResultIsNotInMemory) {
  Receive(FetchAdd(500));
  Read(kPages + 8, OperandOf(kBefore));
  Write(kPages + 8, OperandOf(kBefore + 5));
  Answer(500, kBefore);
  Receive(CompareSwap(501, kBefore, 1));  // differs: nothing is written
  Read(kPages + 8, OperandOf(kBefore + 5));
  Answer(501, kBefore + 5);
  Receive(CompareSwap(502, kBefore + 5, 1));
  Read(kPages + 8, OperandOf(kBefore + 5));
  ExpectGood();
  Answer(502, kBefore + 5);
  ExpectOnly("ack.written", "response to PSN 502", "the write of 0x1 at 0x90000008");
}

TEST_F(AtomicMonitorTest, ReportsAValueThatWasNotRead) {
  Receive(FetchAdd(500));
  Read(kPages + 8, OperandOf(kBefore));
  Write(kPages + 8, OperandOf(kBefore + 6));
  Answer(500, kBefore + 1);
  ExpectOnly("message.payload", "PSN 500 with 8 bytes", "those that were read at 0x90000008");
}

TEST_F(AtomicMonitorTest, ReportsAResponseToAMisalignedOperation) {
  Receive(FetchAdd(500, kRegion + 4));
  ExpectGood();
  Answer(500, kBefore);
  ASSERT_FALSE(monitor_.Violations().empty());
  EXPECT_NE(monitor_.Violations().back().find("ack.refused"), std::string::npos) << monitor_.Violations().back();
}

TEST_F(MonitorTest, ReportsAResponseToAnAtomicOperationWithoutTheRight) {
  Receive({.opcode = BthOpcode::kRcFetchAdd, .psn = 500, .extension = AtomicEthOf(kRegion + 8, 5)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcAtomicAcknowledge, .psn = 500, .extension = AtomicAck(1, 7)});
  ExpectOnly("ack.refused", "rc_atomic_acknowledge of PSN 500", "a NAK of PSN 500");
}

// ATOMIC WRITE is a WRITE whose acknowledge is the response to a READ of no bytes.
TEST_F(MonitorTest, ReportsAnAtomicWriteThatIsNotInMemory) {
  Send(kSend);  // shows the NIC's own MAC
  const auto store = [](uint32_t psn, uint64_t offset, uint64_t value) {
    return PacketOf{.opcode = BthOpcode::kRcAtomicWrite,
                    .psn = psn,
                    .extension = RethOf(kRegion + offset, 8),
                    .payload = OperandOf(value)};
  };
  const auto answer = [this](uint32_t psn) {
    Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = psn, .extension = Ack(psn - 499)});
  };
  Receive(store(500, 8, 0x1122));
  Write(kPages + 8, OperandOf(0x1122));
  answer(500);
  // A duplicate is answered again, once, and written by nobody.
  Receive(store(500, 8, 0x1122));
  Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 500, .extension = Ack(1)});
  ExpectGood();
  Receive(store(501, 8, 0x3344));
  answer(501);
  ExpectOnly("ack.written", "acknowledge of PSN 501", "the write of its payload at 0x90000008");
}

TEST_F(MonitorTest, ReportsAResponseToAMisalignedAtomicWrite) {
  Send(kSend);
  Receive(
      {.opcode = BthOpcode::kRcAtomicWrite, .psn = 500, .extension = RethOf(kRegion + 4, 8), .payload = OperandOf(1)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 500, .extension = Ack(1)});
  ExpectOnly("ack.refused", "rc_rdma_read_response_only of PSN 500", "a NAK of PSN 500");
}

// The region is not persistent memory.
TEST_F(MonitorTest, ReportsAnAnswerToAFlushThatIsNotAllowed) {
  spec::TableMr region = Region();
  region.flush_global = true;
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(region));
  for (const uint8_t placement : {spec::FlushPlacement::kGlobalVisibility, spec::FlushPlacement::kPersistence}) {
    const uint32_t psn = 499U + placement;
    Receive({.opcode = BthOpcode::kRcFlush, .psn = psn, .extension = FlushOf(kRegion, kRegionBytes, placement)});
    ExpectGood();
    Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = psn, .extension = Ack(placement)});
  }
  ExpectOnly("ack.refused", "rc_rdma_read_response_only of PSN 501", "a NAK of PSN 501");
}

// By a window, from when the bind was read: to what the window is bound to, with its rights, until it is deallocated.
class WindowMonitorTest : public MonitorTest {
 protected:
  static constexpr uint32_t kWindowKey = 0x0000'0577;  // window 5
  static constexpr uint64_t kFirst = kRegion + 100;
  void Bind(uint32_t lkey = kRkey, uint64_t bytes = 64, bool mw_bind = true) {
    spec::TableMr region = Region();
    region.remote_write = false;
    region.local_write = true;
    region.mw_bind = mw_bind;
    WriteTable(spec::MgmtTable::kMr, 3, Encoded(region));
    WriteTable(spec::MgmtTable::kMr, 5, Encoded(spec::TableMr{.valid = true, .key = 1, .is_window = true}));
    spec::RdmaSqReq work = {.opcode = spec::IbWrOpcode::kBindMw};
    spec::RdmaSqReqBind{.addr = kFirst,
                        .length = bytes,
                        .access_flags = spec::IbAccessFlags::kRemoteWrite,
                        .rkey = kWindowKey,
                        .lkey = lkey}
        .Encode(work.wr);
    Bytes of_work = Encoded(work);
    of_work.resize(48);
    Take(kSq, 0);
    Read(Buffer(kSq, 0), of_work);
    Send(kSend);  // shows the NIC's own MAC
  }
  static PacketOf WriteOf(uint32_t psn, uint64_t address) {
    return {.opcode = BthOpcode::kRcRdmaWriteOnly,
            .psn = psn,
            .extension = Encoded(spec::Reth{.virtual_address = address, .rkey = kWindowKey, .dma_length = 8}),
            .payload = Pattern(8)};
  }
  void Acknowledge(uint32_t psn) {
    Send({.opcode = BthOpcode::kRcAcknowledge, .psn = psn, .extension = Ack(psn - 499)});
  }
};

TEST_F(WindowMonitorTest, ReportsAnAcknowledgeOfAWriteBeyondTheWindow) {
  Bind();
  Receive(WriteOf(500, kFirst + 56));
  Acknowledge(500);
  ExpectGood();
  Receive(WriteOf(501, kFirst + 57));
  Acknowledge(501);
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 501", "a NAK of PSN 501");
}

TEST_F(WindowMonitorTest, ReportsAnAcknowledgeByAWindowOfARegionWithoutTheRight) {
  Bind(kRkey, 64, false);
  Receive(WriteOf(500, kFirst));
  ExpectGood();
  Acknowledge(500);
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 500", "a NAK of PSN 500");
}

TEST_F(WindowMonitorTest, ReportsAnAcknowledgeByAWindowOfAnotherKey) {
  Bind(kRkey ^ 1);
  Receive(WriteOf(500, kFirst));
  ExpectGood();
  Acknowledge(500);
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 500", "a NAK of PSN 500");
}

// By a region that a work request registers, from when that was read: its pages, with its range and rights.
class RegistrationMonitorTest : public MonitorTest {
 protected:
  static constexpr uint32_t kFastKey = 0x0000'0566;  // region 5
  static constexpr uint64_t kFirst = 0x7'0000'0f00, kPageOne = 0xb000'0000, kPageTwo = 0xc000'0000;
  static constexpr uint32_t kFastBytes = 0x300;  // 0x100 in the first page
  void Register(uint32_t access = spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite,
                bool is_fast = true) {
    WriteTable(spec::MgmtTable::kMr, 5,
               Encoded(spec::TableMr{
                   .invalidatable = true, .key = 1, .is_fast = is_fast, .npages = 2, .first_translation = 30}));
    spec::RdmaSqReq work = {.opcode = spec::IbWrOpcode::kRegMr};
    spec::RdmaSqReqReg{
        .virt_addr = kFirst, .length = kFastBytes, .access_flags = access, .key = kFastKey, .page_shift = 12}
        .Encode(work.wr);
    Bytes of_work = Encoded(work);
    of_work.resize(48);
    Take(kSq, 0);
    Read(Buffer(kSq, 0), of_work);
    const Bytes pair = Encoded(spec::RdmaPagePair{.first = kPageOne, .second = kPageTwo});
    ReadElements(0, {spec::RdmaSge::Decode(pair.data())});
    Send(kSend);  // shows the NIC's own MAC
  }
  void ReceiveWrite(uint32_t psn, uint64_t address) {
    Receive({.opcode = BthOpcode::kRcRdmaWriteOnly,
             .psn = psn,
             .extension = Encoded(spec::Reth{.virtual_address = address, .rkey = kFastKey, .dma_length = 8}),
             .payload = Pattern(8)});
  }
  void Acknowledge(uint32_t psn) {
    Send({.opcode = BthOpcode::kRcAcknowledge, .psn = psn, .extension = Ack(psn - 499)});
  }
};

TEST_F(RegistrationMonitorTest, ReportsAnAccessBesideThePages) {
  Register();
  Write(kPageOne + 0xf00, Pattern(256));
  Write(kPageTwo, Pattern(256));
  Write(kPageTwo + 0x100, Pattern(256));
  ExpectGood();
  Write(kPageTwo + 0x101, Pattern(256));
  ExpectOnly("dma.inside", "DMA write of 256 bytes at 0xc0000101", "an address in a ring");
}

TEST_F(RegistrationMonitorTest, ReportsAnAccessInFrontOfTheFirstByte) {
  Register();
  Write(kPageOne + 0xeff, Pattern(16));
  ExpectOnly("dma.inside", "DMA write of 16 bytes at 0xb0000eff", "an address in a ring");
}

TEST_F(RegistrationMonitorTest, ReportsAnAccessToPagesOfAnotherKindOfRegion) {
  Register(spec::IbAccessFlags::kLocalWrite, false);
  Write(kPageTwo, Pattern(16));
  ExpectOnly("dma.inside", "DMA write of 16 bytes at 0xc0000000", "an address in a ring");
}

TEST_F(RegistrationMonitorTest, ReportsAnAccessAfterTheAnswerOfItsDeregistration) {
  Register();
  Take(kControl, 0);
  WriteTable(spec::MgmtTable::kMr, 5, {}, spec::MgmtTableOperation::kClear);
  Write(kPageTwo, Pattern(16));
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Write(kPageTwo, Pattern(16));
  ExpectOnly("dma.inside", "DMA write of 16 bytes at 0xc0000000", "an address in a ring");
}

TEST_F(RegistrationMonitorTest, ReportsAnAcknowledgeOfAWriteBeyondTheRegistration) {
  Register();
  ReceiveWrite(500, kFirst + kFastBytes - 8);
  Acknowledge(500);
  ExpectGood();
  ReceiveWrite(501, kFirst + kFastBytes - 7);
  Acknowledge(501);
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 501", "a NAK of PSN 501");
}

TEST_F(RegistrationMonitorTest, ReportsAnAcknowledgeWithoutTheRight) {
  Register(spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteRead);
  ReceiveWrite(500, kFirst);
  ExpectGood();
  Acknowledge(500);
  ExpectOnly("ack.refused", "rc_acknowledge of PSN 500", "a NAK of PSN 500");
}

TEST_F(MonitorTest, ReportsAFlushOfAnotherPlacement) {
  constexpr uint8_t kBoth = spec::FlushPlacement::kGlobalVisibility | spec::FlushPlacement::kPersistence;
  spec::RdmaSqReq work = {.opcode = spec::IbWrOpcode::kFlush};
  spec::RdmaSqReqFlush{.remote_addr = kRemote, .length = 9, .placement = kBoth, .rkey = kRkey}.Encode(work.wr);
  Bytes bytes = Encoded(work);
  bytes.resize(48);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) Read(Buffer(kSq, i), bytes);
  Send({.opcode = BthOpcode::kRcFlush, .psn = 100, .extension = FlushOf(kRemote, 9, kBoth)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcFlush,
        .psn = 101,
        .extension = FlushOf(kRemote, 9, spec::FlushPlacement::kGlobalVisibility)});
  ExpectOnly("message.work_request", "PSN 101, FLUSH of 9 bytes at 0x5000",
             "9 bytes at 0x5000, key 0x311, extent and placement");
}

TEST_F(MonitorTest, ReportsAnAtomicWriteOfAnotherValue) {
  spec::RdmaSqReq work = {.opcode = spec::IbWrOpcode::kAtomicWrite};
  spec::RdmaSqReqAtomic{.remote_addr = kRemote, .compare_add = 3, .rkey = kRkey}.Encode(work.wr);
  Bytes bytes = Encoded(work);
  bytes.resize(48);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) Read(Buffer(kSq, i), bytes);
  const auto store = [](uint32_t psn, uint64_t value) {
    return PacketOf{
        .opcode = BthOpcode::kRcAtomicWrite, .psn = psn, .extension = RethOf(kRemote, 8), .payload = OperandOf(value)};
  };
  Send(store(100, 3));
  ExpectGood();
  Send(store(101, 4));
  ExpectOnly("message.work_request", "PSN 101, address 0x5000, key 0x311, its value", "0x5000, 0x311");
}

TEST_F(AtomicMonitorTest, ReportsAResponseThatWasNotAskedFor) {
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500});
  Answer(500, kBefore);
  ExpectOnly("read.once", "rc_atomic_acknowledge of PSN 500", "one response per PSN");
}

TEST_F(AtomicMonitorTest, ReportsARequestWithAnotherOperand) {
  spec::RdmaSqReq work = {.opcode = spec::IbWrOpcode::kAtomicCmpAndSwp};
  spec::RdmaSqReqAtomic{.remote_addr = kRemote, .compare_add = 3, .swap = 4, .rkey = kRkey}.Encode(work.wr);
  Bytes bytes = Encoded(work);
  bytes.resize(48);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) Read(Buffer(kSq, i), bytes);
  Send({.opcode = BthOpcode::kRcCompareSwap, .psn = 100, .extension = AtomicEthOf(kRemote, 4, 3)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcCompareSwap, .psn = 101, .extension = AtomicEthOf(kRemote, 3, 4)});
  ExpectOnly("message.work_request", "PSN 101, address 0x5000, key 0x311, operands 0x3, 0x4", "0x5000, 0x311");
}

TEST_F(AtomicMonitorTest, ReportsASuccessWhoseValueIsNotInMemory) {
  spec::RdmaSqReq work = {.opcode = spec::IbWrOpcode::kAtomicFetchAndAdd, .send_flags = spec::IbSendFlags::kSignaled};
  spec::RdmaSqReqAtomic{.remote_addr = kRemote, .compare_add = 3, .rkey = kRkey}.Encode(work.wr);
  Bytes bytes = Encoded(work);
  bytes.resize(48);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) Read(Buffer(kSq, i), bytes);
  Take(kCq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) {
    ReadElements(i, {Element(16, 8)});
    Send({.opcode = BthOpcode::kRcFetchAdd, .psn = 100u + i, .extension = AtomicEthOf(kRemote, 3)});
    Receive({.opcode = BthOpcode::kRcAtomicAcknowledge, .psn = 100u + i, .extension = AtomicAck(i + 1u, kBefore)});
    if (i == 0) Write(kPages + 16, OperandOf(kBefore));
    WriteElement(kSq, i, i);
    WriteCqe(i, spec::IbWcOpcode::kFetchAdd);
    WriteElement(kCq, i, i);
    if (i == 0) ExpectGood();
  }
  ExpectOnly("completion.read", "success of a READ whose response PSN 101 is not in memory",
             "the write of its payload");
}

// --- Payload and memory

// Two elements, the first one across a page: the second page of the region is not behind the first one in memory.
TEST_F(MonitorTest, ReportsAPayloadThatIsNotOfItsMemory) {
  ReadWorks({.opcode = spec::IbWrOpcode::kSend}, 2);
  for (uint16_t i = 0; i < 2; ++i) ReadElements(i, {Element(4096 - 16, 32), Element(100, 8)});
  Bytes payload = Pattern(40);
  Read(kPages + 4096 - 16, {payload.begin(), payload.begin() + 16});
  Read(kPages + 8192, {payload.begin() + 16, payload.begin() + 32});
  Read(kPages + 100, {payload.begin() + 32, payload.end()});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = payload});
  ExpectGood();
  payload[20] ^= 1;
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = payload});
  ExpectOnly("message.payload", "PSN 101 with 40 bytes of payload", "those that were read at 0x90002000");
}

// --- Extensible work requests

// An extensible work request, and its first bytes as the device reads them.
class ExtensibleMonitorTest : public MonitorTest {
 protected:
  void ReadExtensible(uint16_t head, spec::RdmaSqBase base, const std::vector<Bytes>& elements) {
    base.version = spec::kRdmaSqVersion;
    Bytes bytes = Encoded(base);
    for (const Bytes& element : elements) bytes.insert(bytes.end(), element.begin(), element.end());
    work_bytes_ = static_cast<uint32_t>(bytes.size());
    Take(kSq, head);
    bytes.resize(std::min<size_t>(bytes.size(), spec::kDmaFetchBytes));
    Read(Buffer(kSq, head), bytes);
  }
  static constexpr uint8_t kInline = spec::IbSendFlags::kInline;
  using Bit = spec::RdmaSqElement;
  using Opcode = spec::IbWrOpcode;
};

TEST_F(ExtensibleMonitorTest, ReportsAPayloadThatIsNotTheInlineData) {
  for (uint16_t head = 0; head < 2; ++head) {
    ReadExtensible(head, {.opcode = Opcode::kSend, .send_flags = kInline, .elements = Bit::kInlineData}, {Pattern(21)});
  }
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(21)});
  ExpectGood();
  Bytes other = Pattern(21);
  other[20] ^= 1;
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = other});
  ExpectOnly("message.payload", "PSN 101 with 21 bytes of payload", "the inline data of its work request");
}

// A SEND of inline data that the driver pushes; of `without` it leaves out the write.
class PushMonitorTest : public ExtensibleMonitorTest {
 protected:
  void Push(uint16_t head, uint16_t position, const Bytes& data, size_t without = ~size_t{0}) {
    constexpr uint64_t kPage = spec::kBarVirtioNotify + kSq * spec::kNotifyOffMultiplier;
    Bytes bytes = Encoded(spec::RdmaSqBase{
        .opcode = Opcode::kSend, .send_flags = kInline, .version = spec::kRdmaSqVersion, .elements = Bit::kInlineData});
    bytes.insert(bytes.end(), data.begin(), data.end());
    const auto length = static_cast<uint16_t>(bytes.size());
    work_bytes_ = length;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    WriteBar(kPage + spec::kRdmaPushOffset, Buffer(kSq, head), 8);
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t word = 0;
      for (size_t i = 0; i < 8; ++i) word |= uint64_t{bytes[at + i]} << 8 * i;
      if (at / 8 != without) WriteBar(kPage + spec::kRdmaPushOffset + 8 + at, word, 8);
    }
    const spec::RdmaPush end{.position = position, .head = head, .length = length};
    WriteBar(kPage + spec::kRdmaPushEndOffset, end.ToWord(), 8);
  }
};

TEST_F(PushMonitorTest, ReportsAPayloadThatIsNotWhatWasPushed) {
  for (uint16_t i = 0; i < 2; ++i) Push(i, i, Pattern(21));
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(21)});
  ExpectGood();
  Bytes other = Pattern(21);
  other[20] ^= 1;
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = other});
  ExpectOnly("message.payload", "PSN 101 with 21 bytes of payload", "the inline data of its work request");
}

TEST_F(PushMonitorTest, WhatIsPushedTornOrElsewhereIsNoWorkRequest) {
  Push(0, 0, Pattern(21), 2);
  Push(0, 1, Pattern(20));
  ReadExtensible(0, {.opcode = Opcode::kSend, .send_flags = kInline, .elements = Bit::kInlineData}, {Pattern(8)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(8)});
  ExpectGood();
}

// The device may have passed what is in front of it meanwhile.
TEST_F(PushMonitorTest, WhatIsPushedAheadCountsWhenItIsTheNext) {
  Push(1, 1, Pattern(20));
  ReadExtensible(0, {.opcode = Opcode::kSend, .send_flags = kInline, .elements = Bit::kInlineData}, {Pattern(8)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(8)});
  Bytes other = Pattern(20);
  other[3] ^= 1;
  ExpectGood();
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = other});
  ExpectOnly("message.payload", "PSN 101 with 20 bytes of payload", "the inline data of its work request");
}

TEST_F(ExtensibleMonitorTest, ReportsMoreThanTheInlineData) {
  ReadExtensible(0, {.opcode = Opcode::kSend, .send_flags = kInline, .elements = Bit::kInlineData}, {Pattern(4)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(5)});
  ExpectOnly("message.payload", "PSN 100 with 5 bytes", "4 of inline data");
}

// What is behind the first bytes is read on its own.
TEST_F(ExtensibleMonitorTest, FollowsInlineDataThatIsReadLater) {
  const Bytes data = Pattern(100);
  for (uint16_t head = 0; head < 2; ++head) {
    ReadExtensible(head, {.opcode = Opcode::kSend, .send_flags = kInline, .elements = Bit::kInlineData}, {data});
    Read(Buffer(kSq, head) + spec::RdmaSqBase::kBytes, data);
  }
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = data});
  ExpectGood();
  Bytes other = data;
  other[99] ^= 1;
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = other});
  ExpectOnly("message.payload", "PSN 101 with 100 bytes of payload", "the inline data of its work request");
}

TEST_F(ExtensibleMonitorTest, ReportsAnotherAddressThanThatOfItsElement) {
  const Bytes rdma = Encoded(spec::RdmaSqRdma{.remote_addr = kRemote, .rkey = kRkey});
  for (uint16_t head = 0; head < 2; ++head) {
    ReadExtensible(head,
                   {.opcode = Opcode::kRdmaWrite, .send_flags = kInline, .elements = Bit::kRdma | Bit::kInlineData},
                   {rdma, Pattern(8)});
  }
  Send({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 100, .extension = RethOf(kRemote, 8), .payload = Pattern(8)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 101, .extension = RethOf(kRemote + 8, 8), .payload = Pattern(8)});
  ExpectOnly("message.work_request", "PSN 101, address 0x5008", "0x5000");
}

TEST_F(ExtensibleMonitorTest, ReportsAPayloadThatIsNotOfItsList) {
  const Bytes rdma = Encoded(spec::RdmaSqRdma{.remote_addr = kRemote, .rkey = kRkey});
  for (uint16_t head = 0; head < 2; ++head) {
    ReadExtensible(head, {.opcode = Opcode::kRdmaWrite, .elements = Bit::kRdma | Bit::kSgList},
                   {rdma, Encoded(Element(0, 10)), Encoded(Element(4096, 6))});
  }
  Bytes payload = Pattern(16);
  Read(kPages, {payload.begin(), payload.begin() + 10});
  Read(kPages + 8192, {payload.begin() + 10, payload.end()});
  Send({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 100, .extension = RethOf(kRemote, 16), .payload = payload});
  ExpectGood();
  payload[3] ^= 1;
  Send({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 101, .extension = RethOf(kRemote, 16), .payload = payload});
  ExpectOnly("message.payload", "PSN 101 with 16 bytes of payload", "those that were read at 0x90000000");
}

TEST_F(ExtensibleMonitorTest, ReportsOtherOperands) {
  const Bytes rdma = Encoded(spec::RdmaSqRdma{.remote_addr = kRemote, .rkey = kRkey});
  const Bytes operands = Encoded(spec::RdmaSqAtomic{.compare_add = 3, .swap = 4});
  for (uint16_t head = 0; head < 2; ++head) {
    ReadExtensible(head, {.opcode = Opcode::kAtomicCmpAndSwp, .elements = Bit::kRdma | Bit::kAtomic | Bit::kSgList},
                   {rdma, operands, Encoded(Element(0, 8))});
  }
  Send({.opcode = BthOpcode::kRcCompareSwap, .psn = 100, .extension = AtomicEthOf(kRemote, 4, 3)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcCompareSwap, .psn = 101, .extension = AtomicEthOf(kRemote, 3, 4)});
  ExpectOnly("message.work_request", "PSN 101, address 0x5000, key 0x311, operands 0x3, 0x4", "0x5000, 0x311");
}

// The second packet continues where the first one ended.
TEST_F(MonitorTest, ReportsAPayloadThatWasNotRead) {
  ReadWorks({.opcode = spec::IbWrOpcode::kRdmaWrite}, 1);
  ReadElements(0, {Element(0, kMtu + 8)});
  Read(kPages, Pattern(kMtu));
  Read(kPages + kMtu, Pattern(7));
  Send({.opcode = BthOpcode::kRcRdmaWriteFirst,
        .psn = 100,
        .extension = RethOf(kRemote, kMtu + 8),
        .payload = Pattern(kMtu)});
  ExpectGood();
  Bytes rest = Pattern(7);
  rest.push_back(0);
  Send({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = 101, .payload = rest});
  ExpectOnly("message.payload", "PSN 101 with 8 bytes of payload", "bytes that were read before, at 0x90000400");
}

TEST_F(MonitorTest, ReportsAResponseWithOtherBytesThanItsMemory) {
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(Region(true)));
  Read(kPages + 4, Pattern(8));
  for (uint32_t psn = 500; psn < 502; ++psn) {
    Receive({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = psn, .extension = RethOf(kRegion + 4, 8)});
    Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly,
          .psn = psn,
          .extension = Ack(psn - 499),
          .payload = Pattern(8, psn == 500 ? 1 : 2)});
    if (psn == 500) ExpectGood();
  }
  ExpectOnly("message.payload", "PSN 501 with 8 bytes of payload", "those that were read at 0x90000004");
}

// The device may have read the bytes before a program changed them, and read them again since. What it read before that
// is not known.
TEST_F(MonitorTest, MemoryThatChangesMayBeSentAsItWas) {
  ReadWorks({.opcode = spec::IbWrOpcode::kSend}, 3);
  for (uint16_t i = 0; i < 3; ++i) ReadElements(i, {Element(0, 8)});
  Read(kPages, Pattern(8, 1));
  Read(kPages, Pattern(8, 2));
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(8, 1)});
  Read(kPages, Pattern(8, 3));
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101, .payload = Pattern(8, 1)});
  ExpectGood();
  cycle_ += 2'000'000;
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 102, .payload = Pattern(8, 1)});
  ExpectOnly("message.payload", "PSN 102 with 8 bytes of payload", "those that were read at 0x90000000");
}

TEST_F(MonitorTest, ReportsAReadWhoseDataIsNotInMemory) {
  ReadWorks({.opcode = spec::IbWrOpcode::kRdmaRead, .send_flags = spec::IbSendFlags::kSignaled}, 2);
  Take(kCq, 0, 2);
  const Bytes data = Pattern(32);
  for (uint16_t i = 0; i < 2; ++i) {
    ReadElements(i, {Element(4096 - 16, 32)});
    Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 100u + i, .extension = RethOf(kRemote, 32)});
    Receive({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 100u + i, .extension = Ack(i + 1u), .payload = data});
    Write(kPages + 4096 - 16, {data.begin(), data.begin() + 16});
    if (i == 0) Write(kPages + 8192, {data.begin() + 16, data.end()});
    WriteElement(kSq, i, i);
    WriteCqe(i, spec::IbWcOpcode::kRdmaRead);
    WriteElement(kCq, i, i);
    if (i == 0) ExpectGood();
  }
  ExpectOnly("completion.read", "success of a READ whose response PSN 101 is not in memory",
             "the write of its payload at 0x90002000");
}

TEST_F(MonitorTest, ReportsAReceiveWhoseDataIsNotInMemory) {
  SetUp(kRq, spec::TableQueueKind::kRq, kQpn);
  Take(kRq, 0, 2);
  Take(kCq, 0, 2);
  const Bytes data = Pattern(32);
  for (uint16_t i = 0; i < 2; ++i) {
    Bytes work = Encoded(spec::RdmaRqReq{.num_sge = 2});
    for (const spec::RdmaSge& element : {Element(512 * i, 24), Element(4096 + 512 * i, 24)}) {
      const Bytes bytes = Encoded(element);
      work.insert(work.end(), bytes.begin(), bytes.end());
    }
    Read(Buffer(kRq, i), work);
    Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500u + i, .payload = data});
    Write(kPages + 512 * i, {data.begin(), data.begin() + 24});
    // The second time as far behind as the first time.
    Write(kPages + 8192, {data.begin() + 24, data.end()});
    WriteElement(kRq, i, i);
    Write(Buffer(kCq, i), Encoded(spec::RdmaCqReq{.opcode = spec::IbWcOpcode::kRecv, .byte_len = 32, .qp_num = kQpn}));
    WriteElement(kCq, i, i);
    if (i == 0) ExpectGood();
  }
  ExpectOnly("completion.data", "receive of 32 bytes", "the payload of its message, written at 0x90002200");
}

TEST_F(MonitorTest, ReportsAnAcknowledgeOfAWriteThatIsNotInMemory) {
  Send(kSend);  // shows the NIC's own MAC
  const auto write = [](uint32_t psn, uint64_t offset, const Bytes& data) {
    return PacketOf{.opcode = BthOpcode::kRcRdmaWriteOnly,
                    .psn = psn,
                    .extension = RethOf(kRegion + offset, static_cast<uint32_t>(data.size())),
                    .payload = data};
  };
  // Across a page: the second page of the region is not behind the first one in memory.
  const Bytes data = Pattern(32);
  Receive(write(500, 4096 - 16, data));
  Write(kPages + 4096 - 16, {data.begin(), data.begin() + 16});
  Write(kPages + 8192, {data.begin() + 16, data.end()});
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 500, .extension = Ack(1)});
  Receive(write(501, 0, data));
  ExpectGood();
  Write(kPages, {data.begin(), data.begin() + 16});
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 501, .extension = Ack(2)});
  ExpectOnly("ack.written", "acknowledge of PSN 501", "the write of its payload at 0x90000010");
}

TEST_F(MonitorTest, ReportsARequestThatIsNotSolicited) {
  ReadWorks({.opcode = spec::IbWrOpcode::kSend, .send_flags = spec::IbSendFlags::kSolicited}, 2);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .is_solicited = true});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101});
  ExpectOnly("message.work_request", "PSN 101, not solicited", "the flag of work request");
}

TEST_F(MonitorTest, ReportsARequestWithAnotherImmediate) {
  ReadWorks({.opcode = spec::IbWrOpcode::kSendWithImm, .imm_data = {9, 8, 7, 6}}, 2);
  Send({.opcode = BthOpcode::kRcSendOnlyWithImmediate, .psn = 100, .extension = {9, 8, 7, 6}});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcSendOnlyWithImmediate, .psn = 101, .extension = {9, 8, 7, 5}});
  ExpectOnly("message.work_request", "PSN 101, another immediate", "that of");
}

TEST_F(MonitorTest, ReportsARequestForAnotherAddress) {
  ReadWorks({.opcode = spec::IbWrOpcode::kRdmaWrite}, 2);
  Send({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 100, .extension = RethOf(kRemote, 0)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaWriteOnly, .psn = 101, .extension = RethOf(kRemote + 1, 0)});
  ExpectOnly("message.work_request", "PSN 101, address 0x5001", "0x5000");
}

TEST_F(MonitorTest, ReportsAMessageThatDoesNotWaitForItsFence) {
  ReadWorks({.opcode = spec::IbWrOpcode::kRdmaRead}, 2);
  Take(kSq, 2);
  ReadWork(2, spec::IbSendFlags::kFence);
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 100, .extension = RethOf(kRemote, 4)});
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 101, .extension = RethOf(kRemote, 4)});
  Receive({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 100, .extension = Ack(), .payload = Pattern(4)});
  ExpectGood();
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 102});
  ExpectOnly("message.work_request", "a message with a fence", "the responses of all READs before it");
}

TEST_F(MonitorTest, ReportsARequestOfAStoppedQueuePair) {
  Take(kControl, 0, 2);
  WriteQp(false, spec::IbQpState::kErr);
  Send(kSend);
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Send(kSend);
  ExpectOnly("qp.stopped", "rc_send_only of PSN 100", "no request of a QP that does not send");
}

TEST_F(MonitorTest, ReportsAPacketOfADestroyedQueuePair) {
  Take(kControl, 0, 2);
  WriteTable(spec::MgmtTable::kQpContext, kQpn, Encoded(spec::TableQpContext{}));
  Send(kSend);
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Send(kSend);
  ExpectOnly("qp.stopped", "rc_send_only to QP", "no packet of a QP that was reset or destroyed");
}

TEST_F(MonitorTest, ReportsASuccessThatIsNotAcknowledged) {
  Take(kCq, 0, 2);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) {
    Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100u + i});
    if (i == 0) Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100, .extension = Ack()});
    WriteElement(kSq, i, i);
    WriteIndex(kSq, i + 1);
    WriteCqe(i);
    WriteElement(kCq, i, i);
    if (i == 0) ExpectGood();
  }
  ExpectOnly("completion.acknowledged", "QP 2: success of work request 2", "1 acknowledged");
}

// The CQE of a work request may come after later ones were returned, which are not acknowledged.
TEST_F(MonitorTest, CqeAfterLaterUsedElementsCountsForItsOwnWorkRequest) {
  Take(kCq, 0, 2);
  Take(kSq, 0, 2);
  SendAcknowledged(0, true);
  ReadWork(1, spec::IbSendFlags::kSignaled);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101});
  WriteElement(kSq, 1, 1);
  for (uint16_t i = 0; i < 2; ++i) {
    WriteCqe(i, spec::IbWcOpcode::kSend, spec::IbWcStatus::kSuccess, i);
    WriteElement(kCq, i, i);
    if (i == 0) ExpectGood();
  }
  ExpectOnly("completion.acknowledged", "QP 2: success of work request 2", "1 acknowledged");
}

TEST_F(MonitorTest, AcknowledgeBehindAReadDoesNotCompleteIt) {
  Take(kCq, 0);
  Take(kSq, 0);
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 100, .extension = RethOf(0, 4)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101});
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 101, .extension = Ack()});
  WriteElement(kSq, 0, 0);
  WriteCqe(0, spec::IbWcOpcode::kRdmaRead);
  WriteElement(kCq, 0, 0);
  ExpectOnly("completion.acknowledged", "success of work request 1", "0 acknowledged");
}

TEST_F(MonitorTest, LastResponseAloneDoesNotCompleteARead) {
  const auto respond = [this](BthOpcode opcode, uint32_t psn, size_t bytes) {
    Receive({.opcode = opcode, .psn = psn, .extension = Ack(), .payload = Pattern(bytes)});
  };
  Take(kCq, 0);
  Take(kSq, 0);
  Send({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 100, .extension = RethOf(0, 2 * kMtu)});
  respond(BthOpcode::kRcRdmaReadResponseLast, 101, kMtu);  // the first one is lost
  WriteElement(kSq, 0, 0);
  WriteCqe(0, spec::IbWcOpcode::kRdmaRead);
  WriteElement(kCq, 0, 0);
  ExpectOnly("completion.acknowledged", "success of work request 1", "0 acknowledged");
}

// Two signaled work requests around one that is not.
TEST_F(MonitorTest, ReportsALostCompletion) {
  Take(kCq, 0, 2);
  Take(kSq, 0, 3);
  for (uint16_t i = 0; i < 3; ++i) SendAcknowledged(i, i != 1);
  WriteCqe(0, spec::IbWcOpcode::kSend, spec::IbWcStatus::kSuccess, 2);
  WriteElement(kCq, 0, 0);
  ExpectOnly("completion.once", "CQE of work request 0x2", "that of 0");
}

TEST_F(MonitorTest, ReportsACompletionThatWasNotRequested) {
  Take(kCq, 0, 2);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) {
    SendAcknowledged(i, i != 1);
    if (i == 1) ExpectGood();
    WriteCqe(i, spec::IbWcOpcode::kSend, spec::IbWcStatus::kSuccess, i);
    WriteElement(kCq, i, i);
  }
  ExpectOnly("completion.once", "CQE of work request 0x1", "none");
}

// The driver is told no more used buffers, but what was acknowledged ends with its CQE.
TEST_F(MonitorTest, CompletionsBehindARefusedUsedElementAreInOrder) {
  Take(kCq, 0, 3);
  Take(kSq, 0, 3);
  for (uint16_t i = 0; i < 3; ++i) {
    ReadWork(i, spec::IbSendFlags::kSignaled);
    Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100u + i});
    Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100u + i, .extension = Ack()});
  }
  WriteElement(kSq, 0, 0);
  Event({.kind = EventKind::kDmaRefusal, .payload = {}});
  for (uint16_t i = 0; i < 3; ++i) {
    if (i == 2) ExpectGood();
    WriteCqe(i, spec::IbWcOpcode::kSend, spec::IbWcStatus::kSuccess, i == 2 ? 1 : i);
    WriteElement(kCq, i, i);
  }
  ExpectOnly("completion.once", "CQE of work request 0x1", "that of 0x2");
}

// Likewise those of work requests that the device reads later.
TEST_F(MonitorTest, WorkReadBehindARefusedUsedElementCompletes) {
  Take(kCq, 0, 2);
  Take(kSq, 0, 2);
  SendAcknowledged(0, true);
  Event({.kind = EventKind::kDmaRefusal, .payload = {}});
  ReadWork(1, spec::IbSendFlags::kSignaled);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 101});
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 101, .extension = Ack()});
  for (uint16_t i = 0; i < 2; ++i) {
    WriteCqe(i, spec::IbWcOpcode::kSend, spec::IbWcStatus::kSuccess, i);
    WriteElement(kCq, i, i);
    ExpectGood();
  }
}

TEST_F(MonitorTest, ReportsAReceiveWithAnotherLength) {
  Take(kCq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) {
    Receive({.opcode = BthOpcode::kRcSendFirst, .psn = 500u + 2 * i, .payload = Pattern(kMtu)});
    Receive({.opcode = BthOpcode::kRcSendLast, .psn = 501u + 2 * i, .payload = Pattern(8)});
    spec::RdmaCqReq cqe{.opcode = spec::IbWcOpcode::kRecv, .byte_len = kMtu + 8u + i, .qp_num = kQpn};
    Write(Buffer(kCq, i), Encoded(cqe));
    WriteElement(kCq, i, i);
    if (i == 0) ExpectGood();
  }
  ExpectOnly("completion.receive", "receive of 1033 bytes", "length, flags and immediate of a message");
}

TEST_F(MonitorTest, ReportsAReceiveWithoutItsImmediate) {
  Take(kCq, 0);
  Receive({.opcode = BthOpcode::kRcSendOnlyWithImmediate, .psn = 500, .extension = {1, 2, 3, 4}});
  WriteCqe(0, spec::IbWcOpcode::kRecv);
  WriteElement(kCq, 0, 0);
  ExpectOnly("completion.receive", "receive of 0 bytes, flags 0", "length, flags and immediate of a message");
}

TEST_F(MonitorTest, ReportsAReceiveOfWhatHasNotArrived) {
  Take(kCq, 0);
  WriteCqe(0, spec::IbWcOpcode::kRecv);
  WriteElement(kCq, 0, 0);
  ExpectOnly("completion.receive", "receive of 0 bytes", "a message that has arrived");
}

// --- Rings

TEST_F(MonitorTest, GoodCompletionsGiveNoReport) {
  for (uint16_t i = 0; i < 3 * kQueueSize; ++i) {
    Complete(i);
    Interrupt(kCq);
  }
  ExpectGood();
}

TEST_F(MonitorTest, ReportsAWrongUsedLength) {
  used_length_ = 1;
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500});
  Take(kCq, 0);
  WriteCqe(0, spec::IbWcOpcode::kRecv);
  WriteElement(kCq, 0, 0);
  ExpectOnly("used.length", "used length 1", "48, a CQE");
}

TEST_F(MonitorTest, ReportsAnArmedCqThatDoesNotNotify) {
  Unmask(kCq);
  ArmCq(0);
  Complete(0);
  cycle_ += 90'000;
  Interrupt(kCq);
  Complete(1);  // not armed again
  cycle_ += 200'000;
  Take(kSq, 0);
  ExpectGood();
  ArmCq(1);  // behind the CQE that it asks for
  cycle_ += 100'000;
  Take(kSq, 1);
  ExpectOnly("arm.notifies", "queue 5 (cq 1): no interrupt after a CQE", "MSI-X 5");
}

// The device may have had a CQE that becomes visible before the answer.
TEST_F(MonitorTest, ArmByCommandCountsFromItsAnswer) {
  Unmask(kCq);
  spec::TableCqContext context{};
  context.vq_index = kCq;
  context.set_next_completion = true;
  const auto arm = Encoded(context);
  Take(kControl, 0);
  WriteTable(spec::MgmtTable::kCqContext, 1, arm);
  Complete(0);
  WriteElement(kControl, 0, 0);
  WriteIndex(kControl, 1);
  cycle_ += 200'000;
  Take(kSq, 0);
  ExpectGood();
  Take(kControl, 1);
  WriteTable(spec::MgmtTable::kCqContext, 1, arm);
  WriteElement(kControl, 1, 1);
  WriteIndex(kControl, 2);
  Complete(1);
  cycle_ += 200'000;
  Take(kSq, 1);
  ExpectOnly("arm.notifies", "queue 5 (cq 1): no interrupt after a CQE", "MSI-X 5");
}

TEST_F(MonitorTest, SolicitedArmIsForSolicitedCompletions) {
  Unmask(kCq);
  ArmCq(0, true);
  Complete(0);
  cycle_ += 200'000;
  Take(kSq, 0);
  ExpectGood();
  Complete(1, true);
  cycle_ += 200'000;
  Take(kSq, 1);
  ExpectOnly("arm.notifies", "queue 5 (cq 1): no interrupt after a CQE", "MSI-X 5");
}

TEST_F(MonitorTest, MaskedVectorOwesNoInterrupt) {
  ArmCq(0);
  Complete(0);
  cycle_ += 200'000;
  Take(kSq, 0);
  ExpectGood();
  Unmask(kCq);
  ExpectGood();
  cycle_ += 200'000;
  Take(kSq, 1);
  ExpectOnly("arm.notifies", "no interrupt after a CQE", "MSI-X 5");
}

TEST_F(MonitorTest, DriverThatArmsAgainHasSeenItsCompletions) {
  Unmask(kCq);
  ArmCq(0);
  Complete(0);
  ArmCq(1);
  cycle_ += 200'000;
  Take(kSq, 0);
  ExpectGood();
}

TEST_F(MonitorTest, ReportsAUsedElementBeforeItsCqe) {
  Take(kCq, 0);
  WriteElement(kCq, 0, 0);
  ExpectOnly("cqe.before_used", "buffer 0 used with 0 bytes written", "48");
}

class CqeElementsTest : public MonitorTest {
 protected:
  static constexpr uint8_t kElements = spec::RdmaCqElement::kTimestamp;
  // Of the next event.
  uint64_t Now() const { return (cycle_ + 1000) * 4; }
  void SetElements(uint8_t elements) {
    WriteTable(spec::MgmtTable::kCqContext, 1,
               Encoded(spec::TableCqContext{.valid = true, .elements = elements, .vq_index = kCq, .cqe = 8}));
  }
  static spec::RdmaCqBase Base(uint64_t wr_id) {
    return {.wr_id = wr_id,
            .opcode = spec::IbWcOpcode::kRecv,
            .version = 1,
            .base_bytes = 40,
            .qp_num = kQpn,
            .elements = kElements};
  }
  // With the message of a receive, into the buffer of this number.
  void WriteExtended(uint16_t number, const spec::RdmaCqBase& base, uint64_t time) {
    Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500U + number});
    Take(kCq, number);
    Bytes bytes = Encoded(base);
    const Bytes behind = Encoded(spec::RdmaCqTimestamp{.time_ns = time});
    bytes.insert(bytes.end(), behind.begin(), behind.end());
    Write(Buffer(kCq, number), bytes);
    WriteElement(kCq, number, number);
    WriteIndex(kCq, number + 1);
  }
};

TEST_F(CqeElementsTest, TimestampsInOrderAreGood) {
  SetElements(kElements);
  uint64_t time = Now();
  for (uint16_t i = 0; i < 4; ++i, ++time) WriteExtended(i, Base(i), time);
  ExpectGood();
}

TEST_F(CqeElementsTest, ReportsTheTimestampOfAnEarlierCqe) {
  SetElements(kElements);
  WriteExtended(0, Base(0), 5000);
  WriteExtended(1, Base(1), 5000);
  ExpectOnly("cqe.elements", "timestamp 5000", "one behind 5000");
}

TEST_F(CqeElementsTest, ReportsATimestampBehindItsWrite) {
  SetElements(kElements);
  const uint64_t far = Now() + 100'000'000;
  WriteExtended(0, Base(0), far);
  ExpectOnly("cqe.elements", "timestamp " + std::to_string(far), "one behind 0");
}

TEST_F(CqeElementsTest, ReportsElementsThatItsCqHasNot) {
  SetElements(0);
  WriteExtended(0, Base(0), 5000);
  ExpectOnly("cqe.elements", "version 1", "0, an rdma_cq_req");
}

TEST_F(CqeElementsTest, ReportsACqeWithoutTheElementsOfItsCq) {
  SetElements(kElements);
  Complete(0);
  ExpectOnly("cqe.elements", "version 0 and a base of 0", "1, and 40");
}

TEST_F(CqeElementsTest, ReportsAnotherSetOfElements) {
  SetElements(kElements);
  auto base = Base(0);
  base.elements = 3;
  WriteExtended(0, base, 5000);
  ExpectOnly("cqe.elements", "elements 0x3", "0x1");
}

TEST_F(MonitorTest, ReportsAUsedIndexBeforeItsElement) {
  Take(kSq, 0);
  WriteIndex(kSq, 1);
  ExpectOnly("used.index", "used index 1 after 0", "at most 0, by 0 elements");
}

TEST_F(MonitorTest, AcceptsElementsAheadOfTheUsedIndex) {
  Take(kSq, 0, 2);
  WriteElement(kSq, 0, 0);
  WriteElement(kSq, 1, 1);
  WriteIndex(kSq, 1);
  WriteIndex(kSq, 2);
  ExpectGood();
  WriteIndex(kSq, 2);
  ExpectOnly("used.index", "used index 2 after 2", "at most 2, by 0 elements");
}

TEST_F(MonitorTest, ReportsASkippedUsedElement) {
  Take(kSq, 0, 2);
  WriteElement(kSq, 1, 1);
  ExpectOnly("used.element", "8 bytes at used element 1", "element 0, the next one");
}

TEST_F(MonitorTest, ReportsABufferUsedTwice) {
  Take(kSq, 0);
  WriteElement(kSq, 0, 0);
  ExpectGood();
  WriteElement(kSq, 1, 0);
  ExpectOnly("used.available", "used element 1", "at most 1 buffers");
}

TEST_F(MonitorTest, ReportsCompletionsOutOfOrder) {
  Take(kSq, 4, 2);
  WriteElement(kSq, 0, 5);
  ExpectOnly("used.order", "used buffer 5", "4, the oldest available");
}

TEST_F(MonitorTest, ReportsAnInterruptBeforeTheUsedIndex) {
  Receive({.opcode = BthOpcode::kRcSendOnly, .psn = 500});
  Take(kCq, 0);
  WriteCqe(0, spec::IbWcOpcode::kRecv);
  WriteElement(kCq, 0, 0);
  Interrupt(kCq);
  ExpectOnly("msix.cause", "MSI-X 5", "a used buffer or an arm");
}

// --- Memory

TEST_F(MonitorTest, AccessesToALiveRegionGiveNoReport) {
  Read(kPages + 16, Pattern(64));
  Write(kPages + 3 * 8192 + 4096 - 64, Pattern(64));
  ExpectGood();
}

// Two buffers with one address: each may be accessed until it is used.
TEST_F(MonitorTest, BufferMayBeAccessedAfterAnotherOneAtItsAddressIsUsed) {
  SetUp(kRq, spec::TableQueueKind::kRq, kQpn);
  Take(kRq, 0, 2);
  Read(Desc(kRq) + 16,
       Encoded(spec::VirtqDesc{.addr = Buffer(kRq, 0), .len = Length(kRq), .flags = spec::VirtqDescFlags::kWrite}));
  Read(Buffer(kRq, 0), Bytes(16));
  WriteElement(kRq, 0, 0);
  Read(Buffer(kRq, 0), Bytes(16));
  ExpectGood();
  WriteElement(kRq, 1, 1);
  Read(Buffer(kRq, 0), Bytes(16));
  ExpectOnly("dma.inside", "DMA read of 16 bytes", "an address");
}

TEST_F(MonitorTest, ReportsAnAccessBesideTheRegion) {
  Read(kPages + 4096, Pattern(4));  // behind its first page
  ExpectOnly("dma.inside", "DMA read of 4 bytes at 0x90001000", "an address in a ring");
}

TEST_F(MonitorTest, ReportsAnAccessAfterTheAnswerOfADeregistration) {
  Take(kControl, 0);
  WriteTable(spec::MgmtTable::kMr, 3, {}, spec::MgmtTableOperation::kClear);
  Write(kPages, Pattern(64));
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Write(kPages, Pattern(64));
  ExpectOnly("dma.inside", "DMA write of 64 bytes at 0x90000000", "an address in a ring");
}

TEST_F(MonitorTest, ReportsAnAccessToTheMemoryOfBeforeAReregistration) {
  constexpr uint64_t kNewPages = 0xa000'0000;
  for (uint64_t page = 0; page < 4; ++page) {
    WriteTable(spec::MgmtTable::kTranslation, static_cast<uint32_t>(20 + page),
               Encoded(spec::TableTranslation{.address = kNewPages + 4096 * page}));
  }
  Take(kControl, 0);
  spec::TableMr region = Region();
  region.first_translation = 20;
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(region));
  Write(kPages, Pattern(64));
  Write(kNewPages, Pattern(64));
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Write(kNewPages + 4096, Pattern(64));
  ExpectGood();
  Write(kPages, Pattern(64));
  ExpectOnly("dma.inside", "DMA write of 64 bytes at 0x90000000", "an address in a ring");
}

TEST_F(MonitorTest, ReportsAnAccessToABufferAfterItsCompletion) {
  Take(kControl, 0);
  Read(Buffer(kControl, 0), Pattern(64));
  ExpectGood();
  WriteElement(kControl, 0, 0);
  Read(Buffer(kControl, 0), Pattern(64));
  ExpectOnly("dma.inside", "DMA read of 64 bytes", "an address in a ring");
}

TEST_F(MonitorTest, ReportsAReadOfAReturnedWorkRequest) {
  Take(kSq, 0);
  Read(Buffer(kSq, 0), Pattern(48));
  Read(Buffer(kSq, 0), Pattern(48));  // for a replay
  WriteElement(kSq, 0, 0);
  ExpectGood();
  Read(Buffer(kSq, 0), Pattern(48));
  ExpectOnly("dma.inside", "DMA read of 48 bytes", "an address in a ring");
}

TEST_F(MonitorTest, ReportsAnAccessToTheRingAfterTheEndOfItsReset) {
  WriteBar(Common::kQueueSelectOffset, kSq, 2);
  WriteBar(Common::kQueueResetOffset, 1, 2);
  Read(Driver(kSq), Pattern(4));
  ExpectGood();
  Event({.kind = EventKind::kBarRead,
         .address = Common::kQueueResetOffset,
         .id = spec::kBarVirtio,
         .bytes = 2,
         .payload = {}});
  const Bytes zero(8);
  Event({.kind = EventKind::kBarCompletion, .bytes = 8, .payload = zero});
  Read(Driver(kSq), Pattern(4));
  ExpectOnly("dma.inside", "DMA read of 4 bytes", "an address in a ring");
}

TEST_F(MonitorTest, ReportsABufferOutsideOfTheWindow) {
  WriteTable(
      spec::MgmtTable::kWindow, kSq,
      Encoded(spec::TableWindow{.enable = true, .base = Buffer(kSq, 0), .last = Buffer(kSq, 1) + Length(kSq) - 1}));
  Take(kSq, 0, 2);  // the second one ends with the window
  Read(Buffer(kSq, 0), Pattern(64));
  Read(Buffer(kSq, 1), Pattern(64));
  ExpectGood();
  Take(kSq, 2);
  Read(Buffer(kSq, 2), Pattern(64));
  ExpectOnly("dma.inside", "DMA read of 64 bytes", "an address in a ring");
}

// A tenant may write any address into its ring: what the device reads there for others is not taken for its buffers.
TEST_F(MonitorTest, BuffersOutsideOfTheWindowHideNothing) {
  constexpr std::array kKinds = {spec::TableQueueKind::kSq, spec::TableQueueKind::kRq, spec::TableQueueKind::kCq,
                                 spec::TableQueueKind::kEvent};
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(Region(true)));
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const auto queue = static_cast<uint16_t>(8 + i);
    // Before the driver enables the queue, as the service does, or behind it.
    const auto set_window = [&] {
      WriteTable(spec::MgmtTable::kWindow, queue,
                 Encoded(spec::TableWindow{.enable = true, .base = Desc(queue), .last = Desc(queue) + 0xffff}));
    };
    if (i % 2 == 0) set_window();
    SetUp(queue, kKinds.at(i), kQpn + 1);
    if (i % 2 != 0) set_window();
    for (const bool is_indirect : {false, true}) {
      const uint16_t head = is_indirect ? 1 : 0, available = head + 1;
      Read(Driver(queue) + 2, {static_cast<uint8_t>(available), 0});
      Read(Driver(queue) + 4 + uint64_t{head} * 2, {static_cast<uint8_t>(head), 0});
      Read(Desc(queue) + uint64_t{head} * 16,
           Encoded(
               spec::VirtqDesc{.addr = kPages,
                               .len = 0x1000,
                               .flags = is_indirect ? spec::VirtqDescFlags::kIndirect : spec::VirtqDescFlags::kWrite}));
    }
  }
  Read(kPages + 4, Pattern(8));
  Receive({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 500, .extension = RethOf(kRegion + 4, 8)});
  Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 500, .extension = Ack(1), .payload = Pattern(8)});
  ExpectGood();
  Receive({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 501, .extension = RethOf(kRegion + 4, 8)});
  Send({.opcode = BthOpcode::kRcRdmaReadResponseOnly, .psn = 501, .extension = Ack(2), .payload = Pattern(8, 2)});
  ExpectOnly("message.payload", "PSN 501 with 8 bytes of payload", "those that were read at 0x90000004");
}

// --- Idle

TEST_F(MonitorTest, ReportsAnOutputOfADeviceThatIsIdle) {
  SayIdle();
  ArmCq(0);  // an input
  Interrupt(kCq);
  SayIdle(cycle_ + kLater);
  cycle_ += kLater;
  Read(kPages, Pattern(4));  // it woke
  ExpectGood();
  SayIdle(cycle_ + kLater);
  Read(kPages, Pattern(4));
  ExpectOnly("idle.silent", "dma_read of a device that is idle", "nothing before the next input or cycle");
}

TEST_F(MonitorTest, ReportsIdleWithAReadThatIsNotAnswered) {
  Read(kPages, Pattern(4));
  BeIdle();
  ExpectGood();
  Event({.kind = EventKind::kDmaRead, .address = kPages, .id = 7, .bytes = 4, .payload = {}});
  BeIdle();
  ExpectOnly("idle.owed", "idle with 1 DMA reads that are not answered", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithARegisterThatIsNotRead) {
  Event({.kind = EventKind::kBarRead, .address = 0, .id = spec::kBarVirtio, .bytes = 2, .payload = {}});
  BeIdle();
  ExpectOnly("idle.owed", "idle with 1 BAR reads that are not answered", "work until it is done");
}

TEST_F(MonitorTest, ReportsAStatusOfIdleWithAReadThatIsNotAnswered) {
  ReadStatus(true);
  Event({.kind = EventKind::kDmaRead, .address = kPages, .id = 7, .bytes = 4, .payload = {}});
  ReadStatus(false);
  ExpectGood();
  ReadStatus(true);
  ExpectOnly("idle.owed", "status.idle with 1 DMA reads that are not answered", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithAUsedElementWithoutItsIndex) {
  Take(kSq, 0);
  WriteElement(kSq, 0, 0);
  WriteIndex(kSq, 1);
  BeIdle();
  ExpectGood();
  Take(kSq, 1);
  WriteElement(kSq, 1, 1);
  BeIdle();
  ExpectOnly("idle.owed", "queue 6 (sq 2): used element 1 without its index", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithACqeWhoseBufferIsNotUsed) {
  Complete(0);
  Take(kCq, 1);
  BeIdle();
  ExpectGood();
  WriteCqe(1, spec::IbWcOpcode::kRecv);
  BeIdle();
  ExpectOnly("idle.owed", "queue 5 (cq 1): a CQE whose buffer is not used", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithAnInterruptThatIsOwed) {
  Serve();
  Unmask(kCq);
  ArmCq(0);
  Complete(0);
  BeIdle(cycle_ + kLater);  // it may be moderated
  ExpectGood();
  BeIdle();
  ExpectOnly("idle.owed", "queue 5 (cq 1): no interrupt for its CQE", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithANotificationThatWasNotFollowed) {
  Serve();
  Ring(kSq);
  ReadWorks({.opcode = spec::IbWrOpcode::kSend}, 1);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100});
  Ring(kSq);
  BeIdle(cycle_ + kLater);  // it may wait for its peer
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100, .extension = Ack(1)});
  WriteElement(kSq, 0, 0);
  WriteIndex(kSq, 1);
  Serve(true);
  BeIdle();  // it is paused
  ExpectGood();
  Serve();
  BeIdle();
  ExpectOnly("idle.owed", "queue 6 (sq 2): a notification, and the ring not read since", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithAWorkRequestThatIsNotSent) {
  Serve();
  ReadWorks({.opcode = spec::IbWrOpcode::kSend}, 1);
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100});
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100, .extension = Ack(1)});
  WriteElement(kSq, 0, 0);
  WriteIndex(kSq, 1);
  BeIdle();
  ExpectGood();
  Take(kSq, 1);
  BeIdle();
  ExpectOnly("idle.owed", "queue 6 (sq 2): 1 buffers that are available", "work until it is done");
}

// The element of a replay is another one than before: only a program that changes what it has posted does that.
TEST_F(MonitorTest, WorkRequestThatItsProgramHasChangedIsNotFollowed) {
  ReadWorks({.opcode = spec::IbWrOpcode::kSend}, 1);
  ReadElements(0, {Element(0, 61)});
  Read(kPages, Pattern(61));
  ReadElements(0, {Element(4096, 61)});
  Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .payload = Pattern(61, 2)});
  ExpectGood();
}

// A work request that waits in a send queue, behind an event of the device.
class MonitorEventTest : public MonitorTest {
 protected:
  static constexpr uint16_t kEvents = 9;
  void BeIdleBehind(const std::function<void()>& happen) {
    SetUp(kEvents, spec::TableQueueKind::kEvent, 0);
    Serve();
    ReadWorks({.opcode = spec::IbWrOpcode::kSend}, 1);
    Send({.opcode = BthOpcode::kRcSendOnly, .psn = 100});
    Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100, .extension = Ack(1)});
    WriteElement(kSq, 0, 0);
    WriteIndex(kSq, 1);
    happen();
    Take(kSq, 1);
    BeIdle();
  }
  void Report(spec::RdmaEventType type, uint32_t element) {
    Take(kEvents, 0);
    Write(Buffer(kEvents, 0), Encoded(spec::RdmaEvent{.event_type = type, .element = element}));
    WriteElement(kEvents, 0, 0);
    WriteIndex(kEvents, 1);
  }
  void ExpectOwed() {
    ExpectOnly("idle.owed", "queue 6 (sq 2): 1 buffers that are available", "work until it is done");
  }
};

TEST_F(MonitorEventTest, QueueThatTheDeviceHasStoppedOwesNothing) {
  BeIdleBehind([&] { Report(spec::RdmaEventType::kVqErr, kSq); });
  ExpectGood();
}
TEST_F(MonitorEventTest, QueuePairThatTheDeviceHasStoppedOwesNothing) {
  BeIdleBehind([&] { Report(spec::RdmaEventType::kQpFatal, kQpn); });
  ExpectGood();
}
TEST_F(MonitorEventTest, QueuePairOfAFailedCompletionQueueOwesNothing) {
  BeIdleBehind([&] { Report(spec::RdmaEventType::kCqErr, 1); });
  ExpectGood();
}
TEST_F(MonitorEventTest, LostEventMayHaveBeenOfAnyQueue) {
  BeIdleBehind([&] { Read(Driver(kEvents) + 2, {0, 0}); });
  ExpectGood();
}
TEST_F(MonitorEventTest, ReportsIdleBehindTheEventOfAnotherQueue) {
  BeIdleBehind([&] { Report(spec::RdmaEventType::kVqErr, kRq); });
  ExpectOwed();
}
TEST_F(MonitorEventTest, ReportsIdleBehindTheEventOfAnotherQueuePair) {
  BeIdleBehind([&] { Report(spec::RdmaEventType::kQpFatal, kQpn + 1); });
  ExpectOwed();
}

// A work request that cannot be read is not used, and its queue is reported.
TEST_F(MonitorEventTest, SendQueueThatTheDeviceHasStoppedMayHaveSkippedABuffer) {
  SetUp(kEvents, spec::TableQueueKind::kEvent, 0);
  Take(kSq, 4, 2);
  WriteElement(kSq, 0, 5);
  Report(spec::RdmaEventType::kVqErr, kSq);
  ExpectGood();
}
TEST_F(MonitorEventTest, ReportsABufferThatAStoppedReceiveQueueSkips) {
  SetUp(kEvents, spec::TableQueueKind::kEvent, 0);
  SetUp(kRq, spec::TableQueueKind::kRq, kQpn);
  Take(kRq, 4, 2);
  Report(spec::RdmaEventType::kVqErr, kRq);
  WriteElement(kRq, 0, 5);
  ExpectOnly("used.order", "used buffer 5", "4, the oldest available");
}
TEST_F(MonitorEventTest, ReportsABufferThatIsSkippedBehindTheEventOfAnotherQueue) {
  SetUp(kEvents, spec::TableQueueKind::kEvent, 0);
  Take(kSq, 4, 2);
  WriteElement(kSq, 0, 5);
  Report(spec::RdmaEventType::kVqErr, kRq);
  ExpectOnly("used.order", "used buffer 5", "4, the oldest available");
}

TEST_F(MonitorTest, ReportsIdleWithAFrameThatIsNotSent) {
  SetUp(8, spec::TableQueueKind::kTransmit, 0);
  Serve();
  BeIdle();
  ExpectGood();
  Take(8, 0);
  BeIdle();
  ExpectOnly("idle.owed", "queue 8 (transmit 0): 1 buffers that are available", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithoutATimer) {
  Serve();
  Send(kSend);
  BeIdle(cycle_ + kLater);
  ExpectGood();
  BeIdle();
  ExpectOnly("idle.owed", "QP 2: no timer for PSN 100, which is not acknowledged", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithinAMessage) {
  Serve();
  Send({.opcode = BthOpcode::kRcSendFirst, .psn = 100, .payload = Pattern(kMtu)});
  Receive({.opcode = BthOpcode::kRcAcknowledge, .psn = 100, .extension = Ack()});
  BeIdle(cycle_ + kLater);
  ExpectGood();
  BeIdle();
  ExpectOnly("idle.owed", "QP 2: the rest of a message", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithoutACqe) {
  Serve();
  Take(kCq, 0, 2);
  Take(kSq, 0, 2);
  for (uint16_t i = 0; i < 2; ++i) {
    SendAcknowledged(i, true);
    WriteIndex(kSq, i + 1);
    if (i == 1) break;
    WriteCqe(0, spec::IbWcOpcode::kSend, spec::IbWcStatus::kSuccess, 0);
    WriteElement(kCq, 0, 0);
    WriteIndex(kCq, 1);
  }
  BeIdle(cycle_ + kLater);
  ExpectGood();
  BeIdle();
  ExpectOnly("idle.owed", "QP 2: no CQE of work request 0x1", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithoutAnAcknowledge) {
  Serve();
  Send(kSend);  // shows the NIC's own MAC
  const auto write = [this](uint32_t psn, bool asks) {
    Receive({.opcode = BthOpcode::kRcRdmaWriteOnly,
             .psn = psn,
             .extension = RethOf(kRegion, 8),
             .payload = Pattern(8),
             .asks = asks});
  };
  write(500, false);
  Write(kPages, Pattern(8));
  write(501, true);
  BeIdle(cycle_ + kLater);  // it may have been dropped
  Write(kPages, Pattern(8));
  Send({.opcode = BthOpcode::kRcAcknowledge, .psn = 501, .extension = Ack(2)});
  write(502, true);
  BeIdle(cycle_ + kLater);
  ExpectGood();
  Write(kPages, Pattern(8));
  BeIdle(cycle_ + kLater);
  ExpectOnly("idle.owed", "QP 2: no acknowledge of PSN 502, which was executed", "work until it is done");
}

TEST_F(MonitorTest, ReportsIdleWithinTheResponsesToARead) {
  Serve();
  WriteTable(spec::MgmtTable::kMr, 3, Encoded(Region(true)));
  Read(kPages, Pattern(kMtu));
  Read(kPages + kMtu, Pattern(1));
  Receive({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = 500, .extension = RethOf(kRegion, kMtu + 1)});
  BeIdle();  // it may have been dropped
  ExpectGood();
  Send({.opcode = BthOpcode::kRcRdmaReadResponseFirst, .psn = 500, .extension = Ack(1), .payload = Pattern(kMtu)});
  BeIdle();
  ExpectOnly("idle.owed", "QP 2: no response PSN 501, behind those sent", "work until it is done");
}

}  // namespace
}  // namespace vireo::sim
