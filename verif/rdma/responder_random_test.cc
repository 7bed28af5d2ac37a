// SPDX-License-Identifier: Apache-2.0
// The responder in random traffic: against a reference without timing, and RTL against model in every cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "verif/rdma/responder_bench.h"
#include "verif/rdma/responder_reference.h"

namespace vireo::verif {
namespace {

struct Rates {
  unsigned frame, memory, check, place, record, failure, receive = 16, request = 16;
};
constexpr Rates kRates[] = {
    {16, 16, 16, 16, 16, 16},    {16, 16, 16, 3, 16, 16},         {16, 2, 16, 16, 16, 16}, {3, 16, 16, 16, 16, 16},
    {16, 16, 3, 16, 16, 16},     {16, 16, 16, 16, 1, 16},         {16, 16, 16, 16, 16, 1}, {9, 9, 9, 9, 9, 9, 9, 9},
    {16, 16, 16, 16, 16, 16, 1}, {16, 16, 16, 16, 16, 16, 16, 2},
};

void SetRates(Bench& bench, const Rates& rates) {
  bench.frame.rate = rates.frame;
  bench.memory.rate = rates.memory;
  bench.check.rate = rates.check;
  bench.place.rate = rates.place;
  bench.record.rate = rates.record;
  bench.failure.rate = rates.failure;
  bench.receive.rate = rates.receive;
  bench.request.rate = rates.request;
}

// With frames held now and then, but not at the end.
std::string RunHeld(Bench& bench, uint64_t cycles) {
  bench.hold.toggles = 1 + static_cast<unsigned>(bench.random() % 8);
  if (std::string difference = bench.bench.Run(cycles); !difference.empty()) return difference;
  bench.hold.toggles = 0;
  bench.hold.on = false;
  return bench.bench.Run(2);
}

// Until nothing changes any more.
std::string RunUntilIdle(Bench& bench) {
  for (unsigned quiet = 0; quiet < 4;) {
    if (std::string difference = bench.bench.RunOut(100); !difference.empty()) return difference;
    quiet = bench.block.IsIdle() ? quiet + 1 : 0;
  }
  return {};
}

TEST(Responder, MatchesReferenceAtEveryRate) {
  std::map<std::string, uint64_t> seen;
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.pending = 6;
    bench.load.rate = bench.table.rate = 16;
    Reference reference;
    uint64_t acks = 0;
    std::array<unsigned, kQps> ended{};  // incoming READs, of all rounds
    for (unsigned round = 0; round < 14; ++round) {
      std::array<uint32_t, kQps> psn{};
      reference.type = Peers::Mixed(bench.random);
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        psn[qpn] = static_cast<uint32_t>(bench.random() & 0xffffff);
        reference.halves[qpn] = {.psn = psn[qpn]};
        reference.may_write[qpn] = bench.random() % 8 != 0;
        bench.host.queues[qpn].clear();
        for (auto count = bench.random() % 12; count != 0; --count) PostOne(bench.random, bench.host, qpn);
        bench.host.broken[qpn] = bench.random() % 32 == 0;
        reference.posted[qpn] = bench.host.queues[qpn];
        reference.broken[qpn] = bench.host.broken[qpn];
        reference.may_read[qpn] = bench.random() % 8 != 0;
        reference.may_atomic[qpn] = bench.random() % 8 != 0;
        reference.may_flush_global[qpn] = bench.random() % 8 != 0;
        reference.may_flush_persistent[qpn] = bench.random() % 8 != 0;
        reference.max_reads[qpn] = bench.random() % 3 == 0 ? static_cast<unsigned>(bench.random() % 5) : 200;
        ended[qpn] += reference.reads_issued[qpn];
        reference.reads_issued[qpn] = 0;
        reference.duplicate_limit[qpn] = false;
        bench.ended.tokens.push_back({.qpn = qpn, .ended = static_cast<uint8_t>(ended[qpn])});
        bench.Configure({.qpn = qpn,
                         .type = reference.type[qpn],
                         .remote_write = reference.may_write[qpn],
                         .remote_read = reference.may_read[qpn],
                         .remote_atomic = reference.may_atomic[qpn],
                         .flush_global = reference.may_flush_global[qpn],
                         .flush_persistent = reference.may_flush_persistent[qpn],
                         .max_reads = static_cast<uint8_t>(reference.max_reads[qpn])},
                        IbQpState::kRts, psn[qpn]);
      }
      bench.host.elements.clear();
      Peers peers(bench.random, psn, reference.type);
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        reference.reads[qpn].clear();
        auto at = static_cast<uint32_t>(bench.random());
        for (auto count = bench.random() % (kReads + 1); count != 0; --count) {
          const auto elements = SomeElements(bench.random, 20, 8);
          const bool is_atomic = bench.random() % 4 == 0;
          const auto length = static_cast<uint32_t>(bench.random() % (bench.random() % 2 ? kMtu + 1 : 6 * kMtu));
          auto record = RecordOf(bench.host, qpn, at, is_atomic ? 8 : length, elements);
          record.is_atomic = is_atomic;
          reference.reads[qpn].push_back({record, elements});
          bench.record.tokens.push_back(record);
          peers.reads[qpn].push_back(record);
          at = record.last_psn + 1 + static_cast<uint32_t>(bench.random() % 3);
        }
      }
      ASSERT_EQ(RunUntilIdle(bench), "");
      for (unsigned i = 0; i < 250; ++i) {
        bench.frame.tokens.push_back(peers.Next());
        reference.Frame(bench.frame.tokens.back());
      }
      ASSERT_EQ(RunHeld(bench, 1500), "");
      ASSERT_EQ(RunUntilIdle(bench), "");
      const auto places = Bench::Take(bench.places);
      for (size_t i = 0; i < std::min(places.size(), reference.places.size()); ++i) {
        ASSERT_EQ(places[i], reference.places[i])
            << i << "\ngot      " << TokenText(places[i]) << "\nexpected " << TokenText(reference.places[i]);
        if (places[i].has_answer) ++seen["syndrome " + std::to_string(places[i].answer.packet.extension[0])];
        acks += places[i].has_ack && !places[i].ack.is_read;
        if (places[i].has_ack && places[i].ack.is_read) {
          ++seen["response " + std::string(spec::ToString(places[i].ack.status))];
          seen["gap"] += places[i].ack.syndrome == static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
        }
        seen["read"] += places[i].has_answer && places[i].answer.is_read;
        seen["atomic"] += places[i].has_answer && IsAtomic(places[i].answer.packet.opcode);
        seen["store"] += places[i].has_answer && places[i].answer.packet.opcode == BthOpcode::kRcAtomicWrite;
        seen["FLUSH"] += places[i].has_answer && places[i].answer.packet.opcode == BthOpcode::kRcFlush;
        seen["atomic again"] += places[i].has_answer && places[i].answer.is_duplicate;
        seen["value"] += places[i].has_value;
        seen["zeros"] += places[i].zeros;
        seen["net"] += places[i].net_bytes != 0;
        if (places[i].has_completion) {
          const auto cqe = spec::RdmaCqReq::Decode(places[i].completion.cqe);
          ++seen["status " + std::string(spec::ToString(cqe.status))];
          ++seen["opcode " + std::string(spec::ToString(cqe.opcode))];
        }
        seen["more"] += places[i].more;
        seen["write"] += places[i].bytes0 != 0;
        seen["dropped"] += places[i] == kDropped;
      }
      ASSERT_EQ(places.size(), reference.places.size());
      reference.places.clear();
      ASSERT_EQ(Bench::Take(bench.failures), std::exchange(reference.failures, {}));

      for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
      ASSERT_EQ(RunUntilIdle(bench), "");
      std::array<std::vector<spec::RxPlace>, kQps> flushed;
      for (const auto& place : Bench::Take(bench.places)) {
        flushed.at((place.completion.vq_index - kFirstReceiveQueue) / 2).push_back(place);
        ++seen["flush"];
      }
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) ASSERT_EQ(flushed[qpn], reference.Flush(qpn)) << qpn;
    }
    EXPECT_GT(acks, 100u);
    EXPECT_GT(bench.idle.count, 0u);
  }
  // Nothing was left out.
  for (const unsigned syndrome : {0x1fu, 0x60u, 0x61u, 0x62u, 0x63u, 0x20u + kRnrTimer}) {
    EXPECT_GT(seen["syndrome " + std::to_string(syndrome)], 20u) << syndrome;
  }
  for (const auto* const what : {"status success", "status loc_len_err", "status loc_qp_op_err", "status loc_prot_err",
                                 "opcode recv", "opcode recv_rdma_with_imm"}) {
    EXPECT_GT(seen[what], 20u) << what;
  }
  for (const auto* const what :
       {"response success", "response loc_len_err", "response loc_prot_err", "response bad_resp_err", "gap", "read",
        "zeros", "net", "atomic", "store", "FLUSH", "atomic again", "value"}) {
    EXPECT_GT(seen[what], 20u) << what;
  }
  for (const auto* const what : {"more", "write", "dropped", "flush"}) EXPECT_GT(seen[what], 1000u) << what;
}

TEST(Responder, EveryReceiveCompletesOnceInOrder) {
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.doorbell.rate = bench.retry.rate = 8;
    bench.pending = 6;
    std::array<std::vector<uint16_t>, kQps> heads;
    const auto type = Peers::Mixed(bench.random);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Configure({.qpn = qpn, .type = type[qpn]}, IbQpState::kRts, 0);
    Peers peers(bench.random, {}, type);
    for (unsigned i = 0; i < 300; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      if (bench.random() % 4 == 0) {
        PostOne(bench.random, bench.host, qpn);
        heads[qpn].push_back(bench.host.queues[qpn].back().head);
        bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn)});
      }
      for (unsigned n = 0; n < 3; ++n) bench.frame.tokens.push_back(peers.Next());
      if (bench.random() % 40 == 0) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
      bench.hold.on = bench.random() % 8 == 0;
      ASSERT_EQ(bench.bench.Run(bench.random() % 60), "");
    }
    bench.hold.on = false;
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
    ASSERT_EQ(RunUntilIdle(bench), "");
    std::array<std::vector<uint16_t>, kQps> completed;
    for (const auto& place : Bench::Take(bench.places)) {
      if (!place.has_completion) continue;
      completed.at((place.completion.vq_index - kFirstReceiveQueue) / 2).push_back(place.completion.head);
    }
    EXPECT_EQ(completed, heads);
  }
}

TEST(Responder, MatchesModelUnderConfigurationChanges) {
  uint64_t flushed = 0;
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.table.rate = bench.qp_state.rate = bench.load.rate = bench.doorbell.rate = 1;
    bench.enable.rate = 15;
    // Any answer of recv_queue.
    bench.request.on_token = [&](Cycle, const spec::ReceiveRequest& asked) {
      spec::Receive receive;
      const auto what = bench.random() % 16;
      if (what < 3) receive.status = BufferStatus::kEmpty;
      if (what == 3) receive.status = BufferStatus::kFailed;
      if (what == 4) receive = {.status = BufferStatus::kFailed, .code = RdmaError::kBadWqe};
      if (what == 5 && asked.no_wait) receive.status = BufferStatus::kPending;
      if (bench.random() % 4 == 0) bench.retry.tokens.push_back({.qpn = static_cast<uint32_t>(bench.random() % kQps)});
      if (what > 5) {
        receive.elements = bench.random();
        receive.num_sge = static_cast<uint8_t>(bench.random() % 4);
        Host::Element(bench.random(), static_cast<uint32_t>(bench.random() % (bench.random() % 2 ? 20 : 5000)))
            .Encode(receive.sge);
      }
      receive.head = static_cast<uint16_t>(bench.random());
      receive.wr_id = bench.random();
      bench.receive.tokens.push_back(receive);
    };
    auto type = Peers::Mixed(bench.random);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.table.tokens.push_front(ContextOf({.qpn = qpn, .type = type[qpn]}));
      bench.qp_state.tokens.push_front({.qpn = qpn, .state = IbQpState::kRts});
    }
    Peers peers(bench.random, {}, type);
    std::array<uint32_t, kQps> read_psn{};
    bench.record.rate = rates.record == 16 ? 2 : 16;
    bench.ended.rate = 1;
    for (unsigned i = 0; i < 3000; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      if (bench.random() % 8 == 0) {
        const auto bytes = static_cast<uint32_t>(bench.random() % (4 * kMtu));
        const auto record = RecordOf(bench.host, qpn, read_psn[qpn], bytes, SomeElements(bench.random));
        bench.record.tokens.push_back(record);
        peers.reads[qpn].push_back(record);
        read_psn[qpn] = Psn(record.last_psn + 1 + static_cast<uint32_t>(bench.random() % 3));
        // Once more, as a retry sends it.
        if (bench.random() % 8 == 0) bench.record.tokens.push_back(record);
      }
      if (bench.random() % 8 == 0) {
        bench.ended.tokens.push_back({.qpn = qpn, .ended = static_cast<uint8_t>(bench.random() % 40)});
      }
      bench.frame.tokens.push_back(peers.Next());
    }
    for (unsigned i = 0; i < 800; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      bench.load.tokens.push_back({.qpn = qpn, .psn = static_cast<uint32_t>(bench.random() % 200)});
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(bench.random() % 64)});
      auto write =
          ContextOf({.qpn = qpn,
                     .type = bench.random() % 8 == 0 ? static_cast<spec::IbQpType>(bench.random() % 5) : type[qpn],
                     .valid = bench.random() % 8 != 0,
                     .remote_write = bench.random() % 4 != 0,
                     .remote_read = bench.random() % 4 != 0,
                     .max_reads = static_cast<uint8_t>(bench.random() % 64)});
      if (bench.random() % 4 == 0) write.table_id = spec::MgmtTable::kMr;
      bench.table.tokens.push_back(write);
      bench.qp_state.tokens.push_back(
          {.qpn = qpn,
           .state = static_cast<IbQpState>(bench.random() % 3 == 0 ? bench.random() % 7 : 2 + bench.random() % 2),
           .clear = bench.random() % 4 == 0});
    }
    bench.qp_state.rate = 2;
    bench.contexts.period = 97;
    for (unsigned i = 0; i < 100; ++i) {
      bench.contexts.Flip(spec::ContextRam::kResponderQp, static_cast<uint32_t>(bench.random() % kQps),
                          static_cast<uint32_t>(bench.random() % 1024));
    }
    ASSERT_EQ(RunHeld(bench, 20'000), "");
    ASSERT_EQ(bench.bench.RunOut(200), "");
    ASSERT_EQ(RunUntilIdle(bench), "");
    uint64_t frames = 0;
    for (const auto& place : Bench::Take(bench.places)) {
      frames += !place.no_frame && !place.more;
      flushed += place.no_frame;
    }
    EXPECT_EQ(frames, 3000u);
    EXPECT_GT(bench.contexts.errors.size(), 20u);
    uint64_t established = 0;
    for (const auto& failure : Bench::Take(bench.failures)) {
      established += failure.event_type == RdmaEventType::kCommEst;
    }
    EXPECT_GT(established, 5u);
  }
  // In total: at one rate it is random.
  EXPECT_GT(flushed, 20u * std::size(kRates));
}

TEST(Responder, DoorbellsAndStateChangesInEveryCycle) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Configure({.qpn = qpn}, IbQpState::kRts, 0);
  for (unsigned i = 0; i < 3000; ++i) {
    const auto qpn = static_cast<uint32_t>(bench.random() % 3);
    if (bench.random() % 4 == 0) bench.host.Post(qpn, {});
    bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn)});
    bench.qp_state.tokens.push_back({.qpn = qpn,
                                     .state = bench.random() % 2 ? IbQpState::kErr : IbQpState::kRts,
                                     .clear = bench.random() % 8 == 0});
    if (i % 3 == 0) bench.Send({.psn = 0, .bytes = 0, .qpn = qpn});
  }
  ASSERT_EQ(RunUntilIdle(bench), "");
  EXPECT_GT(bench.place.count, 1000u);
}

TEST(Responder, ResetClearsAllState) {
  std::shared_ptr<RtlTop<Vresponder_16>> rtl;
  for (unsigned i = 0; i < 20; ++i) {
    Bench bench(rtl);
    rtl = bench.owner;
    bench.place.rate = bench.memory.rate = bench.receive.rate = 4;
    // Tables keep their contents; only firmware's new writes count.
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.Configure({.qpn = qpn}, IbQpState::kRts, 0);
      for (unsigned n = 0; n < 5; ++n) PostOne(bench.random, bench.host, qpn);
    }
    Peers peers(bench.random, {});
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      const auto record = RecordOf(bench.host, qpn, 0, 3 * kMtu, SomeElements(bench.random));
      bench.record.tokens.push_back(record);
      peers.reads[qpn].push_back(record);
    }
    for (unsigned n = 0; n < 200; ++n) bench.frame.tokens.push_back(peers.Next());
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
    bench.qp_state.rate = 1;
    bench.hold.toggles = 2;
    ASSERT_EQ(bench.bench.Run(50 + bench.random() % 200), "");
  }
}

}  // namespace
}  // namespace vireo::verif
