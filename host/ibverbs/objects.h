// SPDX-License-Identifier: Apache-2.0
// What the pointers of libibverbs point to here: its public structure first, then ours. Each is made by new and goes
// with the verb that destroys it.
//
// Locks, in the order in which they may be taken: Context::control (everything but posting and polling), Qp::send,
// Qp::receive, VectorWatcher's, Cq::lock, Channel::lock. A context belongs to the process that opened it: what a child
// of fork() does with one fails, or, to destroy, does nothing.
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
#include <vector>

#include "host/ibverbs/passthrough.h"
#include "host/service/client.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"

namespace vireo::ibverbs {

using host::Result;
using host::Status;

struct Qp;
struct Cq;
class VectorWatcher;

inline constexpr uint8_t kPort = 1;
inline constexpr uint16_t kFullPkey = 0xffff;  // the one partition of RoCE

// One line to stderr, if VIREO_LOG is set.
void Log(const std::string& text);
// The errno that says most about `error`, which is logged.
int ErrnoOf(const host::Error& error);
// Sets errno; for verbs that give a pointer.
std::nullptr_t Null(int error);
inline std::nullptr_t Null(const host::Error& error) { return Null(ErrnoOf(error)); }
// Sets errno; for verbs that give -1.
int Minus(int error);

// The services that VIREO_SOCKET names now.
std::vector<std::string> Sockets();

struct Device {
  ibv_device device{};
  // libmlx5 and libefa take each device for one of libibverbs' own and look at what follows: it must not be theirs.
  uint8_t beyond[256]{};
  std::string socket;
  service::SharedDevice::Info info;
};

struct Context {
  verbs_context extended{};  // ends with the ibv_context
  service::SharedDevice* shared = nullptr;
  std::shared_ptr<verbs::Device> device;
  uint32_t generation = 0;  // of the process that it belongs to
  std::mutex control;
  std::optional<uint32_t> gid_table_length;  // as the device said
  std::unordered_map<uint32_t, Qp*> qps;
  std::unordered_map<uint32_t, Cq*> cqs;
  std::unique_ptr<VectorWatcher> watcher;
  bool link_up = false;

  ~Context();
  bool IsOurs() const;
  // The entry of the GID table, or null.
  const service::SharedDevice::Info::Gid* FindGid(uint32_t index) const;
};
Context& Of(ibv_context* context);
// How many forks lie between the first process and this one.
uint32_t ProcessGeneration();

struct Pd {
  ibv_pd pd{};
  std::shared_ptr<verbs::ProtectionDomain> impl;
};

struct Mr {
  ibv_mr mr{};
  unsigned int access = 0;
  uint64_t iova = 0;
  host::DmaBuffer memory;  // outlives the region
  std::shared_ptr<verbs::MemoryRegion> impl;
};

struct Ah {
  ibv_ah ah{};
  std::shared_ptr<verbs::AddressHandle> impl;
};

// Where completion events wait. `channel.fd` is one end of a socket pair in which one byte lies while any wait, so that
// it can be polled and made non-blocking as the kernel's.
struct Channel {
  ibv_comp_channel channel{};
  std::mutex lock;
  std::deque<Cq*> events;
  int other_end = -1;
  bool has_token = false;

  ~Channel();
  void Push(Cq& cq);
  // The next one; 0 or an errno.
  int Take(Cq*& cq);
  // Throws away the events of a CQ.
  void Forget(const Cq& cq);

 private:
  void Show();
};

struct Cq {
  ibv_cq_ex ex{};
  std::shared_ptr<verbs::CompletionQueue> impl;
  Channel* channel = nullptr;
  uint16_t vector = 0;
  std::mutex lock;  // of impl and of what follows
  bool armed = false;
  uint64_t taken_when_armed = 0;  // impl->taken() then
  // Of the completions that impl keeps, so many (the oldest) were there when it armed: the device tells of later ones.
  size_t rest = 0;
  // Since its last event was read, a program polled, and the last time it took as many as it wanted: there may be more.
  std::atomic<bool> left_some = false;
  timespec polled_at{};                  // when it took `current`
  uint32_t events_read = 0;              // completion events that a program has got; under Channel::lock
  uint32_t async_events_read = 0;        // under Context::control
  std::unique_lock<std::mutex> polling;  // from start_poll to end_poll
  size_t polled_count = 0;               // since start_poll
  bool polled_all = false;               // next_poll found none
  spec::RdmaCqReq current{};

  Context& context() { return Of(ex.context); }
  ibv_cq* base() { return reinterpret_cast<ibv_cq*>(&ex); }
  // The vector spoke: for this CQ or for another one, of this process or of others.
  void OnInterrupt();
  // A program took `count` completions, with `lock` held; whether it had room for no more.
  //
  // verbs promise an event for the next completion after arming only. Adapters compare what the program had polled when
  // it armed, so programs get one for what is there already, too, and rely on it: perftest with -e takes an event,
  // arms, polls 16 once, and sleeps though more are there. But an event without a completion is none of what they do:
  // it would come if arming itself told of what the next poll takes (ib_read_lat ends then). So an event follows when a
  // poll after arming leaves some of them, or when a program arms after a poll that left some.
  void OnPolled(size_t count, bool took_all_it_could);
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
  ibv_qp_init_attr init{};
  bool has_wr_api = false;
  std::mutex send, receive;
  uint32_t async_events_read = 0;         // under Context::control
  std::unique_lock<std::mutex> building;  // from wr_start to wr_complete or wr_abort
  std::vector<WorkRequest> work;          // reused: `work_count` count
  size_t work_count = 0;
  int work_error = 0;

  Context& context() { return Of(ex.qp_base.context); }
};

inline Pd& Of(ibv_pd* pd) { return *reinterpret_cast<Pd*>(pd); }
inline Mr& Of(ibv_mr* mr) { return *reinterpret_cast<Mr*>(mr); }
inline Ah& Of(ibv_ah* ah) { return *reinterpret_cast<Ah*>(ah); }
inline Channel& Of(ibv_comp_channel* channel) { return *reinterpret_cast<Channel*>(channel); }
inline Cq& Of(ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
inline Cq& Of(ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
inline Qp& Of(ibv_qp* qp) { return *reinterpret_cast<Qp*>(qp); }
inline Qp& Of(ibv_qp_ex* qp) { return *reinterpret_cast<Qp*>(qp); }

// A thread that waits for interrupts of the vectors in use and tells their CQs; begins with the first one.
class VectorWatcher {
 public:
  explicit VectorWatcher(Context& context);
  ~VectorWatcher();
  // The vector that the fewest CQs use. Callers hold Context::control, as for Add.
  uint16_t Choose() const;
  int Add(Cq& cq);  // 0 or an errno
  // After it, the thread knows nothing of the CQ.
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
  bool ends_ = false;
  std::thread thread_;
};

// --- Verbs behind verbs_context and the tables in objects.
int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t bytes);
int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                  size_t bytes);
// The host's clock: raw_clock, with which timestamps of completions can be compared.
int QueryRtValues(ibv_context* context, ibv_values_ex* values);
ibv_cq_ex* CreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* init);
ibv_qp* CreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* init);
int PollCq(ibv_cq* cq, int count, ibv_wc* completions);
int ReqNotifyCq(ibv_cq* cq, int solicited_only);
int PostSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int PostRecv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int PostSrqRecv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);
void SetWrApi(Qp& qp);
void SetCqApi(Cq& cq);

// The address as the device takes it; 0 or an errno. Where the MAC address does not follow from the GID it is left 0,
// for the service to find out.
int ToAhAttr(Context& context, const ibv_ah_attr& attributes, spec::RdmaAhAttr& out);
void FromAhAttr(const spec::RdmaAhAttr& in, ibv_ah_attr& out);
ibv_wc ToWc(const spec::RdmaCqReq& completion);
ibv_wc_opcode ToWcOpcode(spec::IbWcOpcode opcode);
ibv_wc_status ToWcStatus(spec::IbWcStatus status);

}  // namespace vireo::ibverbs
