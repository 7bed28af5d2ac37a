// SPDX-License-Identifier: Apache-2.0
#include "sim/device/processor_rtl.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "Vcontrol_processor.h"
#include "sim/device/rtl_coverage.h"

namespace vireo::sim {
namespace {

std::vector<uint8_t> ReadImage() {
  std::ifstream file(VIREO_FIRMWARE_IMAGE, std::ios::binary);
  std::vector<uint8_t> image{std::istreambuf_iterator<char>(file), {}};
  if (image.size() < spec::kProcessorSettingsOffset + spec::ProcessorSettings::kBytes) {
    std::fprintf(stderr, "%s: no firmware for the control processor\n", VIREO_FIRMWARE_IMAGE);
    std::abort();
  }
  image.resize((image.size() + 3) / 4 * 4);
  return image;
}

}  // namespace

struct ProcessorRtl::Class {
  VerilatedContext context;
  Vcontrol_processor rtl{&context};

  void Clock() {
    rtl.clk_i = 1;
    rtl.eval();
    rtl.clk_i = 0;
    rtl.eval();
  }
};

std::string ProcessorRtl::WhyUnavailable() { return {}; }

const std::vector<uint8_t>& ProcessorRtl::Image() {
  static const std::vector<uint8_t> image = ReadImage();
  return image;
}

ProcessorRtl::ProcessorRtl() : class_(std::make_unique<Class>()) {
  class_->rtl.rst_ni = 0;
  class_->Clock();
  class_->rtl.rst_ni = 1;
}

ProcessorRtl::~ProcessorRtl() { KeepCoverage(class_->context); }

void ProcessorRtl::Load(uint32_t address, uint32_t value) {
  Vcontrol_processor& rtl = class_->rtl;
  rtl.load_valid_i = 1;
  rtl.load_address_i = address;
  rtl.load_data_i = value;
  class_->Clock();
  rtl.load_valid_i = 0;
  rtl.eval();
}

void ProcessorRtl::Start() {
  class_->rtl.run_i = 1;
  class_->rtl.eval();
}

std::optional<ProcessorRtl::Access> ProcessorRtl::access() const {
  const Vcontrol_processor& rtl = class_->rtl;
  if (rtl.csr_valid_o == 0) return std::nullopt;
  return Access{.is_write = rtl.csr_write_o != 0, .offset = rtl.csr_address_o, .value = rtl.csr_data_o};
}

std::optional<char> ProcessorRtl::console() const {
  if (class_->rtl.console_valid_o == 0) return std::nullopt;
  return static_cast<char>(class_->rtl.console_data_o);
}

bool ProcessorRtl::is_waiting() const { return class_->rtl.waiting_o != 0; }

spec::ProcessorFailure ProcessorRtl::failure() const { return spec::ProcessorFailure{class_->rtl.failure_o}; }

void ProcessorRtl::Clock(std::optional<uint32_t> answer, bool interrupt) {
  Vcontrol_processor& rtl = class_->rtl;
  if (answer.has_value() || interrupt) {
    rtl.csr_read_valid_i = answer.has_value();
    rtl.csr_read_data_i = answer.value_or(0);
    rtl.firmware_interrupt_i = interrupt;
    rtl.eval();
  }
  class_->Clock();
  if (answer.has_value() || interrupt) {
    rtl.csr_read_valid_i = 0;
    rtl.firmware_interrupt_i = 0;
    rtl.eval();
  }
}

}  // namespace vireo::sim
