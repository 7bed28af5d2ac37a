// SPDX-License-Identifier: Apache-2.0
// Rules of virtqueues, split and packed, and of interrupts. Keeps a picture of each queue from the writes of driver and
// firmware, and from what the device has read: available entries and descriptors, as they were when it read them.
//
// Queues whose areas overlap those of another one, which only a faulty driver sets up, are not judged. Of a packed
// ring, the length of chains is not known.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/monitor/address_map.h"
#include "sim/monitor/cqe_elements.h"
#include "sim/monitor/extent_map.h"
#include "sim/monitor/findings.h"
#include "sim/nic/nic.h"
#include "sim/nic/push_places.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

// Where a work request of a send queue has its list of elements, or its inline data.
struct SendData {
  // As much as the device has read so far: of an rdma_sq_req from RdmaSqReq::kSizeOffset on, of an extensible one all.
  std::shared_ptr<std::vector<uint8_t>> bytes{};
  size_t begin = spec::RdmaSqReq::kBytes - spec::RdmaSqReq::kSizeOffset;
  bool is_extensible = false;
  uint32_t count = 0;  // of an extensible one: of elements, or bytes of inline data

  // None: not read yet.
  std::optional<uint32_t> Elements() const {
    if (is_extensible) return count;
    if (bytes == nullptr || bytes->size() < begin) return std::nullopt;
    return spec::RdmaSqReqNumSge::Decode(bytes->data()).num_sge;
  }
};

// From the first bytes of a work request of a send queue: what its completion needs, and what its message does.
struct SendHead {
  uint64_t wr_id = 0;
  spec::IbWrOpcode opcode{};
  uint8_t send_flags = 0;
  std::array<uint8_t, spec::Immdt::kBytes> imm_data{};
};
struct SendWork : SendHead {
  spec::RdmaSqReqRdma rdma;      // of an RDMA operation
  spec::RdmaSqReqAtomic atomic;  // of an atomic operation, ATOMIC WRITE or FLUSH
  spec::RdmaSqReqBind bind;      // of a bind
  spec::RdmaSqReqReg reg;        // of a registration: its pages are the list
  SendData data{};
};

class RingRules {
 public:
  class Listener {
   public:
    virtual void OnNetTransmit() = 0;
    // The device has read one more work request of the send queue, in the queue's order; none: one that cannot be
    // followed.
    virtual void OnSendWork(uint32_t qpn, std::optional<SendWork> work) = 0;
    virtual void OnSendUsed(uint32_t qpn, const std::optional<SendHead>& work) = 0;
    virtual void OnAnswer() = 0;                                      // of a control command
    virtual bool OnCqe(Cycle cycle, const spec::RdmaCqReq& cqe) = 0;  // true: it is solicited
    // `tail`: the work request, as much as the device has read of it.
    virtual void OnReceiveUsed(uint32_t qpn, std::shared_ptr<std::vector<uint8_t>> tail) = 0;
    // The device has reported that it moved the QP to ERR.
    virtual void OnQpFatal(uint32_t qpn) = 0;
    // Nothing keeps the QP from a work request that waits, in a device that is idle up to `deadline`.
    virtual bool MustSend(uint32_t qpn, Cycle deadline) = 0;
    // Memory that is neither a ring, an indirect table nor a work request.
    virtual void OnOtherRead(const BoundaryEvent& completion) = 0;

   protected:
    ~Listener() = default;
  };

  RingRules(Findings& findings, ExtentMap& memory, Listener& listener, uint32_t core_clock_khz)
      : findings_(findings), memory_(memory), listener_(listener), elements_(findings, core_clock_khz) {
    queues_.reserve(spec::kNotifyQueuesMax);  // they are costly to move
  }

  void OnReset();
  // Of the event that follows.
  void SetCycle(Cycle cycle) { now_ = cycle; }
  void OnConfigWrite(const BoundaryEvent& event);
  void OnBarWrite(const BoundaryEvent& event);
  void OnBarRead(const BoundaryEvent& event);
  void OnBarCompletion(uint64_t value);
  void SetRow(uint16_t queue, const spec::TableVirtqueue& row);
  void SetCq(const spec::TableCqContext& cq) { elements_.SetCq(cq); }
  // The receive queue of this number is shared: its buffers are used in any order.
  void SetShared(uint32_t number, bool is_shared);
  void SetWindow(uint16_t queue, const spec::TableWindow& window);
  // The ABI profile towards the driver: in rfc-v2 the arm register does not exist.
  // Nor do extensible work requests.
  void SetProfile(spec::Profile profile) {
    has_arm_register_ = spec::ConstantsOf(profile).rdma_has_cq_arm != 0;
    has_extensible_ = profile == spec::Profile::kVireo;
  }
  // Firmware armed the CQ of this queue. It may take effect behind CQEs that become visible meanwhile.
  void OnArm(uint16_t queue, bool solicited, bool next_completion);
  // Adds what is a violation if nothing follows: interrupts that are owed.
  void Finish();
  // True: the access is to a ring.
  bool OnDmaRead(const BoundaryEvent& event);
  void OnDmaCompletion(const BoundaryEvent& event);
  bool OnDmaWrite(const BoundaryEvent& event);
  // The bus has refused the last write, which began at this address.
  void OnDmaRefusal(uint64_t address);
  void OnMsix(Cycle cycle, uint16_t vector);
  // Writes to a ring that have begun and not ended; empty: none.
  std::string Unfinished() const;
  // False: the CQ may have failed, with unknown effects on its queue pairs.
  bool CanComplete(uint32_t cqn) const;
  // The device has found no buffer for an event: what it would have reported is not known.
  bool has_lost_events() const { return has_lost_events_; }
  // What is left to do of a device that is idle up to `deadline`; empty: nothing.
  std::string Owed(Cycle deadline) const;

 private:
  struct Descriptor {
    // Where its buffer is kept. A buffer that another one replaces there, with the same address, is in memory_ from
    // then on. kNew: not yet, while the answer to a read of descriptors is judged.
    enum class Kept : uint8_t { kInMemory, kCqe, kEvent, kWork, kReceive, kNew };
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint16_t flags = 0, next = 0;
    uint16_t id = 0;  // packed
    bool is_known = false;
    bool is_available = false;  // packed: read as available and not used since
    Kept kept{};
  };
  struct Queue {
    // As written to common configuration and by firmware.
    uint16_t size = 0, vector = spec::kVirtioMsiNoVector;
    uint64_t desc = 0, driver = 0, device = 0;
    spec::TableQueueKind kind{};
    uint32_t owner = 0;
    bool has_window = false;
    uint64_t window_base = 0, window_last = 0;
    // Since it was enabled.
    bool is_live = false;  // its memory may be accessed
    bool is_packed = false;
    bool is_judged = false;     // its rings overlap no others
    bool is_resetting = false;  // reset requested and not acknowledged
    uint64_t used_bytes = 0;    // written to used elements
    uint16_t used_index = 0;
    uint64_t used = 0;       // buffers behind used_index
    uint64_t available = 0;  // behind the available index that the device has read
    uint32_t filled = 0;     // CQEs that are written and whose buffers are not used yet
    bool is_rung = false;    // by the driver, and not read since
    bool is_read = false;    // by the device
    bool is_broken = false;  // it stops: a buffer is outside of its window, or the device has reported an error
    // A write to its used ring was refused: no further used index comes, but work requests of a send queue end still.
    bool is_refused = false;
    // A send queue used a buffer in front of its turn: a work request that cannot be read is not used, but then the
    // queue is reported as broken. (docs/decisions/0003)
    struct Skip {
      Cycle cycle = 0;
      uint32_t used = 0, oldest = 0;
    };
    std::optional<Skip> skip;
    size_t cqes = 0;  // of a CQ: its buffers in cqes_
    // Of a CQ: how it is armed, and whether an interrupt is owed, since when. `solicited`: `used` of the last solicited
    // CQE; solicited_ahead: of those behind the used index.
    bool is_armed_next = false, is_armed_solicited = false, owes = false, is_armed_by_firmware = false;
    uint64_t arm_answers = 0;  // with is_armed_by_firmware: RingRules::answers_ then
    std::vector<uint64_t> solicited_ahead;
    Cycle owed_since = 0;
    std::optional<uint64_t> solicited;
    std::optional<std::pair<uint16_t, uint32_t>> packed_length;  // written to a descriptor that is not used yet
    std::map<uint16_t, uint16_t> packed_ids;  // written to descriptors of a shared receive queue that are not used yet
    std::array<uint8_t, spec::VirtqUsedElem::kBytes> element{};
    std::vector<int32_t> heads;       // available ring as read; -1: not read
    std::vector<bool> are_heads_new;  // send queues: read since the last work request of that place was found
    std::vector<Descriptor> descriptors;
    // Send queues: what is pushed, and what was, until the device may have taken it, or has passed it.
    PushPlaces places;
    std::optional<PushPlaces::Pushed> pushed;
    // Send queues: number of work requests that were found, and the addresses of those that were not read yet.
    uint64_t found = 0;
    std::vector<uint64_t> unread;
    std::map<uint64_t, std::vector<std::pair<uint64_t, uint32_t>>> tables;  // by head: buffers of its indirect table
  };
  enum class Part : uint8_t { kDescriptors, kDriver, kDevice };
  struct Area {
    uint64_t begin = 0, end = 0;
    uint16_t queue = 0;
    Part part{};
  };
  struct Read {
    enum class Use : uint8_t { kOther, kDescriptors, kDriver, kTable, kWork, kWorkTail, kReceive } use{};
    uint16_t queue = 0;
    uint64_t epoch = 0;
    uint16_t head = 0;           // of an indirect table
    uint64_t work = 0;           // address of a work request
    std::vector<uint8_t> bytes;  // of a descriptor or work request that is not complete yet
  };
  // A buffer of a completion queue.
  struct Cqe {
    uint16_t queue = 0, head = 0;
    uint32_t bytes = 0, have = 0;
    std::array<uint8_t, spec::RdmaCqReq::kBytes> content{};
  };
  // What the device reads first of a work request.
  static constexpr size_t kWorkBytes = spec::RdmaSqReq::kInlineDataOffset;
  static constexpr size_t kExtensibleBytes = spec::kDmaFetchBytes;
  struct Receive {
    uint16_t queue = 0, head = 0;
    uint32_t bytes = 0;
    std::shared_ptr<std::vector<uint8_t>> tail{};  // as much as the device has read
  };
  struct Work {
    bool IsExtensible() const { return bytes < spec::RdmaSqReq::kBytes; }
    size_t FirstBytes() const { return IsExtensible() ? std::min<size_t>(bytes, kExtensibleBytes) : kWorkBytes; }
    uint16_t queue = 0, head = 0;
    uint32_t bytes = 0;
    std::shared_ptr<std::vector<uint8_t>> tail{};  // see SendData
    bool is_read = false;                          // its first bytes
    std::array<uint8_t, std::max(kWorkBytes, kExtensibleBytes)> first{};
  };
  struct Table {
    uint64_t end = 0;
    uint16_t queue = 0, head = 0;
  };

  void WriteCommon(uint64_t offset, uint64_t value, unsigned bytes);
  void Enable(uint16_t index);
  void Release(uint16_t index);
  void ResetPositions(uint16_t index);
  // That begins there or before, as the nearest one, and does not end before; null: none.
  const Area* AreaAt(uint64_t address);
  void SetDescriptor(uint16_t index, uint16_t number, const uint8_t* bytes);
  void AddTableEntry(uint16_t index, uint16_t head, const uint8_t* bytes);
  void AddBuffer(uint16_t index, uint64_t address, uint64_t bytes);
  // Ends the use of a chain's memory.
  void DropChain(uint16_t index, uint16_t head);
  void DropBuffer(uint16_t index, Descriptor& descriptor, uint16_t number);
  void WriteEvent(const BoundaryEvent& event);
  void WriteUsed(Cycle cycle, uint16_t index, uint64_t at, std::span<const uint8_t> bytes);
  void UsedElement(Cycle cycle, uint16_t index);
  // Of a send queue: judges a buffer that was used in front of its turn, behind what the device has reported.
  void CheckSkip(uint16_t index);
  void ReportSkip(uint16_t index, const Queue::Skip& skip);
  void UsedIndex(Cycle cycle, uint16_t index, uint16_t value);
  void WritePacked(Cycle cycle, uint16_t index, uint64_t at, std::span<const uint8_t> bytes);
  // A buffer was returned: its CQE, if the queue has them, must be complete.
  void Returned(Cycle cycle, uint16_t index, uint16_t head);
  // Finds the work requests that the device has learned of, in the queue's order.
  void ExpectWorks(uint16_t index);
  void SetWork(uint16_t index, uint64_t address, std::span<const uint8_t> bytes);
  // What was pushed is known to the device as if it had read it, if it is the queue's next.
  void TakePushed(uint16_t index);
  static SendHead ParseHead(const Work& read);
  static SendWork ParseWork(const Work& read);
  // False: what was known is other now. A program must not change a work request that it has posted, so a hostile one
  // has.
  static bool ExtendTail(std::vector<uint8_t>& tail, uint64_t begin, uint64_t address, std::span<const uint8_t> bytes);
  // The buffer that has this address; none: null.
  template <typename Buffer>
  static typename AddressMap<Buffer>::Found FindBuffer(AddressMap<Buffer>& buffers, uint64_t address);
  // Null, or not read: none.
  static std::optional<SendWork> WorkOf(const Work* work);
  static std::optional<SendHead> HeadOf(const Work* work);
  static bool IsInWindow(const Queue& queue, uint64_t address, uint64_t bytes);
  static void Renew(std::shared_ptr<std::vector<uint8_t>>& tail);
  void AddWork(uint16_t index, uint16_t number, Descriptor& descriptor);
  void AddCqe(uint16_t index, uint16_t number, Descriptor& descriptor);
  void AddReceive(uint16_t index, uint16_t number, Descriptor& descriptor);
  template <typename Buffer>
  void Replace(const Buffer* other, uint64_t address);
  void MoveToMemory(uint16_t index, Descriptor& descriptor);
  void MarkPages(uint64_t address, uint64_t bytes);
  // False: the access is to none of them.
  bool MayBeKnown(uint64_t address) const { return pages_[(address >> 12) % pages_.size()]; }
  void Notify(const Queue& queue);
  static uint64_t Unseen(const Queue& queue, uint16_t seen);
  void Arm(uint16_t index, std::optional<uint16_t> seen, bool solicited, bool next_completion);
  void CheckArm(uint16_t index);
  void Owe(uint16_t index);
  void CheckOwed(uint16_t index);
  void OnMsixTable(const BoundaryEvent& event);
  bool CanInterrupt(uint16_t vector) const {
    return (msix_control_ & kMsixBits) == kMsixOn && unmasked_.contains(vector);
  }
  void RestartOwed();
  void CheckLength(Cycle cycle, uint16_t index, uint32_t bytes);
  // Those that the transport uses in the order in which they were made available.
  bool IsInOrder(const Queue& queue) const;
  // Packed ring of a shared receive queue: the buffer that is returned in this descriptor takes its place in the
  // records, and the one that was there, if it is still in use, the other place.
  void Exchange(uint16_t index, uint16_t number);
  std::string NameOf(uint16_t index) const;

  Findings& findings_;
  ExtentMap& memory_;
  Listener& listener_;
  CqeElements elements_;
  uint16_t selected_ = 0, config_vector_ = spec::kVirtioMsiNoVector;
  uint32_t feature_window_ = 0;
  bool is_packed_ = false, is_device_resetting_ = false, has_arm_register_ = true;
  bool has_extensible_ = true;
  uint64_t epoch_ = 0;  // of the latest enable
  std::vector<Queue> queues_;
  std::vector<uint64_t> epochs_;
  std::vector<uint16_t> live_;          // queues
  std::vector<Area> areas_;             // in the order of their begins, which differ
  std::array<uint32_t, 256> known_{};   // indexes of areas that were found, by a part of the page's number
  std::map<uint64_t, Table> tables_;    // indirect tables, by begin
  AddressMap<Cqe> cqes_;                // buffers of completion queues
  AddressMap<uint16_t> event_buffers_;  // of the event queue: its number
  bool has_lost_events_ = false;
  AddressMap<Work> works_;               // of send queues
  AddressMap<Receive> receives_;         // of receive queues
  std::unordered_set<uint32_t> shared_;  // numbers of shared receive queues
  std::vector<Read> reads_;              // by tag
  // Pages that may have rings, tables, work requests or CQEs, by a part of their number: most accesses are payload.
  std::bitset<4096> pages_;
  std::unordered_map<uint16_t, uint64_t> causes_;  // of interrupts, by vector
  struct BarRead {
    uint32_t bar = 0;
    uint64_t offset = 0;
    uint16_t queue = 0;
  };
  std::deque<BarRead> bar_reads_;
  // Interrupts that are owed.
  static constexpr Cycle kPatience = 100'000;  // far more than a write or a message needs
  static constexpr uint16_t kMsixOn = 0x8000,
                            kMsixBits = 0xc000;  // enabled; enabled, or all masked [PCIe 5.0, 7.7.2.2]
  Cycle now_ = 0;
  uint16_t msix_control_ = 0;
  std::unordered_set<uint16_t> unmasked_;
  std::vector<uint16_t> owing_;  // queues
  uint64_t answers_ = 0;         // times that commands of the control queue were answered
};

}  // namespace vireo::sim::monitor
