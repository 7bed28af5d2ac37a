// SPDX-License-Identifier: Apache-2.0
#include "platform/vireo_nic.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace vireo::platform {
namespace {

using sc_core::sc_time;
using spec::PciHeader;

constexpr unsigned kBars = sizeof(PciHeader{}.base_address) / sizeof(uint32_t);
constexpr uint64_t kBarAttributeBits = 0xf;  // of a memory BAR's low register (PCIe 5.0, 7.5.1.2.1)
constexpr unsigned kMessageBytes = 4;        // PCIe 5.0, 6.1.4: what MSI-X writes

// Beside a frame on the line: preamble with the start frame delimiter, FCS, and the gap to the next frame
// (IEEE 802.3, 3.2 and 4.4.2).
constexpr uint64_t kPreambleBytes = 8, kFcsBytes = 4, kGapBytes = 12;

constexpr size_t kFirmwareStackBytes = size_t{256} * 1024;  // many times what it needs, sanitized too

sc_time Time(model::Picoseconds picoseconds) { return sc_time::from_value(picoseconds); }

// What the sender waits: temporally decoupled initiators are brought to their own time first.
void Synchronize(sc_time& delay) {
  if (delay == sc_core::SC_ZERO_TIME) return;
  sc_core::wait(delay);
  delay = sc_core::SC_ZERO_TIME;
}

uint64_t LittleEndian(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[i]} << 8 * i;
  return value;
}

void PutLittleEndian(uint64_t value, uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * i);
}

}  // namespace

// The export's interface: the module itself has names that an interface must not see.
class VireoNic::FrameInput final : public FrameInterface {
 public:
  explicit FrameInput(VireoNic& nic) : nic_(nic) {}
  void TakeFrame(const Frame& frame) override { nic_.TakeFrame(frame); }

 private:
  VireoNic& nic_;
};

VireoNic::VireoNic(const sc_core::sc_module_name& name, const Options& options)
    : sc_core::sc_module(name),
      config_socket("config_socket"),
      memory_socket("memory_socket"),
      dma_socket("dma_socket"),
      frame_out("frame_out"),
      frame_in("frame_in"),
      options_(options),
      clock_(options.config->core_clock_khz),
      beat_bytes_(options.config->datapath_bits / 8),
      // One frame on the line and one that is ready behind it keep the line busy.
      transmit_limit_(2 * options.config->max_frame_bytes),
      config_space_(options.pci),
      frame_input_(std::make_unique<FrameInput>(*this)),
      model_(*options.config, static_cast<model::NicOutputs&>(*this)),
      write_room_(options.write_buffer_bytes / beat_bytes_) {
  if (sc_core::sc_get_time_resolution() != sc_time(1, sc_core::SC_PS)) {
    SC_REPORT_FATAL("vireo", "the time resolution must be 1 ps");
  }
  if (options_.write_buffer_bytes < spec::kPcieRequestBoundary || options_.access_cycles == 0) {
    SC_REPORT_FATAL("vireo", "VireoNic::Options: write_buffer_bytes or access_cycles is too small");
  }
  config_socket.register_b_transport(this, &VireoNic::AccessConfig);
  config_socket.register_transport_dbg(this, &VireoNic::DebugConfig);
  memory_socket.register_b_transport(this, &VireoNic::AccessMemory);
  frame_in.bind(*frame_input_);
  model_.read_port().ar_out.Connect(read_bursts_, model_.read_port());
  model_.write_port().aw_out.Connect(write_bursts_, model_.write_port());
  SetControls(0, config_space_.controls());
  model_.SetMacLink(0, true);

  SC_METHOD(Step);  // is initialized: looks at what there is before the start
  sensitive << wake_;
  SC_METHOD(RunLine);
  sensitive << line_event_;
  dont_initialize();
  SC_THREAD(RunBus);
  SC_THREAD(RunFirmware);
  set_stack_size(kFirmwareStackBytes);
}

VireoNic::~VireoNic() = default;

uint32_t VireoNic::Beats(uint64_t address, uint64_t bytes) const {
  return static_cast<uint32_t>((address % beat_bytes_ + bytes + beat_bytes_ - 1) / beat_bytes_);
}

bool VireoNic::IsIdle() const {
  return is_started_ && next_run_ == model::kUnknown && bus_.empty() && !bus_is_busy_ && leaving_.empty() &&
         idle_readers_.size() == readers_.size() && is_asleep_;
}

// --- Sockets

void VireoNic::AccessConfig(tlm::tlm_generic_payload& transaction, sc_time& delay) {
  Synchronize(delay);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(Serve(transaction, true));
}

void VireoNic::AccessMemory(tlm::tlm_generic_payload& transaction, sc_time& delay) {
  Synchronize(delay);
  transaction.set_dmi_allowed(false);
  transaction.set_response_status(Serve(transaction, false));
}

tlm::tlm_response_status VireoNic::Serve(tlm::tlm_generic_payload& transaction, bool is_config) {
  const auto refuse = [&](tlm::tlm_response_status status) {
    ++counters_.refused_accesses;
    return status;
  };
  const unsigned bytes = transaction.get_data_length();
  const uint64_t address = transaction.get_address();
  uint8_t* const data = transaction.get_data_ptr();
  if (!transaction.is_read() && !transaction.is_write()) return refuse(tlm::TLM_COMMAND_ERROR_RESPONSE);
  if (transaction.get_byte_enable_ptr() != nullptr) return refuse(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  const unsigned longest = is_config ? sizeof(uint32_t) : sizeof(uint64_t);
  if (!std::has_single_bit(bytes) || bytes > longest || address % bytes != 0 ||
      transaction.get_streaming_width() < bytes) {
    return refuse(tlm::TLM_BURST_ERROR_RESPONSE);
  }
  uint64_t value = transaction.is_write() ? LittleEndian(data, bytes) : 0;
  if (is_config) {
    if (address >= spec::kPcieConfigBytes) return refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    const auto offset = static_cast<uint16_t>(address);
    if (!AccessWindow(offset, bytes, transaction.is_write(), &value)) {
      if (transaction.is_write()) WriteConfig(offset, bytes, static_cast<uint32_t>(value));
      value = config_space_.Read(offset, bytes);
    }
  } else {
    const auto header_word = [&](unsigned bar) {
      return config_space_.Read(static_cast<uint16_t>(PciHeader::kBaseAddressOffset + bar * sizeof(uint32_t)), 4);
    };
    unsigned bar = config_space_.controls().memory_space ? 0 : kBars;
    uint64_t base = 0;
    for (; bar < kBars; ++bar) {
      const uint64_t size = model::PciConfig::BarBytes(bar);
      if (size == 0) continue;
      base = (header_word(bar) & ~kBarAttributeBits) | uint64_t{header_word(bar + 1)} << 32;  // all are 64-bit ones
      if (address >= base && address - base < size) break;
    }
    if (bar == kBars) {
      // As a root complex answers what nobody claims.
      if (transaction.is_read()) std::fill_n(data, bytes, uint8_t{0xff});
      return refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    value = AccessBar({.write = transaction.is_write(),
                       .bar_index = static_cast<uint8_t>(bar),
                       .offset = static_cast<uint32_t>(address - base),
                       .bytes = static_cast<uint8_t>(bytes),
                       .data = value});
  }
  if (transaction.is_read()) PutLittleEndian(value, data, bytes);
  return tlm::TLM_OK_RESPONSE;
}

unsigned VireoNic::DebugConfig(tlm::tlm_generic_payload& transaction) {
  const uint64_t address = transaction.get_address();
  const unsigned bytes = transaction.get_data_length();
  if (address >= spec::kPcieConfigBytes || bytes > spec::kPcieConfigBytes - address) return 0;
  uint8_t* const data = transaction.get_data_ptr();
  for (unsigned i = 0; i < bytes; ++i) {
    const auto offset = static_cast<uint16_t>(address + i);
    if (transaction.is_read()) data[i] = static_cast<uint8_t>(config_space_.Read(offset, 1));
    if (transaction.is_write()) WriteConfig(offset, 1, data[i]);
  }
  return transaction.is_read() || transaction.is_write() ? bytes : 0;
}

void VireoNic::WriteConfig(uint16_t offset, unsigned bytes, uint32_t value) {
  const model::PciConfig::Controls before = config_space_.controls();
  config_space_.Write(offset, bytes, value);
  const model::PciConfig::Controls controls = config_space_.controls();
  if (controls == before) return;
  const Cycle cycle = InputCycle() + 1;
  control_changes_.emplace_back(cycle, controls);
  Wake(cycle);
}

// virtio 1.3, 4.1.4.9: the data of virtio_pci_cfg_cap are those of the BAR that its fields name. False: not there.
bool VireoNic::AccessWindow(uint32_t offset, unsigned bytes, bool write, uint64_t* value) {
  using Cap = spec::VirtioPciCfgCap;
  constexpr uint32_t kDataAt = spec::kPciCapAtPciCfg + Cap::kPciCfgDataOffset;
  if (offset < kDataAt || offset >= kDataAt + sizeof(uint32_t)) return false;
  uint8_t fields[Cap::kBytes];
  for (size_t i = 0; i < sizeof fields; ++i) {
    fields[i] = static_cast<uint8_t>(config_space_.Read(static_cast<uint16_t>(spec::kPciCapAtPciCfg + i), 1));
  }
  const spec::VirtioPciCap cap = Cap::Decode(fields).cap;
  const bool is_valid = std::has_single_bit(cap.length) && cap.length <= sizeof(uint32_t) &&
                        cap.offset % cap.length == 0 &&
                        uint64_t{cap.offset} + cap.length <= model::PciConfig::BarBytes(cap.bar);
  // A choice that is none reads 0; a write beside the window's begin says nothing about the BAR.
  if (!is_valid || (write && offset != kDataAt)) {
    *value = 0;
    return true;
  }
  const uint64_t answer = AccessBar({.write = write,
                                     .bar_index = cap.bar,
                                     .offset = cap.offset,
                                     .bytes = static_cast<uint8_t>(cap.length),
                                     .data = *value});
  const uint64_t ones = (uint64_t{1} << 8 * bytes) - 1;
  *value = answer >> 8 * (offset - kDataAt) & ones;
  return true;
}

uint64_t VireoNic::AccessBar(const spec::BarAccess& access) {
  const auto pending = std::make_shared<BarAccess>();
  pending->access = access;
  pending->cycle = InputCycle();
  bar_accesses_.push_back(pending);
  Wake(pending->cycle);
  while (!pending->is_done) sc_core::wait(pending->done);
  return pending->value;
}

bool VireoNic::TransportDma(tlm::tlm_command command, uint64_t address, uint8_t* data, size_t bytes, sc_time* delay) {
  tlm::tlm_generic_payload transaction;
  transaction.set_command(command);
  transaction.set_address(address);
  transaction.set_data_ptr(data);
  transaction.set_data_length(static_cast<unsigned>(bytes));
  transaction.set_streaming_width(static_cast<unsigned>(bytes));
  dma_socket->b_transport(transaction, *delay);
  return transaction.is_response_ok();
}

// --- The wire

void VireoNic::TakeFrame(const Frame& frame) {
  if (frame.bytes.empty() || frame.bytes.size() > options_.config->max_frame_bytes) {
    ++counters_.dropped_frames;
    return;
  }
  ++counters_.received_frames;
  frames_.push_back({InputCycle(), frame});
  Wake(frames_.back().cycle);
}

void VireoNic::OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  bytes.resize(std::max<size_t>(bytes.size(), spec::kEthernetFrameBytesMin));
  const auto on_line = [&](uint64_t count) { return count * 8 * 1'000'000 / options_.config->link_mbps; };
  // The line may begin with the frame's first beat if it does not run ahead of the last one.
  const Picoseconds begin = std::max(line_free_, clock_.Begin(start + 1));
  const Picoseconds leaves =
      std::max(begin + on_line(kPreambleBytes + bytes.size() + kFcsBytes), clock_.Begin(end + 1));
  line_free_ = leaves + on_line(kGapBytes);
  transmit_bytes_ += size;
  leaving_.push_back({leaves, {std::move(bytes), false}, size});
  if (leaving_.size() == 1) line_event_.notify(Time(leaves - Now()));
}

void VireoNic::RunLine() {
  while (!leaving_.empty() && leaving_.front().time <= Now()) {
    const Leaving frame = std::move(leaving_.front());
    leaving_.pop_front();
    transmit_bytes_ -= frame.bytes;
    ++counters_.sent_frames;
    if (frame_out.size() != 0) frame_out->TakeFrame(frame.frame);
  }
  if (HasTransmitChange()) Wake(InputCycle());
  if (!leaving_.empty()) line_event_.notify(Time(leaving_.front().time - Now()));
}

// --- The bus

void VireoNic::PutOnBus(BusItem item) {
  bus_.push_back(std::move(item));
  bus_event_.notify(sc_core::SC_ZERO_TIME);
}

void VireoNic::RunBus() {
  for (;;) {
    while (bus_.empty()) {
      bus_is_busy_ = false;
      wait(bus_event_);
    }
    bus_is_busy_ = true;
    BusItem item = std::move(bus_.front());
    bus_.pop_front();
    sc_time delay = sc_core::SC_ZERO_TIME;
    switch (item.kind) {
      case BusItem::Kind::kRead: {
        ++counters_.dma_reads;
        if (idle_readers_.empty()) {
          Reader& made = *readers_.emplace_back(std::make_unique<Reader>());
          sc_core::sc_spawn([this, &made] { RunReader(made); }, sc_core::sc_gen_unique_name("reader"));
          idle_readers_.push_back(&made);
        }
        Reader& reader = *idle_readers_.back();
        idle_readers_.pop_back();
        reader.burst = item.burst;
        reader.has_work = true;
        reader.work.notify();
        wait(sc_core::SC_ZERO_TIME);  // it begins before what comes after it
        break;
      }
      case BusItem::Kind::kWrite: {
        ++counters_.dma_writes;
        if (!TransportDma(tlm::TLM_WRITE_COMMAND, item.address, item.data.data(), item.data.size(), &delay)) {
          ++counters_.failed_writes;
        }
        const Cycle returned = clock_.AtOrAfter(Now() + delay.value());
        returned_beats_.emplace(returned, item.beats);
        Wake(returned);
        break;
      }
      case BusItem::Kind::kMessage: {
        ++counters_.messages;
        uint8_t bytes[kMessageBytes];
        PutLittleEndian(item.value, bytes, sizeof bytes);
        if (!TransportDma(tlm::TLM_WRITE_COMMAND, item.address, bytes, sizeof bytes, &delay)) ++counters_.failed_writes;
        break;
      }
      case BusItem::Kind::kBarAnswer: {
        const auto read = std::move(bar_reads_.front());
        bar_reads_.pop_front();
        read->value = item.value;
        read->is_done = true;
        read->done.notify();
        break;
      }
    }
  }
}

void VireoNic::RunReader(Reader& reader) {
  for (;;) {
    while (!reader.has_work) sc_core::wait(reader.work);
    sc_time delay = sc_core::SC_ZERO_TIME;
    Completion completion{.burst = reader.burst, .data = std::vector<uint8_t>(reader.burst.bytes)};
    if (!TransportDma(tlm::TLM_READ_COMMAND, reader.burst.address, completion.data.data(), completion.data.size(),
                      &delay)) {
      ++counters_.failed_reads;
      completion.data.clear();
    }
    const Cycle cycle = clock_.AtOrAfter(Now() + delay.value());
    completions_.emplace(cycle, std::move(completion));
    Wake(cycle);
    reader.has_work = false;
    idle_readers_.push_back(&reader);
  }
}

// --- The control processor

void VireoNic::Pause(Cycle cycles) { sc_core::wait(Time(clock_.Begin(InputCycle() + cycles) - Now())); }

void VireoNic::RunFirmware() {
  firmware_ = std::make_unique<firmware::Firmware>(firmware::Csr(this, &VireoNic::ReadCsr, &VireoNic::WriteCsr),
                                                   options_.firmware);
  Pause(options_.access_cycles);
  if (!firmware_->Start()) {
    SC_REPORT_ERROR("vireo", "the firmware does not know this device");
    is_asleep_ = true;
    return;
  }
  is_ready_ = true;
  for (;;) {
    if (firmware_->Poll()) continue;
    // Looking again costs time even if it reads nothing; the level may still stand for what was just served.
    is_asleep_ = true;
    while (!interrupt_) wait(interrupt_event_);
    is_asleep_ = false;
    Pause(options_.access_cycles);
  }
}

uint32_t VireoNic::ReadCsr(void* self, uint32_t offset) {
  auto& nic = *static_cast<VireoNic*>(self);
  nic.is_csr_answered_ = false;
  nic.csr_accesses_.push_back({nic.InputCycle(), false, static_cast<uint16_t>(offset), 0});
  nic.Wake(nic.InputCycle());
  while (!nic.is_csr_answered_) sc_core::wait(nic.csr_event_);
  nic.Pause(nic.options_.access_cycles);
  return nic.csr_answer_;
}

void VireoNic::WriteCsr(void* self, uint32_t offset, uint32_t value) {
  auto& nic = *static_cast<VireoNic*>(self);
  nic.csr_accesses_.push_back({nic.InputCycle(), true, static_cast<uint16_t>(offset), value});
  nic.Wake(nic.InputCycle());
  nic.Pause(nic.options_.access_cycles);
}

// --- Outputs of the core

void VireoNic::OnBarRead(Cycle, uint64_t data) { PutOnBus({.kind = BusItem::Kind::kBarAnswer, .value = data}); }

void VireoNic::OnCsrRead(Cycle, uint32_t data) {
  csr_answer_ = data;
  is_csr_answered_ = true;
  csr_event_.notify();
}

void VireoNic::OnMessage(Cycle, const model::MsixMessage& message) { messages_.push_back(message); }

void VireoNic::OnFirmwareInterrupt(Cycle from, bool level) {
  interrupts_.emplace_back(from, level);
  Wake(from);
}

// --- One cycle

void VireoNic::Wake(Cycle cycle) {
  if (!is_started_ || cycle >= next_run_) return;
  next_run_ = cycle;
  wake_.notify(Time(clock_.Middle(cycle) - Now()));  // overrides a later one
}

void VireoNic::Step() {
  if (!is_started_) {
    is_started_ = true;
    Plan(0);
    return;
  }
  const Cycle cycle = next_run_;
  next_run_ = model::kUnknown;
  ++run_cycles_;
  RunCycle(cycle);
  Plan(cycle + 1);
}

void VireoNic::Plan(Cycle next) {
  Cycle cycle = model_.next();
  const auto at = [&](Cycle wanted) { cycle = std::min(cycle, wanted); };
  if (!control_changes_.empty()) at(control_changes_.front().first);
  if (!bar_accesses_.empty()) at(bar_accesses_.front()->cycle);
  if (!csr_accesses_.empty()) at(csr_accesses_.front().cycle);
  if (!frames_.empty()) at(std::max(frames_.front().cycle, frame_free_));
  if (!completions_.empty()) at(completions_.begin()->first);
  if (!read_beats_.empty()) at(read_beats_.front().cycle);
  if (!returned_beats_.empty()) at(returned_beats_.begin()->first);
  if (!interrupts_.empty()) at(interrupts_.front().first);
  if (answer_cycle_ != model::kUnknown) at(answer_cycle_);
  if (HasTransmitChange()) at(next);
  // What the core wants to write waits for room, and whose return wakes it.
  const model::DmaWriter& writer = model_.write_port().writer();
  if (writer.BurstCycle() != model::kUnknown && Beats(writer.burst().address, writer.burst().bytes) <= write_room_) {
    at(writer.BurstCycle());
  }
  if (writer.WriteCycle() != model::kUnknown && !writes_.empty()) at(writer.WriteCycle());
  if (cycle != model::kUnknown) Wake(std::max(cycle, next));
}

void VireoNic::RunCycle(Cycle cycle) {
  TakeInputs(cycle);
  OpenBus(cycle);
  model_.Run(cycle);
  TakeBus(cycle);
}

void VireoNic::SetControls(Cycle cycle, const model::PciConfig::Controls& controls) {
  model_.SetControls(cycle, {.bus_master = controls.bus_master,
                             .msix_enable = controls.msix_enable,
                             .msix_mask = controls.msix_mask,
                             .max_payload_size = controls.max_payload_size,
                             .max_read_request_size = controls.max_read_request_size});
}

void VireoNic::TakeInputs(Cycle cycle) {
  while (!control_changes_.empty() && control_changes_.front().first <= cycle) {
    SetControls(cycle, control_changes_.front().second);
    control_changes_.pop_front();
  }
  while (!interrupts_.empty() && interrupts_.front().first <= cycle) {
    interrupt_ = interrupts_.front().second;
    interrupts_.pop_front();
    if (interrupt_) interrupt_event_.notify();
  }
  while (!returned_beats_.empty() && returned_beats_.begin()->first <= cycle) {
    write_room_ += returned_beats_.begin()->second;
    returned_beats_.erase(returned_beats_.begin());
  }
  if (HasTransmitChange()) {
    transmit_ready_ = IsTransmitReady();
    model_.SetTransmitReady(cycle, transmit_ready_);
  }
  // One of each kind in a cycle.
  if (!bar_accesses_.empty() && bar_accesses_.front()->cycle <= cycle) {
    const auto access = std::move(bar_accesses_.front());
    bar_accesses_.pop_front();
    if (access->access.write) {
      access->is_done = true;
      access->done.notify();
    } else {
      bar_reads_.push_back(access);
    }
    model_.OnBar(cycle, access->access);
  }
  if (!csr_accesses_.empty() && csr_accesses_.front().cycle <= cycle) {
    const CsrAccess& access = csr_accesses_.front();
    model_.OnCsr(cycle, access.write, access.address, access.data);
    csr_accesses_.pop_front();
  }
  if (!frames_.empty() && std::max(frames_.front().cycle, frame_free_) <= cycle) {
    const Frame& frame = frames_.front().frame;
    frame_free_ = cycle + Beats(0, frame.bytes.size());
    model_.OnFrame(cycle, frame_free_ - 1, frame.bytes, frame.bad_fcs);
    frames_.pop_front();
  }
  MakeReadBeats(cycle);
  if (!read_beats_.empty() && read_beats_.front().cycle <= cycle) {
    const ReadBeat& beat = read_beats_.front();
    model_.read_port().OnReadBeat(cycle, beat.id, beat.data, beat.resp, beat.last);
    read_beats_.pop_front();
  }
  if (answer_cycle_ <= cycle) {
    answer_cycle_ = model::kUnknown;
    // Writes are posted: how they end, nobody tells the device.
    model_.write_port().OnAnswer(cycle, model::AxiResp::kOkay);
  }
}

void VireoNic::MakeReadBeats(Cycle cycle) {
  while (!completions_.empty() && completions_.begin()->first <= cycle) {
    const Completion& completion = completions_.begin()->second;
    const auto& [id, address, bytes, beats] = completion.burst;
    const bool failed = completion.data.empty();
    uint32_t done = 0;
    for (uint32_t beat = 0; beat < beats; ++beat) {
      std::vector<uint8_t> data(beat_bytes_);
      const auto lane = static_cast<uint32_t>((address + done) % beat_bytes_);
      const uint32_t count = std::min(beat_bytes_ - lane, bytes - done);
      if (!failed) std::copy_n(completion.data.begin() + done, count, data.begin() + lane);
      done += count;
      const Cycle on_bus = std::max(cycle, read_free_);
      read_free_ = on_bus + 1;
      read_beats_.push_back(
          {on_bus, id, std::move(data), failed ? model::AxiResp::kSlverr : model::AxiResp::kOkay, beat + 1 == beats});
    }
    completions_.erase(completions_.begin());
  }
}

void VireoNic::OpenBus(Cycle cycle) {
  const model::DmaWriter& writer = model_.write_port().writer();
  write_bursts_.SetOpen(
      cycle, writer.BurstCycle() <= cycle && Beats(writer.burst().address, writer.burst().bytes) <= write_room_);
}

void VireoNic::TakeBus(Cycle cycle) {
  for (const auto& sent : read_bursts_.sent()) {
    PutOnBus({.kind = BusItem::Kind::kRead, .burst = sent.token});
  }
  read_bursts_.sent().clear();
  // Data follow their address: the buffer's room is taken with it.
  if (model_.write_port().writer().WriteCycle() <= cycle && !writes_.empty() && writes_.front().taken < cycle) {
    OpenWrite& write = writes_.front();
    const model::DmaWriter::WriteBeat beat = model_.write_port().writer().write_beat();
    write.data.insert(write.data.end(), beat.data.begin(), beat.data.end());
    model_.write_port().OnWriteBeatTaken(cycle);
    if (beat.last) {
      const uint32_t beats = Beats(write.address, write.bytes);
      PutOnBus(
          {.kind = BusItem::Kind::kWrite, .address = write.address, .data = std::move(write.data), .beats = beats});
      writes_.pop_front();
      answer_cycle_ = cycle + 1;
    }
  }
  for (const auto& sent : write_bursts_.sent()) {
    writes_.push_back({cycle, sent.token.address, sent.token.bytes, {}});
    write_room_ -= Beats(sent.token.address, sent.token.bytes);
  }
  write_bursts_.sent().clear();
  // Behind the writes of its cycle.
  for (const model::MsixMessage& message : messages_) {
    PutOnBus({.kind = BusItem::Kind::kMessage, .address = message.address, .value = message.data});
  }
  messages_.clear();
}

}  // namespace vireo::platform
