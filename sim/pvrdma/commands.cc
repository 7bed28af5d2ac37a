// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/commands.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "host/driver/error_number.h"
#include "sim/pvrdma/translate.h"

namespace vireo::sim::pvrdma {
namespace {

constexpr uint32_t kActive = 4, kLinkUp = 5;  // IBTA vol. 1, 14.2.5.6: PortState, PortPhysicalState
constexpr uint32_t kIpBasedGids = 1U << 26;   // pvrdma_verbs.h, PVRDMA_PORT_IP_BASED_GIDS

uint32_t Floor(uint32_t value) { return std::bit_floor(value); }

uint32_t MaxSge(const spec::RdmaAckQueryDevice& nic) {
  // An entry of a ring lies in one page.
  constexpr uint32_t kInPage = (kPageBytes - sizeof(SendWqe)) / sizeof(Sge);
  return Floor(std::min({nic.max_send_sge, nic.max_recv_sge, kInPage}));
}

uint32_t EntryBytes(size_t header, uint32_t max_sge) {
  return static_cast<uint32_t>(std::bit_ceil(header + max_sge * sizeof(Sge)));
}
uint64_t PagesFor(uint32_t entries, uint64_t entry_bytes) {
  return (entries * entry_bytes + kPageBytes - 1) / kPageBytes;
}

// An index in the first page of a ring.
uint8_t* IndexAt(const GuestPages& pages, size_t at) { return pages.At(at); }
constexpr size_t kSecond = offsetof(RingHeader, second);
// Keys of regions over all memory; above those of the NIC's regions.
constexpr uint32_t kFirstDmaKey = 0xffff'0000;
constexpr size_t kMostDmaRegions = 1024;
constexpr size_t kTail = offsetof(RingState, prod_tail), kHead = offsetof(RingState, cons_head);

}  // namespace

// --- Dispatch

template <auto Function>
int Commands::Call(Commands& commands, const uint8_t* request, uint8_t* response) {
  return [&]<typename Request, typename Response>(int (Commands::*)(const Request&, Response&)) {
    static_assert(sizeof(Request) <= kRequestBytes && sizeof(Response) <= kResponseBytes);
    Response made{};
    const int error = (commands.*Function)(Load<Request>(request), made);
    if (error == 0) Store(response, made);
    return error;
  }(Function);
}

Commands::Run Commands::Find(Command command) {
  switch (command) {
    case Command::kQueryPort: return Call<&Commands::DoQueryPort>;
    case Command::kQueryPkey: return Call<&Commands::DoQueryPkey>;
    case Command::kCreatePd: return Call<&Commands::DoCreatePd>;
    case Command::kDestroyPd: return Call<&Commands::DoDestroyPd>;
    case Command::kCreateMr: return Call<&Commands::DoCreateMr>;
    case Command::kDestroyMr: return Call<&Commands::DoDestroyMr>;
    case Command::kCreateCq: return Call<&Commands::DoCreateCq>;
    case Command::kDestroyCq: return Call<&Commands::DoDestroyCq>;
    case Command::kCreateQp: return Call<&Commands::DoCreateQp>;
    case Command::kModifyQp: return Call<&Commands::DoModifyQp>;
    case Command::kQueryQp: return Call<&Commands::DoQueryQp>;
    case Command::kDestroyQp: return Call<&Commands::DoDestroyQp>;
    case Command::kCreateUc: return Call<&Commands::DoCreateUc>;
    case Command::kDestroyUc: return Call<&Commands::DoDestroyUc>;
    case Command::kCreateBind: return Call<&Commands::DoCreateBind>;
    case Command::kDestroyBind: return Call<&Commands::DoDestroyBind>;
    case Command::kCreateSrq: return Call<&Commands::DoCreateSrq>;
    case Command::kModifySrq: return Call<&Commands::DoModifySrq>;
    case Command::kQuerySrq: return Call<&Commands::DoQuerySrq>;
    case Command::kDestroySrq: return Call<&Commands::DoDestroySrq>;
    case Command::kResizeCq: break;
  }
  return nullptr;
}

int Commands::Execute(std::span<const uint8_t, kRequestBytes> request, std::span<uint8_t, kResponseBytes> response) {
  const auto header = Load<CommandHeader>(request.data());
  std::ranges::fill(response, 0);
  if (nic_.options().drain_events) nic_.options().drain_events();
  const Run run = Find(header.command);
  const int error = run == nullptr ? EOPNOTSUPP : run(*this, request.data(), response.data());
  const ResponseHeader answer{.response = header.response,
                              .ack = kResponseBit | static_cast<uint32_t>(header.command),
                              .error = static_cast<uint8_t>(error)};
  Store(response.data(), answer);
  return error;
}

bool Commands::HasRoom(uint32_t verbs::Quota::*kind, uint32_t pages) const {
  const verbs::Quota has = objects_.Count();
  return has.*kind < quota_.*kind && pages <= quota_.pages - has.pages;
}

bool Commands::IsRingSize(uint32_t work_requests) const {
  return std::has_single_bit(work_requests) && work_requests <= Floor(nic_.device().attributes().max_qp_wr);
}

// --- Device and port

DeviceCaps Commands::Caps() const {
  const spec::RdmaAckQueryDevice& nic = nic_.device().attributes();
  DeviceCaps caps;
  caps.fw_ver = uint64_t{1} << 32;  // 1.0.0
  for (size_t i = 0; i < sizeof caps.node_guid; ++i) {
    caps.node_guid[i] = caps.sys_image_guid[i] = static_cast<uint8_t>(nic_.options().node_guid >> (56 - 8 * i));
  }
  caps.max_mr_size = std::min<uint64_t>(nic.max_mr_size, uint64_t{std::min(kMaxPages, quota_.pages)} * kPageBytes);
  caps.page_size_cap = kPageBytes;
  caps.vendor_id = kVendorId;
  caps.vendor_part_id = kDeviceId;
  caps.hw_ver = nic.hw_ver;
  caps.max_qp = quota_.qps + kFirstQpHandle;  // with queue pair 1
  caps.max_qp_wr = Floor(nic.max_qp_wr);
  caps.max_sge = MaxSge(nic);
  caps.max_sge_rd = std::min(nic.max_sge_rd, caps.max_sge);
  caps.max_cq = quota_.cqs;
  caps.max_cqe = Floor(nic.max_cqe);
  caps.max_mr = quota_.mrs;
  caps.max_pd = quota_.pds;
  caps.max_qp_rd_atom = nic.max_qp_rd_atom;
  caps.max_res_rd_atom = nic.max_qp_rd_atom * quota_.qps;
  caps.max_qp_init_rd_atom = nic.max_qp_init_rd_atom;
  caps.max_ah = nic.max_ah;  // the guest's kernel makes and counts them; the NIC's are the data path's
  if (quota_.srqs != 0) {
    caps.max_srq = quota_.srqs;
    caps.max_srq_wr = caps.max_qp_wr;
    caps.max_srq_sge = caps.max_sge;
  }
  if (nic_.has_atomics()) caps.atomic_ops = kAtomicCompareSwap | kAtomicFetchAdd;
  caps.max_uar = kDoorbellPages;
  caps.gid_tbl_len = Gids();
  caps.max_pkeys = 1;
  caps.local_ca_ack_delay = nic.local_ca_ack_delay;
  caps.phys_port_cnt = 1;
  caps.gid_types = kGidRoceV2;
  return caps;
}

int Commands::DoQueryPort(const QueryPort& request, QueryPortResponse& response) {
  if (request.port != kPort) return EINVAL;
  const auto port = nic_.device().QueryPort();
  if (!port.ok()) return host::ErrorNumber(port.error());
  const LinkCode link = LinkCodeOf(nic_.options().link_mbps);
  response.attributes = {.state = kActive,
                         .max_mtu = static_cast<uint32_t>(spec::IbMtu::kMtu4096),
                         .active_mtu = static_cast<uint32_t>(nic_.options().active_mtu),
                         .gid_tbl_len = Gids(),
                         .port_cap_flags = kIpBasedGids,
                         .max_msg_sz = port->max_msg_sz,
                         .pkey_tbl_len = 1,
                         .max_vl_num = 1,
                         .active_width = link.width,
                         .active_speed = link.speed,
                         .phys_state = kLinkUp};
  return 0;
}

int Commands::DoQueryPkey(const QueryPkey& request, QueryPkeyResponse& response) {
  if (request.port != kPort || request.index != 0) return EINVAL;
  response.pkey = spec::kPkeyDefault;
  return 0;
}

// --- Contexts, protection domains, regions

int Commands::DoCreateUc(const CreateUc& request, HandleResponse& response) {
  const uint64_t page = request.pfn - first_pfn_;
  if (page == 0 || page >= kDoorbellPages) return EINVAL;
  const auto handle = static_cast<uint32_t>(page);
  if (!objects_.contexts.try_emplace(handle).second) return EBUSY;
  response.handle = handle;
  return 0;
}

int Commands::DoDestroyUc(const HandleCommand& request, ResponseHeader&) {
  const Context* const context = pvrdma::Find(objects_.contexts, request.handle);
  if (context == nullptr || request.handle == kKernelContext) return EINVAL;
  if (context->objects != 0) return EBUSY;
  objects_.contexts.erase(request.handle);
  return 0;
}

int Commands::DoCreatePd(const HandleCommand& request, HandleResponse& response) {
  Context* const context = pvrdma::Find(objects_.contexts, request.handle);
  if (context == nullptr) return EINVAL;
  if (!HasRoom(&verbs::Quota::pds)) return ENOMEM;
  auto made = nic_.device().CreatePd();
  if (!made.ok()) return host::ErrorNumber(made.error());
  response.handle = (*made)->pdn();
  objects_.pds[response.handle] = {.pd = std::move(made).value(), .context = request.handle};
  ++context->objects;
  return 0;
}

int Commands::DoDestroyPd(const HandleCommand& request, ResponseHeader&) {
  const Pd* const pd = pvrdma::Find(objects_.pds, request.handle);
  if (pd == nullptr) return EINVAL;
  if (pd->objects != 0) return EBUSY;
  --objects_.contexts[pd->context].objects;
  objects_.pds.erase(request.handle);
  return 0;
}

int Commands::DoCreateMr(const CreateMr& request, CreateMrResponse& response) {
  Pd* const pd = pvrdma::Find(objects_.pds, request.pd);
  if (pd == nullptr) return EINVAL;
  if (request.flags == kMrDma) return CreateDmaMr(request, *pd, response);
  if (request.flags != 0) return EOPNOTSUPP;  // without memory yet
  const std::optional<uint32_t> access = RegionAccess(request.access_flags, nic_.has_atomics());
  if (!access.has_value()) return EOPNOTSUPP;
  if (!HasRoom(&verbs::Quota::mrs, request.pages)) return ENOMEM;
  auto pages = GuestPages::Read(memory_, request.directory, request.pages);
  if (!pages.has_value()) return EFAULT;
  auto made = pd->pd->Register(request.start, request.length, *access, 0, pages->device_addresses());
  if (!made.ok()) return host::ErrorNumber(made.error());
  response.handle = response.lkey = (*made)->lkey();
  response.rkey = (*made)->rkey();
  objects_.mrs.insert_or_assign(response.handle,
                                Mr{.pages = std::move(*pages), .region = std::move(made).value(), .pd = request.pd});
  ++pd->objects;
  return 0;
}

// A region over all of the guest's memory, for its kernel. The NIC has none: only queue pair 1 takes its key.
int Commands::CreateDmaMr(const CreateMr& request, Pd& pd, CreateMrResponse& response) {
  if (nic_.options().gsi == nullptr || pd.context != kKernelContext) return EOPNOTSUPP;
  if ((request.access_flags & ~uint32_t{spec::IbAccessFlags::kLocalWrite}) != 0) return EOPNOTSUPP;
  if (objects_.dma_regions.size() >= kMostDmaRegions) return ENOMEM;
  uint32_t key = kFirstDmaKey;
  while (objects_.dma_regions.contains(key)) ++key;
  objects_.dma_regions[key] = request.pd;
  ++pd.objects;
  response.handle = response.lkey = key;
  return 0;
}

int Commands::DoDestroyMr(const HandleCommand& request, ResponseHeader&) {
  if (const auto region = objects_.dma_regions.find(request.handle); region != objects_.dma_regions.end()) {
    --objects_.pds[region->second].objects;
    objects_.dma_regions.erase(region);
    return 0;
  }
  const Mr* const mr = pvrdma::Find(objects_.mrs, request.handle);
  if (mr == nullptr) return EINVAL;
  --objects_.pds[mr->pd].objects;
  objects_.mrs.erase(request.handle);
  return 0;
}

// --- Completion queues

int Commands::DoCreateCq(const CreateCq& request, CreateCqResponse& response) {
  Context* const context = pvrdma::Find(objects_.contexts, request.context);
  const uint32_t most = Floor(nic_.device().attributes().max_cqe);
  if (context == nullptr || !std::has_single_bit(request.cqe) || request.cqe > most) return EINVAL;
  if (request.pages < 1 + PagesFor(request.cqe, sizeof(Cqe))) return EINVAL;
  auto pages = GuestPages::Read(memory_, request.directory, request.pages);
  if (!pages.has_value()) return EFAULT;
  if (!HasRoom(&verbs::Quota::cqs)) return ENOMEM;
  std::unique_ptr<NicVector> vector = nic_.TakeVector();
  auto made = nic_.device().CreateCq(request.cqe, vector == nullptr ? std::nullopt : std::optional(vector->number()));
  if (!made.ok()) return host::ErrorNumber(made.error());
  response.handle = FreeHandle(objects_.cqs);
  response.cqe = request.cqe;
  Cq cq{.pages = std::move(*pages),
        .vector = std::move(vector),
        .queue = std::move(made).value(),
        .context = request.context};
  cq.ring = RingEnd(request.cqe, IndexAt(cq.pages, kSecond + kTail), IndexAt(cq.pages, kSecond + kHead));
  objects_.cqs.insert_or_assign(response.handle, std::move(cq));
  ++context->objects;
  return 0;
}

int Commands::DoDestroyCq(const HandleCommand& request, ResponseHeader&) {
  const Cq* const cq = pvrdma::Find(objects_.cqs, request.handle);
  if (cq == nullptr) return EINVAL;
  if (cq->objects != 0) return EBUSY;
  --objects_.contexts[cq->context].objects;
  objects_.cqs.erase(request.handle);
  return 0;
}

// --- Shared receive queues

int Commands::DoCreateSrq(const CreateSrq& request, HandleResponse& response) {
  Pd* const pd = pvrdma::Find(objects_.pds, request.pd);
  if (quota_.srqs == 0) return EOPNOTSUPP;
  if (pd == nullptr || request.type != kSrqBasic) return EINVAL;
  const uint32_t entries = request.attributes.max_wr, max_sge = request.attributes.max_sge;
  if (!IsRingSize(entries) || max_sge == 0 || max_sge > MaxSge(nic_.device().attributes())) return EINVAL;
  const uint32_t entry_bytes = EntryBytes(sizeof(RecvWqe), max_sge);
  if (request.pages < 1 + PagesFor(entries, entry_bytes)) return EINVAL;
  auto pages = GuestPages::Read(memory_, request.directory, request.pages);
  if (!pages.has_value()) return EFAULT;
  if (!HasRoom(&verbs::Quota::srqs) || !HasRoom(&verbs::Quota::qps)) return ENOMEM;
  auto made = pd->pd->CreateSrq({.max_wr = entries, .max_sge = max_sge});
  if (!made.ok()) return host::ErrorNumber(made.error());
  response.handle = FreeHandle(objects_.srqs);
  Srq srq{.pages = std::move(*pages), .queue = std::move(made).value(), .pd = request.pd};
  srq.recv = {.ring = RingEnd(entries, IndexAt(srq.pages, kSecond + kHead), IndexAt(srq.pages, kSecond + kTail)),
              .first = kFirstEntry,
              .entry_bytes = entry_bytes,
              .max_sge = max_sge};
  objects_.srqs.insert_or_assign(response.handle, std::move(srq));
  ++pd->objects;
  return 0;
}

int Commands::DoModifySrq(const ModifySrq& request, ResponseHeader&) {
  Srq* const srq = pvrdma::Find(objects_.srqs, request.handle);
  if (srq == nullptr || request.mask != kMaskSrqLimit) return EINVAL;  // the NIC does not resize
  // Receives of the ring count, whether the doorbell has come or not.
  data_path_.MoveReceives(*srq);
  srq->is_limit_due = false;  // of an earlier limit; the new one may be reached before Arm() returns
  const host::Status armed = srq->queue->Arm(request.attributes.srq_limit);
  return armed.ok() ? 0 : host::ErrorNumber(armed.error());
}

int Commands::DoQuerySrq(const HandleCommand& request, QuerySrqResponse& response) {
  const Srq* const srq = pvrdma::Find(objects_.srqs, request.handle);
  if (srq == nullptr) return EINVAL;
  response.attributes = {
      .max_wr = srq->recv.ring.entries(), .max_sge = srq->recv.max_sge, .srq_limit = srq->queue->limit()};
  return 0;
}

int Commands::DoDestroySrq(const HandleCommand& request, ResponseHeader&) {
  const Srq* const srq = pvrdma::Find(objects_.srqs, request.handle);
  if (srq == nullptr) return EINVAL;
  if (srq->objects != 0) return EBUSY;
  --objects_.pds[srq->pd].objects;
  objects_.srqs.erase(request.handle);
  return 0;
}

// --- Queue pairs

int Commands::DoCreateQp(const CreateQp& request, CreateQpResponse& response) {
  Pd* const pd = pvrdma::Find(objects_.pds, request.pd);
  Cq* const send_cq = pvrdma::Find(objects_.cqs, request.send_cq);
  Cq* const recv_cq = pvrdma::Find(objects_.cqs, request.recv_cq);
  if (pd == nullptr || send_cq == nullptr || recv_cq == nullptr) return EINVAL;
  if (send_cq->context != pd->context || recv_cq->context != pd->context) return EINVAL;
  const auto type = static_cast<spec::IbQpType>(request.type);
  const bool is_gsi = type == spec::IbQpType::kGsi, has_srq = request.has_srq != 0;
  if (is_gsi && (has_srq || nic_.options().gsi == nullptr || pd->context != kKernelContext)) return EOPNOTSUPP;
  Srq* const srq = has_srq ? pvrdma::Find(objects_.srqs, request.srq) : nullptr;
  if (has_srq && (srq == nullptr || srq->pd != request.pd)) return EINVAL;
  if (is_gsi && objects_.gsi.has_value()) return EBUSY;
  if (!is_gsi && type != spec::IbQpType::kRc && type != spec::IbQpType::kUc && type != spec::IbQpType::kUd)
    return EINVAL;

  const uint32_t most_sge = MaxSge(nic_.device().attributes());
  // An entry has the next power of two bytes. The number of its elements is none: a process's library does not round
  // it.
  const auto at_least_one = [most_sge](uint32_t sge) { return std::clamp(sge, 1U, most_sge + 1); };
  const uint32_t recv_wr = has_srq ? 0 : request.max_recv_wr;
  const uint32_t send_sge = at_least_one(request.max_send_sge),
                 recv_sge = has_srq ? 0 : at_least_one(request.max_recv_sge);
  if (!IsRingSize(request.max_send_wr) || (!has_srq && !IsRingSize(recv_wr)) || send_sge > most_sge ||
      recv_sge > most_sge) {
    return EINVAL;
  }
  const uint32_t send_bytes = EntryBytes(sizeof(SendWqe), send_sge), recv_bytes = EntryBytes(sizeof(RecvWqe), recv_sge);
  const uint64_t recv_first = (uint64_t{request.send_pages} + 1) * kPageBytes;
  if (PagesFor(request.max_send_wr, send_bytes) > request.send_pages ||
      PagesFor(recv_wr, recv_bytes) + request.send_pages + 1 > request.pages) {
    return EINVAL;
  }
  auto pages = GuestPages::Read(memory_, request.directory, request.pages);
  if (!pages.has_value()) return EFAULT;
  const WorkRing send{.ring = RingEnd(request.max_send_wr, IndexAt(*pages, kHead), IndexAt(*pages, kTail)),
                      .first = kFirstEntry,
                      .entry_bytes = send_bytes,
                      .max_sge = send_sge};
  const WorkRing recv{.ring = RingEnd(recv_wr, IndexAt(*pages, kSecond + kHead), IndexAt(*pages, kSecond + kTail)),
                      .first = recv_first,
                      .entry_bytes = recv_bytes,
                      .max_sge = recv_sge};
  if (is_gsi) {
    response.qpn = spec::kGsiQpn;
    response.handle = kGsiHandle;
    objects_.gsi = GsiQp{.pages = std::move(*pages),
                         .pd = request.pd,
                         .send_cq = request.send_cq,
                         .recv_cq = request.recv_cq,
                         .send = send,
                         .recv = recv,
                         .signal_all = request.signal_all != 0};
  } else {
    if (!HasRoom(&verbs::Quota::qps)) return ENOMEM;
    auto made = pd->pd->CreateQp({.type = type,
                                  .send_cq = send_cq->queue,
                                  .recv_cq = recv_cq->queue,
                                  .srq = srq == nullptr ? nullptr : srq->queue,
                                  .max_send_wr = request.max_send_wr,
                                  .max_recv_wr = recv_wr,
                                  .max_send_sge = send_sge,
                                  .max_recv_sge = recv_sge,
                                  .signal_all = request.signal_all != 0});
    if (!made.ok()) return host::ErrorNumber(made.error());
    response.qpn = (*made)->qpn();
    response.handle = FreeHandle(objects_.qps, kFirstQpHandle);
    objects_.qp_handles[response.qpn] = response.handle;
    objects_.qps.insert_or_assign(response.handle, Qp{.pages = std::move(*pages),
                                                      .qp = std::move(made).value(),
                                                      .pd = request.pd,
                                                      .send_cq = request.send_cq,
                                                      .recv_cq = request.recv_cq,
                                                      .srq = has_srq ? std::optional(request.srq) : std::nullopt,
                                                      .max_send_wr = request.max_send_wr,
                                                      .send = send,
                                                      .recv = recv});
  }
  response.max_send_wr = request.max_send_wr;
  response.max_recv_wr = recv_wr;
  response.max_send_sge = send_sge;
  response.max_recv_sge = recv_sge;
  ++pd->objects;
  ++send_cq->objects;
  ++recv_cq->objects;
  if (srq != nullptr) ++srq->objects;
  return 0;
}

int Commands::DoModifyQp(const ModifyQp& request, ResponseHeader&) {
  if (request.handle == kGsiHandle && objects_.gsi.has_value()) return gsi_.Modify(request);
  Qp* const qp = pvrdma::Find(objects_.qps, request.handle);
  if (qp == nullptr) return EINVAL;
  auto modification = FromModify(request.mask, request.attributes, nic_.has_atomics());
  if (!modification.has_value()) return EINVAL;
  if ((request.mask & kMaskPath) != 0) {
    const Path& path = request.attributes.path;
    const auto sgid = objects_.gids.find(path.grh.sgid_index);
    if (sgid == objects_.gids.end()) return EINVAL;
    spec::RdmaAhAttr& to = modification->command.ah_attr;
    to = FromPath(path, static_cast<uint8_t>(sgid->second));
    std::ranges::copy(nic_.MacFor(std::to_array(to.grh.dgid), std::to_array(to.dmac)), to.dmac);
  }
  if (const host::Status modified = qp->qp->Modify(modification->command, modification->mask); !modified.ok()) {
    return host::ErrorNumber(modified.error());
  }
  if ((request.mask & kMaskPath) != 0) qp->gid = request.attributes.path.grh.sgid_index;
  if ((request.mask & kMaskState) == 0) return 0;
  qp->state = modification->command.qp_state;
  if (qp->state == spec::IbQpState::kReset) {
    qp->send.ring.Restart();
    qp->recv.ring.Restart();
    qp->is_reported = false;
    qp->gid.reset();
    qp->handles.clear();
    DiscardCompletions(*qp);
  }
  // Requests that waited for the state.
  data_path_.MoveReceives(*qp);
  data_path_.MoveSends(*qp);
  return 0;
}

int Commands::DoQueryQp(const QueryQp& request, QueryQpResponse& response) {
  if (request.handle == kGsiHandle && objects_.gsi.has_value()) {
    response.attributes = gsi_.Query();
    return 0;
  }
  const Qp* const qp = pvrdma::Find(objects_.qps, request.handle);
  if (qp == nullptr) return EINVAL;
  const auto state = qp->qp->Query();
  if (!state.ok()) return host::ErrorNumber(state.error());
  response.attributes = FromQuery(*state);
  const auto sgid =
      std::ranges::find(objects_.gids, state->ah_attr.grh.sgid_index, [](const auto& entry) { return entry.second; });
  response.attributes.path =
      ToPath(state->ah_attr, static_cast<uint8_t>(sgid == objects_.gids.end() ? 0 : sgid->first));
  return 0;
}

void Commands::DestroyGsi() {
  --objects_.pds[objects_.gsi->pd].objects;
  for (const uint32_t handle : {objects_.gsi->send_cq, objects_.gsi->recv_cq}) {
    Cq& cq = objects_.cqs.at(handle);
    --cq.objects;
    cq.own.clear();
  }
  objects_.gsi.reset();
}

int Commands::DoDestroyQp(const HandleCommand& request, DestroyQpResponse&) {
  if (request.handle == kGsiHandle && objects_.gsi.has_value()) {
    DestroyGsi();
    return 0;
  }
  const auto found = objects_.qps.find(request.handle);
  if (found == objects_.qps.end()) return EINVAL;
  --objects_.pds[found->second.pd].objects;
  --objects_.cqs.at(found->second.send_cq).objects;
  --objects_.cqs.at(found->second.recv_cq).objects;
  if (found->second.srq.has_value()) --objects_.srqs.at(*found->second.srq).objects;
  Qp qp = std::move(found->second);
  objects_.qps.erase(found);
  const uint32_t qpn = qp.qp->qpn();
  objects_.qp_handles.erase(qpn);
  qp.qp.reset();
  // The driver cannot process a completion whose queue pair it does not find.
  for (const uint32_t cq : {qp.send_cq, qp.recv_cq}) static_cast<void>(objects_.cqs.at(cq).queue->Discard(qpn));
  return 0;
}

void Commands::DiscardCompletions(const Qp& qp) {
  for (const uint32_t cq : {qp.send_cq, qp.recv_cq}) {
    static_cast<void>(objects_.cqs.at(cq).queue->Discard(qp.qp->qpn()));
  }
}

// --- GIDs

int Commands::DoCreateBind(const CreateBind& request, ResponseHeader&) {
  if (request.index >= Gids() || request.gid_type != kGidRoceV2 || request.vlan > kNoVlan) return EINVAL;
  if (objects_.gids.contains(request.index)) return EEXIST;
  std::optional<uint16_t> vlan;
  if (request.vlan != kNoVlan) vlan = static_cast<uint16_t>(request.vlan);
  const auto index =
      nic_.Bind(std::to_array(request.gid), vlan,
                [this](const service::cm::Path& path, service::cm::MadView mad) { gsi_.OnMad(path, mad); });
  if (!index.ok()) return host::ErrorNumber(index.error());
  objects_.gids[request.index] = *index;
  return 0;
}

int Commands::DoDestroyBind(const DestroyBind& request, ResponseHeader&) {
  const auto bound = objects_.gids.find(request.index);
  if (bound == objects_.gids.end()) return EINVAL;
  // Another guest may get the entry: nothing may still send from it.
  for (auto& [handle, qp] : objects_.qps) {
    if (qp.gid == request.index || !data_path_.ReleaseHandles(qp)) return EBUSY;
  }
  nic_.Unbind(bound->second);
  objects_.gids.erase(bound);
  return 0;
}

}  // namespace vireo::sim::pvrdma
