// SPDX-License-Identifier: Apache-2.0
// Waveforms of a top Verilated with --trace-fst: for RtlPins<Top, FstTrace>.
#pragma once

#include <verilated_fst_c.h>

#include <cstdint>
#include <memory>
#include <string>

namespace vireo::sim {

class FstTrace {
 public:
  // Call before the top is built.
  static void Prepare(VerilatedContext& context) { context.traceEverOn(true); }

  // Call once per top.
  template <typename Top>
  bool Open(Top& top, const std::string& path) {
    file_ = std::make_unique<VerilatedFstC>();
    top.trace(file_.get(), kAllLevels);
    file_->open(path.c_str());
    return file_->isOpen();
  }
  void Dump(uint64_t picoseconds) {
    if (file_ != nullptr) file_->dump(picoseconds);
  }
  void Close() {
    if (file_ != nullptr) file_->close();
  }

 private:
  static constexpr int kAllLevels = 99;
  std::unique_ptr<VerilatedFstC> file_;
};

}  // namespace vireo::sim
