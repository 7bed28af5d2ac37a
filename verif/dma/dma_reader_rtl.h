// SPDX-License-Identifier: Apache-2.0
// Drives vireo_dma_reader in simulation, cycle by cycle. Fields that are not valid are random, so that a design that
// uses them fails.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "model/dma/dma_reader.h"

namespace vireo::verif {

// The outputs of a cycle.
struct DmaReaderOutputs {
  bool request_ready;
  bool ar_valid;
  uint32_t ar_id;
  uint64_t ar_address;
  uint32_t ar_len;
  uint32_t ar_size;
  uint32_t ar_burst;
  uint32_t ar_bytes;
  bool r_ready;
  bool train_valid;
  bool train_last;
  uint32_t train_tag;
  uint32_t train_bytes;
  model::AxiResp train_resp;
  std::span<const uint8_t> train_data;  // until the next cycle
};

// The inputs of a cycle. The caller offers a request that is not accepted again.
struct DmaReaderInputs {
  const model::DmaReader::Request* request = nullptr;
  spec::PcieSize max_read_request_size{};
  bool ar_ready = false;
  bool r_valid = false;
  uint32_t r_id = 0;
  std::span<const uint8_t> r_data{};
  model::AxiResp r_resp{};
  bool r_last = false;
  bool train_ready = false;
};

class DmaReaderRtl {
 public:
  // data_bits: one of the widths that the build has (64, 512); anything else gives null. `random` outlives the object.
  static std::unique_ptr<DmaReaderRtl> Make(unsigned data_bits, std::mt19937_64& random);
  // The parameters that the build gives to that width.
  static model::DmaReader::Config ConfigOf(unsigned data_bits);
  virtual ~DmaReaderRtl() = default;

  virtual DmaReaderOutputs outputs() const = 0;
  virtual void Clock(const DmaReaderInputs& inputs) = 0;
  virtual void Reset() = 0;
};

}  // namespace vireo::verif
