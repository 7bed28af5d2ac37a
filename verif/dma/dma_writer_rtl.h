// SPDX-License-Identifier: Apache-2.0
// Drives vireo_dma_writer in simulation, cycle by cycle. Fields that are not valid are random, so that a design that
// uses them fails.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>

#include "model/dma/dma_writer.h"

namespace vireo::verif {

// The outputs of a cycle.
struct DmaWriterOutputs {
  bool request_ready;
  bool train_ready;
  bool aw_valid;
  uint64_t aw_address;
  uint32_t aw_len;
  uint32_t aw_size;
  uint32_t aw_burst;
  uint32_t aw_bytes;
  bool w_valid;
  std::span<const uint8_t> w_data;  // until the next cycle
  uint64_t w_strobes;
  bool w_last;
  bool b_ready;
  bool done_valid;
  uint32_t done_tag;
  model::AxiResp done_resp;
};

// The inputs of a cycle. The caller offers a request or beat that is not accepted again.
struct DmaWriterInputs {
  const model::DmaWriter::Request* request = nullptr;
  spec::PcieSize max_payload_size{};
  bool train_valid = false;
  std::span<const uint8_t> train_data{};  // up to a beat; the lanes behind it are random
  bool train_last = false;
  bool aw_ready = false;
  bool w_ready = false;
  bool b_valid = false;
  model::AxiResp b_resp{};
};

class DmaWriterRtl {
 public:
  // data_bits: one of the widths that the build has (64, 512); anything else gives null. `random` outlives the object.
  static std::unique_ptr<DmaWriterRtl> Make(unsigned data_bits, std::mt19937_64& random);
  // The parameters that the build gives to that width.
  static model::DmaWriter::Config ConfigOf(unsigned data_bits);
  virtual ~DmaWriterRtl() = default;

  virtual DmaWriterOutputs outputs() const = 0;
  virtual void Clock(const DmaWriterInputs& inputs) = 0;
  virtual void Reset() = 0;
};

}  // namespace vireo::verif
