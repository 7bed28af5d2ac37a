// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/virtual_time.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <tuple>
#include <utility>

#include "host/driver/unix_socket.h"
#include "sim/simulator/process_activity.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

uint64_t SystemNs(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondNs + static_cast<uint64_t>(now.tv_nsec);
}

// Saturates: times from clients are untrusted.
Picoseconds ToPicoseconds(uint64_t ns) {
  return ns > kForever / kPicosecondsPerNanosecond ? kForever : ns * kPicosecondsPerNanosecond;
}
uint64_t ToNanoseconds(Picoseconds time) { return time == kForever ? ~uint64_t{0} : time / kPicosecondsPerNanosecond; }

}  // namespace

class VirtualTime::NicClock final : public service::ProgramClock {
 public:
  NicClock(VirtualTime& time, size_t nic) : time_(time), nic_(nic) {}
  int page() const override { return time_.file_.get(); }
  uint32_t call_cost_ns() const override { return time_.call_cost_ns_; }

  Client Attach(pid_t pid) override {
    const Client client = time_.next_client_++;
    time_.clients_[client] = {nic_, pid};
    ++time_.processes_[pid].clients;
    time_.Allow(pid, kSpinNs);
    return client;
  }
  void Detach(Client client) override {
    const auto found = time_.clients_.find(client);
    if (found == time_.clients_.end()) return;
    time_.waits_.remove_if([client](const Wait& wait) { return wait.client == client; });
    const auto process = time_.processes_.find(found->second.process);
    if (--process->second.clients == 0) time_.processes_.erase(process);
    time_.clients_.erase(found);
  }
  void OnMessage(Client client) override {
    time_.Allow(time_.clients_.at(client).process, kSpinNs);
    time_.last_exchange_ = time_.scheduler_.now();
  }
  void Publish() override { time_.Publish(); }
  void OnAwait(Client client, const service::Await& message, OnAnswer answer) override {
    time_.Allow(time_.clients_.at(client).process, kSpinNs);
    time_.waits_.push_back({client, message, std::move(answer), std::nullopt});
  }

 private:
  VirtualTime& time_;
  const size_t nic_;
};

host::Result<std::unique_ptr<VirtualTime>> VirtualTime::Create(Scheduler& scheduler, size_t nics,
                                                               uint32_t call_cost_ns) {
  std::unique_ptr<VirtualTime> time(new VirtualTime(scheduler, nics, call_cost_ns));
  time->file_ = host::FileDescriptor(::memfd_create("vireo-clock", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int file = time->file_.get();
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(service::kClockPageBytes)) != 0) {
    return host::SystemError("memory file of the clock");
  }
  void* const page = ::mmap(nullptr, service::kClockPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return host::SystemError("mapping of the clock");
  time->page_ = static_cast<service::ClockPage*>(page);
  // After sealing only this mapping is writable; programs cannot change the clock.
  if (::fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return host::SystemError("seals of the clock");
  }
  const auto whole_seconds = [](uint64_t ns) { return (ns / kSecondNs + 1) * kSecondNs; };
  time->page_->realtime_base_ns = whole_seconds(SystemNs(CLOCK_REALTIME));
  time->page_->monotonic_base_ns = whole_seconds(SystemNs(CLOCK_MONOTONIC));
  time->Publish();
  return time;
}

VirtualTime::VirtualTime(Scheduler& scheduler, size_t nics, uint32_t call_cost_ns)
    : scheduler_(scheduler), call_cost_ns_(call_cost_ns) {
  for (size_t nic = 0; nic < nics; ++nic) clocks_.push_back(std::make_unique<NicClock>(*this, nic));
}

VirtualTime::~VirtualTime() {
  if (page_ != nullptr) ::munmap(page_, service::kClockPageBytes);
}

service::ProgramClock& VirtualTime::clock(size_t nic) { return *clocks_.at(nic); }

void VirtualTime::Publish() {
  std::atomic_ref<uint64_t>(page_->now_ns).store(ToNanoseconds(scheduler_.now()), std::memory_order_release);
}

void VirtualTime::Allow(pid_t process, uint64_t processor_ns) {
  Process& one = processes_[process];
  one.is_spinning = false;
  one.mark_ns = ProcessorNs(process);
  one.allowed_ns = processor_ns;
  one.mark_real_ns = SystemNs(CLOCK_MONOTONIC);
}

bool VirtualTime::IsQuiet(pid_t number, Process& process) {
  std::vector<pid_t> waiting;
  for (const Wait& wait : waits_) {
    if (clients_.at(wait.client).process == number) waiting.push_back(wait.message.thread);
  }
  if (!IsRunning(number, waiting)) {
    Allow(number, kSpinNs);  // starts when it wakes up
    return true;
  }
  if (process.is_spinning) return true;
  process.is_spinning = ProcessorNs(number) - process.mark_ns >= process.allowed_ns ||
                        SystemNs(CLOCK_MONOTONIC) - process.mark_real_ns >= kStarvedNs;
  return process.is_spinning;
}

uint64_t VirtualTime::BusyNs() {
  // Longer than a program needs between two calls; a message ends the sleep early.
  constexpr uint64_t kRecheckNs = 50'000;
  for (auto& [number, process] : processes_) {
    if (number > 0 && !IsQuiet(number, process)) return kRecheckNs;
  }
  return 0;
}

Picoseconds VirtualTime::DueOf(const Wait& wait) {
  const Picoseconds until = std::max(ToPicoseconds(wait.message.until_ns), ToPicoseconds(wait.message.from_ns));
  if (!wait.written.has_value()) return until;
  return std::min(until, std::max(*wait.written, ToPicoseconds(wait.message.from_ns)));
}

Picoseconds VirtualTime::NextDue() const {
  Picoseconds due = kForever;
  for (const Wait& wait : waits_) due = std::min(due, DueOf(wait));
  return due;
}

bool VirtualTime::AnswerDue() {
  const auto order = [this](const Wait& wait) {
    return std::tuple(DueOf(wait), clients_.at(wait.client).nic, wait.client);
  };
  const auto first = std::ranges::min_element(waits_, {}, order);
  if (first == waits_.end() || DueOf(*first) > scheduler_.now()) return false;
  std::list<Wait> taken;
  taken.splice(taken.begin(), waits_, first);
  Allow(clients_.at(taken.front().client).process, kSpinNs);
  service::AwaitAnswer answer;
  answer.now_ns = ToNanoseconds(scheduler_.now());
  // Until the next event nothing can reach this program, so its clock may advance to it by itself.
  const bool is_settled = scheduler_.now() >= Settled();
  answer.horizon_ns = is_settled ? std::max(answer.now_ns, ToNanoseconds(scheduler_.next())) : answer.now_ns;
  taken.front().answer(answer);
  return true;
}

void VirtualTime::OnWrite(size_t nic, bool elsewhere) {
  last_exchange_ = scheduler_.now();
  if (!elsewhere) {
    for (Wait& wait : waits_) {
      if (wait.message.ends_at_write == 0 || wait.written.has_value() || clients_.at(wait.client).nic != nic) continue;
      wait.written = scheduler_.now();
      is_observable_ = true;
    }
    return;
  }
  for (const auto& [client, attached] : clients_) {
    const auto process = processes_.find(attached.process);
    if (attached.nic != nic || !process->second.is_spinning) continue;
    Allow(attached.process, kAfterWriteNs);
    is_observable_ = true;
  }
}

bool VirtualTime::TakeObservable() { return std::exchange(is_observable_, false); }

}  // namespace vireo::sim
