// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "host/driver/file_descriptor.h"
#include "host/service/client.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "verif/system/verbs_end.h"

namespace vireo::sim {
namespace {

constexpr size_t kGidIndex = 1;  // IPv4
constexpr uint64_t kPageBytes = 4096;
constexpr uint32_t kDepth = 128;
constexpr uint64_t kMsNs = 1'000'000;

bool Fail(const char* what, const host::Error& error) {
  ADD_FAILURE() << "Vireo: " << what << ": " << host::ToString(error);
  return false;
}

// Pages of this process.
class Pages {
 public:
  Pages(uint64_t length, const std::string& file)
      : bytes_((length + kPageBytes - 1) / kPageBytes * kPageBytes),
        fd_(file.empty() ? -1 : ::open(file.c_str(), O_RDWR | O_CLOEXEC)) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, file.empty() ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                   fd_.get(), 0);
  }
  ~Pages() {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint8_t* data() const { return data_ == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  host::FileDescriptor fd_;
  void* data_;
};

class VireoEnd final : public VerbsEnd {
 public:
  bool Open(const std::string& socket) {
    auto shared = service::SharedDevice::Connect(socket);
    if (!shared.ok()) return Fail("connect to the service", shared.error());
    shared_ = shared->get();
    auto device = verbs::Device::Attach(std::move(shared).value());
    if (!device.ok()) return Fail("attach", device.error());
    device_ = *device;
    auto pd = device_->CreatePd();
    if (!pd.ok()) return Fail("protection domain", pd.error());
    pd_ = *pd;
    auto cq = device_->CreateCq(2 * kDepth, 0);
    if (!cq.ok()) return Fail("completion queue", cq.error());
    cq_ = *cq;
    return true;
  }
  ~VireoEnd() override {
    qps_.clear();
    windows_.clear();
    regions_.clear();
  }
  const char* name() const override { return "Vireo"; }

  std::optional<EndRegion> Register(uint64_t length, uint32_t access, const std::string& file) override {
    Region region;
    region.pages = std::make_unique<Pages>(length, file);
    if (region.pages->data() == nullptr) return ADD_FAILURE() << "no memory", std::nullopt;
    auto mapping = shared_->function().MapDma(region.pages->data(), region.pages->bytes());
    if (!mapping.ok()) return Fail("mapping", mapping.error()), std::nullopt;
    region.mapping = std::move(mapping).value();
    std::vector<uint64_t> pages;
    for (uint64_t at = 0; at < region.pages->bytes(); at += kPageBytes) {
      pages.push_back(region.mapping->address() + at);
    }
    auto made = pd_->Register(reinterpret_cast<uintptr_t>(region.pages->data()), length, access, 0, pages,
                              /*invalidatable=*/false, /*is_pmem=*/!file.empty());
    if (!made.ok()) return std::nullopt;
    region.region = *made;
    const EndRegion result{regions_.size(), region.region->address(), region.region->rkey()};
    regions_.push_back(std::move(region));
    return result;
  }
  bool Poke(size_t region, uint64_t offset, std::span<const uint8_t> bytes) override {
    std::ranges::copy(bytes, regions_.at(region).pages->data() + offset);
    return true;
  }
  std::optional<std::vector<uint8_t>> Peek(size_t region, uint64_t offset, size_t length) override {
    const uint8_t* const data = regions_.at(region).pages->data() + offset;
    return std::vector<uint8_t>(data, data + length);
  }

  std::optional<EndQp> CreateQp() override {
    auto qp = pd_->CreateQp({.send_cq = cq_, .recv_cq = cq_, .max_send_wr = kDepth, .max_recv_wr = kDepth});
    if (!qp.ok()) return Fail("queue pair", qp.error()), std::nullopt;
    EndQp result{qps_.size(), (*qp)->qpn(), {}};
    std::ranges::copy(shared_->gids().at(kGidIndex).gid, result.gid.begin());
    qps_.push_back(*qp);
    return result;
  }
  bool Connect(size_t qp, const EndConnection& connection) override {
    verbs::QueuePair::Connection attributes;
    attributes.dest_qpn = connection.peer.qpn;
    attributes.local_psn = connection.psn;
    attributes.remote_psn = connection.peer_psn;
    attributes.path_mtu = kEndMtu;
    attributes.access = connection.access;
    attributes.timeout = connection.timeout;
    attributes.retry_cnt = attributes.rnr_retry = connection.retries;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = kEndReads;
    std::ranges::copy(connection.peer.gid, attributes.path.grh.dgid);  // the service finds the MAC address
    attributes.path.grh.sgid_index = kGidIndex;
    attributes.path.grh.hop_limit = 64;
    const host::Status connected = qps_.at(qp)->Connect(attributes);
    return connected.ok() || Fail("connection", connected.error());
  }
  std::optional<EndWindow> AllocateWindow() override {
    auto window = pd_->AllocateWindow(spec::RdmaMwType::kType2);
    if (!window.ok()) return Fail("memory window", window.error()), std::nullopt;
    windows_.push_back(*window);
    return EndWindow{windows_.size() - 1, (*window)->rkey()};
  }

  bool Post(size_t qp, const EndWork& work) override {
    verbs::SendRequest request;
    request.wr_id = work.wr_id;
    request.opcode = work.opcode;
    request.flags = work.flags;
    request.remote_addr = work.remote;
    request.rkey = request.invalidate_rkey = work.rkey;
    request.compare_add = work.value;
    request.swap = work.swap;
    request.flush_length = work.flush_length;
    request.flush_placement = work.placement;
    request.flush_selectivity = work.selectivity;
    spec::RdmaSge element;
    if (work.opcode == spec::IbWrOpcode::kBindMw) {
      const verbs::MemoryRegion& region = *regions_.at(work.region).region;
      request.bind_address = region.address() + work.offset;
      request.bind_length = work.length;
      request.bind_access = work.access;
      request.bind_lkey = region.lkey();
    } else if (work.length != 0) {
      element = regions_.at(work.region).region->Sge(work.offset, work.length);
      request.sg_list = {&element, 1};
    }
    return qps_.at(qp)->PostSend(request).ok();
  }
  bool PostReceive(size_t qp, uint64_t wr_id, size_t region, uint64_t offset, uint32_t length) override {
    const spec::RdmaSge element = regions_.at(region).region->Sge(offset, length);
    const host::Status posted = qps_.at(qp)->PostRecv({.wr_id = wr_id, .sg_list = {&element, 1}});
    return posted.ok() || Fail("receive", posted.error());
  }
  std::optional<EndCompletion> Poll(unsigned timeout_ms) override {
    auto next = cq_->Wait(shared_->function().NowNs() + timeout_ms * kMsNs);
    if (!next.ok()) return Fail("completion", next.error()), std::nullopt;
    if (!next->has_value()) return std::nullopt;
    return EndCompletion{(*next)->wr_id, (*next)->status, (*next)->opcode, (*next)->byte_len};
  }

 private:
  struct Region {
    std::unique_ptr<Pages> pages;  // outlives what follows
    host::DmaBuffer mapping;
    std::shared_ptr<verbs::MemoryRegion> region;
  };
  service::SharedDevice* shared_ = nullptr;  // device_'s
  std::shared_ptr<verbs::Device> device_;
  std::shared_ptr<verbs::ProtectionDomain> pd_;
  std::shared_ptr<verbs::CompletionQueue> cq_;
  std::vector<Region> regions_;
  std::vector<std::shared_ptr<verbs::MemoryWindow>> windows_;
  std::vector<std::shared_ptr<verbs::QueuePair>> qps_;
};

}  // namespace

std::unique_ptr<VerbsEnd> OpenVireoEnd(const std::string& socket) {
  auto end = std::make_unique<VireoEnd>();
  if (!end->Open(socket)) return nullptr;
  return end;
}

}  // namespace vireo::sim
