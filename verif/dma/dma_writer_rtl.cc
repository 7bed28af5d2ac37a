// SPDX-License-Identifier: Apache-2.0
#include "verif/dma/dma_writer_rtl.h"

#include <algorithm>
#include <vector>

#include "Vdma_writer_512.h"
#include "Vdma_writer_64.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

template <typename Top>
class DmaWriterRtlOf final : public DmaWriterRtl {
 public:
  explicit DmaWriterRtlOf(std::mt19937_64& random) : random_(random), rtl_(AllOutputs) {}

  DmaWriterOutputs outputs() const override {
    const Top& top = rtl_.ports();
    return {.request_ready = top.request_ready_o != 0,
            .train_ready = top.train_ready_o != 0,
            .aw_valid = top.m_axi_awvalid_o != 0,
            .aw_address = top.m_axi_awaddr_o,
            .aw_len = top.m_axi_awlen_o,
            .aw_size = top.m_axi_awsize_o,
            .aw_burst = top.m_axi_awburst_o,
            .aw_bytes = top.m_axi_awuser_o,
            .w_valid = top.m_axi_wvalid_o != 0,
            .w_data = BytesOf(top.m_axi_wdata_o),
            .w_strobes = top.m_axi_wstrb_o,
            .w_last = top.m_axi_wlast_o != 0,
            .b_ready = top.m_axi_bready_o != 0,
            .done_valid = top.done_valid_o != 0,
            .done_tag = top.done_tag_o,
            .done_resp = static_cast<model::AxiResp>(top.done_resp_o)};
  }

  void Clock(const DmaWriterInputs& inputs) override {
    Top& top = rtl_.ports();
    top.max_payload_size_i = static_cast<CData>(inputs.max_payload_size);
    top.request_valid_i = inputs.request != nullptr;
    if (inputs.request != nullptr) {
      top.request_address_i = inputs.request->address;
      top.request_bytes_i = static_cast<SData>(inputs.request->bytes);
      top.request_tag_i = static_cast<CData>(inputs.request->tag);
      top.request_notify_i = inputs.request->notify;
      top.request_after_all_b_i = inputs.request->after_all_b;
    } else {
      Scramble(top.request_address_i, random_);
      top.request_bytes_i = static_cast<SData>(random_() % 8192);
      Scramble(top.request_tag_i, random_);
      top.request_notify_i = random_() % 2;
      top.request_after_all_b_i = random_() % 2;
    }
    top.train_valid_i = inputs.train_valid;
    Scramble(top.train_data_i, random_);
    top.train_last_i = random_() % 2;
    if (inputs.train_valid) {
      std::copy(inputs.train_data.begin(), inputs.train_data.end(), BytesOf(top.train_data_i).begin());
      top.train_last_i = inputs.train_last;
    }
    top.m_axi_awready_i = inputs.aw_ready;
    top.m_axi_wready_i = inputs.w_ready;
    top.m_axi_bvalid_i = inputs.b_valid;
    top.m_axi_bresp_i = inputs.b_valid ? static_cast<CData>(inputs.b_resp) : static_cast<CData>(random_() % 4);
    rtl_.Clock();
  }

  void Reset() override {
    rtl_.ports().request_valid_i = 0;
    rtl_.ports().train_valid_i = 0;
    rtl_.ports().m_axi_bvalid_i = 0;
    rtl_.Reset();
  }

 private:
  static void AllOutputs(const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto span = BytesOf(port);
      bytes.insert(bytes.end(), span.begin(), span.end());
    };
    add(top.request_ready_o);
    add(top.train_ready_o);
    add(top.m_axi_awvalid_o);
    add(top.m_axi_awaddr_o);
    add(top.m_axi_awlen_o);
    add(top.m_axi_awsize_o);
    add(top.m_axi_awburst_o);
    add(top.m_axi_awuser_o);
    add(top.m_axi_wvalid_o);
    add(top.m_axi_wdata_o);
    add(top.m_axi_wstrb_o);
    add(top.m_axi_wlast_o);
    add(top.m_axi_bready_o);
    add(top.done_valid_o);
    add(top.done_tag_o);
    add(top.done_resp_o);
  }

  std::mt19937_64& random_;
  RtlTop<Top> rtl_;
};

}  // namespace

model::DmaWriter::Config DmaWriterRtl::ConfigOf(unsigned data_bits) {
  return {.data_bits = data_bits, .writes = data_bits == 64 ? 16u : 256u, .buffer_bytes = 8192};
}

std::unique_ptr<DmaWriterRtl> DmaWriterRtl::Make(unsigned data_bits, std::mt19937_64& random) {
  switch (data_bits) {
    case 64: return std::make_unique<DmaWriterRtlOf<Vdma_writer_64>>(random);
    case 512: return std::make_unique<DmaWriterRtlOf<Vdma_writer_512>>(random);
    default: return nullptr;
  }
}

}  // namespace vireo::verif
