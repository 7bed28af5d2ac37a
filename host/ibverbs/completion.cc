// SPDX-License-Identifier: Apache-2.0
// Completion queues: creation, arming, polling by both interfaces, destruction.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

constexpr uint64_t kWcFlags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
                              IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
                              IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                              IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

bool HasTimestamps(Context& context) { return (context.device->cq_elements() & spec::RdmaCqElement::kTimestamp) != 0; }

// `wc_flags` of an extended one.
Cq* CreateCq(ibv_context* context, uint32_t cqe, void* cq_context, ibv_comp_channel* channel, uint32_t vector,
             ibv_pd* parent_domain = nullptr, uint64_t wc_flags = 0) {
  Context& ours = Of(context);
  if (!ours.IsOwnedByThisProcess()) return Null(EIO);
  if (cqe == 0 || cqe > ours.device->attributes().max_cqe) return Null(EINVAL);
  if (vector >= static_cast<uint32_t>(std::max(context->num_comp_vectors, 1))) return Null(EINVAL);
  if (channel != nullptr && (channel->context != context || ours.shared->vectors() == 0)) return Null(EINVAL);

  auto cq = std::make_unique<Cq>();
  std::lock_guard guard(ours.control);
  std::optional<uint16_t> own_vector;
  if (channel != nullptr) {
    // The program's comp_vector is ignored: CQs are spread over the vectors by load.
    if (ours.watcher == nullptr) ours.watcher = std::make_unique<VectorWatcher>(ours);
    own_vector = cq->vector = ours.watcher->Choose();
  }
  // Room for ibv_resize_cq.
  constexpr uint32_t kLarger = 4;
  constexpr uint32_t kAtLeast = 1024;
  const uint32_t max_cqe = ours.device->attributes().max_cqe;
  const uint32_t room = std::min(max_cqe, std::max(kAtLeast, cqe > max_cqe / kLarger ? max_cqe : cqe * kLarger));
  constexpr uint64_t kTimes = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  const bool has_timestamps = (wc_flags & kTimes) != 0 && HasTimestamps(ours);
  auto impl = ours.device->CreateCq(cqe, own_vector, room, has_timestamps ? spec::RdmaCqElement::kTimestamp : 0);
  if (!impl.ok()) return Null(impl.error());
  cq->impl = std::move(impl).value();
  cq->has_wall_clock = has_timestamps && (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0;
  if (parent_domain != nullptr) cq->parent_domain = PdUse(parent_domain);
  cq->ex.context = context;
  cq->ex.channel = channel;
  cq->ex.cq_context = cq_context;
  cq->ex.handle = cq->impl->cqn();
  cq->ex.cqe = static_cast<int>(cqe);
  if (cq->has_wall_clock) {
    if (const int error = cq->ReadClocks(); error != 0) return Null(error);
  }
  pthread_mutex_init(&cq->ex.mutex, nullptr);
  pthread_cond_init(&cq->ex.cond, nullptr);
  if (channel != nullptr) {
    if (int error = ours.watcher->Add(*cq); error != 0) return Null(error);
    cq->channel = &Of(channel);
    ++channel->refcnt;
  }
  ours.cqs.emplace(cq->impl->cqn(), cq.get());
  return cq.release();
}

// Call it after an empty poll.
void PauseAfterEmptyPoll(Cq& cq) {
  if (service::SharedDevice& shared = *cq.context().shared; shared.info().has_clock) {
    shared.AwaitWrite();
  } else {
    // Programs poll in a busy loop; the simulation may need this processor.
    sched_yield();
  }
}

void SetImm(ibv_wc& wc, const uint8_t (&imm_data)[4]) { std::memcpy(&wc.imm_data, imm_data, sizeof wc.imm_data); }

}  // namespace

ibv_wc_status ToWcStatus(spec::IbWcStatus status) {
  switch (status) {
    case spec::IbWcStatus::kSuccess: return IBV_WC_SUCCESS;
    case spec::IbWcStatus::kLocLenErr: return IBV_WC_LOC_LEN_ERR;
    case spec::IbWcStatus::kLocQpOpErr: return IBV_WC_LOC_QP_OP_ERR;
    case spec::IbWcStatus::kLocProtErr: return IBV_WC_LOC_PROT_ERR;
    case spec::IbWcStatus::kWrFlushErr: return IBV_WC_WR_FLUSH_ERR;
    case spec::IbWcStatus::kBadRespErr: return IBV_WC_BAD_RESP_ERR;
    case spec::IbWcStatus::kLocAccessErr: return IBV_WC_LOC_ACCESS_ERR;
    case spec::IbWcStatus::kRemInvReqErr: return IBV_WC_REM_INV_REQ_ERR;
    case spec::IbWcStatus::kRemAccessErr: return IBV_WC_REM_ACCESS_ERR;
    case spec::IbWcStatus::kRemOpErr: return IBV_WC_REM_OP_ERR;
    case spec::IbWcStatus::kRetryExcErr: return IBV_WC_RETRY_EXC_ERR;
    case spec::IbWcStatus::kRnrRetryExcErr: return IBV_WC_RNR_RETRY_EXC_ERR;
    case spec::IbWcStatus::kRemAbortErr: return IBV_WC_REM_ABORT_ERR;
    case spec::IbWcStatus::kFatalErr: return IBV_WC_FATAL_ERR;
    case spec::IbWcStatus::kRespTimeoutErr: return IBV_WC_RESP_TIMEOUT_ERR;
    case spec::IbWcStatus::kMwBindErr: return IBV_WC_MW_BIND_ERR;
    case spec::IbWcStatus::kGeneralErr: break;
  }
  return IBV_WC_GENERAL_ERR;
}

ibv_wc_opcode ToWcOpcode(spec::IbWcOpcode opcode) {
  switch (opcode) {
    case spec::IbWcOpcode::kSend: return IBV_WC_SEND;
    case spec::IbWcOpcode::kRdmaWrite: return IBV_WC_RDMA_WRITE;
    case spec::IbWcOpcode::kRdmaRead: return IBV_WC_RDMA_READ;
    case spec::IbWcOpcode::kCompSwap: return IBV_WC_COMP_SWAP;
    case spec::IbWcOpcode::kFetchAdd: return IBV_WC_FETCH_ADD;
    case spec::IbWcOpcode::kLocalInv: return IBV_WC_LOCAL_INV;
    case spec::IbWcOpcode::kAtomicWrite: return IBV_WC_ATOMIC_WRITE;
    case spec::IbWcOpcode::kBindMw: return IBV_WC_BIND_MW;
    // IBV_WC_FLUSH, which libibverbs has from version 47 on. No program posts one by the libibverbs that is installed.
    case spec::IbWcOpcode::kFlush: return static_cast<ibv_wc_opcode>(8);
    case spec::IbWcOpcode::kRecvRdmaWithImm: return IBV_WC_RECV_RDMA_WITH_IMM;
    case spec::IbWcOpcode::kRegMr:  // no program can post one
    case spec::IbWcOpcode::kRecv: break;
  }
  return IBV_WC_RECV;
}

ibv_wc ToWc(const spec::RdmaCqReq& completion) {
  static_assert(spec::IbWcFlags::kGrh == IBV_WC_GRH && spec::IbWcFlags::kWithImm == IBV_WC_WITH_IMM &&
                spec::IbWcFlags::kWithInv == IBV_WC_WITH_INV);
  ibv_wc wc{};
  wc.wr_id = completion.wr_id;
  wc.status = ToWcStatus(completion.status);
  wc.opcode = ToWcOpcode(completion.opcode);
  wc.vendor_err = completion.vendor_err;
  wc.byte_len = completion.byte_len;
  if ((completion.wc_flags & spec::IbWcFlags::kWithInv) != 0) {
    wc.invalidated_rkey = spec::Ieth::Decode(completion.imm_data).rkey;
  } else {
    SetImm(wc, completion.imm_data);
  }
  wc.qp_num = completion.qp_num;
  wc.src_qp = completion.src_qp;
  wc.wc_flags = completion.wc_flags & (spec::IbWcFlags::kGrh | spec::IbWcFlags::kWithImm | spec::IbWcFlags::kWithInv);
  return wc;
}

int PollCq(ibv_cq* cq, int count, ibv_wc* completions) {
  Cq& ours = Of(cq);
  if (!ours.context().IsOwnedByThisProcess() || count < 0) return -1;
  ours.context().shared->CountCall();
  std::array<spec::RdmaCqReq, 16> batch;
  size_t done = 0;
  const auto wanted = static_cast<size_t>(count);
  {
    std::lock_guard guard(ours.lock);
    while (done < wanted) {
      const size_t room = std::min(batch.size(), wanted - done);
      Result<size_t> polled = ours.impl->Poll(std::span(batch).first(room));
      if (!polled.ok()) {
        Log(ToString(polled.error()));
        if (done == 0) return -1;
        break;
      }
      for (size_t i = 0; i < *polled; ++i) {
        completions[done] = ToWc(batch[i]);
        completions[done++].sl = ToServiceLevel(ours.context(), batch[i]);
      }
      if (*polled < room) break;
    }
    if (wanted != 0) ours.OnPolled(done, done == wanted);
  }
  if (done == 0) PauseAfterEmptyPoll(ours);
  return static_cast<int>(done);
}

int ReqNotifyCq(ibv_cq* cq, int solicited_only) {
  Cq& ours = Of(cq);
  Context& context = ours.context();
  if (!context.IsOwnedByThisProcess()) return EIO;
  if (ours.channel == nullptr) return 0;  // no channel, no event
  context.shared->CountCall();
  std::unique_lock control(context.control, std::defer_lock);
  if (!context.shared->constants().rdma_has_cq_arm) control.lock();  // arming is a command
  std::lock_guard guard(ours.lock);
  if (Status collected = ours.impl->Collect(); !collected.ok()) return ErrnoOf(collected.error());
  const bool reports_existing = solicited_only == 0;  // whether existing ones were solicited is unknown
  if (reports_existing && ours.last_poll_full && ours.impl->buffered() != 0) {
    ours.armed = false;
    ours.channel->Push(ours);
    return 0;
  }
  ours.armed = true;
  ours.taken_when_armed = ours.impl->taken();
  if (Status armed = ours.impl->Arm(solicited_only != 0); !armed.ok()) {
    ours.armed = false;
    return ErrnoOf(armed.error());
  }
  // Collect again: in profile rfc-v2 the device does not notify of completions before the command.
  if (Status collected = ours.impl->Collect(); !collected.ok()) return ErrnoOf(collected.error());
  ours.unnotified = reports_existing ? ours.impl->buffered() : 0;
  return 0;
}

void Cq::OnPolled(size_t count, bool was_full) {
  last_poll_full = was_full;
  unnotified -= std::min(unnotified, count);
  if (!armed || unnotified == 0) return;
  armed = false;
  channel->Push(*this);
}

void Cq::OnInterrupt() {
  std::lock_guard guard(lock);
  if (!armed) return;
  // Completions that were already polled count, too: the device notifies once, and the program may sleep now.
  if (Status collected = impl->Collect(); !collected.ok()) Log(ToString(collected.error()));
  if (impl->taken() == taken_when_armed) return;
  armed = false;
  channel->Push(*this);
}

ibv_cq_ex* CreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* init) {
  constexpr uint32_t kKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if ((init->comp_mask & ~kKnown) != 0) return Null(EOPNOTSUPP);
  if ((init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
      (init->flags & ~static_cast<uint32_t>(IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) != 0) {
    return Null(EOPNOTSUPP);
  }
  if ((init->wc_flags & ~kWcFlags) != 0) return Null(EOPNOTSUPP);
  ibv_pd* const domain = (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) == 0 ? nullptr : init->parent_domain;
  if ((init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 &&
      (domain == nullptr || domain->context != context || !Of(domain).base.has_value())) {
    return Null(EINVAL);
  }
  Cq* cq = CreateCq(context, init->cqe, init->cq_context, init->channel, init->comp_vector, domain, init->wc_flags);
  if (cq == nullptr) return nullptr;
  SetCqApi(*cq);
  return &cq->ex;
}

namespace {

uint64_t Nanoseconds(const timespec& time) {
  constexpr uint64_t kPerSecond = 1'000'000'000;
  return static_cast<uint64_t>(time.tv_sec) * kPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t RealTime() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

}  // namespace

// Completions that come between the two readings of a CQ are taken behind the second one only.
int Cq::ReadClocks() {
  if (Status collected = impl->Collect(); !collected.ok()) return ErrnoOf(collected.error());
  if (!wall_clock.is_empty() && impl->taken() == taken_when_read) return 0;
  const uint64_t before = RealTime();
  Result<uint64_t> device = context().device->QueryClock();
  if (!device.ok()) return ErrnoOf(device.error());
  wall_clock.Add(*device, before + (RealTime() - before) / 2);
  taken_when_read = impl->taken();
  return 0;
}

int QueryRtValues(ibv_context* context, ibv_values_ex* values) {
  if (!Of(context).IsOwnedByThisProcess()) return EIO;
  const uint32_t wanted = values->comp_mask;
  values->comp_mask = 0;
  if ((wanted & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
    clock_gettime(CLOCK_REALTIME, &values->raw_clock);
    if (Context& ours = Of(context); HasTimestamps(ours)) {
      std::lock_guard guard(ours.control);
      Result<uint64_t> clock = ours.device->QueryClock();
      if (!clock.ok()) return ErrnoOf(clock.error());
      values->raw_clock = {.tv_sec = 0, .tv_nsec = static_cast<long>(*clock)};
    }
    values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  }
  return 0;
}

namespace {

int TakeOne(Cq& cq) {
  // One behind the last reading of the clocks is taken behind the next.
  if (cq.has_wall_clock && cq.impl->buffered() == 0) return ENOENT;
  Result<size_t> polled = cq.impl->Poll({&cq.current, 1});
  if (!polled.ok()) return ErrnoOf(polled.error());
  if (*polled == 0) return ENOENT;
  clock_gettime(CLOCK_REALTIME, &cq.polled_at);
  // Here, not when the program asks: each completion that is taken needs no earlier readings any more.
  cq.wall_time_ns = cq.has_wall_clock && cq.current.timestamp_ns.has_value()
                        ? cq.wall_clock.ToHost(*cq.current.timestamp_ns)
                        : Nanoseconds(cq.polled_at);
  cq.ex.wr_id = cq.current.wr_id;
  cq.ex.status = ToWcStatus(cq.current.status);
  cq.service_level = ToServiceLevel(cq.context(), cq.current);
  return 0;
}

}  // namespace

void SetCqApi(Cq& cq) {
  ibv_cq_ex& ex = cq.ex;
  ex.start_poll = [](ibv_cq_ex* current, ibv_poll_cq_attr* attributes) {
    if (attributes->comp_mask != 0) return EINVAL;
    Cq& ours = Of(current);
    if (!ours.context().IsOwnedByThisProcess()) return EIO;
    ours.context().shared->CountCall();
    std::unique_lock control(ours.context().control, std::defer_lock);
    if (ours.has_wall_clock) control.lock();
    std::unique_lock guard(ours.lock);
    if (ours.has_wall_clock) {
      if (const int error = ours.ReadClocks(); error != 0) return error;
      control.unlock();
    }
    const int error = TakeOne(ours);
    if (error == 0) {
      ours.polling = std::move(guard);
      ours.polled_count = 1;
      ours.polled_all = false;
    } else {
      if (error == ENOENT) ours.OnPolled(0, false);
      guard.unlock();
      if (error == ENOENT) PauseAfterEmptyPoll(ours);
    }
    return error;
  };
  ex.next_poll = [](ibv_cq_ex* current) {
    Cq& ours = Of(current);
    const int error = TakeOne(ours);
    if (error == 0) ++ours.polled_count;
    ours.polled_all = error == ENOENT;
    return error;
  };
  ex.end_poll = [](ibv_cq_ex* current) {
    Cq& ours = Of(current);
    std::unique_lock<std::mutex> guard = std::move(ours.polling);
    ours.OnPolled(ours.polled_count, !ours.polled_all);
  };
  ex.read_opcode = [](ibv_cq_ex* current) { return ToWcOpcode(Of(current).current.opcode); };
  ex.read_vendor_err = [](ibv_cq_ex* current) { return Of(current).current.vendor_err; };
  ex.read_byte_len = [](ibv_cq_ex* current) { return Of(current).current.byte_len; };
  ex.read_imm_data = [](ibv_cq_ex* current) { return ToWc(Of(current).current).imm_data; };
  ex.read_qp_num = [](ibv_cq_ex* current) { return Of(current).current.qp_num; };
  ex.read_src_qp = [](ibv_cq_ex* current) { return Of(current).current.src_qp; };
  ex.read_wc_flags = [](ibv_cq_ex* current) { return ToWc(Of(current).current).wc_flags; };
  // If the device does not timestamp completions, this is the host's time of the poll.
  ex.read_completion_ts = [](ibv_cq_ex* current) {
    const Cq& ours = Of(current);
    return ours.current.timestamp_ns.value_or(Nanoseconds(ours.polled_at));
  };
  ex.read_completion_wallclock_ns = [](ibv_cq_ex* current) { return Of(current).wall_time_ns; };
  // InfiniBand only: Ethernet has no LIDs.
  ex.read_slid = [](ibv_cq_ex*) { return uint32_t{0}; };
  ex.read_sl = [](ibv_cq_ex* current) { return Of(current).service_level; };
  ex.read_dlid_path_bits = [](ibv_cq_ex*) { return uint8_t{0}; };
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                int vector) {
  VIREO_PASS(ibv_create_cq, context, cqe, cq_context, channel, vector);
  if (cqe <= 0 || vector < 0) return Null(EINVAL);
  Cq* cq = CreateCq(context, static_cast<uint32_t>(cqe), cq_context, channel, static_cast<uint32_t>(vector));
  return cq == nullptr ? nullptr : cq->base();
}

VIREO_API int ibv_resize_cq(ibv_cq* cq, int cqe) {
  VIREO_PASS(ibv_resize_cq, cq, cqe);
  Cq& ours = Of(cq);
  Context& context = ours.context();
  if (!context.IsOwnedByThisProcess()) return EIO;
  if (cqe <= 0 || static_cast<uint32_t>(cqe) > context.device->attributes().max_cqe) return EINVAL;
  std::lock_guard control(context.control);
  // A command's answer comes behind the completions of what was done before, which count.
  if (auto port = context.device->QueryPort(); !port.ok()) return ErrnoOf(port.error());
  std::lock_guard guard(ours.lock);
  if (Status resized = ours.impl->Resize(static_cast<uint32_t>(cqe)); !resized.ok()) return ErrnoOf(resized.error());
  cq->cqe = cqe;
  return 0;
}

VIREO_API int ibv_destroy_cq(ibv_cq* cq) {
  VIREO_PASS(ibv_destroy_cq, cq);
  Cq& ours = Of(cq);
  Context& context = ours.context();
  if (!context.IsOwnedByThisProcess()) return 0;
  {
    std::lock_guard guard(context.control);
    if (ours.impl.use_count() != 1) return EBUSY;
    context.cqs.erase(ours.impl->cqn());  // no more events
    if (ours.channel != nullptr) context.watcher->Remove(ours);
    ours.impl.reset();
    ours.parent_domain.End();
    context.DropStaleEvents();
  }
  if (ours.channel != nullptr) ours.channel->Discard(ours);
  // Wait until all read events are acknowledged: their readers hold the pointer.
  pthread_mutex_lock(&cq->mutex);
  while (cq->comp_events_completed != ours.events_read || cq->async_events_completed != ours.async_events_read) {
    pthread_cond_wait(&cq->cond, &cq->mutex);
  }
  pthread_mutex_unlock(&cq->mutex);
  std::lock_guard guard(context.control);
  if (ours.channel != nullptr) --ours.channel->channel.refcnt;
  pthread_cond_destroy(&cq->cond);
  pthread_mutex_destroy(&cq->mutex);
  delete &ours;
  return 0;
}
