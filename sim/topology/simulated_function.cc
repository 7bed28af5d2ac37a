// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/simulated_function.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

namespace vireo::sim {
namespace {

using host::Error;
using host::ErrorCode;
using spec::PciHeader;

constexpr unsigned kBars = sizeof(PciHeader{}.base_address) / sizeof(uint32_t);
constexpr uint64_t kPageBytes = 4096;
// BAR addresses: above memory's windows and below 2^52, one range per register.
constexpr uint64_t kFirstBarAddress = uint64_t{1} << 48;
constexpr uint64_t kBarDistance = uint64_t{1} << 40;
constexpr uint64_t kLowBarAddress = 0x8000'0000;   // of a 32-bit BAR
constexpr uint32_t kMessageAddress = 0xfee0'0000;  // of PCs
constexpr unsigned kCapabilityAlign = 4;

constexpr uint32_t BarRegister(unsigned bar) {
  return static_cast<uint32_t>(PciHeader::kBaseAddressOffset + bar * sizeof(uint32_t));
}

spec::PcieSize SizeCode(uint32_t bytes) {
  return static_cast<spec::PcieSize>(
      std::bit_width(std::max<uint32_t>(bytes, spec::kPcieSizeUnit) / spec::kPcieSizeUnit) - 1);
}

}  // namespace

class SimulatedFunction::Memory final : public host::DmaMemory {
 public:
  Memory(HostMemory& memory, uint8_t* data, uint64_t address, size_t bytes)
      : DmaMemory(data, address, bytes), memory_(memory) {}
  Memory(HostMemory& memory, const DmaRegion& region)
      : Memory(memory, region.data.data(), region.address, region.data.size()) {}
  ~Memory() override { memory_.Remove(address()); }

 private:
  HostMemory& memory_;
};

namespace {

// Adapts the driver's foreign memory to a backend.
class ForeignWindow final : public MemoryBackend {
 public:
  explicit ForeignWindow(std::unique_ptr<host::ForeignMemory> memory) : memory_(std::move(memory)) {}
  bool Read(uint64_t offset, std::span<uint8_t> data) override { return memory_->Read(offset, data); }
  bool Write(uint64_t offset, std::span<const uint8_t> data) override { return memory_->Write(offset, data); }

 private:
  std::unique_ptr<host::ForeignMemory> memory_;
};

}  // namespace

SimulatedFunction::SimulatedFunction(Scheduler& scheduler, Station& station)
    : SimulatedFunction(scheduler, station, Options{}) {}

SimulatedFunction::SimulatedFunction(Scheduler& scheduler, Station& station, const Options& options)
    : scheduler_(scheduler), station_(station), options_(options), bar_bytes_(kBars) {
  station_.pcie().OnMsix([this](uint16_t vector) { OnMsix(vector); });
  Enumerate();
}

SimulatedFunction::~SimulatedFunction() { station_.pcie().OnMsix({}); }

// --- Configuration space: no simulated time passes, but for accesses to the window

uint32_t SimulatedFunction::Config(uint32_t offset, unsigned bytes) {
  return station_.pcie().ReadConfig(static_cast<uint16_t>(offset), bytes);
}

uint32_t SimulatedFunction::FindCapability(spec::PciCapabilityId id, int virtio_type) {
  if ((Config(PciHeader::kStatusOffset, 2) & spec::PciStatus::kCapabilitiesList) == 0) return 0;
  uint32_t at = Config(PciHeader::kCapabilitiesPointerOffset, 1) & ~(kCapabilityAlign - 1);
  // Bounds the list to the size of configuration space.
  for (unsigned left = spec::kPciConfigBytes / kCapabilityAlign; at >= PciHeader::kBytes && left > 0; --left) {
    const bool is_kind =
        virtio_type < 0 || Config(at + spec::VirtioPciCap::kCfgTypeOffset, 1) == static_cast<uint32_t>(virtio_type);
    if (Config(at, 1) == static_cast<uint32_t>(id) && is_kind) return at;
    at = Config(at + spec::PciCapability::kCapNextOffset, 1) & ~(kCapabilityAlign - 1);
  }
  return 0;
}

void SimulatedFunction::Enumerate() {
  PcieLink& link = station_.pcie();
  // Sizing (PCIe 5.0, 7.5.1.2.1): after writing all ones, the writable address bits read back.
  std::fill(bar_bytes_.begin(), bar_bytes_.end(), 0);
  for (unsigned bar = 0; bar < kBars; ++bar) {
    const auto kind = spec::PciMemoryBar::FromWord(Config(BarRegister(bar), 4));
    const bool is_wide = kind.memory_type == spec::PciBarMemoryType::kMemory64 && bar + 1 < kBars;
    const auto put = [&](uint64_t value) {
      link.WriteConfig(static_cast<uint16_t>(BarRegister(bar)), 4, static_cast<uint32_t>(value));
      if (is_wide) link.WriteConfig(static_cast<uint16_t>(BarRegister(bar + 1)), 4, static_cast<uint32_t>(value >> 32));
    };
    put(~uint64_t{0});
    const auto low = spec::PciMemoryBar::FromWord(Config(BarRegister(bar), 4));
    uint64_t mask = uint64_t{low.base_address} << 4 | (is_wide ? uint64_t{Config(BarRegister(bar + 1), 4)} << 32 : 0);
    if (!is_wide && mask != 0) mask |= ~uint64_t{0} << 32;
    if (mask == 0 || low.io_space) {
      put(0);
    } else {
      bar_bytes_[bar] = ~mask + 1;
      put(is_wide ? kFirstBarAddress + bar * kBarDistance : kLowBarAddress);
    }
    if (is_wide) ++bar;
  }

  if (const uint32_t at = FindCapability(spec::PciCapabilityId::kPciExpress); at != 0) {
    uint8_t bytes[spec::PcieCap::kBytes];
    for (uint32_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<uint8_t>(Config(at + i, 1));
    auto pcie = spec::PcieCap::Decode(bytes);
    const auto payload = SizeCode(link.parameters().max_payload_bytes);
    pcie.max_payload_size = std::min(payload, pcie.max_payload_size_supported);
    pcie.max_read_request_size = SizeCode(link.parameters().max_read_request_bytes);
    pcie.Encode(bytes);
    constexpr uint32_t control = 8;  // of device control in the capability (PCIe 5.0, 7.5.3)
    link.WriteConfig(static_cast<uint16_t>(at + control), 2,
                     static_cast<uint32_t>(bytes[control] | bytes[control + 1] << 8));
  }

  const uint32_t window =
      FindCapability(spec::PciCapabilityId::kVendorSpecific, static_cast<int>(spec::VirtioPciCfgType::kPciCfg));
  window_at_ = window == 0 ? 0 : window + static_cast<uint32_t>(spec::VirtioPciCfgCap::kPciCfgDataOffset);
  msix_at_ = FindCapability(spec::PciCapabilityId::kMsix);
  vectors_ = 0;
  if (msix_at_ != 0) {
    const uint32_t table_size = Config(msix_at_ + 2, 2) & (spec::kMsixVectorsMax - 1);
    vectors_ = std::min(table_size + 1, options_.max_vectors);
  }
  enabled_ = 0;
  arrived_.assign(vectors_, false);
  is_signaled_ = false;
}

SimulatedFunction::Window SimulatedFunction::ReadWindow() {
  const uint32_t at = window_at_ - static_cast<uint32_t>(spec::VirtioPciCfgCap::kPciCfgDataOffset);
  Window window;
  window.bar = Config(at + spec::VirtioPciCap::kBarOffset, 1);
  window.offset = Config(at + spec::VirtioPciCap::kOffsetOffset, 4);
  const uint32_t length = Config(at + spec::VirtioPciCap::kLengthOffset, 4);
  // virtio 1.3, 4.1.4.9: 1, 2 or 4 bytes at a multiple of that.
  const bool is_valid = (length == 1 || length == 2 || length == 4) && window.offset % length == 0 &&
                        uint64_t{window.offset} + length <= BarBytes(window.bar);
  window.bytes = is_valid ? length : 0;
  return window;
}

uint32_t SimulatedFunction::ReadConfig(uint32_t offset, unsigned bytes) {
  const uint32_t ones = bytes >= 4 ? ~uint32_t{0} : (uint32_t{1} << 8 * bytes) - 1;
  if (!lost_.empty() || offset + bytes > spec::kPcieConfigBytes) return ones;
  if (window_at_ != 0 && offset >= window_at_ && offset < window_at_ + sizeof(uint32_t)) {
    const Window window = ReadWindow();
    if (window.bytes == 0) return 0;
    return static_cast<uint32_t>(ReadBar(window.bar, window.offset, window.bytes) >> 8 * (offset - window_at_)) & ones;
  }
  return Config(offset, bytes);
}

void SimulatedFunction::WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) {
  if (!lost_.empty() || offset + bytes > spec::kPcieConfigBytes) return;
  if (window_at_ != 0 && offset >= window_at_ && offset < window_at_ + sizeof(uint32_t)) {
    const Window window = ReadWindow();
    // The data is at the start of the window; a write elsewhere in it does not access the BAR.
    if (window.bytes != 0 && offset == window_at_) WriteBar(window.bar, window.offset, window.bytes, value);
    return;
  }
  station_.pcie().WriteConfig(static_cast<uint16_t>(offset), bytes, value);
}

// --- BARs

uint64_t SimulatedFunction::BarBytes(unsigned bar) const { return bar < bar_bytes_.size() ? bar_bytes_[bar] : 0; }

host::Status SimulatedFunction::health() const {
  if (lost_.empty()) return {};
  return Error{ErrorCode::kLost, lost_};
}

uint64_t SimulatedFunction::ReadBar(unsigned bar, uint64_t offset, unsigned bytes) {
  const uint64_t ones = bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  if (!lost_.empty()) return ones;
  PcieLink& link = station_.pcie();
  const uint64_t timeouts = link.counters().bar_timeouts;
  // Shared: the answer may still arrive after the run has ended without it.
  const auto answer = std::make_shared<std::optional<uint64_t>>();
  link.ReadBar(bar, offset, bytes, [answer](uint64_t value) { *answer = value; });
  scheduler_.RunUntil([&] { return answer->has_value(); }, kForever);
  if (!answer->has_value() || link.counters().bar_timeouts != timeouts) {
    lost_ = station_.name() + ": BAR " + std::to_string(bar) + ", offset " + std::to_string(offset) +
            " was not answered in " + std::to_string(link.parameters().completion_timeout_ns) + " ns";
    return ones;
  }
  return **answer;
}

void SimulatedFunction::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  if (lost_.empty()) station_.pcie().WriteBar(bar, offset, bytes, value);
}

// --- Memory

host::Result<host::DmaBuffer> SimulatedFunction::AllocateDma(size_t bytes, size_t alignment) {
  if (bytes == 0 || !std::has_single_bit(alignment) || alignment > kPageBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(bytes) + " bytes of DMA memory, aligned to " + std::to_string(alignment)};
  }
  const auto region = station_.memory().Allocate(bytes, alignment);
  if (!region) return Error{ErrorCode::kNoMemory, std::to_string(bytes) + " bytes of DMA memory"};
  return host::DmaBuffer(std::make_unique<Memory>(station_.memory(), *region));
}

host::Result<host::DmaBuffer> SimulatedFunction::MapDma(uint8_t* memory, size_t bytes) {
  if (bytes == 0 || bytes % kPageBytes != 0 || reinterpret_cast<uintptr_t>(memory) % kPageBytes != 0) {
    return Error{ErrorCode::kInvalidArgument, "memory to map must start and end at multiples of a page"};
  }
  const auto region = station_.memory().Map(std::span(memory, bytes));
  if (!region) return Error{ErrorCode::kNoMemory, "no address for " + std::to_string(bytes) + " bytes"};
  return host::DmaBuffer(std::make_unique<Memory>(station_.memory(), *region));
}

host::Result<host::DmaBuffer> SimulatedFunction::MapForeign(std::unique_ptr<host::ForeignMemory> memory, uint64_t like,
                                                            size_t bytes) {
  if (bytes == 0 || bytes % kPageBytes != 0 || like % kPageBytes != 0) {
    return Error{ErrorCode::kInvalidArgument, "memory to map must start and end at multiples of a page"};
  }
  const std::optional<uint64_t> address =
      station_.memory().MapLike(like, bytes, std::make_unique<ForeignWindow>(std::move(memory)));
  if (!address) return Error{ErrorCode::kNoMemory, "no address for " + std::to_string(bytes) + " bytes"};
  return host::DmaBuffer(std::make_unique<Memory>(station_.memory(), nullptr, *address, bytes));
}

// --- Interrupts

host::Status SimulatedFunction::EnableMsix(unsigned count) {
  if (count > vectors_) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(count) + " vectors of " + std::to_string(vectors_)};
  }
  if (host::Status lost = health(); !lost.ok()) return lost;
  if (msix_at_ == 0) return {};  // 0 of 0
  spec::MsixCap cap;
  {
    uint8_t bytes[spec::MsixCap::kBytes];
    for (uint32_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<uint8_t>(Config(msix_at_ + i, 1));
    cap = spec::MsixCap::Decode(bytes);
  }
  const auto set = [&](bool enable, bool mask) {
    cap.msix_enable = enable;
    cap.function_mask = mask;
    uint8_t bytes[spec::MsixCap::kBytes];
    cap.Encode(bytes);
    station_.pcie().WriteConfig(static_cast<uint16_t>(msix_at_ + 2), 2,
                                static_cast<uint32_t>(bytes[2] | bytes[3] << 8));
    return (Config(msix_at_ + 3, 1) >> 7 != 0) == enable;
  };
  const uint64_t table = uint64_t{cap.table_offset} * 8;  // PCIe 5.0, 7.7.2.3: its low three bits are the BAR
  const auto entry = [&](unsigned vector) { return table + vector * uint64_t{spec::MsixTableEntry::kBytes}; };
  constexpr uint64_t control = 12;  // of the mask in an entry
  // Writes the table with the whole function masked, so that nothing is sent to a half-written entry.
  if (!set(count != 0 || enabled_ != 0, true)) return Error{ErrorCode::kRefused, "the device does not enable MSI-X"};
  for (unsigned vector = 0; vector < std::max(count, enabled_); ++vector) {
    if (vector < count) {
      WriteBar(cap.table_bir, entry(vector) + spec::MsixTableEntry::kMessageAddressOffset, 4, kMessageAddress);
      WriteBar(cap.table_bir, entry(vector) + spec::MsixTableEntry::kMessageUpperAddressOffset, 4, 0);
      WriteBar(cap.table_bir, entry(vector) + spec::MsixTableEntry::kMessageDataOffset, 4, vector);
    }
    WriteBar(cap.table_bir, entry(vector) + control, 4, vector < count ? 0 : 1);
  }
  enabled_ = count;
  std::fill(arrived_.begin(), arrived_.end(), false);
  is_signaled_ = false;
  if (count != 0) {
    // A read flushes the writes; a configuration access would overtake them.
    const uint64_t last = ReadBar(cap.table_bir, entry(count - 1) + control, 4);
    if (host::Status lost = health(); !lost.ok()) return lost;
    if ((last & 1) != 0) {
      enabled_ = 0;
      set(false, false);
      return Error{ErrorCode::kRefused, "the device keeps vector " + std::to_string(count - 1) + " masked"};
    }
  }
  if (!set(count != 0, false)) return Error{ErrorCode::kRefused, "the device does not disable MSI-X"};
  return {};
}

void SimulatedFunction::OnMsix(uint16_t vector) {
  if (vector >= enabled_) return;
  ++messages_;
  arrived_[vector] = true;
  is_signaled_ = true;
}

bool SimulatedFunction::TakeInterrupt(unsigned vector) {
  if (vector >= arrived_.size() || !arrived_[vector]) return false;
  arrived_[vector] = false;
  return true;
}

void SimulatedFunction::Wait(uint64_t deadline_ns) {
  const uint64_t now = NowNs();
  const uint64_t until = std::max(deadline_ns, now + options_.progress_ns);
  const Picoseconds deadline =
      until > kForever / kPicosecondsPerNanosecond ? kForever : until * kPicosecondsPerNanosecond;
  // An interrupt that has already arrived counts; with an expired deadline, time advances in any case.
  const bool moves = deadline_ns <= now;
  scheduler_.RunUntil([&] { return is_signaled_ && !moves; }, deadline);
  is_signaled_ = false;
}

}  // namespace vireo::sim
