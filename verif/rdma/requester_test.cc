// SPDX-License-Identifier: Apache-2.0
// The requester: RTL against model in every cycle, and both against a reference that takes one work request after the
// other.
#include "model/rdma/requester.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Vrequester.h"
#include "Vrequester_burst.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

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
  config.num_qps = 16;
  config.num_ahs = 16;
  config.max_send_sge = 7;
  return config;
}
constexpr spec::Config kConfig = MakeConfig();

uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

// What the memory check says, by key and address: two runs, cut at the page; keys from 0xf0 on are refused.
spec::MemoryPlace PlaceOf(const spec::MemoryCheck& check) {
  constexpr uint64_t kPage = 4096;
  if (check.key >= 0xf0 && check.key < 0xf4) {
    return {.status = static_cast<MemoryStatus>(1 + check.key % 4)};
  }
  // Keys from 0x80 on name regions of 1,000 bytes from 0x1'0000 on.
  if (check.key >= 0x80 && check.key < 0xf0 && check.address + check.bytes > 0x1'0000 + 1000) {
    return {.status = MemoryStatus::kBounds};
  }
  const auto bytes0 = static_cast<uint16_t>(std::min<uint64_t>(check.bytes, kPage - check.address % kPage));
  const auto bytes1 = static_cast<uint16_t>(check.bytes - bytes0);
  return {.address0 = check.address + 0x7000'0000,
          .bytes0 = bytes0,
          .address1 = bytes1 == 0 ? 0 : check.address * 3 & ~(kPage - 1),
          .bytes1 = bytes1};
}

// Numbers of ib_wr_opcode.
constexpr uint8_t kRead = 4;

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
  uint32_t immediate = 0x0a0b'0c0d;
  uint32_t num_sge = 1;  // inline: what lies there
  spec::RdmaSge sge{.addr = 0x1'0000, .length = 100, .lkey = 0x42};
  std::vector<spec::RdmaSge> further{};  // elements
  bool is_datagram = false;              // then these count instead of remote_address and rkey
  uint32_t remote_qpn = 0x12'3456;
  uint32_t remote_qkey = 0x1122'3344;
  uint32_t ah = 3;

  bool IsRead() const { return opcode == kRead; }
  bool IsInline() const { return (flags & IbSendFlags::kInline) != 0; }
  uint32_t InlineBytes() const { return num_sge & 0xffff; }
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
  // What the payload is made of.
  std::vector<spec::RdmaSge> Elements() const {
    if (IsInline()) return {{.addr = Address() + 48, .length = InlineBytes()}};
    if (num_sge == 0) return {};
    std::vector<spec::RdmaSge> all{sge};
    all.insert(all.end(), further.begin(), further.end());
    return all;
  }
  uint64_t Length() const {
    uint64_t length = 0;
    for (const auto& element : Elements()) length += element.length;
    return length;
  }

  spec::WorkRequest Token() const {
    spec::WorkRequest token{.qpn = qpn, .head = head, .failed = failed, .address = Address(), .bytes = bytes};
    if (failed != RdmaError::kOk) return token;
    spec::RdmaSqReq request{.wr_id = wr_id, .opcode = static_cast<spec::IbWrOpcode>(opcode), .send_flags = flags};
    for (size_t k = 0; k < 4; ++k) request.imm_data[k] = static_cast<uint8_t>(immediate >> (24 - 8 * k));
    if (is_datagram) {
      spec::RdmaSqReqUd{.remote_qpn = remote_qpn, .remote_qkey = remote_qkey, .ah = ah}.Encode(request.wr);
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
};

// Which packets of a work request a replay asks for.
struct Replay {
  uint8_t generation = 1;
  uint8_t slot = 0;
  uint32_t psn = 0;
  uint32_t first_psn = 0;
  uint32_t last_psn = 0;
  uint16_t packets = 0;
  bool fresh = false;

  spec::WorkRequest Token(const WorkRequest& work) const {
    spec::WorkRequest token = work.Token();
    token.again = true;
    token.generation = generation;
    token.slot = slot;
    token.psn = psn;
    token.first_psn = first_psn;
    token.last_psn = last_psn;
    token.packets = packets;
    token.fresh = fresh;
    return token;
  }
};
spec::WorkRequest ResumeToken(uint32_t qpn, uint8_t generation, uint32_t psn) {
  return {.qpn = qpn, .again = true, .resume = true, .generation = generation, .psn = psn};
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
  uint8_t generation = 0;
  uint8_t max_rd_atomic = 4;
  uint32_t qkey = 0xaabb'ccdd;

  uint32_t Mtu() const { return 128u << static_cast<unsigned>(mtu); }
  bool IsRc() const { return type == IbQpType::kRc; }
  bool IsUd() const { return type == IbQpType::kUd || type == IbQpType::kGsi; }
  bool IsSendOnly() const { return type == IbQpType::kUc || IsUd(); }
  bool Has(uint8_t opcode) const {
    if (IsRc()) return opcode <= 4;
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

// Opcodes of RC by operation (RDMA WRITE, with immediate, SEND, with immediate, RDMA READ) and position (middle, first,
// last, only). UC has 32 more, UD 96. [IBTA vol. 1, table 38]
constexpr uint8_t kOpcodes[5][4] = {{7, 6, 8, 10}, {7, 6, 9, 11}, {1, 0, 2, 4}, {1, 0, 3, 5}, {12, 12, 12, 12}};

Packet PacketOf(const Qp& qp, const WorkRequest& work, uint32_t first_psn, uint32_t index) {
  const auto length = static_cast<uint32_t>(work.Length());
  const uint32_t packets = qp.Packets(length);
  const bool last = index + 1 == packets;
  const uint32_t begin = index * qp.Mtu();
  const uint32_t bytes = last ? length - begin : qp.Mtu();
  const bool is_send = work.opcode == 2 || work.opcode == 3;
  const bool has_immediate = work.opcode % 2 != 0;
  const uint8_t service = qp.IsRc() ? 0 : qp.IsUd() ? 96 : 32;

  spec::TxPacket packet{
      .qpn = work.qpn,
      .opcode = static_cast<BthOpcode>(service + kOpcodes[work.opcode][(last ? 2 : 0) + (index == 0 ? 1 : 0)]),
      .solicited_event = last && (is_send || has_immediate) && (work.flags & IbSendFlags::kSolicited) != 0,
      .ack_req = qp.IsRc() && (last || work.IsRead() || (first_psn + index) % 64 == 63),
      .psn = Psn(first_psn + index),
      .payload_bytes = static_cast<uint16_t>(work.IsRead() ? 0 : bytes),
      .has_ah = qp.IsUd(),
      .ah = static_cast<uint16_t>(qp.IsUd() ? work.ah : 0),
      .dest_qpn = qp.IsUd() ? Psn(work.remote_qpn) : 0,
      .reports = last && !qp.IsRc()};
  size_t extension = 0;
  const auto add = [&](uint64_t value, unsigned count) {
    for (unsigned k = 0; k < count; ++k) {
      packet.extension[extension++] = static_cast<uint8_t>(value >> (8 * (count - 1 - k)));
    }
  };
  if (!is_send && (index == 0 || work.IsRead())) {
    add(work.remote_address + begin, 8);
    add(work.rkey, 4);
    add(length - begin, 4);
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
    if (work.IsInline()) {
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
    }
    given += run;
    job.more = given != bytes;
    result.jobs.push_back(job);
  }
  if (bytes == 0) result.jobs.push_back({.packet = packet});
  return result;
}

// One work request after the other; holds, resumes and states change only when nothing is under way.
struct Reference {
  std::vector<spec::SendRecord> records;
  std::vector<spec::TxJob> jobs;
  std::vector<spec::QpFailure> failures;
  std::vector<spec::ReadRecord> reads;
  std::set<uint64_t> unreadable;  // addresses of elements
  std::map<uint32_t, spec::TableAh> handles;
  uint8_t begun[16]{}, ended[16]{};  // READs of a QP

  // Why it is bad, but for its length and its memory.
  RdmaError Judge(const Qp& qp, const WorkRequest& work) const {
    if (!qp.IsRc() && !qp.IsUd() && qp.type != IbQpType::kUc) return RdmaError::kUnsupportedQpType;
    if (!qp.Has(work.opcode)) return RdmaError::kUnsupportedCommand;
    if (static_cast<unsigned>(qp.mtu) < 1 || static_cast<unsigned>(qp.mtu) > 5) return RdmaError::kInvalidAttribute;
    if (work.IsRead() && qp.max_rd_atomic == 0) return RdmaError::kInvalidAttribute;
    if ((work.flags & 0xf0) != 0 || (work.IsRead() && work.IsInline())) return RdmaError::kInvalidParameter;
    if (qp.IsUd()) {
      const auto handle = handles.find(work.ah);
      if (handle == handles.end() || !handle->second.valid || handle->second.pdn != qp.pdn) return RdmaError::kBadAh;
    }
    if (work.IsInline()) {
      return work.InlineBytes() > qp.max_inline_data || work.InlineBytes() > 512 ? RdmaError::kCapInlineExceeded
                                                                                 : RdmaError::kOk;
    }
    if (work.num_sge > qp.max_send_sge || work.num_sge > 7) return RdmaError::kCapSgeExceeded;
    if (work.bytes < 576 + 16 * work.num_sge) return RdmaError::kBadWqe;
    for (uint32_t i = 1; i < work.num_sge; ++i) {
      if (unreadable.contains(work.Address() + 576 + 16 * i)) return RdmaError::kQueueDmaError;
    }
    return RdmaError::kOk;
  }
  static spec::SendRecord RecordOf(const Qp& qp, const WorkRequest& work) {
    const bool read = work.failed == RdmaError::kOk;
    // A work request that was not read is all zero, and 0 is RDMA WRITE. What the service has not is called SEND.
    const uint8_t opcode = read ? work.opcode : 0;
    IbWcOpcode wc_opcode = IbWcOpcode::kSend;
    if (qp.Has(opcode) && opcode < 2) wc_opcode = IbWcOpcode::kRdmaWrite;
    if (qp.Has(opcode) && opcode == kRead) wc_opcode = IbWcOpcode::kRdmaRead;
    return {.qpn = work.qpn,
            .head = work.head,
            .wr_id = read ? work.wr_id : 0,
            .opcode = wc_opcode,
            .signaled = qp.sq_sig_all || (read && (work.flags & IbSendFlags::kSignaled) != 0),
            .fence = read && (work.flags & IbSendFlags::kFence) != 0};
  }
  static bool IsTooLong(const Qp& qp, const WorkRequest& work) {
    return work.Length() > (qp.IsUd() ? qp.Mtu() : 0x8000'0000);
  }
  void Read(const WorkRequest& work, uint32_t first_psn, uint32_t last_psn) {
    spec::ReadRecord read{.qpn = work.qpn,
                          .first_psn = first_psn,
                          .last_psn = last_psn,
                          .bytes = static_cast<uint32_t>(work.Length()),
                          .elements = work.Address() + 576,
                          .num_sge = static_cast<uint8_t>(work.num_sge)};
    if (work.num_sge != 0) work.sge.Encode(read.sge);
    reads.push_back(read);
  }

  void Do(Qp& qp, const WorkRequest& work) {
    if (qp.IsSending() && qp.was_sqe) qp.send_dead = qp.was_sqe = false;
    spec::SendRecord record = RecordOf(qp, work);
    record.first_psn = qp.psn;
    record.last_psn = Psn(qp.psn - 1);
    record.silent = work.failed != RdmaError::kOk;
    const auto fail = [&](IbWcStatus status, RdmaError why) {
      record.status = status;
      record.vendor_err = static_cast<uint32_t>(why);
      records.push_back(record);
      if (status != IbWcStatus::kWrFlushErr) {
        failures.push_back({.qpn = work.qpn,
                            .event_type = spec::RdmaEventType::kQpFatal,
                            .code = static_cast<uint32_t>(why),
                            .send_only = qp.IsSendOnly()});
        (qp.IsSendOnly() ? qp.send_dead : qp.dead) = true;
      }
      qp.dead |= record.silent;
    };
    const RdmaError bad = record.silent ? RdmaError::kOk : Judge(qp, work);
    const bool readable = qp.IsSending() && !record.silent && bad == RdmaError::kOk && !IsTooLong(qp, work);
    const uint32_t packets = readable ? qp.Packets(work.Length()) : 0;
    if (readable) record.last_psn = Psn(qp.psn + packets - 1);
    const uint32_t first = qp.psn;
    qp.psn = Psn(qp.psn + packets);
    const auto under_way = static_cast<uint8_t>(begun[work.qpn] - ended[work.qpn]);
    if (record.opcode == IbWcOpcode::kRdmaRead) {
      ++begun[work.qpn];
      if (readable) record.bytes = static_cast<uint32_t>(work.Length());
    }
    if (qp.dead || qp.send_dead || !qp.IsSending() || record.silent)
      return fail(IbWcStatus::kWrFlushErr, RdmaError::kOk);
    if (bad != RdmaError::kOk) return fail(IbWcStatus::kLocQpOpErr, bad);
    if (!readable) return fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
    if (qp.IsRc() && ((work.IsRead() && under_way >= qp.max_rd_atomic) || (record.fence && under_way != 0))) {
      qp.held = true;
    }
    if (qp.held) {
      record.unsent = true;
      records.push_back(record);
      return;
    }
    if (work.IsRead()) {
      records.push_back(record);
      Read(work, first, record.last_psn);
      jobs.push_back(PacketOf(qp, work, first, 0).jobs.front());
      return;
    }
    for (uint32_t i = 0; i < packets; ++i) {
      const Packet packet = PacketOf(qp, work, first, i);
      if (i == 0 && !packet.jobs.empty()) records.push_back(record);
      jobs.insert(jobs.end(), packet.jobs.begin(), packet.jobs.end());
      if (packet.why == RdmaError::kOk) continue;
      record.amends = i != 0 || !packet.jobs.empty();
      return fail(IbWcStatus::kLocProtErr, packet.why);
    }
  }

  void Do(const Qp& qp, const WorkRequest& work, const Replay& replay) {
    if (qp.dead || !qp.IsSending() || replay.generation != qp.generation) return;
    spec::SendRecord record = RecordOf(qp, work);
    record.first_psn = replay.first_psn;
    record.last_psn = replay.last_psn;
    record.amends = record.again = true;
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
      Read(work, replay.first_psn, replay.last_psn);
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

template <typename Top, uint32_t kBurst>
struct BasicBench {
  static constexpr uint32_t kBurstBytes = kBurst;
  BasicBench() : bench(rtl, agenda, random) {
    block.memory_check_out.Connect(check_sink, block);
    block.job_out.Connect(job_sink, block);
    block.record_out.Connect(record_sink, block);
    block.failure_out.Connect(failure_sink, block);
    block.read_record_out.Connect(read_sink, block);
    block.on_resent = [this](Cycle) { ++resent; };
    bench.AddOther(next_psn);
    bench.AddOther(contexts);
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
      EXPECT_FALSE(token.local_write || token.remote_write || token.remote_read);  // reading needs no right
      EXPECT_TRUE(token.bytes >= 1 && token.bytes <= 4096);
      place.tokens.push_back(PlaceOf(token));
    };
    record.on_token = [this](Cycle, const spec::SendRecord& token) {
      if (!token.amends && token.status == IbWcStatus::kSuccess) begun[token.qpn] = token;
    };
    read.on_token = [this](Cycle cycle, const spec::ReadRecord& token) {
      EXPECT_LT(Psn(begun[token.qpn].last_psn - token.last_psn), 0x80'0000u);
      said.push_back({cycle, token});
    };
    job.on_token = [this](Cycle cycle, const spec::TxJob& token) {
      // The record was there before; those of later messages may be there too.
      EXPECT_LT(Psn(begun[token.packet.qpn].last_psn - token.packet.psn), 0x80'0000u);
      ExpectReadRecord(cycle, token.packet);
    };
  }

  // Before a READ's request the responder knows of it.
  void ExpectReadRecord(Cycle cycle, const spec::TxPacket& packet) {
    if (packet.opcode != BthOpcode::kRcRdmaReadRequest) return;
    ASSERT_FALSE(said.empty());
    const auto& [read_cycle, token] = said.front();
    EXPECT_LT(read_cycle, cycle);
    EXPECT_EQ(token.qpn, packet.qpn);
    EXPECT_LE(Psn(packet.psn - token.first_psn), Psn(token.last_psn - token.first_psn));
    said.pop_front();
  }

  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      resent_in_rtl += p.resent_o;  // of the cycle that runs now
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
    return "the block does not come to rest";
  }
  // Makes the QP what qps[qpn] says.
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
    qps[qpn].generation = 0;
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
  // So many of its READs have ended, between work requests.
  void End(uint32_t qpn, uint8_t count) {
    ASSERT_EQ(Settle(), "");
    reference.ended[qpn] = static_cast<uint8_t>(reference.ended[qpn] + count);
    reads.tokens.push_back({.qpn = qpn, .ended = reference.ended[qpn]});
    ASSERT_EQ(Run(4), "");
  }
  // Its elements can be read.
  void Keep(const WorkRequest& request) {
    for (uint32_t i = 0; i < request.further.size(); ++i) {
      memory[request.Address() + 592 + 16 * i] = request.further[i];
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
  void Hold(uint32_t qpn, uint8_t generation) {
    ASSERT_EQ(Settle(), "");
    hold.tokens.push_back({.qpn = qpn, .generation = generation});
    qps[qpn].held = true;
    qps[qpn].generation = generation;
    ASSERT_EQ(Run(4), "");
  }
  void Resume(uint32_t qpn, uint8_t generation, uint32_t psn) {
    work.tokens.push_back(ResumeToken(qpn, generation, psn));
    Qp& qp = qps[qpn];
    if (qp.generation == generation && qp.psn == psn) qp.held = false;
  }
  // What came is what the reference says.
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
  }
  void Rates(unsigned in, unsigned place_in, unsigned out) {
    work.rate = load.rate = in;
    place.rate = place_in;
    fetched.rate = place_in;
    check.rate = fetch.rate = job.rate = record.rate = failure.rate = read.rate = out;
  }

  Qp qps[16];
  Reference reference;
  std::map<uint64_t, spec::RdmaSge> memory;  // elements, by address
  spec::SendRecord begun[16];
  std::deque<std::pair<Cycle, spec::ReadRecord>> said;  // whose requests have not left

  std::mt19937_64 random = MakeRandom("requester");
  Agenda agenda;
  Requester block{agenda, kConfig, Requester::kPackets, kBurst};
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
          top.read_record_valid_o, top.next_psn_valid_o, top.idle_o}) {
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
// Most messages are shorter than a burst of this one, and many longer than one of that.
using Bench = BasicBench<Vrequester, 1U << 22>;
using BurstBench = BasicBench<Vrequester_burst, 1U << 12>;

TEST(Requester, CutsMessagesOfEveryLengthByEveryPathMtu) {
  for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu512, IbMtu::kMtu1024, IbMtu::kMtu2048, IbMtu::kMtu4096}) {
    Bench bench;
    const uint32_t bytes = 128u << static_cast<unsigned>(mtu);
    bench.qps[3].mtu = mtu;
    bench.qps[3].psn = 0xff'fff0;
    bench.SetUp(3);
    for (const uint32_t length : {0u, 1u, 3u, bytes - 1, bytes, bytes + 1, 2 * bytes - 1, 2 * bytes, 2 * bytes + 1,
                                  7 * bytes, 70 * bytes + 5}) {
      WorkRequest request{.head = static_cast<uint16_t>(length), .wr_id = length};
      request.sge.length = length;
      request.sge.addr = 0x1'0000 + length;
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.failure_sink.sent().empty());
  }
}

TEST(Requester, AMessageOfZeroBytesIsOnePacketWithoutMemory) {
  for (const uint32_t num_sge : {0u, 1u}) {
    Bench bench;
    bench.SetUp(3);
    WorkRequest request{.num_sge = num_sge};
    request.sge = {.addr = 0, .length = num_sge == 0 ? 77u : 0u, .lkey = 0xf0};  // a key that is refused
    if (num_sge == 0) request.bytes = 576;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0u);
    ASSERT_EQ(bench.job_sink.sent().size(), 1u);
    const spec::TxJob& job = bench.job_sink.sent()[0].token;
    EXPECT_EQ(job.packet.opcode, BthOpcode::kRcRdmaWriteOnly);
    EXPECT_EQ(job.packet.payload_bytes, 0);
    EXPECT_EQ(job.bytes0, 0);
  }
}

TEST(Requester, EveryBadWorkRequestFailsOnceAndKillsItsQp) {
  struct Case {
    const char* what;
    std::function<void(Qp&, WorkRequest&)> spoil;
    IbWcStatus status;
    RdmaError why;
  };
  const auto opcode = [](uint8_t value) { return [value](Qp&, WorkRequest& w) { w.opcode = value; }; };
  const auto key = [](uint32_t value) { return [value](Qp&, WorkRequest& w) { w.sge.lkey = value; }; };
  const auto datagram = [](void (*spoil)(WorkRequest&)) {
    return [spoil](Qp& q, WorkRequest& w) {
      q.type = IbQpType::kUd;
      w.is_datagram = true;
      w.opcode = 2;
      spoil(w);
    };
  };
  const Case cases[] = {
      {"service", [](Qp& q, WorkRequest&) { q.type = IbQpType::kSmi; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedQpType},
      {"unknown service", [](Qp& q, WorkRequest&) { q.type = IbQpType{5}; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedQpType},
      {"read of UC", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUc, w.opcode = kRead; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"write of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"write with immediate data of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = 1; },
       IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"read of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = kRead; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"write of GSI", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kGsi, w.opcode = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"next opcode", opcode(5), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"inline read", [](Qp&, WorkRequest& w) { w.opcode = kRead, w.SetInline(8); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"read of a QP without", [](Qp& q, WorkRequest& w) { q.max_rd_atomic = 0, w.opcode = kRead; },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"length of a read", [](Qp&, WorkRequest& w) { w.opcode = kRead, w.sge.length = 0x8000'0001; },
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"list of a read", [](Qp&, WorkRequest& w) { w.opcode = kRead, w.SetList(std::vector<spec::RdmaSge>(5)); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"handle behind the table", datagram([](WorkRequest& w) { w.ah = 16 + 3; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadAh},
      {"handle of more than 16 bits", datagram([](WorkRequest& w) { w.ah = 0x1'0003; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadAh},
      {"handle that is none", datagram([](WorkRequest& w) { w.ah = 4; }), IbWcStatus::kLocQpOpErr, RdmaError::kBadAh},
      {"handle of another domain", datagram([](WorkRequest& w) { w.ah = 5; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadAh},
      {"long datagram", datagram([](WorkRequest& w) { w.sge.length = 1025; }), IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"long list of a datagram",
       datagram([](WorkRequest& w) { w.SetList({{.length = 1000}, {.length = 24}, {.length = 1}}); }),
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"very long datagram", datagram([](WorkRequest& w) { w.sge.length = ~0U; }), IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"key of a datagram", datagram([](WorkRequest& w) { w.sge.lkey = 0xf0; }), IbWcStatus::kLocProtErr,
       RdmaError::kBadMrn},
      {"unknown", opcode(200), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"mtu 0", [](Qp& q, WorkRequest&) { q.mtu = IbMtu{0}; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"mtu 6", [](Qp& q, WorkRequest&) { q.mtu = IbMtu{6}; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"flags", [](Qp&, WorkRequest& w) { w.flags = 0x10; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"inline data", [](Qp& q, WorkRequest& w) { q.max_inline_data = 64, w.SetInline(65); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapInlineExceeded},
      {"inline data behind its room", [](Qp& q, WorkRequest& w) { q.max_inline_data = 999, w.SetInline(513); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapInlineExceeded},
      {"list", [](Qp& q, WorkRequest& w) { q.max_send_sge = 3, w.SetList(std::vector<spec::RdmaSge>(4)); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"list for the device",
       [](Qp& q, WorkRequest& w) { q.max_send_sge = 255, w.SetList(std::vector<spec::RdmaSge>(8)); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"long list", [](Qp&, WorkRequest& w) { w.num_sge = 0x100'0001; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapSgeExceeded},
      {"no elements allowed", [](Qp& q, WorkRequest&) { q.max_send_sge = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapSgeExceeded},
      {"half an element", [](Qp&, WorkRequest& w) { w.bytes = 591; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"half a list", [](Qp&, WorkRequest& w) { w.SetList(std::vector<spec::RdmaSge>(3)), w.bytes -= 1; },
       IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"length of a list",
       [](Qp&, WorkRequest& w) { w.SetList({{.length = 0x8000'0000}, {.length = 0}, {.length = 1}}); },
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"length of a list above 32 bits",
       [](Qp&, WorkRequest& w) { w.SetList({{.length = ~0u}, {.length = 1}, {.length = 7}}); }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"length", [](Qp&, WorkRequest& w) { w.sge.length = 0x8000'0001; }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"key", key(0xf0), IbWcStatus::kLocProtErr, RdmaError::kBadMrn},
      {"domain", key(0xf1), IbWcStatus::kLocProtErr, RdmaError::kBadPdn},
      {"rights", key(0xf2), IbWcStatus::kLocProtErr, RdmaError::kBadAccessFlags},
      {"bounds", key(0xf3), IbWcStatus::kLocProtErr, RdmaError::kInvalidLength},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Bench bench;
    WorkRequest good{.head = 1, .wr_id = 1};
    WorkRequest spoiled{.head = 2, .wr_id = 2, .flags = 0};
    c.spoil(bench.qps[3], spoiled);
    bench.SetUp(3);
    bench.SetUp(4);
    bench.SetHandle(3, true, 9);
    bench.SetHandle(4, false, 9);
    bench.SetHandle(5, true, 8);
    bench.Post(spoiled);
    bench.Post(good);
    good.qpn = 4;  // of another QP
    bench.Post(good);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_EQ(bench.record_sink.sent().size(), 3u);
    EXPECT_EQ(bench.record_sink.sent()[0].token.status, c.status);
    EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(c.why));
    EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kWrFlushErr);
    EXPECT_EQ(bench.record_sink.sent()[2].token.status, IbWcStatus::kSuccess);
    ASSERT_EQ(bench.failure_sink.sent().size(), 1u);
    EXPECT_EQ(bench.failure_sink.sent()[0].token.code, static_cast<uint32_t>(c.why));
    EXPECT_GT(bench.failure_sink.sent()[0].cycle, bench.record_sink.sent()[0].cycle);
    // A load is a new beginning.
    bench.qps[3] = Qp{.psn = 5};
    bench.SetUp(3);
    good.qpn = 3;
    bench.Post(good);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 5u);
  }
}

TEST(Requester, AWorkRequestOfAQpWithBadParityFailsAndNothingIsSent) {
  for (const uint32_t bit : {0u, 30u, 1023u}) {
    Bench bench;
    for (const uint32_t qpn : {3u, 4u}) bench.SetUp(qpn);
    bench.contexts.Flip(spec::ContextRam::kRequesterQp, 4, bit);
    ASSERT_NO_FATAL_FAILURE(bench.Post({.qpn = 3, .wr_id = bit}));
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.contexts.errors.empty());
    const size_t jobs = bench.job_sink.sent().size(), records = bench.record_sink.sent().size();
    bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.contexts.errors.size(), 1u);
    EXPECT_EQ(bench.job_sink.sent().size(), jobs);
    ASSERT_EQ(bench.record_sink.sent().size(), records + 1);
    EXPECT_EQ(bench.record_sink.sent().back().token.status, IbWcStatus::kLocQpOpErr);
    // A write ends it.
    bench.SetUp(4);
    bench.contexts.errors.clear();
    bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_TRUE(bench.contexts.errors.empty());
    EXPECT_EQ(bench.record_sink.sent().back().token.status, IbWcStatus::kSuccess);
  }
}

TEST(Requester, AnAddressHandleWithBadParityIsNone) {
  Bench bench;
  bench.qps[3] = {.type = IbQpType::kUd};
  for (const uint32_t qpn : {3u, 4u}) bench.SetUp(qpn);
  bench.SetHandle(5, true, 9);
  bench.contexts.Flip(spec::ContextRam::kRequesterAh, 5, 3);
  bench.contexts.Flip(spec::ContextRam::kRequesterAh, 5, 4);  // takes the first one's place
  // One of another service has no handle, whatever lies there.
  bench.work.tokens.push_back(WorkRequest{.qpn = 4, .is_datagram = true, .ah = 5}.Token());
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_TRUE(bench.contexts.errors.empty());
  const WorkRequest datagram{.qpn = 3, .opcode = 2, .is_datagram = true, .ah = 5};
  bench.work.tokens.push_back(datagram.Token());
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.contexts.errors.size(), 1u);
  const auto& record = bench.record_sink.sent().back().token;
  EXPECT_EQ(record.status, IbWcStatus::kLocQpOpErr);
  EXPECT_EQ(record.vendor_err, static_cast<uint32_t>(RdmaError::kBadAh));
}

TEST(Requester, TheLongestMessageBegins) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request;
  request.sge.length = Requester::kMaxMessageBytes;
  bench.work.tokens.push_back(request.Token());
  ASSERT_EQ(bench.Run(2000), "");
  EXPECT_EQ(bench.failure.count, 0u);
  EXPECT_GT(bench.job.count, 100u);
  EXPECT_EQ(bench.record_sink.sent().at(0).token.last_psn, Psn(1000 + (1u << 21) - 1));
  // It ends with the state.
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.record.count, 1u);  // which the completer flushes
  bench.work.tokens.push_back(request.Token());
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 2u);
  EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kWrFlushErr);
  EXPECT_EQ(bench.failure.count, 0u);
}

TEST(Requester, AMessageThatLosesItsMemoryOnTheWayAmendsItsRecord) {
  Bench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request;
  request.sge = {.addr = 0x1'0000, .length = 4000, .lkey = 0x80};  // 1,000 bytes are there: 3 packets
  bench.Post(request);
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  ASSERT_EQ(bench.record.count, 3u);
  EXPECT_EQ(bench.job.count, 3u);
  EXPECT_TRUE(bench.record_sink.sent()[1].token.amends);
  EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kLocProtErr);
  EXPECT_EQ(bench.record_sink.sent()[2].token.status, IbWcStatus::kWrFlushErr);
}

TEST(Requester, AWorkRequestThatCouldNotBeReadLeavesASilentRecord) {
  for (const RdmaError failed : {RdmaError::kBadWqe, RdmaError::kQueueDmaError}) {
    Bench bench;
    bench.SetUp(3);
    bench.Post({.head = 7, .failed = failed});
    bench.Post({.head = 8});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().at(0).token.silent);
    EXPECT_FALSE(bench.record_sink.sent().at(1).token.silent);
    EXPECT_EQ(bench.failure.count, 0u);  // the send queue tells of it
    EXPECT_EQ(bench.job.count, 0u);
  }
}

TEST(Requester, OnlyAQpThatSendsOrDrainsSends) {
  for (const IbQpState state : {IbQpState::kReset, IbQpState::kInit, IbQpState::kRtr, IbQpState::kRts, IbQpState::kSqd,
                                IbQpState::kSqe, IbQpState::kErr}) {
    Bench bench;
    bench.qps[3].state = state;
    bench.SetUp(3);
    bench.Post({.head = 7});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, state == IbQpState::kRts || state == IbQpState::kSqd ? 1u : 0u);
    EXPECT_EQ(bench.failure.count, 0u);
  }
}

TEST(Requester, LatenciesAreThoseOfThePage) {
  Bench bench;
  bench.SetUp(3);
  bench.place.rate = 0;
  bench.work.tokens.push_back(WorkRequest{}.Token());
  ASSERT_EQ(bench.Run(Requester::kWorkRequestToCheck), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  ASSERT_EQ(bench.Run(10), "");
  bench.place.rate = 16;
  ASSERT_EQ(bench.Run(Requester::kPlaceToRecord), "");
  EXPECT_EQ(bench.record.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.record.count, 1u);
  ASSERT_EQ(bench.Run(Requester::kPlaceToJob - Requester::kPlaceToRecord - 1), "");
  EXPECT_EQ(bench.job.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.job.count, 1u);
  ASSERT_EQ(bench.Settle(), "");
  bench.work.tokens.push_back(WorkRequest{.opcode = 77}.Token());
  ASSERT_EQ(bench.Run(Requester::kWorkRequestToFlush), "");
  EXPECT_EQ(bench.record.count, 1u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.record.count, 2u);
}

TEST(Requester, AMessageOfOnePacketTakesFourCyclesAndAPacketOfALongOneThree) {
  Bench bench;
  bench.SetUp(3);
  for (int i = 0; i < 200; ++i) bench.work.tokens.push_back(WorkRequest{}.Token());
  Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 200u);
  EXPECT_LE(bench.bench.cycle() - start, 200u * 4 + 30);
  WorkRequest request;
  request.sge.length = 200 * 1024;
  bench.work.tokens.push_back(request.Token());
  start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 400u);
  EXPECT_LE(bench.bench.cycle() - start, 200u * 3 + 30);
}

TEST(Requester, EveryOperationHasItsOpcodesAndHeaders) {
  struct Row {
    IbQpType type;
    uint8_t opcode;
    BthOpcode only, last;  // of several packets
    bool may_solicit;
    size_t immediate;  // place in the headers of the last packet if that is the only one
  };
  constexpr Row kRows[] = {
      {IbQpType::kRc, 0, BthOpcode::kRcRdmaWriteOnly, BthOpcode::kRcRdmaWriteLast, false, 0},
      {IbQpType::kRc, 1, BthOpcode::kRcRdmaWriteOnlyWithImmediate, BthOpcode::kRcRdmaWriteLastWithImmediate, true, 16},
      {IbQpType::kRc, 2, BthOpcode::kRcSendOnly, BthOpcode::kRcSendLast, true, 0},
      {IbQpType::kRc, 3, BthOpcode::kRcSendOnlyWithImmediate, BthOpcode::kRcSendLastWithImmediate, true, 0},
      {IbQpType::kRc, 4, BthOpcode::kRcRdmaReadRequest, BthOpcode::kRcRdmaReadRequest, false, 0},
      {IbQpType::kUc, 0, BthOpcode::kUcRdmaWriteOnly, BthOpcode::kUcRdmaWriteLast, false, 0},
      {IbQpType::kUc, 1, BthOpcode::kUcRdmaWriteOnlyWithImmediate, BthOpcode::kUcRdmaWriteLastWithImmediate, true, 16},
      {IbQpType::kUc, 2, BthOpcode::kUcSendOnly, BthOpcode::kUcSendLast, true, 0},
      {IbQpType::kUc, 3, BthOpcode::kUcSendOnlyWithImmediate, BthOpcode::kUcSendLastWithImmediate, true, 0},
      {IbQpType::kUd, 2, BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly, true, 0},
      {IbQpType::kUd, 3, BthOpcode::kUdSendOnlyWithImmediate, BthOpcode::kUdSendOnlyWithImmediate, true, 8},
      {IbQpType::kGsi, 2, BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly, true, 0},
      {IbQpType::kGsi, 3, BthOpcode::kUdSendOnlyWithImmediate, BthOpcode::kUdSendOnlyWithImmediate, true, 8},
  };
  for (const Row& row : kRows) {
    for (const uint32_t length : {0u, 100u, 256u, 257u, 1000u}) {
      for (const bool solicited : {false, true}) {
        Bench bench;
        Qp& qp = bench.qps[3];
        qp.mtu = IbMtu::kMtu256;
        qp.type = row.type;
        if (qp.IsUd() && length > 256) continue;
        bench.SetUp(3);
        bench.SetHandle(3, true, 9);
        WorkRequest request{.opcode = row.opcode, .is_datagram = qp.IsUd()};
        if (solicited) request.flags |= IbSendFlags::kSolicited;
        request.sge.length = length;
        bench.Post(request);
        ASSERT_NO_FATAL_FAILURE(bench.Compare());
        // What the reference says, said once more of the ends: immediate data is in the last packet alone.
        const spec::TxPacket& last = bench.job_sink.sent().back().token.packet;
        const bool is_only = length <= 256;
        const bool has_immediate = row.opcode % 2 == 1;
        EXPECT_EQ(last.opcode, is_only ? row.only : row.last);
        if (row.opcode < 2 || !is_only || has_immediate) {
          const size_t at = is_only ? row.immediate : 0;
          if (row.opcode != kRead) {
            EXPECT_EQ(last.extension[at], has_immediate ? 0x0a : is_only ? 0x12 : 0);
            EXPECT_EQ(last.extension[at + 3], has_immediate ? 0x0d : is_only ? 0x78 : 0);
          }
        }
        EXPECT_EQ(last.solicited_event, solicited && row.may_solicit);
        // Only RC is acknowledged; others report.
        EXPECT_EQ(last.ack_req, row.type == IbQpType::kRc);
        EXPECT_EQ(last.reports, row.type != IbQpType::kRc);
        EXPECT_FALSE(last.is_response);
        for (const auto& [cycle, job] : bench.job_sink.sent()) {
          EXPECT_EQ(job.packet.reports, row.type != IbQpType::kRc && job.packet.psn == last.psn);
          EXPECT_EQ(job.packet.has_ah, qp.IsUd());
        }
        EXPECT_EQ(bench.record_sink.sent()[0].token.opcode, row.opcode < 2        ? IbWcOpcode::kRdmaWrite
                                                            : row.opcode == kRead ? IbWcOpcode::kRdmaRead
                                                                                  : IbWcOpcode::kSend);
        EXPECT_EQ(bench.record_sink.sent()[0].token.last_psn, Psn(1000 + (length == 0 ? 0 : (length - 1) / 256)));
      }
    }
  }
}

TEST(Requester, AListIsOneMessageWhateverItsElementsAre) {
  const std::vector<std::vector<uint32_t>> lists = {
      {100, 100},      {256, 256}, {255, 1, 1},       {1, 1, 1, 1, 1, 1, 1}, {0, 0, 0},
      {0, 5},          {5, 0},     {0, 0, 300, 0},    {1000, 1, 1000},       {257, 0, 0, 0, 0, 256},
      {2000, 3, 0, 4}, {0},        {512, 0, 0, 0, 0}, {3, 4097, 1},          {1, 254, 1, 256, 0, 0, 1}};
  for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu4096}) {
    Bench bench;
    bench.qps[3].mtu = mtu;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    uint16_t head = 0;
    for (const auto& lengths : lists) {
      WorkRequest request{.head = head++, .opcode = 3};
      std::vector<spec::RdmaSge> elements;
      for (const uint32_t length : lengths) {
        const auto i = static_cast<uint32_t>(elements.size());
        // The key of an element of 0 bytes is not looked at.
        elements.push_back({.addr = 0x1'0ff0 + 0x10000 * i, .length = length, .lkey = length == 0 ? 0xf0 : 0x10 + i});
      }
      request.SetList(elements);
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.failure.count, 0u);
  }
}

TEST(Requester, AListIsReadOnceAndFourElementsAtATime) {
  for (uint32_t elements = 1; elements <= 7; ++elements) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    bench.fetch.keep = true;
    WorkRequest request{.head = 2};
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 3000, .lkey = 1}));
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_EQ(bench.fetch.count, (elements + 2) / 4);
    if (elements == 7) {
      EXPECT_EQ(bench.fetch_sink.sent()[0].token.address, request.Address() + 592);
      EXPECT_EQ(bench.fetch_sink.sent()[0].token.bytes, 64);
      EXPECT_EQ(bench.fetch_sink.sent()[1].token.address, request.Address() + 592 + 64);
      EXPECT_EQ(bench.fetch_sink.sent()[1].token.bytes, 32);
    }
  }
}

TEST(Requester, AListThatLosesItsMemoryDropsThePacketThatBegan) {
  for (size_t bad = 0; bad < 5; ++bad) {
    for (const uint32_t length : {100u, 128u, 300u}) {
      Bench bench;
      bench.qps[3].mtu = IbMtu::kMtu256;
      bench.qps[3].max_send_sge = 7;
      bench.SetUp(3);
      WorkRequest request{.head = 2};
      std::vector<spec::RdmaSge> list(5, {.addr = 0x1'0000, .length = length, .lkey = 1});
      list[bad].lkey = 0xf1;
      request.SetList(list);
      bench.Post(request);
      bench.Post({.head = 3});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      ASSERT_EQ(bench.failure.count, 1u);
      const auto& records = bench.record_sink.sent();
      EXPECT_EQ(records.size(), bad == 0 ? 2u : 3u);
      EXPECT_EQ(records[records.size() - 2].token.amends, bad != 0);
      const bool in_a_packet = bad * length % 256 != 0;
      EXPECT_EQ(!bench.job_sink.sent().empty() && bench.job_sink.sent().back().token.drop, in_a_packet);
    }
  }
}

TEST(Requester, AListThatCannotBeReadFails) {
  for (const uint32_t bad : {1u, 4u, 5u, 6u}) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    WorkRequest request{.head = 2};
    request.SetList(std::vector<spec::RdmaSge>(7, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
    bench.reference.unreadable.insert(request.Address() + 576 + 16 * bad);
    bench.Post(request);
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.record_sink.sent()[0].token.status, IbWcStatus::kLocQpOpErr);
    EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(RdmaError::kQueueDmaError));
    EXPECT_EQ(bench.failure.count, 1u);
  }
}

TEST(Requester, InlineDataIsTakenFromTheWorkRequestWithoutAKey) {
  for (const uint32_t length : {0u, 1u, 255u, 256u, 257u, 512u}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    for (uint8_t opcode = 0; opcode < 4; ++opcode) {
      WorkRequest request{.head = opcode, .opcode = opcode};
      request.SetInline(length);
      request.sge.lkey = 0xf0;
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0u);
    EXPECT_EQ(bench.fetch.count, 0u);
    EXPECT_EQ(bench.failure.count, 0u);
  }
}

// --- Resending

TEST(Requester, AHeldQpGivesRecordsAndNoPacketsUntilItResumes) {
  Bench bench;
  bench.qps[3].psn = 0xff'fffe;
  bench.SetUp(3);
  bench.SetUp(4);
  WorkRequest a{.head = 1}, b{.head = 2}, c{.head = 3}, other{.qpn = 4, .head = 4};
  a.sge.length = 2500;  // 3 packets
  b.SetList({{.addr = 0x1'0000, .length = 900, .lkey = 1}, {.addr = 0x2'0000, .length = 900, .lkey = 2}});
  bench.Post(a);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  bench.Post(b);
  bench.Post(other);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 4u);
  EXPECT_TRUE(bench.record_sink.sent()[1].token.unsent);
  EXPECT_EQ(bench.record_sink.sent()[1].token.first_psn, 1u);
  EXPECT_EQ(bench.record_sink.sent()[1].token.last_psn, 2u);
  EXPECT_FALSE(bench.record_sink.sent()[2].token.unsent);
  // The second packet of the first message on, and then the other.
  bench.Post(a, {.psn = 0xff'ffff, .first_psn = 0xff'fffe, .last_psn = 0});
  bench.Post(b, {.slot = 1, .psn = 1, .first_psn = 1, .last_psn = 2});
  bench.Post(c);          // not resumed: unsent
  bench.Resume(3, 1, 3);  // which the completer could not know
  bench.Post(c);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 4u + 2 + 3);
  EXPECT_EQ(bench.record.count, 5u);
  EXPECT_TRUE(bench.record_sink.sent()[4].token.unsent);
  bench.Post(c, {.psn = 3, .first_psn = 3, .last_psn = 3});
  bench.Post(c, {.psn = 4, .first_psn = 4, .last_psn = 4});
  bench.Resume(3, 1, 5);
  bench.Post(c);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent()[5].token.unsent);
  EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 5u);
  EXPECT_EQ(bench.failure.count, 0u);
}

TEST(Requester, AHoldEndsAMessageBetweenPacketsAndAReplaySendsTheRest) {
  for (const bool stalls : {false, true}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    if (stalls) bench.Rates(16, 8, 8);
    WorkRequest request{.head = 1, .opcode = 3};
    request.SetList(
        {{.addr = 0x1'0000, .length = 100'000, .lkey = 1}, {.addr = 0x2'0000, .length = 156'000, .lkey = 2}});
    bench.Post(request);
    std::vector<spec::TxJob> expected = bench.reference.jobs;
    bench.reference.jobs.clear();
    ASSERT_EQ(bench.Run(200), "");
    bench.hold.tokens.push_back({.qpn = 3, .generation = 1});
    ASSERT_EQ(bench.Settle(), "");
    const size_t sent = bench.job_sink.sent().size();
    ASSERT_GT(sent, 10u);
    ASSERT_LT(sent, 200u);
    for (size_t i = 0; i < sent; ++i) ASSERT_EQ(bench.job_sink.sent()[i].token, expected[i]);
    ASSERT_FALSE(bench.job_sink.sent().back().token.more);
    EXPECT_EQ(bench.record.count, 1u);
    bench.qps[3].held = true;
    bench.qps[3].generation = 1;
    // From each of its elements, and from both at once.
    const uint32_t first = 1000, last = 1999;
    for (const uint32_t psn : {first, first + 390, first + 391, last}) {
      bench.job_sink.sent().clear();
      bench.reference.jobs.clear();
      bench.Post(request, {.psn = psn, .first_psn = first, .last_psn = last});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.job_sink.sent().front().token.packet.psn, psn);
      EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, last);
    }
    bench.Resume(3, 1, last + 1);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, last + 1);
  }
}

TEST(Requester, OnlyTheResumeOfTheLastHoldCounts) {
  Bench bench;
  bench.SetUp(3);
  bench.Post({.head = 1});
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 2));
  bench.Resume(3, 1, 1001);
  bench.Post({.head = 2});
  bench.Resume(3, 2, 1001);
  bench.Post({.head = 3});
  EXPECT_TRUE(bench.qps[3].held);
  bench.Resume(3, 2, 1003);
  bench.Post({.head = 4});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 2u);
  // A resume once more changes nothing, and nor do replays when there is nothing to repeat.
  bench.Resume(3, 2, 1004);
  bench.Resume(3, 7, 1004);
  bench.Post({.head = 5});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 3u);
}

TEST(Requester, AReplayOfAnOlderHoldIsNotCarriedOut) {
  Bench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request{.head = 1};
  request.sge.length = 256 * 1000;
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 4));
  bench.Post(request, {.generation = 3, .psn = 1000, .first_psn = 1000, .last_psn = 1999});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  // A new hold ends one that is under way.
  bench.work.tokens.push_back(Replay{.generation = 4, .psn = 1000, .first_psn = 1000, .last_psn = 1999}.Token(request));
  ASSERT_EQ(bench.Run(300), "");
  bench.hold.tokens.push_back({.qpn = 3, .generation = 5});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_GT(bench.job.count, 1050u);
  EXPECT_LT(bench.job.count, 1200u);
  EXPECT_EQ(bench.record.count, 1u);
  // And so does ERR.
  bench.work.tokens.push_back(Replay{.generation = 5, .psn = 1000, .first_psn = 1000, .last_psn = 1999}.Token(request));
  ASSERT_EQ(bench.Run(300), "");
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  ASSERT_EQ(bench.Settle(), "");
  const uint64_t jobs = bench.job.count;
  EXPECT_LT(jobs, 1400u);
  bench.work.tokens.push_back(Replay{.generation = 5, .psn = 1000, .first_psn = 1000, .last_psn = 1999}.Token(request));
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, jobs);
  EXPECT_EQ(bench.record.count, 1u);
  EXPECT_EQ(bench.failure.count, 0u);
}

TEST(Requester, ABadReplayAmendsItsRecordAndLeavesTheQpAlive) {
  struct Case {
    const char* what;
    std::function<void(WorkRequest&, Replay&)> spoil;
    IbWcStatus status;
    RdmaError why;
  };
  const Case cases[] = {
      {"not read", [](WorkRequest& w, Replay&) { w.failed = RdmaError::kQueueDmaError; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kQueueDmaError},
      {"opcode", [](WorkRequest& w, Replay&) { w.opcode = 5; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"flags", [](WorkRequest& w, Replay&) { w.flags = 0x80; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"list", [](WorkRequest& w, Replay&) { w.num_sge = 5; }, IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"too long", [](WorkRequest& w, Replay&) { w.sge.length = 769; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"too short", [](WorkRequest& w, Replay&) { w.sge.length = 512; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"much too long", [](WorkRequest& w, Replay&) { w.sge.length = ~0u; }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"before", [](WorkRequest&, Replay& r) { --r.psn; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"behind", [](WorkRequest&, Replay& r) { r.psn += 3; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"key", [](WorkRequest& w, Replay&) { w.sge.lkey = 0xf0; }, IbWcStatus::kLocProtErr, RdmaError::kBadMrn},
      {"domain", [](WorkRequest& w, Replay&) { w.sge.lkey = 0xf1; }, IbWcStatus::kLocProtErr, RdmaError::kBadPdn},
      {"bounds on the way", [](WorkRequest& w, Replay&) { w.sge = {.addr = 0x1'01f0, .length = 700, .lkey = 0x80}; },
       IbWcStatus::kLocProtErr, RdmaError::kInvalidLength},
      {"in a packet",
       [](WorkRequest& w, Replay&) {
         w.SetList({{.addr = 0x1'0000, .length = 300, .lkey = 1}, {.addr = 0x1'0000, .length = 400, .lkey = 0xf2}});
       },
       IbWcStatus::kLocProtErr, RdmaError::kBadAccessFlags},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .wr_id = 77};
    request.sge.length = 700;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 9));
    WorkRequest spoiled = request;
    Replay replay{.generation = 9, .slot = 6, .psn = 1000, .first_psn = 1000, .last_psn = 1002};
    c.spoil(spoiled, replay);
    bench.Post(spoiled, replay);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_EQ(bench.record.count, 2u);
    const spec::SendRecord& record = bench.record_sink.sent()[1].token;
    EXPECT_TRUE(record.amends && record.again);
    EXPECT_FALSE(record.silent || record.unsent);
    EXPECT_EQ(record.slot, 6u);
    EXPECT_EQ(record.first_psn, 1000u);
    EXPECT_EQ(record.status, c.status);
    EXPECT_EQ(record.vendor_err, static_cast<uint32_t>(c.why));
    EXPECT_EQ(bench.failure.count, 0u);  // the completer's to say
    bench.Post(request, {.generation = 9, .slot = 6, .psn = 1001, .first_psn = 1000, .last_psn = 1002});
    bench.Resume(3, 9, 1003);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 1003u);
  }
}

TEST(Requester, ABadWorkRequestOfAHeldQpFailsAtOnce) {
  Bench bench;
  bench.SetUp(3);
  bench.Post({.head = 1});
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  bench.Post({.head = 2, .opcode = 9});
  bench.Post({.head = 3});
  bench.Post({.head = 1}, {.psn = 1000, .first_psn = 1000, .last_psn = 1000});  // of a dead QP
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 1u);
  EXPECT_EQ(bench.failure.count, 1u);
}

TEST(Requester, ALoadEndsEveryHold) {
  for (const uint8_t generation : {uint8_t{1}, uint8_t{2}, uint8_t{255}}) {
    Bench bench;
    bench.SetUp(3);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, generation));
    bench.Post({.head = 1});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    bench.SetUp(3);
    bench.Post({.head = 2});
    // Of the life before.
    bench.work.tokens.push_back(
        Replay{.generation = generation, .psn = 5, .first_psn = 5, .last_psn = 5}.Token(WorkRequest{}));
    bench.work.tokens.push_back(ResumeToken(3, generation, 1002));
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2u);
    // The same number means another hold.
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, generation));
    bench.Post({.head = 4});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2u);
  }
}

TEST(Requester, TheGenerationOfHoldsWraps) {
  Bench bench;
  bench.SetUp(3);
  for (int i = 1; i <= 300; ++i) {
    const auto generation = static_cast<uint8_t>(i);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, generation));
    const uint32_t psn = bench.qps[3].psn;
    bench.Post({.head = 1});
    bench.Resume(3, static_cast<uint8_t>(generation - 1), Psn(psn + 1));
    ASSERT_TRUE(bench.qps[3].held);
    bench.Post({.head = 1}, {.generation = generation, .psn = psn, .first_psn = psn, .last_psn = psn});
    bench.Resume(3, generation, Psn(psn + 1));
    bench.Post({.head = 2});
  }
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 600u);
}

TEST(Requester, AHoldTakesEffectAfterItsCycles) {
  // The decision about the record is in the cycle before it is visible.
  for (const Cycle before : {Requester::kHoldToDecision - 1, Requester::kHoldToDecision}) {
    Bench bench;
    bench.SetUp(3);
    bench.place.rate = 0;
    bench.work.tokens.push_back(WorkRequest{}.Token());
    ASSERT_EQ(bench.Run(20), "");
    bench.place.rate = 16;
    const Cycle decision = Requester::kPlaceToRecord - 1;
    ASSERT_EQ(bench.Run(decision - before), "");
    bench.hold.tokens.push_back({.qpn = 3, .generation = 1});
    ASSERT_EQ(bench.Settle(), "");
    ASSERT_EQ(bench.record.count, 1u);
    EXPECT_EQ(bench.record_sink.sent()[0].token.unsent, before == Requester::kHoldToDecision);
    EXPECT_EQ(bench.job.count, before == Requester::kHoldToDecision ? 0u : 1u);
  }
}

TEST(Requester, LatenciesOfListsAndReplaysAreThoseOfThePage) {
  for (const uint32_t elements : {2u, 5u, 6u, 7u}) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    bench.fetched.rate = 0;
    WorkRequest request;
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
    bench.Keep(request);
    bench.work.tokens.push_back(request.Token());
    ASSERT_EQ(bench.Run(Requester::kWorkRequestToFetch), "");
    EXPECT_EQ(bench.fetch.count, 0u);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.fetch.count, 1u);
    ASSERT_EQ(bench.Run(10), "");
    // All but the last answer, and that when they are read.
    const uint32_t in_last = (elements - 2) % 4 + 1;
    bench.fetched.rate = 16;
    if (elements > 5) {
      const spec::DmaFetched last = bench.fetched.tokens.back();
      bench.fetched.tokens.pop_back();
      ASSERT_EQ(bench.Run(20), "");
      bench.fetched.tokens.push_back(last);
    }
    ASSERT_EQ(bench.Run(Requester::FetchedToCheck(in_last)), "");
    EXPECT_EQ(bench.check.count, 0u);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.check.count, 1u);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.job.count, elements);

    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
    bench.work.tokens.push_back(Replay{.psn = 7, .first_psn = 7, .last_psn = 7}.Token(WorkRequest{}));
    bench.check.count = 0;
    ASSERT_EQ(bench.Run(Requester::kReplayToCheck), "");
    EXPECT_EQ(bench.check.count, 0u);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.check.count, 1u);
  }
}

TEST(Requester, ARunOfAListTakesThreeCycles) {
  Bench bench;
  bench.qps[3].max_send_sge = 7;
  bench.SetUp(3);
  for (uint16_t i = 0; i < 50; ++i) {
    WorkRequest request{.head = i};
    request.SetList(std::vector<spec::RdmaSge>(7, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
    bench.Keep(request);
    bench.work.tokens.push_back(request.Token());
  }
  const Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 350u);
  // 3 for each run, and the list's read is beside the runs of the one before.
  EXPECT_LE(bench.bench.cycle() - start, 50u * 7 * 3 + 50);
}

// --- RDMA READ

TEST(Requester, AReadIsOneRequestWithThePsnsOfItsResponses) {
  for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu1024, IbMtu::kMtu4096}) {
    const uint32_t bytes = 128U << static_cast<unsigned>(mtu);
    for (const uint32_t length : {0U, 1U, bytes - 1, bytes, bytes + 1, 2 * bytes, 2 * bytes + 1, 70 * bytes,
                                  Requester::kMaxMessageBytes - 1, Requester::kMaxMessageBytes}) {
      Bench bench;
      bench.qps[3].mtu = mtu;
      bench.qps[3].psn = 0xff'fffe;
      bench.SetUp(3);
      WorkRequest request{.head = 5, .wr_id = 77, .opcode = kRead};
      request.sge = {.addr = 0x1'0000, .length = length, .lkey = 0xf0};  // which is not looked at
      bench.Post(request);
      bench.Post({.head = 6});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      ASSERT_EQ(bench.job.count, 2U);
      const uint32_t responses = length == 0 ? 1 : (length - 1) / bytes + 1;
      const spec::TxJob& job = bench.job_sink.sent()[0].token;
      EXPECT_EQ(job.packet.opcode, BthOpcode::kRcRdmaReadRequest);
      EXPECT_EQ(job.packet.psn, 0xff'fffeU);
      EXPECT_EQ(job.packet.payload_bytes, 0);
      EXPECT_FALSE(job.more || job.bytes0 != 0);
      const auto reth = spec::Reth::Decode(job.packet.extension);
      EXPECT_EQ(reth.virtual_address, request.remote_address);
      EXPECT_EQ(reth.rkey, request.rkey);
      EXPECT_EQ(reth.dma_length, length);
      EXPECT_EQ(bench.job_sink.sent()[1].token.packet.psn, Psn(0xff'fffe + responses));
      const spec::SendRecord& record = bench.record_sink.sent()[0].token;
      EXPECT_EQ(record.opcode, IbWcOpcode::kRdmaRead);
      EXPECT_EQ(record.bytes, length);
      EXPECT_EQ(record.first_psn, 0xff'fffeU);
      EXPECT_EQ(record.last_psn, Psn(0xff'fffe + responses - 1));
      EXPECT_EQ(bench.record_sink.sent()[1].token.bytes, 0U);
      ASSERT_EQ(bench.read.count, 1U);
      const spec::ReadRecord& read = bench.read_sink.sent()[0].token;
      EXPECT_EQ(read.bytes, length);
      EXPECT_EQ(read.elements, request.Address() + 576);
      EXPECT_EQ(read.num_sge, 1);
      EXPECT_EQ(spec::RdmaSge::Decode(read.sge).addr, 0x1'0000U);
      EXPECT_EQ(spec::RdmaSge::Decode(read.sge).lkey, 0xf0U);
      EXPECT_EQ(bench.check.count, 1U);  // of the write
      EXPECT_LT(bench.record_sink.sent()[0].cycle, bench.read_sink.sent()[0].cycle);
    }
  }
}

TEST(Requester, TheListOfAReadGoesToTheResponder) {
  for (uint32_t elements = 0; elements <= 7; ++elements) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    WorkRequest request{.head = 2, .opcode = kRead};
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 3000, .lkey = 0xf1}));
    bench.Post(request);
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 0, .lkey = 0xf1}));
    request.head = 3;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    const spec::ReadRecord& read = bench.read_sink.sent().at(0).token;
    EXPECT_EQ(read.num_sge, elements);
    EXPECT_EQ(read.bytes, elements * 3000);
    EXPECT_EQ(spec::RdmaSge::Decode(read.sge).length, elements == 0 ? 0U : 3000U);
    EXPECT_EQ(bench.check.count, 0U);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

TEST(Requester, AReadWhoseListCannotBeReadFails) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request{.head = 2, .opcode = kRead};
  request.SetList(std::vector<spec::RdmaSge>(3, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
  bench.reference.unreadable.insert(request.Address() + 576 + 32);
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(RdmaError::kQueueDmaError));
  EXPECT_EQ(bench.read.count, 0U);
  EXPECT_EQ(bench.job.count, 0U);
}

TEST(Requester, AReplayOfAReadAsksForTheRest) {
  for (const bool is_list : {false, true}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu512;
    bench.qps[3].psn = 0xff'fffd;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .opcode = kRead, .remote_address = 0xffff'ffff'0000};
    request.sge.length = 2500;  // 5 responses
    if (is_list) {
      request.SetList({{.addr = 0x1'0000, .length = 700, .lkey = 1}, {.addr = 0x2'0000, .length = 1800, .lkey = 2}});
    }
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
    for (uint32_t skipped = 0; skipped < 5; ++skipped) {
      bench.Post(request, {.psn = Psn(0xff'fffd + skipped), .first_psn = 0xff'fffd, .last_psn = 1});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      const spec::TxPacket& packet = bench.job_sink.sent().back().token.packet;
      EXPECT_EQ(packet.opcode, BthOpcode::kRcRdmaReadRequest);
      EXPECT_EQ(packet.psn, Psn(0xff'fffd + skipped));
      const auto reth = spec::Reth::Decode(packet.extension);
      EXPECT_EQ(reth.virtual_address, request.remote_address + 512 * skipped);
      EXPECT_EQ(reth.dma_length, 2500 - 512 * skipped);
      const spec::ReadRecord& read = bench.read_sink.sent().back().token;  // all of it
      EXPECT_EQ(read.bytes, 2500U);
      EXPECT_EQ(read.first_psn, 0xff'fffdU);
      EXPECT_EQ(read.last_psn, 1U);
    }
    EXPECT_EQ(bench.record.count, 1U);
    EXPECT_EQ(bench.resent, 5U);
    EXPECT_EQ(bench.check.count, 0U);
    // One that is not what it was.
    request.sge.length += 512;
    bench.Post(request, {.psn = 0xff'fffd, .first_psn = 0xff'fffd, .last_psn = 1});
    request.sge.length -= 512;
    bench.Post(request, {.psn = 2, .first_psn = 0xff'fffd, .last_psn = 1});
    bench.Resume(3, 1, 2);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.record_sink.sent()[1].token.vendor_err, static_cast<uint32_t>(RdmaError::kBadWqe));
    EXPECT_EQ(bench.record_sink.sent()[2].token.vendor_err, static_cast<uint32_t>(RdmaError::kBadWqe));
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 2U);
    // Replays are not counted.
    EXPECT_EQ(bench.reference.begun[3], 1);
  }
}

TEST(Requester, TheLongestReadIsReplayedFromItsLastResponse) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request{.opcode = kRead};
  request.sge.length = Requester::kMaxMessageBytes;
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  const uint32_t last = 1000 + (1U << 21) - 1;
  bench.Post(request, {.psn = last, .first_psn = 1000, .last_psn = last});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  const auto reth = spec::Reth::Decode(bench.job_sink.sent().back().token.packet.extension);
  EXPECT_EQ(reth.dma_length, 1024U);
  EXPECT_EQ(reth.virtual_address, request.remote_address + 0x7fff'fc00);
}

TEST(Requester, AtTheLimitOfReadsAQpHoldsItself) {
  for (const uint8_t limit : {uint8_t{1}, uint8_t{2}, uint8_t{7}}) {
    Bench bench;
    bench.qps[3].max_rd_atomic = limit;
    bench.SetUp(3);
    bench.SetUp(4);
    WorkRequest read{.opcode = kRead};
    for (uint16_t i = 0; i < limit; ++i) bench.Post(read);
    bench.Post({.head = 20});  // not a READ: goes on
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, limit + 1U);
    EXPECT_FALSE(bench.qps[3].held);
    const uint32_t psn = bench.qps[3].psn;
    bench.Post(read);          // unsent
    bench.Post({.head = 21});  // what follows, too
    bench.Post({.qpn = 4});    // not of another QP
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, limit + 2U);
    ASSERT_EQ(bench.record.count, limit + 4U);
    for (size_t i = 0; i < limit + 4U; ++i) {
      EXPECT_EQ(bench.record_sink.sent()[i].token.unsent, i == limit + 1U || i == limit + 2U);
    }
    EXPECT_EQ(bench.record_sink.sent()[limit + 1U].token.bytes, 100U);
    // That READs end is not enough.
    ASSERT_NO_FATAL_FAILURE(bench.End(3, limit));
    bench.Post({.head = 22});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    // There was no hold: the replays are of generation 0, and so is the resume.
    bench.Post(read, {.generation = 0, .psn = psn, .first_psn = psn, .last_psn = psn});
    bench.Post({.head = 21}, {.generation = 0, .psn = psn + 1, .first_psn = psn + 1, .last_psn = psn + 1});
    bench.Post({.head = 22}, {.generation = 1, .psn = psn + 2, .first_psn = psn + 2, .last_psn = psn + 2});  // none
    bench.Post({.head = 22}, {.generation = 0, .psn = psn + 2, .first_psn = psn + 2, .last_psn = psn + 2});
    bench.Resume(3, 1, psn + 3);
    bench.Resume(3, 0, psn + 2);
    bench.Post({.head = 23});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    bench.Post({.head = 23}, {.generation = 0, .psn = psn + 3, .first_psn = psn + 3, .last_psn = psn + 3});
    bench.Resume(3, 0, psn + 4);
    bench.Post({.head = 24});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, psn + 4);
    // The READ that was unsent counts.
    for (uint16_t i = 1; i < limit; ++i) bench.Post(read);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.qps[3].held);
    bench.Post(read);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

TEST(Requester, AFenceWaitsForReadsAndForNothingElse) {
  for (const uint8_t opcode : {uint8_t{0}, uint8_t{1}, uint8_t{2}, uint8_t{3}, uint8_t{4}}) {
    Bench bench;
    bench.SetUp(3);
    WorkRequest fenced{.head = 5, .opcode = opcode, .flags = IbSendFlags::kFence};
    fenced.sge.length = 3000;
    bench.Post({.head = 1});
    bench.Post(fenced);  // no READ is under way
    if (opcode == kRead) {
      ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.fence);
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
    const uint64_t jobs = bench.job.count;
    bench.Post({.head = 2, .opcode = kRead});
    bench.Post({.head = 3});
    const uint32_t psn = bench.qps[3].psn;
    bench.Post(fenced);
    bench.Post({.head = 4});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, jobs + 2);
    const auto& records = bench.record_sink.sent();
    EXPECT_TRUE(records[records.size() - 2].token.unsent && records[records.size() - 2].token.fence);
    EXPECT_TRUE(records.back().token.unsent && !records.back().token.fence);
    ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    bench.Post(fenced, {.generation = 0, .psn = psn, .first_psn = psn, .last_psn = psn + 2});
    bench.Post({.head = 4}, {.generation = 0, .psn = psn + 3, .first_psn = psn + 3, .last_psn = psn + 3});
    bench.Resume(3, 0, psn + 4);
    if (opcode == kRead) {
      ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    }
    bench.Post(fenced);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

TEST(Requester, AWorkRequestThatWaitsIsNotLookedAtFurtherButABadOneFails) {
  Bench bench;
  bench.SetUp(3);
  bench.Post({.head = 1, .opcode = kRead});
  // Its memory is the replay's matter.
  WorkRequest refused{.head = 2, .flags = IbSendFlags::kFence};
  refused.sge.lkey = 0xf0;
  bench.Post(refused);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.check.count, 0U);
  EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
  bench.Post({.head = 3, .opcode = 77, .flags = IbSendFlags::kFence});
  bench.Post({.head = 4, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.failure.count, 1U);
  EXPECT_EQ(bench.record_sink.sent().back().token.status, IbWcStatus::kWrFlushErr);
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
}

TEST(Requester, OneResumeEndsTheHoldOfACompleterAndTheQpsOwn) {
  for (const bool itself_first : {false, true}) {
    Bench bench;
    bench.qps[3].max_rd_atomic = 1;
    bench.SetUp(3);
    bench.Post({.head = 1, .opcode = kRead});
    if (itself_first) {
      bench.Post({.head = 2, .opcode = kRead});
      ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
    } else {
      ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
      bench.Post({.head = 2, .opcode = kRead});
    }
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 1U);
    bench.Resume(3, 0, 1003);  // of no hold, which a hold has overtaken
    bench.Post({.head = 4});
    bench.Post({.head = 1, .opcode = kRead}, {.generation = 0, .psn = 1000, .first_psn = 1000, .last_psn = 1000});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 1U);
    ASSERT_NO_FATAL_FAILURE(bench.End(3, 2));
    bench.Resume(3, 1, 1004);
    bench.Post({.head = 5, .opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2U);
    // Held by itself once more: the last hold's generation counts.
    bench.Post({.head = 6, .opcode = kRead});
    bench.Resume(3, 0, 1006);
    bench.Post({.head = 7});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2U);
    ASSERT_NO_FATAL_FAILURE(bench.End(3, 2));
    bench.Post({.head = 6, .opcode = kRead}, {.psn = 1005, .first_psn = 1005, .last_psn = 1005});
    bench.Post({.head = 7}, {.psn = 1006, .first_psn = 1006, .last_psn = 1006});
    bench.Resume(3, 1, 1007);
    bench.Post({.head = 8});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 5U);
    EXPECT_FALSE(bench.qps[3].held);
  }
}

TEST(Requester, ALoadEndsAQpsOwnHoldButCountsOnWithItsReads) {
  Bench bench;
  bench.qps[3].max_rd_atomic = 2;
  bench.SetUp(3);
  for (int i = 0; i < 3; ++i) bench.Post({.opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_TRUE(bench.qps[3].held);
  bench.SetUp(3);
  EXPECT_FALSE(bench.qps[3].held);
  bench.Post({.head = 1});  // sent
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
  // The completer has forgotten them, and says so.
  ASSERT_NO_FATAL_FAILURE(bench.End(3, 3));
  bench.Post({.head = 2, .flags = IbSendFlags::kFence});
  bench.Post({.head = 3, .opcode = kRead});
  bench.Post({.head = 4, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
  bench.Post({.head = 5, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
}

TEST(Requester, ReadsAreCountedByTheirRecordsWhateverBecomesOfThem) {
  Bench bench;
  bench.SetUp(3);
  // A failed one, and two that flush.
  WorkRequest bad{.head = 1, .opcode = kRead};
  bad.SetInline(3);
  bench.Post(bad);
  bench.Post({.head = 2, .opcode = kRead});
  ASSERT_EQ(bench.Settle(), "");
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  bench.qps[3].state = IbQpState::kErr;
  ASSERT_EQ(bench.Settle(), "");
  bench.Post({.head = 3, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(bench.record_sink.sent()[i].token.opcode, IbWcOpcode::kRdmaRead);
  bench.qps[3].state = IbQpState::kRts;
  bench.SetUp(3);
  ASSERT_NO_FATAL_FAILURE(bench.End(3, 3));
  bench.Post({.head = 4, .flags = IbSendFlags::kFence});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
}

TEST(Requester, ReadsAreCountedModulo256) {
  // The limit at every count on both sides of 256.
  for (int before = 250; before < 262; ++before) {
    Bench bench;
    bench.qps[3].max_rd_atomic = 3;
    bench.SetUp(3);
    for (int i = 0; i < before; ++i) {
      bench.Post({.opcode = kRead});
      ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    }
    for (int i = 0; i < 3; ++i) bench.Post({.opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_FALSE(bench.record_sink.sent().back().token.unsent);
    bench.Post({.opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_TRUE(bench.record_sink.sent().back().token.unsent);
    ASSERT_EQ(bench.job.count, static_cast<uint64_t>(before) + 3);
  }
}

TEST(Requester, LatenciesOfReadsAreThoseOfThePage) {
  Bench bench;
  bench.SetUp(3);
  bench.work.tokens.push_back(WorkRequest{.opcode = kRead}.Token());
  ASSERT_EQ(bench.Run(Requester::kWorkRequestToFlush), "");
  EXPECT_EQ(bench.record.count, 0U);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.record.count, 1U);
  ASSERT_EQ(bench.Run(Requester::kRecordToReadRecord - 1), "");
  EXPECT_EQ(bench.read.count, 0U);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.read.count, 1U);
  ASSERT_EQ(bench.Run(Requester::kReadRecordToJob - 1), "");
  EXPECT_EQ(bench.job.count, 0U);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.job.count, 1U);
  // Each waits for the one before.
  bench.record.rate = bench.read.rate = 0;
  bench.work.tokens.push_back(WorkRequest{.opcode = kRead}.Token());
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.p.record_valid_o, 1);
  EXPECT_EQ(bench.p.read_record_valid_o, 0);
  bench.record.rate = 16;
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.p.read_record_valid_o, 1);
  EXPECT_EQ(bench.job.count, 1U);
  bench.read.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 2U);
  // 4 cycles each in the back.
  ASSERT_NO_FATAL_FAILURE(bench.End(3, 2));
  bench.qps[3].max_rd_atomic = 255;
  bench.SetUp(3);
  for (int i = 0; i < 200; ++i) bench.work.tokens.push_back(WorkRequest{.opcode = kRead}.Token());
  const Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 202U);
  EXPECT_LE(bench.bench.cycle() - start, 200U * 4 + 30);
}

TEST(Requester, AFenceIsDecidedByWhatWasSaidThreeCyclesBefore) {
  // The pulse in cycle n is in the table's output in n + 2, where the packet is decided; its record is 4 later.
  for (const bool in_time : {false, true}) {
    Bench bench;
    bench.SetUp(3);
    bench.Post({.opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    bench.work.tokens.push_back(WorkRequest{.flags = IbSendFlags::kFence}.Token());
    ASSERT_EQ(bench.Run(in_time ? 1 : 2), "");
    bench.reads.tokens.push_back({.qpn = 3, .ended = 1});
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.record_sink.sent().back().token.unsent, !in_time);
  }
}

TEST(Requester, AFenceIsDecidedOnceForAMessage) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request{.flags = IbSendFlags::kFence};
  request.sge.length = 100 * 1024;
  bench.Post(request);
  ASSERT_EQ(bench.Run(100), "");
  bench.reads.tokens.push_back({.qpn = 3, .ended = 250});  // no completer's way
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 100U);
  bench.reads.tokens.push_back({.qpn = 3, .ended = 0});
  ASSERT_EQ(bench.Settle(), "");
}

TEST(Requester, WhoWaitsForRoomHearsThatReadsEnded) {
  Bench bench;
  bench.qps[3].max_send_sge = 7;
  bench.SetUp(3);
  bench.SetUp(4);
  bench.Post({.opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  bench.place.rate = 0;
  for (uint32_t i = 0; i < Requester::kPackets; ++i) bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
  WorkRequest fenced{.head = 2, .flags = IbSendFlags::kFence};
  std::vector<spec::RdmaSge> list(7);  // each that is empty takes a cycle
  list.back() = {.addr = 0x2'0000, .length = 10, .lkey = 2};
  fenced.SetList(list);
  bench.Keep(fenced);
  bench.work.tokens.push_back(fenced.Token());
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_TRUE(bench.work.IsEmpty());
  bench.reads.tokens.push_back({.qpn = 3, .ended = 1});
  ASSERT_EQ(bench.Run(20), "");
  bench.place.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
}

// --- UC, UD

TEST(Requester, AMessageOfUcThatFailsOnTheWayEndsAsThatOfRc) {
  Bench bench;
  bench.qps[3].type = IbQpType::kUc;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request{.head = 2, .opcode = 2};
  request.SetList({{.addr = 0x1'0000, .length = 600, .lkey = 1}, {.addr = 0x1'0000, .length = 100, .lkey = 0xf2}});
  bench.Post(request);
  bench.Post({.head = 3});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.failure.count, 1U);
  EXPECT_TRUE(bench.job_sink.sent().back().token.drop);
  ASSERT_EQ(bench.record.count, 3U);
  EXPECT_TRUE(bench.record_sink.sent()[1].token.amends);
  for (const auto& [cycle, job] : bench.job_sink.sent()) EXPECT_FALSE(job.packet.reports && !job.more && !job.drop);
}

// --- SQE -------------------------------------------------------------------------------------------------------------

constexpr IbQpType kSendOnly[] = {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi};

struct SqeBench : Bench {
  explicit SqeBench(IbQpType type, IbQpState state = IbQpState::kRts) {
    qps[3].type = type;
    qps[3].mtu = IbMtu::kMtu256;
    qps[3].state = state;
    SetUp(3);
    SetHandle(3, true, 9);
  }
  WorkRequest Work(uint16_t head) const { return {.head = head, .opcode = 2, .is_datagram = qps[3].IsUd()}; }
  WorkRequest Bad(uint16_t head) const {
    WorkRequest work = Work(head);
    work.sge.lkey = 0xf1;
    return work;
  }
  // As many records as came, but for amendments.
  std::vector<IbWcStatus> Statuses() {
    std::vector<IbWcStatus> statuses;
    for (const auto& sent : record_sink.sent()) statuses.push_back(sent.token.status);
    return statuses;
  }
};

using Statuses = std::vector<IbWcStatus>;
constexpr auto kOk = IbWcStatus::kSuccess;
constexpr auto kFlush = IbWcStatus::kWrFlushErr;
constexpr auto kProt = IbWcStatus::kLocProtErr;

TEST(RequesterSqe, AFailureStopsTheSendHalfAndWhatFollowsFlushesUntilRtsComesBack) {
  for (const IbQpType type : kSendOnly) {
    for (const IbQpState from : {IbQpState::kRts, IbQpState::kSqd}) {
      SqeBench bench(type, from);
      bench.Post(bench.Work(1));
      bench.Post(bench.Bad(2));
      bench.Post(bench.Work(3));
      ASSERT_EQ(bench.Settle(), "");
      bench.Post(bench.Work(4));  // the state is on its way
      bench.SetState(3, IbQpState::kSqe);
      bench.Post(bench.Work(5));
      bench.Post(bench.Bad(6));
      bench.SetState(3, IbQpState::kRts);
      bench.Post(bench.Work(7));
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.Statuses(), (Statuses{kOk, kProt, kFlush, kFlush, kFlush, kFlush, kOk}));
      EXPECT_EQ(bench.job.count, 2U);
      ASSERT_EQ(bench.failure.count, 1U);
      EXPECT_TRUE(bench.failure_sink.sent()[0].token.send_only);
      // And once more.
      bench.Post(bench.Bad(8));
      bench.Post(bench.Work(9));
      bench.SetState(3, IbQpState::kSqe);
      bench.SetState(3, IbQpState::kRts);
      bench.Post(bench.Work(10));
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.failure.count, 2U);
      EXPECT_EQ(bench.job.count, 3U);
    }
  }
}

TEST(RequesterSqe, WhatFailsBeforeItsFirstPacketTakesNoPsn) {
  SqeBench bench(IbQpType::kUc);
  bench.Post(bench.Work(1));
  WorkRequest bad = bench.Work(2);
  bad.flags = 0xf0;
  bench.Post(bad);
  bench.SetState(3, IbQpState::kSqe);
  bench.Post(bench.Work(3));
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(4));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  ASSERT_EQ(bench.job.count, 2U);
  EXPECT_EQ(bench.job_sink.sent()[1].token.packet.psn, bench.job_sink.sent()[0].token.packet.psn + 1);
}

TEST(RequesterSqe, RtsThatComesBeforeSqeRevivesNothing) {
  SqeBench bench(IbQpType::kUc, IbQpState::kSqd);
  bench.Post(bench.Bad(1));
  bench.SetState(3, IbQpState::kRts);  // the end of SQD, ordered before the failure was known
  bench.Post(bench.Work(2));
  bench.SetState(3, IbQpState::kSqe);
  bench.Post(bench.Work(3));
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(4));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kFlush, kFlush, kOk}));
}

// Records do not leave: SQE comes and goes while a long message waits behind the one that failed. Its front half has
// been cut short in SQE, so it must not be sent.
TEST(RequesterSqe, AMessageThatWasCutBeforeSqeEndedFlushes) {
  for (const Cycle before : {Cycle{0}, Cycle{20}, Cycle{40}, Cycle{60}}) {
    SqeBench bench(IbQpType::kUc);
    bench.record.rate = 0;
    const WorkRequest work = bench.Work(0);
    bench.work.tokens.push_back(work.Token());  // takes the register
    bench.work.tokens.push_back(bench.Bad(1).Token());
    WorkRequest big = bench.Work(2);
    big.sge.length = 256 * 40;
    bench.work.tokens.push_back(big.Token());
    bench.work.tokens.push_back(bench.Work(3).Token());
    ASSERT_EQ(bench.Run(before), "");
    bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kSqe});
    ASSERT_EQ(bench.Run(30), "");
    bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kRts});
    ASSERT_EQ(bench.Run(30), "");
    bench.record.rate = 16;
    ASSERT_EQ(bench.Settle(), "");
    bench.work.tokens.push_back(bench.Work(4).Token());
    ASSERT_EQ(bench.Settle(), "");
    // Every message is one record, and one that succeeds has all of its packets.
    uint64_t jobs = 0;
    std::map<uint16_t, IbWcStatus> last;
    for (const auto& sent : bench.record_sink.sent()) {
      last[sent.token.head] = sent.token.status;
      if (sent.token.status == kOk) jobs += Psn(sent.token.last_psn - sent.token.first_psn) + 1;
    }
    EXPECT_EQ(last.size(), 5U);
    EXPECT_EQ(bench.job.count, jobs);
    if (before >= 20) {
      EXPECT_EQ(last.at(1), kProt);
      EXPECT_EQ(last.at(2), kFlush);
    }
  }
}

// The same, as it may come: the key check of the message that waits takes longer than the way to SQE and back.
TEST(RequesterSqe, AMessageWhoseKeyCheckOutlivesSqeFlushes) {
  SqeBench bench(IbQpType::kUc);
  bench.place.rate = 0;
  WorkRequest big = bench.Work(2);
  big.sge.length = 256 * 40;
  for (const WorkRequest& work : {bench.Work(0), bench.Bad(1), big, bench.Work(3)}) {
    bench.work.tokens.push_back(work.Token());
  }
  ASSERT_EQ(bench.Run(80), "");
  bench.place.rate = 16;
  for (const size_t waiting = bench.place.tokens.size(); bench.place.tokens.size() + 2 != waiting;) {
    ASSERT_GT(waiting, 2U);
    ASSERT_EQ(bench.Run(1), "");
  }
  bench.place.rate = 0;
  ASSERT_EQ(bench.Run(30), "");
  ASSERT_EQ(bench.failure.count, 1U);
  for (const IbQpState state : {IbQpState::kSqe, IbQpState::kRts}) {
    bench.state.tokens.push_back({.qpn = 3, .state = state});
    ASSERT_EQ(bench.Run(30), "");
  }
  bench.place.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  bench.work.tokens.push_back(bench.Work(4).Token());
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.Statuses(), (Statuses{kOk, kProt, kFlush, kFlush, kOk}));
  EXPECT_EQ(bench.job.count, 2U);
}

TEST(RequesterSqe, ABrokenQueueKillsForGood) {
  SqeBench bench(IbQpType::kUd);
  bench.Post(bench.Bad(1));
  WorkRequest silent = bench.Work(2);
  silent.failed = RdmaError::kBadWqe;
  bench.Post(silent);
  bench.SetState(3, IbQpState::kSqe);
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(3));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kFlush, kFlush}));
  bench.SetUp(3);
  bench.Post(bench.Work(4));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 1U);
}

TEST(RequesterSqe, OfRcNothingRevivesAQpButALoad) {
  SqeBench bench(IbQpType::kRc);
  bench.Post(bench.Bad(1));
  bench.SetState(3, IbQpState::kSqe);  // which nobody makes
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(2));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kFlush}));
  EXPECT_FALSE(bench.failure_sink.sent().at(0).token.send_only);
}

// The table's write port belongs to the pulse, one cycle after it.
TEST(RequesterSqe, ASqeInAnyCycleOfACheckIsNotLost) {
  for (Cycle shift = 0; shift < 12; ++shift) {
    SqeBench bench(IbQpType::kUc);
    bench.qps[4] = bench.qps[3];
    bench.SetUp(4);
    bench.Post(bench.Bad(1));
    bench.SetState(3, IbQpState::kSqe);
    bench.SetState(3, IbQpState::kRts);
    WorkRequest other = bench.Bad(2);
    other.qpn = 4;
    bench.Post(other);
    ASSERT_EQ(bench.Settle(), "");
    bench.Post(bench.Work(3));
    ASSERT_EQ(bench.Run(shift), "");
    bench.state.tokens.push_back({.qpn = 4, .state = IbQpState::kSqe});
    bench.qps[4].was_sqe = true;
    ASSERT_EQ(bench.Settle(), "");
    bench.SetState(4, IbQpState::kRts);
    other = bench.Work(4);
    other.qpn = 4;
    bench.Post(other);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kProt, kOk, kOk}));
  }
}

TEST(Requester, ADatagramSaysWhereItGoesAndWhoSendsIt) {
  for (const IbQpType type : {IbQpType::kUd, IbQpType::kGsi}) {
    for (const uint32_t length : {0U, 1U, 1023U, 1024U}) {
      Bench bench;
      bench.qps[1].type = type;
      bench.qps[1].psn = 0xff'ffff;
      bench.SetUp(1);
      for (uint32_t ah = 0; ah < 16; ++ah) bench.SetHandle(ah, ah % 5 != 4, 9);
      for (const uint32_t qkey : {0U, 0x7fff'ffffU, 0x8000'0000U, 0xffff'ffffU}) {
        WorkRequest request{.qpn = 1,
                            .head = 7,
                            .opcode = 3,
                            .flags = IbSendFlags::kFence,  // which means nothing
                            .is_datagram = true,
                            .remote_qpn = 0xff00'0000 + qkey % 1000,  // 24 bits count
                            .remote_qkey = qkey,
                            .ah = 15};
        request.sge.length = length;
        bench.Post(request);
        ASSERT_NO_FATAL_FAILURE(bench.Compare());
        const spec::TxPacket& packet = bench.job_sink.sent().back().token.packet;
        EXPECT_TRUE(packet.has_ah && packet.reports);
        EXPECT_EQ(packet.ah, 15);
        EXPECT_EQ(packet.dest_qpn, qkey % 1000);
        const auto deth = spec::Deth::Decode(packet.extension);
        EXPECT_EQ(deth.qkey, qkey >= 0x8000'0000 ? 0xaabb'ccdd : qkey);
        EXPECT_EQ(deth.source_qp, 1U);
      }
      EXPECT_EQ(bench.qps[1].psn, 3U);  // one each
      EXPECT_EQ(bench.failure.count, 0U);
      // A handle that is taken away.
      bench.SetHandle(15, false, 9);
      bench.Post({.qpn = 1, .opcode = 2, .is_datagram = true, .ah = 15});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.record_sink.sent().back().token.vendor_err, static_cast<uint32_t>(RdmaError::kBadAh));
    }
  }
}

TEST(Requester, ADatagramOfAListIsOnePacket) {
  for (const uint32_t last : {0U, 23U, 24U, 25U}) {
    Bench bench;
    bench.qps[3].type = IbQpType::kUd;
    bench.SetUp(3);
    bench.SetHandle(3, true, 9);
    WorkRequest request{.head = 2, .opcode = 2, .is_datagram = true};
    request.SetList({{.addr = 0x1'0000, .length = 600, .lkey = 1},
                     {.addr = 0x2'0000, .length = 400, .lkey = 2},
                     {.addr = 0x3'0000, .length = last, .lkey = 3}});
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.failure.count, last == 25 ? 1U : 0U);
    EXPECT_EQ(bench.record_sink.sent()[0].token.status, last == 25 ? IbWcStatus::kLocLenErr : IbWcStatus::kSuccess);
  }
}

TEST(Requester, InlineDataGoesByEveryService) {
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    Bench bench;
    bench.qps[3].type = type;
    bench.qps[3].mtu = IbMtu::kMtu512;
    bench.SetUp(3);
    bench.SetHandle(3, true, 9);
    for (const uint32_t length : {0U, 1U, 512U}) {
      WorkRequest request{.head = 2, .opcode = 3, .is_datagram = bench.qps[3].IsUd()};
      request.SetInline(length);
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0U);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

WorkRequest RandomRequest(std::mt19937_64& random, uint32_t mtu, bool mostly_good) {
  WorkRequest request{.qpn = static_cast<uint32_t>(random() % 16),
                      .head = static_cast<uint16_t>(random()),
                      .wr_id = random(),
                      .opcode = static_cast<uint8_t>(random() % 5),
                      .flags = static_cast<uint8_t>(random() % 8),
                      .remote_address = random(),
                      .rkey = static_cast<uint32_t>(random()),
                      .immediate = static_cast<uint32_t>(random())};
  const auto element = [&] {
    return spec::RdmaSge{.addr = random() >> 8,
                         .length = static_cast<uint32_t>(random() % (random() % 4 == 0 ? 9 * mtu : 2 * mtu)),
                         .lkey = static_cast<uint32_t>(random() % 0x80)};
  };
  // Which of these count is the QP's matter.
  request.is_datagram = random() % 4 == 0;
  request.remote_qpn = static_cast<uint32_t>(random());
  request.remote_qkey = static_cast<uint32_t>(random());
  request.ah = static_cast<uint32_t>(random() % 12);
  request.sge = element();
  if (random() % 16 == 0) request.SetList({});
  if (random() % 6 == 0 && !request.IsRead()) request.SetInline(static_cast<uint32_t>(random() % 513));
  if (random() % 3 == 0 && !request.IsInline()) {
    std::vector<spec::RdmaSge> list(1 + random() % 7);
    for (auto& each : list) {
      each = element();
      if (random() % 2 == 0) each.length %= 2 * mtu / static_cast<uint32_t>(list.size());
      if (random() % 8 == 0) each.length = 0;
    }
    request.SetList(list);
  }
  if (mostly_good ? random() % 64 != 0 : random() % 4 != 0) return request;
  switch (random() % 9) {
    case 0: request.sge.lkey = static_cast<uint32_t>(0xf0 + random() % 4); break;
    case 1: request.opcode = static_cast<uint8_t>(random()); break;
    case 2: request.flags = static_cast<uint8_t>(random() & ~uint64_t{IbSendFlags::kInline}); break;
    case 3: request.SetList(std::vector<spec::RdmaSge>(7 + random() % 4)); break;
    case 4: request.failed = RdmaError::kQueueDmaError; break;
    case 5: request.bytes = static_cast<uint32_t>(570 + random() % 40); break;
    case 6:
      (request.further.empty() ? request.sge : request.further.back()) = {
          .addr = 0x1'0000, .length = static_cast<uint32_t>(random() % 2000), .lkey = 0x81};
      break;
    case 7: request.ah = static_cast<uint32_t>(random() % 2 == 0 ? 12 + random() % 4 : random()); break;
    default: request.sge.length = static_cast<uint32_t>(0x8000'0001 + random() % 4); break;
  }
  return request;
}

// Mostly something that the QP's service has.
void Fit(WorkRequest& request, const Qp& qp, std::mt19937_64& random) {
  request.is_datagram = qp.IsUd();
  if (random() % 64 == 0) return;
  while (request.opcode < 5 && !qp.Has(request.opcode)) request.opcode = static_cast<uint8_t>(random() % 4);
  if (!qp.IsUd() || random() % 16 == 0) return;
  request.sge.length %= qp.Mtu() / 8;
  for (auto& element : request.further) element.length %= qp.Mtu() / 8;
}

TEST(Requester, AgreesWithTheReferenceAndRtlWithModelUnderRandomTraffic) {
  for (const unsigned in_rate : {16u, 4u}) {
    for (const unsigned place_rate : {16u, 3u}) {
      for (const unsigned out_rate : {16u, 7u, 2u}) {
        Bench bench;
        auto& random = bench.random;
        for (uint32_t qpn = 0; qpn < 16; ++qpn) {
          constexpr IbQpType kTypes[] = {IbQpType::kRc, IbQpType::kRc, IbQpType::kRc, IbQpType::kUc,
                                         IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi};
          bench.qps[qpn] = {.type = kTypes[random() % 7],
                            .mtu = static_cast<IbMtu>(1 + random() % 5),
                            .sq_sig_all = random() % 4 == 0,
                            .max_send_sge = static_cast<uint8_t>(5 + random() % 9),
                            .psn = Psn(static_cast<uint32_t>(random())),
                            .max_rd_atomic = static_cast<uint8_t>(1 + random() % 6),
                            .qkey = static_cast<uint32_t>(random())};
          bench.SetUp(qpn);
        }
        for (uint32_t ah = 0; ah < 15; ++ah) bench.SetHandle(ah, ah < 12, ah == 13 ? 8 : 9);
        bench.Rates(in_rate, place_rate, out_rate);
        for (int i = 0; i < 250; ++i) {
          const uint32_t mtu = 128u << static_cast<unsigned>(bench.qps[random() % 16].mtu);
          WorkRequest request = RandomRequest(random, mtu, true);
          request.head = static_cast<uint16_t>(i);
          Fit(request, bench.qps[request.qpn], random);
          bench.Post(request);
          if (i % 25 != 24) continue;
          // READs end, and some who wait for them go on.
          for (uint32_t qpn = 0; qpn < 16; ++qpn) {
            const auto under_way = static_cast<uint8_t>(bench.reference.begun[qpn] - bench.reference.ended[qpn]);
            if (under_way != 0 && random() % 4 != 0) {
              ASSERT_NO_FATAL_FAILURE(bench.End(qpn, static_cast<uint8_t>(1 + random() % under_way)));
            }
            if (random() % 2 == 0) bench.Resume(qpn, 0, bench.qps[qpn].psn);
            // The way through SQE and back; work may come while it is there.
            if (!bench.qps[qpn].send_dead || random() % 4 == 0) continue;
            ASSERT_NO_FATAL_FAILURE(bench.SetState(qpn, IbQpState::kSqe));
            if (random() % 2 == 0) bench.Post({.qpn = qpn, .head = static_cast<uint16_t>(1000 + i)});
            ASSERT_NO_FATAL_FAILURE(bench.SetState(qpn, IbQpState::kRts));
          }
        }
        ASSERT_NO_FATAL_FAILURE(bench.Compare());
        EXPECT_GT(bench.job.count, 100u);
      }
    }
  }
}

// States, attributes, loads, holds and replays come at any time: what a work request meets is a matter of cycles, which
// RTL and model must agree on. Every work request has one record all the same.
template <typename Bench>
void ChangeEverything() {
  for (const unsigned out_rate : {16u, 6u}) {
    Bench bench;
    auto& random = bench.random;
    for (uint32_t qpn = 0; qpn < 16; ++qpn) {
      if (qpn % 4 == 3) bench.qps[qpn].type = IbQpType::kUc;
      bench.SetUp(qpn);
    }
    bench.Rates(12, 9, out_rate);
    bench.job.on_token = nullptr;
    bench.read.on_token = nullptr;
    // As QP control and firmware do, in no time.
    uint64_t send_only = 0;
    bench.failure.on_token = [&](Cycle, const spec::QpFailure& token) {
      if (!token.send_only) return;
      ++send_only;
      bench.state.tokens.push_back({.qpn = token.qpn, .state = IbQpState::kSqe});
      if (random() % 2 == 0) bench.state.tokens.push_back({.qpn = token.qpn, .state = IbQpState::kRts});
    };
    uint64_t records = 0, posted = 0, again = 0, cut = 0, parts = 0;
    std::deque<uint16_t> heads;
    bench.record.on_token = [&](Cycle, const spec::SendRecord& token) {
      EXPECT_TRUE(!token.again || (token.amends && (token.status != IbWcStatus::kSuccess) == (token.packets == 0)));
      EXPECT_TRUE(token.packets == 0 || !token.unsent);
      if (token.packets != 0) ++(token.again ? parts : cut);
      EXPECT_TRUE(!token.unsent || (!token.amends && token.status == IbWcStatus::kSuccess));
      again += token.again && token.packets == 0 ? 1 : 0;
      if (token.amends) return;
      ++records;
      ASSERT_EQ(token.head, heads.front());
      heads.pop_front();
    };
    bench.record.keep = bench.job.keep = bench.failure.keep = bench.read.keep = false;
    for (int i = 0; i < 8000; ++i) {
      const auto qpn = static_cast<uint32_t>(random() % 16);
      const auto dice = static_cast<unsigned>(random() % 24);
      if (dice < 8 && bench.work.tokens.size() < 8) {
        WorkRequest request = RandomRequest(random, 1024, false);
        request.head = static_cast<uint16_t>(i);
        bench.Keep(request);
        if (random() % 16 == 0) bench.reference.unreadable.insert(request.Address() + 576 + 16 * (random() % 7));
        bench.work.tokens.push_back(request.Token());
        heads.push_back(request.head);
        ++posted;
      } else if (dice < 12) {
        bench.state.tokens.push_back(
            {.qpn = qpn, .state = static_cast<IbQpState>(random() % 2 == 0 ? 3 : random() % 7)});
      } else if (dice < 15) {
        bench.load.tokens.push_back(
            {.qpn = qpn, .psn = random() % 2 == 0 ? 1000 : Psn(static_cast<uint32_t>(random()))});
        bench.state.tokens.push_back({.qpn = qpn, .state = IbQpState::kRts});
      } else if (dice < 16) {
        spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
        spec::TableQpContext{.qp_type = random() % 4 != 0 ? IbQpType::kRc : static_cast<IbQpType>(random() % 6),
                             .path_mtu = static_cast<IbMtu>(1 + random() % 5),
                             .sq_sig_all = random() % 2 == 0,
                             .max_rd_atomic = static_cast<uint8_t>(random() % 2 == 0 ? 255 : random() % 4),
                             .pdn = 9,
                             .max_inline_data = static_cast<uint16_t>(400 + random() % 200),
                             .max_send_sge = static_cast<uint8_t>(1 + random() % 9)}
            .Encode(write.data);
        bench.table.tokens.push_back(write);
        write.table_id = spec::MgmtTable::kAh;
        write.index = static_cast<uint32_t>(random() % 16);
        spec::TableAh{.valid = random() % 4 != 0, .pdn = 9}.Encode(write.data);
        bench.table.tokens.push_back(write);
        // Now and then more than began, which is no completer's way.
        bench.reads.tokens.push_back({.qpn = qpn, .ended = static_cast<uint8_t>(random() % 64)});
      } else if (dice < 18) {
        bench.hold.tokens.push_back({.qpn = qpn, .generation = static_cast<uint8_t>(random() % 2)});
        if (random() % 4 == 0) {
          bench.contexts.Flip(random() % 2 == 0 ? spec::ContextRam::kRequesterQp : spec::ContextRam::kRequesterAh, qpn,
                              static_cast<uint32_t>(random() % 1024));
        }
      } else if (dice < 22 && bench.work.tokens.size() < 8) {
        WorkRequest request = RandomRequest(random, 1024, true);
        request.head = static_cast<uint16_t>(i);
        bench.Keep(request);
        const Qp qp{.mtu = static_cast<IbMtu>(1 + random() % 5)};  // it may be right
        const auto first = static_cast<uint32_t>(random());
        const uint32_t packets = qp.Packets(request.Length());
        bench.work.tokens.push_back(Replay{.generation = static_cast<uint8_t>(random() % 2),
                                           .slot = static_cast<uint8_t>(random()),
                                           .psn = Psn(first + static_cast<uint32_t>(random() % packets)),
                                           .first_psn = Psn(first),
                                           .last_psn = Psn(first + packets - 1),
                                           .packets = static_cast<uint16_t>(random() % 3 == 0 ? random() % 8 : 0),
                                           .fresh = random() % 2 == 0}
                                        .Token(request));
      } else {
        // A PSN that is right now and then is a matter of the next test.
        bench.work.tokens.push_back(ResumeToken(qpn, static_cast<uint8_t>(random() % 2), 1000));
      }
      ASSERT_EQ(bench.Run(random() % 16), "");
    }
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(records, posted);
    EXPECT_GT(bench.job.count, 500u);
    EXPECT_GT(bench.contexts.errors.size(), 20u);
    EXPECT_GT(bench.failure.count, 20u);
    EXPECT_GT(again, 5u);
    EXPECT_GT(send_only, 10u);
    EXPECT_GT(bench.read.count, 10u);
    EXPECT_GT(parts, 5u);
    EXPECT_EQ(cut > 5, Bench::kBurstBytes < 10'000);
  }
}
TEST(Requester, RtlAndModelAgreeWhileStatesAndAttributesChange) { ChangeEverything<Bench>(); }
TEST(RequesterBurst, RtlAndModelAgreeWhileStatesAndAttributesChange) { ChangeEverything<BurstBench>(); }

// Against the other half of going back: who holds, replays and resumes at any time, as the completer does. Whatever
// happens, no packet leaves before one with a smaller PSN has left, each has the payload that belongs to its PSN, in
// the end all have left, and there are never more READs under way than may be, nor any where a fence forbids them.
template <typename Bench>
void GoBackAtAnyTime() {
  struct Kept {
    WorkRequest work;
    uint32_t first, last;
  };
  struct Peer {
    std::deque<Kept> all;  // what has a record
    size_t oldest = 0;     // not acknowledged yet
    size_t cursor = 0;     // of the replay
    bool replays = false;
    bool begins = false;  // the replay, with the oldest
    bool part = false;    // of the record at the cursor a part was asked for, up to
    uint32_t next = 0;    //   this PSN
    bool awaits = false;  // that part has not begun
    uint8_t generation = 0;
    Cycle hold = 0;
    uint32_t expected = 0;
    uint8_t ended = 0;  // READs

    // READs before this one that are not acknowledged.
    uint32_t ReadsBefore(size_t index) const {
      uint32_t reads = 0;
      for (size_t i = oldest; i < index; ++i) reads += all[i].work.IsRead() ? 1 : 0;
      return reads;
    }
    bool Waits(size_t index, uint32_t max_reads) const {
      const WorkRequest& work = all[index].work;
      const uint32_t reads = ReadsBefore(index);
      return (work.IsRead() && reads >= max_reads) || ((work.flags & IbSendFlags::kFence) != 0 && reads != 0);
    }
  };
  uint64_t cut = 0, parts = 0;
  for (const unsigned rate : {16u, 9u, 4u}) {
    Bench bench;
    auto& random = bench.random;
    bench.record.keep = bench.job.keep = false;
    constexpr uint32_t kQps = 4;
    Peer peers[kQps];
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.qps[qpn] = {.mtu = static_cast<IbMtu>(1 + random() % 3),
                        .max_send_sge = 7,
                        .psn = Psn(0xff'ff00 + static_cast<uint32_t>(random() % 256)),
                        .max_rd_atomic = static_cast<uint8_t>(1 + random() % 5)};
      peers[qpn].expected = bench.qps[qpn].psn;
      bench.SetUp(qpn);
    }
    bench.Rates(16, rate, rate);
    std::map<uint16_t, WorkRequest> posted;
    size_t runs = 0;  // of the packet under way
    uint64_t unsent = 0, repeated = 0, holds = 0, reads = 0, waited = 0, alone = 0;
    bench.record.on_token = [&](Cycle, const spec::SendRecord& token) {
      ASSERT_EQ(token.status, IbWcStatus::kSuccess);
      Peer& peer = peers[token.qpn];
      if (token.again) {
        // A part of it has begun.
        ASSERT_TRUE(token.amends);
        ASSERT_NE(token.packets, 0U);
        ++parts;
        if (peer.replays && peer.cursor < peer.all.size() && token.first_psn == peer.all[peer.cursor].first &&
            token.generation == peer.generation) {
          peer.awaits = false;
        }
        return;
      }
      ASSERT_FALSE(token.amends);
      bench.begun[token.qpn] = token;
      peer.all.push_back({posted.at(token.head), token.first_psn, token.last_psn});
      ASSERT_EQ(token.fence, (peer.all.back().work.flags & IbSendFlags::kFence) != 0);
      if (!token.unsent && token.packets == 0) return;
      ++(token.unsent ? unsent : cut);
      if (peer.replays) return;
      ++alone;
      peer.replays = true;
      peer.awaits = false;
      peer.cursor = peer.all.size() - 1;
      peer.part = token.packets != 0;
      peer.next = Psn(token.first_psn + token.packets);
    };
    bench.job.on_token = [&](Cycle cycle, const spec::TxJob& token) {
      bench.ExpectReadRecord(cycle, token.packet);
      Peer& peer = peers[token.packet.qpn];
      const uint32_t psn = token.packet.psn;
      const auto kept = std::find_if(peer.all.rbegin(), peer.all.rend(),
                                     [&](const Kept& k) { return Psn(psn - k.first) <= Psn(k.last - k.first); });
      ASSERT_NE(kept, peer.all.rend());
      Packet packet = PacketOf(bench.qps[token.packet.qpn], kept->work, kept->first, Psn(psn - kept->first));
      ASSERT_LT(runs, packet.jobs.size());
      // Who gives way asks for an acknowledge.
      if (Psn(kept->last - kept->first) >= Bench::kBurstBytes / bench.qps[token.packet.qpn].Mtu()) {
        packet.jobs[runs].packet.ack_req |= token.packet.ack_req;
      }
      ASSERT_EQ(token, packet.jobs[runs]) << TokenText(token) << "\n" << TokenText(packet.jobs[runs]);
      ++runs;
      if (token.more) return;
      runs = 0;
      const auto index = static_cast<size_t>(peer.all.rend() - kept) - 1;
      if (psn == kept->first) {
        ASSERT_FALSE(peer.Waits(index, bench.qps[token.packet.qpn].max_rd_atomic));
      }
      reads += kept->work.IsRead() ? 1 : 0;
      if (psn == peer.expected) {
        peer.expected = Psn(kept->work.IsRead() ? kept->last + 1 : psn + 1);
      } else {
        ASSERT_LT(Psn(peer.expected - psn), 0x80'0000u) << "packets were left out";
        ++repeated;
      }
    };
    const auto step = [&](uint32_t qpn) {
      Peer& peer = peers[qpn];
      if (!peer.replays || peer.awaits || bench.bench.cycle() < peer.hold + 8) return;
      if (peer.cursor < peer.all.size()) {
        const Kept& kept = peer.all[peer.cursor];
        if (!peer.part && peer.Waits(peer.cursor, bench.qps[qpn].max_rd_atomic)) {
          ++waited;
          return;
        }
        uint32_t psn = peer.part ? peer.next : kept.first;
        if (peer.begins && Psn(peer.expected - kept.first) < 0x80'0000) {
          psn += static_cast<uint32_t>(random() %
                                       (std::min(Psn(peer.expected - kept.first), Psn(kept.last - kept.first)) + 1));
        }
        psn = Psn(psn);
        peer.begins = false;
        const uint32_t burst = Bench::kBurstBytes / bench.qps[qpn].Mtu();
        peer.awaits = peer.part = !kept.work.IsRead() && Psn(kept.last - psn) >= burst;
        peer.next = Psn(psn + burst);
        if (!peer.part) ++peer.cursor;
        bench.work.tokens.push_back(Replay{.generation = peer.generation,
                                           .psn = psn,
                                           .first_psn = kept.first,
                                           .last_psn = kept.last,
                                           .packets = static_cast<uint16_t>(peer.part ? burst : 0)}
                                        .Token(kept.work));
      } else if (bench.p.record_valid_o == 0) {
        // Every record that was made before the hold was seen has come.
        peer.replays = false;
        bench.work.tokens.push_back(ResumeToken(qpn, peer.generation, Psn(peer.all.back().last + 1)));
      }
    };
    const auto acknowledge = [&](uint32_t qpn) {
      Peer& peer = peers[qpn];
      if (peer.oldest == peer.all.size() || Psn(peer.expected - peer.all[peer.oldest].last - 1) >= 0x80'0000u) {
        return false;
      }
      // What is not acknowledged begins behind it.
      const bool is_read = peer.all[peer.oldest].work.IsRead();
      if (peer.replays && peer.cursor == peer.oldest) {
        ++peer.cursor;
        peer.begins = peer.part = peer.awaits = false;
      }
      ++peer.oldest;
      if (is_read) bench.reads.tokens.push_back({.qpn = qpn, .ended = ++peer.ended});
      return true;
    };
    for (int i = 0; i < 4000; ++i) {
      const auto qpn = static_cast<uint32_t>(random() % kQps);
      Peer& peer = peers[qpn];
      if (i < 3900 && random() % 3 != 0 && bench.work.tokens.size() < 4) {
        WorkRequest request = RandomRequest(random, bench.qps[qpn].Mtu(), true);
        // Good ones.
        request.qpn = qpn;
        request.head = static_cast<uint16_t>(i);
        request.failed = RdmaError::kOk;
        request.opcode %= 5;
        request.is_datagram = false;
        request.flags &= 0xf;
        if (request.IsRead()) request.flags &= IbSendFlags::kFence | IbSendFlags::kSignaled;
        if (random() % 4 != 0) request.flags = static_cast<uint8_t>(request.flags & ~IbSendFlags::kFence);
        if (!request.IsInline() && (request.num_sge != 1 + request.further.size() || request.num_sge > 7)) {
          request.further.clear();
          request.num_sge = 1;
        }
        if (!request.IsInline()) request.bytes = 576 + 16 * request.num_sge;
        if (request.IsInline()) request.SetInline(request.InlineBytes() % 513);
        if (!request.IsInline()) {
          request.sge.lkey %= 0x80;
          for (auto& element : request.further) element.lkey %= 0x80;
          request.sge.length %= 16'384;
        }
        bench.Keep(request);
        posted[request.head] = request;
        bench.work.tokens.push_back(request.Token());
      }
      // Acknowledges.
      while (random() % 2 == 0 && acknowledge(qpn)) {
      }
      if (i < 3900 && random() % 12 == 0 && peer.oldest < peer.all.size()) {
        ++peer.generation;
        bench.hold.tokens.push_back({.qpn = qpn, .generation = peer.generation});
        ++holds;
        peer.hold = bench.bench.cycle() + bench.hold.tokens.size();
        peer.replays = peer.begins = true;
        peer.part = peer.awaits = false;
        peer.cursor = peer.oldest;
      }
      for (uint32_t each = 0; each < kQps; ++each) {
        if (random() % 4 == 0) step(each);
      }
      ASSERT_EQ(bench.Run(random() % 12), "");
      if (::testing::Test::HasFatalFailure()) return;
    }
    const auto replays = [&] {
      return std::any_of(peers, peers + kQps, [](const Peer& peer) { return peer.replays; });
    };
    do {
      ASSERT_EQ(bench.Settle(), "");
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        while (acknowledge(qpn)) {
        }
        step(qpn);
      }
    } while (replays() || !bench.work.IsEmpty());
    ASSERT_EQ(bench.Settle(), "");
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      const Peer& peer = peers[qpn];
      EXPECT_EQ(peer.expected, Psn(peer.all.back().last + 1));
      posted[1] = {.qpn = qpn, .head = 1};
      bench.work.tokens.push_back(posted[1].Token());
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(peer.expected, Psn(peer.all.back().last + 1));
      EXPECT_FALSE(peer.replays);  // it was sent at once
    }
    EXPECT_EQ(bench.failure.count, 0u);
    EXPECT_GT(holds, 50u);
    EXPECT_GT(repeated, 100u);
    EXPECT_GT(unsent, 20u);
    EXPECT_GT(reads, 100u);
    EXPECT_GT(waited, 20u);
    EXPECT_GT(alone, 10u);
  }
  const bool is_short = Bench::kBurstBytes < 10'000;
  EXPECT_EQ(cut != 0, is_short);
  EXPECT_EQ(parts != 0, is_short);
}
TEST(Requester, GoingBackAtAnyTimeLeavesNoPacketOut) { GoBackAtAnyTime<Bench>(); }
TEST(RequesterBurst, GoingBackAtAnyTimeLeavesNoPacketOut) { GoBackAtAnyTime<BurstBench>(); }

// What the completer is told of a part of a message that begins.
spec::SendRecord PartOf(const spec::SendRecord& record, const Replay& replay) {
  spec::SendRecord part = record;
  part.amends = part.again = true;
  part.unsent = false;
  part.slot = replay.slot;
  part.packets = replay.packets;
  part.generation = replay.generation;
  return part;
}

TEST(RequesterBurst, AMessageThatIsLongerThanABurstGivesWayAndReplaysSendTheRest) {
  for (const IbQpType type : {IbQpType::kRc, IbQpType::kUc}) {
    for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu1024, IbMtu::kMtu4096}) {
      for (const uint32_t length : {4095u, 4096u, 4097u, 8192u, 8193u, 20'000u}) {
        SCOPED_TRACE(length);
        BurstBench bench;
        bench.qps[3] = {.type = type, .mtu = mtu, .psn = 0xff'fffb};
        bench.SetUp(3);
        bench.SetUp(4);
        const uint32_t burst = BurstBench::kBurstBytes / bench.qps[3].Mtu();
        const bool is_long = length > BurstBench::kBurstBytes;
        WorkRequest request{.head = 1, .opcode = 3};
        request.SetList(
            {{.addr = 0x1'0000, .length = 3000, .lkey = 1}, {.addr = 0x2'0000, .length = length - 3000, .lkey = 2}});
        bench.Keep(request);
        const WorkRequest other{.qpn = 4, .head = 2};
        const WorkRequest behind{.head = 3};
        for (const auto& each : {request, behind, other}) bench.work.tokens.push_back(each.Token());
        ASSERT_EQ(bench.Settle(), "");

        const uint32_t first = bench.qps[3].psn;
        const uint32_t packets = bench.qps[3].Packets(length);
        const uint32_t last = Psn(first + packets - 1);
        std::vector<spec::SendRecord> records;
        for (const auto& sent : bench.record_sink.sent()) records.push_back(sent.token);
        ASSERT_EQ(records.size(), 3u);
        EXPECT_EQ(records[0].packets, is_long ? burst : 0);
        EXPECT_EQ(records[0].first_psn, first);
        EXPECT_EQ(records[0].last_psn, last);
        EXPECT_FALSE(records[0].unsent || records[0].amends);
        EXPECT_EQ(records[1].first_psn, Psn(last + 1));
        EXPECT_EQ(records[1].unsent, is_long);
        EXPECT_FALSE(records[2].unsent);
        bench.record_sink.sent().clear();

        // What leaves is what would leave at once, but for others in between, and for acknowledges at each end.
        std::vector<spec::TxJob> expected;
        const auto add = [&](uint32_t from, uint32_t to) {
          for (uint32_t i = from; i < to; ++i) {
            for (auto& job : PacketOf(bench.qps[3], request, first, i).jobs) {
              if (i + 1 == to) job.packet.ack_req = type == IbQpType::kRc;
              expected.push_back(job);
            }
          }
        };
        add(0, std::min(burst, packets));
        if (!is_long) expected.push_back(PacketOf(bench.qps[3], behind, Psn(last + 1), 0).jobs.front());
        expected.push_back(PacketOf(bench.qps[4], other, bench.qps[4].psn, 0).jobs.front());
        for (uint32_t from = burst; from < packets; from += burst) {
          const bool goes_on = packets - from > burst;
          const Replay replay{.generation = 0,
                              .slot = 5,
                              .psn = Psn(first + from),
                              .first_psn = first,
                              .last_psn = last,
                              .packets = static_cast<uint16_t>(goes_on ? burst : 0),
                              .fresh = true};
          bench.work.tokens.push_back(replay.Token(request));
          ASSERT_EQ(bench.Settle(), "");
          add(from, std::min(from + burst, packets));
          ASSERT_EQ(bench.record_sink.sent().size(), goes_on ? 1u : 0u);
          if (goes_on) {
            const auto& part = bench.record_sink.sent().front().token;
            EXPECT_EQ(part, PartOf(records[0], replay)) << TokenText(part);
            bench.record_sink.sent().clear();
          }
        }
        EXPECT_EQ(bench.resent, 0u);
        if (is_long) {
          bench.work.tokens.push_back(
              Replay{.generation = 0, .psn = Psn(last + 1), .first_psn = Psn(last + 1), .last_psn = Psn(last + 1)}
                  .Token(behind));
          expected.push_back(PacketOf(bench.qps[3], behind, Psn(last + 1), 0).jobs.front());
        }
        bench.work.tokens.push_back(ResumeToken(3, 0, Psn(last + 2)));
        bench.work.tokens.push_back(behind.Token());
        expected.push_back(PacketOf(bench.qps[3], behind, Psn(last + 2), 0).jobs.front());
        ASSERT_EQ(bench.Settle(), "");
        EXPECT_EQ(bench.resent, is_long ? 1u : 0u);
        ASSERT_EQ(bench.job_sink.sent().size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          const auto& job = bench.job_sink.sent()[i].token;
          ASSERT_EQ(job, expected[i]) << i << ": " << TokenText(job) << "\n" << TokenText(expected[i]);
        }
        EXPECT_EQ(bench.failure.count, 0u);
      }
    }
  }
}

// Go-back-N to both sides of a burst's end, in a message of which two bursts have left.
TEST(RequesterBurst, AReplayBeginsAtAnyPacketAndEndsAfterItsOwn) {
  for (const uint32_t from : {0u, 1u, 14u, 15u, 16u, 17u, 31u, 32u, 33u, 62u, 63u, 64u}) {
    SCOPED_TRACE(from);
    BurstBench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .opcode = 0};
    request.sge.length = 64 * 256 + 1;
    bench.work.tokens.push_back(request.Token());
    const uint32_t first = 1000, last = 1064;
    Replay replay{.generation = 0, .slot = 1, .psn = first + 16, .first_psn = first, .last_psn = last, .packets = 16};
    bench.work.tokens.push_back(replay.Token(request));
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.job.count, 32u);
    const spec::SendRecord record = bench.record_sink.sent().front().token;
    bench.record_sink.sent().clear();
    bench.job_sink.sent().clear();
    bench.hold.tokens.push_back({.qpn = 3, .generation = 1});
    ASSERT_EQ(bench.Run(8), "");
    // The next part, which was asked for before the hold: neither it nor its beginning is told.
    replay.psn = first + 32;
    bench.work.tokens.push_back(replay.Token(request));
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_TRUE(bench.job_sink.sent().empty());
    EXPECT_TRUE(bench.record_sink.sent().empty());

    const bool goes_on = from + 16 < 65;
    replay.generation = 1;
    replay.psn = first + from;
    replay.packets = goes_on ? 16 : 0;
    bench.work.tokens.push_back(replay.Token(request));
    ASSERT_EQ(bench.Settle(), "");
    const uint32_t count = std::min(16u, 65 - from);
    ASSERT_EQ(bench.job_sink.sent().size(), count);
    for (uint32_t i = 0; i < count; ++i) {
      auto expected = PacketOf(bench.qps[3], request, first, from + i).jobs.front();
      expected.packet.ack_req |= i + 1 == count;
      ASSERT_EQ(bench.job_sink.sent()[i].token, expected);
    }
    ASSERT_EQ(bench.record_sink.sent().size(), goes_on ? 1u : 0u);
    if (goes_on) {
      EXPECT_EQ(bench.record_sink.sent().front().token, PartOf(record, replay));
    }
    EXPECT_EQ(bench.resent, 16 + count);
  }
}

TEST(RequesterBurst, ALongMessageThatIsHeldFromTheFirstHasNoParts) {
  BurstBench bench;
  bench.SetUp(3);
  bench.hold.tokens.push_back({.qpn = 3, .generation = 1});
  ASSERT_EQ(bench.Run(8), "");
  WorkRequest request;
  request.sge.length = 100'000;
  bench.work.tokens.push_back(request.Token());
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 1u);
  EXPECT_TRUE(bench.record_sink.sent()[0].token.unsent);
  EXPECT_EQ(bench.record_sink.sent()[0].token.packets, 0);
  EXPECT_EQ(bench.job.count, 0u);
}

TEST(RequesterBurst, ALongMessageThatFailsInAPartSaysSoAndNothingElse) {
  BurstBench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request;
  // Its first burst is there; of the second, one element.
  request.SetList({{.addr = 0x2'0000, .length = 5000, .lkey = 1}, {.addr = 0x3'0000, .length = 10'000, .lkey = 0xf0}});
  bench.Keep(request);
  bench.work.tokens.push_back(request.Token());
  Replay replay{.generation = 0, .slot = 1, .psn = 1016, .first_psn = 1000, .last_psn = 1058, .packets = 16};
  bench.work.tokens.push_back(replay.Token(request));
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 3u);
  EXPECT_EQ(bench.record_sink.sent()[1].token, PartOf(bench.record_sink.sent()[0].token, replay));
  const spec::SendRecord& failed = bench.record_sink.sent()[2].token;
  EXPECT_TRUE(failed.amends && failed.again);
  EXPECT_EQ(failed.status, IbWcStatus::kLocProtErr);
  EXPECT_EQ(failed.packets, 0);
  EXPECT_EQ(bench.failure.count, 0u);  // which is the completer's to tell
  EXPECT_TRUE(bench.job_sink.sent().back().token.drop);
  // From its first packet on: nothing has begun.
  replay.psn = 1032;
  bench.work.tokens.push_back(replay.Token(request));
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 4u);
  EXPECT_EQ(bench.record_sink.sent()[3].token.status, IbWcStatus::kLocProtErr);
}

// Behind a message of 2 GiB of another QP.
TEST(RequesterBurst, AShortMessageWaitsForOneBurstOfAnotherQp) {
  BurstBench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  bench.SetUp(4);
  WorkRequest request;
  request.sge.length = Requester::kMaxMessageBytes;
  bench.work.tokens.push_back(request.Token());
  bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
  ASSERT_EQ(bench.Run(2), "");
  const Cycle begin = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  constexpr uint32_t kBurst = BurstBench::kBurstBytes / 256;
  ASSERT_EQ(bench.job.count, kBurst + 1);
  const auto& job = bench.job_sink.sent().back();
  EXPECT_EQ(job.token.packet.qpn, 4u);
  // Three cycles for each packet of the burst, and for each message once its own.
  EXPECT_LE(job.cycle - begin, 3 * kBurst + 2 * (Requester::kWorkRequestToCheck + Requester::kPlaceToJob));
}

}  // namespace
}  // namespace vireo::verif
