// SPDX-License-Identifier: Apache-2.0
#include "verif/dma/dma_reader_rtl.h"

#include <algorithm>

#include "Vdma_reader_512.h"
#include "Vdma_reader_64.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

template <typename Top>
class DmaReaderRtlOf final : public DmaReaderRtl {
 public:
  DmaReaderRtlOf(const model::DmaReader::Config& config, std::mt19937_64& random)
      : config_(config), random_(random), rtl_(AllOutputs) {}

  DmaReaderOutputs outputs() const override {
    const Top& top = rtl_.ports();
    return {.request_ready = top.request_ready_o != 0,
            .ar_valid = top.m_axi_arvalid_o != 0,
            .ar_id = top.m_axi_arid_o,
            .ar_address = top.m_axi_araddr_o,
            .ar_len = top.m_axi_arlen_o,
            .ar_size = top.m_axi_arsize_o,
            .ar_burst = top.m_axi_arburst_o,
            .ar_bytes = top.m_axi_aruser_o,
            .r_ready = top.m_axi_rready_o != 0,
            .train_valid = top.train_valid_o != 0,
            .train_last = top.train_last_o != 0,
            .train_tag = top.train_tag_o,
            .train_bytes = top.train_bytes_o,
            .train_resp = static_cast<model::AxiResp>(top.train_resp_o),
            .train_data = BytesOf(top.train_data_o)};
  }

  void Clock(const DmaReaderInputs& inputs) override {
    Top& top = rtl_.ports();
    top.max_read_request_size_i = static_cast<CData>(inputs.max_read_request_size);
    top.request_valid_i = inputs.request != nullptr;
    if (inputs.request != nullptr) {
      top.request_address_i = inputs.request->address;
      top.request_bytes_i = static_cast<SData>(inputs.request->bytes);
      top.request_tag_i = static_cast<CData>(inputs.request->tag);
    } else {
      Scramble(top.request_address_i, random_);
      top.request_bytes_i = static_cast<SData>(random_() % config_.buffer_bytes);
      Scramble(top.request_tag_i, random_);
    }
    top.m_axi_arready_i = inputs.ar_ready;
    top.m_axi_rvalid_i = inputs.r_valid;
    if (inputs.r_valid) {
      top.m_axi_rid_i = static_cast<CData>(inputs.r_id);
      std::copy(inputs.r_data.begin(), inputs.r_data.end(), BytesOf(top.m_axi_rdata_i).begin());
      top.m_axi_rresp_i = static_cast<CData>(inputs.r_resp);
      top.m_axi_rlast_i = inputs.r_last;
    } else {
      top.m_axi_rid_i = static_cast<CData>(random_() % config_.tags);
      Scramble(top.m_axi_rdata_i, random_);
      top.m_axi_rresp_i = random_() % 4;
      top.m_axi_rlast_i = random_() % 2;
    }
    top.train_ready_i = inputs.train_ready;
    rtl_.Clock();
  }

  void Reset() override {
    rtl_.ports().request_valid_i = 0;
    rtl_.ports().m_axi_rvalid_i = 0;
    rtl_.Reset();
  }

 private:
  static void AllOutputs(const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto span = BytesOf(port);
      bytes.insert(bytes.end(), span.begin(), span.end());
    };
    add(top.request_ready_o);
    add(top.m_axi_arvalid_o);
    add(top.m_axi_arid_o);
    add(top.m_axi_araddr_o);
    add(top.m_axi_arlen_o);
    add(top.m_axi_arsize_o);
    add(top.m_axi_arburst_o);
    add(top.m_axi_aruser_o);
    add(top.m_axi_rready_o);
    add(top.train_valid_o);
    add(top.train_data_o);
    add(top.train_last_o);
    add(top.train_tag_o);
    add(top.train_bytes_o);
    add(top.train_resp_o);
  }

  const model::DmaReader::Config config_;
  std::mt19937_64& random_;
  RtlTop<Top> rtl_;
};

}  // namespace

model::DmaReader::Config DmaReaderRtl::ConfigOf(unsigned data_bits) {
  if (data_bits == 64) return {.data_bits = 64, .tags = spec::kNic1.dma_tags, .buffer_bytes = 8192};
  return {.data_bits = 512, .tags = spec::kNic100.dma_tags, .buffer_bytes = 32768};
}

std::unique_ptr<DmaReaderRtl> DmaReaderRtl::Make(unsigned data_bits, std::mt19937_64& random) {
  switch (data_bits) {
    case 64: return std::make_unique<DmaReaderRtlOf<Vdma_reader_64>>(ConfigOf(64), random);
    case 512: return std::make_unique<DmaReaderRtlOf<Vdma_reader_512>>(ConfigOf(512), random);
    default: return nullptr;
  }
}

}  // namespace vireo::verif
