// SPDX-License-Identifier: Apache-2.0
#include "verif/host/service/service_bench.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace vireo::sim {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kSecondsNs = 1'000'000'000;

constexpr std::array<size_t, 5> kSizes = {64, 1000, 4096, 20'000, kTrafficBytes};

bool Fail(const char* what, const host::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, host::ToString(error).c_str());
  return false;
}

}  // namespace

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  for (size_t i = 0; i < 2; ++i) ends_[i] = host::FileDescriptor(ends.at(i));
}

bool Pipe::Write(size_t end, const void* data, size_t bytes) {
  return ::send(ends_[end].get(), data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool Pipe::Read(size_t end, void* data, size_t bytes) {
  return ::recv(ends_[end].get(), data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

ClientProcess::ClientProcess(const std::function<bool()>& body) {
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) ::_exit(body() ? 0 : 1);
}

ClientProcess::~ClientProcess() { Kill(); }

void ClientProcess::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

bool ClientProcess::Succeeds() {
  int status = 1;
  if (pid_ <= 0 || ::waitpid(std::exchange(pid_, -1), &status, 0) <= 0) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::unique_ptr<Endpoint> Endpoint::Open(const std::string& socket, size_t memory_bytes) {
  const auto fail = [](const char* what, const host::Error& error) {
    Fail(what, error);
    return std::unique_ptr<Endpoint>();
  };
  auto endpoint = std::make_unique<Endpoint>();
  auto shared = service::SharedDevice::Connect(socket);
  if (!shared.ok()) return fail("connect", shared.error());
  endpoint->shared = shared->get();
  auto device = verbs::Device::Attach(std::move(shared).value());
  if (!device.ok()) return fail("attach", device.error());
  endpoint->device = *device;
  auto pd = endpoint->device->CreatePd();
  if (!pd.ok()) return fail("PD", pd.error());
  endpoint->pd = *pd;
  auto cq = endpoint->device->CreateCq(64, 0);
  if (!cq.ok()) return fail("CQ", cq.error());
  endpoint->cq = *cq;
  verbs::QueuePairOptions options{.send_cq = *cq, .recv_cq = *cq, .max_send_wr = 32, .max_recv_wr = 32};
  auto qp = endpoint->pd->CreateQp(options);
  if (!qp.ok()) return fail("QP", qp.error());
  endpoint->qp = *qp;
  endpoint->memory.resize(memory_bytes);
  uint8_t* const data = endpoint->memory.data();
  const auto first = reinterpret_cast<uintptr_t>(data) / kPageBytes * kPageBytes;
  const auto last = (reinterpret_cast<uintptr_t>(data) + memory_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto mapping = endpoint->shared->function().MapDma(reinterpret_cast<uint8_t*>(first),
                                                     last - first);  // NOLINT(performance-no-int-to-ptr)
  if (!mapping.ok()) return fail("mapping", mapping.error());
  endpoint->mapping = std::move(mapping).value();
  std::vector<uint64_t> pages;
  for (uint64_t at = 0; at < last - first; at += kPageBytes) pages.push_back(endpoint->mapping->address() + at);
  using Access = spec::IbAccessFlags;
  auto region = endpoint->pd->Register(reinterpret_cast<uintptr_t>(data), memory_bytes,
                                       Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead, 0, pages);
  if (!region.ok()) return fail("MR", region.error());
  endpoint->region = *region;
  return endpoint;
}

Endpoint::~Endpoint() {
  qp.reset();
  region.reset();
}

PeerInfo Endpoint::info() const {
  PeerInfo info;
  constexpr size_t kIpv4Gid = 1;
  std::ranges::copy(shared->gids().at(kIpv4Gid).gid, info.gid);
  std::ranges::copy(shared->info().mac, info.mac);
  info.qpn = qp->qpn();
  info.rkey = region->rkey();
  info.address = region->address();
  return info;
}

bool Endpoint::Connect(const PeerInfo& peer, uint8_t timeout, uint8_t retries) {
  verbs::QueuePair::Connection connection;
  connection.dest_qpn = peer.qpn;
  connection.local_psn = connection.remote_psn = 0x123456;
  connection.timeout = timeout;
  connection.retry_cnt = retries;
  std::ranges::copy(peer.gid, connection.path.grh.dgid);
  std::ranges::copy(peer.mac, connection.path.dmac);
  connection.path.grh.sgid_index = 1;
  connection.path.grh.hop_limit = 64;
  const host::Status connected = qp->Connect(connection);
  return connected.ok() || Fail("connect", connected.error());
}

bool Endpoint::Complete(spec::RdmaCqReq* completion) {
  constexpr uint64_t kTimeoutNs = 60 * kSecondsNs;
  auto next = cq->Wait(shared->function().NowNs() + kTimeoutNs);
  if (!next.ok()) return Fail("completion", next.error());
  if (!next->has_value()) {
    std::fprintf(stderr, "no completion\n");
    return false;
  }
  if (completion != nullptr) {
    *completion = **next;
    return true;
  }
  if ((*next)->status == spec::IbWcStatus::kSuccess) return true;
  std::fprintf(stderr, "a completion with status %d\n", static_cast<int>((*next)->status));
  return false;
}

bool ServeTraffic(const std::string& socket, Pipe& pipe, bool is_agent) {
  auto self = Endpoint::Open(socket, 2 * kTrafficBytes);
  PeerInfo peer;
  if (self == nullptr || self->shared->info().uses_agent != is_agent) return false;
  if (!pipe.Send(0, self->info()) || !pipe.Receive(0, peer) || !self->Connect(peer)) return false;
  for (size_t round = 0; round < kSizes.size(); ++round) {
    const spec::RdmaSge sge = self->Sge(0, kTrafficBytes);
    if (!self->qp->PostRecv({.wr_id = round, .sg_list = {&sge, 1}}).ok() || !pipe.Send(0, round)) return false;
    spec::RdmaCqReq received;
    if (!self->Complete(&received) || received.status != spec::IbWcStatus::kSuccess ||
        received.byte_len != kSizes.at(round)) {
      std::fprintf(stderr, "round %zu: status %d, %u bytes\n", round, static_cast<int>(received.status),
                   received.byte_len);
      return false;
    }
    for (size_t i = 0; i < kSizes.at(round); ++i) {
      if (self->memory[i] != Pattern(i, round) || self->memory[kTrafficBytes + i] != Pattern(i, round + 100)) {
        std::fprintf(stderr, "round %zu, byte %zu\n", round, i);
        return false;
      }
    }
  }
  return pipe.Send(0, kSizes.size());
}

bool TalkTraffic(const std::string& socket, Pipe& pipe, bool is_agent) {
  auto self = Endpoint::Open(socket, 3 * kTrafficBytes);
  PeerInfo peer;
  if (self == nullptr || self->shared->info().uses_agent != is_agent) return false;
  if (!pipe.Receive(1, peer) || !self->Connect(peer) || !pipe.Send(1, self->info())) return false;
  size_t ready = 0;
  for (size_t round = 0; round < kSizes.size(); ++round) {
    const size_t bytes = kSizes.at(round);
    for (size_t i = 0; i < bytes; ++i) {
      self->memory[i] = Pattern(i, round);
      self->memory[kTrafficBytes + i] = Pattern(i, round + 100);
    }
    if (!pipe.Receive(1, ready) || ready != round) return false;
    const spec::RdmaSge sent = self->Sge(0, bytes), written = self->Sge(kTrafficBytes, bytes),
                        read = self->Sge(2 * kTrafficBytes, bytes);
    using Opcode = spec::IbWrOpcode;
    const verbs::SendRequest write{.opcode = Opcode::kRdmaWrite,
                                   .sg_list = {&written, 1},
                                   .remote_addr = peer.address + kTrafficBytes,
                                   .rkey = peer.rkey};
    verbs::SendRequest back = write;
    back.opcode = Opcode::kRdmaRead;
    back.sg_list = {&read, 1};
    if (!self->qp->PostSend(write).ok() || !self->qp->PostSend(back).ok() ||
        !self->qp->PostSend({.opcode = Opcode::kSend, .sg_list = {&sent, 1}}).ok()) {
      return false;
    }
    for (int i = 0; i < 3; ++i) {
      if (!self->Complete()) return false;
    }
    for (size_t i = 0; i < bytes; ++i) {
      if (self->memory[2 * kTrafficBytes + i] != Pattern(i, round + 100)) return false;
    }
  }
  return pipe.Receive(1, ready) && ready == kSizes.size();  // the peer has checked everything
}

}  // namespace vireo::sim
