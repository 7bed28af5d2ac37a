// SPDX-License-Identifier: Apache-2.0
// A board behind a line, end to end: the RTL of the board, the link, the driver, with a model as its peer. That the
// suite passes on it is shown by the suite's own cases with VIREO_BOARD=simulated (docs/boards.md); here is what only a
// board has.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "sim/device/board/board_device.h"
#include "sim/device/board/board_nic.h"
#include "sim/device/board/pty_board.h"
#include "sim/device/board/rtl_board.h"
#include "sim/device/board/serial_line.h"
#include "sim/device/nic_devices.h"
#include "sim/device/processor_rtl.h"
#include "sim/topology/rdma_system.h"
#include "verif/board/faulty_line.h"
#include "verif/cosim/board_exchange.h"

namespace vireo::sim {
namespace {

// No answer after some questions: the cable is out.
class CutLine final : public ByteLine {
 public:
  CutLine(std::unique_ptr<ByteLine> line, const bool& is_cut) : line_(std::move(line)), is_cut_(is_cut) {}
  bool Send(std::span<const uint8_t> bytes) override { return is_cut_ || line_->Send(bytes); }
  bool Receive(std::vector<uint8_t>& bytes) override { return !is_cut_ && line_->Receive(bytes); }

 private:
  const std::unique_ptr<ByteLine> line_;
  const bool& is_cut_;
};

// Everything at the seams of both NICs is the same, in the same cycles, as with the Verilated RTL.
TEST(Board, RunsTheSameCyclesAsTheRtl) {
  EXPECT_EQ(Exchange("native", MakeRtlBoard).events, Exchange("native", {}).events);
}

TEST(Board, RunsItsOwnProcessorInTheSameCycles) {
  if (!ProcessorRtl::WhyUnavailable().empty()) GTEST_SKIP() << ProcessorRtl::WhyUnavailable();
  EXPECT_EQ(Exchange("rv32", MakeRtlBoard).events, Exchange("rv32", {}).events);
}

TEST(Board, RunsTheSameCyclesAtASerialLine) {
  EXPECT_EQ(Exchange("native", [] { return MakeSerialRtlBoard(); }).events, Exchange("native", {}).events);
}

TEST(Board, RunsTheSameCyclesOverADamagedLine) {
  std::mt19937_64 random = MakeRandom("board line");
  const LineMaker damaged = [&random] { return std::make_unique<FaultyLine>(MakeRtlBoard(), 300, random); };
  const Outcome run = Exchange("native", damaged);
  EXPECT_GT(run.counters.repeated, 0u);
  EXPECT_GT(run.counters.damaged, 0u);
  EXPECT_EQ(run.events, Exchange("native", {}).events);
}

// A serial port, but for the wire: the program that simulates the board does the same (./vireo board simulate).
TEST(Board, RunsTheSameCyclesAtAPseudoTerminal) {
  auto opened = PtyBoard::Open(MakeSerialRtlBoard(PtyBoard::kPatience));
  ASSERT_NE(opened.board, nullptr) << opened.error;
  std::atomic<bool> stop = false;
  std::thread server([&] { opened.board->Serve(stop); });
  const LineMaker line = [&opened]() -> std::unique_ptr<ByteLine> {
    SerialLine::Opened port = SerialLine::Open(opened.board->path());
    EXPECT_EQ(port.error, "");
    return std::move(port.line);
  };
  EXPECT_EQ(Exchange("native", line).events, Exchange("native", {}).events);
  stop = true;
  server.join();
}

// The driver learns that its device is lost; the peer goes on.
TEST(Board, IsLostIfItsLineIsCut) {
  bool is_cut = false;
  RdmaSystemOptions options;
  options.device = "board";
  options.peer = "model";
  options.config = &spec::kNic1;
  options.devices = [&is_cut](std::string_view name, const LockstepOptions& lockstep) -> NicFactory {
    if (name != "board") return NicDeviceFactory(name, lockstep);
    return [&is_cut](const NicContext& context) -> std::unique_ptr<Nic> {
      auto link = std::make_unique<BoardLink>(std::make_unique<CutLine>(MakeRtlBoard(), is_cut));
      EXPECT_EQ(link->Open(context.config), "");
      return std::make_unique<BoardNic>(context, std::move(link));
    };
  };
  auto built = RdmaSystem::Build(options);
  ASSERT_NE(built.system, nullptr) << built.error;
  is_cut = true;
  EXPECT_FALSE(built.system->host(0).device().CreatePd().ok());
  EXPECT_EQ(built.system->host(0).function().ReadBar(0, 0, 4), 0xffff'ffffu);
  EXPECT_FALSE(built.system->host(0).function().health().ok());
  EXPECT_TRUE(built.system->host(1).device().CreatePd().ok());
}

TEST(Board, RefusesAnUnknownCommandAndStartsAgain) {
  BoardLink link(MakeRtlBoard());
  ASSERT_EQ(link.Open(spec::kNic1), "");
  constexpr uint8_t kUnknown = 0x77;
  const std::vector<uint8_t> refused = {static_cast<uint8_t>(spec::BoardEvent::kRefused), kUnknown};
  const auto run = static_cast<uint8_t>(spec::BoardCommand::kRun);
  // What follows it is not executed.
  EXPECT_EQ(link.Execute(std::vector<uint8_t>{kUnknown, run, 1, 0}), refused);
  EXPECT_EQ(link.Execute(std::vector<uint8_t>{run, 1, 0}), std::vector<uint8_t>{});
  ASSERT_EQ(link.Open(spec::kNic1), "");
  const auto ran = link.Execute(std::vector<uint8_t>{static_cast<uint8_t>(spec::BoardCommand::kReset), run, 1, 0});
  ASSERT_TRUE(ran.has_value());
  EXPECT_EQ(ran->size(), 1 + spec::BoardRan::kBytes);
}

TEST(Board, ALineThatDoesNotExistIsAnError) {
  for (const std::string name : {"board:/no/such/port", "board:/dev/null", "board:/dev/null@17", "board:/dev/null@x"}) {
    RdmaSystemOptions options;
    options.device = name;
    options.config = &spec::kNic1;
    EXPECT_EQ(RdmaSystem::Build(options).system, nullptr) << name;
  }
}

}  // namespace
}  // namespace vireo::sim
