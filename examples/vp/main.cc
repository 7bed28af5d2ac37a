// SPDX-License-Identifier: Apache-2.0
// A virtual platform with two hosts, a Vireo NIC in each, and a cable. The programs on the hosts use Vireo's driver and
// verbs: one writes into the other's memory by RDMA. Takes no arguments; exits with 0 on success.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "platform/vireo_nic.h"
#include "vp/host.h"
#include "vp/out_of_band.h"

namespace vireo::examples {
namespace {

constexpr uint32_t kBytes = 100'000;
constexpr uint64_t kTimeoutNs = 1'000'000;

void Print(Host& host, const char* what) {
  std::printf("%10llu ns  %s: %s\n", static_cast<unsigned long long>(host.NowNs()), host.name(), what);
}

// Returns the value, or exits with the error.
template <typename T>
T Must(host::Result<T>&& result, const char* what) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s: %s\n", what, host::ToString(result.error()).c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// A host with its NIC.
struct Machine {
  static platform::VireoNic::Options NicOptions(uint8_t number) {
    platform::VireoNic::Options options;
    options.firmware.has_mac = true;
    std::ranges::copy(Mac(number), options.firmware.mac);
    options.firmware.mtu = 4200;
    return options;
  }
  static std::array<uint8_t, 6> Mac(uint8_t number) { return {0x02, 0, 0, 0, 0, number}; }
  static std::array<uint8_t, 16> Gid(uint8_t number) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, number};
  }

  Machine(const char* host_name, const char* nic_name, uint8_t own_number)
      : number(own_number), host(host_name), nic(nic_name, NicOptions(own_number)) {
    host.config_socket.bind(nic.config_socket);
    host.memory_socket.bind(nic.memory_socket);
    nic.dma_socket.bind(host.dma_socket);
  }

  const uint8_t number;
  Host host;
  platform::VireoNic nic;
};

// What the programs must exchange to connect their queue pairs.
struct Card {
  uint32_t qpn = 0, rkey = 0;
  uint64_t address = 0;
};

struct World {
  World() {
    a.nic.frame_out.bind(b.nic.frame_in);
    b.nic.frame_out.bind(a.nic.frame_in);
    a.host.program = [this] { Run(a, b.number, card_a, card_b, true); };
    b.host.program = [this] { Run(b, a.number, card_b, card_a, false); };
  }

  void Run(Machine& machine, uint8_t peer_number, OutOfBand<Card>& own_card, OutOfBand<Card>& peer_card, bool writes) {
    Host& host = machine.host;
    const auto device = Must(verbs::Device::Open(host, {.wanted = host::DefaultFeatures()}), "device");
    uint8_t gid[16];
    std::ranges::copy(Machine::Gid(machine.number), gid);
    Must(device->AddGid(0, gid), "GID");
    const auto pd = Must(device->CreatePd(), "protection domain");
    const auto cq = Must(device->CreateCq(16, uint16_t{1}), "completion queue");
    const auto qp = Must(pd->CreateQp({.send_cq = cq, .recv_cq = cq}), "queue pair");
    const auto memory = Must(host.AllocateDma(kBytes, 4096), "memory");
    using Access = spec::IbAccessFlags;
    const auto region = Must(pd->Register(*memory, Access::kLocalWrite | Access::kRemoteWrite), "memory region");
    own_card.Put({qp->qpn(), region->rkey(), region->address()});
    const Card peer = peer_card.Take();

    verbs::QueuePair::Connection connection{.dest_qpn = peer.qpn, .path_mtu = spec::IbMtu::kMtu4096};
    std::ranges::copy(Machine::Gid(peer_number), connection.path.grh.dgid);
    std::ranges::copy(Machine::Mac(peer_number), connection.path.dmac);
    connection.path.grh.hop_limit = 64;
    Must(qp->Connect(connection), "connection");
    Print(host, "connected");

    if (writes) {
      is_b_ready.Take();
      for (uint32_t i = 0; i < kBytes; ++i) memory->data()[i] = Pattern(i);
      const spec::RdmaSge element = region->Sge(0, kBytes);
      Print(host, "posts an RDMA WRITE of 100000 bytes");
      Must(qp->PostSend({.wr_id = 1,
                         .opcode = spec::IbWrOpcode::kRdmaWrite,
                         .sg_list = std::span(&element, 1),
                         .remote_addr = peer.address,
                         .rkey = peer.rkey}),
           "RDMA WRITE");
      const auto completion = Must(cq->Wait(host.NowNs() + kTimeoutNs), "completion");
      Print(host, completion ? spec::ToString(completion->status) : "no completion");
      is_b_done.Take();
    } else {
      is_b_ready.Put(true);
      const uint64_t deadline = host.NowNs() + kTimeoutNs;
      while (memory->data()[kBytes - 1] != Pattern(kBytes - 1) && host.NowNs() < deadline) host.Progress();
      for (uint32_t i = 0; i < kBytes; ++i) good_bytes += memory->data()[i] == Pattern(i) ? 1 : 0;
      Print(host, good_bytes == kBytes ? "has all of it in its memory" : "does not have the data that was sent");
      is_b_done.Put(true);
    }
  }
  static uint8_t Pattern(uint32_t i) { return static_cast<uint8_t>(i * 7 + i / 256 + 1); }

  Machine a{"a", "nic_a", 1}, b{"b", "nic_b", 2};
  OutOfBand<Card> card_a, card_b;
  OutOfBand<bool> is_b_ready, is_b_done;
  uint32_t good_bytes = 0;
};

}  // namespace
}  // namespace vireo::examples

int sc_main(int, char**) {
  vireo::examples::World world;
  sc_core::sc_start();  // until no events are left
  const auto& counters = world.a.nic.counters();
  std::printf("nic_a sent %llu frames and read host memory %llu times, in %llu of its cycles\n",
              static_cast<unsigned long long>(counters.sent_frames),
              static_cast<unsigned long long>(counters.dma_reads),
              static_cast<unsigned long long>(world.a.nic.run_cycles()));
  return world.good_bytes == vireo::examples::kBytes ? 0 : 1;
}
