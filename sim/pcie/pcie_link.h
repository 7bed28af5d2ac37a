// SPDX-License-Identifier: Apache-2.0
// The PCI Express link between one NIC and its host: when requests, completions, writes and interrupts arrive. Times
// are computed from the occupancy of the two directions; there is no process per packet.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/pcie/host_memory.h"
#include "sim/time/scheduler.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct PcieParameters {
  const char* name;
  spec::PcieLinkSpeed speed;
  uint32_t lanes;
  uint32_t max_payload_bytes;       // MPS
  uint32_t max_read_request_bytes;  // MRRS
  uint32_t rcb_bytes;               // read completion boundary
  uint32_t outstanding_reads;       // tags of the link; a device with more waits for a free one
  uint32_t upstream_ns;     // device to host memory controller, last byte to last byte, without the time on the wire
  uint32_t downstream_ns;   // host to device, likewise
  uint32_t read_ns;         // host memory: from request to first data, at least
  uint32_t read_spread_ns;  // plus a uniform random 0 to this
  uint32_t write_buffer_beats;     // credits for DMA writes of the device
  uint32_t completion_timeout_ns;  // of device and host
};

// Overhead of a transaction layer packet (PCIe 5.0, 2.2.1, 3.6, 4.2.2): 4 bytes of framing, which hold the sequence
// number, a header of 3 double words (4 with a 64-bit address, used if and only if it is above 4 GiB), and the 4 bytes
// of the LCRC. 128b/130b encoding takes 2 of 130 bits. Acknowledges and credit updates take 8 % of the rest: between
// 62.96 and 57.88 Gb/s of Gen3 x8 in Neugebauer et al., "Understanding PCIe performance for end host networking"
// (2018), 3.
inline constexpr uint32_t kTlpShortBytes = 4 + 12 + 4;
inline constexpr uint32_t kTlpLongBytes = 4 + 16 + 4;
inline constexpr uint32_t kDllpPercent = 8;

// Resulting data rates: gen3x16 has 16 lanes x 8 GT/s x 128/130 / 8 = 15.754 GB/s, 14.494 without data link packets.
// - DMA writes of 256 bytes with 64-bit addresses: 256 of 280 bytes. gen3x8  6.626, gen3x16 13.251, gen4x16 26.503
// GB/s.
// - DMA reads by completions of 256 bytes: 256 of 276 bytes.         gen3x8  6.722, gen3x16 13.443, gen4x16 26.887
// GB/s. The device's own port adds a limit: datapath_bits x core clock = 16 GB/s at 512 bits and 250 MHz.
//
// Latencies are assumptions, not our measurements: they put a 64-byte read of an idle link at about half a microsecond
// for Gen3, as measured on servers of that time (same paper, 6), and somewhat less for Gen4.
inline constexpr std::array<PcieParameters, 3> kPciePresets = {{
    {.name = "gen3x8",
     .speed = spec::PcieLinkSpeed::kGen3,
     .lanes = 8,
     .max_payload_bytes = 256,
     .max_read_request_bytes = 512,
     .rcb_bytes = 64,
     .outstanding_reads = 256,
     .upstream_ns = 130,
     .downstream_ns = 130,
     .read_ns = 170,
     .read_spread_ns = 60,
     .write_buffer_beats = 64,
     .completion_timeout_ns = 50'000},
    {.name = "gen3x16",
     .speed = spec::PcieLinkSpeed::kGen3,
     .lanes = 16,
     .max_payload_bytes = 256,
     .max_read_request_bytes = 512,
     .rcb_bytes = 64,
     .outstanding_reads = 256,
     .upstream_ns = 130,
     .downstream_ns = 130,
     .read_ns = 170,
     .read_spread_ns = 60,
     .write_buffer_beats = 64,
     .completion_timeout_ns = 50'000},
    {.name = "gen4x16",
     .speed = spec::PcieLinkSpeed::kGen4,
     .lanes = 16,
     .max_payload_bytes = 256,
     .max_read_request_bytes = 512,
     .rcb_bytes = 64,
     .outstanding_reads = 256,
     .upstream_ns = 110,
     .downstream_ns = 110,
     .read_ns = 150,
     .read_spread_ns = 60,
     .write_buffer_beats = 64,
     .completion_timeout_ns = 50'000},
}};
// Null: no such preset.
const PcieParameters* FindPciePreset(std::string_view name);

// Link time of `bytes` (data, header and framing), rounded up to a picosecond.
Picoseconds PcieTime(const PcieParameters& parameters, uint64_t bytes);

// A fault of DMA reads, or of writes (kRefused), and its condition. If several hit one read, delays add up and the
// first other fault decides. Writes are posted: what the host does with them, as for its memory's permissions, is
// invisible to the device; the bus in front of the link can refuse one.
struct DmaFault {
  enum class Kind : uint8_t {
    kUnsupportedRequest,
    kCompleterAbort,
    kPoisoned,
    kTimeout,
    kDelay,    // a read of completion_timeout_ns or more times out
    kSpread,   // likewise, uniform random up to delay_ns: reads are reordered
    kSplit,    // completions end at every read completion boundary
    kRefused,  // a write: answered with an error, and never on the link
  };
  Kind kind = Kind::kUnsupportedRequest;
  // Which reads, or writes: all of these must hold.
  uint64_t address = 0;  // the request touches [address, address + bytes)
  uint64_t bytes = ~uint64_t{0};
  uint64_t nth = 0;                  // of the reads that touch it, from 1; 0: all
  uint64_t count = 1;                // with nth: number of reads from the nth on
  uint32_t per_million = 1'000'000;  // chance of each of them, by the link's random numbers
  // Effect.
  uint32_t after_bytes = 0;  // good data before the failure, rounded down to a completion; not for kPoisoned (all of
                             // it) and kDelay to kSplit
  uint32_t delay_ns = 0;     // kDelay, kSpread: added to the memory's latency
};

// Ordering (PCIe 5.0, 2.4.1, without relaxed or ID-based ordering):
// - DMA writes, MSI-X messages and BAR read completions reach the host in issue order: posted requests do not pass
//   posted requests, completions do not pass posted requests.
// - A read observes every earlier write: non-posted requests do not pass posted ones. Writes may pass reads, and do
//   where a read waits for one of the link's tags.
// - BAR writes reach the device in order; BAR reads and DMA completions do not pass BAR writes.
// - Completions of one read arrive in address order, those of different reads as the memory answers (2.3.1.1).
// Memory is sampled once per request: when its first data is ready.
class PcieLink final : public PcieEnvironment, private Scheduler::Client {
 public:
  struct Counters {
    uint64_t read_requests = 0, read_bytes = 0;  // bytes: delivered to the device
    uint64_t writes = 0, write_bytes = 0;        // that reached memory, or failed there
    uint64_t msix = 0, bar_writes = 0, bar_reads = 0;
    uint64_t failed_reads = 0, bar_timeouts = 0;
    uint64_t failed_writes = 0;   // without combined writes that fail later
    uint64_t faulted_reads = 0;   // hit by a DmaFault
    uint64_t refused_writes = 0;  // likewise
  };

  // `nic` and `memory` outlive the link. `random` is the link's alone.
  PcieLink(Scheduler& scheduler, const CoreClock& clock, const PcieParameters& parameters, const spec::Config& config,
           HostMemory& memory, std::mt19937_64 random);

  // Call before anything else.
  void Attach(Nic& nic) { nic_ = &nic; }
  // Call after a reset of the NIC: discards everything in flight (outstanding BAR reads return all ones), and grants
  // the first credits in cycle `first_input`.
  void Restart(Cycle first_input);

  // --- Host side. No call blocks; simulated time passes only when the scheduler runs.
  uint32_t ReadConfig(uint16_t offset, unsigned bytes);
  void WriteConfig(uint16_t offset, unsigned bytes, uint32_t value);
  // Posted: arrives in order after the link's latency.
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);
  // Calls done(value) when the completion has reached the host, after all earlier writes of the device; with all ones
  // if none arrives within completion_timeout_ns. `done` may use the link.
  void ReadBar(unsigned bar, uint64_t offset, unsigned bytes, std::function<void(uint64_t)> done);
  // Calls handler(vector) when a message arrives; all earlier writes of the device are in memory. It may use the link.
  void OnMsix(std::function<void(uint16_t)> handler) { on_msix_ = std::move(handler); }

  void AddFault(const DmaFault& fault) { faults_.push_back({fault, 0}); }
  void ClearFaults() { faults_.clear(); }

  // Called before the memory of a DMA read is sampled. While it returns false, the read waits, and it is called again
  // every kAskAgain: memory of another process that has not answered. To the device this is slow memory.
  void OnDmaRead(std::function<bool(uint64_t address, uint32_t bytes)> is_ready) { is_ready_ = std::move(is_ready); }
  static constexpr Picoseconds kAskAgain = 100'000;

  // A DMA read of external memory (HostMemory) also samples contiguous later reads that have reached the host, if they
  // start within its first `most_bytes`: somewhat earlier than alone, but never before an earlier write of the device.
  // 0: off. Not used with OnDmaRead().
  void SampleTogether(size_t most_bytes) { most_together_ = most_bytes; }

  // True: nothing is in flight in either direction.
  bool IsIdle() const;
  // BAR accesses that have not reached the device.
  size_t bar_accesses_outstanding() const { return bar_accesses_.size(); }
  const Counters& counters() const { return counters_; }
  const PcieParameters& parameters() const { return parameters_; }
  HostMemory& memory() { return memory_; }

  // For the device (through its tap).
  void CompleteBarRead(Cycle cycle, uint64_t value) override;
  void ReadDma(Cycle cycle, const DmaRead& read) override;
  void WriteDma(Cycle cycle, const DmaWrite& write) override;
  void SendMsix(Cycle cycle, uint16_t vector) override;

 private:
  enum class Event : uint8_t { kBar, kCompletion, kCredit, kHost, kRead, kReadTimeout, kBarTimeout, kRefusal };

  struct PendingRead {
    DmaRead request;
    std::vector<uint8_t> data;  // sampled when its first data is ready
    uint32_t sent = 0;
    DmaStatus status = DmaStatus::kOk;
    uint32_t good_bytes = 0;         // before `status`
    Picoseconds reached = kForever;  // when the request reached the host; kForever: no answer from memory
    bool is_sampled = false;
    bool is_split = false;  // at every boundary
  };
  struct Completion {  // on its way to the device
    DmaCompletion header;
    std::vector<uint8_t> data;
    uint32_t slot = 0;
  };
  struct BarAccess {  // on its way to the device
    bool is_write = false;
    unsigned bar = 0, bytes = 0;
    uint64_t offset = 0, value = 0;
    Cycle cycle = 0;
  };
  struct BarRead {  // not answered
    std::function<void(uint64_t)> done;
    unsigned bytes = 0;
    uint64_t number = 0;
    bool is_abandoned = false;
  };
  struct Arrival {  // on its way to the host
    enum class Kind : uint8_t { kWrite, kMsix, kBarCompletion } kind{};
    uint64_t address = 0, value = 0;
    std::vector<uint8_t> data;
  };
  struct ActiveFault {
    DmaFault fault;
    uint64_t seen = 0;
  };

  void OnTime(uint64_t cookie) override;
  uint64_t Cookie(Event event, uint64_t value) const;
  void Schedule(Picoseconds time, Event event, uint64_t value = 0);

  bool Hits(ActiveFault& active, uint64_t address, uint64_t bytes);
  bool IsRefused(const DmaWrite& write);
  Picoseconds PutUpstream(Picoseconds earliest, uint64_t bytes);
  Picoseconds PutDownstream(uint64_t bytes);
  void SendBarAccess(BarAccess access);
  void IssueRead(Picoseconds earliest, const DmaRead& read);
  void AnswerRead(uint32_t slot);
  void SampleWithOthers(const PendingRead& first);
  void PutCompletion(Picoseconds arrival, Completion completion);
  void DeliverCompletion();
  void DeliverToHost();
  void AnswerBarRead(uint64_t value);
  void ReturnBuffer(Picoseconds time, uint32_t beats);
  std::vector<uint8_t> TakeBuffer(std::span<const uint8_t> data);
  void KeepBuffer(std::vector<uint8_t> buffer);

  Scheduler& scheduler_;
  const CoreClock clock_;
  const PcieParameters parameters_;
  const uint32_t beat_bytes_;
  HostMemory& memory_;
  std::mt19937_64 random_;
  const Scheduler::ClientNumber client_;
  Nic* nic_ = nullptr;
  std::function<void(uint16_t)> on_msix_;
  std::function<bool(uint64_t, uint32_t)> is_ready_;
  size_t most_together_ = 0;
  std::vector<PendingRead*> together_;  // during SampleWithOthers only
  std::vector<uint8_t> together_data_;

  uint64_t epoch_ = 0;  // callbacks of earlier epochs are ignored
  Picoseconds upstream_free_ = 0, downstream_free_ = 0;
  Cycle bar_free_ = 0, completion_free_ = 0, credit_free_ = 0;
  Cycle last_bar_write_ = 0;

  std::vector<PendingRead> reads_;
  std::vector<uint32_t> free_reads_;
  std::deque<DmaRead> waiting_reads_;  // for a tag of the link
  std::deque<Completion> completions_;
  std::deque<BarAccess> bar_accesses_;
  std::deque<BarRead> bar_reads_;
  uint64_t bar_read_number_ = 0;
  std::deque<Arrival> arrivals_;
  std::deque<uint32_t> credits_;
  std::vector<std::vector<uint8_t>> free_buffers_;
  std::vector<ActiveFault> faults_;
  Counters counters_;
};

}  // namespace vireo::sim
