// SPDX-License-Identifier: Apache-2.0
// Messages and arbitrary bytes of a vfio-user client into the server's end of the socket, with a NIC (the model) behind
// it. Every reply must match a sent command and its own header; malformed data closes the connection; the next client
// finds a working function.
//
// Input: a byte that selects the client's negotiation, then steps: a byte Step and its operands. The client answers the
// device's DMA messages with zeros, or not at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/vfio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/topology/rdma_system.h"
#include "sim/vfio_user/connection.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

using host::vfio_user::Command;
using host::vfio_user::Header;
using host::vfio_user::Message;

// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kMessage,  // command, flags, length (2), bytes
  kBytes,    // length, arbitrary bytes
  kMapFile,  // address in pages, pages, offset in quarter pages
  kConfig,   // offset (2), bytes, value (4); write
  kBar,      // region, offset (3), bytes, value (8); write
  kReadBar,  // region, offset (3), bytes
  kTime,     // 0.1 us times the byte
  kCount,
};
constexpr size_t kMostSteps = 32;
constexpr uint64_t kFileBytes = 64 * 1024, kPage = 4096;
constexpr std::array<std::string_view, 4> kCapabilities = {
    R"({"capabilities":{}})",
    R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":4096,"write_multiple":true,"pgsizes":4096}})",
    R"({"capabilities":{"twin_socket":{"supported":true}}})",
    R"({"capabilities":{"max_dma_maps":65535,"migration":{"pgsize":4096},"twin_socket":{"supported":false}}})"};

struct World {
  World() {
    auto built = RdmaSystem::Build({.config = &spec::kNic1, .is_monitored = false, .open = false});
    EXPECT_NE(built.system, nullptr) << built.error;
    system = std::move(built.system);
    windows = std::make_unique<StationWindows>(system->host(0).station());
    port = std::make_unique<VfioUserPort>(VfioUserPort{.function = system->host(0).function(),
                                                       .memory = *windows,
                                                       .reset = [this] { system->Reset(0); },
                                                       .timeout_ms = 1});
  }
  static World& Get() {
    static World world;
    return world;
  }
  std::unique_ptr<RdmaSystem> system;
  service::EventLoop loop;
  std::unique_ptr<StationWindows> windows;
  std::unique_ptr<VfioUserPort> port;
};

class Run {
 public:
  explicit Run(InputReader input) : input_(input) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    client_ = host::FileDescriptor(ends[1]);
    world_.system->Reset(0);
    connection_ = std::make_unique<VfioUserConnection>(world_.loop, *world_.port, host::FileDescriptor(ends[0]));
  }

  void Go() {
    const uint8_t how = input_.Byte();
    answers_dma_ = (how & 0x80) != 0;
    if ((how & 0x40) == 0) {
      Bytes payload(sizeof(host::vfio_user::Version));
      const std::string_view text = kCapabilities[how % kCapabilities.size()];
      payload.insert(payload.end(), text.begin(), text.end());
      payload.push_back(0);
      SendMessage(Command::kVersion, 0, payload);
    }
    for (size_t i = 0; i < kMostSteps && !input_.is_empty() && !connection_->is_over(); ++i) {
      Do(static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount)));
    }
    Serve();
    connection_.reset();
    // No state is left: the next client has a working function.
    world_.system->Reset(0);
    EXPECT_EQ(world_.port->function.ReadConfig(0, 2), spec::kPciVendorId);
    EXPECT_EQ(world_.system->Violations(), "");
  }

 private:
  void Do(Step step) {
    switch (step) {
      case Step::kMessage: {
        const auto command = static_cast<Command>(input_.Byte());
        const uint8_t flags = input_.Byte();
        const auto payload = input_.Take(input_.U16() % 4200);
        return SendMessage(command, flags, payload);
      }
      case Step::kBytes: {
        const auto bytes = input_.Take(input_.Byte());
        // A truncated message swallows the following bytes.
        is_garbled_ = true;
        static_cast<void>(::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        return Serve();
      }
      case Step::kMapFile: {
        host::vfio_user::DmaMap map;
        map.address = uint64_t{input_.Byte()} * kPage;
        map.size = uint64_t{input_.Byte()} * kPage;
        map.offset = uint64_t{input_.Byte()} * (kPage / 4);
        host::FileDescriptor file(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(kFileBytes)), 0);
        if ((map.offset & kPage) == 0) {
          EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
        }
        return SendMessage(Command::kDmaMap, 0, host::vfio_user::BytesOf(map), file.get());
      }
      case Step::kConfig: {
        host::vfio_user::RegionAccess access{.offset = input_.U16() % 300U, .region = VFIO_PCI_CONFIG_REGION_INDEX};
        access.count = 1 + input_.Byte() % 8U;
        return SendAccess(Command::kRegionWrite, access, input_.U32());
      }
      case Step::kBar:
      case Step::kReadBar: {
        host::vfio_user::RegionAccess access{.offset = 0, .region = input_.Byte() % 7U};
        access.offset = input_.U16() | uint64_t{input_.Byte()} << 16;
        access.count = 1 + input_.Byte() % 8U;
        return step == Step::kBar ? SendAccess(Command::kRegionWrite, access, input_.U64())
                                  : SendMessage(Command::kRegionRead, 0, host::vfio_user::BytesOf(access));
      }
      case Step::kTime:
      case Step::kCount: world_.system->topology().RunFor(Picoseconds{input_.Byte()} * 100'000); return Serve();
    }
  }
  void SendAccess(Command command, const host::vfio_user::RegionAccess& access, uint64_t value) {
    Bytes payload;
    Append(payload, host::vfio_user::BytesOf(access));
    Append(payload, host::vfio_user::BytesOf(value).first(access.count));
    SendMessage(command, 0, payload);
  }
  void SendMessage(Command command, uint8_t flags, std::span<const uint8_t> payload, int fd = -1) {
    Header header;
    header.id = ++sent_;
    header.command = static_cast<uint16_t>(command);
    header.flags = flags;
    // A send error means that the server has closed the socket.
    static_cast<void>(
        host::vfio_user::SendMessage(client_.get(), header, payload, {}, std::span<const int>(&fd, fd >= 0 ? 1 : 0)));
    Serve();
  }
  // Runs the server until idle, and reads its messages.
  void Serve() {
    for (int i = 0; i < 4 && !connection_->is_over(); ++i) {
      world_.loop.Poll(0);
      connection_->Progress();
      world_.system->topology().RunFor(1'000'000);
      Read();
    }
  }
  void Read() {
    Message message;
    while (reader_.Read(client_.get(), false, message) == host::vfio_user::MessageReader::Got::kMessage) {
      if (!message.fds.empty()) twin_ = std::move(message.fds[0]);
      if (!message.is_reply()) {
        EXPECT_TRUE(message.command() == Command::kDmaRead || message.command() == Command::kDmaWrite);
        AnswerDma(client_.get(), message);
        continue;
      }
      const bool is_error = (message.header.flags & Header::kError) != 0;
      EXPECT_EQ(is_error, message.header.error != 0);
      EXPECT_TRUE(!is_error || message.payload.empty());
      EXPECT_TRUE(is_garbled_ || message.header.id <= sent_);
    }
    if (!twin_.is_open()) return;
    while (twin_reader_.Read(twin_.get(), false, message) == host::vfio_user::MessageReader::Got::kMessage) {
      AnswerDma(twin_.get(), message);
    }
  }
  void AnswerDma(int socket, const Message& message) {
    if (!answers_dma_ || message.payload.size() < sizeof(host::vfio_user::DmaAccess)) return;
    const auto access = host::vfio_user::Get<host::vfio_user::DmaAccess>(message.payload);
    if (access.count > 16 * 1024) return;  // beyond the socket's guaranteed buffer
    Header header = message.header;
    header.flags = Header::kReply;
    const Bytes zeros(message.command() == Command::kDmaRead ? access.count : 0);
    static_cast<void>(host::vfio_user::SendMessage(socket, header, host::vfio_user::BytesOf(access), zeros));
  }

  World& world_ = World::Get();
  InputReader input_;
  host::FileDescriptor client_, twin_;
  host::vfio_user::MessageReader reader_, twin_reader_;
  std::unique_ptr<VfioUserConnection> connection_;
  uint16_t sent_ = 0;
  bool is_garbled_ = false;
  bool answers_dma_ = false;
};

void AddMessage(Bytes& seed, Command command, std::span<const uint8_t> payload, uint8_t flags = 0) {
  for (const uint8_t byte : {static_cast<uint8_t>(Step::kMessage), static_cast<uint8_t>(command), flags}) {
    seed.push_back(byte);
  }
  Put(seed, payload.size(), 2);
  Append(seed, payload);
}

}  // namespace

std::vector<Bytes> Seeds() {
  using namespace host::vfio_user;  // NOLINT(google-build-using-namespace): namespace under test
  std::vector<Bytes> seeds;
  // QEMU's initial sequence.
  for (const uint8_t how : std::initializer_list<uint8_t>{0x80, 0x81, 0x82, 3}) {
    Bytes& seed = seeds.emplace_back(Bytes{how});
    AddMessage(seed, Command::kGetInfo, BytesOf(DeviceInfo{}));
    for (uint32_t i = 0; i < VFIO_PCI_NUM_REGIONS; ++i)
      AddMessage(seed, Command::kGetRegionInfo, BytesOf(RegionInfo{.index = i}));
    for (uint32_t i = 0; i < VFIO_PCI_NUM_IRQS; ++i)
      AddMessage(seed, Command::kGetIrqInfo, BytesOf(IrqInfo{.index = i}));
    AddMessage(seed, Command::kRegionRead,
               BytesOf(RegionAccess{.offset = 0, .region = VFIO_PCI_CONFIG_REGION_INDEX, .count = 64}));
    Append(seed, Bytes{static_cast<uint8_t>(Step::kConfig), 4, 0, 1, 6, 0, 0, 0});
    Append(seed, Bytes{static_cast<uint8_t>(Step::kMapFile), 16, 8, 0});
    AddMessage(seed, Command::kDmaMap, BytesOf(DmaMap{.address = 0x100000, .size = 0x10000}));
  }
  Bytes& registers = seeds.emplace_back(Bytes{0x81});
  Append(registers, Bytes{static_cast<uint8_t>(Step::kConfig), 4, 0, 1, 6, 0, 0, 0});
  for (const uint8_t offset : std::initializer_list<uint8_t>{0, 4, 20, 24, 28}) {
    Append(registers, Bytes{static_cast<uint8_t>(Step::kReadBar), 0, offset, 0, 0, 3});
    Append(registers, Bytes{static_cast<uint8_t>(Step::kBar), 0, offset, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0});
  }
  AddMessage(
      registers, Command::kSetIrqs,
      BytesOf(IrqSet{.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, .index = VFIO_PCI_MSIX_IRQ_INDEX}));
  AddMessage(registers, Command::kDmaUnmap, BytesOf(DmaUnmap{.address = 0x100000, .size = 0x10000}));
  AddMessage(registers, Command::kReset, {});
  Bytes multi;
  Put(multi, 2, 8);
  for (int i = 0; i < 2; ++i) Append(multi, BytesOf(SmallWrite{.access = {.offset = 20, .region = 0, .count = 1}}));
  AddMessage(registers, Command::kRegionWriteMulti, multi);
  Append(registers,
         Bytes{static_cast<uint8_t>(Step::kTime), 10, static_cast<uint8_t>(Step::kBytes), 5, 1, 0, 2, 0, 16});
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vireo::sim::Run(vireo::sim::InputReader({data, size})).Go();
  return 0;
}
