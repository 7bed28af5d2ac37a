// SPDX-License-Identifier: Apache-2.0
#include "verif/sim/pvrdma/driver.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

namespace vireo::sim::pvrdma {
namespace {

constexpr uint32_t kRingPages = 4;  // as Linux

uint32_t Load(uint32_t& index) { return std::atomic_ref(index).load(std::memory_order_acquire); }
void Store(uint32_t& index, uint32_t value) { std::atomic_ref(index).store(value, std::memory_order_release); }

// pvrdma_ring.h: indices by masks, also if the number of entries is no power of two.
uint32_t Increment(uint32_t index, uint32_t entries) { return (index + 1) & ((entries << 1) - 1); }
uint32_t Slot(uint32_t index, uint32_t entries) { return index & (entries - 1); }

uint32_t EntryBytes(size_t header, uint32_t sge) {
  return static_cast<uint32_t>(std::bit_ceil(header + std::max(sge, 1U) * sizeof(Sge)));
}
uint32_t PagesFor(uint64_t bytes) { return static_cast<uint32_t>((bytes + kPageBytes - 1) / kPageBytes); }

}  // namespace

// --- Memory

host::DmaBuffer Driver::Allocate(uint64_t pages) {
  auto memory = function_.AllocateDma(pages * kPageBytes, kPageBytes);
  EXPECT_TRUE(memory.ok()) << host::ToString(memory.error());
  return std::move(memory).value();
}

GuestBuffer Driver::AllocateListed(uint32_t pages) {
  GuestBuffer buffer{.memory = Allocate(pages), .directory = nullptr, .pages = pages};
  std::vector<uint64_t> list;
  for (uint32_t i = 0; i < pages; ++i) list.push_back(buffer.address() + i * kPageBytes);
  buffer.directory = MakeDirectory(list);
  return buffer;
}

host::DmaBuffer Driver::MakeDirectory(std::span<const uint64_t> pages) {
  const size_t tables = (pages.size() + kEntriesPerPage - 1) / kEntriesPerPage;
  host::DmaBuffer directory = Allocate(1 + tables);
  auto* const words = reinterpret_cast<uint64_t*>(directory->data());
  for (size_t i = 0; i < tables; ++i) words[i] = directory->address() + (i + 1) * kPageBytes;
  for (size_t i = 0; i < pages.size(); ++i) words[kEntriesPerPage + i] = pages[i];
  return directory;
}

// --- Bring-up

void Driver::Prepare() {
  region_ = Allocate(1);
  command_ = Allocate(1);
  response_ = Allocate(1);
  events_ = AllocateListed(kRingPages);
  notifications_ = AllocateListed(kRingPages);
  constexpr uint64_t kFirstPfn = 0xfe00'0;  // of BAR 2; any
  region() = {.driver_version = kDeviceVersion,
              .cmd_slot = command_->address(),
              .resp_slot = response_->address(),
              .async_ring = {.pages = kRingPages, .directory = events_.directory->address()},
              .cq_ring = {.pages = kRingPages, .directory = notifications_.directory->address()},
              .uar_pfn = kFirstPfn};
}

uint32_t Driver::WriteRegion() {
  WriteRegister(kDsrLow, static_cast<uint32_t>(region_->address()));
  WriteRegister(kDsrHigh, static_cast<uint32_t>(region_->address() >> 32));
  return ReadRegister(kErr);
}

void Driver::Start() {
  ASSERT_TRUE(function_.EnableMsix(kVectors).ok());
  Prepare();
  ASSERT_EQ(ReadRegister(kVersion), kDeviceVersion);
  ASSERT_EQ(WriteRegion(), 0u);
  // What Linux demands.
  ASSERT_EQ(caps().mode, 0);
  ASSERT_EQ(caps().gid_types, kGidRoceV2);
  ASSERT_TRUE(std::has_single_bit(caps().max_uar));
  WriteRegister(kImr, 0);
  WriteRegister(kCtl, kActivate);
  ASSERT_EQ(ReadRegister(kErr), 0u);
}

bool Driver::Await(const std::function<bool()>& done) {
  constexpr auto kLongest = std::chrono::seconds(30);
  constexpr uint64_t kStepNs = 2'000;
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    if (std::chrono::steady_clock::now() - begin > kLongest) return false;
    function_.Wait(function_.NowNs() + kStepNs);
  }
  return true;
}

template <typename T>
std::vector<T> Driver::Take(const GuestBuffer& ring) {
  const auto entries = static_cast<uint32_t>((kRingPages - 1) * kPageBytes / sizeof(T));
  RingState& state = reinterpret_cast<RingHeader*>(ring.data())->second;
  std::vector<T> taken;
  uint32_t head = Load(state.cons_head);
  while (Load(state.prod_tail) != head) {
    T entry;
    std::memcpy(&entry, ring.data() + kPageBytes + Slot(head, entries) * sizeof(T), sizeof entry);
    taken.push_back(entry);
    Store(state.cons_head, head = Increment(head, entries));
  }
  return taken;
}

std::vector<Event> Driver::TakeEvents() { return Take<Event>(events_); }

std::vector<uint32_t> Driver::TakeNotifications() {
  std::vector<uint32_t> handles;
  for (const Notification& one : Take<Notification>(notifications_)) handles.push_back(one.cq_handle);
  return handles;
}

// --- Objects

uint32_t Driver::CreatePd(uint32_t context) {
  HandleResponse response;
  EXPECT_EQ(Execute(Command::kCreatePd, HandleCommand{.handle = context}, response), 0u);
  return response.handle;
}

Driver::Region Driver::CreateRegion(uint32_t pd, uint32_t pages, uint32_t access) {
  constexpr uint64_t kStart = 0x7f12'3456'7000;  // a process's address
  Region region{.buffer = AllocateListed(pages), .start = kStart};
  CreateMrResponse response;
  EXPECT_EQ(Execute(Command::kCreateMr,
                    CreateMr{.start = kStart,
                             .length = pages * kPageBytes,
                             .directory = region.buffer.directory->address(),
                             .pd = pd,
                             .access_flags = access,
                             .pages = pages},
                    response),
            0u);
  region.handle = response.handle;
  region.lkey = response.lkey;
  region.rkey = response.rkey;
  return region;
}

void Driver::Bind(uint32_t index, const std::array<uint8_t, 16>& gid) {
  CreateBind request{.mtu = 1024, .vlan = kNoVlan, .index = index, .gid_type = kGidRoceV2};
  std::ranges::copy(gid, request.gid);
  EXPECT_EQ(Execute(Command::kCreateBind, request), 0u);
}

DriverCq::DriverCq(Driver& driver, uint32_t cqe, uint32_t context)
    : driver_(driver), cqe_(cqe), context_(context), buffer_(driver.AllocateListed(1 + PagesFor(cqe * sizeof(Cqe)))) {
  CreateCqResponse response;
  EXPECT_EQ(
      driver.Execute(
          Command::kCreateCq,
          CreateCq{.directory = buffer_.directory->address(), .context = context, .cqe = cqe, .pages = buffer_.pages},
          response),
      0u);
  EXPECT_EQ(response.cqe, cqe);
  handle_ = response.handle;
}

std::optional<Cqe> DriverCq::Poll() {
  const uint32_t head = Load(state().cons_head);
  if (Load(state().prod_tail) == head) return std::nullopt;
  Cqe cqe;
  std::memcpy(&cqe, buffer_.data() + kPageBytes + Slot(head, cqe_) * sizeof cqe, sizeof cqe);
  Store(state().cons_head, Increment(head, cqe_));
  return cqe;
}

std::optional<Cqe> DriverCq::Next() {
  std::optional<Cqe> cqe;
  driver_.Await([&] { return (cqe = Poll()).has_value(); });
  return cqe;
}

CreateSrq DriverSrq::Request(uint32_t pd, uint32_t max_wr, uint32_t max_sge) {
  return {.pd = pd,
          .pages = 1 + PagesFor(uint64_t{max_wr} * EntryBytes(sizeof(RecvWqe), max_sge)),
          .attributes = {.max_wr = max_wr, .max_sge = max_sge},
          .type = kSrqBasic};
}

DriverSrq::DriverSrq(Driver& driver, uint32_t pd, uint32_t max_wr, uint32_t max_sge, uint32_t context)
    : driver_(driver), max_wr_(max_wr), max_sge_(max_sge), context_(context) {
  CreateSrq request = Request(pd, max_wr, max_sge);
  buffer_ = driver.AllocateListed(request.pages);
  request.directory = buffer_.directory->address();
  HandleResponse response;
  EXPECT_EQ(driver.Execute(Command::kCreateSrq, request, response), 0u);
  handle_ = response.handle;
}

void DriverSrq::Receive(RecvWqe wqe, std::span<const Sge> elements, bool rings) {
  const uint32_t tail = Load(state().prod_tail);
  ASSERT_NE(tail, Load(state().cons_head) ^ max_wr_) << "the ring is full";
  uint8_t* const at = buffer_.data() + kPageBytes + Slot(tail, max_wr_) * EntryBytes(sizeof wqe, max_sge_);
  if (wqe.num_sge == 0) wqe.num_sge = static_cast<uint32_t>(elements.size());
  std::memcpy(at, &wqe, sizeof wqe);
  if (!elements.empty()) std::memcpy(at + sizeof wqe, elements.data(), elements.size_bytes());
  Store(state().prod_tail, Increment(tail, max_wr_));
  if (rings) Ring();
}

SrqAttributes DriverSrq::Query() {
  QuerySrqResponse response;
  EXPECT_EQ(driver_.Execute(Command::kQuerySrq, HandleCommand{.handle = handle_}, response), 0u);
  return response.attributes;
}

uint32_t DriverQp::SendPages(const DriverQpOptions& options) {
  return PagesFor(uint64_t{options.send_wr} * EntryBytes(sizeof(SendWqe), options.send_sge));
}
uint32_t DriverQp::RecvPages(const DriverQpOptions& options) {
  return PagesFor(uint64_t{options.ring_recv_wr()} * EntryBytes(sizeof(RecvWqe), options.ring_recv_sge()));
}

CreateQp DriverQp::Request(uint32_t pd, uint32_t send_cq, uint32_t recv_cq, const DriverQpOptions& options) {
  return {.pd = pd,
          .send_cq = send_cq,
          .recv_cq = recv_cq,
          .srq = options.srq.value_or(0),
          .max_send_wr = options.send_wr,
          .max_recv_wr = options.ring_recv_wr(),
          .max_send_sge = options.send_sge,
          .max_recv_sge = options.ring_recv_sge(),
          .access_flags = 1,
          .pages = static_cast<uint16_t>(1 + SendPages(options) + RecvPages(options)),
          .send_pages = static_cast<uint16_t>(SendPages(options)),
          .signal_all = options.signal_all,
          .type = options.type,
          .has_srq = options.srq.has_value()};
}

DriverQp::DriverQp(Driver& driver, uint32_t pd, DriverCq& send_cq, DriverCq& recv_cq, const DriverQpOptions& options)
    : driver_(driver), options_(options) {
  CreateQp request = Request(pd, send_cq.handle(), recv_cq.handle(), options);
  buffer_ = driver.AllocateListed(request.pages);
  request.directory = buffer_.directory->address();
  CreateQpResponse response;
  EXPECT_EQ(driver.Execute(Command::kCreateQp, request, response), 0u);
  EXPECT_EQ(response.max_send_wr, options.send_wr);
  EXPECT_EQ(response.max_recv_wr, options.ring_recv_wr());
  EXPECT_EQ(response.max_inline_data, 0u);
  qpn_ = response.qpn;
  handle_ = response.handle;
}

uint32_t DriverQp::Modify(uint32_t mask, const QpAttributes& attributes) {
  return driver_.Execute(Command::kModifyQp, ModifyQp{.handle = handle_, .mask = mask, .attributes = attributes});
}

QpAttributes DriverQp::Query() {
  QueryQpResponse response;
  EXPECT_EQ(driver_.Execute(Command::kQueryQp, QueryQp{.handle = handle_, .mask = ~0U}, response), 0u);
  return response.attributes;
}

void DriverQp::Connect(const Connection& to) {
  const bool is_datagram = options_.type == 4, is_reliable = options_.type == 2;
  QpAttributes attributes{.qp_state = 1, .qkey = to.qkey, .qp_access_flags = to.access, .port = 1};
  ASSERT_EQ(Modify(kMaskState | kMaskPkeyIndex | kMaskPort | (is_datagram ? kMaskQkey : kMaskAccessFlags), attributes),
            0u);
  attributes = {.qp_state = 2,
                .path_mtu = to.mtu,
                .rq_psn = 0x12'3456,
                .dest_qp_num = to.dest_qpn,
                .max_dest_rd_atomic = 1,
                .min_rnr_timer = 12};
  attributes.path.flags = 1;
  attributes.path.port = 1;
  attributes.path.grh.sgid_index = to.sgid_index;
  attributes.path.grh.hop_limit = 64;
  std::ranges::copy(to.dgid, attributes.path.grh.dgid);
  // The MAC address of the peer's Ethernet function, which no NIC has.
  constexpr std::array<uint8_t, 6> kElsewhere = {0x52, 0x54, 0, 1, 2, 3};
  std::ranges::copy(kElsewhere, attributes.path.dmac);
  uint32_t mask = kMaskState;
  if (!is_datagram) mask |= kMaskPath | kMaskPathMtu | kMaskDestQpn | kMaskRqPsn;
  if (is_reliable) mask |= kMaskMaxDestRdAtomic | kMaskMinRnrTimer;
  ASSERT_EQ(Modify(mask, attributes), 0u);
  attributes = {.qp_state = 3, .sq_psn = 0x12'3456, .max_rd_atomic = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
  mask = kMaskState | kMaskSqPsn;
  if (is_reliable) mask |= kMaskTimeout | kMaskRetryCnt | kMaskRnrRetry | kMaskMaxRdAtomic;
  ASSERT_EQ(Modify(mask, attributes), 0u);
}

void DriverQp::Send(SendWqe wqe, std::span<const Sge> elements, bool rings) {
  RingState& state = header().first;
  const uint32_t tail = Load(state.prod_tail);
  ASSERT_NE(tail, Load(state.cons_head) ^ options_.send_wr) << "the send ring is full";
  const uint32_t bytes = EntryBytes(sizeof wqe, options_.send_sge);
  uint8_t* const at = buffer_.data() + kPageBytes + Slot(tail, options_.send_wr) * bytes;
  if (wqe.num_sge == 0) wqe.num_sge = static_cast<uint32_t>(elements.size());
  std::memcpy(at, &wqe, sizeof wqe);
  if (!elements.empty()) std::memcpy(at + sizeof wqe, elements.data(), elements.size_bytes());
  Store(state.prod_tail, Increment(tail, options_.send_wr));
  if (rings) RingSend();
}

void DriverQp::Receive(RecvWqe wqe, std::span<const Sge> elements, bool rings) {
  RingState& state = header().second;
  const uint32_t tail = Load(state.prod_tail);
  ASSERT_NE(tail, Load(state.cons_head) ^ options_.recv_wr) << "the receive ring is full";
  const uint32_t bytes = EntryBytes(sizeof wqe, options_.recv_sge);
  uint8_t* const at = buffer_.data() + (1 + SendPages(options_)) * kPageBytes + Slot(tail, options_.recv_wr) * bytes;
  if (wqe.num_sge == 0) wqe.num_sge = static_cast<uint32_t>(elements.size());
  std::memcpy(at, &wqe, sizeof wqe);
  if (!elements.empty()) std::memcpy(at + sizeof wqe, elements.data(), elements.size_bytes());
  Store(state.prod_tail, Increment(tail, options_.recv_wr));
  if (rings) RingRecv();
}

}  // namespace vireo::sim::pvrdma
