// SPDX-License-Identifier: Apache-2.0
// The CQ writer: order, latencies, arms, and CQs that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/common/seed.h"
#include "verif/virtio/cq_writer_bench.h"

namespace vireo::verif {
namespace {

INSTANTIATE_TEST_SUITE_P(Formats, CqWriterRings, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "packed" : "split") +
                                  (std::get<1>(info.param) ? "_event_idx" : "");
                         });

TEST_P(CqWriterRings, WritesInOrderAndNotifiesOnRequestAtEveryRate) {
  uint64_t lost = 0, interrupts = 0, overruns = 0, errors = 0, arms = 0, requested = 0, questions = 0, doorbells = 0,
           batches = 0, timestamps = 0;
  for (const unsigned in : {16u, 3u}) {
    for (const unsigned memory : {16u, 2u}) {
      for (const unsigned out : {16u, 6u}) {
        SCOPED_TRACE("rates " + std::to_string(in) + " " + std::to_string(memory) + " " + std::to_string(out));
        auto b = std::make_unique<Bench>(Param());
        b->EnableAll();
        ASSERT_FALSE(HasFatalFailure());
        b->SetRates(in, memory, out);
        b->fickle = true;
        for (int round = 0; round < 30; ++round) {
          if (round % 3 == 2) {
            b->fail_queue = b->random() % kQueues;
            b->fail_after = static_cast<unsigned>(b->random() % 8);
          }
          if (round % 8 == 3) b->fail_fetch = b->random() % (kControlQueue + 1);
          const size_t starved = b->random() % (2 * kCqs);  // a CQ, or none
          const size_t spare = round % 4 != 0 ? 2 : 40;     // as many as are fetched ahead, or fewer
          for (int step = 0; step < 60; ++step) {
            switch (b->random() % 4) {
              case 0: {
                const size_t vq = b->random() % (kControlQueue + 1);
                b->CompleteBatch(
                    vq, static_cast<unsigned>(1 + b->random() % std::min<size_t>(8, b->queues[vq].row.queue_size)));
                break;
              }
              case 1: b->Complete(kFirstWork + b->random() % (kEventQueue - kFirstWork)); break;
              default:
                b->Complete(kFirstWork + b->random() % (kEventQueue - kFirstWork), static_cast<int>(b->random() % kCqs),
                            b->random() % 4 == 0, b->random() % 8 != 0);
            }
            for (size_t cqn = 0; cqn < kCqs; ++cqn) {
              Queue& queue = b->queues[kFirstCq + cqn];
              if (cqn != starved && queue.posted.size() + queue.fetched.size() < queue.cqes.size() + spare) {
                b->Post(kFirstCq + cqn, static_cast<unsigned>(1 + b->random() % 3));
              }
              if (!queue.armed && b->random() % 4 == 0) {
                const bool next = b->random() % 2 == 0;
                b->ArmCq(cqn, !next || b->random() % 2 == 0, next,
                         static_cast<uint16_t>(b->random() % 3 % (queue.solicited.size() + 1)));
              }
            }
            if (b->event_idx && !b->packed && b->random() % 4 == 0) {
              b->TellAvail(b->random() % 2 == 0 ? b->random() % (kControlQueue + 1)
                                                : kFirstWork + b->random() % (kEventQueue - kFirstWork),
                           static_cast<uint16_t>(b->random()));
            }
            if (b->random() % 8 == 0) b->Happen();
            if (b->random() % 10 == 0) b->Post(kEventQueue, 1);
            ASSERT_EQ(b->bench.Run(b->random() % 40), "");
            ASSERT_FALSE(HasFatalFailure());
          }
          b->Settle();
          ASSERT_FALSE(HasFatalFailure());
          for (size_t vq = 0; vq < kQueues; ++vq) {
            Queue& queue = b->queues[vq];
            interrupts += queue.interrupts;
            arms += queue.arms;
            questions += queue.questions;
            requested += queue.requested;
            doorbells += queue.avail_stores;
            queue.avail_stores = 0;
            if (queue.error) {
              ASSERT_EQ(queue.failures, 1u) << vq;
              ASSERT_TRUE(queue.code == RdmaError::kQueueDmaError || (IsCq(vq) && queue.code == RdmaError::kCqOverrun));
              ++errors;
            } else if (queue.failures != 0) {
              ASSERT_TRUE(IsCq(vq)) << vq;
              ASSERT_EQ(queue.failures, 1u);
              ASSERT_EQ(queue.code, RdmaError::kCqOverrun);
              ASSERT_TRUE(queue.fetched.empty());
              ++overruns;
            }
            if (queue.failures != 0) {
              // No more outputs may come; then it restarts.
              queue.dead = true;
              queue.work.clear();
              queue.unit = {};
              queue.units.clear();
              queue.avail_reported.clear();
              queue.cqes.clear();
              if (IsCq(vq)) {
                b->Complete(kFirstWork, static_cast<int>(vq - kFirstCq));
              } else if (vq != kEventQueue) {
                b->Complete(vq);
              } else {
                b->Happen();
              }
              b->Settle();
              ASSERT_FALSE(HasFatalFailure());
              if (vq == kEventQueue) b->events.clear();
              b->Enable(vq, b->AnySize());
              ASSERT_EQ(b->bench.RunOut(30), "");
            } else {
              queue.interrupts = queue.questions = queue.requested = 0;
              queue.written = IsCq(vq) ? queue.written : 0;
              queue.arms = 0;
            }
          }
        }
        lost += b->lost;
        batches += b->batches;
        timestamps += b->timestamps;
      }
    }
  }
  EXPECT_GT(timestamps, 500u);
  EXPECT_GT(lost, 10u);
  EXPECT_GT(interrupts, 1000u);
  EXPECT_GT(arms, 1000u);
  EXPECT_GT(requested, 500u);
  EXPECT_GT(questions - requested, 500u);
  EXPECT_EQ(doorbells > 1000, Param().event_idx && !Param().packed);
  EXPECT_GT(batches, 500u);
  EXPECT_GT(overruns, 5u);
  EXPECT_GT(errors, 10u);
}

TEST_P(CqWriterRings, MeetsDocumentedLatencies) {
  Bench b(Param());
  b.EnableAll();
  b.Enable(kFirstCq, 8);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.done_in.rate = 0;
  b.done_in.holds_all = true;
  b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToElement), "");
  EXPECT_EQ(b.stores, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 1u);
  ASSERT_EQ(b.bench.Run(10), "");
  EXPECT_EQ(b.stores, 1u);
  b.done_in.holds_all = false;
  ASSERT_EQ(b.bench.Run(CqWriter::kDoneToIndex), "");
  EXPECT_EQ(b.stores, 1u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 2u);
  ASSERT_EQ(b.bench.Run(10), "");

  b.done_in.rate = 16;
  b.fetched_in.rate = 0;
  ASSERT_EQ(b.bench.Run(CqWriter::kDoneToFetch), "");
  EXPECT_EQ(b.queues[kNetQueue].questions, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.queues[kNetQueue].questions, 1u);
  EXPECT_EQ(b.last_fetch, b.last_done + CqWriter::kDoneToFetch);
  ASSERT_EQ(b.bench.Run(10), "");
  b.fetched_in.rate = 16;
  ASSERT_EQ(b.bench.Run(CqWriter::kFetchedToInterrupt), "");
  EXPECT_EQ(b.queues[kNetQueue].interrupts, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.queues[kNetQueue].interrupts, 1u);

  b.ArmCq(0, false, true);
  b.Settle();
  b.Post(kFirstCq, 1);
  b.done_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(60), "");
  b.done_in.rate = 16;
  ASSERT_EQ(b.bench.Run(1), "");  // that of the work request
  b.done_in.rate = 0;
  ASSERT_EQ(b.bench.Run(10), "");
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 1u);
  EXPECT_EQ(b.last_interrupt, b.last_done + CqWriter::kDoneToInterrupt);

  b.Post(kFirstCq, 8);
  b.Complete(kFirstWork, 0);
  b.Settle();
  b.writes = b.ended = 0;
  b.done_in.rate = 0;
  for (int i = 0; i < 3; ++i) b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToCqElement), "");
  EXPECT_EQ(b.writes, 2u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.writes, 3u);
  ASSERT_EQ(b.bench.Run(2 * CqWriter::kCyclesPerCqe - 1), "");
  EXPECT_EQ(b.writes, 8u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.writes, 9u);

  b.done_in.rate = 16;
  b.Settle();
  b.writes = b.ended = 0;
  b.done_in.rate = 0;
  for (int i = 0; i < 3; ++i) b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToElement + 2 * CqWriter::kCyclesPerCompletion), "");
  EXPECT_EQ(b.writes, 2u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.writes, 3u);
}

// The cycle in which the state machine decides it, before that of the store. The first CQE of a CQ waits for its
// buffer.
TEST_P(CqWriterRings, TimestampIsThatOfTheCqesWrite) {
  Bench b(Param());
  b.elements.fill(spec::RdmaCqElement::kTimestamp);
  b.EnableAll();
  b.Enable(kFirstCq, 8);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.Post(kFirstCq, 8);
  std::vector<Cycle> taken;
  b.on_store = [&](const DmaStore& store) {
    if (store.bytes == spec::RdmaCqReq::kBytes) taken.push_back(b.last_store);
  };
  b.buffer_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_TRUE(taken.empty());
  b.buffer_in.rate = 16;
  for (size_t i = 1; i <= 3; ++i) {
    b.Settle();
    ASSERT_EQ(taken.size(), i);
    EXPECT_EQ(b.queues[kFirstCq].timestamp, b.time.At(taken.back() - 1));
    b.Complete(kFirstWork, 0);
  }
  b.Settle();
  // A second lifetime, without.
  b.elements.fill(0);
  b.SetCq(0, {});
  b.SetCq(0, {.valid = true});
  ASSERT_EQ(b.bench.RunOut(30), "");
  const uint64_t timestamps = b.timestamps;
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(taken.size(), 5U);
  EXPECT_EQ(b.timestamps, timestamps);
}

// With the end of the writes of an earlier one, whose work request's slot costs nothing: from the third on.
TEST_P(CqWriterRings, WritesACqePerNineCycles) {
  constexpr unsigned kCount = 10;
  constexpr Cycle kInterval = CqWriter::kCyclesPerCqe + 2;
  Bench b(Param());
  b.EnableAll();
  b.Enable(kFirstCq, 64);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.Post(kFirstCq, 64);
  b.Complete(kFirstWork, 0);
  b.Settle();
  b.stores = 0;
  b.writes = b.ended = 0;
  for (unsigned i = 0; i < kCount; ++i) b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToCqElement + CqWriter::kCyclesPerCqe + (kCount - 2) * kInterval), "");
  EXPECT_LT(b.writes, 3 * kCount);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.writes, 3 * kCount);
  b.Settle();
  EXPECT_EQ(b.stores, 5 * kCount);
}

TEST_P(CqWriterRings, StallsOnlyWhenEverySlotIsUnanswered) {
  Bench b(Param());
  b.EnableAll();
  b.done_in.rate = 0;
  for (size_t i = 0; i < kSlots + 3; ++i) b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(400), "");
  // A completion needs two at most.
  EXPECT_EQ(b.queues[kNetQueue].used, kSlots - 1);
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kNetQueue].used, kSlots + 3);
}

// Used indices wait for the ends of the writes before them, and nothing else does.
TEST_P(CqWriterRings, IndexWaitsForItsWritesOnly) {
  Bench b(Param());
  b.EnableAll();
  b.Post(kFirstCq, 4);
  b.Complete(kFirstWork, 0);
  b.Settle();
  b.done_in.rate = 0;
  b.done_in.holds_all = true;
  b.Complete(kFirstWork, 0);
  b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.done_in.tokens.size(), 4u) << "all writes but the indices";
  for (unsigned answered = 0; answered <= 4; ++answered) {
    EXPECT_EQ(b.queues[kFirstWork].used, 1 + (answered >= 1)) << answered;
    EXPECT_EQ(b.queues[kFirstCq].used, 1 + (answered >= 3)) << answered;
    EXPECT_EQ(b.queues[kNetQueue].used, answered >= 4) << answered;
    b.done_in.holds_all = false;
    ASSERT_EQ(b.bench.Run(1), "");
    b.done_in.holds_all = true;
    ASSERT_EQ(b.bench.Run(30), "");
  }
  b.done_in.rate = 16;
  b.Settle();
}

// Of the second of three buffers of a queue, each write: its used index does not cover it, and nobody else notices.
TEST_P(CqWriterRings, RefusedWriteIsNeverVisibleAndStopsItsQueue) {
  struct Case {
    size_t vq;
    unsigned writes;  // of a buffer, without its index
  };
  for (const Case& c :
       {Case{kFirstCq, 2}, Case{kFirstWork, 1}, Case{kNetQueue, 1}, Case{kControlQueue, 1}, Case{kEventQueue, 2}}) {
    for (unsigned at = 0; at < c.writes; ++at) {
      for (const bool is_row : {true, false}) {
        if (!is_row && c.vq == kEventQueue) continue;  // the count of lost events ends with a row write only
        SCOPED_TRACE(std::to_string(c.vq) + " " + std::to_string(at));
        auto b = std::make_unique<Bench>(Param());
        b->EnableAll();
        for (const size_t vq :
             {kFirstCq, kFirstCq + 1, kFirstWork, kFirstWork + 1, kNetQueue, kControlQueue, kEventQueue}) {
          b->Enable(vq, 8);
        }
        ASSERT_EQ(b->bench.RunOut(30), "");
        b->Post(kFirstCq + 1, 6);
        b->Complete(kFirstWork + 1, 1);
        b->Post(kFirstCq, 6);
        b->Post(kEventQueue, 6);
        const auto complete = [&] {
          if (c.vq == kEventQueue) {
            b->Happen();
          } else if (c.vq == kFirstCq) {
            b->Complete(kFirstWork, 0);
          } else {
            b->Complete(c.vq);
          }
        };
        complete();
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        Queue& queue = b->queues[c.vq];
        ASSERT_EQ(queue.used, 1);
        b->fail_queue = c.vq;
        b->fail_after = at;
        for (unsigned i = 0; i < 2; ++i) complete();
        for (unsigned i = 0; i < 4; ++i) b->Complete(kFirstWork + 1, 1);
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(queue.used, 1) << "neither it nor the one behind it";
        EXPECT_EQ(queue.failures, 1u);
        EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
        EXPECT_EQ(b->queues[kFirstCq + 1].used, 5);
        EXPECT_EQ(b->queues[kFirstCq + 1].failures, 0u);
        EXPECT_EQ(b->queues[kFirstWork].used, c.vq == kFirstCq ? 3 : c.vq == kFirstWork ? 1 : 0);
        // Its next lifetime.
        b->events.clear();
        if (is_row) {
          b->Enable(c.vq, 8);
        } else {
          Queue fresh;
          fresh.row = queue.row;
          b->SetKind(c.vq, KindOf(c.vq), false, true);
          if (IsCq(c.vq)) {
            b->SetCq(0, {});
            b->SetCq(0, {.valid = true});
          }
          queue = fresh;
        }
        ASSERT_EQ(b->bench.RunOut(30), "");
        if (c.vq == kFirstCq) b->Post(kFirstCq, 2);
        if (c.vq == kEventQueue) b->Post(kEventQueue, 2);
        complete();
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(queue.used, 1);
        EXPECT_EQ(queue.failures, 0u);
      }
    }
  }
}

struct ArmCase {
  const char* text;
  bool solicited, next;    // flags of the arm
  bool before_solicited;   // the CQE before the arm
  uint16_t next_position;  // 1: the driver has not seen that
  bool at_once;
  bool after_solicited;  // the CQE after the arm
  bool after;            // notifies then
};

TEST_P(CqWriterRings, NotifiesOnceNowOrLaterByTheArm) {
  constexpr ArmCase kCases[] = {
      {"next, all seen", false, true, false, 0, false, false, true},
      {"next, one unseen", false, true, false, 1, true, false, false},
      {"solicited, all seen, then another", true, false, true, 0, false, false, false},
      {"solicited, all seen, then solicited", true, false, true, 0, false, true, true},
      {"solicited, unseen is not", true, false, false, 1, false, true, true},
      {"solicited, unseen is", true, false, true, 1, true, true, false},
      {"both, unseen is not solicited", true, true, false, 1, true, false, false},
      {"no flag", false, false, true, 1, false, true, false},
  };
  for (const ArmCase& c : kCases) {
    SCOPED_TRACE(c.text);
    auto b = std::make_unique<Bench>(Param());
    b->EnableAll();
    Queue& cq = b->queues[kFirstCq];
    b->Post(kFirstCq, 8);
    b->Complete(kFirstWork, 0);
    b->Complete(kFirstWork, 0, c.before_solicited);
    b->Settle();
    EXPECT_EQ(cq.interrupts, 0u);
    b->ArmCq(0, c.solicited, c.next, c.next_position);
    b->Settle();
    EXPECT_EQ(cq.interrupts, c.at_once);
    b->Complete(kFirstWork, 0, c.after_solicited);
    b->Settle();
    EXPECT_EQ(cq.interrupts, unsigned{c.at_once} + unsigned{c.after});
    b->Complete(kFirstWork, 0, true);
    b->Settle();
    if (c.at_once || c.after) {
      EXPECT_EQ(cq.interrupts, 1u) << "once only";
    }
  }
}

TEST_P(CqWriterRings, ErrorsAreSolicited) {
  Bench b(Param());
  b.EnableAll();
  b.Post(kFirstCq, 8);
  b.ArmCq(0, true, false);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 0u);
  b.Complete(kFirstWork, 0, false, false);
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 1u);
}

TEST_P(CqWriterRings, NotifiesOnlyAfterTheWriteIsAnswered) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.Post(kFirstCq, 8);
  b.done_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(cq.used, 1);
  b.ArmCq(0, false, true, 1);  // has not seen it
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(cq.interrupts, 0u);
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(cq.interrupts, 1u);

  // One that the driver saw before the device knew it to be written does not notify.
  b.done_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(50), "");
  b.ArmCq(0, false, true);
  ASSERT_EQ(b.bench.Run(50), "");
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(cq.interrupts, 1u);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.interrupts, 2u);
}

TEST(CqWriter, ArmsAndSolicitedCqesStayValidAcrossIndexWrap) {
  Bench b;
  b.EnableAll();
  // Both start with a solicited CQE; then the first is armed for the next solicited one, the other is not armed.
  constexpr size_t kOther = 2;
  Queue& cq = b.queues[kFirstCq];
  Queue& other = b.queues[kFirstCq + kOther];
  const auto write = [&b](unsigned count, bool solicited) {
    for (const size_t cqn : {size_t{0}, kOther}) {
      b.Post(kFirstCq + cqn, count);
      for (unsigned i = 0; i < count; ++i) b.Complete(kFirstWork, static_cast<int>(cqn), solicited);
    }
  };
  write(1, true);
  b.Settle();
  b.ArmCq(0, true, false);
  for (int i = 0; i < 65'536 / 8; ++i) {
    write(i == 0 ? 7 : 8, false);
    ASSERT_EQ(b.bench.RunOut(100), "");
    ASSERT_FALSE(HasFatalFailure());
  }
  b.Settle();
  ASSERT_EQ(cq.used, 0);
  ASSERT_EQ(cq.interrupts, 0u);
  // The device's position is the one at which it was armed.
  b.Post(kFirstCq, 1);
  b.Complete(kFirstWork, 0, true);
  b.Settle();
  EXPECT_EQ(cq.interrupts, 1u);
  // A CQE solicited a whole wrap ago is not behind the position that the driver saw last.
  b.Post(kFirstCq + kOther, 1);
  b.Complete(kFirstWork, kOther);
  b.Settle();
  b.ArmCq(kOther, true, false, 1);
  b.Settle();
  EXPECT_EQ(other.interrupts, 0u);
}

TEST_P(CqWriterRings, FirmwareArmsForLaterCqesAndFailsACq) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.Post(kFirstCq, 8);
  b.Complete(kFirstWork, 0, true);
  b.Settle();
  for (const bool next : {false, true}) {
    b.SetCq(0, {.valid = true, .set_solicited = !next, .set_next_completion = next});
    cq.armed = true;
    cq.arm_solicited = !next;
    cq.arm_next = next;
    cq.arm_seen = cq.solicited.size();
    b.Settle();
    const uint64_t before = cq.interrupts;
    b.Complete(kFirstWork, 0, false);
    b.Settle();
    EXPECT_EQ(cq.interrupts, before + next);
    b.Complete(kFirstWork, 0, true);
    b.Settle();
    EXPECT_EQ(cq.interrupts, before + 1);
  }
  b.SetCq(0, {.valid = true, .set_failed = true});
  b.Settle();
  cq.dead = true;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.RunOut(50), "");
  EXPECT_EQ(b.queues[kFirstWork].used, 6);
  EXPECT_EQ(cq.failures, 0u) << "not reported: software set it";
  cq.cqes.clear();
  const uint64_t before = cq.interrupts;
  b.ArmCq(0, false, true, 1);  // CQEs written before are still unseen
  b.Settle();
  EXPECT_EQ(cq.interrupts, before + 1);
}

// While it waits for the write port, firmware writes more contexts than can wait.
TEST_P(CqWriterRings, ContextsBeyondTheQueueAreHeldBackAndNoneIsLost) {
  Bench b(Param());
  b.EnableAll();
  b.Post(kFirstCq, 1);
  b.store_out.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(30), "");
  EXPECT_TRUE(b.p.cq_context_ready_o);
  constexpr size_t kMore = 3;
  for (size_t i = 0; i < CqWriter::kContexts + kMore; ++i)
    b.SetCq(1 + i % 2, {.valid = true, .set_failed = i % 2 == 0});
  b.SetCq(3, {.valid = true, .set_failed = true});
  ASSERT_EQ(b.bench.Run(30), "");
  EXPECT_FALSE(b.p.cq_context_ready_o);
  EXPECT_EQ(b.table_in.tokens.size(), kMore + 1);
  EXPECT_FALSE(b.idle.idle);
  b.store_out.rate = 16;
  b.Settle();
  EXPECT_TRUE(b.p.cq_context_ready_o);
  // The first one and the last one are in force, and the CQ between them is as it was.
  for (const size_t cqn : {1u, 2u, 3u}) {
    b.Post(kFirstCq + cqn, 1);
    const bool failed = cqn != 2;
    b.queues[kFirstCq + cqn].dead = failed;
    b.Complete(kFirstWork, static_cast<int>(cqn));
    ASSERT_EQ(b.bench.RunOut(100), "");
    EXPECT_EQ(b.queues[kFirstCq + cqn].used, failed ? 0 : 1) << "CQ " << cqn;
  }
}

TEST_P(CqWriterRings, CqWithoutAFreeBufferFailsUntilCleared) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.Post(kFirstCq, 9);
  for (int i = 0; i < 10; ++i) b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.used, 9);
  EXPECT_EQ(cq.failures, 1u);
  EXPECT_EQ(cq.code, RdmaError::kCqOverrun);
  cq.dead = true;
  b.Post(kFirstCq, 5);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.failures, 1u);
  EXPECT_EQ(b.queues[kFirstWork].used, 11) << "the work request's buffer is completed anyway";

  b.Enable(kFirstCq, 8);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.Post(kFirstCq, 1);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.used, 1);
}

// Buffers are requested before they are needed: half of them are used without an answer.
TEST_P(CqWriterRings, FetchesBuffersAheadWhenHalfAreUsed) {
  constexpr uint16_t kSize = 64;
  constexpr unsigned kAhead = CqWriter::kCqBuffers;
  Bench b(Param());
  b.EnableAll();
  b.Enable(kFirstCq, kSize);
  ASSERT_EQ(b.bench.RunOut(30), "");
  Queue& cq = b.queues[kFirstCq];
  const auto complete = [&](unsigned count) {
    for (; count > 0; --count) b.Complete(kFirstWork, 0);
    ASSERT_EQ(b.bench.Run(1000), "");
    ASSERT_FALSE(HasFatalFailure());
  };
  b.Post(kFirstCq, 3 * kAhead);
  complete(kAhead / 2 - 1);
  EXPECT_EQ(b.requests, 1u);
  b.buffer_in.rate = 0;
  complete(1);
  EXPECT_EQ(b.requests, 2u);
  EXPECT_EQ(b.buffer_in.tokens.size(), kAhead / 2) << "as many as there is room for";
  complete(kAhead / 2);
  EXPECT_EQ(cq.used, kAhead);
  EXPECT_EQ(b.requests, 2u) << "one at a time";
  complete(1);
  EXPECT_EQ(cq.used, kAhead);
  b.buffer_in.rate = 16;
  complete(kAhead - 1);
  EXPECT_EQ(cq.used, 2 * kAhead);
  b.Settle();
  EXPECT_EQ(cq.failures, 0u);
}

// In a short ring, half of it.
TEST_P(CqWriterRings, FetchesAheadWhenHalfOfAShortRingIsUsed) {
  Bench b(Param());
  b.EnableAll();
  b.Enable(kFirstCq, 8);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.Post(kFirstCq, 8);
  for (unsigned i = 1; i <= 4; ++i) {
    b.Complete(kFirstWork, 0);
    b.Settle();
    EXPECT_EQ(b.requests, i < 4 ? 1u : 2u) << i;
  }
}

// CQEs of CQs without a buffer wait, and are written in order; those of others, events and arms pass them.
TEST_P(CqWriterRings, CqeWithoutABufferIsPassedByOtherCqs) {
  Bench b(Param());
  b.EnableAll();
  b.Post(kFirstCq, 4);
  b.Complete(kFirstWork, 0);
  b.Settle();
  b.buffer_in.rate = 0;
  for (const size_t cqn : {1u, 2u}) {
    b.Post(kFirstCq + cqn, 3);
    for (unsigned i = 0; i < 3; ++i) b.Complete(kFirstWork, static_cast<int>(cqn));
  }
  const unsigned before = b.requests;
  b.ArmCq(0, false, true);
  for (unsigned i = 0; i < 3; ++i) b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(300), "");
  EXPECT_EQ(b.requests, before + 3) << "of different CQs at the same time";
  EXPECT_EQ(b.queues[kFirstCq].used, 4);
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 1u);
  EXPECT_EQ(b.queues[kFirstCq + 1].used, 0);
  EXPECT_EQ(b.queues[kFirstWork].used, 10);
  EXPECT_FALSE(b.idle.idle);
  b.Post(kEventQueue, 1);
  b.Happen();
  b.buffer_in.rate = 16;
  b.Settle();
  for (const size_t cqn : {1u, 2u}) EXPECT_EQ(b.queues[kFirstCq + cqn].used, 3);
  EXPECT_EQ(b.queues[kEventQueue].used, 1);
}

TEST_P(CqWriterRings, CompletionsStallWhenTooManyCqesWaitForBuffers) {
  Bench b(Param());
  b.EnableAll();
  b.Enable(kFirstCq, 32);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.buffer_in.rate = 0;
  constexpr unsigned kAll = CqWriter::kParked + 3;
  b.Post(kFirstCq, kAll);
  for (unsigned i = 0; i < kAll; ++i) b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(500), "");
  EXPECT_EQ(b.queues[kFirstWork].used, CqWriter::kParked);
  b.buffer_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kFirstWork].used, kAll);
  EXPECT_EQ(b.queues[kFirstCq].used, kAll);
}

// An answer without a buffer to a request that was made ahead says nothing about the ring as it is later.
TEST_P(CqWriterRings, AnswerToARequestAheadDoesNotFailTheCq) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.buffer_in.rate = 0;
  b.Post(kFirstCq, 1);
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(b.requests, 1u);
  b.buffer_in.rate = 16;
  ASSERT_EQ(b.bench.Run(1), "");
  b.buffer_in.rate = 0;
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(cq.used, 1);
  EXPECT_EQ(b.requests, 2u) << "ahead, and there is none";
  b.Post(kFirstCq, 1);
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(b.requests, 2u);
  b.buffer_in.rate = 16;
  b.Settle();
  EXPECT_EQ(cq.failures, 0u);
  EXPECT_EQ(cq.used, 2);
}

// Of a CQ that is destroyed, nothing that was fetched is used: neither what is there nor what is on its way.
TEST_P(CqWriterRings, BuffersFetchedAheadAreDroppedWithTheirQueue) {
  for (const bool is_answered : {true, false}) {
    for (const bool is_row : {true, false}) {
      SCOPED_TRACE(std::to_string(is_answered) + " " + std::to_string(is_row));
      Bench b(Param());
      b.EnableAll();
      b.Post(kFirstCq, 40);
      b.Complete(kFirstWork, 0);
      b.Settle();
      if (!is_answered) {
        b.buffer_in.rate = 0;
        b.Enable(kFirstCq, 8);
        ASSERT_EQ(b.bench.RunOut(30), "");
        b.Post(kFirstCq, 8);
        b.Complete(kFirstWork, 0);
        ASSERT_EQ(b.bench.Run(50), "");
      }
      b.queues[kFirstCq].cqes.clear();
      if (is_row) {
        b.row_in.tokens.push_back({.vq_index = kFirstCq});
      } else {
        b.SetKind(kFirstCq, TableQueueKind::kNone);
      }
      b.SetCq(0, {});
      b.queues[kFirstCq].dead = true;
      ASSERT_EQ(b.bench.Run(50), "");
      b.buffer_in.rate = 16;
      ASSERT_EQ(b.bench.Run(400), "");
      EXPECT_TRUE(b.idle.idle);
      EXPECT_FALSE(b.p.fence_o);
      const unsigned requests = b.requests;
      b.Enable(kFirstCq, 8);
      ASSERT_EQ(b.bench.RunOut(30), "");
      b.Post(kFirstCq, 2);
      b.Complete(kFirstWork, 0);
      b.Settle();
      EXPECT_GT(b.requests, requests);
      EXPECT_EQ(b.queues[kFirstCq].used, 1);
      EXPECT_EQ(b.queues[kFirstCq].failures, 0u);
    }
  }
}

// Likewise of an event queue that is reset while an event waits.
TEST_P(CqWriterRings, BufferOfAnEventIsDroppedWithItsQueue) {
  for (const bool is_row : {true, false}) {
    Bench b(Param());
    b.EnableAll();
    b.buffer_in.rate = 0;
    b.Post(kEventQueue, 1);
    b.Happen();
    ASSERT_EQ(b.bench.Run(50), "");
    EXPECT_EQ(b.requests, 1u);
    Queue& queue = b.queues[kEventQueue];
    if (is_row) {
      b.row_in.tokens.push_back(queue.row);
    } else {
      b.SetKind(kEventQueue, TableQueueKind::kEvent, false, true);
    }
    ASSERT_EQ(b.bench.Run(20), "");
    queue.fetched.clear();
    b.Post(kEventQueue, 1);
    b.buffer_in.rate = 16;
    b.Settle();
    EXPECT_EQ(b.requests, 2u);
    EXPECT_EQ(queue.used, 1);
  }
}

TEST_P(CqWriterRings, CqWithABrokenQueueFailsWithoutASecondReport) {
  Bench b(Param());
  b.EnableAll();
  b.none = BufferStatus::kFailed;
  b.Complete(kFirstWork, 0);
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.RunOut(50), "");
  EXPECT_EQ(b.queues[kFirstCq].failures, 0u);
  EXPECT_EQ(b.requests, 1u);
  b.queues[kFirstCq].cqes.clear();
  b.Settle();
  EXPECT_EQ(b.queues[kFirstWork].used, 2);
}

TEST_P(CqWriterRings, UnsuitableBufferFailsTheCqInOrder) {
  for (const bool writable : {true, false}) {
    Bench b(Param());
    b.EnableAll();
    Queue& cq = b.queues[kFirstCq];
    b.Post(kFirstCq, 2);
    b.Post(kFirstCq, 1, writable, writable ? spec::RdmaCqReq::kBytes - 1 : spec::RdmaCqReq::kBytes);
    b.Post(kFirstCq, 2);
    for (int i = 0; i < 4; ++i) b.Complete(kFirstWork, 0);
    b.Settle();
    EXPECT_EQ(cq.used, 2);
    EXPECT_EQ(cq.failures, 1u);
    EXPECT_EQ(cq.code, RdmaError::kBadDescriptor);
    EXPECT_EQ(b.queues[kFirstWork].used, 4);
  }
}

TEST_P(CqWriterRings, BadEventBufferStopsTheEventQueueAndEventsAreCounted) {
  for (const bool writable : {true, false}) {
    Bench b(Param());
    b.EnableAll();
    Queue& queue = b.queues[kEventQueue];
    b.Happen();  // no buffer
    b.Settle();
    b.Post(kEventQueue, 1);
    b.Happen();
    b.Settle();
    EXPECT_EQ(b.lost, 1u);
    EXPECT_EQ(queue.used, 1);
    b.Post(kEventQueue, 1, writable, writable ? spec::RdmaEvent::kBytes - 1 : spec::RdmaEvent::kBytes);
    b.Happen();
    b.Settle();
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kBadDescriptor);
    queue.dead = true;
    b.Happen();
    b.Settle();
    // No event from before a reset exists after it.
    b.events.clear();
    b.Enable(kEventQueue, 4);
    ASSERT_EQ(b.bench.RunOut(30), "");
    b.Post(kEventQueue, 1);
    b.Happen();
    b.Settle();
    EXPECT_EQ(b.lost, 1u);
    EXPECT_EQ(b.queues[kEventQueue].used, 1);
  }
}

// In a device reset the entry of the event queue may be cleared before its row: what is dropped from then on is not a
// loss of the next driver.
TEST_P(CqWriterRings, EventsFromBeforeThereIsAnEventQueueAreNotCounted) {
  Bench b(Param());
  b.EnableAll();
  for (const bool is_row_first : {false, true}) {
    const auto disable = [&] { b.row_in.tokens.push_back({.vq_index = kEventQueue}); };
    b.Happen();  // no buffer
    b.Settle();
    if (is_row_first) disable();
    b.SetKind(kEventQueue, TableQueueKind::kNone);
    ASSERT_EQ(b.bench.RunOut(30), "");
    b.Happen();
    b.Settle();
    if (!is_row_first) disable();
    ASSERT_EQ(b.bench.RunOut(30), "");
    b.Happen();
    b.Settle();
    b.events.clear();
    b.Enable(kEventQueue, 4);  // by the driver; then firmware sets its kind
    ASSERT_EQ(b.bench.RunOut(30), "");
    b.Post(kEventQueue, 1);
    b.Happen();
    b.Settle();
    EXPECT_EQ(b.lost, 0u);
    EXPECT_EQ(b.queues[kEventQueue].used, 1);
  }
}

TEST_P(CqWriterRings, DoesNotAccessUnservedQueues) {
  Bench b(Param());
  b.EnableAll();
  b.SetKind(kFirstWork, KindOf(kFirstWork), true);
  b.SetKind(kFirstCq + 1, TableQueueKind::kCq, true);
  b.SetKind(kControlQueue, TableQueueKind::kNone);
  b.SetKind(kEventQueue, TableQueueKind::kNone);
  b.row_in.tokens.push_back({.vq_index = kNetQueue});
  b.SetCq(2, {});
  ASSERT_EQ(b.bench.RunOut(30), "");
  for (const size_t vq : {kFirstWork, kFirstCq + 1, kFirstCq + 2, kControlQueue, kEventQueue, kNetQueue}) {
    b.queues[vq].dead = true;
  }
  b.Post(kFirstCq, 3);
  b.Complete(kFirstWork, 0);  // its CQE is written
  b.Complete(kFirstWork + 1, 1);
  b.Complete(kFirstWork + 1, 2);
  b.Complete(kControlQueue);
  b.Complete(kNetQueue);
  b.Happen();
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].used, 1);
  EXPECT_EQ(b.queues[kFirstWork + 1].used, 2);
  EXPECT_EQ(b.stores, 3u + 4u);
}

TEST_P(CqWriterRings, DoesNotUseAQueueOrCqWithBadParity) {
  using spec::ContextRam;
  const auto traffic = [](Bench& b) {
    for (size_t cqn = 0; cqn < 2; ++cqn) b.Post(kFirstCq + cqn, 3);
    b.Post(kEventQueue, 1);
    b.Complete(kFirstWork, 0);
    if (b.queues[kFirstWork].dead) b.queues[kFirstCq].cqes.clear();  // what is not returned has no CQE
    b.Complete(kFirstWork + 1, 1);
    b.Complete(kControlQueue);
    b.Complete(kNetQueue);
    b.Happen();
    b.Settle();
  };
  for (const ContextRam ram : {ContextRam::kCqWriterRow, ContextRam::kCqWriterKind, ContextRam::kCqWriterCq}) {
    for (const size_t vq : {kFirstWork, kFirstCq + 1, kControlQueue, kEventQueue, kNetQueue}) {
      if (ram == ContextRam::kCqWriterCq && !IsCq(vq)) continue;
      SCOPED_TRACE(std::string(spec::ToString(ram)) + " " + std::to_string(vq));
      Bench b(Param());
      b.EnableAll();
      b.contexts.Flip(ram, static_cast<uint32_t>(ram == ContextRam::kCqWriterCq ? vq - kFirstCq : vq),
                      static_cast<uint32_t>(b.random() % 1024));
      b.Complete(kFirstWork + 2);
      b.Settle();
      EXPECT_TRUE(b.contexts.errors.empty());
      b.queues[vq].dead = true;
      const Cycle offered = b.bench.cycle();
      b.Complete(vq == kFirstWork ? vq : kNetQueue);
      b.Settle();
      if (vq == kFirstWork || vq == kNetQueue) {
        EXPECT_EQ(b.contexts.errors, std::vector<Cycle>{offered + CqWriter::kCompletionToElement});
      } else {
        EXPECT_TRUE(b.contexts.errors.empty());
      }
      b.contexts.errors.clear();
      traffic(b);
      EXPECT_EQ(b.contexts.errors.size(), 1u);
      EXPECT_EQ(b.queues[kFirstCq].used, vq == kFirstWork ? 0 : 1);
      // Written, it is as before.
      b.contexts.errors.clear();
      b.events.clear();
      b.Enable(vq, 8);
      ASSERT_EQ(b.bench.RunOut(30), "");
      traffic(b);
      EXPECT_GE(b.queues[vq].used, 1);
      EXPECT_TRUE(b.contexts.errors.empty());
      if (HasFailure()) return;
    }
  }
}

TEST_P(CqWriterRings, ArmOfACqWithBadParityDoesNotNotify) {
  using spec::ContextRam;
  for (const ContextRam ram : {ContextRam::kCqWriterRow, ContextRam::kCqWriterCq}) {
    Bench b(Param());
    b.EnableAll();
    b.Post(kFirstCq, 3);
    b.Complete(kFirstWork, 0);
    b.Settle();
    b.contexts.Flip(ram, ram == ContextRam::kCqWriterRow ? kFirstCq : 0, static_cast<uint32_t>(b.random() % 1024));
    ASSERT_EQ(b.bench.Run(3), "");
    EXPECT_TRUE(b.contexts.errors.empty());
    b.arm_in.tokens.push_back({.cqn = 0, .value = spec::RdmaCqArm{.next_completion = true}.ToWord()});
    b.Settle();
    EXPECT_EQ(b.interrupt_out.count, 0u);
    EXPECT_EQ(b.contexts.errors.size(), 1u);
  }
}

// Without the reference, which knows no flips.
TEST_P(CqWriterRings, MatchesModelWhileBitsFlip) {
  using spec::ContextRam;
  Bench b(Param());
  b.EnableAll();
  b.store_out.on_token = [&](Cycle, const DmaStore& store) {
    if (!store.notify) return;
    b.done_in.tokens.push_back({{.tag = store.tag}, 0, Store::kOther});
  };
  b.request_out.on_token = [&](Cycle, const BufferRequest& request) {
    for (unsigned i = 0; i < request.count; ++i) {
      b.buffer_in.tokens.push_back({.status = BufferStatus::kOk,
                                    .last = i + 1u == request.count,
                                    .vq_index = request.vq_index,
                                    .head = static_cast<uint16_t>(b.random()),
                                    .address = b.random(),
                                    .bytes = 64,
                                    .writable = true});
    }
  };
  b.fetch_out.on_token = [&](Cycle, const spec::DmaReadRequest& request) {
    spec::DmaFetched fetched{.tag = request.tag};
    for (unsigned i = 0; i < 4; ++i) fetched.data[i] = static_cast<uint8_t>(b.random());
    b.fetched_in.tokens.push_back(fetched);
  };
  b.doorbell_out.on_token = nullptr;
  b.interrupt_out.on_token = nullptr;
  for (int step = 0; step < 6000; ++step) {
    const auto vq = static_cast<size_t>(b.random() % kQueues);
    switch (b.random() % 8) {
      case 0: {
        const auto ram = static_cast<unsigned>(ContextRam::kCqWriterRow) + static_cast<unsigned>(b.random() % 3);
        b.contexts.Flip(static_cast<ContextRam>(ram), static_cast<uint32_t>(b.random() % kQueues),
                        static_cast<uint32_t>(b.random() % 1024));
        break;
      }
      case 1: b.row_in.tokens.push_back(b.queues[vq].row); break;
      case 2: b.SetKind(vq, KindOf(vq)); break;
      case 3: b.SetCq(vq % kCqs, {.valid = true}); break;
      case 4:
        b.arm_in.tokens.push_back(
            {.cqn = static_cast<uint16_t>(vq % kCqs), .value = static_cast<uint32_t>(b.random())});
        break;
      case 5: b.Happen(); break;
      case 6: {
        const size_t net = b.random() % (kControlQueue + 1);
        b.CompleteBatch(net, static_cast<unsigned>(1 + b.random() % std::min<size_t>(8, b.queues[net].row.queue_size)));
        break;
      }
      default:
        b.Complete(kFirstWork + b.random() % (kEventQueue - kFirstWork), static_cast<int>(b.random() % kCqs),
                   b.random() % 4 == 0);
    }
    if (b.event_idx && !b.packed && b.random() % 8 == 0) {
      b.avail_in.tokens.push_back({.vq_index = static_cast<uint16_t>(vq), .idx = static_cast<uint16_t>(b.random())});
    }
    ASSERT_EQ(b.bench.Run(b.random() % 20), "") << step;
  }
  EXPECT_GT(b.contexts.errors.size(), 200u);
  EXPECT_GT(b.store_out.count, 1000u);
}

TEST_P(CqWriterRings, RestartsAtTheFirstEntryAfterPositionReset) {
  Bench b(Param());
  b.EnableAll();
  b.Complete(kNetQueue);
  b.Complete(kNetQueue);
  b.Settle();
  b.SetKind(kNetQueue, KindOf(kNetQueue), false, true);
  ASSERT_EQ(b.bench.RunOut(5), "");
  b.queues[kNetQueue].used = b.queues[kNetQueue].placed = 0;
  b.Complete(kNetQueue);
  b.Settle();
  EXPECT_EQ(b.queues[kNetQueue].used, 1);
}

// --- Fence -----------------------------------------------------------------------------------------------------------

// After a write of an entry of the table, fence_o falls when what was in progress has ended, whatever others do.
class CqWriterFence : public testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kStopped = kFirstWork, kOther = kFirstWork + 1;

  void SetUp() override {
    b.EnableAll();
    b.Settle();
    ASSERT_FALSE(b.p.fence_o);
  }
  void Write(size_t vq = kOther) {
    b.SetKind(vq, KindOf(vq));
    ASSERT_EQ(b.bench.Run(2), "");
  }
  void Run(uint64_t cycles = 60) { ASSERT_EQ(b.bench.Run(cycles), ""); }
  // One answer of host memory or of descriptor fetch.
  template <typename Stream>
  void Answer(Stream& stream, uint64_t then = 60) {
    ASSERT_FALSE(stream.tokens.empty());
    stream.rate = 16;
    Run(1);
    stream.rate = 0;
    Run(then);
  }
  void ExpectUp(bool is_up) { EXPECT_EQ(b.p.fence_o != 0, is_up); }

  Bench b{{.packed = GetParam()}};
};

TEST_P(CqWriterFence, WithoutWorkItTakesFourCycles) {
  b.SetKind(kStopped, KindOf(kStopped));
  for (unsigned i = 0; i < 4; ++i) {
    Run(1);
    ExpectUp(true);
  }
  Run(1);
  ExpectUp(false);
}

TEST_P(CqWriterFence, CoversWritesFromBeforeItOnly) {
  b.done_in.rate = 0;
  for (unsigned i = 0; i < 3; ++i) b.Complete(kStopped);
  Run();
  Write();
  b.Complete(kOther);
  Run();
  ASSERT_EQ(b.done_in.tokens.size(), 4u);
  for (unsigned i = 0; i < 3; ++i) {
    ExpectUp(true);
    Answer(b.done_in);
  }
  ExpectUp(false);
  EXPECT_FALSE(b.idle.idle);
  b.done_in.rate = 16;
  b.Settle();
}

// A completion that waits for a buffer of its CQ is in progress to the end of its writes.
TEST_P(CqWriterFence, CoversTheCompletionInProgress) {
  b.done_in.rate = b.buffer_in.rate = 0;
  b.Post(kFirstCq, 1);
  b.Complete(kStopped, 0);
  Run();
  Write();
  Run();
  ASSERT_EQ(b.done_in.tokens.size(), 1u);
  ExpectUp(true);
  Answer(b.done_in);
  ExpectUp(true);
  Answer(b.buffer_in);
  ASSERT_EQ(b.done_in.tokens.size(), 1u);
  ExpectUp(true);
  Answer(b.done_in);
  ExpectUp(false);
  b.done_in.rate = b.buffer_in.rate = 16;
  b.Settle();
}

// A buffer of the old queue does not come into the next lifetime, although nothing waits for it.
TEST_P(CqWriterFence, CoversARequestForBuffersAhead) {
  b.Post(kFirstCq, 1);
  b.buffer_in.rate = 0;
  b.Complete(kStopped, 0);
  Run();
  Answer(b.buffer_in);
  ASSERT_EQ(b.buffer_in.tokens.size(), 1u) << "ahead";
  Write(kFirstCq);
  Run();
  ExpectUp(true);
  Answer(b.buffer_in);
  ExpectUp(false);
  b.buffer_in.rate = 16;
  b.Settle();
}

TEST_P(CqWriterFence, CoversReadsOfEventSuppression) {
  b.fetched_in.rate = 0;
  for (unsigned i = 0; i < 2; ++i) b.Complete(kNetQueue);
  Run();
  Write();
  b.Complete(kNetQueue);
  Run();
  for (unsigned i = 0; i < 2; ++i) {
    ExpectUp(true);
    Answer(b.fetched_in);
  }
  ExpectUp(false);
  EXPECT_FALSE(b.idle.idle);
  b.fetched_in.rate = 16;
  b.Settle();
}

TEST_P(CqWriterFence, CoversAnOpenBatch) {
  b.CompleteBatch(kNetQueue, 3, 1);
  Run();
  Write();
  Run();
  ExpectUp(true);
  b.SendHeld();
  Run(100);
  ExpectUp(false);
  b.Settle();
}

INSTANTIATE_TEST_SUITE_P(Rings, CqWriterFence, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Packed" : "Split"; });

}  // namespace
}  // namespace vireo::verif
