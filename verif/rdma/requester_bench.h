// SPDX-License-Identifier: Apache-2.0
// Test bench of the requester: work requests and replays to feed it, a reference that takes one work request after the
// other, and the bench that runs RTL and model in step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Vrequester.h"
#include "Vrequester_burst.h"
#include "Vrequester_narrow.h"
#include "model/rdma/requester.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"
#include "verif/rdma/grant_bench.h"
#include "verif/rdma/room_bench.h"

namespace vireo::verif {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::Requester;
using spec::BthOpcode;
using spec::IbMtu;
using spec::IbQpState;
using spec::IbQpType;
using spec::IbSendFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::MemoryStatus;
using spec::RdmaError;

constexpr spec::Config MakeConfig() {
  spec::Config config = spec::kNic1;  // as the Verilated class was made
  config.datapath_bits = 512;
  config.atomics = 1;
  config.fast_registration = 1;
  config.num_qps = 16;
  config.num_ahs = 16;
  config.max_send_sge = 7;
  return config;
}
inline constexpr spec::Config kConfig = MakeConfig();
// Beats shorter than inline data that a packet may carry.
constexpr spec::Config MakeNarrowConfig() {
  spec::Config config = kConfig;
  config.datapath_bits = 64;
  return config;
}
inline constexpr spec::Config kNarrowConfig = MakeNarrowConfig();

inline uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

// A longer READ is sent by the completer's replay. [IBTA vol. 1, 9.7.1]
inline constexpr uint32_t kMostReadPackets = (1U << 22) / kConfig.send_records;

// The memory check's answer by key and address: two runs, cut at the page; keys from 0xf0 on are refused.
inline spec::MemoryPlace PlaceOf(const spec::MemoryCheck& check) {
  constexpr uint64_t kPage = 4096;
  if (check.key >= 0xf0 && check.key < 0xf4) {
    return {.status = static_cast<MemoryStatus>(1 + check.key % 4)};
  }
  // Keys from 0x80 on select regions of 1,000 bytes from 0x1'0000 on.
  if (check.key >= 0x80 && check.key < 0xf0 && check.address + check.bytes > 0x1'0000 + 1000) {
    return {.status = MemoryStatus::kBounds};
  }
  const auto bytes0 = static_cast<uint16_t>(std::min<uint64_t>(check.bytes, kPage - check.address % kPage));
  const auto bytes1 = static_cast<uint16_t>(check.bytes - bytes0);
  return {.address0 = check.address + 0x7000'0000,
          .bytes0 = bytes0,
          .address1 = bytes1 == 0 ? 0 : check.address * 3 & ~(kPage - 1),
          .bytes1 = bytes1,
          .grant = GrantOf(check.address)};
}

// Numbers of ib_wr_opcode.
inline constexpr uint8_t kRead = 4;
inline constexpr uint8_t kCompareSwap = 5;
inline constexpr uint8_t kFetchAdd = 6;
inline constexpr uint8_t kFlush = 14;
inline constexpr uint8_t kAtomicWrite = 15;

struct WorkRequest {
  uint32_t qpn = 3;
  uint16_t head = 0;
  RdmaError failed = RdmaError::kOk;
  uint32_t bytes = 592;
  uint64_t wr_id = 0;
  uint8_t opcode = static_cast<uint8_t>(spec::IbWrOpcode::kRdmaWrite);
  uint8_t flags = IbSendFlags::kSignaled;
  uint64_t remote_address = 0x1234'5678'9abc'def0;
  uint32_t rkey = 0xfeed'beef;
  uint64_t compare_add = 0x0102'0304'0506'0708;  // atomic operations
  uint64_t swap = 0xf1f2'f3f4'f5f6'f7f8;
  uint32_t immediate = 0x0a0b'0c0d;
  uint32_t num_sge = 1;  // inline: data in its place
  spec::RdmaSge sge{.addr = 0x1'0000, .length = 100, .lkey = 0x42};
  std::vector<spec::RdmaSge> further{};  // elements
  bool is_datagram = false;              // then these count instead of remote_address and rkey
  uint32_t remote_qpn = 0x12'3456;
  uint32_t remote_qkey = 0x1122'3344;
  uint32_t ah = 3;
  bool extensible = false;  // then `bytes` does not count,
  uint8_t version = 1;
  std::optional<uint8_t> mask{};     // but these, if it has not the elements or the length
  std::optional<uint32_t> length{};  //   of its operation

  // The elements of an extensible one: 1 peer's memory, 2 datagram, 4 operands, 8 inline data, 16 list.
  static uint8_t MaskOf(uint8_t opcode, bool is_datagram) {
    if (is_datagram) return 2;
    if (opcode == kCompareSwap || opcode == kFetchAdd || opcode == kAtomicWrite || opcode == kFlush) return 5;
    return opcode == 0 || opcode == 1 || opcode == kRead ? 1 : 0;
  }
  uint8_t Mask() const {
    if (mask.has_value()) return *mask;
    return static_cast<uint8_t>(MaskOf(opcode, is_datagram) | (IsInline() ? 8 : num_sge != 0 ? 16 : 0));
  }
  uint32_t FixedBytes() const { return 16 + 16 * static_cast<uint32_t>(std::popcount(Mask() % 8U)); }
  uint32_t DescriptorBytes() const {
    if (!extensible) return bytes;
    if (length.has_value()) return *length;
    return FixedBytes() + (IsInline() ? num_sge & 0xffff : 16 * num_sge);
  }
  uint64_t ListAddress() const { return Address() + (extensible ? FixedBytes() : 576); }
  uint64_t InlineAddress() const { return Address() + (extensible ? FixedBytes() : 48); }
  // Goes with the packet.
  bool IsCarried() const { return extensible && IsInline() && InlineBytes() >= 1 && InlineBytes() <= 32; }
  uint8_t InlineByte(uint32_t index) const { return static_cast<uint8_t>(wr_id + 7 * head + 13 * index + 1); }

  bool IsAtomic() const { return opcode == kCompareSwap || opcode == kFetchAdd; }
  bool IsFlush() const { return opcode == kFlush; }
  // What it requests is in the place of an operand: length, placement, selectivity.
  uint8_t Placement() const { return static_cast<uint8_t>(compare_add >> 32); }
  uint8_t Selectivity() const { return static_cast<uint8_t>(compare_add >> 40); }
  void SetFlush(uint32_t length_to_flush, uint64_t placement, uint64_t selectivity) {
    opcode = kFlush;
    num_sge = 0;
    compare_add = selectivity << 40 | placement << 32 | length_to_flush;
  }
  bool IsFlushLegal() const {
    if (Placement() == 0 || Placement() > 3) return false;
    return Selectivity() == 1 || (Selectivity() == 0 && (compare_add >> 31 & 1) == 0);
  }
  // Without elements; the operands are in the work request.
  bool IsStore() const { return opcode == kAtomicWrite || IsFlush(); }
  // Atomic operations are READs of 8 bytes here, ATOMIC WRITE and FLUSH of none.
  bool IsRead() const { return opcode == kRead || IsAtomic() || IsStore(); }
  // As the device counts them.
  bool HasElements() const {
    if (!extensible) return num_sge != 0;
    return (Mask() & 16) != 0 && (DescriptorBytes() - FixedBytes()) % 1024 >= 16;
  }
  bool IsInline() const { return (flags & IbSendFlags::kInline) != 0; }
  uint32_t InlineBytes() const {
    if (!extensible) return num_sge & 0xffff;
    return DescriptorBytes() < FixedBytes() ? 0 : DescriptorBytes() - FixedBytes();
  }
  uint64_t Address() const { return 0x5555'0000 + uint64_t{head} * 0x1000; }
  void SetList(std::vector<spec::RdmaSge> list) {
    num_sge = static_cast<uint32_t>(list.size());
    bytes = 576 + 16 * num_sge;
    if (list.empty()) return;
    sge = list.front();
    list.erase(list.begin());
    further = std::move(list);
  }
  void SetInline(uint32_t length) {
    flags |= IbSendFlags::kInline;
    num_sge = 0xabcd'0000 | length;  // the upper half is never read
    bytes = 576;
  }
  // The sources of the payload.
  std::vector<spec::RdmaSge> Elements() const {
    if (IsInline()) return {{.addr = InlineAddress(), .length = InlineBytes()}};
    if (num_sge == 0) return {};
    std::vector<spec::RdmaSge> all{sge};
    all.insert(all.end(), further.begin(), further.end());
    return all;
  }
  uint64_t Length() const { return IsAtomic() ? 8 : Total(); }
  uint64_t Total() const {
    uint64_t length = 0;
    for (const auto& element : Elements()) length += element.length;
    return length;
  }

  spec::WorkRequest Token() const {
    spec::WorkRequest token{
        .qpn = qpn, .head = head, .failed = failed, .address = Address(), .bytes = DescriptorBytes()};
    if (failed != RdmaError::kOk) return token;
    if (extensible) {
      const std::vector<uint8_t> start = Start();
      std::copy_n(start.begin(), sizeof token.head_bytes, token.head_bytes);
      std::copy(start.begin() + sizeof token.head_bytes, start.end(), token.tail_bytes);
      return token;
    }
    spec::RdmaSqReq request{.wr_id = wr_id, .opcode = static_cast<spec::IbWrOpcode>(opcode), .send_flags = flags};
    for (size_t k = 0; k < 4; ++k) request.imm_data[k] = static_cast<uint8_t>(immediate >> (24 - 8 * k));
    if (is_datagram) {
      spec::RdmaSqReqUd{.remote_qpn = remote_qpn, .remote_qkey = remote_qkey, .ah = ah}.Encode(request.wr);
    } else if (IsAtomic() || IsStore()) {
      spec::RdmaSqReqAtomic{.remote_addr = remote_address, .compare_add = compare_add, .swap = swap, .rkey = rkey}
          .Encode(request.wr);
    } else {
      spec::RdmaSqReqRdma{.remote_addr = remote_address, .rkey = rkey}.Encode(request.wr);
    }
    spec::RdmaSqReqNumSge{.num_sge = num_sge}.Encode(request.size);
    uint8_t memory[spec::RdmaSqReq::kBytes + spec::RdmaSge::kBytes];
    request.Encode(memory);
    sge.Encode(memory + spec::RdmaSqReq::kBytes);
    std::copy_n(memory, sizeof token.head_bytes, token.head_bytes);
    std::copy_n(memory + spec::RdmaSqReq::kSizeOffset, sizeof token.tail_bytes, token.tail_bytes);
    return token;
  }

  // The first 64 bytes of an extensible one: base, elements by its mask, data or list.
  std::vector<uint8_t> Start() const {
    std::vector<uint8_t> all;
    const auto add = [&all](uint64_t value, unsigned count) {
      for (unsigned k = 0; k < count; ++k) all.push_back(static_cast<uint8_t>(value >> 8 * k));
    };
    add(wr_id, 8);
    add(opcode, 1);
    add(flags, 1);
    add(version, 1);
    add(Mask(), 1);
    for (unsigned k = 0; k < 4; ++k) add(immediate >> (24 - 8 * k), 1);
    if ((Mask() & 1) != 0) add(remote_address, 8), add(rkey, 4), add(0xeeee'eeee, 4);  // reserved: ignored
    if ((Mask() & 2) != 0) add(remote_qpn, 4), add(remote_qkey, 4), add(ah, 4), add(0xeeee'eeee, 4);
    if ((Mask() & 4) != 0) add(compare_add, 8), add(swap, 8);
    if (IsInline()) {
      for (uint32_t i = 0; all.size() < 64; ++i) add(InlineByte(i), 1);
    } else {
      add(sge.addr, 8), add(sge.length, 4), add(sge.lkey, 4);
      for (const auto& element : further) add(element.addr, 8), add(element.length, 4), add(element.lkey, 4);
    }
    all.resize(64);
    // Zero after the end of the descriptor.
    for (size_t i = DescriptorBytes(); i < all.size(); ++i) all[i] = 0;
    return all;
  }
};

// The packets of a work request that a replay requests.
struct Replay {
  uint8_t epoch = 1;
  uint8_t slot = 0;
  uint32_t psn = 0;
  uint32_t first_psn = 0;
  uint32_t last_psn = 0;
  uint16_t packets = 0;
  bool first_transmission = false;
  uint8_t number = 0;  // READ

  spec::WorkRequest Token(const WorkRequest& work) const {
    spec::WorkRequest token = work.Token();
    token.is_replay = true;
    token.epoch = epoch;
    token.slot = slot;
    token.psn = psn;
    token.first_psn = first_psn;
    token.last_psn = last_psn;
    token.packets = packets;
    token.first_transmission = first_transmission;
    token.number = number;
    token.serial = static_cast<uint8_t>((slot + 5 * psn + epoch) % model::WorkFence::kReplays);
    return token;
  }
};
inline spec::WorkRequest ResumeToken(uint32_t qpn, uint8_t epoch, uint32_t psn, uint8_t records) {
  return {.qpn = qpn, .is_replay = true, .resume = true, .epoch = epoch, .psn = psn, .number = records};
}

struct Qp {
  IbQpType type = IbQpType::kRc;
  IbMtu mtu = IbMtu::kMtu1024;
  bool sq_sig_all = false;
  uint16_t pdn = 9;
  uint8_t max_send_sge = 4;
  uint16_t max_inline_data = 512;
  uint32_t psn = 1000;
  IbQpState state = IbQpState::kRts;
  bool dead = false;
  bool send_dead = false;  // until a work request comes after SQE
  bool was_sqe = false;
  bool held = false;  // or holds itself
  uint8_t epoch = 0;
  uint8_t max_rd_atomic = 4;
  uint32_t qkey = 0xaabb'ccdd;
  bool carries_inline = true;  // the device does

  uint32_t Mtu() const { return 128u << static_cast<unsigned>(mtu); }
  bool IsRc() const { return type == IbQpType::kRc; }
  bool IsUd() const { return type == IbQpType::kUd || type == IbQpType::kGsi; }
  bool IsSendOnly() const { return type == IbQpType::kUc || IsUd(); }
  bool Has(uint8_t opcode) const {
    if (IsRc()) return opcode <= 6 || opcode == kAtomicWrite || opcode == kFlush;
    if (type == IbQpType::kUc) return opcode <= 3;
    return IsUd() && (opcode == 2 || opcode == 3);
  }
  bool IsSending() const { return state == IbQpState::kRts || state == IbQpState::kSqd; }
  uint32_t Packets(uint64_t length) const {
    return length == 0 ? 1 : static_cast<uint32_t>((length + Mtu() - 1) / Mtu());
  }
};

// One packet's jobs, up to the run whose memory fails, and the drop behind it.
struct Packet {
  std::vector<spec::TxJob> jobs;
  RdmaError why = RdmaError::kOk;
};

// Opcodes of RC by operation (RDMA WRITE, with immediate, SEND, with immediate, RDMA READ, COMPARE SWAP, FETCH ADD,
// ATOMIC WRITE, FLUSH) and position (middle, first, last, only). UC has 32 more, UD 96. [IBTA vol. 1, table 38]
inline constexpr uint8_t kOpcodes[9][4] = {{7, 6, 8, 10},    {7, 6, 9, 11},    {1, 0, 2, 4},
                                           {1, 0, 3, 5},     {12, 12, 12, 12}, {19, 19, 19, 19},
                                           {20, 20, 20, 20}, {29, 29, 29, 29}, {28, 28, 28, 28}};

inline Packet PacketOf(const Qp& qp, const WorkRequest& work, uint32_t first_psn, uint32_t index) {
  const auto length = static_cast<uint32_t>(work.Length());
  const uint32_t packets = qp.Packets(length);
  const bool last = index + 1 == packets;
  const uint32_t begin = index * qp.Mtu();
  const uint32_t bytes = last ? length - begin : qp.Mtu();
  const bool is_send = work.opcode == 2 || work.opcode == 3;
  const bool has_immediate = work.opcode == 1 || work.opcode == 3;
  const uint8_t service = qp.IsRc() ? 0 : qp.IsUd() ? 96 : 32;

  spec::TxPacket packet{
      .qpn = work.qpn,
      .opcode = static_cast<BthOpcode>(
          service +
          kOpcodes[work.IsFlush() ? 8 : std::min<uint8_t>(work.opcode, 7)][(last ? 2 : 0) + (index == 0 ? 1 : 0)]),
      .solicited_event = last && (is_send || has_immediate) && (work.flags & IbSendFlags::kSolicited) != 0,
      .ack_req = qp.IsRc() && (last || work.IsRead() || (first_psn + index) % 64 == 63),
      .psn = Psn(first_psn + index),
      .payload_bytes = static_cast<uint16_t>(work.IsRead() ? 0 : bytes),
      .has_ah = qp.IsUd(),
      .ah = static_cast<uint16_t>(qp.IsUd() ? work.ah : 0),
      .dest_qpn = qp.IsUd() ? Psn(work.remote_qpn) : 0,
      .reports = last && !qp.IsRc(),
      .last_psn = Psn(first_psn + (work.IsRead() ? packets - 1 : index)),
      .epoch = qp.epoch};
  size_t extension = 0;
  const auto add = [&](uint64_t value, unsigned count) {
    for (unsigned k = 0; k < count; ++k) {
      packet.extension[extension++] = static_cast<uint8_t>(value >> (8 * (count - 1 - k)));
    }
  };
  if (work.IsFlush()) add(work.Selectivity() << 4 | work.Placement(), 4);
  if (work.IsAtomic()) {
    add(work.remote_address, 8);
    add(work.rkey, 4);
    add(work.opcode == kCompareSwap ? work.swap : work.compare_add, 8);
    add(work.opcode == kCompareSwap ? work.compare_add : 0, 8);
  } else if (!is_send && (index == 0 || work.IsRead())) {
    add(work.remote_address + begin, 8);
    add(work.rkey, 4);
    add(work.IsFlush() ? work.compare_add & 0xffff'ffff : work.IsStore() ? 8 : length - begin, 4);
  }
  if (work.IsStore() && !work.IsFlush()) {
    for (unsigned k = 0; k < 8; ++k) add(work.compare_add >> 8 * k & 0xff, 1);
  }
  if (qp.IsUd()) {
    add(work.remote_qkey >= 0x8000'0000 ? qp.qkey : work.remote_qkey, 4);
    add(work.qpn, 4);
  }
  if (has_immediate && last) add(work.immediate, 4);

  Packet result;
  if (work.IsRead()) {
    result.jobs.push_back({.packet = packet});
    return result;
  }
  uint32_t position = 0;  // of the element, in the message
  uint32_t given = 0;
  for (const auto& element : work.Elements()) {
    const uint32_t from = std::max(begin, position);
    const uint32_t to = std::min(begin + bytes, position + element.length);
    position += element.length;
    if (from >= to) continue;
    spec::TxJob job{.packet = packet};
    const uint64_t address = element.addr + element.length - (position - from);
    const auto run = static_cast<uint16_t>(to - from);
    if (qp.carries_inline && work.IsCarried()) {
      job.packet.has_inline = true;
      for (uint32_t i = 0; i < run; ++i) job.packet.inline_data[i] = work.InlineByte(i);
    } else if (work.IsInline()) {
      job.address0 = address;
      job.bytes0 = run;
    } else {
      const auto place = PlaceOf({.key = element.lkey, .pdn = qp.pdn, .address = address, .bytes = run});
      if (place.status != MemoryStatus::kOk) {
        constexpr RdmaError kWhy[] = {RdmaError::kOk, RdmaError::kBadMrn, RdmaError::kBadPdn,
                                      RdmaError::kBadAccessFlags, RdmaError::kInvalidLength};
        result.why = kWhy[static_cast<unsigned>(place.status)];
        if (given != 0) result.jobs.push_back({.packet = packet, .drop = true});
        return result;
      }
      job.address0 = place.address0;
      job.bytes0 = place.bytes0;
      job.address1 = place.address1;
      job.bytes1 = place.bytes1;
      job.grant = place.grant;
    }
    given += run;
    job.more = given != bytes;
    result.jobs.push_back(job);
  }
  if (bytes == 0) result.jobs.push_back({.packet = packet});
  return result;
}

// One work request after the other; holds, resumes and states change only when nothing is in flight.
struct Reference {
  std::vector<spec::SendRecord> records;
  std::vector<spec::TxJob> jobs;
  std::vector<spec::QpFailure> failures;
  std::vector<spec::ReadRecord> reads;
  std::set<uint64_t> unreadable;  // addresses of elements
  std::map<uint32_t, spec::TableAh> handles;
  uint8_t started[16]{}, ended[16]{};  // READs of a QP
  uint8_t made[16]{};                  // records of a QP

  // Why it is bad, except for its length and its memory.
  RdmaError Judge(const Qp& qp, const WorkRequest& work) const {
    // One of the RFC that is too short is taken for an extensible one, of version 0.
    if (work.extensible ? work.version != 1 : work.bytes < 576) return RdmaError::kUnsupportedCommand;
    if (!qp.IsRc() && !qp.IsUd() && qp.type != IbQpType::kUc) return RdmaError::kUnsupportedQpType;
    if (!qp.Has(work.opcode)) return RdmaError::kUnsupportedCommand;
    if (static_cast<unsigned>(qp.mtu) < 1 || static_cast<unsigned>(qp.mtu) > 5) return RdmaError::kInvalidAttribute;
    if (work.IsRead() && qp.max_rd_atomic == 0) return RdmaError::kInvalidAttribute;
    if ((work.flags & 0xf0) != 0 || (work.IsRead() && work.IsInline())) return RdmaError::kInvalidParameter;
    if (work.IsStore() && work.HasElements()) return RdmaError::kInvalidParameter;
    if (work.IsFlush() && !work.IsFlushLegal()) return RdmaError::kInvalidParameter;
    if (work.extensible) {
      const bool has_list = (work.Mask() & 16) != 0;
      const int needed = WorkRequest::MaskOf(work.opcode, qp.IsUd()) | (work.IsInline() ? 8 : 0);
      if ((work.Mask() & ~16) != needed || (has_list && work.IsInline())) return RdmaError::kInvalidParameter;
      const uint32_t bytes = work.DescriptorBytes(), fixed = work.FixedBytes();
      const bool is_whole = has_list ? bytes % 16 == 0 : work.IsInline() || bytes == fixed;
      if (bytes < fixed || !is_whole) return RdmaError::kBadWqe;
    }
    if (qp.IsUd()) {
      const auto handle = handles.find(work.ah);
      if (handle == handles.end() || !handle->second.valid || handle->second.pdn != qp.pdn) return RdmaError::kBadAh;
    }
    if (work.IsInline()) {
      return work.InlineBytes() > qp.max_inline_data || work.InlineBytes() > 512 ? RdmaError::kCapInlineExceeded
                                                                                 : RdmaError::kOk;
    }
    if (work.num_sge > qp.max_send_sge || work.num_sge > 7) return RdmaError::kCapSgeExceeded;
    if (!work.extensible && work.bytes < 576 + 16 * work.num_sge) return RdmaError::kBadWqe;
    for (uint32_t i = 1; i < work.num_sge; ++i) {
      if (unreadable.contains(work.ListAddress() + 16 * i)) return RdmaError::kQueueDmaError;
    }
    return RdmaError::kOk;
  }
  static spec::SendRecord RecordOf(const Qp& qp, const WorkRequest& work) {
    const bool read = work.failed == RdmaError::kOk;
    // A work request that was not read is all zero, and 0 is RDMA WRITE. An opcode that the service lacks is called
    // SEND.
    const uint8_t opcode = read ? work.opcode : 0;
    IbWcOpcode wc_opcode = IbWcOpcode::kSend;
    if (qp.Has(opcode) && opcode < 2) wc_opcode = IbWcOpcode::kRdmaWrite;
    if (qp.Has(opcode) && opcode == kRead) wc_opcode = IbWcOpcode::kRdmaRead;
    if (qp.Has(opcode) && opcode == kCompareSwap) wc_opcode = IbWcOpcode::kCompSwap;
    if (qp.Has(opcode) && opcode == kFetchAdd) wc_opcode = IbWcOpcode::kFetchAdd;
    if (qp.Has(opcode) && opcode == kAtomicWrite) wc_opcode = IbWcOpcode::kAtomicWrite;
    if (qp.Has(opcode) && opcode == kFlush) wc_opcode = IbWcOpcode::kFlush;
    return {.qpn = work.qpn,
            .head = work.head,
            .wr_id = read ? work.wr_id : 0,
            .opcode = wc_opcode,
            .signaled = qp.sq_sig_all || (read && (work.flags & IbSendFlags::kSignaled) != 0),
            .fence = read && (work.flags & IbSendFlags::kFence) != 0};
  }
  // Or too short.
  static bool IsTooLong(const Qp& qp, const WorkRequest& work) {
    return work.Total() > (qp.IsUd() ? qp.Mtu() : 0x8000'0000) || (work.IsAtomic() && work.Total() < 8);
  }
  void Read(const WorkRequest& work, uint8_t number, uint32_t first_psn, uint32_t last_psn) {
    spec::ReadRecord read{.qpn = work.qpn,
                          .number = number,
                          .first_psn = first_psn,
                          .last_psn = last_psn,
                          .bytes = static_cast<uint32_t>(work.Length()),
                          .elements = work.ListAddress(),
                          .num_sge = static_cast<uint8_t>(work.num_sge),
                          .is_atomic = work.IsAtomic()};
    if (work.num_sge != 0) work.sge.Encode(read.sge);
    reads.push_back(read);
  }

  void Do(Qp& qp, const WorkRequest& work) {
    ++made[work.qpn];
    const bool recovers = qp.IsSending() && qp.was_sqe;
    if (recovers) qp.send_dead = qp.was_sqe = false;
    spec::SendRecord record = RecordOf(qp, work);
    if (recovers && !qp.dead) {
      record.recovers = true;
      record.epoch = qp.epoch;
    }
    record.first_psn = qp.psn;
    record.last_psn = Psn(qp.psn - 1);
    record.no_completion = work.failed != RdmaError::kOk;
    const auto fail = [&](IbWcStatus status, RdmaError why) {
      record.status = status;
      record.vendor_err = static_cast<uint32_t>(why);
      if (record.replaces) {
        record.recovers = false;
        record.epoch = 0;
      }
      records.push_back(record);
      if (status != IbWcStatus::kWrFlushErr) {
        failures.push_back({.qpn = work.qpn,
                            .event_type = spec::RdmaEventType::kQpFatal,
                            .code = static_cast<uint32_t>(why),
                            .send_only = qp.IsSendOnly(),
                            .reported = true});
        (qp.IsSendOnly() ? qp.send_dead : qp.dead) = true;
      }
      qp.dead |= record.no_completion;
    };
    const RdmaError bad = record.no_completion ? RdmaError::kOk : Judge(qp, work);
    const bool readable = qp.IsSending() && !record.no_completion && bad == RdmaError::kOk && !IsTooLong(qp, work);
    const uint32_t packets = readable ? qp.Packets(work.Length()) : 0;
    if (readable) record.last_psn = Psn(qp.psn + packets - 1);
    const uint32_t first = qp.psn;
    qp.psn = Psn(qp.psn + packets);
    const auto outstanding = static_cast<uint8_t>(started[work.qpn] - ended[work.qpn]);
    if (record.opcode == IbWcOpcode::kRdmaRead || record.opcode == IbWcOpcode::kCompSwap ||
        record.opcode == IbWcOpcode::kFetchAdd || record.opcode == IbWcOpcode::kAtomicWrite ||
        record.opcode == IbWcOpcode::kFlush) {
      ++started[work.qpn];
      if (readable) record.bytes = static_cast<uint32_t>(work.Length());
    }
    if (qp.dead || qp.send_dead || !qp.IsSending() || record.no_completion)
      return fail(IbWcStatus::kWrFlushErr, RdmaError::kOk);
    if (bad != RdmaError::kOk) return fail(IbWcStatus::kLocQpOpErr, bad);
    if (!readable) return fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
    const bool is_long = work.IsRead() && packets > kMostReadPackets;
    if (qp.IsRc() &&
        ((work.IsRead() && outstanding >= qp.max_rd_atomic) || is_long || (record.fence && outstanding != 0))) {
      qp.held = true;
    }
    if (qp.held) {
      record.unsent = true;
      records.push_back(record);
      return;
    }
    if (work.IsRead()) {
      records.push_back(record);
      Read(work, static_cast<uint8_t>(started[work.qpn] - 1), first, record.last_psn);
      jobs.push_back(PacketOf(qp, work, first, 0).jobs.front());
      return;
    }
    for (uint32_t i = 0; i < packets; ++i) {
      const Packet packet = PacketOf(qp, work, first, i);
      if (i == 0 && !packet.jobs.empty()) records.push_back(record);
      jobs.insert(jobs.end(), packet.jobs.begin(), packet.jobs.end());
      if (packet.why == RdmaError::kOk) continue;
      record.replaces = i != 0 || !packet.jobs.empty();
      return fail(IbWcStatus::kLocProtErr, packet.why);
    }
  }

  void Do(const Qp& qp, const WorkRequest& work, const Replay& replay) {
    if (qp.dead || !qp.IsSending() || replay.epoch != qp.epoch) return;
    spec::SendRecord record = RecordOf(qp, work);
    record.first_psn = replay.first_psn;
    record.last_psn = replay.last_psn;
    record.replaces = record.is_replay = true;
    record.slot = replay.slot;
    const auto fail = [&](IbWcStatus status, RdmaError why) {
      record.status = status;
      record.vendor_err = static_cast<uint32_t>(why);
      records.push_back(record);
    };
    const uint32_t packets = Psn(replay.last_psn - replay.first_psn) + 1;
    if (work.failed != RdmaError::kOk) return fail(IbWcStatus::kLocQpOpErr, work.failed);
    if (const RdmaError bad = Judge(qp, work); bad != RdmaError::kOk) return fail(IbWcStatus::kLocQpOpErr, bad);
    if (IsTooLong(qp, work)) return fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
    if (qp.Packets(work.Length()) != packets || Psn(replay.psn - replay.first_psn) >= packets) {
      return fail(IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe);
    }
    if (work.IsRead()) {
      Read(work, replay.number, replay.first_psn, replay.last_psn);
      jobs.push_back(PacketOf(qp, work, replay.first_psn, Psn(replay.psn - replay.first_psn)).jobs.front());
      return;
    }
    for (uint32_t i = Psn(replay.psn - replay.first_psn); i < packets; ++i) {
      const Packet packet = PacketOf(qp, work, replay.first_psn, i);
      jobs.insert(jobs.end(), packet.jobs.begin(), packet.jobs.end());
      if (packet.why != RdmaError::kOk) return fail(IbWcStatus::kLocProtErr, packet.why);
    }
  }
};

template <typename Top, uint32_t kBurst, const spec::Config& kOf = kConfig>
struct BasicBench {
  static constexpr uint32_t kBurstBytes = kBurst;
  static constexpr spec::Config kWithBurst = [] {
    spec::Config config = kOf;
    config.send_burst_bytes = kBurst;
    return config;
  }();
  BasicBench() : bench(rtl, agenda, random) {
    block.memory_check_out.Connect(check_sink, block);
    block.job_out.Connect(job_sink, block);
    block.record_out.Connect(record_sink, block);
    block.failure_out.Connect(failure_sink, block);
    block.read_record_out.Connect(read_sink, block);
    block.on_resent = [this](Cycle) { ++resent; };
    bench.AddOther(next_psn);
    bench.AddOther(contexts);
    bench.AddOther(ends);
    bench.AddOther(work_ends);
    bench.AddOther(room);
    block.on_work_ends = [this](Cycle now, const model::WorkEnds& told) { told_ = {now, told}; };
    block.on_next_psn = [this](Cycle now, const spec::QpPsn& psn) { next_psn.Tell(now, psn); };
    block.fetch_request_out.Connect(fetch_sink, block);
    fetch.keep = false;
    fetch.on_token = [this](Cycle, const spec::DmaReadRequest& token) {
      EXPECT_TRUE(token.bytes >= 16 && token.bytes <= 64 && token.bytes % 16 == 0);
      spec::DmaFetched answer{.tag = token.tag};
      for (uint32_t i = 0; i < token.bytes; i += 16) {
        EXPECT_TRUE(memory.contains(token.address + i));  // nothing behind the list
        memory[token.address + i].Encode(answer.data + i);
        if (reference.unreadable.contains(token.address + i)) answer.resp = static_cast<uint8_t>(2 + token.address % 2);
      }
      fetched.tokens.push_back(answer);
    };
    check.keep = false;
    check.on_token = [this](Cycle, const spec::MemoryCheck& token) {
      EXPECT_EQ(token.pdn, qps[3].pdn);
      const bool is_access = !token.binds && !token.maps && !token.registers && !token.invalidate;
      // Reading needs no right.
      EXPECT_FALSE((token.local_write && !token.registers) || (is_access && (token.remote_write || token.remote_read)));
      EXPECT_TRUE(!is_access || (token.bytes >= 1 && token.bytes <= 4096));
      EXPECT_TRUE(!token.invalidate || token.bytes == 0);
      if (token.binds || token.maps || token.registers) binds.push_back(token);
      place.tokens.push_back(PlaceOf(token));
    };
    record.on_token = [this](Cycle, const spec::SendRecord& token) {
      if (!token.replaces && token.status == IbWcStatus::kSuccess) started[token.qpn] = token;
    };
    read.on_token = [this](Cycle cycle, const spec::ReadRecord& token) {
      EXPECT_LT(Psn(started[token.qpn].last_psn - token.last_psn), 0x80'0000u);
      pending_reads.push_back({cycle, token});
    };
    job.on_token = [this](Cycle cycle, const spec::TxJob& token) {
      // The record came before; those of later messages may have come too.
      EXPECT_LT(Psn(started[token.packet.qpn].last_psn - token.packet.psn), 0x80'0000u);
      ExpectReadRecord(cycle, token.packet);
    };
  }

  // The responder gets a READ's record before its request leaves.
  void ExpectReadRecord(Cycle cycle, const spec::TxPacket& packet) {
    if (packet.opcode != BthOpcode::kRcRdmaReadRequest && packet.opcode != BthOpcode::kRcCompareSwap &&
        packet.opcode != BthOpcode::kRcFetchAdd && packet.opcode != BthOpcode::kRcAtomicWrite &&
        packet.opcode != BthOpcode::kRcFlush) {
      return;
    }
    ASSERT_FALSE(pending_reads.empty());
    const auto& [read_cycle, token] = pending_reads.front();
    EXPECT_LT(read_cycle, cycle);
    EXPECT_EQ(token.qpn, packet.qpn);
    EXPECT_LE(Psn(packet.psn - token.first_psn), Psn(token.last_psn - token.first_psn));
    pending_reads.pop_front();
  }

  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      resent_in_rtl += p.resent_o;  // of the current cycle
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs in cycle " + std::to_string(bench.cycle());
      if (resent_in_rtl != resent) return "resent differs in cycle " + std::to_string(bench.cycle());
    }
    return {};
  }
  std::string Settle() {
    for (int i = 0; i < 100'000; ++i) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      if (work.IsEmpty() && load.IsEmpty() && place.IsEmpty() && state.IsEmpty() && table.IsEmpty() &&
          fetched.IsEmpty() && hold.IsEmpty() && reads.IsEmpty() && block.IsIdle()) {
        return {};
      }
    }
    return "the block does not become idle";
  }
  // Configures the QP as in qps[qpn].
  void SetUp(uint32_t qpn) {
    const Qp& qp = qps[qpn];
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext{.qp_type = qp.type,
                         .path_mtu = qp.mtu,
                         .sq_sig_all = qp.sq_sig_all,
                         .max_rd_atomic = qp.max_rd_atomic,
                         .pdn = qp.pdn,
                         .max_inline_data = qp.max_inline_data,
                         .qkey = qp.qkey,
                         .max_send_sge = qp.max_send_sge}
        .Encode(write.data);
    table.tokens.push_back(write);
    write.table_id = spec::MgmtTable::kVirtqueue;  // not this block's
    std::fill(std::begin(write.data), std::end(write.data), uint8_t{0xff});
    table.tokens.push_back(write);
    load.tokens.push_back({.qpn = qpn, .psn = qp.psn});
    qps[qpn].dead = qps[qpn].send_dead = qps[qpn].held = false;
    qps[qpn].epoch = 0;
    ASSERT_EQ(Settle(), "");
    state.tokens.push_back({.qpn = qpn, .state = qp.state});
    ASSERT_EQ(Settle(), "");
  }
  // Between work requests.
  void SetState(uint32_t qpn, IbQpState to) {
    ASSERT_EQ(Settle(), "");
    state.tokens.push_back({.qpn = qpn, .state = to});
    qps[qpn].state = to;
    qps[qpn].was_sqe |= to == IbQpState::kSqe;
    ASSERT_EQ(Run(4), "");
  }
  void SetHandle(uint32_t ah, bool valid, uint16_t pdn) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kAh, .index = ah};
    reference.handles[ah] = spec::TableAh{.valid = valid, .pdn = pdn};
    reference.handles[ah].Encode(write.data);
    table.tokens.push_back(write);
    ASSERT_EQ(Settle(), "");
  }
  // This many of its READs have ended, between work requests.
  void End(uint32_t qpn, uint8_t count) {
    ASSERT_EQ(Settle(), "");
    reference.ended[qpn] = static_cast<uint8_t>(reference.ended[qpn] + count);
    reads.tokens.push_back({.qpn = qpn, .ended = reference.ended[qpn]});
    ASSERT_EQ(Run(4), "");
  }
  // Its elements are readable.
  void Keep(const WorkRequest& request) {
    for (uint32_t i = 0; i < request.further.size(); ++i) {
      memory[request.ListAddress() + 16 * (i + 1)] = request.further[i];
    }
  }
  void Post(const WorkRequest& request) {
    Keep(request);
    work.tokens.push_back(request.Token());
    reference.Do(qps[request.qpn], request);
  }
  void Post(const WorkRequest& request, const Replay& replay) {
    Keep(request);
    work.tokens.push_back(replay.Token(request));
    reference.Do(qps[request.qpn], request, replay);
  }
  // Between work requests.
  void Hold(uint32_t qpn, uint8_t epoch) {
    ASSERT_EQ(Settle(), "");
    hold.tokens.push_back({.qpn = qpn, .epoch = epoch});
    qps[qpn].held = true;
    qps[qpn].epoch = epoch;
    ASSERT_EQ(Run(4), "");
  }
  void Resume(uint32_t qpn, uint8_t epoch, uint32_t psn) {
    work.tokens.push_back(ResumeToken(qpn, epoch, psn, reference.made[qpn]));
    Qp& qp = qps[qpn];
    if (qp.epoch == epoch && qp.psn == psn) qp.held = false;
  }
  // The outputs equal the reference's.
  void Compare() {
    ASSERT_EQ(Settle(), "");
    const auto same = [](const auto& sent, const auto& expected, const char* name) {
      for (size_t i = 0; i < std::min(sent.size(), expected.size()); ++i) {
        ASSERT_EQ(sent[i].token, expected[i])
            << name << " " << i << ": " << TokenText(sent[i].token) << "\nexpected " << TokenText(expected[i]);
      }
      ASSERT_EQ(sent.size(), expected.size()) << name;
    };
    same(record_sink.sent(), reference.records, "record");
    same(job_sink.sent(), reference.jobs, "job");
    same(failure_sink.sent(), reference.failures, "failure");
    same(read_sink.sent(), reference.reads, "read_record");
    // Each work request with packets, and each replay, has ended once.
    ASSERT_EQ(works_ended, works);
    ASSERT_EQ(replays_ended, replays);
    ASSERT_EQ(issued, packets);
    // Room is taken for each packet once, and comes back from those that have no job.
    ASSERT_EQ(room.used, packets + room.unused);
  }
  void Rates(unsigned in, unsigned place_in, unsigned out) {
    work.rate = load.rate = in;
    place.rate = place_in;
    fetched.rate = place_in;
    check.rate = fetch.rate = job.rate = record.rate = failure.rate = read.rate = room.rate = out;
  }

  std::vector<spec::MemoryCheck> binds;  // and registrations, with their pages

  Qp qps[16];
  Reference reference;
  std::map<uint64_t, spec::RdmaSge> memory;  // elements, by address
  spec::SendRecord started[16];
  std::deque<std::pair<Cycle, spec::ReadRecord>> pending_reads;  // whose requests have not left

  std::mt19937_64 random = sim::MakeRandom("requester");
  Agenda agenda;
  Requester block{agenda, kWithBurst};
  uint64_t resent = 0, resent_in_rtl = 0;  // packets of replays
  Channel<spec::MemoryCheck> check_sink = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::DmaReadRequest> fetch_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::TxJob> job_sink = Channel<spec::TxJob>::Sink();
  Channel<spec::SendRecord> record_sink = Channel<spec::SendRecord>::Sink();
  Channel<spec::QpFailure> failure_sink = Channel<spec::QpFailure>::Sink();
  Channel<spec::ReadRecord> read_sink = Channel<spec::ReadRecord>::Sink();
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    for (const auto bit :
         {top.work_request_ready_o, top.load_ready_o, top.memory_place_ready_o, top.memory_check_valid_o,
          top.job_valid_o, top.record_valid_o, top.failure_valid_o, top.fetched_ready_o, top.fetch_request_valid_o,
          top.read_record_valid_o, top.next_psn_valid_o, top.grant_ended_o, top.issued_o, top.work_ended_o,
          top.replay_ended_o, top.room_used_o, top.room_unused_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.memory_check_o);
    add(top.job_o);
    add(top.record_o);
    add(top.failure_o);
    add(top.fetch_request_o);
    add(top.read_record_o);
    add(top.next_psn_o);
  }};
  BlockBench<Top> bench;
  Top& p = rtl.ports();
  ContextBench<Top, Requester> contexts{p, block};
  GrantEnds<CData, Requester> ends{p.grant_ended_o, block};
  Room<Requester> room{p.room_i, p.room_used_o, &p.room_unused_o, block, random};
  std::pair<Cycle, model::WorkEnds> told_{model::kUnknown, {}};
  uint64_t issued = 0, works_ended = 0, replays_ended = 0;
  uint64_t packets = 0, works = 0;  // packets, drops included, and records of work requests with packets, that left
  uint64_t replays = 0;             // that were taken
  std::deque<uint8_t> serials;      // of those that have not ended
  Probe work_ends{{}, [this](Cycle cycle) {
                    const model::WorkEnds model = told_.first == cycle ? told_.second : model::WorkEnds{};
                    issued += model.issued ? 1 : 0;
                    works_ended += model.work ? 1 : 0;
                    replays_ended += model.replay ? 1 : 0;
                    if (p.work_request_valid_i != 0 && p.work_request_ready_o != 0) {
                      const auto token = TokenFrom<spec::WorkRequest>(BytesOf(std::as_const(p.work_request_i)));
                      if (token.is_replay && !token.resume) {
                        ++replays;
                        serials.push_back(token.serial);
                      }
                    }
                    if (p.job_valid_o != 0 && p.job_ready_i != 0) {
                      if (!TokenFrom<spec::TxJob>(BytesOf(std::as_const(p.job_o))).more) ++packets;
                    }
                    if (p.record_valid_o != 0 && p.record_ready_i != 0) {
                      const auto token = TokenFrom<spec::SendRecord>(BytesOf(std::as_const(p.record_o)));
                      if (!token.replaces && !token.unsent && token.status == IbWcStatus::kSuccess) ++works;
                    }
                    std::string text = Same("issued_o", p.issued_o, model.issued);
                    text += Same("work_ended_o", p.work_ended_o, model.work);
                    text += Same("replay_ended_o", p.replay_ended_o, model.replay);
                    if (!model.replay || !text.empty()) return text;
                    const uint8_t serial = serials.empty() ? 0xff : serials.front();
                    if (!serials.empty()) serials.pop_front();
                    text += Same("replay_serial_o", p.replay_serial_o, model.serial);
                    return text + Same("replay_serial_o, expected,", p.replay_serial_o, serial);
                  }};
  OutPulse<spec::QpPsn, decltype(p.next_psn_valid_o), decltype(p.next_psn_o)> next_psn{"next_psn", p.next_psn_valid_o,
                                                                                       p.next_psn_o};
  decltype(bench.In("", block.work_request_in, p.work_request_valid_i, p.work_request_ready_o, p.work_request_i)) work =
      bench.In("work_request", block.work_request_in, p.work_request_valid_i, p.work_request_ready_o, p.work_request_i);
  decltype(bench.In("", block.load_in, p.load_valid_i, p.load_ready_o, p.load_i)) load =
      bench.In("load", block.load_in, p.load_valid_i, p.load_ready_o, p.load_i);
  decltype(bench.In("", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o,
                    p.memory_place_i)) place =
      bench.In("memory_place", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o, p.memory_place_i);
  decltype(bench.In("", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i)) fetched =
      bench.In("fetched", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i);
  decltype(bench.template Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, {})) table =
      bench.template Pulse<spec::TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle cycle, const auto& token) { block.OnTableWrite(cycle, token); });
  decltype(bench.template Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) state =
      bench.template Pulse<spec::QpStateWrite>(
          p.qp_state_write_valid_i, p.qp_state_write_i,
          [this](Cycle cycle, const auto& token) { block.OnQpStateWrite(cycle, token); });
  decltype(bench.template Pulse<spec::QpHold>(p.qp_hold_valid_i, p.qp_hold_i, {})) hold =
      bench.template Pulse<spec::QpHold>(p.qp_hold_valid_i, p.qp_hold_i,
                                         [this](Cycle cycle, const auto& token) { block.OnQpHold(cycle, token); });
  decltype(bench.template Pulse<spec::QpReads>(p.qp_reads_valid_i, p.qp_reads_i, {})) reads =
      bench.template Pulse<spec::QpReads>(p.qp_reads_valid_i, p.qp_reads_i,
                                          [this](Cycle cycle, const auto& token) { block.OnQpReads(cycle, token); });
  decltype(bench.Out("", read_sink, p.read_record_valid_o, p.read_record_ready_i, p.read_record_o)) read =
      bench.Out("read_record", read_sink, p.read_record_valid_o, p.read_record_ready_i, p.read_record_o);
  decltype(bench.Out("", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o)) fetch =
      bench.Out("fetch_request", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o);
  decltype(bench.Out("", check_sink, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o)) check =
      bench.Out("memory_check", check_sink, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o);
  decltype(bench.Out("", job_sink, p.job_valid_o, p.job_ready_i, p.job_o)) job =
      bench.Out("job", job_sink, p.job_valid_o, p.job_ready_i, p.job_o);
  decltype(bench.Out("", record_sink, p.record_valid_o, p.record_ready_i, p.record_o)) record =
      bench.Out("record", record_sink, p.record_valid_o, p.record_ready_i, p.record_o);
  decltype(bench.Out("", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o);
};
// Most messages are shorter than a burst of this bench, and many longer than one of that.
using Bench = BasicBench<Vrequester, 1U << 22>;
using BurstBench = BasicBench<Vrequester_burst, 1U << 12>;
using NarrowBench = BasicBench<Vrequester_narrow, 1U << 22, kNarrowConfig>;

}  // namespace vireo::verif
