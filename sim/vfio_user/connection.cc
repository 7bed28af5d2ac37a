// SPDX-License-Identifier: Apache-2.0
#include "sim/vfio_user/connection.h"

#include <linux/vfio.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace vireo::sim {
namespace {

using host::vfio_user::BytesOf;
using host::vfio_user::Command;
using host::vfio_user::Get;
using host::vfio_user::Header;
using host::vfio_user::RegionAccess;

// Most commands per round, so that one client does not starve others, and most queued commands.
constexpr int kRound = 64;
constexpr size_t kMaxWaiting = 1024;
// Most register accesses in flight: the only back-pressure on posted writes.
constexpr size_t kMaxBarAccesses = 256;

template <typename T>
std::vector<uint8_t> Payload(const T& value) {
  const auto bytes = BytesOf(value);
  return {bytes.begin(), bytes.end()};
}

// The request of a query; nullopt if its length is wrong or argsz is too small for the reply.
template <typename T>
std::optional<T> Query(const host::vfio_user::Message& message) {
  if (message.payload.size() != sizeof(T)) return std::nullopt;
  const T query = Get<T>(message.payload);
  if (query.argsz < sizeof(T)) return std::nullopt;
  return query;
}

// Bytes of the next naturally aligned power-of-two access.
uint32_t PieceBytes(uint64_t offset, uint64_t left, uint32_t most) {
  const uint64_t aligned = offset == 0 ? most : offset & (~offset + 1);
  return static_cast<uint32_t>(std::min({aligned, std::bit_floor(left), uint64_t{most}}));
}

}  // namespace

VfioUserConnection::VfioUserConnection(service::EventLoop& loop, const VfioUserPort& port, host::FileDescriptor socket)
    : loop_(loop), port_(port), main_(std::move(socket)), interrupts_(port.function), memory_(port.memory, *this) {
  host::PciFunction& function = port_.function;
  uint32_t at = function.ReadConfig(spec::PciHeader::kCapabilitiesPointerOffset, 1) & ~3U;
  for (unsigned left = spec::kPciConfigBytes / 4; at != 0 && left > 0; --left) {
    const auto id = static_cast<spec::PciCapabilityId>(function.ReadConfig(at, 1));
    if (id == spec::PciCapabilityId::kMsix) msix_at_ = at;
    if (id == spec::PciCapabilityId::kPciExpress) pcie_at_ = at;
    if (id == spec::PciCapabilityId::kVendorSpecific) {
      std::array<uint8_t, spec::VirtioPciCap::kBytes> bytes{};
      for (uint32_t i = 0; i < bytes.size(); ++i) bytes.at(i) = static_cast<uint8_t>(function.ReadConfig(at + i, 1));
      const auto cap = spec::VirtioPciCap::Decode(bytes.data());
      if (cap.cfg_type == spec::VirtioPciCfgType::kCommonCfg) {
        common_region_ = VFIO_PCI_BAR0_REGION_INDEX + cap.bar;
        common_at_ = cap.offset;
      }
    }
    at = function.ReadConfig(at + spec::PciCapability::kCapNextOffset, 1) & ~3U;
  }
  if (msix_at_ != 0) {
    std::array<uint8_t, spec::MsixCap::kBytes> bytes{};
    for (uint32_t i = 0; i < bytes.size(); ++i)
      bytes.at(i) = static_cast<uint8_t>(function.ReadConfig(msix_at_ + i, 1));
    const auto cap = spec::MsixCap::Decode(bytes.data());
    table_region_ = VFIO_PCI_BAR0_REGION_INDEX + cap.table_bir;
    table_first_ = uint64_t{cap.table_offset} * 8;
    table_bytes_ = (uint64_t{cap.table_size} + 1) * spec::MsixTableEntry::kBytes;
  }
  loop_.Watch(main_.fd(), [this] { Progress(); });
}

VfioUserConnection::~VfioUserConnection() {
  loop_.Unwatch(main_.fd());
  if (twin_.has_value()) loop_.Unwatch(twin_->fd());
}

bool VfioUserConnection::IsHungUp() const {
  pollfd state{.fd = main_.fd(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// --- Messages

void VfioUserConnection::ReadMain() {
  Message message;
  while (commands_.size() < kMaxWaiting && !is_over() && main_.Read(message)) OnMessage(std::move(message));
}

void VfioUserConnection::ReadTwin() {
  Message message;
  while (twin_.has_value() && twin_->Read(message)) {
    if (!message.is_reply() || !memory_.OnReply(message)) twin_->End();
  }
}

void VfioUserConnection::OnMessage(Message message) {
  if (message.is_reply()) {
    if (twin_.has_value() || !memory_.OnReply(message)) main_.End();
    return;
  }
  if ((message.header.flags & Header::kTypeMask) != Header::kCommand ||
      (!is_negotiated_ && commands_.empty() && message.command() != Command::kVersion)) {
    main_.End();
    return;
  }
  commands_.push_back(std::move(message));
}

void VfioUserConnection::Progress() {
  if (is_over()) return;
  main_.Flush();
  if (twin_.has_value()) twin_->Flush();
  ReadMain();
  ReadTwin();
  ServeCommands();
  if (!is_over() && memory_.writes_in_flight() == 0) interrupts_.Deliver();
}

void VfioUserConnection::ServeCommands() {
  for (int i = 0; i < kRound && !commands_.empty() && !is_over(); ++i) {
    if (port_.memory.WritesInFlight() >= kMaxBarAccesses) return;
    is_serving_ = true;
    Message message = std::move(commands_.front());
    commands_.pop_front();
    Header header = message.header;
    Answer answer = Serve(message);
    // PCIe ordering: earlier writes of the device reach the client's memory before this reply. On one socket only the
    // message order can ensure it, because the client may not reply before it has this one.
    const uint64_t deadline_ns = ReplyDeadlineNs();
    while (twin_.has_value() && memory_.writes_in_flight() != 0 && WaitForReply(deadline_ns)) {
    }
    is_serving_ = false;
    if (!message.wants_reply()) continue;
    header.flags = Header::kReply | (answer.error != 0 ? Header::kError : 0);
    header.error = answer.error;
    const int fd = answer.fd.get();
    main_.Send(header, answer.error != 0 ? std::span<const uint8_t>() : answer.payload, {},
               {&fd, answer.fd.is_open() ? size_t{1} : size_t{0}});
  }
}

void VfioUserConnection::SendDma(const Header& header, std::span<const uint8_t> first,
                                 std::span<const uint8_t> second) {
  (twin_.has_value() ? *twin_ : main_).Send(header, first, second);
}

uint64_t VfioUserConnection::ReplyDeadlineNs() const {
  return service::MonotonicNs() + static_cast<uint64_t>(port_.timeout_ms) * 1'000'000;
}

bool VfioUserConnection::WaitForReply(uint64_t deadline_ns) {
  if (is_over()) return false;
  VfioUserChannel& channel = twin_.has_value() ? *twin_ : main_;
  const uint64_t now_ns = service::MonotonicNs();
  if (now_ns >= deadline_ns || !channel.Wait(static_cast<int>((deadline_ns - now_ns) / 1'000'000) + 1)) {
    channel.End();
  } else if (twin_.has_value()) {
    ReadTwin();
  } else {
    ReadMain();
  }
  return !is_over();
}

// --- Commands

VfioUserConnection::Answer VfioUserConnection::Serve(Message& message) {
  const Command command = message.command();
  const bool takes_fds = command == Command::kDmaMap || command == Command::kSetIrqs;
  if (message.has_lost_fds || (!takes_fds && !message.fds.empty())) return {.error = EINVAL};
  if (!is_negotiated_ && command != Command::kVersion) return {.error = EPROTO};
  switch (command) {
    case Command::kVersion: return Negotiate(message);
    case Command::kDmaMap: {
      const auto map = Query<host::vfio_user::DmaMap>(message);
      if (!map.has_value()) return {.error = EINVAL};
      return {.error = memory_.Map(*map, std::move(message.fds))};
    }
    case Command::kDmaUnmap: {
      const auto unmap = Query<host::vfio_user::DmaUnmap>(message);
      if (!unmap.has_value()) return {.error = EINVAL};
      return {.error = memory_.Unmap(*unmap), .payload = message.payload};
    }
    case Command::kGetInfo: return GetInfo(message);
    case Command::kGetRegionInfo: return GetRegionInfo(message);
    case Command::kGetIrqInfo: return GetIrqInfo(message);
    case Command::kSetIrqs: {
      using host::vfio_user::IrqSet;
      if (message.payload.size() < sizeof(IrqSet)) return {.error = EINVAL};
      const auto set = Get<IrqSet>(message.payload);
      if (set.argsz < sizeof(IrqSet)) return {.error = EINVAL};
      return {.error = interrupts_.Set(set, std::span(message.payload).subspan(sizeof set), std::move(message.fds))};
    }
    case Command::kRegionRead: return ReadRegion(message);
    case Command::kRegionWrite: return WriteRegion(message);
    case Command::kRegionWriteMulti: return WriteMulti(message);
    case Command::kReset:
      if (!message.payload.empty()) return {.error = EINVAL};
      port_.reset();
      memory_.ForgetReads();
      interrupts_.Restore();
      return {};
    case Command::kGetRegionIoFds:
    case Command::kDmaRead:
    case Command::kDmaWrite: break;
  }
  return {.error = ENOTSUP};
}

VfioUserConnection::Answer VfioUserConnection::Negotiate(const Message& message) {
  using host::vfio_user::Version;
  if (is_negotiated_ || message.payload.size() < sizeof(Version)) return {.error = EINVAL};
  const auto version = Get<Version>(message.payload);
  if (version.major != 0) return {.error = ENOTSUP};
  nlohmann::json json = nlohmann::json::object();
  if (message.payload.size() > sizeof version) {
    if (message.payload.back() != 0) return {.error = EINVAL};
    const auto* const text = reinterpret_cast<const char*>(message.payload.data()) + sizeof version;
    json = nlohmann::json::parse(text, text + std::strlen(text), nullptr, /*allow_exceptions=*/false);
  }
  if (!json.is_object()) return {.error = EINVAL};
  const nlohmann::json proposed = json.value("capabilities", nlohmann::json::object());
  if (!proposed.is_object()) return {.error = EINVAL};

  // The reply contains only capabilities that the client proposed.
  Answer answer;
  nlohmann::json agreed = nlohmann::json::object();
  const auto number = [&](const char* name, uint64_t least, uint64_t ours) -> bool {
    const auto found = proposed.find(name);
    if (found == proposed.end()) return true;
    if (!found->is_number_unsigned() || found->get<uint64_t>() < least) return false;
    agreed[name] = ours;
    return true;
  };
  if (!number("max_msg_fds", 1, host::vfio_user::kMaxFds) || !number("max_data_xfer_size", 1, kMaxAccess) ||
      !number("max_dma_maps", 1, VfioUserMemory::kMaxWindows) || !number("pgsizes", 1, 4096)) {
    return {.error = EINVAL};
  }
  if (const auto transfer = proposed.find("max_data_xfer_size"); transfer != proposed.end()) {
    memory_.SetTransfer(static_cast<uint32_t>(
        std::min<uint64_t>(transfer->get<uint64_t>(), uint64_t{host::vfio_user::kDefaultTransfer})));
  }
  if (const auto multi = proposed.find("write_multiple"); multi != proposed.end()) {
    if (!multi->is_boolean()) return {.error = EINVAL};
    agreed["write_multiple"] = *multi;
  }
  if (const auto twin = proposed.find("twin_socket"); twin != proposed.end()) {
    if (!twin->is_object()) return {.error = EINVAL};
    const auto supported = twin->find("supported");
    if (supported != twin->end() && !supported->is_boolean()) return {.error = EINVAL};
    std::array<int, 2> ends{};
    if (supported != twin->end() && supported->get<bool>() &&
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) {
      twin_.emplace(host::FileDescriptor(ends[0]));
      answer.fd = host::FileDescriptor(ends[1]);
      agreed["twin_socket"] = {{"supported", true}, {"fd_index", 0}};
      loop_.Watch(twin_->fd(), [this] { Progress(); });
    }
  }
  is_negotiated_ = true;
  answer.payload = Payload(Version{});  // the only minor version is 0
  const std::string text = nlohmann::json{{"capabilities", agreed}}.dump();
  answer.payload.insert(answer.payload.end(), text.c_str(), text.c_str() + text.size() + 1);
  return answer;
}

VfioUserConnection::Answer VfioUserConnection::GetInfo(const Message& message) const {
  using host::vfio_user::DeviceInfo;
  if (!Query<DeviceInfo>(message).has_value()) return {.error = EINVAL};
  DeviceInfo info;
  info.flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI;
  info.regions = VFIO_PCI_NUM_REGIONS;
  info.irqs = VFIO_PCI_NUM_IRQS;
  return {.payload = Payload(info)};
}

uint64_t VfioUserConnection::RegionBytes(uint32_t region) const {
  if (region == VFIO_PCI_CONFIG_REGION_INDEX) return spec::kPcieConfigBytes;
  if (region > VFIO_PCI_BAR5_REGION_INDEX) return 0;
  return port_.function.BarBytes(region - VFIO_PCI_BAR0_REGION_INDEX);
}

VfioUserConnection::Answer VfioUserConnection::GetRegionInfo(const Message& message) const {
  using host::vfio_user::RegionInfo;
  const auto query = Query<RegionInfo>(message);
  if (!query.has_value() || query->index >= VFIO_PCI_NUM_REGIONS) return {.error = EINVAL};
  RegionInfo info;
  info.index = query->index;
  info.size = RegionBytes(info.index);
  // Not mappable: each register access is a message.
  if (info.size != 0) info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
  return {.payload = Payload(info)};
}

VfioUserConnection::Answer VfioUserConnection::GetIrqInfo(const Message& message) const {
  const auto query = Query<host::vfio_user::IrqInfo>(message);
  if (!query.has_value() || query->index >= VFIO_PCI_NUM_IRQS) return {.error = EINVAL};
  return {.payload = Payload(interrupts_.Info(query->index))};
}

// --- Regions

bool VfioUserConnection::IsInside(const RegionAccess& access) const {
  const uint64_t bytes = RegionBytes(access.region);
  return access.count != 0 && access.count <= kMaxAccess && access.count <= bytes &&
         access.offset <= bytes - access.count;
}

// The transport owns the MSI-X table, MSI-X control and device control (payload and read request sizes); client writes
// to them are ignored.
bool VfioUserConnection::IsTransportOwned(const RegionAccess& piece) const {
  const auto overlaps = [&](uint64_t first, uint64_t bytes) {
    return piece.offset < first + bytes && first < piece.offset + piece.count;
  };
  if (piece.region == VFIO_PCI_CONFIG_REGION_INDEX) {
    constexpr uint32_t kMsixControl = 2, kDeviceControl = 8;  // PCIe 5.0, 7.7.2.2 and 7.5.3.4
    return (msix_at_ != 0 && overlaps(msix_at_ + kMsixControl, 2)) ||
           (pcie_at_ != 0 && overlaps(pcie_at_ + kDeviceControl, 2));
  }
  return piece.region == table_region_ && overlaps(table_first_, table_bytes_);
}

VfioUserConnection::Answer VfioUserConnection::ReadRegion(const Message& message) {
  if (message.payload.size() != sizeof(RegionAccess)) return {.error = EINVAL};
  const auto access = Get<RegionAccess>(message.payload);
  if (!IsInside(access)) return {.error = EINVAL};
  std::vector<uint8_t> payload = message.payload;
  payload.resize(sizeof access + access.count);
  const bool is_config = access.region == VFIO_PCI_CONFIG_REGION_INDEX;
  for (uint32_t done = 0; done < access.count;) {
    const uint64_t at = access.offset + done;
    const uint32_t bytes = PieceBytes(at, access.count - done, is_config ? 4 : 8);
    const uint64_t value = is_config
                               ? port_.function.ReadConfig(static_cast<uint32_t>(at), bytes)
                               : Shown(access.region, at, bytes, port_.function.ReadBar(access.region, at, bytes));
    std::memcpy(payload.data() + sizeof access + done, &value, bytes);
    done += bytes;
  }
  return {.payload = std::move(payload)};
}

uint64_t VfioUserConnection::Shown(uint32_t region, uint64_t at, uint32_t bytes, uint64_t value) const {
  using Common = spec::VirtioPciCommonCfg;
  const uint64_t features = common_at_ + Common::kDeviceFeatureOffset;
  if (region != common_region_ || at + bytes <= features || at >= features + sizeof(uint32_t)) return value;
  const uint64_t window = port_.function.ReadBar(region, common_at_ + Common::kDeviceFeatureSelectOffset, 4);
  if (window >= port_.hidden_features.size()) return value;
  const uint64_t hidden = port_.hidden_features[window];
  return value & ~(at <= features ? hidden << 8 * (features - at) : hidden >> 8 * (at - features));
}

void VfioUserConnection::Write(const RegionAccess& access, std::span<const uint8_t> data) {
  const bool is_config = access.region == VFIO_PCI_CONFIG_REGION_INDEX;
  for (uint32_t done = 0; done < access.count;) {
    RegionAccess piece = access;
    piece.offset += done;
    piece.count = PieceBytes(piece.offset, access.count - done, is_config ? 4 : 8);
    uint64_t value = 0;
    std::memcpy(&value, data.data() + done, piece.count);
    done += piece.count;
    if (IsTransportOwned(piece)) continue;
    if (is_config) {
      port_.function.WriteConfig(static_cast<uint32_t>(piece.offset), piece.count, static_cast<uint32_t>(value));
    } else {
      port_.function.WriteBar(piece.region, piece.offset, piece.count, value);
    }
  }
}

VfioUserConnection::Answer VfioUserConnection::WriteRegion(const Message& message) {
  if (message.payload.size() < sizeof(RegionAccess)) return {.error = EINVAL};
  const auto access = Get<RegionAccess>(message.payload);
  if (!IsInside(access) || message.payload.size() != sizeof access + access.count) return {.error = EINVAL};
  Write(access, std::span(message.payload).subspan(sizeof access));
  return {.payload = Payload(access)};
}

// Performs all writes, or none if one is invalid.
VfioUserConnection::Answer VfioUserConnection::WriteMulti(const Message& message) {
  using host::vfio_user::SmallWrite;
  if (message.payload.size() < sizeof(uint64_t)) return {.error = EINVAL};
  const auto count = Get<uint64_t>(message.payload);
  const auto rest = std::span(message.payload).subspan(sizeof count);
  if (count > rest.size() / sizeof(SmallWrite) || rest.size() != count * sizeof(SmallWrite)) return {.error = EINVAL};
  // Limits the work of one message.
  if (count > kMaxAccess) return {.error = EINVAL};
  std::vector<SmallWrite> writes;
  for (uint64_t i = 0; i < count; ++i) {
    writes.push_back(Get<SmallWrite>(rest.subspan(i * sizeof(SmallWrite))));
    if (!IsInside(writes.back().access) || writes.back().access.count > sizeof writes.back().data) {
      return {.error = EINVAL};
    }
  }
  for (const SmallWrite& write : writes) Write(write.access, write.data);
  return {.payload = Payload(count)};
}

}  // namespace vireo::sim
