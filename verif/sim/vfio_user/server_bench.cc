// SPDX-License-Identifier: Apache-2.0
#include "verif/sim/vfio_user/server_bench.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "Vnic_probe_512.h"
#include "host/driver/unix_socket.h"
#include "sim/device/rtl_nic.h"
#include "sim/device/rtl_pins.h"

namespace vireo::sim {
namespace {

constexpr int kTimeoutMs = 20'000;

std::unique_ptr<Nic> MakeProbe(const NicContext& context) {
  return std::make_unique<RtlNic>(context, std::make_unique<RtlPins<Vnic_probe_512>>(),
                                  PciConfig::Options{.msix_vectors = 8});
}

}  // namespace

VfioUserBench::VfioUserBench(int timeout_ms) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_vfio_XXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  directory_ = pattern;
  socket_ = directory_ + "/nic0.vfio";
  TopologyParameters parameters;
  parameters.nics.resize(2);
  parameters.nics[0].name = "a";
  parameters.nics[1].name = "b";
  parameters.fabric = Fabric::kDirect;
  auto built = Topology::Build(scheduler_, parameters, MakeProbe);
  EXPECT_EQ(built.error, "");
  topology_ = std::move(built.topology);
  function_ = std::make_unique<SimulatedFunction>(scheduler_, topology_->station(0));
  windows_ = std::make_unique<StationWindows>(topology_->station(0));
  const VfioUserPort port{.function = *function_,
                          .memory = *windows_,
                          .reset =
                              [this] {
                                ++resets_;
                                topology_->Reset(0);
                                topology_->RunFor(1'000'000);
                                function_->Enumerate();
                              },
                          .timeout_ms = timeout_ms};
  auto server = VfioUserServer::Listen(loop_, port, socket_);
  EXPECT_TRUE(server.ok());
  server_ = std::move(server).value();
  thread_ = std::thread([this] { Run(); });
}

VfioUserBench::~VfioUserBench() {
  is_stopping_ = true;
  thread_.join();
  server_.reset();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

void VfioUserBench::Run() {
  constexpr uint64_t kPauseNs = 100'000;
  while (!is_stopping_) {
    const bool is_idle = topology_->IsQuiet() && !server_->has_work();
    loop_.Poll(is_idle ? kPauseNs : 0);
    topology_->RunFor(1'000'000);
    server_->Progress();
  }
}

// --- The client

RawClient::RawClient(const std::string& socket, const char* capabilities) {
  auto connected = host::ConnectTo(socket, SOCK_STREAM);
  EXPECT_TRUE(connected.ok());
  if (!connected.ok()) return;
  socket_ = std::move(connected).value();
  if (capabilities == nullptr) return;
  Bytes payload = Join(host::vfio_user::Version{});
  payload.insert(payload.end(), capabilities, capabilities + std::strlen(capabilities) + 1);
  EXPECT_EQ(Ask(Command::kVersion, payload), 0u);
}

bool RawClient::Send(Command command, std::span<const uint8_t> payload, const std::vector<int>& fds, uint32_t flags,
                     uint16_t id) {
  host::vfio_user::Header header;
  header.id = id;
  header.command = static_cast<uint16_t>(command);
  header.flags = flags;
  return host::vfio_user::SendMessage(socket_.get(), header, payload, {}, fds);
}

void RawClient::SendBytes(std::span<const uint8_t> bytes) const {
  // Fails if the server drops this client meanwhile, which is fine.
  static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == 0);
}

RawClient::Message RawClient::ReceiveFrom(int socket, host::vfio_user::MessageReader& reader) {
  using Got = host::vfio_user::MessageReader::Got;
  Message message;
  for (;;) {
    const Got got = reader.Read(socket, false, message);
    if (got == Got::kMessage) return message;
    pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
    if (got != Got::kNothing || ::poll(&readable, 1, kTimeoutMs) != 1) {
      ADD_FAILURE() << "no message";
      return {};
    }
  }
}

bool RawClient::IsDropped() {
  using Got = host::vfio_user::MessageReader::Got;
  Message message;
  for (;;) {
    const Got got = reader_.Read(socket_.get(), false, message);
    if (got == Got::kClosed) return true;
    pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (got == Got::kNothing && ::poll(&readable, 1, kTimeoutMs) != 1) return false;
  }
}

uint32_t RawClient::Ask(Command command, std::span<const uint8_t> payload, const std::vector<int>& fds, Bytes* answer) {
  static uint16_t id = 100;
  ++id;
  EXPECT_TRUE(Send(command, payload, fds, 0, id));
  Message message = Receive();
  EXPECT_TRUE(message.is_reply());
  EXPECT_EQ(message.header.id, id);
  EXPECT_EQ(message.header.command, static_cast<uint16_t>(command));
  if (answer != nullptr) *answer = message.payload;
  if (!message.fds.empty()) twin_ = std::move(message.fds[0]);
  const bool is_error = (message.header.flags & host::vfio_user::Header::kError) != 0;
  EXPECT_EQ(is_error, message.header.error != 0);
  EXPECT_TRUE(!is_error || message.payload.empty());
  return message.header.error;
}

bool RawClient::IsServed() { return Ask(Command::kGetInfo, Join(host::vfio_user::DeviceInfo{})) == 0; }

uint64_t RawClient::Read(uint32_t region, uint64_t offset, uint32_t bytes) {
  Bytes answer;
  const host::vfio_user::RegionAccess access{.offset = offset, .region = region, .count = bytes};
  EXPECT_EQ(Ask(Command::kRegionRead, Join(access), {}, &answer), 0u);
  EXPECT_EQ(answer.size(), sizeof access + bytes);
  uint64_t value = 0;
  if (answer.size() == sizeof access + bytes) std::memcpy(&value, answer.data() + sizeof access, bytes);
  return value;
}

void RawClient::Write(uint32_t region, uint64_t offset, uint32_t bytes, uint64_t value) {
  Bytes payload = Join(host::vfio_user::RegionAccess{.offset = offset, .region = region, .count = bytes}, value);
  payload.resize(sizeof(host::vfio_user::RegionAccess) + bytes);
  EXPECT_TRUE(Send(Command::kRegionWrite, payload, {}, host::vfio_user::Header::kNoReply));
}

void RawClient::EnableDma() {
  Write(VFIO_PCI_CONFIG_REGION_INDEX, spec::PciHeader::kCommandOffset, 2,
        spec::PciCommand::kBusMaster | spec::PciCommand::kMemorySpace);
}

void RawClient::Copy(uint64_t from, uint64_t to, uint32_t bytes) {
  Write(0, 0x00, 8, from);
  Write(0, 0x08, 8, to);
  Write(0, 0x10, 4, bytes);
}

uint32_t RawClient::MapDma(uint64_t address, uint64_t bytes, int file, uint64_t offset) {
  host::vfio_user::DmaMap map;
  map.address = address;
  map.size = bytes;
  map.offset = offset;
  return Ask(Command::kDmaMap, Join(map), file < 0 ? std::vector<int>() : std::vector<int>{file});
}

host::FileDescriptor MemoryFile(size_t bytes) {
  host::FileDescriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  return file;
}

}  // namespace vireo::sim
