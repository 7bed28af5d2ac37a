// SPDX-License-Identifier: Apache-2.0
// Captures read back through libpcap unchanged, and through tshark with their names, directions and comments.
#include "sim/wire/pcapng.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "sim/common/pcap.h"

namespace vireo::sim {
namespace {

std::string TemporaryPath(const std::string& name) {
  return testing::TempDir() + "vireo_" + std::to_string(getpid()) + "_" + name;
}

WireFrame Frame(size_t bytes, const std::string& comment = "", bool bad_fcs = false) {
  WireFrame frame;
  frame.bytes.resize(bytes);
  std::iota(frame.bytes.begin(), frame.bytes.end(), uint8_t{1});
  frame.comment = comment;
  frame.bad_fcs = bad_fcs;
  return frame;
}

struct Written {
  std::string path;
  std::vector<WireFrame> frames;
  std::vector<Picoseconds> times;
};

Written WriteSample(const std::string& name) {
  Written sample{TemporaryPath(name), {}, {}};
  PcapngWriter writer(sample.path, "VIREO_SEED=0x1234");
  EXPECT_EQ(writer.AddInterface("nic0", "the left one", 100'000), 0u);
  EXPECT_EQ(writer.AddInterface("nic1", "", 0), 1u);
  const auto write = [&](uint32_t interface, Picoseconds time, Direction direction, WireFrame frame) {
    writer.Write(interface, time, direction, frame);
    sample.frames.push_back(std::move(frame));
    sample.times.push_back(time);
  };
  // Lengths of every remainder modulo 4, times beyond 32 bits of nanoseconds.
  write(0, 0, Direction::kOut, Frame(60));
  write(1, 1'234'567, Direction::kIn, Frame(61, "fault 1: dropped"));
  write(1, 1'235'999, Direction::kOut, Frame(62));
  write(0, 9'000'000'000'123'456, Direction::kIn, Frame(63, "", true));
  EXPECT_EQ(writer.AddInterface("late", "after the first frames", 1000), 2u);
  write(2, 9'000'000'000'200'000, Direction::kIn, Frame(9728));
  EXPECT_EQ(writer.frames(), 5u);
  EXPECT_TRUE(writer.Flush());
  EXPECT_EQ(writer.error(), "");
  return sample;
}

TEST(Pcapng, RoundTripsThroughLibpcap) {
  const Written sample = WriteSample("libpcap.pcapng");
  const Capture capture = ReadPcap(sample.path);
  ASSERT_EQ(capture.error, "");
  ASSERT_EQ(capture.frames.size(), sample.frames.size());
  for (size_t i = 0; i < sample.frames.size(); ++i) {
    EXPECT_EQ(capture.frames[i].bytes, sample.frames[i].bytes);
    EXPECT_EQ(capture.frames[i].time_ns, sample.times[i] / 1000);
  }
  std::filesystem::remove(sample.path);
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(Pcapng, SameRunWritesTheSameBytes) {
  const Written first = WriteSample("first.pcapng"), second = WriteSample("second.pcapng");
  const std::string bytes = ReadFile(first.path);
  EXPECT_FALSE(bytes.empty());
  EXPECT_EQ(bytes, ReadFile(second.path));
  std::filesystem::remove(first.path);
  std::filesystem::remove(second.path);
}

TEST(Pcapng, ReportsErrors) {
  PcapngWriter missing("/nonexistent/folder/x.pcapng", "");
  EXPECT_EQ(missing.error(), "/nonexistent/folder/x.pcapng: No such file or directory");
  missing.Write(missing.AddInterface("nic0", "", 0), 0, Direction::kIn, Frame(60));  // harmless
  EXPECT_FALSE(missing.Flush());
  PcapngWriter full("/dev/full", "");
  full.Write(full.AddInterface("nic0", "", 0), 0, Direction::kIn, Frame(60));
  EXPECT_FALSE(full.Flush());
  EXPECT_EQ(full.error(), "/dev/full: No space left on device");
}

uint32_t Word(const std::string& bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint32_t{static_cast<uint8_t>(bytes.at(at + i))} << 8 * i;
  return value;
}

// Not available through libpcap: the flags word of each packet block (draft-ietf-opsawg-pcapng, 4.3.1).
TEST(Pcapng, FlagsHaveDirectionAndFcsError) {
  const Written sample = WriteSample("flags.pcapng");
  const std::string bytes = ReadFile(sample.path);
  std::vector<uint32_t> flags;
  for (size_t at = 0; at < bytes.size();) {
    const uint32_t type = Word(bytes, at, 4), length = Word(bytes, at + 4, 4);
    ASSERT_EQ(length % 4, 0u);
    ASSERT_EQ(Word(bytes, at + length - 4, 4), length);
    if (type == 6) {
      size_t option = at + 28 + (size_t{Word(bytes, at + 20, 4)} + 3) / 4 * 4;
      for (uint32_t code = 0; (code = Word(bytes, option, 2)) != 0;
           option += 4 + (size_t{Word(bytes, option + 2, 2)} + 3) / 4 * 4) {
        if (code == 2) flags.push_back(Word(bytes, option + 4, 4));
      }
    }
    at += length;
  }
  EXPECT_EQ(flags, (std::vector<uint32_t>{2, 1, 2, 1 | 1u << 24, 1}));
  std::filesystem::remove(sample.path);
}

// Output of a command, without the last newline; its exit status is in `status`.
std::string RunCommand(const std::string& command, int& status) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    status = -1;
    return "";
  }
  std::array<char, 4096> buffer;
  size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) output.append(buffer.data(), got);
  status = pclose(pipe);
  return output.substr(0, output.find_last_not_of('\n') + 1);
}

TEST(Pcapng, TsharkShowsNamesDirectionsAndComments) {
  int status = 0;
  RunCommand("tshark --version 2>/dev/null", status);
  if (status != 0) GTEST_SKIP() << "tshark is not installed";
  const Written sample = WriteSample("tshark.pcapng");
  const std::string fields =
      RunCommand("tshark -r " + sample.path +
                     " -t e -T fields -E separator=, -e frame.interface_name -e "
                     "frame.interface_description -e frame.time_epoch -e frame.packet_flags_direction"
                     " -e frame.packet_flags_crc_error -e frame.comment 2>/dev/null",
                 status);
  EXPECT_EQ(status, 0);
  std::istringstream lines(fields);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    // tshark 4.0 prints a flag as 0 or 1, 4.4 as False or True.
    line = std::regex_replace(line, std::regex(",False,"), ",0,");
    rows.push_back(std::regex_replace(line, std::regex(",True,"), ",1,"));
  }
  ASSERT_EQ(rows.size(), 5u) << fields;
  for (const auto& row : rows) std::printf("%s\n", row.c_str());
  EXPECT_EQ(rows[0], "nic0,the left one,0.000000000,0x00000002,0,");
  EXPECT_EQ(rows[1], "nic1,,0.000001234,0x00000001,0,fault 1: dropped");
  EXPECT_EQ(rows[2], "nic1,,0.000001235,0x00000002,0,");
  EXPECT_EQ(rows[3], "nic0,the left one,9000.000000123,0x00000001,1,");
  EXPECT_EQ(rows[4], "late,after the first frames,9000.000000200,0x00000001,0,");
  const std::string section = RunCommand("capinfos -k " + sample.path + " 2>/dev/null", status);
  if (status == 0) {
    EXPECT_NE(section.find("VIREO_SEED=0x1234"), std::string::npos) << section;
  }
  std::filesystem::remove(sample.path);
}

}  // namespace
}  // namespace vireo::sim
