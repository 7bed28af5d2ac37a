// SPDX-License-Identifier: Apache-2.0
// A mismatch writes a waveform that shows the fault: the mutated RTL of `./vireo mutants` runs in lockstep until it
// differs; the file named in the report is read with GTKWave's reader, which Verilator includes.
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/rdma/icrc.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {
namespace {

// The number of a mutant: its position in the list.
size_t NumberOf(std::string_view name) {
  const toml::table file = toml::parse_file(VIREO_MUTANTS_TOML);
  size_t number = 0;
  for (const toml::node& mutant : *file["mutant"].as_array()) {
    ++number;
    if (mutant.as_table()->at("name").value_or(std::string_view()) == name) return number;
  }
  return 0;
}

std::string OutputOf(const std::string& command) {
  std::string output;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer;
  for (size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe.get())) != 0;) {
    output.append(buffer.data(), got);
  }
  return output;
}

// The word after the first `label` from `from` on.
std::string WordAfter(const std::string& text, std::string_view label, size_t from = 0) {
  const size_t at = text.find(label, from);
  if (at == std::string::npos) return "";
  std::istringstream words(text.substr(at + label.size()));
  std::string word;
  words >> word;
  return word;
}

bool IsIcrcRight(std::span<const uint8_t> frame) {
  const auto datagram = frame.subspan(spec::Ethernet::kBytes);
  return model::IcrcCheck(datagram.first(spec::Ipv4::Decode(datagram.data()).total_length), false);
}

// The pins of one device, cycle by cycle.
class Waveform {
 public:
  explicit Waveform(const std::string& path) : reader_(fstReaderOpen(path.c_str()), fstReaderClose) {
    if (reader_ == nullptr) return;
    for (const fstHier* item = nullptr; (item = fstReaderIterateHier(reader_.get())) != nullptr;) {
      if (item->htyp != FST_HT_VAR) continue;
      ++signals_;
      const std::string name = item->u.var.name;  // "m_axis_tdata_o [63:0]"
      names_.emplace(name.substr(0, name.find(' ')), item->u.var.handle);
    }
  }
  bool is_open() const { return reader_ != nullptr; }
  size_t signals() const { return signals_; }
  uint64_t begin() const { return fstReaderGetStartTime(reader_.get()); }
  uint64_t end() const { return fstReaderGetEndTime(reader_.get()); }
  size_t edges() const { return edges_; }

  // Complete frames on the transmit port, and the last one even if its last beat still waits for its clock edge.
  std::vector<std::vector<uint8_t>> Frames() {
    clock_ = Handle("clk_i"), valid_ = Handle("m_axis_tvalid_o"), last_ = Handle("m_axis_tlast_o");
    data_ = Handle("m_axis_tdata_o"), keep_ = Handle("m_axis_tkeep_o");
    fstReaderIterBlocks(
        reader_.get(),
        [](void* self, uint64_t, fstHandle signal, const unsigned char* value) {
          static_cast<Waveform*>(self)->Change(signal, reinterpret_cast<const char*>(value));
        },
        this, nullptr);
    Apply();
    Sample();
    return frames_;
  }

 private:
  fstHandle Handle(std::string_view name) {
    const auto found = names_.find(name);
    EXPECT_NE(found, names_.end()) << name;
    if (found == names_.end()) return 0;
    fstReaderSetFacProcessMask(reader_.get(), found->second);
    return found->second;
  }
  // Outputs change at the rising edge; their values before it are those of the cycle.
  void Change(fstHandle signal, const char* value) {
    if (signal == clock_) {
      const bool rises = std::string_view(value) == "1";
      Apply();
      if (rises) Sample();
      edges_ += rises ? 1 : 0;
      return;
    }
    next_[signal] = value;
  }
  void Apply() {
    for (auto& [signal, value] : next_) now_[signal] = std::move(value);
    next_.clear();
  }
  void Sample() {
    if (now_[valid_] != "1") return;
    const std::string& data = now_[data_];
    const std::string& keep = now_[keep_];
    for (size_t i = 0; i < keep.size(); ++i) {
      if (keep[keep.size() - 1 - i] != '1') continue;
      uint8_t byte = 0;
      for (size_t bit = 0; bit < 8; ++bit) {
        byte = static_cast<uint8_t>(byte | (data[data.size() - 1 - 8 * i - bit] == '1' ? 1U << bit : 0U));
      }
      frame_.push_back(byte);
    }
    if (now_[last_] == "1") frames_.push_back(std::exchange(frame_, {}));
  }

  std::unique_ptr<void, void (*)(void*)> reader_;
  std::map<std::string, fstHandle, std::less<>> names_;  // of the top: the first signal of a name
  size_t signals_ = 0, edges_ = 0;
  fstHandle clock_ = 0, valid_ = 0, last_ = 0, data_ = 0, keep_ = 0;
  std::map<fstHandle, std::string> now_, next_;
  std::vector<uint8_t> frame_;
  std::vector<std::vector<uint8_t>> frames_;
};

TEST(LockstepWaveform, ShowsTheFrameThatDiffers) {
  const size_t number = NumberOf("icrc_insert_first");
  ASSERT_NE(number, 0U);
  const std::string directory = testing::TempDir();
  const std::string output =
      OutputOf("VIREO_MUTANT=" + std::to_string(number) + " VIREO_SEED=1 VIREO_WAVEFORM=" + directory +
               " " VIREO_MUTANTS " --gtest_filter='*/Write.ManyAtOnce*/lockstep_nic1_split' 2>&1");
  const size_t report = output.find("LOCKSTEP MISMATCH: ");
  ASSERT_NE(report, std::string::npos) << output;
  const std::string nic = WordAfter(output, "MISMATCH: ").substr(0, 4);
  EXPECT_NE(output.find("repeat: VIREO_SEED=1 ", report), std::string::npos) << output;

  // Of both NICs.
  std::string path = WordAfter(output, "waveform: ", report);
  ASSERT_NE(path, "none:") << output;
  const std::string other = WordAfter(output, path, report);
  EXPECT_EQ(access(path.c_str(), R_OK), 0) << path;
  EXPECT_EQ(access(other.c_str(), R_OK), 0) << other;
  if (path.find(nic) == std::string::npos) path = other;

  Waveform waveform(path);
  ASSERT_TRUE(waveform.is_open()) << path;
  EXPECT_GT(waveform.signals(), 1000U) << "internal signals";
  const auto frames = waveform.Frames();
  EXPECT_GT(waveform.edges(), 1000U);
  ASSERT_FALSE(frames.empty());
  // The fault is in the ICRC of every frame except the first. The report is about the first frame with it, where the
  // waveform ends.
  for (const auto& frame : frames) {
    const bool is_last = &frame == &frames.back();
    EXPECT_EQ(IsIcrcRight(frame), !is_last) << "frame " << &frame - frames.data() << " of " << frames.size();
  }
  const size_t byte = std::strtoull(WordAfter(output, "differs in byte ", report).c_str(), nullptr, 10);
  EXPECT_GE(byte, frames.back().size() - spec::kIcrcBytes) << output;
  EXPECT_LT(byte, frames.back().size()) << output;

  std::remove(path.c_str());
  std::remove(other.c_str());
}

}  // namespace
}  // namespace vireo::sim
