// SPDX-License-Identifier: Apache-2.0
// The wire socket against a plain socket as its peer, and the simulator's options for it.
#include "sim/simulator/wire_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>

#include "host/driver/unix_socket.h"
#include "sim/simulator/simulator_process.h"

namespace vireo::sim {
namespace {

constexpr Picoseconds kMillisecond = 1'000'000'000;

// Collects frames that arrive at the near end of the simulated wire.
struct Collector final : FrameReceiver {
  void OnFrame(WireFrame frame) override { frames.push_back(std::move(frame.bytes)); }
  std::vector<std::vector<uint8_t>> frames;
};

std::vector<uint8_t> Frame(size_t bytes, uint8_t first) {
  std::vector<uint8_t> frame(bytes);
  std::iota(frame.begin(), frame.end(), first);
  return frame;
}

// The peer's socket.
class Peer {
 public:
  explicit Peer(const std::string& path) : path_(path) {
    auto socket = host::BindDatagramAt(path + ".peer");
    EXPECT_TRUE(socket.ok());
    if (socket.ok()) socket_ = std::move(socket).value();
  }
  bool Send(const std::vector<uint8_t>& frame) const {
    const auto address = host::UnixAddress(path_);
    return sendto(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&*address),
                  sizeof *address) == static_cast<ssize_t>(frame.size());
  }
  std::optional<std::vector<uint8_t>> Receive() const {
    std::vector<uint8_t> frame(WireSocket::kFrameBytesMax);
    const ssize_t got = recv(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT);
    if (got < 0) return std::nullopt;
    frame.resize(static_cast<size_t>(got));
    return frame;
  }
  void Close() {
    socket_.Close();
    unlink((path_ + ".peer").c_str());
  }

 private:
  const std::string path_;
  host::FileDescriptor socket_;
};

class WireSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_wire_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ / "wire";
    wire_.Connect(0, port_);
    wire_.Connect(1, collector_);
    auto opened = WireSocket::Open(loop_, port_, path_);
    ASSERT_TRUE(opened.ok()) << host::ToString(opened.error());
    socket_ = std::move(opened).value();
  }
  void TearDown() override {
    socket_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
    std::filesystem::remove_all(directory_);
  }
  void Run() {
    scheduler_.RunUntil([] { return false; }, scheduler_.now() + kMillisecond);
  }
  // From the simulation to the socket.
  void SendOut(const std::vector<uint8_t>& bytes, bool bad_fcs = false) {
    wire_.Send(1, scheduler_.now(), {.bytes = bytes, .bad_fcs = bad_fcs, .comment = ""});
    Run();
  }

  StandaloneScheduler scheduler_;
  Wire wire_{scheduler_, {}};
  OuterPort port_{scheduler_, wire_, 0};
  Collector collector_;
  service::EventLoop loop_;
  std::filesystem::path directory_;
  std::string path_;
  std::unique_ptr<WireSocket> socket_;
};

TEST_F(WireSocketTest, FramesPassInBothDirections) {
  const Peer peer(path_);
  SendOut(Frame(1500, 1));
  EXPECT_EQ(peer.Receive(), Frame(1500, 1));
  ASSERT_TRUE(peer.Send(Frame(200, 7)));
  ASSERT_TRUE(peer.Send(Frame(20, 9)));
  EXPECT_EQ(loop_.Poll(0), 1);
  Run();
  ASSERT_EQ(collector_.frames.size(), 2U);
  EXPECT_EQ(collector_.frames[0], Frame(200, 7));
  auto padded = Frame(20, 9);
  padded.resize(kMinFrameBytes);
  EXPECT_EQ(collector_.frames[1], padded);
  EXPECT_EQ(socket_->counters().sent, 1U);
  EXPECT_EQ(socket_->counters().received, 2U);
}

TEST_F(WireSocketTest, MalformedDatagramsAreDroppedAndCounted) {
  const Peer peer(path_);
  ASSERT_TRUE(peer.Send(Frame(13, 0)));
  ASSERT_TRUE(peer.Send({}));
  ASSERT_TRUE(peer.Send(Frame(WireSocket::kFrameBytesMax + 1, 0)));
  ASSERT_TRUE(peer.Send(Frame(14, 0)));
  loop_.Poll(0);
  Run();
  EXPECT_EQ(socket_->counters().malformed_drops, 3U);
  EXPECT_EQ(collector_.frames.size(), 1U);
}

TEST_F(WireSocketTest, FramesWithBadFcsAreNotSent) {
  const Peer peer(path_);
  SendOut(Frame(100, 1), /*bad_fcs=*/true);
  EXPECT_EQ(peer.Receive(), std::nullopt);
  EXPECT_EQ(port_.counters().bad_fcs_drops, 1U);
}

// Either side may start, stop and restart.
TEST_F(WireSocketTest, MissingPeerIsNoError) {
  SendOut(Frame(100, 1));
  EXPECT_EQ(socket_->counters().unreachable_drops, 1U);
  Peer first(path_);
  SendOut(Frame(100, 2));
  EXPECT_EQ(first.Receive(), Frame(100, 2));
  first.Close();
  SendOut(Frame(100, 3));
  EXPECT_EQ(socket_->counters().unreachable_drops, 2U);
  const Peer second(path_);
  ASSERT_TRUE(second.Send(Frame(100, 4)));
  SendOut(Frame(100, 5));
  EXPECT_EQ(second.Receive(), Frame(100, 5));
  loop_.Poll(0);
  Run();
  EXPECT_EQ(collector_.frames.size(), 1U);
}

// More frames than the peer's socket queues: the rest is queued in order, and the loop wakes up when there is room.
TEST_F(WireSocketTest, SlowPeerLosesNoFrame) {
  constexpr uint8_t kFrames = 200;
  const Peer peer(path_);
  for (uint8_t i = 0; i < kFrames; ++i) SendOut(Frame(1000, i));
  EXPECT_LT(socket_->counters().sent, kFrames);
  EXPECT_EQ(loop_.Poll(0), 0);  // no room
  for (uint8_t i = 0; i < kFrames; ++i) {
    auto frame = peer.Receive();
    if (!frame.has_value()) {
      constexpr uint64_t kTimeoutNs = 10'000'000'000;
      ASSERT_GE(loop_.Poll(kTimeoutNs), 1);
      frame = peer.Receive();
    }
    ASSERT_EQ(frame, Frame(1000, i)) << unsigned{i};
  }
  EXPECT_EQ(socket_->counters().sent, kFrames);
  // Datagrams of any sender are received.
  ASSERT_TRUE(peer.Send(Frame(100, 0)));
  EXPECT_EQ(loop_.Poll(0), 1);
}

// What arrives while it waits for room is not lost.
TEST_F(WireSocketTest, FramesArriveWhileOthersWaitForRoom) {
  constexpr uint8_t kWaiting = 3, kArriving = 5;
  const Peer peer(path_);
  uint8_t frames = 0;
  while (socket_->counters().sent + kWaiting > frames) SendOut(Frame(1000, frames++));
  // Room first, so that the loop serves it first.
  while (peer.Receive().has_value()) {
  }
  for (uint8_t i = 0; i < kArriving; ++i) ASSERT_TRUE(peer.Send(Frame(100, i)));
  while (loop_.Poll(0) != 0) {
  }
  Run();
  EXPECT_EQ(socket_->counters().sent, frames);
  ASSERT_EQ(collector_.frames.size(), size_t{kArriving});
  for (uint8_t i = 0; i < kArriving; ++i) EXPECT_EQ(collector_.frames[i], Frame(100, i));
}

TEST_F(WireSocketTest, QueueIsBounded) {
  const Peer peer(path_);
  constexpr size_t kBytes = 60'000;
  for (size_t i = 0; i < WireSocket::kWaitingBytesMax / kBytes + 100; ++i) {
    port_.OnFrame({.bytes = Frame(kBytes, 0), .bad_fcs = false, .comment = ""});
  }
  EXPECT_GT(socket_->counters().overflow_drops, 0U);
  EXPECT_EQ(socket_->counters().unreachable_drops, 0U);
}

TEST_F(WireSocketTest, RejectsInvalidPath) {
  for (const std::string& path : {std::string(), std::string(200, 'x'), std::string(104, 'x')}) {
    const auto opened = WireSocket::Open(loop_, port_, path);
    ASSERT_FALSE(opened.ok()) << path;
    EXPECT_EQ(opened.error().code, host::ErrorCode::kInvalidArgument);
  }
}

// --- The simulator's options

TEST(SimulatorWire, RejectsInvalidOptions) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments :
       {Arguments{"--wire", "/tmp/x", "--fabric", "direct"}, Arguments{"--wire-faults", "drop"},
        Arguments{"--wire", "/tmp/x", "--wire-faults", "break everything"}, Arguments{"--mtu", "100"},
        Arguments{"--mtu", "100000"}, Arguments{"--wire", "/nonexistent/wire"}}) {
    SimulatorProcess simulator(arguments);
    EXPECT_FALSE(simulator.is_ready()) << arguments[0] << " " << arguments[1];
  }
}

}  // namespace
}  // namespace vireo::sim
