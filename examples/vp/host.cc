// SPDX-License-Identifier: Apache-2.0
#include "vp/host.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace vireo::examples {
namespace {

using host::Error;
using host::ErrorCode;
using sc_core::sc_time;
using spec::PciHeader;

// The memory map of this host, in bus addresses.
constexpr uint64_t kMemoryAddress = 0x1000'0000, kMemoryBytes = 0x100'0000;
constexpr uint64_t kMessageAddress = 0xfee0'0000;
constexpr uint64_t kBarAddress = uint64_t{1} << 40, kBarDistance = uint64_t{1} << 32;
constexpr unsigned kVectors = 64;
// Latency of bus and memory. A posted write takes this long, too, but its initiator does not wait.
const sc_time kReadLatency(450, sc_core::SC_NS), kWriteLatency(130, sc_core::SC_NS);

constexpr unsigned kBars = sizeof(PciHeader{}.base_address) / sizeof(uint32_t);
constexpr uint32_t BarRegister(unsigned bar) {
  return static_cast<uint32_t>(PciHeader::kBaseAddressOffset + bar * sizeof(uint32_t));
}

}  // namespace

class Host::Memory final : public host::DmaMemory {
 public:
  Memory(Host& host, size_t offset, size_t bytes)
      : DmaMemory(&host.memory_[offset], kMemoryAddress + offset, bytes), host_(host) {}
  ~Memory() override { host_.allocated_.erase(address() - kMemoryAddress); }

 private:
  Host& host_;
};

Host::Host(const sc_core::sc_module_name& name)
    : sc_core::sc_module(name),
      config_socket("config_socket"),
      memory_socket("memory_socket"),
      dma_socket("dma_socket"),
      memory_(kMemoryBytes),
      bar_bytes_(kBars),
      arrived_(kVectors) {
  dma_socket.register_b_transport(this, &Host::ServeDma);
  SC_THREAD(Run);
  set_stack_size(size_t{512} * 1024);
}

void Host::Run() {
  Enumerate();
  if (program) program();
}

// Assigns addresses to the BARs, as system software does before a driver is loaded. (The driver enables them.)
void Host::Enumerate() {
  for (unsigned bar = 0; bar + 1 < kBars; bar += 2) {  // all BARs have 64 bits
    const auto put = [&](uint64_t value) {
      WriteConfig(BarRegister(bar), 4, static_cast<uint32_t>(value));
      WriteConfig(BarRegister(bar + 1), 4, static_cast<uint32_t>(value >> 32));
    };
    put(~uint64_t{0});
    const uint64_t mask =
        (ReadConfig(BarRegister(bar), 4) & ~uint64_t{0xf}) | uint64_t{ReadConfig(BarRegister(bar + 1), 4)} << 32;
    bar_bytes_[bar] = ~mask + 1;  // 0: not implemented
    put(mask == 0 ? 0 : kBarAddress + bar * kBarDistance);
  }
}

// --- From the NIC

void Host::ServeDma(tlm::tlm_generic_payload& transaction, sc_time& delay) {
  const uint64_t address = transaction.get_address();
  const size_t bytes = transaction.get_data_length();
  uint8_t* const data = transaction.get_data_ptr();
  transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  delay += transaction.is_read() ? kReadLatency : kWriteLatency;
  if (transaction.is_write() && address == kMessageAddress) {
    const unsigned vector = data[0];  // EnableMsix uses the vector's number as message data
    if (vector < arrived_.size()) arrived_[vector] = true;
    is_signaled_ = true;
    message_.notify(delay);
  } else if (address < kMemoryAddress || address - kMemoryAddress > kMemoryBytes - bytes) {
    transaction.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  } else if (transaction.is_write()) {
    std::copy_n(data, bytes, &memory_[address - kMemoryAddress]);
  } else {
    std::copy_n(&memory_[address - kMemoryAddress], bytes, data);
  }
}

// --- To the NIC

template <typename Socket>
uint64_t Host::Access(Socket& socket, bool write, uint64_t address, unsigned bytes, uint64_t value) {
  const uint64_t ones = bytes >= sizeof value ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  if (!lost_.empty()) return ones;
  uint8_t data[sizeof value];
  for (unsigned i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(value >> 8 * i);
  tlm::tlm_generic_payload transaction;
  transaction.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  transaction.set_address(address);
  transaction.set_data_ptr(data);
  transaction.set_data_length(bytes);
  transaction.set_streaming_width(bytes);
  sc_time delay = sc_core::SC_ZERO_TIME;
  socket->b_transport(transaction, delay);
  wait(delay);
  if (!transaction.is_response_ok()) {
    lost_ = "access at " + std::to_string(address) + ": " + transaction.get_response_string();
    return ones;
  }
  uint64_t result = 0;
  for (unsigned i = 0; i < bytes; ++i) result |= uint64_t{data[i]} << 8 * i;
  return result;
}

host::Status Host::health() const {
  if (lost_.empty()) return {};
  return Error{ErrorCode::kLost, lost_};
}

uint32_t Host::ReadConfig(uint32_t offset, unsigned bytes) {
  return static_cast<uint32_t>(Access(config_socket, false, offset, bytes, 0));
}
void Host::WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) {
  Access(config_socket, true, offset, bytes, value);
}
uint64_t Host::ReadBar(unsigned bar, uint64_t offset, unsigned bytes) {
  wait(kReadLatency);
  return Access(memory_socket, false, kBarAddress + bar * kBarDistance + offset, bytes, 0);
}
void Host::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  wait(kWriteLatency);
  Access(memory_socket, true, kBarAddress + bar * kBarDistance + offset, bytes, value);
}

// --- Memory: first fit

host::Result<host::DmaBuffer> Host::AllocateDma(size_t bytes, size_t alignment) {
  if (bytes == 0 || alignment == 0) return Error{ErrorCode::kInvalidArgument, "no memory requested"};
  const auto aligned = [&](size_t offset) { return (offset + alignment - 1) / alignment * alignment; };
  size_t offset = 0;
  for (const auto& [begin, size] : allocated_) {
    if (offset + bytes <= begin) break;
    offset = aligned(begin + size);
  }
  if (offset + bytes > memory_.size()) return Error{ErrorCode::kNoMemory, std::to_string(bytes) + " bytes"};
  allocated_[offset] = bytes;
  std::fill_n(&memory_[offset], bytes, uint8_t{0});
  return host::DmaBuffer(std::make_unique<Memory>(*this, offset, bytes));
}

host::Result<host::DmaBuffer> Host::MapDma(uint8_t*, size_t) {
  return Error{ErrorCode::kUnsupported, "this host has no IOMMU"};
}

// --- Interrupts and time

host::Status Host::EnableMsix(unsigned count) {
  if (count > kVectors) return Error{ErrorCode::kInvalidArgument, std::to_string(count) + " vectors"};
  uint8_t bytes[spec::MsixCap::kBytes];
  for (uint32_t i = 0; i < sizeof bytes; ++i) {
    bytes[i] = static_cast<uint8_t>(ReadConfig(spec::kPciCapAtMsix + i, 1));
  }
  auto cap = spec::MsixCap::Decode(bytes);
  const uint64_t table = uint64_t{cap.table_offset} * 8;  // PCIe 5.0, 7.7.2.3
  for (unsigned vector = 0; vector < count; ++vector) {
    uint8_t entry[spec::MsixTableEntry::kBytes];
    spec::MsixTableEntry{.message_address = kMessageAddress, .message_data = vector}.Encode(entry);
    for (unsigned at = 0; at < sizeof entry; at += 4) {
      uint32_t word = 0;
      for (unsigned i = 0; i < 4; ++i) word |= uint32_t{entry[at + i]} << 8 * i;
      WriteBar(cap.table_bir, table + vector * sizeof entry + at, 4, word);
    }
  }
  cap.msix_enable = count != 0;
  cap.function_mask = false;
  cap.Encode(bytes);
  WriteConfig(spec::kPciCapAtMsix + 2, 2, static_cast<uint32_t>(bytes[2] | bytes[3] << 8));
  return health();
}

bool Host::TakeInterrupt(unsigned vector) {
  if (vector >= arrived_.size() || !arrived_[vector]) return false;
  arrived_[vector] = false;
  return true;
}

uint64_t Host::NowNs() { return static_cast<uint64_t>(sc_core::sc_time_stamp() / sc_time(1, sc_core::SC_NS)); }

void Host::Wait(uint64_t deadline_ns) {
  constexpr uint64_t kProgressNs = 100;  // so that simulated time advances in a polling loop
  const uint64_t now = NowNs();
  if (deadline_ns <= now || !is_signaled_) {
    const uint64_t nanoseconds = deadline_ns <= now ? kProgressNs : deadline_ns - now;
    wait(sc_time(static_cast<double>(nanoseconds), sc_core::SC_NS), message_);
  }
  is_signaled_ = false;
}

}  // namespace vireo::examples
