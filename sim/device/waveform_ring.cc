// SPDX-License-Identifier: Apache-2.0
#include "sim/device/waveform_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace vireo::sim {
namespace {

constexpr int kLost = 3;  // exit status of a copy that did not reach the mismatch

// Discards a copy's output, which the original also prints.
void DiscardOutput() {
  std::fflush(nullptr);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  close(null);
}

std::string Prefix(const std::string& directory) {
  static unsigned rings = 0;
  return directory + "/lockstep_" + std::to_string(getpid()) + "_" + std::to_string(rings++) + "_";
}

}  // namespace

class WaveformRing::Pins final : public NicPins {
 public:
  Pins(std::shared_ptr<WaveformRing> ring, std::string name, std::unique_ptr<NicPins> pins)
      : ring_(std::move(ring)), name_(std::move(name)), pins_(std::move(pins)) {
    ring_->watched_.push_back(this);
  }
  ~Pins() override { std::erase(ring_->watched_, this); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  void Reset(unsigned cycles) override { pins_->Reset(cycles); }
  bool Clock(const NicInputs& inputs) override {
    ring_->Tick(*this, inputs.time_ns);
    return pins_->Clock(inputs);
  }
  const NicOutputs& outputs() const override { return pins_->outputs(); }
  bool StartTrace(const std::string& path) override { return pins_->StartTrace(path); }
  void StopTrace() override { pins_->StopTrace(); }

 private:
  friend class WaveformRing;
  const std::shared_ptr<WaveformRing> ring_;
  const std::string name_;
  const std::unique_ptr<NicPins> pins_;
  uint64_t cycles_ = 0;  // since the last snapshot
};

std::shared_ptr<WaveformRing> WaveformRing::FromEnvironment() {
  Options options;
  if (const char* text = std::getenv("VIREO_WAVEFORM"); text != nullptr) {
    if (std::string_view(text) == "off") return nullptr;
    options.directory = text;
  }
  return std::make_shared<WaveformRing>(options);
}

WaveformRing::WaveformRing(Options options)
    : options_(std::move(options)),
      prefix_(Prefix(options_.directory)),
      ring_(static_cast<size_t>((options_.cycles + options_.interval - 1) / options_.interval + 1)) {}

WaveformRing::~WaveformRing() {
  if (ring_.is_replay()) _exit(kLost);
}

std::unique_ptr<NicPins> WaveformRing::Watch(std::shared_ptr<WaveformRing> ring, std::string name,
                                             std::unique_ptr<NicPins> pins) {
  return std::make_unique<Pins>(std::move(ring), std::move(name), std::move(pins));
}

std::string WaveformRing::Path(const Pins& pins) const { return prefix_ + pins.name_ + ".fst"; }

void WaveformRing::Tick(Pins& pins, uint64_t time_ns) {
  if (is_spent_ || (is_started_ && ++pins.cycles_ < options_.interval)) return;
  is_started_ = true;
  for (Pins* each : watched_) each->cycles_ = 0;
  if (ring_.is_replay()) return;
  const uint64_t number = times_.size();
  times_.push_back(time_ns);
  if (ring_.Take(number)) StartReplay();
}

void WaveformRing::StartReplay() {
  DiscardOutput();
  alarm(options_.timeout);
  for (Pins* each : watched_) {
    if (!each->StartTrace(Path(*each))) _exit(kLost);
  }
}

std::string WaveformRing::OnMismatch() {
  if (ring_.is_replay()) {
    for (Pins* each : watched_) each->StopTrace();
    ring_.Finish();
  }
  if (is_spent_) return "none: only for the first mismatch";
  is_spent_ = true;
  uint64_t since = 0;
  for (const Pins* each : watched_) since = std::max(since, each->cycles_);
  const uint64_t back = options_.cycles <= since ? 0 : (options_.cycles - since - 1) / options_.interval + 1;
  uint64_t from = 0;
  if (times_.empty() || !ring_.Replay(times_.size() - 1 - std::min(back, times_.size() - 1), &from)) {
    return "none: no snapshot, or it did not reach the mismatch";
  }
  std::string text;
  for (const Pins* each : watched_) {
    files_.push_back(Path(*each));
    text += files_.back() + " ";
  }
  return text + "(from " + std::to_string(times_[from]) + " ns on)";
}

}  // namespace vireo::sim
