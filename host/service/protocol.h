// SPDX-License-Identifier: Apache-2.0
// The protocol between service and client: one message per packet of a Unix SOCK_SEQPACKET socket, file descriptors by
// SCM_RIGHTS. Both ends run on one machine, so structures are sent as in memory: little-endian, without padding,
// reserved bytes 0.
//
// A client sends kHello first. It may have one request outstanding; each request has one answer, in order: Answer,
// followed by the payload that the request's comment names, or by the error text. A doorbell has no answer. A request
// that is not permitted is answered with an error; a malformed one (unknown type, wrong length, before kHello) closes
// the connection.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace vireo::service {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint32_t kProtocolVersion = 7;
// Longest message. Longer page lists are passed in a memory file.
inline constexpr size_t kMaxMessageBytes = 64 * 1024;
inline constexpr size_t kMaxMessageFds = 3;
inline constexpr size_t kMaxGids = 128;  // of a NIC
inline constexpr size_t kMaxPathBytes = 256;

enum class MessageType : uint16_t {
  kHello = 1,
  kExecute = 2,
  kMap = 3,
  kMapUser = 4,
  kUnmap = 5,
  kMaxQueueSize = 6,
  kEnableQueue = 7,
  kResetQueue = 8,
  kVectorFd = 9,
  kOpenUcma = 10,
  kDoorbell = 11,
  kAwait = 12,
  kContextFile = 13,
  kJoin = 14,
  kFindPd = 15,
  kFindRegion = 16,
  kCounters = 17,
  kIsNeighbor = 18,
  kObjects = 19,
};

// Every request starts with it.
struct Header {
  MessageType type{};
  uint16_t reserved = 0;
  uint32_t bytes = 0;   // of the whole message
  uint64_t serial = 0;  // repeated in the answer
};

struct Answer {
  uint64_t serial = 0;
  uint32_t bytes = 0;  // of the whole message
  uint8_t error = 0;   // 0: success; else 1 + host::ErrorCode, and text follows
  uint8_t rdma = 0;    // spec::RdmaError: the device's reason, if there is one
  uint16_t reserved = 0;
};

// --- kHello
struct Hello {
  Header header{.type = MessageType::kHello};
  uint32_t version = kProtocolVersion;
  uint32_t force_agent = 0;  // 1: do not access the client's memory directly
  // Address of these bytes in the client; the service tries to read them there, and to write them back.
  uint64_t probe_address = 0;
  uint8_t probe[16]{};
};
// Payload. Fds: the events' socket; the read-only memory file of the GidPage; with uses_agent, the agent's socket; with
// has_clock, the read-only memory file of the ClockPage.
struct HelloAnswer {
  uint32_t version = kProtocolVersion;
  uint8_t profile = 0;  // spec::Profile
  uint8_t uses_agent = 0;
  uint8_t ring_packed = 0;
  uint8_t ring_event_idx = 0;
  uint8_t ring_indirect = 0;
  uint8_t sends_position = 0;  // feature notification_data
  uint8_t active_mtu = 0;      // spec::IbMtu
  uint8_t link_up = 0;
  uint16_t vectors = 0;      // of this context
  uint16_t first_queue = 0;  // index of the control queue
  uint32_t max_cqs = 0;      // of the device
  uint32_t max_qps = 0;
  uint32_t own_cqs = 0;  // that this process can have
  uint32_t own_qps = 0;
  uint32_t ifindex = 0;
  uint32_t link_mbps = 0;
  uint32_t call_cost_ns = 0;  // with has_clock
  uint32_t reserved0 = 0;
  uint64_t node_guid = 0;  // little-endian, unlike on the wire
  uint8_t mac[6]{};
  uint8_t has_clock = 0;  // programs run in simulated time
  uint8_t reserved1 = 0;
  char name[32]{};  // all null-terminated
  char netdev[32]{};
  char pmem[kMaxPathBytes]{};  // directory of persistent memory; empty: none
};
// An entry of the GID table, and the table by index. Slots are accessed in atomic words; what was read is valid if
// `sequence` was even before and is the same after.
struct GidEntryBytes {
  uint8_t is_used = 0;
  uint8_t type = 0;  // spec::RdmaGidType
  uint8_t reserved[6]{};
  uint8_t gid[16]{};
};
struct GidSlot {
  uint64_t words[sizeof(GidEntryBytes) / sizeof(uint64_t)]{};
};
struct GidPage {
  uint64_t sequence = 0;
  GidSlot slots[kMaxGids]{};
};

// --- kExecute: a RoCE command for the control queue. `request_bytes` and `tail_bytes` follow; with tail_in_file, the
// tail is at the start of the attached memory file. Payload: the response.
struct Execute {
  Header header{.type = MessageType::kExecute};
  uint8_t ctrl_class = 0;
  uint8_t command = 0;
  uint8_t tail_in_file = 0;
  uint8_t reserved = 0;
  uint32_t request_bytes = 0;
  uint32_t tail_bytes = 0;
  uint32_t response_bytes = 0;
};
inline constexpr uint32_t kMaxTailBytes = 64U << 20;

// --- kMap: page-aligned part of the attached memory file, which has F_SEAL_SHRINK. kMapUser: page-aligned memory of
// the client. Payload of both: MapAnswer.
struct Map {
  Header header{.type = MessageType::kMap};
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
struct MapUser {
  Header header{.type = MessageType::kMapUser};
  uint64_t address = 0;
  uint64_t bytes = 0;
};
struct MapAnswer {
  uint64_t address = 0;  // device address
};
// --- kUnmap: the mapping that starts at this device address. kBadState while a region or queue uses it.
struct Unmap {
  Header header{.type = MessageType::kUnmap};
  uint64_t address = 0;
};

// --- kMaxQueueSize: of a queue of a CQ or QP of this context. Payload: MaxQueueSizeAnswer.
struct MaxQueueSize {
  Header header{.type = MessageType::kMaxQueueSize};
  uint32_t index = 0;
  uint32_t reserved = 0;
};
struct MaxQueueSizeAnswer {
  uint32_t size = 0;
};

// --- kEnableQueue: ring and buffers lie in one mapping. Payload: EnableQueueAnswer.
inline constexpr uint32_t kNoVector = ~uint32_t{0};
struct EnableQueue {
  Header header{.type = MessageType::kEnableQueue};
  uint32_t index = 0;
  uint32_t size = 0;
  uint32_t vector = kNoVector;
  uint32_t reserved = 0;
  uint64_t descriptors = 0;
  uint64_t driver = 0;
  uint64_t device = 0;
};
struct EnableQueueAnswer {
  uint64_t doorbell_offset = 0;
  uint16_t doorbell_value = 0;
  uint8_t doorbell_bar = 0;
  uint8_t reserved[5]{};
};
// --- kResetQueue. Not needed after the queue's CQ or QP was destroyed: that resets its queues.
struct ResetQueue {
  Header header{.type = MessageType::kResetQueue};
  uint32_t index = 0;
  uint32_t reserved = 0;
};

// --- kVectorFd. Fd: the vector's eventfd.
struct VectorFd {
  Header header{.type = MessageType::kVectorFd};
  uint32_t vector = 0;
  uint32_t reserved = 0;
};

// --- kOpenUcma. Fd: a socket as ucma_protocol.h describes.
struct OpenUcma {
  Header header{.type = MessageType::kOpenUcma};
};

// --- kDoorbell: a write of `width` bytes to the notification address, the arm register, or where work requests are
// pushed, of a queue that the context has enabled. Others are ignored, as by the device.
struct DoorbellWrite {
  Header header{.type = MessageType::kDoorbell};
  uint64_t offset = 0;
  uint64_t value = 0;
  uint8_t bar = 0;
  uint8_t width = 0;
  uint8_t reserved[6]{};
};

// --- kAwait, if HelloAnswer has a clock: answered when simulated time has reached from_ns and then until_ns; with
// ends_at_write, also as soon as the device writes to memory that the service maps for its clients (their queues).
// While a client computes (program_clock.h), simulated time does not advance. Payload: AwaitAnswer.
struct Await {
  Header header{.type = MessageType::kAwait};
  uint64_t from_ns = 0;
  uint64_t until_ns = 0;
  int32_t thread = 0;  // gettid() of the caller, which is blocked meanwhile
  uint32_t ends_at_write = 0;
};
struct AwaitAnswer {
  uint64_t now_ns = 0;
  // Time of the next simulation event, unless a client causes an earlier one; at least now_ns.
  uint64_t horizon_ns = 0;
};
// Start of the clock's file. Accessed atomically; the bases are constant, in whole seconds.
struct ClockPage {
  uint64_t now_ns = 0;             // simulated
  uint64_t realtime_base_ns = 0;   // CLOCK_REALTIME when now_ns was 0
  uint64_t monotonic_base_ns = 0;  // CLOCK_MONOTONIC likewise
};
inline constexpr size_t kClockPageBytes = 4096;

// --- A message on the events' socket is an encoded spec::RdmaEvent, or one of these bytes.
inline constexpr uint8_t kEventConfigChanged = 1;
inline constexpr uint8_t kEventNeedsReset = 2;
inline constexpr uint8_t kEventGidTableChanged = 3;

// --- kContextFile. Fd: stands for this context; a duplicate in another process permits it to join. Its bytes are the
// device's name.
struct ContextFile {
  Header header{.type = MessageType::kContextFile};
};
// --- kJoin: the attached descriptor is the file of another context of this NIC, or of one that it joined. From now on
// their commands may name each other's protection domains and regions. A protection domain lives until the last context
// ends, a region until the context that registered it does: the memory is that process's. kBadState: this context has
// objects.
struct Join {
  Header header{.type = MessageType::kJoin};
};
// --- kFindPd, kFindRegion: refused if there is none of this number. Payload of kFindRegion: RegionAnswer.
struct FindPd {
  Header header{.type = MessageType::kFindPd};
  uint32_t pdn = 0;
  uint32_t reserved = 0;
};
struct FindRegion {
  Header header{.type = MessageType::kFindRegion};
  uint32_t mrn = 0;
  uint32_t reserved = 0;
};
struct RegionAnswer {
  uint32_t lkey = 0;
  uint32_t rkey = 0;
  uint64_t address = 0;  // virtual, of the first byte
  uint64_t length = 0;
};

// --- kCounters: of the port, now. Payload: a CounterBytes for each.
struct Counters {
  Header header{.type = MessageType::kCounters};
};
struct CounterBytes {
  char name[56]{};  // null-terminated
  uint64_t value = 0;
};

// --- kIsNeighbor: whether this is the address of a NIC that the service knows without a search on the wire: one of the
// same simulation. Payload: NeighborAnswer.
struct IsNeighbor {
  Header header{.type = MessageType::kIsNeighbor};
  uint8_t gid[16]{};
};
struct NeighborAnswer {
  uint32_t is_known = 0;
};

// --- kObjects: those of a kind that the service's clients have, from number `first`, in the order of their numbers, up
// to kMaxObjectsAtATime. The asking context is none of them. Payload: an ObjectBytes for each.
enum class ObjectKind : uint8_t { kContext, kPd, kMr, kCq, kQp, kSrq };
inline constexpr size_t kMaxObjectsAtATime = 256;
struct Objects {
  Header header{.type = MessageType::kObjects};
  uint32_t first = 0;
  ObjectKind kind{};
  uint8_t with_state = 0;  // ask the device for the state of queue pairs, which takes some microseconds each
  uint8_t reserved[2]{};
};
struct ObjectBytes {
  uint32_t number = 0;
  int32_t process = 0;   // 0: not known
  uint32_t context = 0;  // number of its context
  uint32_t pdn = 0;      // of a region, queue pair, shared receive queue; or the protection domain itself
  uint32_t users = 0;  // of a protection domain or completion queue: how often regions, queues, address handles name it
  uint32_t cqe = 0;    // of a completion queue
  uint64_t length = 0;  // of a region
  uint32_t srqn = 0;    // of a queue pair that has a shared receive queue; else 0
  uint8_t qp_type = 0;  // spec::IbQpType
  // With with_state:
  uint8_t qp_state = 0;  // spec::IbQpState
  uint8_t reserved[2]{};
  uint32_t dest_qpn = 0;
  uint32_t sq_psn = 0;
  uint32_t rq_psn = 0;
  uint32_t reserved1 = 0;
};

// --- The agent's socket: the service sends requests, the client's agent thread answers, one at a time. A write's data
// follows the request, a read's data the answer.
inline constexpr size_t kAgentChunkBytes = 32 * 1024;
struct AgentRequest {
  uint64_t address = 0;
  uint32_t bytes = 0;  // 1 … kAgentChunkBytes
  uint32_t is_write = 0;
};
struct AgentAnswer {
  uint32_t is_done = 0;
  uint32_t reserved = 0;
};

template <typename Message>
concept WireMessage = std::is_trivially_copyable_v<Message> && sizeof(Message) % alignof(Message) == 0;

// The message at the start of `bytes`, which must be long enough.
template <WireMessage Message>
Message Get(std::span<const uint8_t> bytes) {
  Message message;
  std::memcpy(&message, bytes.data(), sizeof message);
  return message;
}
template <WireMessage Message>
std::span<const uint8_t> BytesOf(const Message& message) {
  return {reinterpret_cast<const uint8_t*>(&message), sizeof message};
}

static_assert(sizeof(Header) == 16 && sizeof(Answer) == 16 && sizeof(Hello) == 48 && sizeof(GidSlot) == 24);
static_assert(sizeof(HelloAnswer) == 128 + kMaxPathBytes && sizeof(Execute) == 32 && sizeof(EnableQueue) == 56);
static_assert(sizeof(Await) == 40 && sizeof(AwaitAnswer) == 16 && sizeof(ClockPage) == 24);
static_assert(sizeof(DoorbellWrite) == 40 && sizeof(AgentRequest) == 16);
static_assert(sizeof(ObjectBytes) == 56 &&
              sizeof(Answer) + kMaxObjectsAtATime * sizeof(ObjectBytes) <= kMaxMessageBytes);

}  // namespace vireo::service
