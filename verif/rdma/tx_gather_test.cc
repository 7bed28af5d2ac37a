// SPDX-License-Identifier: Apache-2.0
// Payload on its way to the wire: the RTL against the model in every cycle, and every byte against the memory that the
// jobs name.
#include "model/rdma/tx_gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vtx_gather_512.h"
#include "Vtx_gather_64.h"
#include "Vtx_gather_net_512.h"
#include "Vtx_gather_net_64.h"
#include "Vtx_gather_room_512.h"
#include "Vtx_gather_room_64.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"
#include "verif/rdma/grant_bench.h"
#include "verif/rdma/tx_bench.h"

namespace vireo::verif {
namespace {

using model::Channel;
using model::Cycle;
using model::TxGather;
using spec::DmaReadRequest;
using spec::QpFailure;
using spec::RxAck;
using spec::TxJob;
using spec::TxPacket;
using Random = std::mt19937_64;

template <typename Top>
constexpr size_t kBufferBytes = 8192;
template <>
constexpr size_t kBufferBytes<Vtx_gather_net_64> = 16384;
template <>
constexpr size_t kBufferBytes<Vtx_gather_net_512> = 16384;
template <>
constexpr size_t kBufferBytes<Vtx_gather_room_64> = 32768;
template <>
constexpr size_t kBufferBytes<Vtx_gather_room_512> = 32768;

// Bytes of the longest packet, if packets are begun with room.
template <typename Top>
constexpr std::optional<size_t> kReserved = std::nullopt;
template <>
constexpr std::optional<size_t> kReserved<Vtx_gather_room_64> = 4096;
template <>
constexpr std::optional<size_t> kReserved<Vtx_gather_room_512> = 4096;

// Jobs are of net frames.
template <typename Top>
constexpr bool kIsNet = kBufferBytes<Top> == 16384;

// The longest net frame, behind its header.
constexpr size_t kNetBytes = spec::NetHdr::kBytes + 9728;

template <typename Top>
typename RtlTop<Top>::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto more = BytesOf(port);
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    add(top.job_ready_o);
    add(top.response_ready_o);
    add(top.read_request_valid_o);
    add(top.read_request_o);
    add(top.packet_valid_o);
    add(top.packet_o);
    add(top.payload_valid_o);
    add(top.payload_data_o);
    add(top.failed_valid_o);
    add(top.failed_o);
    add(top.sent_valid_o);
    add(top.sent_o);
    add(top.grant_ended_o);
    add(top.packets_read_o);
    add(top.response_ends_o);
    add(top.room_o);
    add(top.idle_o);
  };
}

// The blocks that send jobs: each of their packets is begun with room, if the block gives it.
template <typename Top>
class Beginners final : public BenchStream {
 public:
  Beginners(Top& top, TxGather& block, Random& random) : top_(top), block_(block), random_(random) {
    top_.room_used_i = top_.room_unused_i = 0;
    block_.on_room = [this](Cycle cycle, size_t input) { told_.at(input) = cycle; };
  }
  // Passes the jobs of one packet after the other to `stream`, each when there is room.
  template <typename Stream>
  void Add(size_t input, const TxJob& job, Stream& stream) {
    if (!kReserved<Top>) return stream.tokens.push_back(job);
    waiting.at(input).push_back({job, [&stream](const TxJob& one) { stream.tokens.push_back(one); }});
  }
  void Begin(Cycle cycle) override {
    if (!kReserved<Top>) return;
    unsigned used = 0;
    for (size_t i = 0; i < 2; ++i) {
      const bool gives_up = i == 0 && room[0] != 0 && random_() % 16 < unused_rate;
      const bool begins = !gives_up && room.at(i) != 0 && !is_open_.at(i) && !waiting.at(i).empty() &&
                          !waiting.at(i).front().first.drop && random_() % 16 < rate;
      if (begins || gives_up) Use(cycle, i, &used);
      if (gives_up) give_up_.push_back(cycle + 1 + random_() % 20);
      if (begins || is_open_.at(i)) Pass(i);
      while (!waiting.at(i).empty() && waiting.at(i).front().first.drop && !is_open_.at(i)) Pass(i);  // of no packet
    }
    top_.room_used_i = static_cast<CData>(used);
    const auto given_up = std::ranges::find_if(give_up_, [cycle](Cycle at) { return at <= cycle; });
    top_.room_unused_i = given_up != give_up_.end();
    if (given_up == give_up_.end()) return;
    give_up_.erase(given_up);
    block_.OnRoomUnused(cycle);
    ++unused;
  }
  void End(Cycle cycle) override {
    for (size_t i = 0; i < 2; ++i) {
      const bool in_rtl = (top_.room_o >> i & 1) != 0;
      if (in_rtl != (told_.at(i) == cycle)) {
        difference = "room: cycle " + std::to_string(cycle) + ": only the " + (in_rtl ? "RTL" : "model");
      }
      if (!in_rtl) continue;
      ++room.at(i);
      last_room.at(i) = cycle;
    }
  }
  bool IsEmpty() const override { return waiting[0].empty() && waiting[1].empty() && give_up_.empty(); }

  unsigned rate = 16;
  unsigned unused_rate = 0;        // of packets that are begun and have no job
  std::array<size_t, 2> room{};    // packets that may be begun
  std::array<uint64_t, 2> used{};  // begun
  uint64_t unused = 0;
  std::array<Cycle, 2> last_room{}, last_used{};
  std::array<std::deque<std::pair<TxJob, std::function<void(const TxJob&)>>>, 2> waiting;

 private:
  void Use(Cycle cycle, size_t input, unsigned* pulses) {
    --room.at(input);
    ++used.at(input);
    last_used.at(input) = cycle;
    *pulses |= 1U << input;
    block_.OnRoomUsed(cycle, input);
  }
  // The jobs of the packet that are there.
  void Pass(size_t input) {
    auto& jobs = waiting.at(input);
    do {
      if (jobs.empty()) return;
      const auto [job, pass] = std::move(jobs.front());
      jobs.pop_front();
      is_open_.at(input) = job.more && !job.drop;
      pass(job);
    } while (is_open_.at(input));
  }

  Top& top_;
  TxGather& block_;
  Random& random_;
  std::array<bool, 2> is_open_{};  // a packet whose next job is missing
  std::array<Cycle, 2> told_{model::kUnknown, model::kUnknown};
  std::vector<Cycle> give_up_;
};

// Takes payload as the framer does: each packet's in one train, after the packet.
template <typename Top>
class Wire final : public BenchStream {
 public:
  Wire(Top& top, TxGather& block, Random& random) : top_(top), block_(block), random_(random) {}

  void Send(Bytes payload) { payloads_.push_back(std::move(payload)); }

  void Begin(Cycle cycle) override {
    if ((top_.idle_o != 0) != block_.IsIdle()) {
      difference =
          "idle: cycle " + std::to_string(cycle) + ": " + (top_.idle_o != 0 ? "only the RTL" : "only the model");
    }
    top_.payload_ready_i = at_ < now_.size();
    // The next cycle may be the first of the next train.
    if (now_.size() - at_ <= kBeatBytes && !payloads_.empty() && random_() % 16 < rate) {
      next_ = std::move(payloads_.front());
      payloads_.pop_front();
      if (block_.TakePayload(cycle + 1) != next_) difference = "the model's payload is not the memory's";
    }
  }
  void End(Cycle cycle) override {
    const std::string at = "payload: cycle " + std::to_string(cycle);
    const bool all_taken = at_ == now_.size() && next_.empty() && payloads_.empty();
    const auto shown = TokenFrom<TxPacket>(BytesOf(std::as_const(top_.packet_o)));
    const bool packet = top_.packet_valid_o != 0 && shown.payload_bytes != 0 && !shown.has_inline;
    if (all_taken && packet && top_.payload_valid_o == 0) difference = at + ": not there with its packet";
    if (all_taken && top_.payload_valid_o != 0 && !packet) difference = at + ": there without a packet";
    if (top_.payload_ready_i != 0) {
      if (top_.payload_valid_o == 0) difference = at + ": a gap";
      const auto beat = BytesOf(top_.payload_data_o);
      for (size_t i = 0; i < beat.size(); ++i, ++at_) {
        if (beat[i] != (at_ < now_.size() ? now_[at_] : 0)) difference = at + ": byte " + std::to_string(at_);
      }
      at_ = std::min(at_, now_.size());
      beats += 1;
    }
    if (!next_.empty()) {
      if (at_ != now_.size()) difference = at + ": the bench is wrong";
      now_ = std::exchange(next_, {});
      at_ = 0;
    }
  }
  bool IsEmpty() const override { return true; }

  unsigned rate = 16;
  uint64_t beats = 0;

 private:
  static constexpr size_t kBeatBytes = sizeof(Top::payload_data_o);
  Top& top_;
  TxGather& block_;
  Random& random_;
  std::deque<Bytes> payloads_;
  Bytes now_;  // being taken
  size_t at_ = 0;
  Bytes next_;  // starts in the next cycle
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::payload_data_o);
  static constexpr size_t kJobDepth = kBeatBytes < spec::kDmaFetchBytes ? 16 : 64;  // packets that wait, at most
  static constexpr bool kCarriesInline = kBeatBytes >= spec::kTxInlineBytes;        // a packet, as one beat

  explicit Bench(RtlTop<Top>& rtl) : p(rtl.ports()), bench(rtl, agenda, random) {
    block.read_request_out.Connect(read_request_sink, block);
    block.packet_out.Connect(packet_sink, block);
    block.failed_out.Connect(failed_sink, block);
    block.sent_out.Connect(sent_sink, block);
    read_request.on_token = [this](Cycle, const DmaReadRequest& request) { memory.Ask(request); };
    // Each input keeps its order; the model decides which of the two comes first.
    packet.on_token = [this](Cycle, const TxPacket& sent) {
      Input& input = inputs[sent.is_response ? 1 : 0];
      ASSERT_FALSE(input.packets.empty());
      const Packet expected = std::move(input.packets.front());
      input.packets.pop_front();
      TxPacket seen = sent;
      if (marks) seen.stale = false;
      EXPECT_EQ(seen, expected.packet);
      const bool was_reported = std::exchange(reported, false);
      EXPECT_TRUE(was_reported == sent.reports || sent.stale) << "reported before the packet, once";
      carried += sent.has_inline ? 1 : 0;
      if (!expected.payload.empty()) wire.Send(expected.payload);
    };
    this->sent.on_token = [this](Cycle, const RxAck& ack) {
      EXPECT_FALSE(reported);
      if (marks && ack.status != spec::IbWcStatus::kSuccess) return;
      if (ack.status != spec::IbWcStatus::kSuccess) {
        ASSERT_FALSE(sent_failures.empty());
        EXPECT_EQ(ack, sent_failures.front());
        sent_failures.pop_front();
        return;
      }
      reported = true;
      const auto is_next = [&ack](const Input& input) {
        return !input.packets.empty() && input.packets.front().packet.reports &&
               input.packets.front().packet.qpn == ack.qpn && input.packets.front().packet.psn == ack.psn;
      };
      EXPECT_TRUE(is_next(inputs[0]) || is_next(inputs[1]));
      EXPECT_EQ(
          ack,
          (RxAck{.qpn = ack.qpn, .psn = ack.psn, .syndrome = static_cast<uint8_t>(spec::AethSyndrome::kAckNoCredits)}));
    };
    bench.AddOther(ends);
    bench.AddOther(packet_reads);
    block.on_packet_read = [this](Cycle at) { ++reads_due[at]; };
    failed.on_token = [this](Cycle, const QpFailure& failure) {
      if (marks) return;
      const auto is_next = [&failure](const Input& input) {
        return !input.failures.empty() && input.failures.front() == failure;
      };
      Input& input = inputs[is_next(inputs[0]) ? 0 : 1];
      ASSERT_TRUE(is_next(input)) << "of a packet that did not fail, or out of turn";
      input.failures.pop_front();
    };
  }

  struct Packet {
    TxPacket packet{};
    Bytes payload{};
    bool fails = false;
  };
  // The jobs passed to one of the inputs.
  struct Input {
    std::deque<Packet> packets;  // whole, good, and not yet output
    std::deque<QpFailure> failures;
    Packet open{};  // whose jobs are being passed
  };
  struct Run {
    uint64_t address;
    size_t bytes;
  };

  static bool Fails(const TxJob& job) {
    return (job.bytes0 != 0 && IsBad(job.address0)) || (job.bytes1 != 0 && IsBad(job.address1));
  }
  TxJob RandomJob(unsigned bad = 0) {
    TxJob result{};
    TxJob::Visit(result, [&](const char*, auto& field, unsigned bits) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(random() & (~uint64_t{0} >> (64 - bits)));
    });
    result.more = false;
    result.drop = false;
    result.packet.is_response = responses && random() % 2 != 0;
    result.packet.reports = random() % 4 == 0;
    result.packet.stale = false;
    result.packet.has_inline = false;
    std::ranges::fill(result.packet.inline_data, uint8_t{0});
    if (marks) result.packet.qpn %= 4;
    return result.address0 &= ~kBadBit, result.address1 &= ~kBadBit, Sized(result, RandomSize(), RandomSize(), bad);
  }
  // A packet of these runs, one or two in each of its jobs.
  std::vector<TxJob> Jobs(const std::vector<Run>& runs) {
    std::vector<TxJob> jobs;
    TxPacket packet = RandomJob().packet;
    packet.payload_bytes = 0;
    for (const Run& run : runs) packet.payload_bytes = static_cast<uint16_t>(packet.payload_bytes + run.bytes);
    for (size_t i = 0; i < runs.size();) {
      const bool two = i + 1 < runs.size() && random() % 2 != 0;
      const Run second = two ? runs[i + 1] : Run{random(), 0};
      jobs.push_back({.packet = packet,
                      .address0 = runs[i].address,
                      .bytes0 = static_cast<uint16_t>(runs[i].bytes),
                      .address1 = second.address,
                      .bytes1 = static_cast<uint16_t>(second.bytes),
                      .more = true});
      i += two ? 2 : 1;
    }
    jobs.back().more = false;
    return jobs;
  }
  // A packet that carries its payload: its bytes pass unchanged, and nothing is read.
  TxJob Carrying(size_t bytes) {
    TxJob job = RandomJob();
    job.bytes0 = job.bytes1 = 0;
    job.packet.is_response = false;
    job.packet.payload_bytes = static_cast<uint16_t>(bytes);
    job.packet.has_inline = true;
    for (uint8_t& byte : job.packet.inline_data) byte = static_cast<uint8_t>(random());
    return job;
  }
  // Jobs before this one that have `more` are dropped with it; its other fields are ignored.
  TxJob Drop() {
    TxJob job = RandomJob();
    job.more = random() % 2 != 0;
    job.drop = true;
    return job;
  }
  // One job, or several, with many runs or few, short or long; `bad` and `drops` in 16ths.
  void AddRandom(unsigned bad, unsigned drops) {
    if (kCarriesInline && random() % 8 == 0) return Add(Carrying(1 + random() % spec::kTxInlineBytes));
    if (random() % 3 != 0) return Add(RandomJob(bad));
    struct Sizes {
      size_t run, packet;
    };
    const Sizes most = std::vector<Sizes>{{3, 100}, {2 * kBeatBytes, 1000}, {1500, 4096}}[random() % 3];
    const size_t total = 1 + random() % most.packet;
    std::vector<Run> runs;
    for (size_t done = 0; done < total; done += runs.back().bytes) {
      const size_t bytes = std::min(total - done, 1 + random() % most.run);
      const bool is_bad = random() % (16 * total / most.run + 16) < bad;
      runs.push_back({(random() & ~kBadBit) | (is_bad ? kBadBit : 0), bytes});
    }
    std::vector<TxJob> jobs = Jobs(runs);
    if (random() % 16 < drops) {
      TxJob drop = Drop();
      drop.packet.is_response = jobs.front().packet.is_response;
      jobs.resize(random() % jobs.size());
      jobs.push_back(drop);
    }
    for (const TxJob& one : jobs) Add(one);
  }
  // A net frame behind its header: `bytes` in runs of at most `most`, as eth/net_tx requests them.
  void AddNet(size_t bytes, size_t most, unsigned bad = 0) {
    std::vector<Run> runs;
    for (size_t done = 0; done < bytes; done += runs.back().bytes) {
      const size_t size = std::min(bytes - done, 1 + random() % most);
      runs.push_back({(random() & ~kBadBit) | (random() % (16 * (bytes / most + 1)) < bad ? kBadBit : 0), size});
    }
    for (TxJob job : Jobs(runs)) {
      job.packet = {.payload_bytes = static_cast<uint16_t>(bytes), .reports = true};
      Add(job);
    }
  }
  static TxJob Job(uint64_t address0, size_t bytes0, uint64_t address1, size_t bytes1) {
    TxJob job{.address0 = address0,
              .bytes0 = static_cast<uint16_t>(bytes0),
              .address1 = address1,
              .bytes1 = static_cast<uint16_t>(bytes1)};
    job.packet.payload_bytes = static_cast<uint16_t>(bytes0 + bytes1);
    return job;
  }
  // The packet that replaces an unreadable response. [IBTA vol. 1, 9.9.5.2]
  static TxPacket NakOf(const TxPacket& response) {
    TxPacket nak{
        .qpn = response.qpn, .opcode = spec::BthOpcode::kRcAcknowledge, .psn = response.psn, .is_response = true};
    nak.extension[0] = 0x63;
    std::copy_n(response.extension + 1, 3, nak.extension + 1);
    return nak;
  }
  // Responses go to the other input.
  void Add(TxJob added) {
    if (kIsNet<Top>) {  // as eth/net_tx fills it
      added.packet = {.payload_bytes = added.packet.payload_bytes, .reports = added.packet.reports};
      added.grant = {};
    }
    Input& input = inputs[added.packet.is_response ? 1 : 0];
    beginners.Add(added.packet.is_response ? 1 : 0, added, added.packet.is_response ? response : job);
    if (!added.packet.is_response && (added.drop ? !input.open.payload.empty() : !added.more)) ++requests;
    if (added.drop) {
      input.open = {};
      return;
    }
    AppendMemory(added.address0, added.bytes0, input.open.payload);
    AppendMemory(added.address1, added.bytes0 == 0 ? 0 : added.bytes1, input.open.payload);
    input.open.fails = input.open.fails || Fails(added);
    if (added.more) return;
    input.open.packet = added.packet;
    if (input.open.fails) {
      ++bad;
      if (added.packet.is_response) {
        ++good;
        input.packets.push_back({.packet = NakOf(added.packet)});
      }
      // A failure of UC and UD stops the send half only, and the completer reports it. [IBTA vol. 1, 10.3.1.6]
      const unsigned service = static_cast<unsigned>(added.packet.opcode) >> 5;
      if (!added.packet.is_response && (service == 1 || service == 3)) {
        ++bad_sent;
        sent_failures.push_back({.qpn = added.packet.qpn,
                                 .psn = added.packet.psn,
                                 .syndrome = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError),
                                 .status = spec::IbWcStatus::kLocQpOpErr});
      } else {
        input.failures.push_back({.qpn = added.packet.qpn,
                                  .event_type = spec::RdmaEventType::kQpFatal,
                                  .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError)});
      }
    } else {
      ++good;
      if (added.packet.reports) ++reports;
      // Its AETH is not sent.
      if (added.packet.is_response && added.packet.opcode == spec::BthOpcode::kRcRdmaReadResponseMiddle) {
        std::ranges::fill(input.open.packet.extension, uint8_t{0});
      }
      input.packets.push_back(std::move(input.open));
    }
    input.open = {};
  }
  // All jobs have been processed, and nothing remains.
  // In 16ths, by name; of the responses it is set apart, as not every test has them.
  template <typename Rates>
  void SetRates(const Rates& rates) {
    job.rate = rates.job;
    sent.rate = rates.sent;
    read_request.rate = rates.request;
    memory.rate = rates.memory;
    packet.rate = rates.packet;
    wire.rate = rates.wire;
    failed.rate = rates.failed;
  }
  void Finish() {
    ASSERT_EQ(bench.RunOut(0), "");
    for (unsigned i = 0; i < 200 && !block.IsIdle(); ++i) ASSERT_EQ(bench.Run(500), "");
    ASSERT_EQ(bench.Run(50), "");
    EXPECT_TRUE(block.IsIdle());
    if (kReserved<Top>) {
      EXPECT_EQ(beginners.room[0], model::TxRoom::kAhead);
      EXPECT_EQ(beginners.room[1], model::TxRoom::kAhead);
    }
    EXPECT_EQ(packet.count, good);
    EXPECT_EQ(reads, requests);
    EXPECT_EQ(block.responses_ended(), response_ends);
    if (marks) return;
    EXPECT_EQ(failed.count, bad - bad_sent);
    EXPECT_EQ(sent.count, reports + bad_sent);
  }

  Random random = sim::MakeRandom("tx_gather");
  Top& p;
  model::Agenda agenda;
  TxGather block{agenda, kBeatBytes, kBufferBytes<Top>, kReserved<Top>};
  Channel<DmaReadRequest> read_request_sink = Channel<DmaReadRequest>::Sink();
  Channel<TxPacket> packet_sink = Channel<TxPacket>::Sink();
  Channel<QpFailure> failed_sink = Channel<QpFailure>::Sink();
  Channel<RxAck> sent_sink = Channel<RxAck>::Sink();
  Wire<Top> wire{p, block, random};
  Memory<Top> memory{p, block, random};
  BlockBench<Top> bench;
  GrantEnds<CData, TxGather> ends{p.grant_ended_o, block};
  std::map<Cycle, uint64_t> reads_due;  // reports of the model
  uint64_t reads = 0;                   // packets of `job` that were read or dropped
  uint64_t requests = 0;                // of these, those that were added
  Probe packet_reads{{}, [this](Cycle cycle) {
                       const auto due = reads_due.find(cycle);
                       const uint64_t model = due == reads_due.end() ? 0 : due->second;
                       if (due != reads_due.end()) reads_due.erase(due);
                       reads += model;
                       return Same("packets_read_o", p.packets_read_o, model);
                     }};
  uint64_t response_ends = 0;
  Probe whole_responses{{}, [this](Cycle) {
                          response_ends += p.response_ends_o;
                          return std::string();
                        }};
  Beginners<Top> beginners{p, block, random};
  Stops<Top, TxGather> stops{p, block, random};
  // Before all streams: compares the state before the cycle.
  const bool others_ = (bench.AddOther(wire), bench.AddOther(memory), bench.AddOther(beginners), bench.AddOther(stops),
                        bench.AddOther(whole_responses), true);
  decltype(bench.In("job", block.job_in, p.job_valid_i, p.job_ready_o, p.job_i)) job =
      bench.In("job", block.job_in, p.job_valid_i, p.job_ready_o, p.job_i);
  decltype(bench.In("response", block.response_in, p.response_valid_i, p.response_ready_o, p.response_i)) response =
      bench.In("response", block.response_in, p.response_valid_i, p.response_ready_o, p.response_i);
  decltype(bench.Out("read_request", read_request_sink, p.read_request_valid_o, p.read_request_ready_i,
                     p.read_request_o)) read_request =
      bench.Out("read_request", read_request_sink, p.read_request_valid_o, p.read_request_ready_i, p.read_request_o);
  decltype(bench.Out("packet", packet_sink, p.packet_valid_o, p.packet_ready_i, p.packet_o)) packet =
      bench.Out("packet", packet_sink, p.packet_valid_o, p.packet_ready_i, p.packet_o);
  decltype(bench.Out("failed", failed_sink, p.failed_valid_o, p.failed_ready_i, p.failed_o)) failed =
      bench.Out("failed", failed_sink, p.failed_valid_o, p.failed_ready_i, p.failed_o);
  decltype(bench.Out("sent", sent_sink, p.sent_valid_o, p.sent_ready_i, p.sent_o)) sent =
      bench.Out("sent", sent_sink, p.sent_valid_o, p.sent_ready_i, p.sent_o);
  std::array<Input, 2> inputs;
  bool responses = false;  // random jobs go to both inputs
  bool reported = false;   // the next packet, by `sent`
  bool marks = false;      // queue pairs are stopped: packets of 0 to 3 may be stale, and are not reported then
  uint64_t good = 0;
  uint64_t carried = 0;  // packets with their payload
  uint64_t bad = 0;
  uint64_t bad_sent = 0;  // of these, reported by `sent`
  uint64_t reports = 0;
  std::deque<RxAck> sent_failures;

 private:
  size_t RandomSize() {
    switch (random() % 4) {
      case 0: return 0;
      case 1: return random() % 2049;
      case 2: return random() % 4 * kBeatBytes;
      default: return random() % 200;
    }
  }
  TxJob Sized(TxJob job, size_t bytes0, size_t bytes1, unsigned bad) {
    if (bytes0 == 0) bytes1 = 0;
    job.bytes0 = static_cast<uint16_t>(bytes0);
    job.bytes1 = static_cast<uint16_t>(bytes1);
    job.packet.payload_bytes = static_cast<uint16_t>(bytes0 + bytes1);
    if (random() % 16 < bad) job.address0 |= kBadBit;
    if (random() % 16 < bad) job.address1 |= kBadBit;
    return job;
  }
};

template <typename Top>
class TxGatherTest : public testing::Test {
 protected:
  RtlTop<Top> rtl{Outputs<Top>()};
  Bench<Top> b{rtl};
};
struct WidthNames {
  template <typename Top>
  static std::string GetName(int) {
    return "Bits" + std::to_string(8 * sizeof(Top::payload_data_o));
  }
};
using Tops = testing::Types<Vtx_gather_64, Vtx_gather_512>;
TYPED_TEST_SUITE(TxGatherTest, Tops, WidthNames);

TYPED_TEST(TxGatherTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned job, response, request, memory, packet, wire, failed, sent, bad, drops;
  };
  for (const Rates rates : {Rates{16, 16, 16, 16, 16, 16, 16, 16, 0, 0}, Rates{16, 16, 16, 16, 16, 16, 16, 16, 4, 4},
                            Rates{4, 16, 16, 16, 16, 16, 16, 16, 2, 2}, Rates{16, 4, 16, 16, 16, 16, 16, 16, 2, 2},
                            Rates{16, 16, 3, 16, 16, 16, 16, 16, 2, 2}, Rates{16, 16, 16, 1, 16, 16, 16, 16, 2, 2},
                            Rates{16, 16, 16, 16, 2, 16, 16, 16, 1, 2}, Rates{16, 16, 16, 16, 16, 1, 16, 16, 2, 2},
                            Rates{16, 16, 16, 16, 16, 16, 1, 16, 6, 2}, Rates{16, 16, 16, 16, 16, 16, 16, 1, 2, 2},
                            Rates{2, 2, 16, 16, 16, 16, 16, 16, 2, 2}, Rates{8, 8, 8, 8, 8, 8, 8, 8, 2, 8}}) {
    Bench<TypeParam> b(this->rtl);
    b.responses = true;
    b.SetRates(rates);
    b.response.rate = rates.response;
    for (unsigned i = 0; i < 400; ++i) b.AddRandom(rates.bad, rates.drops);
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
    if (b.kCarriesInline) {
      EXPECT_GT(b.carried, 20u);
    }
    this->rtl.Reset();
  }
}

// It takes no place in the buffer, and is as fast as one without payload, also behind one that is being read.
TYPED_TEST(TxGatherTest, PacketThatCarriesItsPayloadReadsNothing) {
  if (!Bench<TypeParam>::kCarriesInline) GTEST_SKIP() << "a packet carries one beat at most";
  auto& b = this->b;
  const uint64_t reads = b.read_request.count;
  for (size_t bytes = 1; bytes <= spec::kTxInlineBytes; ++bytes) b.Add(b.Carrying(bytes));
  b.Finish();
  EXPECT_EQ(b.read_request.count, reads);
  EXPECT_EQ(b.carried, spec::kTxInlineBytes);
  for (unsigned i = 0; i < 50; ++i) {
    b.Add(b.Job(100 * i, 1 + i, 0, 0));
    b.Add(b.Carrying(1 + i % spec::kTxInlineBytes));
  }
  b.Finish();
  EXPECT_EQ(b.read_request.count, reads + 50);
}

// Every end of the first run, every length of the second.
TYPED_TEST(TxGatherTest, JoinsTwoRunsWithoutABubble) {
  auto& b = this->b;
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  for (size_t bytes0 = 1; bytes0 <= kBeat; bytes0 += kBeat > 8 ? 1 + bytes0 % 3 : 1) {
    for (size_t bytes1 = 0; bytes1 <= 2 * kBeat + 1; bytes1 += kBeat > 8 ? 1 + bytes1 % 4 : 1) {
      b.Add(b.Job(1000 * bytes0, bytes0 + (bytes1 % 3) * kBeat, 77 * bytes1, bytes1));
    }
  }
  b.Finish();
}

// Every length of the second run behind every end of the first, and a third one behind that.
TYPED_TEST(TxGatherTest, JoinsManyRunsWithoutABubble) {
  auto& b = this->b;
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  constexpr size_t kStep = kBeat > 8 ? 9 : 1;
  for (size_t bytes0 = 1; bytes0 <= kBeat; bytes0 += kStep) {
    for (size_t bytes1 = 1; bytes1 <= 2 * kBeat + 1; bytes1 += kStep) {
      for (const size_t bytes2 : {size_t{1}, kBeat - bytes0 + 1, kBeat + 2}) {
        for (const TxJob& job : b.Jobs({{1000 * bytes0, bytes0}, {77 * bytes1, bytes1}, {bytes2 << 20, bytes2}})) {
          b.Add(job);
        }
      }
    }
  }
  b.Finish();
}

TYPED_TEST(TxGatherTest, JoinsAPacketOfSingleBytes) {
  auto& b = this->b;
  for (const size_t size : {size_t{1}, size_t{2}, size_t{65}, size_t{4096}}) {
    std::vector<typename Bench<TypeParam>::Run> runs;
    for (size_t i = 0; i < size; ++i) runs.push_back({b.random() & ~kBadBit, 1});
    for (const TxJob& job : b.Jobs(runs)) b.Add(job);
  }
  b.Finish();
  EXPECT_EQ(b.read_request.count, 1u + 2u + 65u + 4096u);
}

TYPED_TEST(TxGatherTest, TakesTheLargestPacketsAndKeepsOrder) {
  auto& b = this->b;
  for (size_t i = 0; i < 40; ++i) {
    b.Add(b.Job(i << 20, 4096 - 100 * (i % 7), i << 30, 100 * (i % 7)));
    if (i % 3 == 0) b.Add(b.Job(0, 0, 0, 0));
  }
  b.Finish();
}

// Nothing is requested without room, and the buffer holds the stated amount.
TYPED_TEST(TxGatherTest, RequestsOnlyWhatItHasRoomFor) {
  auto& b = this->b;
  b.wire.rate = 0;
  for (size_t i = 0; i < 4; ++i) b.Add(b.Job(i << 20, 4000, i << 30, 96));
  ASSERT_EQ(b.bench.Run(5000), "");
  EXPECT_EQ(b.read_request.count, 4u) << "two packets of 4,096 bytes fill it";
  EXPECT_EQ(b.packet.count, 2u);
  b.wire.rate = 16;
  b.Finish();
}

TYPED_TEST(TxGatherTest, ReservesRoomForThePacketAtItsFirstJob) {
  auto& b = this->b;
  b.wire.rate = 0;
  b.Add(b.Job(0x1000, 4000, 0x8000, 96));
  b.Add(b.Job(0x2000, Bench<TypeParam>::kBeatBytes + 1, 0, 0));
  const std::vector<TxJob> jobs = b.Jobs({{0x3000, 1}, {0x4000, 2000}, {0x5000, 2095}});
  for (const TxJob& job : jobs) b.Add(job);
  ASSERT_EQ(b.bench.Run(3000), "");
  EXPECT_EQ(b.read_request.count, 3u) << "a beat of 8,192 bytes is at the output, so 4,096 less one are free";
  b.wire.rate = 16;
  b.Finish();
}

TYPED_TEST(TxGatherTest, DroppedPacketLeavesNothing) {
  auto& b = this->b;
  b.wire.rate = 0;
  for (unsigned round = 0; round < 10; ++round) {
    // All but its last byte, which would have filled half of the buffer.
    auto jobs = b.Jobs({{0x1000, 1 + 100 * round}, {0x2000, 2000}, {0x3000, 2094 - 100 * round}, {0x4000, 1}});
    jobs.resize(1 + round % (jobs.size() - 1));
    for (const TxJob& job : jobs) b.Add(job);
    b.Add(b.Drop());
    if (round % 3 == 0) b.Add(b.Drop());  // of no packet
  }
  ASSERT_EQ(b.bench.Run(10000 + 10 * 4096 / Bench<TypeParam>::kBeatBytes), "");
  EXPECT_TRUE(b.job.IsEmpty());
  EXPECT_TRUE(b.block.IsIdle());
  const uint64_t asked = b.read_request.count;
  for (size_t i = 0; i < 4; ++i) b.Add(b.Job(i << 20, 4000, i << 30, 96));
  ASSERT_EQ(b.bench.Run(5000), "");
  EXPECT_EQ(b.read_request.count - asked, 4u) << "two packets of 4,096 bytes fill it";
  b.wire.rate = 16;
  b.Finish();
  EXPECT_EQ(b.packet.count, 4u);
  EXPECT_EQ(b.failed.count, 0u);
}

TYPED_TEST(TxGatherTest, DroppedPacketDoesNotFail) {
  auto& b = this->b;
  auto jobs = b.Jobs({{kBadBit, 100}, {0x2000, 200}, {kBadBit, 300}});
  jobs.back().more = true;
  for (const TxJob& job : jobs) b.Add(job);
  b.Add(b.Drop());
  b.Add(b.Job(0x1000, 100, 0x2000, 1));
  b.Finish();
  EXPECT_EQ(b.packet.count, 1u);
  EXPECT_EQ(b.failed.count, 0u);
}

TYPED_TEST(TxGatherTest, PacketFailsOnceForAnyNumberOfFailedRuns) {
  auto& b = this->b;
  unsigned reports = 0;
  for (unsigned which = 0; which < 16; ++which) {
    std::vector<typename Bench<TypeParam>::Run> runs;
    for (unsigned i = 0; i < 4; ++i) runs.push_back({(which >> i & 1) != 0 ? kBadBit | i : i, 3 + 70 * i});
    const std::vector<TxJob> jobs = b.Jobs(runs);
    if (which == 0 && jobs.front().packet.reports) reports += 1;
    for (const TxJob& job : jobs) b.Add(job);
  }
  b.Finish();
  EXPECT_EQ(b.packet.count, 1u);
  EXPECT_EQ(b.failed.count + b.sent.count, 15u + reports) << "of a random service";
}

// Of jobs: one where a packet has several beats.
template <typename Top>
constexpr size_t kSliceEntries = Bench<Top>::kBeatBytes < spec::kDmaFetchBytes ? 1 : 2;

TYPED_TEST(TxGatherTest, HoldsTheStatedNumberOfPackets) {
  auto& b = this->b;
  b.packet.rate = 0;
  for (size_t i = 0; i < Bench<TypeParam>::kJobDepth + 10; ++i) b.Add(b.Job(i << 20, 1, 0, 0));
  ASSERT_EQ(b.bench.Run(2000), "");
  // One more is at the output, and what the slice holds.
  EXPECT_EQ(b.job.accepted, Bench<TypeParam>::kJobDepth + 1 + kSliceEntries<TypeParam>);
  b.packet.rate = 16;
  b.Finish();
}

TYPED_TEST(TxGatherTest, UnreadablePacketIsDiscarded) {
  auto& b = this->b;
  constexpr uint64_t kBad = kBadBit | 0x1000;
  b.wire.rate = 1;
  unsigned qpn = 1;
  const auto add = [&](TxJob job) {
    job.packet.qpn = qpn++;
    b.Add(job);
  };
  for (unsigned i = 0; i < 20; ++i) {
    add(b.Job(0x1000, 300, 0, 0));
    add(b.Job(kBad, 300, 0, 0));
    add(b.Job(0x2000, 300, kBad, 17));
    add(b.Job(kBad, 5, 0x3000, 777));
    add(b.Job(0, 0, kBad, 0));
    add(b.Job(0x4000, 3, 0x5000, 4));
  }
  b.Finish();
  EXPECT_EQ(b.failed.count, 60u);
  EXPECT_EQ(b.failed_sink.sent().front().token.qpn, 2u);
}

TYPED_TEST(TxGatherTest, JobsOfAPacketDoNotInterleaveWithAnothers) {
  auto& b = this->b;
  // Its second job comes late; the responses, which are waiting, wait for it.
  std::vector<TxJob> jobs = b.Jobs({{0x1000, 10}, {0x2000, 20}, {0x3000, 30}, {0x4000, 40}});
  ASSERT_GT(jobs.size(), 1u);
  b.Add(jobs.front());
  ASSERT_EQ(b.bench.Run(5), "");
  for (unsigned i = 0; i < 3; ++i) {
    TxJob response = b.Job(0x10000 * i, 5, 0, 0);
    response.packet.is_response = true;
    b.Add(response);
  }
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(b.packet.count, 0u);
  for (size_t i = 1; i < jobs.size(); ++i) b.Add(jobs[i]);
  b.Finish();
  ASSERT_EQ(b.packet.count, 4u);
  EXPECT_FALSE(b.packet_sink.sent()[0].token.is_response);
  // A late drop lets no other packet pass either.
  b.Add(jobs.front());
  ASSERT_EQ(b.bench.Run(5), "");
  TxJob response = b.Job(0x10000, 5, 0, 0);
  response.packet.is_response = true;
  b.Add(response);
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(b.packet.count, 4u);
  TxJob drop = b.Drop();
  drop.packet.is_response = false;
  b.Add(drop);
  b.Finish();
  EXPECT_EQ(b.packet.count, 5u);
}

TYPED_TEST(TxGatherTest, JobsAndResponsesAlternatePacketByPacket) {
  auto& b = this->b;
  for (unsigned i = 0; i < 12; ++i) {
    for (TxJob job : b.Jobs({{0x1000, 30}, {0x2000, 70}, {0x3000, 1}, {0x4000, 5}})) {
      job.packet.psn = i;
      b.Add(job);
    }
    TxJob response = b.Job(0x10000, 5, 0x20000, 6);
    response.packet.is_response = true;
    response.packet.psn = i;
    b.Add(response);
  }
  b.Finish();
  ASSERT_EQ(b.packet.count, 24u);
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(b.packet_sink.sent()[i].token.is_response, i % 2 != 0);
    EXPECT_EQ(b.packet_sink.sent()[i].token.psn, i / 2);
  }
}

TYPED_TEST(TxGatherTest, ReportPrecedesItsPacketAndIsOmittedOnFailure) {
  auto& b = this->b;
  b.sent.rate = 0;
  const auto add = [&](uint64_t address, size_t bytes) {
    TxJob job = b.Job(address, bytes, 0, 0);
    job.packet.qpn = 0x1234;
    job.packet.psn = static_cast<uint32_t>(bytes);
    job.packet.reports = true;
    b.Add(job);
  };
  add(kBadBit, 100);
  add(0x1000, 200);
  add(0, 0);
  ASSERT_EQ(b.bench.Run(500), "");
  EXPECT_EQ(b.failed.count, 1u);
  EXPECT_EQ(b.packet.count, 0u) << "waits for the receivers of the report";
  b.sent.rate = 16;
  b.Finish();
  ASSERT_EQ(b.sent.count, 2u);
  EXPECT_EQ(b.sent_sink.sent()[0].token, (RxAck{.qpn = 0x1234, .psn = 200, .syndrome = 0x1f}));
  EXPECT_EQ(b.sent_sink.sent()[1].token, (RxAck{.qpn = 0x1234, .psn = 0, .syndrome = 0x1f}));
}

// Their failure must precede the report of the message's last packet: the completer ends the message by the first one.
TYPED_TEST(TxGatherTest, UnreadablePacketWithoutAcknowledgeIsReportedToTheCompleter) {
  auto& b = this->b;
  const auto add = [&](spec::BthOpcode opcode, uint32_t psn, uint64_t address, bool reports) {
    TxJob job = b.Job(address, 100, 0, 0);
    job.packet.qpn = 0x1234;
    job.packet.opcode = opcode;
    job.packet.psn = psn;
    job.packet.reports = reports;
    b.Add(job);
  };
  constexpr RxAck kFailure{.qpn = 0x1234,
                           .psn = 8,
                           .syndrome = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError),
                           .status = spec::IbWcStatus::kLocQpOpErr};
  b.sent.rate = 0;
  add(spec::BthOpcode::kUcSendFirst, 7, 0x1000, false);
  add(spec::BthOpcode::kUcSendMiddle, 8, kBadBit, false);
  add(spec::BthOpcode::kUcSendLast, 9, 0x1000, true);
  ASSERT_EQ(b.bench.Run(500), "");
  EXPECT_EQ(b.packet.count, 1u) << "waits until the completer has taken the failure";
  b.sent.rate = 16;
  b.Finish();
  add(spec::BthOpcode::kUcSendMiddle, 8, kBadBit, false);
  b.Finish();
  ASSERT_EQ(b.sent.count, 3u);
  EXPECT_EQ(b.sent_sink.sent()[0].token, kFailure);
  EXPECT_EQ(b.sent_sink.sent()[1].token, (RxAck{.qpn = 0x1234, .psn = 9, .syndrome = 0x1f}));
  EXPECT_EQ(b.sent_sink.sent()[2].token, kFailure);
  EXPECT_EQ(b.sent_sink.sent()[2].cycle, b.memory.last_beat + TxGather::kPacketLatency - 1);
  EXPECT_EQ(b.packet.count, 2u);
  EXPECT_EQ(b.failed.count, 0u);
  for (const auto opcode :
       {spec::BthOpcode::kUdSendOnly, spec::BthOpcode::kUcRdmaWriteOnly, spec::BthOpcode::kRcSendOnly}) {
    add(opcode, 8, kBadBit, opcode != spec::BthOpcode::kRcSendOnly);
  }
  b.Finish();
  EXPECT_EQ(b.sent.count, 5u);
  EXPECT_EQ(b.failed.count, 1u) << "RC";
}

TYPED_TEST(TxGatherTest, NakReplacesAnUnreadableResponse) {
  auto& b = this->b;
  b.wire.rate = 1;
  for (unsigned i = 0; i < 40; ++i) {
    TxJob job = b.Job(i % 3 == 0 ? kBadBit : 0, 20, i % 4 == 0 ? 0x1000 : kBadBit, 1 + i);
    job.packet.qpn = i;
    job.packet.psn = 0xff'fff0 + i;
    job.packet.opcode =
        i % 8 < 4 ? spec::BthOpcode::kRcRdmaReadResponseMiddle : spec::BthOpcode::kRcRdmaReadResponseLast;
    for (auto& byte : job.packet.extension) byte = static_cast<uint8_t>(i);
    job.packet.is_response = i % 2 != 0;
    b.Add(job);
    if (i % 5 == 0) b.Add(b.Job(0, 0, 0, 0));
  }
  b.Finish();
  EXPECT_EQ(b.failed.count, b.bad - b.bad_sent);
  const auto& packets = b.packet_sink.sent();
  const auto naks = std::count_if(packets.begin(), packets.end(), [](const auto& one) {
    return one.token.opcode == spec::BthOpcode::kRcAcknowledge && one.token.extension[0] == 0x63;
  });
  EXPECT_EQ(naks, 20);
}

TYPED_TEST(TxGatherTest, ReportingPacketMeetsDocumentedLatencies) {
  auto& b = this->b;
  TxJob job = b.Job(0, 0, 0, 0);
  job.packet.reports = true;
  for (unsigned i = 0; i < 3; ++i) b.Add(job);
  ASSERT_EQ(b.bench.Run(TxGather::kEmptyLatency + TxGather::kReports), "");
  EXPECT_EQ(b.packet.count, 0u);
  EXPECT_EQ(b.sent.count, 1u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.packet.count, 1u);
  b.Finish();
  for (unsigned i = 0; i < 3; ++i) {
    const Cycle packet = TxGather::kEmptyLatency + TxGather::kReports + i * (TxGather::kInterval + TxGather::kReports);
    EXPECT_EQ(b.packet_sink.sent()[i].cycle, packet);
    EXPECT_EQ(b.sent_sink.sent()[i].cycle, packet - TxGather::kSentAhead);
  }
  const Cycle start = b.bench.cycle();
  job = b.Job(100, 30, 200, 40);
  job.packet.reports = job.packet.is_response = true;
  b.Add(job);
  b.Finish();
  EXPECT_EQ(b.read_request_sink.sent()[0].cycle, start + TxGather::kRequestLatency) << "of both inputs alike";
  EXPECT_EQ(b.packet_sink.sent()[3].cycle, b.memory.last_beat + TxGather::kPacketLatency + TxGather::kReports);
}

TYPED_TEST(TxGatherTest, MeetsDocumentedLatencies) {
  auto& b = this->b;
  // Not one cycle earlier, and in it: sinks are open, so that everything leaves in the first cycle in which it is
  // visible.
  b.Add(b.Job(100, 30, 200, 40));
  ASSERT_EQ(b.bench.Run(TxGather::kRequestLatency), "");
  EXPECT_EQ(b.read_request.count, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.read_request.count, 1u);
  b.Finish();
  EXPECT_EQ(b.read_request_sink.sent()[1].cycle, TxGather::kRequestLatency + 1);
  ASSERT_EQ(b.packet_sink.sent().size(), 1u);
  EXPECT_EQ(b.packet_sink.sent()[0].cycle, b.memory.last_beat + TxGather::kPacketLatency);

  const Cycle start = b.bench.cycle();
  for (unsigned i = 0; i < 3; ++i) b.Add(b.Job(0, 0, 0, 0));
  b.Finish();
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(b.packet_sink.sent()[1 + i].cycle, start + TxGather::kEmptyLatency + i * TxGather::kInterval);
  }
}

TYPED_TEST(TxGatherTest, SeveralJobsMeetDocumentedLatencies) {
  auto& b = this->b;
  // Their last runs arrive as soon as they are requested.
  TxJob job = b.Job(100, 30, 200, 40);
  job.packet.payload_bytes = 3 * 70;
  job.more = true;
  b.Add(job);
  b.Add(job);
  job.more = false;
  b.Add(job);
  b.Finish();
  const auto& asked = b.read_request_sink.sent();
  ASSERT_EQ(asked.size(), 6u);
  EXPECT_EQ(asked[0].cycle, TxGather::kRequestLatency);
  for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(asked[i].cycle, asked[0].cycle + 3 * (i / 2) + i % 2);
  ASSERT_EQ(b.packet_sink.sent().size(), 1u);
  EXPECT_EQ(b.packet_sink.sent()[0].cycle, b.memory.last_beat + TxGather::kPacketLatency);
}

TYPED_TEST(TxGatherTest, DropWaitsForTheRequestedRuns) {
  auto& b = this->b;
  b.memory.rate = 0;
  TxJob job = b.Job(100, 30, 200, 40);
  job.more = true;
  b.Add(job);
  b.Add(b.Drop());
  b.Add(b.Job(300, 5, 0, 0));
  ASSERT_EQ(b.bench.Run(300), "");
  EXPECT_EQ(b.read_request.count, 2u);
  b.memory.rate = 16;
  while (b.memory.answered < 2) ASSERT_EQ(b.bench.Run(1), "");
  const Cycle last_beat = b.memory.last_beat;
  b.Finish();
  // The drop, the next job, which a slice of one entry shows a cycle later, its request.
  EXPECT_EQ(b.read_request_sink.sent()[2].cycle,
            last_beat + TxGather::kDropLatency + 2 + (2 - kSliceEntries<TypeParam>));
  EXPECT_EQ(b.packet.count, 1u);
}

TYPED_TEST(TxGatherTest, RestartsAfterReset) {
  for (unsigned round = 0; round < 6; ++round) {
    Bench<TypeParam> b(this->rtl);
    b.responses = true;
    for (unsigned i = 0; i < 200; ++i) b.AddRandom(1, 4);
    ASSERT_EQ(b.bench.Run(300 + 17 * round), "");
    b.p.job_valid_i = 0;
    b.p.response_valid_i = 0;
    b.p.train_valid_i = 0;
    this->rtl.Reset();
    ASSERT_EQ(b.p.idle_o, 1);
  }
}

// --- Packets that are begun with room.
template <typename Top>
class TxGatherRoomTest : public TxGatherTest<Top> {};
using RoomTops = testing::Types<Vtx_gather_room_64, Vtx_gather_room_512>;
TYPED_TEST_SUITE(TxGatherRoomTest, RoomTops, WidthNames);

TYPED_TEST(TxGatherRoomTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned begin, unused, job, response, request, memory, packet, wire, failed, sent, bad, drops;
  };
  for (const Rates rates :
       {Rates{16, 0, 16, 16, 16, 16, 16, 16, 16, 16, 0, 0}, Rates{16, 2, 16, 16, 16, 16, 16, 16, 16, 16, 4, 4},
        Rates{4, 2, 16, 16, 16, 16, 16, 16, 16, 16, 2, 2}, Rates{16, 2, 4, 16, 16, 16, 16, 16, 16, 16, 2, 2},
        Rates{16, 8, 16, 4, 16, 16, 16, 16, 16, 16, 2, 2}, Rates{16, 2, 16, 16, 3, 16, 16, 16, 16, 16, 2, 2},
        Rates{16, 2, 16, 16, 16, 1, 16, 16, 16, 16, 2, 2}, Rates{16, 2, 16, 16, 16, 16, 2, 16, 16, 16, 1, 2},
        Rates{16, 2, 16, 16, 16, 16, 16, 1, 16, 16, 2, 2}, Rates{16, 2, 16, 16, 16, 16, 16, 16, 1, 16, 6, 2},
        Rates{16, 2, 16, 16, 16, 16, 16, 16, 16, 1, 2, 2}, Rates{8, 4, 8, 8, 8, 8, 8, 8, 8, 8, 2, 8}}) {
    Bench<TypeParam> b(this->rtl);
    b.responses = true;
    b.beginners.rate = rates.begin;
    b.beginners.unused_rate = rates.unused;
    b.SetRates(rates);
    b.response.rate = rates.response;
    for (unsigned i = 0; i < 400; ++i) b.AddRandom(rates.bad, rates.drops);
    for (unsigned i = 0; i < 100'000 && !b.beginners.waiting[0].empty(); ++i) ASSERT_EQ(b.bench.Run(1), "");
    b.beginners.unused_rate = 0;
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(b.beginners.unused > 0, rates.unused > 0);
    this->rtl.Reset();
  }
}

// The wire takes nothing: what has room is read, and nothing else is begun.
TYPED_TEST(TxGatherRoomTest, StopsMatchModelAtEveryRate) {
  struct Rates {
    unsigned job, request, memory, packet, wire, failed, sent, bad, stops;
  };
  for (const Rates rates : {Rates{16, 16, 16, 16, 16, 16, 16, 1, 8}, Rates{16, 16, 16, 2, 16, 16, 16, 4, 32},
                            Rates{16, 16, 16, 16, 1, 16, 2, 2, 16}, Rates{8, 8, 8, 8, 8, 1, 1, 6, 64}}) {
    Bench<TypeParam> b(this->rtl);
    b.responses = b.marks = true;
    b.SetRates(rates);
    b.stops.rate = rates.stops;
    for (unsigned i = 0; i < 400; ++i) b.AddRandom(rates.bad, 2);
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(std::ranges::any_of(b.packet_sink.sent(), [](const auto& sent) { return sent.token.stale; }));
    this->rtl.Reset();
  }
}

// Packets of a QP that wait for the wire when it is stopped are stale, of one that is flushed the requests: nobody is
// told that they are sent, or that they failed. Their payload was read long before, and that was reported.
TYPED_TEST(TxGatherRoomTest, StopMarksPacketsThatWaitForTheWire) {
  constexpr uint32_t kStopped = 1;
  constexpr uint32_t kJobs = Bench<TypeParam>::kJobDepth * 3 / 4;  // all have a place
  for (const bool all : {false, true}) {
    Bench<TypeParam> b(this->rtl);
    b.marks = true;
    b.packet.rate = b.wire.rate = 0;
    for (uint32_t i = 0; i < kJobs; ++i) {
      TxJob job = b.Job((b.random() & ~kBadBit) | (i % 5 == 4 ? kBadBit : 0), 1 + b.random() % 200, 0, 0);
      job.packet.qpn = i % 3;
      job.packet.psn = i;
      job.packet.is_response = i % 2 != 0;
      job.packet.opcode = i % 4 == 0 ? spec::BthOpcode::kUcSendOnly : spec::BthOpcode::kRcSendOnly;
      job.packet.reports = i % 4 == 0;
      b.Add(job);
    }
    ASSERT_EQ(b.bench.Run(5'000), "");
    EXPECT_EQ(b.packet.count, 0U);
    EXPECT_EQ(b.reads, b.requests) << "what is read is reported although it cannot leave";
    b.stops.next = model::QpStop{.qpn = kStopped, .all = all};
    ASSERT_EQ(b.bench.Run(10), "");
    b.packet.rate = b.wire.rate = 16;
    b.Finish();
    const auto is_stale = [&](uint32_t qpn, bool is_response) { return qpn == kStopped && (all || !is_response); };
    for (const auto& sent : b.packet_sink.sent()) {
      EXPECT_EQ(sent.token.stale, is_stale(sent.token.qpn, sent.token.is_response)) << sent.token.psn;
    }
    size_t failures = 0, reports = 0;
    for (uint32_t i = 0; i < kJobs; ++i) {
      if (is_stale(i % 3, i % 2 != 0)) continue;
      const bool fails = i % 5 == 4, is_uc = i % 4 == 0;
      failures += fails && !is_uc ? 1 : 0;
      reports += is_uc ? 1 : 0;
    }
    EXPECT_EQ(b.failed.count, failures);
    EXPECT_EQ(b.sent.count, reports);
    this->rtl.Reset();
  }
}

TYPED_TEST(TxGatherRoomTest, JobsWithRoomDoNotWaitForTheWire) {
  auto& b = this->b;
  b.wire.rate = 0;
  b.packet.rate = 0;
  for (unsigned i = 0; i < 200; ++i) {
    TxJob job = b.Job(0x10000 * i, 3000, 0x1000, 1096);
    job.packet.is_response = i % 2 != 0;
    b.Add(job);
  }
  ASSERT_EQ(b.bench.Run(12'000), "");
  const uint64_t begun = b.beginners.used[0] + b.beginners.used[1];
  EXPECT_EQ(begun, 8u) << "of 4,096 bytes of 32,768";
  EXPECT_EQ(b.beginners.used[0], 4u);
  EXPECT_EQ(b.read_request.count, 2 * begun);
  EXPECT_EQ(b.memory.answered, 2 * begun);
  b.wire.rate = 16;
  b.packet.rate = 16;
  b.Finish();
}

// What a packet does not need returns with its first job; then places are the limit.
TYPED_TEST(TxGatherRoomTest, ShortPacketsFillAllPlaces) {
  auto& b = this->b;
  b.packet.rate = 0;
  for (unsigned i = 0; i < 200; ++i) b.Add(b.Job(i << 12, i % 3 == 0 ? 0 : 1, 0, 0));
  ASSERT_EQ(b.bench.Run(3000), "");
  // Of the responses' input two stay, one packet is at the output.
  EXPECT_EQ(b.beginners.used[0], Bench<TypeParam>::kJobDepth - model::TxRoom::kAhead + 1);
  EXPECT_EQ(b.job.accepted, b.beginners.used[0]);
  b.packet.rate = 16;
  b.Finish();
}

TYPED_TEST(TxGatherRoomTest, InputsTakeTurnsForRoom) {
  auto& b = this->b;
  b.wire.rate = 2;
  for (unsigned i = 0; i < 200; ++i) {
    TxJob job = b.Job(0x10000 * i, 4096, 0, 0);
    job.packet.is_response = i % 2 != 0;
    b.Add(job);
  }
  for (unsigned i = 0; i < 100'000 && b.beginners.used[0] < 80; ++i) {
    ASSERT_EQ(b.bench.Run(1), "");
    const auto ahead = static_cast<int64_t>(b.beginners.used[0] - b.beginners.used[1]);
    ASSERT_LE(std::abs(ahead), 2);
  }
  b.wire.rate = 16;
  b.Finish();
}

TYPED_TEST(TxGatherRoomTest, GivesRoomInTheDocumentedCycle) {
  auto& b = this->b;
  ASSERT_EQ(b.bench.Run(20), "");
  EXPECT_EQ(b.beginners.room[0], model::TxRoom::kAhead);
  EXPECT_EQ(b.p.idle_o, 1);
  const Cycle start = b.bench.cycle();
  b.Add(b.Job(0x1000, 100, 0, 0));
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.beginners.last_used[0], start);
  EXPECT_EQ(b.beginners.room[0], model::TxRoom::kAhead - 1);
  ASSERT_EQ(b.bench.Run(model::TxRoom::kUsedToRoom), "");
  EXPECT_EQ(b.beginners.last_room[0], start + model::TxRoom::kUsedToRoom);
  EXPECT_EQ(b.beginners.room[0], model::TxRoom::kAhead);
  b.Finish();
}

TYPED_TEST(TxGatherRoomTest, RestartsAfterReset) {
  for (unsigned round = 0; round < 6; ++round) {
    Bench<TypeParam> b(this->rtl);
    b.responses = true;
    for (unsigned i = 0; i < 200; ++i) b.AddRandom(1, 4);
    ASSERT_EQ(b.bench.Run(300 + 17 * round), "");
    b.p.job_valid_i = 0;
    b.p.response_valid_i = 0;
    b.p.train_valid_i = 0;
    b.p.room_used_i = 0;
    this->rtl.Reset();
    Bench<TypeParam> after(this->rtl);
    for (unsigned i = 0; i < 20; ++i) after.AddRandom(0, 0);
    after.Finish();
    this->rtl.Reset();
  }
}

// --- Payloads as long as a net frame, which come on one input: the other one is never used.
template <typename Top>
class TxGatherNetTest : public TxGatherTest<Top> {};
using NetTops = testing::Types<Vtx_gather_net_64, Vtx_gather_net_512>;
TYPED_TEST_SUITE(TxGatherNetTest, NetTops, WidthNames);

TYPED_TEST(TxGatherNetTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned job, request, memory, packet, wire, failed, sent, bad;
  };
  for (const Rates rates :
       {Rates{16, 16, 16, 16, 16, 16, 16, 0}, Rates{16, 16, 16, 16, 16, 16, 16, 4}, Rates{4, 16, 16, 16, 16, 16, 16, 2},
        Rates{16, 3, 16, 16, 16, 16, 16, 2}, Rates{16, 16, 2, 16, 16, 16, 16, 2}, Rates{16, 16, 16, 2, 16, 16, 16, 1},
        Rates{16, 16, 16, 16, 1, 16, 16, 2}, Rates{8, 8, 8, 8, 8, 1, 1, 4}}) {
    Bench<TypeParam> b(this->rtl);
    b.SetRates(rates);
    for (unsigned i = 0; i < 60; ++i) {
      const size_t bytes = i % 3 == 0 ? kNetBytes - b.random() % 3 : 26 + b.random() % (kNetBytes - 25);
      b.AddNet(bytes, std::array<size_t, 3>{60, 700, 4096}[b.random() % 3], rates.bad);
    }
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(b.response.accepted, 0u);
    EXPECT_EQ(b.bad > 0, rates.bad > 0);
    this->rtl.Reset();
  }
}

// As many runs as the longest chain of a net buffer, or a run for every byte.
TYPED_TEST(TxGatherNetTest, JoinsTheLongestPayloadOfManyRuns) {
  auto& b = this->b;
  for (const size_t count : {size_t{3}, size_t{spec::kNetChainDescriptors}, size_t{1000}, kNetBytes}) {
    std::vector<typename Bench<TypeParam>::Run> runs;
    size_t begin = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t end = kNetBytes * (i + 1) / count;
      runs.push_back({b.random() & ~kBadBit, end - begin});
      begin = end;
    }
    for (const TxJob& job : b.Jobs(runs)) b.Add(job);
  }
  b.Finish();
  EXPECT_EQ(b.packet.count, 4u);
}

TYPED_TEST(TxGatherNetTest, LongestPayloadWaitsForThePreviousToLeave) {
  auto& b = this->b;
  b.wire.rate = 0;
  // Room counts beats, and the first waiting one is at the output and takes none.
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  const auto whole = [](size_t bytes) { return (bytes + kBeat - 1) / kBeat * kBeat; };
  const size_t rest = kBufferBytes<TypeParam> - whole(kNetBytes) + kBeat;
  const auto add = [&](size_t bytes) {
    std::vector<typename Bench<TypeParam>::Run> runs;
    for (size_t done = 0; done < bytes; done += runs.back().bytes) {
      runs.push_back({b.random() & ~kBadBit, std::min<size_t>(bytes - done, 4096)});
    }
    for (const TxJob& job : b.Jobs(runs)) b.Add(job);
  };
  add(kNetBytes);
  ASSERT_EQ(b.bench.Run(3000), "");
  EXPECT_EQ(b.packet.count, 1u);
  add(rest + 1);
  ASSERT_EQ(b.bench.Run(3000), "");
  EXPECT_EQ(b.read_request.count, 3u) << "there is no room for one byte more than is left";
  b.wire.rate = 16;
  b.Finish();
  b.wire.rate = 0;
  add(kNetBytes);
  ASSERT_EQ(b.bench.Run(3000), "");
  add(rest);
  ASSERT_EQ(b.bench.Run(3000), "");
  EXPECT_EQ(b.packet.count, 4u) << "what is left is used to the last byte";
  b.wire.rate = 16;
  b.Finish();
}

TYPED_TEST(TxGatherNetTest, UnreadableLongPayloadFreesItsRoom) {
  auto& b = this->b;
  for (unsigned i = 0; i < 10; ++i) {
    for (TxJob job : b.Jobs({{0x1000, 4096}, {0x2000, 4096}, {kBadBit, kNetBytes - 2 * 4096}})) {
      job.packet.reports = true;
      job.packet.opcode = {};
      b.Add(job);
    }
    b.AddNet(kNetBytes, 4096);
  }
  b.Finish();
  EXPECT_EQ(b.failed.count, 10u);
  EXPECT_EQ(b.packet.count, 10u);
  EXPECT_EQ(b.sent.count, 10u);
}

TYPED_TEST(TxGatherNetTest, LongPayloadMeetsDocumentedLatencies) {
  auto& b = this->b;
  for (const TxJob& job : b.Jobs({{0x1000, 4096}, {0x2000, 4096}, {0x3000, kNetBytes - 2 * 4096}})) b.Add(job);
  ASSERT_EQ(b.bench.Run(TxGather::kRequestLatency), "");
  EXPECT_EQ(b.read_request.count, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.read_request.count, 1u);
  b.Finish();
  ASSERT_EQ(b.packet.count, 1u);
  EXPECT_EQ(b.packet_sink.sent()[0].cycle,
            b.memory.last_beat + TxGather::kPacketLatency + (b.packet_sink.sent()[0].token.reports ? 1 : 0));
}

TYPED_TEST(TxGatherNetTest, RestartsAfterReset) {
  for (unsigned round = 0; round < 4; ++round) {
    Bench<TypeParam> b(this->rtl);
    for (unsigned i = 0; i < 20; ++i) b.AddNet(kNetBytes, 700, 1);
    ASSERT_EQ(b.bench.Run(700 + 117 * round), "");
    b.p.job_valid_i = 0;
    b.p.train_valid_i = 0;
    this->rtl.Reset();
    ASSERT_EQ(b.p.idle_o, 1);
  }
}

}  // namespace
}  // namespace vireo::verif
