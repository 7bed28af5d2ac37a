// SPDX-License-Identifier: Apache-2.0
// Two NICs of this machine, on one wire, driven by Linux' VFIO without a driver in the kernel: RDMA WRITEs and SENDs
// from each to the other, with every completion announced by an interrupt; then a reset of both, and the same again.
// Shows how a program of your own opens a NIC; checks a card, its slot and the machine's IOMMU.
//
//   vireo_vfio_pair [--bind] [--rounds N] ADDRESS ADDRESS      # of PCI, such as 0000:01:00.0
//
// Exits with 0 if all bytes have arrived; 1: the last line says what failed; 2: wrong arguments.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/driver/vfio_kernel_device.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"

namespace vireo::examples {
namespace {

constexpr std::array<uint32_t, 5> kSizes = {1, 64, 1000, 4096, 20'000};
constexpr uint32_t kMostBytes = 20'480;  // of a message; whole pages
constexpr uint64_t kTimeoutNs = 30'000'000'000;
constexpr uint16_t kVector = 2;  // the first one that is not of the driver itself
constexpr const char* kUsage =
    "usage: vireo_vfio_pair [--bind] [--rounds N] ADDRESS ADDRESS   # of PCI: 0000:01:00.0\n";

// What to do about an error, where the driver's text does not say it.
const char* AdviceFor(const host::Error& error) {
  switch (error.code) {
    case host::ErrorCode::kNoDevice:
      return "`lspci -nnk -d 1af4:1041` lists virtio network functions and their drivers; --bind, as root, gives them "
             "to vfio-pci";
    case host::ErrorCode::kRefused:
      return "root or the owner of /dev/vfio/GROUP may open it, one program at a time; `dmesg` has the kernel's reason";
    case host::ErrorCode::kNoMemory: return "memory for the device is locked: raise `ulimit -l`";
    case host::ErrorCode::kUnsupported: return "`dmesg | grep -i -e DMAR -e IOMMU` shows what the kernel has";
    default: return nullptr;
  }
}

[[noreturn]] void Fail(const std::string& what, const host::Error& error) {
  if (const char* const advice = AdviceFor(error); advice != nullptr) std::fprintf(stderr, "%s\n", advice);
  std::fprintf(stderr, "vireo_vfio_pair: %s: %s\n", what.c_str(), host::ToString(error).c_str());
  std::exit(1);
}
[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "vireo_vfio_pair: %s\n", what.c_str());
  std::exit(1);
}

// The value, or the end of the program.
template <typename T>
T Must(host::Result<T>&& result, const std::string& what) {
  if (!result.ok()) Fail(what, result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// A byte of a message of `round` from NIC `number`.
uint8_t Pattern(uint32_t at, unsigned round, unsigned number) {
  return static_cast<uint8_t>(at * 7 + at / 256 + round * 31 + number * 101);
}

// One end of the connection. Its members are destroyed in the reverse order: what uses memory before the memory.
class Nic {
 public:
  Nic(std::string address, uint8_t number) : address_(std::move(address)), number_(number) {}

  // The kernel's part: the function, its registers, its memory.
  void Open() {
    function_ = Must(host::OpenVfio(address_), address_);
    std::printf("%s: BAR 0 of %llu bytes, %u interrupt vectors\n", address_.c_str(),
                static_cast<unsigned long long>(function_->BarBytes(0)), function_->MsixVectors());
    if (function_->MsixVectors() <= kVector) Fail(address_ + ": too few interrupt vectors");
    // Received messages: memory of the driver's.
    receive_ = Must(function_->AllocateDma(2 * kMostBytes, VfioPageBytes()), address_ + ": memory");
    // Sent ones: memory of the program's.
    own_.reset(static_cast<uint8_t*>(std::aligned_alloc(VfioPageBytes(), 2 * kMostBytes)));
    if (own_ == nullptr) Fail("no memory");
    send_ = Must(function_->MapDma(own_.get(), 2 * kMostBytes), address_ + ": memory of the program");
  }

  // The driver's part: features, queues, and the objects of verbs.
  void Start() {
    device_ = Must(verbs::Device::Open(*function_), address_);
    const auto config = Must(device_->net().ReadNetConfig(), address_ + ": configuration");
    std::ranges::copy(config.mac, mac_);
    std::printf("%s: MAC %02x:%02x:%02x:%02x:%02x:%02x, %u vectors in use\n", address_.c_str(), mac_[0], mac_[1],
                mac_[2], mac_[3], mac_[4], mac_[5], device_->base().vectors());
    uint8_t gid[16];
    std::ranges::copy(Gid(), gid);
    Must(device_->AddGid(0, gid), address_ + ": address");
    pd_ = Must(device_->CreatePd(), address_ + ": protection domain");
    cq_ = Must(device_->CreateCq(16, kVector), address_ + ": completion queue");
    qp_ = Must(pd_->CreateQp({.send_cq = cq_, .recv_cq = cq_, .max_send_wr = 4, .max_recv_wr = 4}),
               address_ + ": queue pair");
    using Access = spec::IbAccessFlags;
    from_ = Must(pd_->Register(*send_, 0), address_ + ": memory region");
    to_ = Must(pd_->Register(*receive_, Access::kLocalWrite | Access::kRemoteWrite), address_ + ": memory region");
  }

  void ConnectTo(const Nic& peer) {
    verbs::QueuePair::Connection connection;
    connection.dest_qpn = peer.qp_->qpn();
    connection.local_psn = connection.remote_psn = 1;
    std::ranges::copy(peer.Gid(), connection.path.grh.dgid);
    std::ranges::copy(peer.mac_, connection.path.dmac);
    connection.path.grh.hop_limit = 64;
    Must(qp_->Connect(connection), address_ + ": connection");
  }

  // A WRITE to the second half of the peer's memory, and behind it a SEND to the first half.
  void Message(Nic& peer, uint32_t bytes, unsigned round) {
    for (uint32_t i = 0; i < bytes; ++i) {
      send_->data()[i] = Pattern(i, round, number_);
      send_->data()[kMostBytes + i] = Pattern(i, round + 1, number_);
    }
    std::fill_n(peer.receive_->data(), peer.receive_->size(), uint8_t{0});
    const spec::RdmaSge into = peer.to_->Sge(0, kMostBytes), write = from_->Sge(kMostBytes, bytes),
                        send = from_->Sge(0, bytes);
    Must(peer.qp_->PostRecv({.wr_id = round, .sg_list = {&into, 1}}), peer.address_ + ": receive");
    // Before the message: so its completion must be announced.
    Must(peer.cq_->Arm(), peer.address_ + ": completion queue");
    Must(cq_->Arm(), address_ + ": completion queue");
    Must(qp_->PostSend({.opcode = spec::IbWrOpcode::kRdmaWrite,
                        .flags = 0,
                        .sg_list = {&write, 1},
                        .remote_addr = peer.to_->address() + kMostBytes,
                        .rkey = peer.to_->rkey()}),
         address_ + ": WRITE");
    Must(qp_->PostSend({.wr_id = round, .opcode = spec::IbWrOpcode::kSend, .sg_list = {&send, 1}}),
         address_ + ": SEND");
    peer.AwaitCompletion("receive");
    AwaitCompletion("SEND");
    for (uint32_t i = 0; i < kMostBytes; ++i) {
      const uint8_t sent = i < bytes ? Pattern(i, round, number_) : 0;
      const uint8_t written = i < bytes ? Pattern(i, round + 1, number_) : 0;
      if (peer.receive_->data()[i] != sent || peer.receive_->data()[kMostBytes + i] != written) {
        Fail(address_ + ": byte " + std::to_string(i) + " of " + std::to_string(bytes) + " is wrong at " +
             peer.address_);
      }
    }
  }

  // Ends what uses the driver; the function and its memory stay.
  void Stop() {
    to_.reset();
    from_.reset();
    qp_.reset();
    cq_.reset();
    pd_.reset();
    device_.reset();
  }

  // By the kernel, while the driver runs. Then the device has forgotten the driver.
  void Reset() {
    const uint8_t before = device_->net().pci().ReadStatus();
    Must(function_->Reset(), address_);
    const uint8_t after = device_->net().pci().ReadStatus();
    std::printf("%s: reset, device status 0x%02x, before 0x%02x\n", address_.c_str(), after, before);
    if (before == 0 || after != 0) Fail(address_ + ": the device was not reset");
    Stop();
  }

  unsigned interrupts() const { return interrupts_; }
  const std::string& address() const { return address_; }

 private:
  static constexpr size_t VfioPageBytes() { return host::VfioDevice::kPageBytes; }

  std::array<uint8_t, 16> Gid() const { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, number_}; }

  // An interrupt, and then the completion that it announces.
  void AwaitCompletion(const char* what) {
    const uint64_t deadline = function_->NowNs() + kTimeoutNs;
    while (!function_->TakeInterrupt(kVector)) {
      Must(function_->health(), address_);
      if (function_->NowNs() >= deadline) {
        std::array<spec::RdmaCqReq, 1> late;
        const auto polled = cq_->Poll(late);
        Fail(address_ + ": no interrupt of a " + what + (polled.ok() && *polled != 0 ? ", which is complete" : ""));
      }
      function_->Wait(deadline);
    }
    ++interrupts_;
    std::array<spec::RdmaCqReq, 1> completion;
    if (Must(cq_->Poll(completion), address_ + ": completion queue") != 1) {
      Fail(address_ + ": an interrupt without a completion");
    }
    if (completion[0].status != spec::IbWcStatus::kSuccess) {
      Fail(address_ + ": the " + what + " has status " + std::to_string(static_cast<int>(completion[0].status)));
    }
  }

  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  const std::string address_;
  const uint8_t number_;
  unsigned interrupts_ = 0;
  uint8_t mac_[6]{};
  std::unique_ptr<uint8_t, Free> own_;
  std::unique_ptr<host::VfioFunction> function_;
  host::DmaBuffer receive_, send_;
  std::shared_ptr<verbs::Device> device_;
  std::shared_ptr<verbs::ProtectionDomain> pd_;
  std::shared_ptr<verbs::CompletionQueue> cq_;
  std::shared_ptr<verbs::QueuePair> qp_;
  std::shared_ptr<verbs::MemoryRegion> from_, to_;
};

void Exchange(Nic& a, Nic& b, unsigned rounds) {
  for (Nic* const nic : {&a, &b}) nic->Start();
  a.ConnectTo(b);
  b.ConnectTo(a);
  unsigned long long bytes = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    for (const uint32_t size : kSizes) {
      a.Message(b, size, round);
      b.Message(a, size, round);
      bytes += 4ULL * size;
    }
  }
  std::printf("%u rounds of WRITE and SEND both ways: %llu bytes arrived\n", rounds, bytes);
}

int Main(int count, char** arguments) {
  bool binds = false;
  unsigned rounds = 2;
  std::vector<std::string> addresses;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (word == "--bind") {
      binds = true;
    } else if (word == "--rounds" && i + 1 < count && std::atoi(arguments[i + 1]) > 0) {
      rounds = static_cast<unsigned>(std::atoi(arguments[++i]));
    } else if (word.starts_with('-')) {
      addresses.clear();
      break;
    } else {
      addresses.push_back(word);
    }
  }
  if (addresses.size() != 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in order with the errors
  if (binds) {
    for (const std::string& address : addresses) {
      Must(host::VfioKernelDevice::Bind(address), address);
      std::printf("%s: has vfio-pci\n", address.c_str());
    }
  }
  Nic a(addresses[0], 1), b(addresses[1], 2);
  a.Open();
  b.Open();
  Exchange(a, b, rounds);
  a.Reset();
  b.Reset();
  Exchange(a, b, rounds);
  std::printf("interrupts: %u of %s, %u of %s\n", a.interrupts(), a.address().c_str(), b.interrupts(),
              b.address().c_str());
  return 0;
}

}  // namespace
}  // namespace vireo::examples

int main(int count, char** arguments) { return vireo::examples::Main(count, arguments); }
