// SPDX-License-Identifier: Apache-2.0
// Every Linux capture, replayed against every device as responder and requester, has only allowed differences; a
// modified capture has others. Our own captures cover what Linux's do not: other path MTUs, several queue pairs with
// the same PSNs, and dissection of our frames by tshark.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/replay/replay.h"
#include "sim/topology/rdma_system.h"
#include "sim/wire/pcapng.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;

Capture ReadVector(const std::string& name) {
  Capture capture = ReadPcap(std::string(VIREO_VECTORS_DIR) + "/" + name + ".pcap");
  EXPECT_EQ(capture.error, "");
  return capture;
}

ReplayResult Play(const Capture& capture, const std::string& role, const ReplayOptions& options = {}) {
  const Conversation conversation = ReadConversation(capture);
  return role == "responder" ? ReplayResponder(conversation, options) : ReplayRequester(conversation, options);
}

std::string Lines(const ReplayResult& result) {
  std::string text = result.error;
  for (const std::string& line : result.differences.lines()) text += line + "\n";
  return text;
}

// --- Linux

class LinuxCaptures : public testing::TestWithParam<std::tuple<std::string, const spec::Config*, std::string>> {};

TEST_P(LinuxCaptures, HaveOnlyAllowedDifferences) {
  const auto& [device, config, role] = GetParam();
  const auto paths = ListCaptures(VIREO_VECTORS_DIR);
  ASSERT_EQ(paths.size(), 25U);
  uint64_t fed = 0, compared = 0, messages = 0;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Capture capture = ReadPcap(path);
    ASSERT_EQ(capture.error, "");
    const Conversation conversation = ReadConversation(capture);
    EXPECT_TRUE(conversation.skipped.empty()) << conversation.skipped.begin()->first;
    const ReplayOptions options{.device = device, .config = config};
    const ReplayResult result =
        role == "responder" ? ReplayResponder(conversation, options) : ReplayRequester(conversation, options);
    EXPECT_EQ(Lines(result), "");
    fed += result.fed;
    compared += result.compared;
    messages += result.messages;
  }
  // Every frame of the captures is used: fed to the NIC or compared with its frames.
  if (role == "responder") {
    EXPECT_EQ(fed, 802U);
    EXPECT_GT(compared, 450U);
  } else {
    EXPECT_EQ(fed, 537U);
    EXPECT_GT(compared, 600U);
  }
  EXPECT_GT(messages, 100U);
}

std::string NameOfCase(const testing::TestParamInfo<LinuxCaptures::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param)->name + "_" + std::get<2>(info.param);
}
INSTANTIATE_TEST_SUITE_P(Model, LinuxCaptures,
                         testing::Combine(testing::Values("model"), testing::Values(&spec::kNic100, &spec::kNic1),
                                          testing::Values("responder", "requester")),
                         NameOfCase);
// The RTL is the master, the model the shadow.
INSTANTIATE_TEST_SUITE_P(Both, LinuxCaptures,
                         testing::Combine(testing::Values("lockstep"), testing::Values(&spec::kNic100),
                                          testing::Values("responder", "requester")),
                         NameOfCase);

TEST(LinuxCapturesOnRtl, HaveOnlyAllowedDifferences) {
  for (const char* name : {"v_rnr_fail", "v_bad_rkey", "v_inv_req", "v_peer_gone", "v_pipelined"}) {
    for (const char* role : {"responder", "requester"}) {
      EXPECT_EQ(Lines(Play(ReadVector(name), role, {.device = "rtl"})), "") << name << " " << role;
    }
  }
}

// --- Modified captures

// Changes a frame that matches `wanted`, after skipping `skip` others, and updates lengths, checksum and ICRC.
void Modify(Capture& capture, const std::function<bool(const RoceFrame&)>& wanted,
            const std::function<void(RoceFrame&)>& change, unsigned skip = 0) {
  for (Frame& bytes : capture.frames) {
    ParsedFrame parsed = ParseRoceFrame(bytes.bytes);
    ASSERT_EQ(parsed.kind, ParsedFrame::Kind::kRoce);
    if (!wanted(parsed.frame) || skip-- != 0) continue;
    change(parsed.frame);
    Complete(parsed.frame);
    bytes.bytes = Encode(parsed.frame);
    return;
  }
  FAIL() << "no frame matches";
}
std::function<bool(const RoceFrame&)> Is(BthOpcode opcode) {
  return [opcode](const RoceFrame& frame) { return frame.bth.opcode == opcode; };
}

struct Case {
  const char* name;
  const char* capture;
  const char* role;
  BthOpcode opcode;
  unsigned skip;
  void (*change)(RoceFrame&);
  const char* line;  // part of a difference line
};

TEST(ModifiedCapture, ReportsDifference) {
  const auto cases = std::to_array<Case>({
      {"MSN", "rc_write", "responder", BthOpcode::kRcAcknowledge, 1, [](RoceFrame& frame) { ++frame.aeth.msn; },
       "aeth.msn is 0x2, recorded 0x3"},
      {"PSN of a response", "rc_write", "responder", BthOpcode::kRcAcknowledge, 1,
       [](RoceFrame& frame) { frame.bth.psn -= 1; }, "frame 17: recorded, but not sent"},
      {"PSN of a request", "rc_write", "responder", BthOpcode::kRcRdmaWriteLast, 0,
       [](RoceFrame& frame) { frame.bth.psn += 1; }, "repeats PSN"},
      {"syndrome: a NAK", "rc_write", "responder", BthOpcode::kRcAcknowledge, 2,
       [](RoceFrame& frame) {
         frame.aeth.kind = spec::AethKind::kNak;
         frame.aeth.value = static_cast<uint8_t>(spec::NakCode::kInvalidRequest);
       },
       "aeth.kind is 0x0, recorded 0x3"},
      {"syndrome: RNR NAK", "rc_send", "responder", BthOpcode::kRcAcknowledge, 3,
       [](RoceFrame& frame) { frame.aeth.kind = spec::AethKind::kRnrNak; }, "recorded, but not sent"},
      {"payload of a repeated request", "v_dup", "requester", BthOpcode::kRcRdmaWriteFirst, 1,
       [](RoceFrame& frame) { frame.payload[100] ^= 1; }, "repeats PSN 8192 with different contents"},
      {"length of a WRITE", "rc_write", "requester", BthOpcode::kRcRdmaWriteFirst, 2,
       [](RoceFrame& frame) { frame.reth.dma_length -= 4; }, "reth.dma_length is 0xbb8, recorded 0xbb4"},
      {"hop limit", "v_allops_v6", "requester", BthOpcode::kRcRdmaReadRequest, 1,
       [](RoceFrame& frame) { frame.ipv6.hop_limit = 3; }, "ipv6.hop_limit is 0x40, recorded 0x3"},
      {"partition key", "v_uc_allops", "requester", BthOpcode::kUcSendMiddle, 0,
       [](RoceFrame& frame) { frame.bth.pkey = 0x7fff; }, "bth.pkey is 0xffff, recorded 0x7fff"},
      {"MAC address", "rc_read", "responder", BthOpcode::kRcRdmaReadResponseLast, 3,
       [](RoceFrame& frame) { frame.ethernet.destination[5] ^= 1; }, "ethernet.destination"},
  });
  for (const Case& each : cases) {
    Capture capture = ReadVector(each.capture);
    ASSERT_NO_FATAL_FAILURE(Modify(capture, Is(each.opcode), each.change, each.skip));
    const std::string lines = Lines(Play(capture, each.role));
    EXPECT_NE(lines.find(each.line), std::string::npos) << each.name << ":\n" << lines;
  }
}

// Memory is inferred from the data that READs returned: a change there is counted, but allowed.
TEST(ModifiedCapture, CountsChangedReadData) {
  Capture capture = ReadVector("v_allops");
  const auto count = [](const ReplayResult& result) {
    const auto at = result.differences.allowed().find(Allowed::kHostMemory);
    return at == result.differences.allowed().end() ? 0 : at->second;
  };
  const uint64_t before = count(Play(capture, "responder"));
  ASSERT_NO_FATAL_FAILURE(
      Modify(capture, Is(BthOpcode::kRcRdmaReadResponseOnly), [](RoceFrame& frame) { frame.payload[0] ^= 0x80; }, 5));
  const ReplayResult result = Play(capture, "responder");
  EXPECT_EQ(Lines(result), "");
  EXPECT_GT(count(result), before);
}

// --- Skipped frames

TEST(SkippedFrames, AreCountedByReason) {
  Capture capture = ReadVector("rc_write");
  const auto add = [&](std::vector<uint8_t> bytes) { capture.frames.push_back({std::move(bytes), 0}); };
  const auto changed = [&](const std::function<void(RoceFrame&)>& change) {
    RoceFrame frame = ParseRoceFrame(capture.frames.front().bytes).frame;
    change(frame);
    return Encode(frame);
  };
  add(std::vector<uint8_t>(60));  // another protocol
  add(std::vector<uint8_t>(5));   // shorter than an Ethernet header
  std::vector<uint8_t> cut = capture.frames.front().bytes;
  cut.resize(200);
  add(cut);
  std::vector<uint8_t> damaged = capture.frames.front().bytes;
  damaged[300] ^= 4;
  add(damaged);
  add(changed([](RoceFrame& frame) { frame.bth.opcode = static_cast<BthOpcode>(0x1f); }));  // reserved
  add(changed([](RoceFrame& frame) { frame.bth.opcode = static_cast<BthOpcode>(0xa4); }));  // XRC
  RoceFrame stray = ParseRoceFrame(capture.frames[15].bytes).frame;
  ASSERT_TRUE(stray.info().is_response);
  stray.bth.psn = (stray.bth.psn + 5'000'000) % (1U << spec::kPsnBits);
  add(Encode(stray));
  const Conversation conversation = ReadConversation(capture);
  uint64_t skipped = 0;
  for (const auto& [reason, frames] : conversation.skipped) skipped += frames;
  EXPECT_EQ(skipped, 7U);
  EXPECT_EQ(conversation.skipped.at("not RoCEv2"), 2U);
  EXPECT_EQ(conversation.skipped.at("ICRC wrong"), 1U);
  EXPECT_EQ(conversation.packets.size(), 20U);
  for (const char* role : {"responder", "requester"}) EXPECT_EQ(Lines(Play(capture, role)), "") << role;
}

TEST(SkippedFrames, EmptyCaptureIsNoFailure) {
  for (const char* role : {"responder", "requester"}) EXPECT_EQ(Lines(Play({}, role)), "");
}

TEST(SkippedFrames, VlanTagsAreRemoved) {
  Capture capture = ReadVector("rc_send");
  for (Frame& frame : capture.frames) {
    const std::array<uint8_t, 4> tag = {0x81, 0x00, 0x00, 0x07};
    frame.bytes.insert(frame.bytes.begin() + 12, tag.begin(), tag.end());
    const ParsedFrame parsed = ParseRoceFrame(frame.bytes);
    ASSERT_TRUE(parsed.frame.vlan.has_value());
    EXPECT_TRUE(IsIcrcRight(parsed.frame));
    EXPECT_EQ(Encode(parsed.frame), frame.bytes);
  }
  for (const char* role : {"responder", "requester"}) EXPECT_EQ(Lines(Play(capture, role)), "") << role;
}

// A capture may start and end anywhere: within messages, and with responses to requests that it does not have.
TEST(TruncatedCapture, ReplaysCompleteMessages) {
  for (const char* name : {"v_allops", "rc_read", "v_uc_allops"}) {
    const Capture whole = ReadVector(name);
    for (size_t first = 0; first < whole.frames.size(); first += 5) {
      Capture part;
      part.frames.assign(whole.frames.begin() + static_cast<ptrdiff_t>(first),
                         whole.frames.end() - static_cast<ptrdiff_t>(first / 2));
      for (const char* role : {"responder", "requester"}) {
        EXPECT_EQ(Lines(Play(part, role)), "")
            << name << " from " << first + 1 << ", " << part.frames.size() << " frames, " << role;
      }
      if (part.frames.size() < 8) break;
    }
  }
}

// --- Our own captures

// Captures traffic between two NICs.
class OwnTraffic : public testing::Test, private EventSink {
 protected:
  void Record(const std::vector<spec::IbMtu>& mtus, uint8_t gid_index) {
    auto built = RdmaSystem::Build({});
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(system_->host(i).AddIpv6Gid(), "");
      system_->topology().station(i).tap().AddSink(*this);
    }
    std::vector<std::unique_ptr<ConnectedPair>> pairs;
    for (const spec::IbMtu mtu : mtus) {
      std::string error;
      pairs.push_back(
          MakeConnectedPair(system_->host(0), system_->host(1), {.path_mtu = mtu, .gid_index = gid_index}, &error));
      ASSERT_NE(pairs.back(), nullptr) << error;
      for (auto& side : pairs.back()->side) {
        for (size_t i = 0; i < side.memory->size(); ++i) side.memory->data()[i] = static_cast<uint8_t>(i * i >> 3);
      }
    }
    for (const uint32_t bytes : {1U, 255U, 3000U, 0U, 9001U}) {
      for (auto& pair : pairs) PostAll(*pair, bytes);
      static_cast<void>(system_->topology().RunUntilQuiet(system_->scheduler().now() + kTimeout));
    }
    pairs.clear();
  }

  // Writes a file for tshark and for the commands.
  std::string Write(const std::string& name) const {
    std::string path = testing::TempDir() + "vireo_" + std::to_string(getpid()) + "_" + name;
    PcapngWriter writer(path, "");
    const uint32_t interface = writer.AddInterface("wire", "", 100'000);
    for (const Frame& frame : capture_.frames) {
      writer.Write(interface, frame.time_ns * kPicosecondsPerNanosecond, Direction::kOut, {frame.bytes, false, ""});
    }
    EXPECT_TRUE(writer.Flush()) << writer.error();
    return path;
  }

  Capture capture_;

 private:
  static constexpr Picoseconds kTimeout = 1'000'000'000 * kPicosecondsPerNanosecond;

  static void PostAll(ConnectedPair& pair, uint32_t bytes) {
    using Opcode = spec::IbWrOpcode;
    for (size_t from = 0; from < 2; ++from) {
      auto& near = pair.side.at(from);
      auto& far = pair.side.at(1 - from);
      const spec::RdmaSge here = near.region->Sge(0, bytes), there = far.region->Sge(32'768, 16'384);
      for (const Opcode opcode : {Opcode::kRdmaWrite, Opcode::kSend, Opcode::kRdmaRead, Opcode::kRdmaWriteWithImm}) {
        if (opcode == Opcode::kSend || opcode == Opcode::kRdmaWriteWithImm) {
          ASSERT_TRUE(far.qp->PostRecv({.sg_list = std::span(&there, 1)}).ok());
        }
        ASSERT_TRUE(near.qp
                        ->PostSend({.opcode = opcode,
                                    .imm_data = {1, 2, 3, 4},
                                    .sg_list = std::span(&here, 1),
                                    .remote_addr = far.region->address() + 16'384,
                                    .rkey = far.region->rkey()})
                        .ok());
      }
    }
  }
  void OnEvent(const BoundaryEvent& event) override {
    if (event.kind != EventKind::kTransmitEnd) return;
    capture_.frames.push_back(
        {{event.payload.begin(), event.payload.end()}, system_->scheduler().now() / kPicosecondsPerNanosecond});
  }

  std::unique_ptr<RdmaSystem> system_;
};

TEST_F(OwnTraffic, ReplaysEveryPathMtu) {
  using enum spec::IbMtu;
  for (const spec::IbMtu mtu : {kMtu256, kMtu512, kMtu2048, kMtu4096}) {
    capture_ = {};
    ASSERT_NO_FATAL_FAILURE(Record({mtu}, RdmaHost::kIpv4Gid));
    const Conversation conversation = ReadConversation(capture_);
    ASSERT_EQ(conversation.flows.size(), 2U);
    for (const Flow& flow : conversation.flows) EXPECT_EQ(flow.path_mtu, mtu);
    EXPECT_TRUE(conversation.skipped.empty()) << conversation.skipped.begin()->first;
    for (const char* role : {"responder", "requester"}) {
      const ReplayResult result = Play(capture_, role);
      EXPECT_EQ(Lines(result), "") << role << ", " << MtuBytes(mtu);
      EXPECT_GT(result.compared, 30U);
    }
  }
}

std::string Output(const std::string& command, int& status) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): a test of commands
  if (pipe == nullptr) return "";
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  status = pclose(pipe);
  return text;
}

TEST_F(OwnTraffic, TsharkFindsNoMalformedFrame) {
  int status = 0;
  Output("tshark --version 2>/dev/null", status);
  if (status != 0) GTEST_SKIP() << "tshark is not installed";
  for (const uint8_t gid_index : {RdmaHost::kIpv4Gid, RdmaHost::kIpv6Gid}) {
    capture_ = {};
    ASSERT_NO_FATAL_FAILURE(Record({spec::IbMtu::kMtu1024}, gid_index));
    const std::string path = Write("tshark.pcapng");
    // Disables heuristic dissectors of the payload.
    std::string tshark = "tshark -o ip.check_checksum:TRUE";
    for (const char* guess : {"rpcordma", "smc", "smb_direct", "nvme-rdma", "lnet", "iser"}) {
      tshark += std::string(" --disable-protocol ") + guess;
    }
    tshark += " -r ";
    const auto count = [&](const std::string& filter) {
      const std::string lines =
          Output(tshark + path + " -Y '" + filter + "' -T fields -e frame.number 2>/dev/null", status);
      EXPECT_EQ(status, 0) << filter;
      return std::ranges::count(lines, '\n');
    };
    EXPECT_EQ(count("infiniband.bth"), static_cast<int64_t>(capture_.frames.size()));
    EXPECT_EQ(count("_ws.malformed || _ws.short || ip.checksum.status == \"Bad\""), 0);
    EXPECT_GT(count("infiniband.reth.dmalen == 9001 && infiniband.bth.opcode == 12"), 0);
    EXPECT_GT(count("infiniband.aeth.syndrome.opcode == 0"), 0);
    // Positive control: half an AETH is malformed.
    const auto ack = std::ranges::find_if(capture_.frames, [](const Frame& frame) {
      return ParseRoceFrame(frame.bytes).frame.bth.opcode == BthOpcode::kRcAcknowledge;
    });
    ASSERT_NE(ack, capture_.frames.end());
    ack->bytes.resize(ack->bytes.size() - 6);
    std::filesystem::remove(path);
    Write("tshark.pcapng");
    EXPECT_EQ(count("_ws.malformed || _ws.short"), 1);
    std::filesystem::remove(path);
  }
}

// --- The commands

TEST_F(OwnTraffic, CommandsReturnExitCodes) {
  ASSERT_NO_FATAL_FAILURE(Record({spec::IbMtu::kMtu1024}, RdmaHost::kIpv4Gid));
  const std::string good = Write("good.pcapng");
  const size_t damaged_at = capture_.frames.size() / 2;
  capture_.frames[damaged_at].bytes.back() ^= 1;
  const std::string bad = Write("bad.pcapng");
  ASSERT_NO_FATAL_FAILURE(
      Modify(capture_, Is(BthOpcode::kRcAcknowledge), [](RoceFrame& frame) { frame.aeth.msn += 3; }));
  const std::string other = Write("other.pcapng");
  const std::string cut = testing::TempDir() + "vireo_" + std::to_string(getpid()) + "_cut.pcapng";
  std::filesystem::copy_file(good, cut, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 7);
  struct Command {
    std::string line;
    int code;
    std::string output;  // part of it
  };
  const std::string decode = VIREO_DECODE, replay = VIREO_REPLAY;
  for (const Command& each : std::vector<Command>{
           {decode + " " + good, 0, "icrc ok, re-encodes"},
           {decode + " --quiet " + bad, 1, "icrc WRONG"},
           {decode + " " + cut, 2, "_cut.pcapng: "},
           {decode + " /nowhere.pcap", 2, "/nowhere.pcap"},
           {decode + " " VIREO_VECTORS_DIR "/README.md", 2, "README.md"},
           {decode, 2, "required"},
           {replay + " --role responder " + good, 0, " 0 differences"},
           {replay + " --role responder " + other, 1, "DIFFERENCE: "},
           {replay + " --role responder " + cut, 2, "_cut.pcapng: "},
           {replay + " --role judge " + good, 2, "judge"},
           {replay + " --role responder --device fpga " + good, 2, "fpga"},
           {replay + " --role responder --capture x.pcapng " + good + " " + good, 2, "--capture"},
       }) {
    int status = 0;
    const std::string text = Output(each.line + " 2>&1", status);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), each.code) << each.line << "\n" << text;
    EXPECT_NE(text.find(each.output), std::string::npos) << each.line << "\n" << text;
  }
  for (const std::string& path : {good, bad, other, cut}) std::filesystem::remove(path);
}

}  // namespace
}  // namespace vireo::sim
