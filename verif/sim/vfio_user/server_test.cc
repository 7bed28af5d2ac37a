// SPDX-License-Identifier: Apache-2.0
// The vfio-user server against a raw client: replies, errors and dropped connections.
#include "sim/vfio_user/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "sim/common/seed.h"
#include "verif/sim/vfio_user/server_bench.h"

namespace vireo::sim {
namespace {

using host::vfio_user::Command;
using host::vfio_user::DeviceInfo;
using host::vfio_user::DmaAccess;
using host::vfio_user::DmaMap;
using host::vfio_user::DmaUnmap;
using host::vfio_user::Get;
using host::vfio_user::Header;
using host::vfio_user::IrqInfo;
using host::vfio_user::IrqSet;
using host::vfio_user::Message;
using host::vfio_user::RegionAccess;
using host::vfio_user::RegionInfo;
using host::vfio_user::SmallWrite;
using host::vfio_user::Version;
using Bytes = std::vector<uint8_t>;

constexpr uint32_t kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr uint64_t kFrom = 0x1'0000'0000, kTo = 0x2'0000'0000;

host::FileDescriptor EventFd() { return host::FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

bool IsSignaled(const host::FileDescriptor& fd, int timeout_ms) {
  pollfd readable{.fd = fd.get(), .events = POLLIN, .revents = 0};
  uint64_t count = 0;
  return ::poll(&readable, 1, timeout_ms) == 1 && ::read(fd.get(), &count, sizeof count) == sizeof count;
}

IrqSet Irqs(uint32_t flags, uint32_t start, uint32_t count, uint32_t index = VFIO_PCI_MSIX_IRQ_INDEX) {
  IrqSet set;
  set.flags = flags;
  set.index = index;
  set.start = start;
  set.count = count;
  return set;
}
constexpr uint32_t kAssign = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;

// --- Replies

Bytes VersionWith(const std::string& text, uint16_t major = 0, uint16_t minor = 0) {
  Bytes payload = Join(Version{.major = major, .minor = minor});
  payload.insert(payload.end(), text.begin(), text.end());
  return payload;
}
std::string Zero(const std::string& text) { return text + std::string(1, '\0'); }

TEST(VfioUserServer, NegotiatesProposedCapabilities) {
  VfioUserBench bench;
  const auto negotiate = [&](const Bytes& payload) {
    RawClient client(bench.socket(), nullptr);
    Bytes answer;
    EXPECT_EQ(client.Ask(Command::kVersion, payload, {}, &answer), 0u);
    EXPECT_EQ(Get<Version>(answer).major, 0u);
    EXPECT_EQ(Get<Version>(answer).minor, 0u);
    EXPECT_EQ(answer.back(), 0);
    EXPECT_TRUE(client.IsServed());
    EXPECT_EQ(client.Ask(Command::kVersion, payload), static_cast<uint32_t>(EINVAL));  // only once
    return nlohmann::json::parse(reinterpret_cast<const char*>(answer.data()) + sizeof(Version))["capabilities"];
  };
  EXPECT_EQ(negotiate(VersionWith("")), nlohmann::json::object());
  EXPECT_EQ(negotiate(VersionWith(Zero("{}"), 0, 7)), nlohmann::json::object());
  // As QEMU does.
  const auto agreed = negotiate(VersionWith(
      Zero(R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576,"pgsizes":4096,"max_dma_maps":65535,)"
           R"("write_multiple":true,"something_new":{"a":1}}})")));
  EXPECT_EQ(agreed["max_msg_fds"], 16);
  EXPECT_EQ(agreed["pgsizes"], 4096);
  EXPECT_EQ(agreed["write_multiple"], true);
  EXPECT_EQ(agreed["max_data_xfer_size"], VfioUserConnection::kMaxAccess);
  EXPECT_FALSE(agreed.contains("twin_socket"));
  EXPECT_FALSE(agreed.contains("something_new"));
}

TEST(VfioUserServer, RejectsInvalidVersions) {
  VfioUserBench bench;
  for (const Bytes& payload :
       {Bytes(), Bytes(3), VersionWith("", 1), VersionWith("{}"), VersionWith(Zero("{")), VersionWith(Zero("[]")),
        VersionWith(Zero(R"({"capabilities":3})")), VersionWith(Zero(R"({"capabilities":{"max_msg_fds":"x"}})")),
        VersionWith(Zero(R"({"capabilities":{"max_msg_fds":0}})")),
        VersionWith(Zero(R"({"capabilities":{"max_data_xfer_size":0}})")),
        VersionWith(Zero(R"({"capabilities":{"max_data_xfer_size":-1}})")),
        VersionWith(Zero(R"({"capabilities":{"write_multiple":1}})")),
        VersionWith(Zero(R"({"capabilities":{"twin_socket":1}})")),
        VersionWith(Zero(R"({"capabilities":{"twin_socket":{"supported":1}}})"))}) {
    RawClient client(bench.socket(), nullptr);
    EXPECT_NE(client.Ask(Command::kVersion, payload), 0u) << std::string(payload.begin(), payload.end());
    // Negotiation failed: the client may try again.
    EXPECT_EQ(client.Ask(Command::kVersion, VersionWith("")), 0u);
    EXPECT_TRUE(client.IsServed());
  }
}

TEST(VfioUserServer, DescribesPciFunction) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  Bytes answer;
  ASSERT_EQ(client.Ask(Command::kGetInfo, Join(DeviceInfo{}), {}, &answer), 0u);
  EXPECT_EQ(Get<DeviceInfo>(answer).flags, static_cast<uint32_t>(VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI));
  EXPECT_EQ(Get<DeviceInfo>(answer).regions, static_cast<uint32_t>(VFIO_PCI_NUM_REGIONS));
  for (uint32_t index = 0; index < VFIO_PCI_NUM_REGIONS; ++index) {
    RegionInfo ask;
    ask.index = index;
    ASSERT_EQ(client.Ask(Command::kGetRegionInfo, Join(ask), {}, &answer), 0u);
    const auto info = Get<RegionInfo>(answer);
    const uint64_t bytes = index == 0         ? spec::kBarVirtioBytes
                           : index == 2       ? spec::kBarMsixBytes
                           : index == kConfig ? spec::kPcieConfigBytes
                                              : 0;
    EXPECT_EQ(info.size, bytes) << index;
    EXPECT_EQ(info.flags, bytes != 0 ? 3u : 0u);  // never to be mapped
    EXPECT_EQ(info.index, index);
  }
  for (uint32_t index = 0; index < VFIO_PCI_NUM_IRQS; ++index) {
    IrqInfo ask;
    ask.index = index;
    ASSERT_EQ(client.Ask(Command::kGetIrqInfo, Join(ask), {}, &answer), 0u);
    const bool is_single = index == VFIO_PCI_ERR_IRQ_INDEX || index == VFIO_PCI_REQ_IRQ_INDEX;
    EXPECT_EQ(Get<IrqInfo>(answer).count, index == VFIO_PCI_MSIX_IRQ_INDEX ? 8u : is_single ? 1u : 0u) << index;
    EXPECT_EQ((Get<IrqInfo>(answer).flags & VFIO_IRQ_INFO_MASKABLE) != 0, index == VFIO_PCI_MSIX_IRQ_INDEX) << index;
  }
  EXPECT_EQ(client.Read(kConfig, 0, 2), 0x1af4u);
}

TEST(VfioUserServer, ServesRegisterAccessesOfAllSizesInOrder) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  for (uint64_t i = 1; i <= 5000; ++i) client.Write(0, 0, 8, i << 32 | i);
  EXPECT_EQ(client.Read(0, 0, 8), uint64_t{5000} << 32 | 5000);
  EXPECT_EQ(client.Read(0, 0, 4), 5000u);
  Bytes answer;
  EXPECT_EQ(
      client.Ask(Command::kRegionRead, Join(RegionAccess{.offset = 1, .region = kConfig, .count = 23}), {}, &answer),
      0u);
  EXPECT_EQ(answer.at(sizeof(RegionAccess)), 0x1a);
  // Two writes in one message take effect in order.
  Bytes multi = Join(uint64_t{2}, SmallWrite{.access = {.offset = 0, .region = 0, .count = 8}, .data = {1}},
                     SmallWrite{.access = {.offset = 0, .region = 0, .count = 8}, .data = {2}});
  ASSERT_EQ(client.Ask(Command::kRegionWriteMulti, multi, {}, &answer), 0u);
  EXPECT_EQ(Get<uint64_t>(answer), 2u);
  EXPECT_EQ(client.Read(0, 0, 8), 2u);
  // One of them is invalid: none takes effect.
  multi = Join(uint64_t{2}, SmallWrite{.access = {.offset = 0, .region = 0, .count = 8}, .data = {3}},
               SmallWrite{.access = {.offset = 0, .region = 1, .count = 8}, .data = {4}});
  EXPECT_EQ(client.Ask(Command::kRegionWriteMulti, multi), static_cast<uint32_t>(EINVAL));
  EXPECT_EQ(client.Read(0, 0, 8), 2u);
  // Owned by the transport: MSI-X control and table, payload and read request sizes.
  const uint64_t control = client.Read(kConfig, spec::kPciCapAtMsix + 2, 2);
  const uint64_t link = client.Read(kConfig, spec::kPciCapAtPcie + 8, 2);
  const uint64_t entry = client.Read(2, 0, 8);
  client.Write(kConfig, spec::kPciCapAtMsix + 2, 2, 0xc000);
  client.Write(kConfig, spec::kPciCapAtPcie + 8, 2, 0);
  client.Write(2, 0, 8, 0x1234'5670);
  EXPECT_EQ(client.Read(kConfig, spec::kPciCapAtMsix + 2, 2), control);
  EXPECT_EQ(client.Read(kConfig, spec::kPciCapAtPcie + 8, 2), link);
  EXPECT_EQ(client.Read(2, 0, 8), entry);
}

// --- Errors

TEST(VfioUserServer, RejectsEveryInvalidField) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  const auto file = MemoryFile(8192);
  const auto event = EventFd();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const host::FileDescriptor out(pipe[0]), in(pipe[1]);
  ASSERT_EQ(client.MapDma(kFrom, 8192, file.get()), 0u);
  ASSERT_EQ(client.MapDma(kTo, 8192), 0u);

  struct Case {
    const char* what;
    Command command;
    Bytes payload;
    uint32_t error;
    std::vector<int> fds{};
  };
  const auto map = [](uint64_t address, uint64_t size, uint64_t offset = 0, uint32_t flags = 3, uint32_t argsz = 32) {
    DmaMap value;
    value.address = address;
    value.size = size;
    value.offset = offset;
    value.flags = flags;
    value.argsz = argsz;
    return Join(value);
  };
  const auto unmap = [](uint64_t address, uint64_t size, uint32_t flags = 0, uint32_t argsz = 24) {
    DmaUnmap value;
    value.address = address;
    value.size = size;
    value.flags = flags;
    value.argsz = argsz;
    return Join(value);
  };
  const auto access = [](uint64_t offset, uint32_t region, uint32_t count) {
    return Join(RegionAccess{.offset = offset, .region = region, .count = count});
  };
  const auto write = [&](uint64_t offset, uint32_t region, uint32_t count, size_t data) {
    Bytes payload = access(offset, region, count);
    payload.resize(payload.size() + data);
    return payload;
  };
  DeviceInfo small_info;
  small_info.argsz = 15;
  RegionInfo small_region, far_region;
  small_region.argsz = 31;
  far_region.index = VFIO_PCI_NUM_REGIONS;
  IrqInfo small_irq, far_irq;
  small_irq.argsz = 15;
  far_irq.index = VFIO_PCI_NUM_IRQS;
  IrqSet small_set = Irqs(kAssign, 0, 1);
  small_set.argsz = 19;
  const std::vector<int> one{event.get()};
  const std::vector<int> many(host::vfio_user::kMaxFds, event.get());
  const uint32_t none = VFIO_IRQ_SET_DATA_NONE, boolean = VFIO_IRQ_SET_DATA_BOOL;
  const uint32_t trigger = VFIO_IRQ_SET_ACTION_TRIGGER, mask = VFIO_IRQ_SET_ACTION_MASK;
  constexpr uint64_t kFree = 0x10'0000'0000;
  const std::vector<Case> cases = {
      {"map: short", Command::kDmaMap, Bytes(31), EINVAL},
      {"map: long", Command::kDmaMap, Bytes(33), EINVAL},
      {"map: argsz", Command::kDmaMap, map(kFree, 4096, 0, 3, 31), EINVAL},
      {"map: flags", Command::kDmaMap, map(kFree, 4096, 0, 4), EINVAL},
      {"map: empty", Command::kDmaMap, map(kFree, 0), EINVAL},
      {"map: size", Command::kDmaMap, map(kFree, 4095), EINVAL},
      {"map: address", Command::kDmaMap, map(kFree + 1, 4096), EINVAL},
      {"map: wraps", Command::kDmaMap, map(~uint64_t{4095}, 8192), EINVAL},
      {"map: same", Command::kDmaMap, map(kFrom, 8192), EEXIST},
      {"map: overlaps with a file", Command::kDmaMap, map(kFrom + 4096, 8192), EEXIST, {file.get()}},
      {"map: around", Command::kDmaMap, map(kTo - 4096, 16384), EEXIST},
      {"map: two files", Command::kDmaMap, map(kFree, 4096), EINVAL, {file.get(), file.get()}},
      {"map: beyond the file", Command::kDmaMap, map(kFree, 8192, 4096), EINVAL, {file.get()}},
      {"map: offset in a page", Command::kDmaMap, map(kFree, 4096, 1), EINVAL, {file.get()}},
      {"map: offset wraps", Command::kDmaMap, map(kFree, 8192, ~uint64_t{4095}), EINVAL, {file.get()}},
      {"map: a pipe", Command::kDmaMap, map(kFree, 4096), EINVAL, {out.get()}},
      {"unmap: short", Command::kDmaUnmap, Bytes(23), EINVAL},
      {"unmap: argsz", Command::kDmaUnmap, unmap(kFrom, 8192, 0, 23), EINVAL},
      {"unmap: flags", Command::kDmaUnmap, unmap(kFrom, 8192, 1), EINVAL},
      {"unmap: all, but an address", Command::kDmaUnmap, unmap(kFrom, 0, VFIO_DMA_UNMAP_FLAG_ALL), EINVAL},
      {"unmap: another address", Command::kDmaUnmap, unmap(kFrom + 4096, 4096), ENOENT},
      {"unmap: another size", Command::kDmaUnmap, unmap(kFrom, 4096), ENOENT},
      {"unmap: ends in a window", Command::kDmaUnmap, unmap(kFrom - 8192, 12'288), ENOENT},
      {"unmap: begins in a window", Command::kDmaUnmap, unmap(kFrom + 4096, kTo), ENOENT},
      {"unmap: empty", Command::kDmaUnmap, unmap(kFrom, 0), EINVAL},
      {"unmap: address in a page", Command::kDmaUnmap, unmap(kFrom + 1, 8192), EINVAL},
      {"unmap: wraps", Command::kDmaUnmap, unmap(kTo, ~uint64_t{4095}), EINVAL},
      {"unmap: a descriptor", Command::kDmaUnmap, unmap(kFrom, 8192), EINVAL, one},
      {"info: short", Command::kGetInfo, Bytes(15), EINVAL},
      {"info: argsz", Command::kGetInfo, Join(small_info), EINVAL},
      {"region info: short", Command::kGetRegionInfo, Bytes(), EINVAL},
      {"region info: argsz", Command::kGetRegionInfo, Join(small_region), EINVAL},
      {"region info: index", Command::kGetRegionInfo, Join(far_region), EINVAL},
      {"irq info: short", Command::kGetIrqInfo, Bytes(8), EINVAL},
      {"irq info: argsz", Command::kGetIrqInfo, Join(small_irq), EINVAL},
      {"irq info: index", Command::kGetIrqInfo, Join(far_irq), EINVAL},
      {"irqs: short", Command::kSetIrqs, Bytes(19), EINVAL},
      {"irqs: argsz", Command::kSetIrqs, Join(small_set), EINVAL, one},
      {"irqs: index", Command::kSetIrqs, Join(Irqs(kAssign, 0, 1, VFIO_PCI_NUM_IRQS)), EINVAL, one},
      {"irqs: none of that kind", Command::kSetIrqs, Join(Irqs(kAssign, 0, 1, VFIO_PCI_MSI_IRQ_INDEX)), EINVAL, one},
      {"irqs: second of one", Command::kSetIrqs, Join(Irqs(kAssign, 1, 1, VFIO_PCI_ERR_IRQ_INDEX)), EINVAL, one},
      {"irqs: unmaskable", Command::kSetIrqs, Join(Irqs(none | mask, 0, 1, VFIO_PCI_REQ_IRQ_INDEX)), ENOTSUP},
      {"irqs: start", Command::kSetIrqs, Join(Irqs(kAssign, 8, 1)), EINVAL, one},
      {"irqs: count", Command::kSetIrqs, Join(Irqs(none | trigger, 1, 8)), EINVAL},
      {"irqs: sum wraps", Command::kSetIrqs, Join(Irqs(none | trigger, 7, ~0U)), EINVAL},
      {"irqs: unknown flag", Command::kSetIrqs, Join(Irqs(kAssign | 64, 0, 1)), EINVAL, one},
      {"irqs: no data type", Command::kSetIrqs, Join(Irqs(trigger, 0, 1)), EINVAL},
      {"irqs: two data types", Command::kSetIrqs, Join(Irqs(none | boolean | trigger, 0, 1)), EINVAL},
      {"irqs: no action", Command::kSetIrqs, Join(Irqs(none, 0, 1)), EINVAL},
      {"irqs: two actions", Command::kSetIrqs, Join(Irqs(none | trigger | mask, 0, 1)), EINVAL},
      {"irqs: no booleans", Command::kSetIrqs, Join(Irqs(boolean | trigger, 0, 1)), EINVAL},
      {"irqs: booleans", Command::kSetIrqs, Join(Irqs(boolean | trigger, 0, 2), uint8_t{1}), EINVAL},
      {"irqs: descriptors", Command::kSetIrqs, Join(Irqs(none | trigger, 0, 1)), EINVAL, one},
      {"irqs: too few descriptors", Command::kSetIrqs, Join(Irqs(kAssign, 0, 2)), EINVAL, one},
      {"irqs: too many descriptors", Command::kSetIrqs, Join(Irqs(kAssign, 0, 8)), EINVAL, many},
      {"irqs: not an eventfd", Command::kSetIrqs, Join(Irqs(kAssign, 0, 1)), EINVAL, {in.get()}},
      {"irqs: eventfd for masks", Command::kSetIrqs, Join(Irqs(VFIO_IRQ_SET_DATA_EVENTFD | mask, 0, 1)), ENOTSUP, one},
      {"irqs: off from 1", Command::kSetIrqs, Join(Irqs(none | trigger, 1, 0)), EINVAL},
      {"irqs: no booleans to trigger", Command::kSetIrqs, Join(Irqs(boolean | trigger, 0, 0)), EINVAL},
      {"read: short", Command::kRegionRead, Bytes(15), EINVAL},
      {"read: long", Command::kRegionRead, write(0, 0, 4, 4), EINVAL},
      {"read: region", Command::kRegionRead, access(0, 9, 4), EINVAL},
      {"read: no such BAR", Command::kRegionRead, access(0, 1, 4), EINVAL},
      {"read: nothing", Command::kRegionRead, access(0, 0, 0), EINVAL},
      {"read: too much", Command::kRegionRead, access(0, 0, VfioUserConnection::kMaxAccess + 1), EINVAL},
      {"read: beyond", Command::kRegionRead, access(spec::kPcieConfigBytes - 2, kConfig, 4), EINVAL},
      {"read: far beyond", Command::kRegionRead, access(~uint64_t{0} - 1, kConfig, 4), EINVAL},
      {"read: a descriptor", Command::kRegionRead, access(0, 0, 4), EINVAL, one},
      {"write: short", Command::kRegionWrite, Bytes(12), EINVAL},
      {"write: too little data", Command::kRegionWrite, write(0, 0, 4, 3), EINVAL},
      {"write: too much data", Command::kRegionWrite, write(0, 0, 4, 5), EINVAL},
      {"write: beyond", Command::kRegionWrite, write(spec::kBarMsixBytes - 4, 2, 8, 8), EINVAL},
      {"write: region", Command::kRegionWrite, write(0, ~0U, 4, 4), EINVAL},
      {"writes: short", Command::kRegionWriteMulti, Bytes(7), EINVAL},
      {"writes: number", Command::kRegionWriteMulti, Join(uint64_t{2}, SmallWrite{}), EINVAL},
      {"writes: number wraps", Command::kRegionWriteMulti, Join(uint64_t{1} << 61, SmallWrite{}), EINVAL},
      {"writes: count", Command::kRegionWriteMulti,
       Join(uint64_t{1}, SmallWrite{.access = {.offset = 0, .region = 0, .count = 9}}), EINVAL},
      {"reset: with data", Command::kReset, Bytes(1), EINVAL},
      {"server's own", Command::kDmaRead, Join(DmaAccess{}), ENOTSUP},
      {"server's own", Command::kDmaWrite, Join(DmaAccess{}), ENOTSUP},
      {"not offered", Command::kGetRegionIoFds, Bytes(16), ENOTSUP},
      {"DEVICE_FEATURE", static_cast<Command>(16), Bytes(8), ENOTSUP},
      {"no command", static_cast<Command>(0), Bytes(), ENOTSUP},
      {"no command", static_cast<Command>(0xffff), Bytes(100), ENOTSUP},
  };
  for (const Case& one_case : cases) {
    EXPECT_EQ(client.Ask(one_case.command, one_case.payload, one_case.fds), one_case.error) << one_case.what;
    EXPECT_TRUE(client.IsServed()) << one_case.what;
  }
  // Nothing has changed.
  EXPECT_EQ(client.Ask(Command::kDmaUnmap, unmap(kFrom, 8192)), 0u);
  EXPECT_EQ(client.Ask(Command::kDmaUnmap, unmap(kTo, 8192)), 0u);
  EXPECT_EQ(client.MapDma(kFrom, 8192), 0u);
  EXPECT_EQ(client.MapDma(kTo, 8192), 0u);
  EXPECT_EQ(client.Ask(Command::kDmaUnmap, unmap(0, 0, VFIO_DMA_UNMAP_FLAG_ALL)), 0u);
  EXPECT_EQ(client.MapDma(kFrom, 8192), 0u);
}

TEST(VfioUserServer, RejectsTooManyDescriptors) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  const auto event = EventFd();
  std::vector<int> fds(host::vfio_user::kMaxFds + 1, event.get());
  Header header;
  header.command = static_cast<uint16_t>(Command::kSetIrqs);
  const Bytes payload = Join(Irqs(kAssign, 0, 8));
  header.bytes = static_cast<uint32_t>(sizeof header + payload.size());
  Bytes bytes = Join(header);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  alignas(cmsghdr) std::array<uint8_t, 256> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  ASSERT_EQ(::sendmsg(client.fd(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(client.Receive().header.error, static_cast<uint32_t>(EINVAL));
  EXPECT_TRUE(client.IsServed());
}

// --- Dropped connections

TEST(VfioUserServer, DropsClientWithInvalidStream) {
  VfioUserBench bench;
  const auto header = [](uint32_t bytes, uint32_t flags, Command command = Command::kGetInfo) {
    Header value;
    value.command = static_cast<uint16_t>(command);
    value.bytes = bytes;
    value.flags = flags;
    return Join(value);
  };
  const std::vector<Bytes> all = {header(0, 0),
                                  header(15, 0),
                                  header(~0U, 0),
                                  header(16, 2),
                                  header(16, 15),
                                  header(16, Header::kReply),
                                  header(16, Header::kReply, Command::kDmaRead)};
  for (const Bytes& bytes : all) {
    RawClient client(bench.socket());
    client.SendBytes(bytes);
    EXPECT_TRUE(client.IsDropped());
  }
  {
    RawClient client(bench.socket(), nullptr);
    client.Send(Command::kGetInfo, Join(DeviceInfo{}));  // before VERSION
    EXPECT_TRUE(client.IsDropped());
  }
  // Disconnects within a message.
  for (size_t bytes = 0; bytes < 48; bytes += 5) {
    RawClient client(bench.socket());
    Bytes message = header(48, 0, Command::kDmaMap);
    message.resize(48);
    client.SendBytes(std::span(message).first(bytes));
  }
  RawClient next(bench.socket());
  EXPECT_TRUE(next.IsServed());
}

TEST(VfioUserServer, ResetsFunctionOnDisconnect) {
  VfioUserBench bench;
  const auto file = MemoryFile(8192);
  {
    RawClient client(bench.socket());
    ASSERT_EQ(client.MapDma(kFrom, 8192, file.get()), 0u);
    client.EnableDma();
    client.Write(0, 0, 8, 0x77);
    EXPECT_EQ(client.Read(0, 0, 8), 0x77u);
    EXPECT_EQ(client.Read(kConfig, spec::PciHeader::kCommandOffset, 2) & 6u, 6u);
    // Reset command of the client.
    EXPECT_EQ(client.Ask(Command::kReset, {}), 0u);
    EXPECT_EQ(client.Read(0, 0, 8), 0u);
    EXPECT_EQ(client.MapDma(kFrom, 8192, file.get()), static_cast<uint32_t>(EEXIST));
    client.EnableDma();
    client.Write(0, 0, 8, 0x78);
    EXPECT_EQ(client.Read(0, 0, 8), 0x78u);
  }
  RawClient next(bench.socket());
  EXPECT_EQ(next.Read(0, 0, 8), 0u);
  EXPECT_EQ(next.Read(kConfig, spec::PciHeader::kCommandOffset, 2) & 6u, 0u);
  EXPECT_EQ(next.MapDma(kFrom, 8192, file.get()), 0u);
  EXPECT_EQ(bench.resets(), 2u);
}

// --- Memory

// Serves DMA_READ and DMA_WRITE until all of `bytes` are written.
void ServeCopy(RawClient& client, uint64_t bytes, Bytes& source, Bytes& target) {
  for (uint64_t written = 0; written < bytes;) {
    const Message message = client.Receive();
    ASSERT_FALSE(message.is_reply());
    const auto access = Get<DmaAccess>(message.payload);
    Bytes answer = Join(access);
    if (message.command() == Command::kDmaRead) {
      ASSERT_LE(access.address + access.count, kFrom + source.size());
      const auto at = source.begin() + static_cast<std::ptrdiff_t>(access.address - kFrom);
      answer.insert(answer.end(), at, at + static_cast<std::ptrdiff_t>(access.count));
    } else {
      ASSERT_EQ(message.command(), Command::kDmaWrite);
      ASSERT_LE(access.address + access.count, kTo + target.size());
      std::memcpy(target.data() + (access.address - kTo), message.payload.data() + sizeof access, access.count);
      written += access.count;
    }
    ASSERT_TRUE(client.Send(message.command(), answer, {}, Header::kReply, message.header.id));
  }
}

Bytes Ramp(size_t bytes, uint8_t first) {
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(first + i * 7);
  return data;
}

// A client with an emulated IOMMU maps pages, and unmaps what a table of pages covered.
TEST(VfioUserServer, UnmapsAllWindowsOfARange) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  constexpr uint64_t kTable = 0x20'0000;  // covered by a table of pages
  const auto unmap = [&](uint64_t address, uint64_t bytes) {
    DmaUnmap value;
    value.address = address;
    value.size = bytes;
    return client.Ask(Command::kDmaUnmap, Join(value));
  };
  const auto file = MemoryFile(8192);
  ASSERT_EQ(client.MapDma(kTable - 4096, 4096), 0u);
  ASSERT_EQ(client.MapDma(kTable, 4096, file.get(), 4096), 0u);
  ASSERT_EQ(client.MapDma(kTable + 8192, 4096), 0u);
  ASSERT_EQ(client.MapDma(2 * kTable - 4096, 4096), 0u);
  ASSERT_EQ(client.MapDma(2 * kTable, 4096), 0u);
  EXPECT_EQ(unmap(kTable, kTable), 0u);
  // The neighbors are mapped, and all between them is free.
  EXPECT_EQ(client.MapDma(kTable - 4096, 4096), static_cast<uint32_t>(EEXIST));
  EXPECT_EQ(client.MapDma(2 * kTable, 4096), static_cast<uint32_t>(EEXIST));
  EXPECT_EQ(client.MapDma(kTable, kTable), 0u);
  EXPECT_EQ(unmap(0, uint64_t{1} << 47), 0u);
  EXPECT_EQ(unmap(0, uint64_t{1} << 47), 0u);  // nothing is mapped
  EXPECT_EQ(client.MapDma(0, 4 * kTable), 0u);
}

// 128 MiB of pages, as a client with an emulated IOMMU maps them, and no page more.
TEST(VfioUserServer, MapsPagesOneByOne) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  constexpr uint64_t kBytes = 128 << 20;
  for (uint64_t address = 0; address < kBytes; address += 4096) ASSERT_EQ(client.MapDma(address, 4096), 0u) << address;
  EXPECT_EQ(client.MapDma(kBytes, 4096), static_cast<uint32_t>(ENOSPC));
  DmaUnmap all;
  all.size = kBytes;
  EXPECT_EQ(client.Ask(Command::kDmaUnmap, Join(all)), 0u);
  EXPECT_EQ(client.MapDma(kBytes, 4096), 0u);
}

TEST(VfioUserServer, AccessesMemoryByMessageAndByFile) {
  VfioUserBench bench;
  // At most 100 bytes in a message.
  RawClient client(bench.socket(), R"({"capabilities":{"max_data_xfer_size":100}})");
  client.EnableDma();
  ASSERT_EQ(client.MapDma(kFrom, 4096), 0u);
  // Not sealed, so its owner could truncate it: accessed by messages, too.
  const host::FileDescriptor loose(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(loose.get(), 4096), 0);
  ASSERT_EQ(client.MapDma(kTo, 4096, loose.get()), 0u);
  Bytes source = Ramp(4096, 1), target(4096);
  client.Copy(kFrom, kTo, 3000);
  ServeCopy(client, 3000, source, target);
  EXPECT_TRUE(std::equal(target.begin(), target.begin() + 3000, source.begin()));
  EXPECT_EQ(target[3000], 0);

  // The second page of a file.
  DmaUnmap unmap;
  unmap.address = kTo;
  unmap.size = 4096;
  ASSERT_EQ(client.Ask(Command::kDmaUnmap, Join(unmap)), 0u);
  const auto file = MemoryFile(8192);
  ASSERT_EQ(client.MapDma(kTo, 4096, file.get(), 4096), 0u);
  const auto event = EventFd();
  ASSERT_EQ(client.Ask(Command::kSetIrqs, Join(Irqs(kAssign, 0, 1)), {event.get()}), 0u);
  client.Copy(kFrom, kTo, 100);
  const Message read = client.Receive();
  ASSERT_EQ(read.command(), Command::kDmaRead);
  const auto access = Get<DmaAccess>(read.payload);
  Bytes answer = Join(access);
  answer.insert(answer.end(), source.begin(), source.begin() + static_cast<std::ptrdiff_t>(access.count));
  ASSERT_TRUE(client.Send(Command::kDmaRead, answer, {}, Header::kReply, read.header.id));
  ASSERT_TRUE(IsSignaled(event, 20'000));
  Bytes seen(100);
  ASSERT_EQ(::pread(file.get(), seen.data(), seen.size(), 4096), 100);
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), source.begin()));
}

TEST(VfioUserServer, RegisterReadDoesNotWaitForDmaRead) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  client.EnableDma();
  ASSERT_EQ(client.MapDma(kFrom, 4096), 0u);
  ASSERT_EQ(client.MapDma(kTo, 4096), 0u);
  Bytes source = Ramp(4096, 9), target(4096);
  for (const bool is_late : {false, true}) {
    client.Copy(kFrom, kTo, 64);
    // Late: the server already waits for the reply to its DMA_READ when the register read arrives.
    Message dma;
    if (is_late) dma = client.Receive();
    for (uint16_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(
          client.Send(Command::kRegionRead, Join(RegionAccess{.offset = 0, .region = 0, .count = 8}), {}, 0, i));
      // Like a guest that stalls until its read completes, the client replies to nothing else.
      Message message = client.Receive();
      if (!message.is_reply()) {
        ASSERT_EQ(dma.payload.size(), 0u);
        dma = std::move(message);
        message = client.Receive();
      }
      ASSERT_TRUE(message.is_reply());
      EXPECT_EQ(message.header.id, i);
      EXPECT_EQ(Get<uint64_t>(std::span(message.payload).subspan(sizeof(RegionAccess))), kFrom);
    }
    if (dma.payload.empty()) dma = client.Receive();
    ASSERT_EQ(dma.command(), Command::kDmaRead);
    const auto access = Get<DmaAccess>(dma.payload);
    Bytes answer = Join(access);
    answer.insert(answer.end(), source.begin(), source.begin() + static_cast<std::ptrdiff_t>(access.count));
    ASSERT_TRUE(client.Send(Command::kDmaRead, answer, {}, Header::kReply, dma.header.id));
    ServeCopy(client, 64, source, target);
    EXPECT_TRUE(std::equal(target.begin(), target.begin() + 64, source.begin()));
    target.assign(4096, 0);
  }
}

// Confirms a DMA_WRITE.
void Confirm(int socket, const Message& write) {
  Header header = write.header;
  header.flags = Header::kReply;
  EXPECT_TRUE(host::vfio_user::SendMessage(socket, header, Join(Get<DmaAccess>(write.payload))));
}

TEST(VfioUserServer, InterruptFollowsConfirmedWrites) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  client.EnableDma();
  const auto file = MemoryFile(4096);
  const auto event = EventFd();
  ASSERT_EQ(client.MapDma(kFrom, 4096, file.get()), 0u);
  ASSERT_EQ(client.MapDma(kTo, 4096), 0u);
  ASSERT_EQ(client.Ask(Command::kSetIrqs, Join(Irqs(kAssign, 0, 1)), {event.get()}), 0u);
  client.Copy(kFrom, kTo, 64);
  const Message write = client.Receive();
  ASSERT_EQ(write.command(), Command::kDmaWrite);
  // After many register reads the device has certainly issued its MSI-X message.
  for (int i = 0; i < 200; ++i) EXPECT_EQ(client.Read(0, 0, 8), kFrom);
  EXPECT_FALSE(IsSignaled(event, 0));
  Confirm(client.fd(), write);
  EXPECT_TRUE(IsSignaled(event, 20'000));
}

TEST(VfioUserServer, TwinSocketOrdersRegisterReadAfterWrites) {
  VfioUserBench bench;
  RawClient client(bench.socket(), R"({"capabilities":{"twin_socket":{"supported":true}}})");
  ASSERT_GE(client.twin(), 0);
  client.EnableDma();
  const auto file = MemoryFile(4096);
  ASSERT_EQ(client.MapDma(kFrom, 4096, file.get()), 0u);
  ASSERT_EQ(client.MapDma(kTo, 4096), 0u);
  client.Copy(kFrom, kTo, 64);
  host::vfio_user::MessageReader reader;
  const Message write = RawClient::ReceiveFrom(client.twin(), reader);
  ASSERT_EQ(write.command(), Command::kDmaWrite);
  ASSERT_TRUE(client.Send(Command::kRegionRead, Join(RegionAccess{.offset = 0, .region = 0, .count = 8})));
  pollfd readable{.fd = client.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 50), 0);
  Confirm(client.twin(), write);
  EXPECT_EQ(client.Receive().command(), Command::kRegionRead);
  EXPECT_TRUE(client.IsServed());
  // A client command on the twin socket is invalid.
  Header header;
  header.command = static_cast<uint16_t>(Command::kGetInfo);
  EXPECT_TRUE(host::vfio_user::SendMessage(client.twin(), header, Join(DeviceInfo{})));
  EXPECT_TRUE(client.IsDropped());
}

TEST(VfioUserServer, DropsClientWithoutValidDmaReply) {
  VfioUserBench bench(/*timeout_ms=*/50);
  const auto copy = [&](RawClient& client) {
    client.EnableDma();
    EXPECT_EQ(client.MapDma(kFrom, 4096), 0u);
    client.Copy(kFrom, kFrom + 1024, 64);
    Message message = client.Receive();
    EXPECT_EQ(message.command(), Command::kDmaRead);
    return message;
  };
  {
    RawClient silent(bench.socket());
    copy(silent);
    EXPECT_TRUE(silent.IsDropped());
  }
  // Invalid replies: too short, wrong address, wrong message ID, duplicate.
  for (int kind = 0; kind < 4; ++kind) {
    RawClient client(bench.socket());
    const Message message = copy(client);
    auto access = Get<DmaAccess>(message.payload);
    if (kind == 1) ++access.address;
    Bytes answer = Join(access);
    answer.resize(answer.size() + access.count - (kind == 0 ? 1 : 0));
    const uint16_t id = static_cast<uint16_t>(message.header.id + (kind == 2 ? 1 : 0));
    client.Send(Command::kDmaRead, answer, {}, Header::kReply, id);
    if (kind == 3) client.Send(Command::kDmaRead, answer, {}, Header::kReply, id);
    EXPECT_TRUE(client.IsDropped()) << kind;
  }
  // An error reply is valid: the device's read fails, and the client stays connected.
  RawClient honest(bench.socket());
  const Message message = copy(honest);
  Header header = message.header;
  header.flags = Header::kReply | Header::kError;
  header.error = EFAULT;
  EXPECT_TRUE(host::vfio_user::SendMessage(honest.fd(), header, {}));
  EXPECT_TRUE(honest.IsServed());
}

// --- Interrupts

TEST(VfioUserServer, MasksTriggersAndRemovesVectors) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  const auto first = EventFd(), second = EventFd();
  ASSERT_EQ(client.Ask(Command::kSetIrqs, Join(Irqs(kAssign, 0, 2)), {first.get(), second.get()}), 0u);
  const auto set = [&](uint32_t flags, uint32_t start, uint32_t count, const Bytes& data = {}) {
    Bytes payload = Join(Irqs(flags, start, count));
    payload.insert(payload.end(), data.begin(), data.end());
    EXPECT_EQ(client.Ask(Command::kSetIrqs, payload), 0u);
  };
  const uint32_t none = VFIO_IRQ_SET_DATA_NONE, boolean = VFIO_IRQ_SET_DATA_BOOL;
  const uint32_t trigger = VFIO_IRQ_SET_ACTION_TRIGGER, mask = VFIO_IRQ_SET_ACTION_MASK;
  set(none | trigger, 0, 2);
  EXPECT_TRUE(IsSignaled(first, 0) && IsSignaled(second, 0));
  set(boolean | trigger, 0, 2, {0, 1});
  EXPECT_TRUE(!IsSignaled(first, 0) && IsSignaled(second, 0));
  set(none | mask, 0, 1);
  set(none | trigger, 0, 2);
  EXPECT_TRUE(!IsSignaled(first, 0) && IsSignaled(second, 0));
  set(none | VFIO_IRQ_SET_ACTION_UNMASK, 0, 2);
  EXPECT_TRUE(IsSignaled(first, 0) && !IsSignaled(second, 0));

  // Interrupts of the device arrive after its data, also after a reset, which keeps the client's vectors.
  const auto file = MemoryFile(8192);
  ASSERT_EQ(client.MapDma(kFrom, 8192, file.get()), 0u);
  for (int i = 0; i < 3; ++i) {
    client.EnableDma();
    const Bytes source = Ramp(1000, static_cast<uint8_t>(i + 1));
    ASSERT_EQ(::pwrite(file.get(), source.data(), source.size(), 0), 1000);
    client.Copy(kFrom, kFrom + 4096, 1000);
    ASSERT_TRUE(IsSignaled(first, 20'000)) << i;
    Bytes target(1000);
    ASSERT_EQ(::pread(file.get(), target.data(), target.size(), 4096), 1000);
    EXPECT_EQ(target, source);
    if (i == 1) {
      EXPECT_EQ(client.Ask(Command::kReset, {}), 0u);
    }
  }
  set(VFIO_IRQ_SET_DATA_EVENTFD | trigger, 0, 1);  // removes the eventfd
  set(none | trigger, 0, 2);
  EXPECT_TRUE(!IsSignaled(first, 0) && IsSignaled(second, 0));
  set(none | trigger, 0, 0);
  set(none | trigger, 0, 2);
  EXPECT_TRUE(!IsSignaled(first, 0) && !IsSignaled(second, 0));
}

// QEMU assigns both and reports an error if it cannot.
TEST(VfioUserServer, ErrorAndRequestHaveTheirOwnEventFds) {
  VfioUserBench bench;
  RawClient client(bench.socket());
  const auto vector = EventFd(), error = EventFd(), request = EventFd();
  const uint32_t fire = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
  const auto set = [&](uint32_t flags, uint32_t index, uint32_t count, const std::vector<int>& fds = {}) {
    EXPECT_EQ(client.Ask(Command::kSetIrqs, Join(Irqs(flags, 0, count, index)), fds), 0u) << index;
  };
  set(kAssign, VFIO_PCI_MSIX_IRQ_INDEX, 1, {vector.get()});
  set(kAssign, VFIO_PCI_ERR_IRQ_INDEX, 1, {error.get()});
  set(kAssign, VFIO_PCI_REQ_IRQ_INDEX, 1, {request.get()});
  set(fire, VFIO_PCI_ERR_IRQ_INDEX, 1);
  EXPECT_TRUE(!IsSignaled(vector, 0) && IsSignaled(error, 0) && !IsSignaled(request, 0));
  set(fire, VFIO_PCI_REQ_IRQ_INDEX, 1);
  EXPECT_TRUE(!IsSignaled(vector, 0) && !IsSignaled(error, 0) && IsSignaled(request, 0));
  set(fire, VFIO_PCI_ERR_IRQ_INDEX, 0);  // removes this eventfd only
  for (const uint32_t index : {VFIO_PCI_ERR_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX, VFIO_PCI_MSIX_IRQ_INDEX}) {
    set(fire, index, 1);
  }
  EXPECT_TRUE(IsSignaled(vector, 0) && !IsSignaled(error, 0) && IsSignaled(request, 0));
}

// --- Random messages

TEST(VfioUserServer, RandomMessagesDoNotAffectNextClient) {
  VfioUserBench bench(/*timeout_ms=*/20);
  std::mt19937_64 random = MakeRandom("vfio_user.server");
  const auto below = [&](uint64_t bound) { return random() % bound; };
  const auto file = MemoryFile(1 << 20);
  const auto event = EventFd();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  unsigned clients = 0;
  while (std::chrono::steady_clock::now() < end) {
    ++clients;
    RawClient client(bench.socket());
    const uint64_t messages = below(200);
    for (uint64_t i = 0; i < messages; ++i) {
      Bytes payload(below(64));
      // Small numbers are valid more often.
      for (uint8_t& byte : payload) byte = static_cast<uint8_t>(below(3) == 0 ? random() : below(2) * below(8));
      const bool is_known = below(4) != 0;
      const auto command = static_cast<Command>(is_known ? 2 + below(15) : random());
      std::vector<int> fds;
      for (uint64_t n = below(8) == 0 ? below(4) : 0; n > 0; --n)
        fds.push_back(below(2) == 0 ? file.get() : event.get());
      const uint32_t flags = below(50) == 0 ? static_cast<uint32_t>(random()) : (below(2) == 0 ? Header::kNoReply : 0);
      if (!client.Send(command, payload, fds, flags)) break;
    }
    if (below(2) == 0) {
      Bytes noise(below(100));
      for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
      client.SendBytes(noise);
    }
  }
  EXPECT_GT(clients, 10u);
  RawClient next(bench.socket());
  EXPECT_TRUE(next.IsServed());
  next.Write(0, 0, 8, 5);
  EXPECT_EQ(next.Read(0, 0, 8), 5u);
}

}  // namespace
}  // namespace vireo::sim
