// SPDX-License-Identifier: Apache-2.0
// The objects behind libibverbs' pointers: its public structure first, then private members. Allocated with new;
// deleted by the verb that destroys them.
//
// Lock order: Context::control (everything but posting and polling), Qp::send, Qp::receive or Srq::receive,
// VectorWatcher's, Cq::lock, Channel::lock, DatagramReceives'. A context belongs to the process that opened it: in a
// child of fork() calls fail, and destruction has no effect.
#pragma once

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/ibverbs/datagrams.h"
#include "host/ibverbs/passthrough.h"
#include "host/service/client.h"
#include "host/verbs/clock_relation.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "host/verbs/shared_receive_queue.h"

namespace vireo::ibverbs {

using host::Result;
using host::Status;

struct Qp;
struct Cq;
struct Srq;
struct Mr;
class VectorWatcher;

inline constexpr uint8_t kPort = 1;
inline constexpr uint16_t kFullPkey = 0xffff;                           // the only partition of RoCE
inline constexpr uint32_t kVirtioVendor = 0x1af4, kVirtioNet = 0x1041;  // PCI numbers
inline constexpr uint32_t kPortCapFlags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;

// One line to stderr, if VIREO_LOG is set.
void Log(const std::string& text);
// Logs `error` and returns the closest errno.
int ErrnoOf(const host::Error& error);
// Sets errno and returns null; for verbs that return a pointer.
std::nullptr_t Null(int error);
inline std::nullptr_t Null(const host::Error& error) { return Null(ErrnoOf(error)); }
// Sets errno and returns -1.
int MinusOne(int error);

// The socket paths in VIREO_SOCKET.
std::vector<std::string> Sockets();

struct Device {
  ibv_device device{};
  // libmlx5 and libefa cast every ibv_device to libibverbs' private structure and compare members behind it: zeros must
  // be there.
  uint8_t padding[256]{};
  std::string socket;
  service::SharedDevice::Info info;
  std::shared_ptr<const service::GidTable> gids;
  std::atomic<uint32_t> gid_table_length = 0;  // 0: not known yet
};
// The devices of Sockets() that answer, in that order. Never freed.
std::vector<Device*> VisibleDevices();

struct Context {
  verbs_context extended{};  // ends with the ibv_context
  service::SharedDevice* shared = nullptr;
  std::shared_ptr<verbs::Device> device;
  uint32_t fork_depth = 0;  // of the owning process
  std::mutex control;
  std::optional<uint32_t> gid_table_length;  // cached
  std::unordered_map<uint32_t, Qp*> qps;
  std::unordered_map<uint32_t, Cq*> cqs;
  std::unordered_map<uint32_t, Srq*> srqs;
  std::unordered_map<uint32_t, Mr*> mrs;  // by number; of this process's memory
  DatagramReceives datagrams;
  std::unique_ptr<VectorWatcher> watcher;
  bool link_up = false;
  // Asynchronous events. async_fd is an epoll descriptor: readable while the service's socket has one, or `pending`
  // holds one, which `pending_signal` (an eventfd) then shows. Both under `control`.
  std::deque<host::DeviceEvent> pending;
  host::FileDescriptor pending_signal, async;

  Context() { extended.context.cmd_fd = -1; }
  ~Context();
  bool IsOwnedByThisProcess() const;
  // Makes `async`. False: errno.
  bool OpenEvents();
  // Takes the unread events of objects that do not exist any more out of the queue: none is delivered, and none reaches
  // a later object with the same number. Call it with `control` held, after the destruction.
  void DropStaleEvents();
  // The entry of the GID table, if it is in use.
  std::optional<service::Gid> FindGid(uint32_t index) const;
};
Context& Of(ibv_context* context);
// Rights of peers, and the local one, that the device has for some memory: to flush for persistence needs persistent.
inline uint32_t RemoteRights(const Context& context) {
  return context.device->all_access() |
         (context.device->has_flush(spec::FlushPlacement::kPersistence) ? spec::IbAccessFlags::kFlushPersistent : 0);
}
// Number of forks between the first process and this one.
uint32_t ForkDepth();

// A thread domain. Objects of a parent domain with one keep their locks, as verbs allow.
struct Td {
  ibv_td td{};
  std::atomic<uint32_t> users = 0;  // parent domains
};

struct Pd;
// An object names a protection domain, which cannot be deallocated meanwhile.
class PdUse {
 public:
  PdUse() = default;
  explicit PdUse(ibv_pd* pd);
  ~PdUse() { End(); }
  PdUse(PdUse&& other) noexcept : pd_(std::exchange(other.pd_, nullptr)) {}
  PdUse& operator=(PdUse&& other) noexcept {
    End();
    pd_ = std::exchange(other.pd_, nullptr);
    return *this;
  }
  void End();
  bool has_value() const { return pd_ != nullptr; }

 private:
  Pd* pd_ = nullptr;
};

struct Pd {
  ibv_pd pd{};
  std::shared_ptr<verbs::ProtectionDomain> impl;
  std::atomic<uint32_t> users = 0;  // objects that name it, parent domains too
  PdUse base;                       // of a parent domain: its protection domain, whose `impl` this one has
  Td* td = nullptr;
};
inline PdUse::PdUse(ibv_pd* pd) : pd_(reinterpret_cast<Pd*>(pd)) { ++pd_->users; }
inline void PdUse::End() {
  if (pd_ != nullptr) --pd_->users;
  pd_ = nullptr;
}

struct Mr {
  ibv_mr mr{};
  unsigned int access = 0;
  host::DmaBuffer memory;  // outlives the region
  std::shared_ptr<verbs::MemoryRegion> impl;
  PdUse pd;
};

struct Mw {
  ibv_mw mw{};
  std::shared_ptr<verbs::MemoryWindow> impl;
  PdUse pd;
};

struct Ah {
  ibv_ah ah{};
  PdUse pd;
  std::shared_ptr<verbs::AddressHandle> impl;
};

// A completion channel: a queue of completion events. `channel.fd` is one end of a socket pair that holds one byte (the
// token) while events are pending, so that it can be polled and made non-blocking like the kernel's.
struct Channel {
  ibv_comp_channel channel{};
  std::mutex lock;
  std::deque<Cq*> events;
  int other_end = -1;
  bool has_token = false;

  ~Channel();
  void Push(Cq& cq);
  // Takes the next event; 0 or an errno.
  int Take(Cq*& cq);
  // Discards the events of a CQ.
  void Discard(const Cq& cq);

 private:
  void SendToken();
};

struct Cq {
  ibv_cq_ex ex{};
  std::shared_ptr<verbs::CompletionQueue> impl;
  PdUse parent_domain;
  Channel* channel = nullptr;
  uint16_t vector = 0;
  std::mutex lock;  // of impl and the following members
  bool armed = false;
  uint64_t taken_when_armed = 0;  // impl->taken() then
  // Number of (oldest) completions kept by impl that were already there at arming: the device notifies only of later
  // ones.
  size_t unnotified = 0;
  // Since its last event was read, the program's last poll was full: completions may be left.
  std::atomic<bool> last_poll_full = false;
  timespec polled_at{};                  // when it took `current`
  uint32_t events_read = 0;              // completion events read by the program; under Channel::lock
  uint32_t async_events_read = 0;        // under Context::control
  std::unique_lock<std::mutex> polling;  // from start_poll to end_poll
  size_t polled_count = 0;               // since start_poll
  bool polled_all = false;               // next_poll found none
  uint8_t service_level = 0;             // of `current`
  verbs::Completion current{};
  bool has_wall_clock = false;      // the program asked for it, and the device has timestamps
  verbs::ClockRelation wall_clock;  // to CLOCK_REALTIME
  uint64_t wall_time_ns = 0;        // of `current`
  uint64_t taken_when_read = 0;     // impl->taken() at its last reading

  Context& context() { return Of(ex.context); }
  ibv_cq* base() { return reinterpret_cast<ibv_cq*>(&ex); }
  // Reads the clocks behind the completions that are there; with Context::control and `lock` held. 0 or an errno.
  int ReadClocks();
  // The vector has fired: for this CQ or another one, of this or another process.
  void OnInterrupt();
  // Call with `lock` held after the program polled `count` completions; `was_full`: as many as requested.
  //
  // Verbs guarantee an event only for the next completion after arming. Real adapters compare with the consumer index
  // at arming, so programs also get an event for completions already there, and rely on it: perftest with -e takes an
  // event, arms, polls 16 once, and sleeps although more are there. But adapters never raise an event without a
  // completion, which would happen if arming itself raised one for completions that the next poll takes (ib_read_lat
  // exits then). So an event is raised when a poll after arming leaves some of them, or when a program arms after a
  // poll that left some.
  void OnPolled(size_t count, bool was_full);
};

// A work request under construction by ibv_wr_*.
struct WorkRequest {
  verbs::SendRequest request;
  std::vector<spec::RdmaSge> sg_list;
  std::vector<uint8_t> inline_data;
};

struct Qp {
  ibv_qp_ex ex{};
  std::shared_ptr<verbs::QueuePair> impl;
  PdUse pd;
  ibv_qp_init_attr init{};
  bool has_wr_api = false;
  std::mutex send, receive;
  uint32_t async_events_read = 0;         // under Context::control
  std::unique_lock<std::mutex> building;  // from wr_start to wr_complete or wr_abort
  std::vector<WorkRequest> work;          // reused: the first `work_count` are valid
  size_t work_count = 0;
  int work_error = 0;

  Context& context() const { return Of(ex.qp_base.context); }
};

struct Srq {
  ibv_srq srq{};
  std::shared_ptr<verbs::SharedReceiveQueue> impl;
  PdUse pd;
  ibv_srq_attr attributes{};       // max_wr, max_sge
  std::mutex receive;              // of posting, and of the limit
  uint32_t async_events_read = 0;  // under Context::control

  Context& context() { return Of(srq.context); }
};

inline Td& Of(ibv_td* td) { return *reinterpret_cast<Td*>(td); }
inline Pd& Of(ibv_pd* pd) { return *reinterpret_cast<Pd*>(pd); }
inline Mr& Of(ibv_mr* mr) { return *reinterpret_cast<Mr*>(mr); }
inline Mw& Of(ibv_mw* mw) { return *reinterpret_cast<Mw*>(mw); }
inline Ah& Of(ibv_ah* ah) { return *reinterpret_cast<Ah*>(ah); }
inline Channel& Of(ibv_comp_channel* channel) { return *reinterpret_cast<Channel*>(channel); }
inline Cq& Of(ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
inline Cq& Of(ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
inline Srq& Of(ibv_srq* srq) { return *reinterpret_cast<Srq*>(srq); }
inline Qp& Of(ibv_qp* qp) { return *reinterpret_cast<Qp*>(qp); }
inline Qp& Of(ibv_qp_ex* qp) { return *reinterpret_cast<Qp*>(qp); }

// A thread that waits for interrupts of the vectors in use and calls OnInterrupt of their CQs.
class VectorWatcher {
 public:
  explicit VectorWatcher(Context& context);
  ~VectorWatcher();
  // The vector that the fewest CQs use. Callers hold Context::control, as for Add.
  uint16_t Choose() const;
  int Add(Cq& cq);  // 0 or an errno
  // On return, the thread does not access the CQ any more.
  void Remove(Cq& cq);

 private:
  struct Vector {
    int fd = -1;
    std::vector<Cq*> users;
  };
  void Run();

  Context* context_;
  mutable std::mutex lock_;
  std::vector<Vector> vectors_;
  int wake_ = -1;
  bool stop_ = false;
  std::thread thread_;
};

// --- Verbs behind verbs_context and the tables in objects.
int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t bytes);
int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                  size_t bytes);
// A link's rate as sysfs shows it: "100 Gb/sec (4X EDR)".
std::string RateText(uint32_t mbps);
// raw_clock is the clock of completion timestamps: the device's, as nanoseconds in tv_nsec, or the host's if the device
// has none.
int QueryRtValues(ibv_context* context, ibv_values_ex* values);
ibv_cq_ex* CreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* init);
ibv_td* AllocTd(ibv_context* context, ibv_td_init_attr* init);
int DeallocTd(ibv_td* td);
ibv_pd* AllocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* init);
// What on-demand paging is supported for.
ibv_odp_caps OdpCaps(const Context& context);
int AdviseMr(ibv_pd* pd, ib_uverbs_advise_mr_advice advice, uint32_t flags, ibv_sge* list, uint32_t count);
ibv_qp* CreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* init);
int PollCq(ibv_cq* cq, int count, ibv_wc* completions);
int ReqNotifyCq(ibv_cq* cq, int solicited_only);
ibv_mw* AllocMw(ibv_pd* pd, ibv_mw_type type);
int DeallocMw(ibv_mw* mw);
int BindMw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
// What a work request of this QP needs to bind a window; 0 or an errno.
int SetBind(const Qp& qp, const ibv_mw& mw, uint32_t rkey, const ibv_mw_bind_info& info, verbs::SendRequest& out);
int PostSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int PostRecv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int PostSrqRecv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);
void SetWrApi(Qp& qp);
void SetCqApi(Cq& cq);

// Converts to the device's format; 0 or an errno. A MAC address that cannot be derived from the GID is left 0: the
// service resolves it.
int ToAhAttr(Context& context, const ibv_ah_attr& attributes, spec::RdmaAhAttr& out);
// Of a datagram's completion, what other adapters report of RoCE as its service level, and UCX takes from there: bit 3
// for UDP and the type of the network header, 1: IPv6, 2: IPv4. 0: any other completion, or not known, because the
// header is not in one piece, the receive was a shared one, or the memory has another address than its region.
uint8_t ToServiceLevel(Context& context, const spec::RdmaCqReq& completion);
void FromAhAttr(const spec::RdmaAhAttr& in, ibv_ah_attr& out);
ibv_wc ToWc(const spec::RdmaCqReq& completion);
ibv_wc_opcode ToWcOpcode(spec::IbWcOpcode opcode);
ibv_wc_status ToWcStatus(spec::IbWcStatus status);

}  // namespace vireo::ibverbs
