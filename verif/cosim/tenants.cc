// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "sim/common/random.h"

namespace vireo::sim {
namespace {

void Fill(std::span<uint8_t> bytes, std::mt19937_64& random) {
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 32);
}

}  // namespace

// --- The well-behaved tenant

SteadyWrites::SteadyWrites(RdmaSystem& system, ConnectedPair& pair, const Options& options, std::mt19937_64& random)
    : system_(system), pair_(pair), options_(options), client_(system.scheduler().AddClient(*this)) {
  const size_t half = options_.depth * options_.bytes;
  for (size_t i = 0; i < 2; ++i) Fill({pair_.side.at(i).memory->data(), 2 * half}, random);
  for (size_t from = 0; from < 2; ++from) {
    const uint8_t* near = pair_.side.at(from).memory->data();
    const uint8_t* far = pair_.side.at(1 - from).memory->data() + half;
    way_.at(from).source.assign(near, near + half);
    way_.at(from).target.assign(far, far + half);
  }
}

void SteadyWrites::Start() {
  begin_ = system_.scheduler().now();
  is_started_ = true;
  open_ways_ = 2;
  system_.scheduler().At(begin_, client_);
}

void SteadyWrites::Fail(size_t from, const std::string& what) {
  if (error_.empty()) error_ = fmt::format("from host {}, message {}: {}", from, way_.at(from).completed, what);
}

bool SteadyWrites::Harvest(size_t from) {
  Way& way = way_.at(from);
  std::array<spec::RdmaCqReq, 32> completions;
  for (;;) {
    const auto polled = pair_.side.at(from).cq->Poll(completions);
    if (!polled.ok()) return Fail(from, host::ToString(polled.error())), false;
    for (size_t i = 0; i < *polled; ++i, ++way.completed) {
      const spec::RdmaCqReq& completion = completions.at(i);
      if (completion.status != spec::IbWcStatus::kSuccess || completion.wr_id != way.completed) {
        const char* status = spec::ToString(completion.status);
        return Fail(from, fmt::format("a completion of {}: {}", completion.wr_id, status == nullptr ? "?" : status)),
               false;
      }
    }
    if (*polled < completions.size()) return true;
  }
}

bool SteadyWrites::Post(size_t from) {
  Way& way = way_.at(from);
  const auto& far = pair_.side.at(1 - from);
  const uint64_t half = options_.depth * options_.bytes;
  const bool has_end = options_.messages != 0;
  uint64_t wanted = has_end ? options_.messages : ~uint64_t{0};
  if (options_.interval != 0) {
    wanted = std::min(wanted, (system_.scheduler().now() - begin_) / options_.interval + 1);
  }
  while (!is_stopping_ && way.posted - way.completed < options_.depth && way.posted < wanted) {
    // Each reuses the place of the previous completed one, and sends another part of the source.
    const uint64_t target = way.posted % options_.depth * options_.bytes;
    const uint64_t source = way.posted * 7919 % (half - options_.bytes + 1);
    const spec::RdmaSge sge = pair_.side.at(from).region->Sge(source, options_.bytes);
    const verbs::Status posted = pair_.side.at(from).qp->PostSend({.wr_id = way.posted,
                                                                   .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                                   .sg_list = std::span(&sge, 1),
                                                                   .remote_addr = far.region->address() + half + target,
                                                                   .rkey = far.region->rkey()});
    if (!posted.ok()) return Fail(from, host::ToString(posted.error())), false;
    std::memcpy(way.target.data() + target, way.source.data() + source, options_.bytes);
    ++way.posted;
  }
  return true;
}

void SteadyWrites::OnTime(uint64_t /*cookie*/) {
  const Picoseconds now = system_.scheduler().now();
  open_ways_ = 0;
  for (size_t from = 0; from < 2; ++from) {
    Way& way = way_.at(from);
    const uint64_t before = way.completed;
    if (!Harvest(from) || !Post(from)) return;
    if (way.completed != before) way.end = now;
    const bool has_more = !is_stopping_ && (options_.messages == 0 || way.posted < options_.messages);
    open_ways_ += has_more || way.completed != way.posted;
  }
  if (open_ways_ != 0) system_.scheduler().At(now + options_.poll, client_);
}

std::string SteadyWrites::Error() {
  if (error_.empty() && is_done()) {
    const size_t half = options_.depth * options_.bytes;
    for (size_t i = 0; i < 2; ++i) {
      const uint8_t* memory = pair_.side.at(i).memory->data();
      if (!std::equal(way_.at(i).source.begin(), way_.at(i).source.end(), memory)) Fail(i, "the source was changed");
      const auto& target = way_.at(1 - i).target;
      if (!std::equal(target.begin(), target.end(), memory + half)) Fail(1 - i, "wrong data arrived");
    }
  }
  return error_;
}

// --- The hostile tenant

HostileTenant::HostileTenant(RdmaSystem& system, const Options& options, OthersThings others, std::mt19937_64 random)
    : system_(system),
      options_(options),
      program_(options.attack, std::move(others), random),
      client_(system.scheduler().AddClient(*this)) {}

std::string HostileTenant::MakeQueues() {
  for (size_t i = 0; i < options_.queue_pairs; ++i) {
    if (std::string error = Make(parts_.emplace_back()); !error.empty()) return error;
  }
  return "";
}

std::string HostileTenant::Make(Part& part) {
  constexpr uint32_t kEntries = 64;
  std::string error;
  ConnectedPairOptions options{.memory_bytes = HostileProgram::kMemoryBytes, .cqe = kEntries, .interrupts = false};
  options.qp = {.max_send_wr = kEntries, .max_recv_wr = kEntries};
  options.connection.timeout = 5;
  options.connection.retry_cnt = 1;
  options.connection.rnr_retry = 1;
  options.connection.min_rnr_timer = 1;
  // Nobody slows these down.
  if (options_.attack == HostileProgram::Attack::kSends) options.qp.type = spec::IbQpType::kUc;
  RdmaHost& host = system_.host(0);
  part.pair = MakeConnectedPair(host, system_.host(1), options, &error);
  if (part.pair == nullptr) return error;
  const auto& [near, far] = part.pair->side;
  host::VirtioNetDevice& net = host.device().net();
  std::vector<HostileProgram::Queue> queues;
  for (const uint16_t index :
       {net.SendQueueIndex(near.qp->qpn()).value(), net.ReceiveQueueIndex(near.qp->qpn()).value(),
        net.CompletionQueueIndex(near.cq->cqn()).value()}) {
    const auto ring = FindRing(host, index);
    const auto doorbell = net.pci().DoorbellOf(index);
    if (!ring.has_value() || !doorbell.ok()) return fmt::format("queue {} is missing", index);
    const bool is_completion = queues.size() == 2;
    const verbs::Status bounded = is_completion ? SetWindowAroundBuffers(host, *ring)
                                                : SetWindow(host, index, near.memory->address(), near.memory->size());
    if (!bounded.ok()) return host::ToString(bounded.error());
    queues.push_back({.ring = *ring,
                      .bar = doorbell->bar(),
                      .doorbell = doorbell->offset(),
                      .doorbell_bytes = DoorbellBytes(host),
                      .is_completion = is_completion});
  }
  part.own = {.queues = std::move(queues),
              .memory = {near.memory->data(), near.memory->size()},
              .address = near.memory->address(),
              .region = near.region->Sge(0, HostileProgram::kMemoryBytes),
              .remote_address = far.region->address(),
              .remote_key = far.region->rkey()};
  return "";
}

std::string HostileTenant::RenewOne() {
  Part& part = parts_[next_renewal_++ % parts_.size()];
  part.own = {};
  part.pair.reset();
  ++renewals_;
  return Make(part);
}

void HostileTenant::Start() {
  is_stopping_ = false;
  if (!std::exchange(is_running_, true)) system_.scheduler().At(system_.scheduler().now(), client_);
}

void HostileTenant::OnTime(uint64_t /*cookie*/) {
  is_running_ = !is_stopping_;
  if (is_stopping_) return;
  system_.scheduler().At(system_.scheduler().now() + options_.doorbell, client_);
  Part& part = parts_[program_.Below(parts_.size())];
  if (part.own.queues.empty()) return;  // it is being replaced
  // Polls its completions, so that its CQ does not overflow.
  std::array<spec::RdmaCqReq, 16> completions;
  static_cast<void>(part.pair->side[0].cq->Poll(completions));
  program_.Step(part.own, system_.host(0).function());
}

// --- The tenant with many elements

namespace {
constexpr size_t kElementDepth = 16;          // outstanding per queue pair and direction
constexpr uint64_t kIsReceive = uint64_t{1};  // wr_id
}  // namespace

ElementTenant::ElementTenant(RdmaSystem& system, const Options& options)
    : system_(system),
      options_(options),
      message_bytes_(options.message_bytes != 0 ? options.message_bytes : options.elements * options.element_bytes),
      client_(system.scheduler().AddClient(*this)) {}

std::string ElementTenant::Make() {
  for (size_t i = 0; i < options_.queue_pairs; ++i) {
    std::string error;
    ConnectedPairOptions options{.memory_bytes = HostMemory::kPageBytes + 2 * size_t{message_bytes_},
                                 .path_mtu = options_.path_mtu,
                                 .interrupts = false};
    options.qp = {.max_send_wr = kElementDepth,
                  .max_recv_wr = 2 * kElementDepth,
                  .max_send_sge = options_.reads ? options_.elements : 1,
                  .max_recv_sge = options_.elements};
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic = options_.max_rd_atomic;
    pairs_.push_back(MakeConnectedPair(system_.host(0), system_.host(1), options, &error));
    if (pairs_.back() == nullptr) return error;
    for (auto& side : pairs_.back()->side) {
      for (size_t posts = 0; !options_.reads && posts < 2 * kElementDepth; ++posts) {
        if (const verbs::Status posted = PostReceive(side); !posted.ok()) return host::ToString(posted.error());
      }
    }
  }
  return "";
}

std::vector<spec::RdmaSge> ElementTenant::Elements(const ConnectedPair::Side& side) const {
  std::vector<spec::RdmaSge> elements;
  for (uint32_t i = 0; i < options_.elements; ++i) {
    const uint32_t at = i * options_.element_bytes;
    const bool is_last = i + 1 == options_.elements;
    elements.push_back(side.region->Sge(at, is_last ? message_bytes_ - at : options_.element_bytes));
  }
  return elements;
}

verbs::Status ElementTenant::PostReceive(ConnectedPair::Side& side) {
  const auto elements = Elements(side);
  return side.qp->PostRecv({.wr_id = kIsReceive, .sg_list = elements});
}

verbs::Status ElementTenant::PostMessage(ConnectedPair& pair, size_t from) {
  auto& near = pair.side.at(from);
  const auto& far = pair.side.at(1 - from);
  const uint64_t source = message_bytes_;  // behind the elements
  if (options_.reads) {
    const auto elements = Elements(near);
    return near.qp->PostSend({.opcode = spec::IbWrOpcode::kRdmaRead,
                              .sg_list = elements,
                              .remote_addr = far.region->address() + source,
                              .rkey = far.region->rkey()});
  }
  const spec::RdmaSge sge = near.region->Sge(source, message_bytes_);
  return near.qp->PostSend({.opcode = spec::IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
}

void ElementTenant::Start() {
  for (auto& pair : pairs_) {
    for (size_t from = 0; from < 2; ++from) {
      for (size_t i = 0; i < kElementDepth; ++i) {
        const verbs::Status posted = PostMessage(*pair, from);
        if (!posted.ok()) error_ = host::ToString(posted.error());
      }
    }
  }
  system_.scheduler().At(system_.scheduler().now(), client_);
}

void ElementTenant::OnTime(uint64_t /*cookie*/) {
  if (is_stopping_ || !error_.empty()) return;
  std::array<spec::RdmaCqReq, 32> completions;
  for (auto& pair : pairs_) {
    for (size_t i = 0; i < 2; ++i) {
      auto& side = pair->side.at(i);
      const auto polled = side.cq->Poll(completions);
      for (size_t one = 0; polled.ok() && one < *polled; ++one) {
        const spec::RdmaCqReq& completion = completions.at(one);
        const bool is_receive = completion.wr_id == kIsReceive;
        verbs::Status posted;
        if (completion.status != spec::IbWcStatus::kSuccess) {
          error_ = fmt::format("a completion: {}", spec::ToString(completion.status));
        } else {
          posted = is_receive ? PostReceive(side) : PostMessage(*pair, i);
        }
        if (!posted.ok()) error_ = host::ToString(posted.error());
        if (!is_receive) ++completed_;
      }
    }
  }
  system_.scheduler().At(system_.scheduler().now() + options_.poll, client_);
}

// --- The tenant that only gives commands

std::string CommandTenant::Round() {
  constexpr uint32_t kEntries = 16;
  constexpr uint32_t kMessageBytes = 64;  // takes no share of the wire
  constexpr size_t kMemoryBytes = size_t{1} << 16;
  constexpr uint32_t kAccess = spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite;
  constexpr uint32_t kNoQpn = 0xfffff0;
  RdmaHost& host = system_.host(0);
  const auto fail = [](const char* what, const host::Error& error) {
    return fmt::format("{}: {}", what, host::ToString(error));
  };
  auto memory = host.function().AllocateDma(kMemoryBytes, HostMemory::kPageBytes);
  if (!memory.ok()) return fail("memory", memory.error());
  auto pd = host.device().CreatePd();
  if (!pd.ok()) return fail("protection domain", pd.error());
  auto region = (*pd)->Register(**memory, kAccess);
  if (!region.ok()) return fail("region", region.error());
  auto cq = host.device().CreateCq(kEntries, std::nullopt);
  if (!cq.ok()) return fail("completion queue", cq.error());
  auto qp = (*pd)->CreateQp({.send_cq = *cq, .recv_cq = *cq, .max_send_wr = kEntries, .max_recv_wr = kEntries});
  if (!qp.ok()) return fail("queue pair", qp.error());
  verbs::QueuePair::Connection connection;
  connection.dest_qpn = kNoQpn;
  connection.path_mtu = spec::IbMtu::kMtu1024;
  connection.path = host.PathTo(system_.host(1));
  const verbs::Status connected = (*qp)->Connect(connection);
  if (!connected.ok()) return fail("connect", connected.error());
  for (size_t i = 0; i < options_.posts; ++i) {
    const spec::RdmaSge sge = (*region)->Sge(i % 16 * kMessageBytes, kMessageBytes);
    const verbs::Status posted = (*qp)->PostSend({.wr_id = i,
                                                  .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                  .sg_list = std::span(&sge, 1),
                                                  .remote_addr = (*region)->address(),
                                                  .rkey = (*region)->rkey()});
    if (!posted.ok()) return fail("post", posted.error());
  }
  const uint64_t begin = host.function().NowNs();
  qp->reset();
  const uint64_t destroyed = host.function().NowNs();
  region->reset();
  const uint64_t deregistered = host.function().NowNs();
  cq->reset();
  longest_destroy_ns_ = std::max(longest_destroy_ns_, destroyed - begin);
  longest_deregister_ns_ = std::max(longest_deregister_ns_, deregistered - destroyed);
  ++rounds_;
  return "";
}

}  // namespace vireo::sim
