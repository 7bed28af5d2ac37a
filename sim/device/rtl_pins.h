// SPDX-License-Identifier: Apache-2.0
// The only place with the port names of a Verilated vireo_nic. Works with any top with these ports, such as the
// netlist.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "sim/device/nic_pins.h"
#include "sim/device/rtl_coverage.h"
#include "sim/time/core_clock.h"

namespace vireo::sim {

// For tops Verilated without waveforms; with waveforms: rtl_trace.h.
struct NoTrace {
  static void Prepare(VerilatedContext&) {}
  template <typename Top>
  static bool Open(Top&, const std::string&) {
    return false;
  }
  static void Dump(uint64_t) {}
  static void Close() {}
};

// Uses the deadline_ns_o port if the top has one. Time in a waveform is the simulated time: inputs change at the start
// of a cycle; the edge at its end is shown half a nanosecond later.
template <typename Top, typename Trace = NoTrace>
class RtlPins final : public NicPins {
 public:
  // `checked`: compares all outputs before and after the inputs of every cycle (about doubles the work outside of the
  // device itself). `asserts`: an assertion of the RTL that fails ends the program, if they are compiled in.
  explicit RtlPins(bool checked = true, bool asserts = true) : top_(Prepared(context_)), checked_(checked) {
    context_.assertOn(asserts);
    top_.clk_i = 0;
    top_.rst_ni = 1;
    top_.eval();
  }
  ~RtlPins() override {
    top_.final();
    KeepCoverage(context_);
    // Scopes of assertions remove themselves from the thread's context, which may be another instance's, already gone.
    Verilated::threadContextp(&context_);
  }
  RtlPins(const RtlPins&) = delete;
  RtlPins& operator=(const RtlPins&) = delete;

  void Reset(unsigned cycles) override {
    top_.clk_i = 0;
    Set(NicInputs{});
    top_.rst_ni = 0;  // the edge for an asynchronous reset
    top_.eval();
    for (unsigned i = 0; i < cycles; ++i) {
      top_.clk_i = 1;
      top_.eval();
      top_.clk_i = 0;
      top_.eval();
    }
    top_.rst_ni = 1;
    top_.eval();
    Take(outputs_);
  }

  bool Clock(const NicInputs& inputs) override {
    Set(inputs);
    top_.clk_i = 0;
    top_.eval();
    trace_.Dump(inputs.time_ns * kPicosecondsPerNanosecond);
    bool registered = true;
    if (checked_) {
      Take(before_);
      registered = before_ == outputs_;
    }
    top_.clk_i = 1;
    top_.eval();
    trace_.Dump(inputs.time_ns * kPicosecondsPerNanosecond + kPicosecondsPerNanosecond / 2);
    Take(outputs_);
    return registered;
  }

  const NicOutputs& outputs() const override { return outputs_; }
  bool StartTrace(const std::string& path) override { return trace_.Open(top_, path); }
  void StopTrace() override { trace_.Close(); }
  Top& top() { return top_; }

 private:
  static VerilatedContext* Prepared(VerilatedContext& context) {
    Trace::Prepare(context);
    return &context;
  }
  template <typename Port, typename Value>
  static void Put(Port& port, Value value) {
    port = static_cast<Port>(value);
  }
  // Ports of any width: integers or arrays of words, least significant first; the host is little-endian.
  template <typename Port, size_t size>
  static void PutBytes(Port& port, const std::array<uint8_t, size>& bytes) {
    std::memcpy(&port, bytes.data(), std::min(sizeof(port), size));
  }
  template <typename Port, size_t size>
  static void TakeBytes(const Port& port, std::array<uint8_t, size>& bytes) {
    std::memcpy(bytes.data(), &port, std::min(sizeof(port), size));
  }

  void Set(const NicInputs& in) {
    Put(top_.time_ns_i, in.time_ns);
    Put(top_.cfg_bus_master_i, in.bus_master);
    Put(top_.cfg_msix_enable_i, in.msix_enable);
    Put(top_.cfg_msix_mask_i, in.msix_mask);
    Put(top_.cfg_max_payload_size_i, in.max_payload_size);
    Put(top_.cfg_max_read_request_size_i, in.max_read_request_size);
    Put(top_.mac_link_i, in.mac_link);
    Put(top_.bar_valid_i, in.bar_valid);
    Put(top_.bar_write_i, in.bar_write);
    Put(top_.bar_index_i, in.bar_index);
    Put(top_.bar_offset_i, in.bar_offset);
    Put(top_.bar_bytes_i, in.bar_bytes);
    Put(top_.bar_data_i, in.bar_data);
    Put(top_.csr_valid_i, in.csr_valid);
    Put(top_.csr_write_i, in.csr_write);
    Put(top_.csr_address_i, in.csr_address);
    Put(top_.csr_data_i, in.csr_data);
    Put(top_.m_axi_arready_i, in.arready);
    Put(top_.m_axi_rvalid_i, in.rvalid);
    Put(top_.m_axi_rid_i, in.rid);
    Put(top_.m_axi_rresp_i, in.rresp);
    Put(top_.m_axi_rlast_i, in.rlast);
    PutBytes(top_.m_axi_rdata_i, in.rdata);
    Put(top_.m_axi_awready_i, in.awready);
    Put(top_.m_axi_wready_i, in.wready);
    Put(top_.m_axi_bvalid_i, in.bvalid);
    Put(top_.m_axi_bresp_i, in.bresp);
    Put(top_.m_axis_tready_i, in.tx_ready);
    Put(top_.s_axis_tvalid_i, in.rx_valid);
    Put(top_.s_axis_tlast_i, in.rx_last);
    Put(top_.s_axis_tuser_i, in.rx_error);
    PutBytes(top_.s_axis_tdata_i, in.rx_data);
    PutBytes(top_.s_axis_tkeep_i, in.rx_keep);
  }

  void Take(NicOutputs& out) {
    out.bar_read_valid = top_.bar_read_valid_o != 0;
    out.bar_read_data = top_.bar_read_data_o;
    out.csr_read_valid = top_.csr_read_valid_o != 0;
    out.csr_read_data = top_.csr_read_data_o;
    out.firmware_interrupt = top_.firmware_interrupt_o != 0;
    out.arvalid = top_.m_axi_arvalid_o != 0;
    out.arid = top_.m_axi_arid_o;
    out.araddr = top_.m_axi_araddr_o;
    out.arlen = top_.m_axi_arlen_o;
    out.aruser = top_.m_axi_aruser_o;
    out.awvalid = top_.m_axi_awvalid_o != 0;
    out.awaddr = top_.m_axi_awaddr_o;
    out.awlen = top_.m_axi_awlen_o;
    out.awuser = top_.m_axi_awuser_o;
    out.wvalid = top_.m_axi_wvalid_o != 0;
    out.wlast = top_.m_axi_wlast_o != 0;
    TakeBytes(top_.m_axi_wdata_o, out.wdata);
    TakeBytes(top_.m_axi_wstrb_o, out.wstrb);
    out.msix_valid = top_.msix_valid_o != 0;
    out.msix_vector = top_.msix_vector_o;
    out.tx_valid = top_.m_axis_tvalid_o != 0;
    out.tx_last = top_.m_axis_tlast_o != 0;
    TakeBytes(top_.m_axis_tdata_o, out.tx_data);
    TakeBytes(top_.m_axis_tkeep_o, out.tx_keep);
    out.idle = top_.idle_o != 0;
    if constexpr (requires(const Top& top) { top.deadline_ns_o; }) out.deadline_ns = top_.deadline_ns_o;
  }

  VerilatedContext context_;
  Top top_;
  [[no_unique_address]] Trace trace_;
  const bool checked_;
  NicOutputs outputs_, before_;
};

}  // namespace vireo::sim
