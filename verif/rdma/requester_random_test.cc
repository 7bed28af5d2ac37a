// SPDX-License-Identifier: Apache-2.0
// The requester in random traffic: against the reference, RTL against model in every cycle, and against a completer
// that goes back at any time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "sim/common/seed.h"
#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

WorkRequest RandomRequest(std::mt19937_64& random, uint32_t mtu, bool mostly_good) {
  WorkRequest request{.qpn = static_cast<uint32_t>(random() % 16),
                      .head = static_cast<uint16_t>(random()),
                      .wr_id = random(),
                      .opcode = random() % 16 == 0 ? kAtomicWrite : static_cast<uint8_t>(random() % 7),
                      .flags = static_cast<uint8_t>(random() % 8),
                      .remote_address = random(),
                      .rkey = static_cast<uint32_t>(random()),
                      .immediate = static_cast<uint32_t>(random())};
  const auto element = [&] {
    return spec::RdmaSge{.addr = random() >> 8,
                         .length = static_cast<uint32_t>(random() % (random() % 4 == 0 ? 9 * mtu : 2 * mtu)),
                         .lkey = static_cast<uint32_t>(random() % 0x80)};
  };
  // The QP determines which of these count.
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
  request.extensible = random() % 2 == 0;
  if (request.extensible && request.IsInline() && random() % 2 == 0) {
    request.SetInline(static_cast<uint32_t>(random() % 50));
  }
  // Room for the result.
  if (request.IsAtomic() && request.num_sge == 0) request.SetList({element()});
  if (request.IsAtomic()) request.sge.length += 8;
  if (request.IsStore()) request.SetList({});
  if (request.IsStore() && random() % 2 == 0) {
    const bool is_good = mostly_good || random() % 4 != 0;
    request.SetFlush(static_cast<uint32_t>(is_good ? random() % (1u << 31) : random()),
                     is_good ? 1 + random() % 3 : random() % 256, is_good ? random() % 2 : random() % 4);
  }
  if (mostly_good ? random() % 64 != 0 : random() % 4 != 0) return request;
  switch (random() % 12) {
    case 0: request.sge.lkey = static_cast<uint32_t>(0xf0 + random() % 4); break;
    case 1:
      // Not those that invalidate or bind, which have tests of their own.
      do request.opcode = static_cast<uint8_t>(random());
      while (request.opcode >= 7 && request.opcode <= 9);
      break;
    case 2: request.flags = static_cast<uint8_t>(random() & ~uint64_t{IbSendFlags::kInline}); break;
    case 3: request.SetList(std::vector<spec::RdmaSge>(7 + random() % 4)); break;
    case 4: request.failed = RdmaError::kQueueDmaError; break;
    case 5: request.bytes = static_cast<uint32_t>(570 + random() % 40); break;
    case 6:
      (request.further.empty() ? request.sge : request.further.back()) = {
          .addr = 0x1'0000, .length = static_cast<uint32_t>(random() % 2000), .lkey = 0x81};
      break;
    case 8: request.version = static_cast<uint8_t>(random()); break;
    case 9: request.mask = static_cast<uint8_t>(random()); break;
    case 10: request.length = request.DescriptorBytes() / 16 * 16 - 1; break;
    case 7: request.ah = static_cast<uint32_t>(random() % 2 == 0 ? 12 + random() % 4 : random()); break;
    default: request.sge.length = static_cast<uint32_t>(0x8000'0001 + random() % 4); break;
  }
  if (!request.IsInline() && request.num_sge > 20) request.extensible = false;  // it was inline
  return request;
}

// Mostly an operation of the QP's service.
void Fit(WorkRequest& request, const Qp& qp, std::mt19937_64& random) {
  request.is_datagram = qp.IsUd();
  if (random() % 64 == 0) return;
  while (request.opcode < 7 && !qp.Has(request.opcode)) request.opcode = static_cast<uint8_t>(random() % 4);
  if (!qp.IsUd() || random() % 16 == 0) return;
  request.sge.length %= qp.Mtu() / 8;
  for (auto& element : request.further) element.length %= qp.Mtu() / 8;
}

TEST(Requester, MatchesReferenceAndModelInRandomTraffic) {
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
          // READs end, and some QPs that wait for them continue.
          for (uint32_t qpn = 0; qpn < 16; ++qpn) {
            const auto outstanding = static_cast<uint8_t>(bench.reference.started[qpn] - bench.reference.ended[qpn]);
            if (outstanding != 0 && random() % 4 != 0) {
              ASSERT_NO_FATAL_FAILURE(bench.End(qpn, static_cast<uint8_t>(1 + random() % outstanding)));
            }
            if (random() % 2 == 0) bench.Resume(qpn, 0, bench.qps[qpn].psn);
            // Through SQE and back; work may come meanwhile.
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

// States, attributes, loads, holds and replays come at any time: their effect on a work request depends on the cycle,
// which RTL and model must agree on. Every work request has one record all the same.
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
    // As QP control and firmware do, without delay.
    uint64_t send_only = 0;
    bench.failure.on_token = [&](Cycle, const spec::QpFailure& token) {
      if (!token.send_only) return;
      ++send_only;
      bench.state.tokens.push_back({.qpn = token.qpn, .state = IbQpState::kSqe});
      if (random() % 2 == 0) bench.state.tokens.push_back({.qpn = token.qpn, .state = IbQpState::kRts});
    };
    std::array<uint8_t, 16> made{};  // records of a QP before the next token
    uint64_t records = 0, posted = 0, is_replay = 0, cut = 0, parts = 0;
    std::deque<uint16_t> heads;
    bench.record.on_token = [&](Cycle, const spec::SendRecord& token) {
      EXPECT_TRUE(!token.is_replay ||
                  (token.replaces && (token.status != IbWcStatus::kSuccess) == (token.packets == 0)));
      EXPECT_TRUE(token.packets == 0 || !token.unsent);
      if (token.packets != 0) ++(token.is_replay ? parts : cut);
      EXPECT_TRUE(!token.unsent || (!token.replaces && token.status == IbWcStatus::kSuccess));
      is_replay += token.is_replay && token.packets == 0 ? 1 : 0;
      if (token.replaces) return;
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
        if (random() % 16 == 0) bench.reference.unreadable.insert(request.ListAddress() + 16 * (random() % 7));
        bench.work.tokens.push_back(request.Token());
        heads.push_back(request.head);
        ++posted;
        ++made.at(request.qpn);
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
        // Now and then more than started, which no completer sends.
        bench.reads.tokens.push_back({.qpn = qpn, .ended = static_cast<uint8_t>(random() % 64)});
      } else if (dice < 18) {
        bench.hold.tokens.push_back({.qpn = qpn, .epoch = static_cast<uint8_t>(random() % 2)});
        if (random() % 4 == 0) {
          bench.contexts.Flip(random() % 2 == 0 ? spec::ContextRam::kRequesterQp : spec::ContextRam::kRequesterAh, qpn,
                              static_cast<uint32_t>(random() % 1024));
        }
      } else if (dice < 22 && bench.work.tokens.size() < 8) {
        WorkRequest request = RandomRequest(random, 1024, true);
        request.head = static_cast<uint16_t>(i);
        bench.Keep(request);
        const Qp qp{.mtu = static_cast<IbMtu>(1 + random() % 5)};  // it may be valid
        const auto first = static_cast<uint32_t>(random());
        const uint32_t packets = qp.Packets(request.Length());
        bench.work.tokens.push_back(Replay{.epoch = static_cast<uint8_t>(random() % 2),
                                           .slot = static_cast<uint8_t>(random()),
                                           .psn = Psn(first + static_cast<uint32_t>(random() % packets)),
                                           .first_psn = Psn(first),
                                           .last_psn = Psn(first + packets - 1),
                                           .packets = static_cast<uint16_t>(random() % 3 == 0 ? random() % 8 : 0),
                                           .first_transmission = random() % 2 == 0}
                                        .Token(request));
      } else {
        // Occasional valid PSNs are covered by the next test.
        bench.work.tokens.push_back(ResumeToken(qpn, static_cast<uint8_t>(random() % 2), 1000, made[qpn]));
      }
      ASSERT_EQ(bench.Run(random() % 16), "");
    }
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(records, posted);
    EXPECT_GT(bench.job.count, 400u);
    EXPECT_GT(bench.contexts.errors.size(), 20u);
    EXPECT_GT(bench.failure.count, 20u);
    EXPECT_GT(is_replay, 5u);
    EXPECT_GT(send_only, 10u);
    EXPECT_GT(bench.read.count, 10u);
    EXPECT_GT(parts, 5u);
    EXPECT_EQ(cut > 5, Bench::kBurstBytes < 10'000);
  }
}
TEST(Requester, MatchesModelUnderStateAndAttributeChanges) { ChangeEverything<Bench>(); }
TEST(RequesterBurst, MatchesModelUnderStateAndAttributeChanges) { ChangeEverything<BurstBench>(); }

// Against the other half of go-back-N: a model that holds, replays and resumes at any time, as the completer does. In
// all cases, no packet leaves before one with a smaller PSN has left, each has the payload that belongs to its PSN, in
// the end all have left, and there are never more READs outstanding than allowed, nor any where a fence forbids them.
template <typename Bench>
void GoBackAtAnyTime() {
  struct Kept {
    WorkRequest work;
    uint32_t first, last;
  };
  struct Peer {
    std::deque<Kept> all;  // records kept
    size_t oldest = 0;     // not acknowledged yet
    size_t cursor = 0;     // of the replay
    bool replays = false;
    bool begins = false;  // the replay starts, with the oldest
    bool part = false;    // of the record at the cursor a part was requested, up to
    uint32_t next = 0;    //   this PSN
    bool awaits = false;  // that part has not started
    uint8_t epoch = 0;
    Cycle hold = 0;
    uint32_t expected = 0;
    uint8_t ended = 0;  // READs

    // Unacknowledged READs before this one.
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
    size_t runs = 0;  // of the current packet
    uint64_t unsent = 0, repeated = 0, holds = 0, reads = 0, waited = 0, alone = 0;
    bench.record.on_token = [&](Cycle, const spec::SendRecord& token) {
      ASSERT_EQ(token.status, IbWcStatus::kSuccess);
      Peer& peer = peers[token.qpn];
      if (token.is_replay) {
        // A part of it has started.
        ASSERT_TRUE(token.replaces);
        ASSERT_NE(token.packets, 0U);
        ++parts;
        if (peer.replays && peer.cursor < peer.all.size() && token.first_psn == peer.all[peer.cursor].first &&
            token.epoch == peer.epoch) {
          peer.awaits = false;
        }
        return;
      }
      ASSERT_FALSE(token.replaces);
      bench.started[token.qpn] = token;
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
      // Of the last hold, or of an earlier one, when it was decided.
      ASSERT_LT(static_cast<uint8_t>(peer.epoch - token.packet.epoch), 0x80U);
      packet.jobs[runs].packet.epoch = token.packet.epoch;
      // A message that yields requests an acknowledge.
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
        ASSERT_LT(Psn(peer.expected - psn), 0x80'0000u) << "packets were skipped";
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
        bench.work.tokens.push_back(Replay{.epoch = peer.epoch,
                                           .psn = psn,
                                           .first_psn = kept.first,
                                           .last_psn = kept.last,
                                           .packets = static_cast<uint16_t>(peer.part ? burst : 0)}
                                        .Token(kept.work));
      } else if (bench.p.record_valid_o == 0) {
        // Every record made before the hold took effect has come.
        peer.replays = false;
        bench.work.tokens.push_back(
            ResumeToken(qpn, peer.epoch, Psn(peer.all.back().last + 1), static_cast<uint8_t>(peer.all.size())));
      }
    };
    const auto acknowledge = [&](uint32_t qpn) {
      Peer& peer = peers[qpn];
      if (peer.oldest == peer.all.size() || Psn(peer.expected - peer.all[peer.oldest].last - 1) >= 0x80'0000u) {
        return false;
      }
      // Unacknowledged records start behind it.
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
        request.version = 1;
        request.mask.reset();
        request.length.reset();
        if (!request.IsStore()) request.opcode %= 7;
        if (request.IsStore()) request.SetList({});
        if (request.IsFlush() && !request.IsFlushLegal()) request.SetFlush(64, 1, 0);
        request.is_datagram = false;
        request.flags &= 0xf;
        if (request.IsRead()) request.flags &= IbSendFlags::kFence | IbSendFlags::kSignaled;
        if (random() % 4 != 0) request.flags = static_cast<uint8_t>(request.flags & ~IbSendFlags::kFence);
        if (!request.IsStore() && !request.IsInline() &&
            (request.num_sge != 1 + request.further.size() || request.num_sge > 7)) {
          request.further.clear();
          request.num_sge = 1;
        }
        if (!request.IsInline()) request.bytes = 576 + 16 * request.num_sge;
        if (request.IsInline()) request.SetInline(request.InlineBytes() % 513);
        if (!request.IsInline()) {
          request.sge.lkey %= 0x80;
          for (auto& element : request.further) element.lkey %= 0x80;
          request.sge.length %= 16'384;
          if (request.IsAtomic()) request.sge.length += 8;
        }
        bench.Keep(request);
        posted[request.head] = request;
        bench.work.tokens.push_back(request.Token());
      }
      // Acknowledges.
      while (random() % 2 == 0 && acknowledge(qpn)) {
      }
      if (i < 3900 && random() % 12 == 0 && peer.oldest < peer.all.size()) {
        ++peer.epoch;
        bench.hold.tokens.push_back({.qpn = qpn, .epoch = peer.epoch});
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
TEST(Requester, RetransmissionAtAnyTimeLosesNoPacket) { GoBackAtAnyTime<Bench>(); }
TEST(RequesterBurst, RetransmissionAtAnyTimeLosesNoPacket) { GoBackAtAnyTime<BurstBench>(); }

}  // namespace
}  // namespace vireo::verif
