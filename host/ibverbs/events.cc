// SPDX-License-Identifier: Apache-2.0
// Completion channels, the thread behind them, and asynchronous events.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {

// --- Channel

Channel::~Channel() {
  if (channel.fd >= 0) close(channel.fd);
  if (other_end >= 0) close(other_end);
}

void Channel::SendToken() {
  if (has_token || events.empty()) return;
  const char token = 0;
  has_token = send(other_end, &token, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

void Channel::Push(Cq& cq) {
  std::lock_guard guard(lock);
  events.push_back(&cq);
  SendToken();
}

int Channel::Take(Cq*& cq) {
  for (;;) {
    char token = 0;
    // Blocks unless the descriptor is non-blocking. Never returns 0: this process holds the other end.
    if (recv(channel.fd, &token, 1, 0) < 0) return errno;
    std::lock_guard guard(lock);
    has_token = false;
    if (events.empty()) continue;  // the token was for a CQ that was destroyed meanwhile
    cq = events.front();
    events.pop_front();
    ++cq->events_read;
    cq->last_poll_full = false;
    SendToken();
    return 0;
  }
}

void Channel::Discard(const Cq& cq) {
  std::lock_guard guard(lock);
  std::erase(events, &cq);
  if (!events.empty() || !has_token) return;
  char token = 0;
  if (recv(channel.fd, &token, 1, MSG_DONTWAIT) == 1) has_token = false;
}

// --- VectorWatcher

VectorWatcher::VectorWatcher(Context& context)
    : context_(&context), vectors_(context.shared->vectors()), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Block signals: they are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

VectorWatcher::~VectorWatcher() {
  {
    std::lock_guard guard(lock_);
    stop_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
}

uint16_t VectorWatcher::Choose() const {
  std::lock_guard guard(lock_);
  const auto least = std::ranges::min_element(vectors_, {}, [](const Vector& vector) { return vector.users.size(); });
  return static_cast<uint16_t>(least - vectors_.begin());
}

int VectorWatcher::Add(Cq& cq) {
  const int fd = context_->shared->vector_fd(cq.vector);
  if (fd < 0) return EIO;
  {
    std::lock_guard guard(lock_);
    vectors_[cq.vector].fd = fd;
    vectors_[cq.vector].users.push_back(&cq);
  }
  eventfd_write(wake_, 1);  // wake the thread: one more descriptor to poll
  return 0;
}

void VectorWatcher::Remove(Cq& cq) {
  std::lock_guard guard(lock_);
  std::erase(vectors_[cq.vector].users, &cq);
}

void VectorWatcher::Run() {
  std::vector<pollfd> fds;
  std::vector<size_t> of;  // vector of fds[i + 1]
  for (;;) {
    fds.assign(1, {.fd = wake_, .events = POLLIN, .revents = 0});
    of.clear();
    {
      std::lock_guard guard(lock_);
      if (stop_) return;
      for (size_t vector = 0; vector < vectors_.size(); ++vector) {
        if (vectors_[vector].users.empty()) continue;
        fds.push_back({.fd = vectors_[vector].fd, .events = POLLIN, .revents = 0});
        of.push_back(vector);
      }
    }
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    eventfd_t ignored = 0;
    if (fds[0].revents != 0) eventfd_read(wake_, &ignored);
    for (size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      // Clear the counter before polling the CQs, so that no interrupt is lost.
      eventfd_read(fds[i].fd, &ignored);
      std::lock_guard guard(lock_);
      for (Cq* cq : vectors_[of[i - 1]].users) cq->OnInterrupt();
    }
  }
}

// --- Asynchronous events

namespace {

// True: verbs have such an event, and its object exists (still).
bool IsDeliverable(const Context& context, const host::DeviceEvent& event) {
  if (event.kind != host::DeviceEvent::Kind::kRdma) return event.kind != host::DeviceEvent::Kind::kConfigChanged;
  switch (event.rdma.event_type) {
    case spec::RdmaEventType::kCqErr: return context.cqs.contains(event.rdma.element);
    case spec::RdmaEventType::kQpFatal:
    case spec::RdmaEventType::kQpReqErr:
    case spec::RdmaEventType::kQpAccessErr:
    case spec::RdmaEventType::kCommEst:
    case spec::RdmaEventType::kSqDrained:
    case spec::RdmaEventType::kQpLastWqeReached: return context.qps.contains(event.rdma.element);
    case spec::RdmaEventType::kSrqErr:
    case spec::RdmaEventType::kSrqLimitReached: return context.srqs.contains(event.rdma.element);
    case spec::RdmaEventType::kDeviceFatal:
    case spec::RdmaEventType::kPortActive:
    case spec::RdmaEventType::kPortErr: return true;
    default: return false;
  }
}

// Converts to a verbs event and counts it as read; false if its object does not exist (any more).
bool Translate(Context& context, const host::DeviceEvent& in, ibv_async_event& out) {
  out = {};
  if (in.kind == host::DeviceEvent::Kind::kNeedsReset) {
    out.event_type = IBV_EVENT_DEVICE_FATAL;
    return true;
  }
  if (in.kind == host::DeviceEvent::Kind::kGidTableChanged) {
    out.event_type = IBV_EVENT_GID_CHANGE;
    out.element.port_num = kPort;
    return true;
  }
  if (in.kind != host::DeviceEvent::Kind::kRdma) return false;
  out.event_type = static_cast<ibv_event_type>(in.rdma.event_type);
  switch (in.rdma.event_type) {
    case spec::RdmaEventType::kCqErr: {
      const auto cq = context.cqs.find(in.rdma.element);
      if (cq == context.cqs.end()) return false;
      ++cq->second->async_events_read;
      out.element.cq = cq->second->base();
      return true;
    }
    case spec::RdmaEventType::kQpFatal:
    case spec::RdmaEventType::kQpReqErr:
    case spec::RdmaEventType::kQpAccessErr:
    case spec::RdmaEventType::kCommEst:
    case spec::RdmaEventType::kSqDrained:
    case spec::RdmaEventType::kQpLastWqeReached: {
      const auto qp = context.qps.find(in.rdma.element);
      if (qp == context.qps.end()) return false;
      ++qp->second->async_events_read;
      out.element.qp = &qp->second->ex.qp_base;
      return true;
    }
    case spec::RdmaEventType::kSrqErr:
    case spec::RdmaEventType::kSrqLimitReached: {
      const auto srq = context.srqs.find(in.rdma.element);
      if (srq == context.srqs.end()) return false;
      if (in.rdma.event_type == spec::RdmaEventType::kSrqLimitReached) {
        // Receives that were posted since the limit was armed put it off.
        std::lock_guard guard(srq->second->receive);
        const Result<bool> is_reached = srq->second->impl->ConfirmLimit();
        if (!is_reached.ok()) Log(ToString(is_reached.error()));
        if (!is_reached.ok() || !*is_reached) return false;
      }
      ++srq->second->async_events_read;
      out.element.srq = &srq->second->srq;
      return true;
    }
    case spec::RdmaEventType::kDeviceFatal: return true;
    case spec::RdmaEventType::kPortActive:
    case spec::RdmaEventType::kPortErr:
      context.link_up = in.rdma.event_type == spec::RdmaEventType::kPortActive;
      out.element.port_num = kPort;
      return true;
    default: return false;  // a virtqueue error: its QP or CQ has its own event
  }
}

}  // namespace

bool Context::OpenEvents() {
  pending_signal = host::FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  async = host::FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {pending_signal.get(), shared->event_fd()}) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (epoll_ctl(async.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  }
  return true;
}

void Context::DropStaleEvents() {
  // A lost connection is reported by the next call.
  for (;;) {
    Result<std::optional<host::DeviceEvent>> polled = device->PollEvent();
    if (!polled.ok() || !polled->has_value()) break;
    pending.push_back(**polled);
  }
  std::erase_if(pending, [this](const host::DeviceEvent& event) { return !IsDeliverable(*this, event); });
  eventfd_t ignored = 0;
  eventfd_read(pending_signal.get(), &ignored);
  if (!pending.empty()) eventfd_write(pending_signal.get(), 1);
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  VIREO_PASS(ibv_create_comp_channel, context);
  if (!Of(context).IsOwnedByThisProcess()) return Null(EIO);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  auto channel = std::make_unique<Channel>();
  channel->channel = {.context = context, .fd = ends[0], .refcnt = 0};
  channel->other_end = ends[1];
  return &channel.release()->channel;
}

VIREO_API int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  VIREO_PASS(ibv_destroy_comp_channel, channel);
  if (!Of(channel->context).IsOwnedByThisProcess()) return 0;
  {
    std::lock_guard guard(Of(channel->context).control);
    if (channel->refcnt != 0) return EBUSY;
  }
  delete &Of(channel);
  return 0;
}

VIREO_API int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  VIREO_PASS(ibv_get_cq_event, channel, cq, cq_context);
  Cq* ours = nullptr;
  if (int error = Of(channel).Take(ours); error != 0 || ours == nullptr) return MinusOne(error);
  *cq = ours->base();
  *cq_context = ours->ex.cq_context;
  return 0;
}

VIREO_API void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
  VIREO_PASS(ibv_ack_cq_events, cq, count);
  if (count == 0) return;
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_cond_broadcast(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

VIREO_API int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  VIREO_PASS(ibv_get_async_event, context, event);
  Context& ours = Of(context);
  if (!ours.IsOwnedByThisProcess()) return MinusOne(EIO);
  for (;;) {
    {
      std::lock_guard guard(ours.control);
      if (!ours.pending.empty()) {
        const vireo::host::DeviceEvent first = ours.pending.front();
        ours.pending.pop_front();
        eventfd_t ignored = 0;
        if (ours.pending.empty()) eventfd_read(ours.pending_signal.get(), &ignored);
        if (Translate(ours, first, *event)) return 0;
        continue;
      }
      Result<std::optional<vireo::host::DeviceEvent>> polled = ours.device->PollEvent();
      if (!polled.ok()) return MinusOne(ErrnoOf(polled.error()));
      if (polled->has_value()) {
        if (Translate(ours, **polled, *event)) return 0;
        continue;
      }
    }
    if ((fcntl(context->async_fd, F_GETFL) & O_NONBLOCK) != 0) return MinusOne(EAGAIN);
    pollfd waits{.fd = context->async_fd, .events = POLLIN, .revents = 0};
    if (poll(&waits, 1, -1) < 0) return -1;
  }
}

VIREO_API void ibv_ack_async_event(ibv_async_event* event) {
  VIREO_PASS(ibv_ack_async_event, event);
  pthread_mutex_t* mutex = nullptr;
  pthread_cond_t* cond = nullptr;
  uint32_t* completed = nullptr;
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      mutex = &event->element.cq->mutex;
      cond = &event->element.cq->cond;
      completed = &event->element.cq->async_events_completed;
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      mutex = &event->element.qp->mutex;
      cond = &event->element.qp->cond;
      completed = &event->element.qp->events_completed;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      mutex = &event->element.srq->mutex;
      cond = &event->element.srq->cond;
      completed = &event->element.srq->events_completed;
      break;
    default: return;
  }
  pthread_mutex_lock(mutex);
  ++*completed;
  pthread_cond_broadcast(cond);
  pthread_mutex_unlock(mutex);
}
