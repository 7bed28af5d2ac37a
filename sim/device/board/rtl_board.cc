// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/rtl_board.h"

#include <cstring>
#include <deque>
#include <optional>
#include <type_traits>
#include <utility>

#include "Vboard_front.h"
#include "Vboard_front_serial.h"
#include "Vnic1.h"
#include "sim/device/board/serial_bits.h"
#include "sim/device/processor_rtl.h"
#include "sim/device/rtl_coverage.h"
#include "sim/device/rtl_pins.h"
#include "sim/nic/nic.h"

namespace vireo::sim {
namespace {

template <typename Front>
class RtlBoard final : public ByteLine {
 public:
  explicit RtlBoard(uint64_t patience);  // its power comes up
  ~RtlBoard() override;

  bool Send(std::span<const uint8_t> bytes) override;
  bool Receive(std::vector<uint8_t>& bytes) override;

 private:
  void RunClock(uint64_t cycles);
  struct Class;
  void Clock();
  bool DeviceClock();  // resets, loads and starts the device; false: nothing of it

  const uint64_t patience_;
  std::unique_ptr<Class> class_;
  std::deque<uint8_t> to_board_;
  std::vector<uint8_t> from_board_;
  SerialBits bits_;
};

template <typename Front>
struct RtlBoard<Front>::Class {
  VerilatedContext context;
  std::unique_ptr<Front> front_class = std::make_unique<Front>(&context);
  Front& front = *front_class;
  RtlPins<Vnic1> nic{/*checked=*/false};
  std::unique_ptr<ProcessorRtl> processor;  // null: not loaded since the last reset
  bool is_running = false;                  // the processor
  bool reads = false;                       // its read is not answered
  bool was_in_reset = true;
  uint32_t last_controls = 0;

  std::optional<ProcessorRtl::Access> Access() const { return is_running ? processor->access() : std::nullopt; }
  void SetInputs();
  NicInputs Inputs() const;
  void Step();
};

// What the device shows to the bridge.
template <typename Front>
void RtlBoard<Front>::Class::SetInputs() {
  const NicOutputs& out = nic.outputs();
  front.bar_read_valid_i = out.bar_read_valid;
  front.bar_read_data_i = out.bar_read_data;
  front.arvalid_i = out.arvalid;
  front.arid_i = static_cast<uint8_t>(out.arid);
  front.araddr_i = out.araddr;
  front.aruser_i = static_cast<uint16_t>(out.aruser);
  front.awvalid_i = out.awvalid;
  front.awaddr_i = out.awaddr;
  front.awlen_i = out.awlen;
  front.awuser_i = static_cast<uint16_t>(out.awuser);
  front.wvalid_i = out.wvalid;
  front.wlast_i = out.wlast;
  std::memcpy(&front.wdata_i, out.wdata.data(), sizeof front.wdata_i);
  front.msix_valid_i = out.msix_valid;
  front.msix_vector_i = out.msix_vector;
  front.tvalid_i = out.tx_valid;
  front.tlast_i = out.tx_last;
  std::memcpy(&front.tdata_i, out.tx_data.data(), sizeof front.tdata_i);
  front.tkeep_i = out.tx_keep[0];
  front.csr_read_valid_i = out.csr_read_valid;
  front.csr_read_data_i = out.csr_read_data;
  front.firmware_interrupt_i = out.firmware_interrupt;
  front.idle_i = out.idle;
  front.deadline_ns_i = out.deadline_ns;
  const auto access = Access();
  front.access_valid_i = access.has_value();
  front.access_i = 0;
  if (access.has_value()) {
    const spec::BoardCsr csr{
        .offset = static_cast<uint16_t>(access->offset), .is_write = access->is_write, .value = access->value};
    uint8_t bytes[sizeof front.access_i] = {};
    csr.Encode(bytes);
    std::memcpy(&front.access_i, bytes, sizeof bytes);
  }
  const auto console = is_running ? processor->console() : std::nullopt;
  front.console_valid_i = console.has_value();
  front.console_data_i = static_cast<uint8_t>(console.value_or(0));
  front.processor_waiting_i = !is_running || processor->is_waiting();
  front.processor_failure_i = is_running ? static_cast<uint8_t>(processor->failure()) : 0;
}

template <typename Front>
NicInputs RtlBoard<Front>::Class::Inputs() const {
  // Structures of the contract are ports of up to 112 bits, least significant byte first.
  const auto bytes_of = [](const auto& port) { return reinterpret_cast<const uint8_t*>(&port); };
  NicInputs in;
  in.time_ns = front.time_ns_o;
  const auto controls = spec::BoardControls::Decode(bytes_of(front.controls_o));
  in.bus_master = controls.bus_master;
  in.msix_enable = controls.msix_enable;
  in.msix_mask = controls.msix_mask;
  in.mac_link = controls.mac_link;
  in.max_payload_size = controls.max_payload_size;
  in.max_read_request_size = controls.max_read_request_size;
  const auto bar = spec::BoardBar::Decode(bytes_of(front.bar_o));
  in.bar_valid = front.bar_valid_o != 0;
  in.bar_write = bar.is_write != 0;
  in.bar_index = bar.bar;
  in.bar_bytes = bar.length;
  in.bar_offset = bar.offset;
  in.bar_data = bar.value;
  const auto access = Access();
  const auto beside = spec::BoardCsr::Decode(bytes_of(front.csr_o));
  in.csr_valid = access.has_value() || front.csr_valid_o != 0;
  in.csr_write = access.has_value() ? access->is_write : beside.is_write;
  in.csr_address = static_cast<uint16_t>(access.has_value() ? access->offset : beside.offset);
  in.csr_data = access.has_value() ? access->value : beside.value;
  in.rvalid = front.rvalid_o != 0;
  in.rid = front.rid_o;
  in.rresp = front.rresp_o;
  in.rlast = front.rlast_o != 0;
  std::memcpy(in.rdata.data(), &front.rdata_o, sizeof front.rdata_o);
  in.awready = front.awready_o != 0;
  in.wready = front.wready_o != 0;
  in.bvalid = front.bvalid_o != 0;
  in.bresp = front.bresp_o;
  in.tx_ready = front.tready_o != 0;
  in.rx_valid = front.rx_valid_o != 0;
  in.rx_last = front.rx_last_o != 0;
  in.rx_error = front.rx_error_o != 0;
  std::memcpy(in.rx_data.data(), &front.rx_data_o, sizeof front.rx_data_o);
  in.rx_keep[0] = front.rx_keep_o;
  return in;
}

// An edge of the device's clock, with the bridge's outputs of before.
template <typename Front>
void RtlBoard<Front>::Class::Step() {
  const NicOutputs out = nic.outputs();
  const auto access = Access();
  const NicInputs in = Inputs();
  // The NIC's promise (idle_o): without input nothing changes before its deadline. Spares most of the time in which
  // only the processor runs.
  const bool is_due = out.deadline_ns != 0 && in.time_ns >= out.deadline_ns;
  const uint32_t controls = front.controls_o;
  if (!out.idle || out.HasValid() || in.bar_valid || in.csr_valid || in.rvalid || in.bvalid || in.rx_valid || is_due ||
      controls != last_controls) {
    nic.Clock(in);
  }
  last_controls = controls;
  if (!is_running) return;
  const bool answers = reads && out.csr_read_valid;
  processor->Clock(answers ? std::optional(out.csr_read_data) : std::nullopt, out.firmware_interrupt);
  if (access.has_value() && !access->is_write) {
    reads = true;
  } else if (out.csr_read_valid) {
    reads = false;
  }
}

template <typename Front>
RtlBoard<Front>::RtlBoard(uint64_t patience) : patience_(patience), class_(std::make_unique<Class>()) {
  class_->front.rx_i = 1;
  class_->front.rst_ni = 0;
  class_->front.clk_i = 0;
  class_->front.eval();
  RunClock(4);
  class_->front.rst_ni = 1;
}

template <typename Front>
RtlBoard<Front>::~RtlBoard() {
  class_->front.final();
  KeepCoverage(class_->context);
  // Before the NIC, whose own context is the thread's when it goes. See RtlPins.
  Verilated::threadContextp(&class_->context);
  class_->front_class.reset();
}

template <typename Front>
bool RtlBoard<Front>::DeviceClock() {
  Class& all = *class_;
  Front& front = all.front;
  if (front.device_rst_no == 0) {
    all.was_in_reset = true;
    return false;
  }
  bool changes = false;
  if (std::exchange(all.was_in_reset, false)) {
    all.nic.Reset(kResetCycles);
    all.processor.reset();
    all.is_running = all.reads = false;
    changes = true;
  }
  if (front.load_valid_o != 0) {
    const auto load = spec::BoardLoad::Decode(reinterpret_cast<const uint8_t*>(&front.load_o));
    if (all.processor == nullptr) all.processor = std::make_unique<ProcessorRtl>();
    all.processor->Load(load.address, load.value);
    changes = true;
  }
  if (front.start_o != 0 && all.processor != nullptr) {
    all.processor->Start();
    all.is_running = changes = true;
  }
  return changes;
}

template <typename Front>
void RtlBoard<Front>::Clock() {
  Front& rtl = class_->front;
  constexpr bool kIsSerial = std::is_same_v<Front, Vboard_front_serial>;
  if constexpr (kIsSerial) {
    rtl.rx_i = bits_.Clock(rtl.tx_o, to_board_, from_board_) != 0;
  } else {
    // In every cycle a byte, each way.
    rtl.rx_byte_valid_i = !to_board_.empty();
    if (!to_board_.empty()) {
      rtl.rx_byte_i = to_board_.front();
      to_board_.pop_front();
    }
    rtl.tx_byte_ready_i = 1;
    if (rtl.tx_byte_valid_o != 0) from_board_.push_back(rtl.tx_byte_o);
  }
  // The device's registers take the bridge's outputs at the same edge as the bridge takes the device's.
  const bool steps = rtl.step_o != 0 && rtl.device_rst_no != 0;
  if (steps) class_->Step();
  const bool changes = DeviceClock() || steps;
  rtl.clk_i = 1;
  rtl.eval();
  if (changes) class_->SetInputs();
  rtl.clk_i = 0;
  rtl.eval();
}

template <typename Front>
void RtlBoard<Front>::RunClock(uint64_t cycles) {
  for (uint64_t i = 0; i < cycles; ++i) Clock();
}

template <typename Front>
bool RtlBoard<Front>::Send(std::span<const uint8_t> bytes) {
  to_board_.insert(to_board_.end(), bytes.begin(), bytes.end());
  return true;
}

template <typename Front>
bool RtlBoard<Front>::Receive(std::vector<uint8_t>& bytes) {
  while (!to_board_.empty()) Clock();
  for (uint64_t i = 0; i < patience_ && from_board_.empty(); ++i) Clock();
  if (from_board_.empty()) return false;
  bytes.insert(bytes.end(), from_board_.begin(), from_board_.end());
  from_board_.clear();
  return true;
}

}  // namespace

std::unique_ptr<ByteLine> MakeRtlBoard() { return std::make_unique<RtlBoard<Vboard_front>>(kBoardPatience); }
std::unique_ptr<ByteLine> MakeSerialRtlBoard(uint64_t patience) {
  return std::make_unique<RtlBoard<Vboard_front_serial>>(patience);
}

}  // namespace vireo::sim
