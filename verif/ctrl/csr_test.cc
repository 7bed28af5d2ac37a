// SPDX-License-Identifier: Apache-2.0
// The management registers: RTL and model side by side, and their view by firmware, host and blocks against csr.toml
// and tables.toml.
#include "model/ctrl/csr.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

#include "Vcsr_nic1.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_config.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Csr;
using model::Cycle;
using model::MailboxStatus;
using spec::MgmtInterruptCause;
using spec::MgmtTable;
using spec::MgmtTableOperation;
using spec::QpOperation;

constexpr unsigned kContextOwners = 11;  // of parity_error_i: context_owner_e
constexpr spec::Config kConfig = spec::kNic1;
constexpr uint32_t kQueues = 2 * kConfig.net_queue_pairs + 1 + kConfig.num_cqs + 2 * kConfig.num_qps + 1;

// A pulse of the model, with a value.
struct ModelPulse {
  const char* name;
  Cycle cycle = model::kUnknown;
  uint64_t value = 0;
  std::vector<std::pair<Cycle, uint64_t>> all{};
  void operator()(Cycle now, uint64_t what = 0) {
    cycle = now;
    value = what;
    all.emplace_back(now, what);
  }
  std::string Check(Cycle now, uint64_t rtl_valid, uint64_t rtl_value) const {
    std::string text = Same(name, rtl_valid, cycle == now);
    if (text.empty() && cycle == now) text = Same(name, rtl_value, value);
    return text;
  }
};

struct Access {
  bool write;
  uint16_t address;
  uint32_t data;
};

struct Bench {
  // `used`: of a device that was in use, after its reset.
  explicit Bench(bool used = false) : is_used(used), bench(rtl, agenda, random) {
    if (is_used) Use();
    block.requester_load_out.Connect(requester_sink, block);
    block.responder_load_out.Connect(responder_sink, block);
    block.qp_order_out.Connect(order_sink, block);
    block.host_event_out.Connect(event_sink, block);
    block.on_table_write = [this](Cycle now, const spec::TableWrite& write) { table_write.Tell(now, write); };
    block.on_context_flip = [this](Cycle now, const spec::ContextFlip& flip) { context_flip.Tell(now, flip); };
    block.on_read = [this](Cycle now, uint32_t data) { read(now, data); };
    block.on_reset_done = [this](Cycle now) { reset_done(now); };
    block.on_queue_reset_done = [this](Cycle now, uint16_t index) { queue_reset_done(now, index); };
    block.on_mailbox_fetch = [this](Cycle now, uint32_t offset) { mailbox_fetch(now, offset); };
    block.on_mailbox_complete = [this](Cycle now, uint32_t bytes) { mailbox_complete(now, bytes); };
    block.on_window_write = [this](Cycle now, uint32_t word, uint32_t data) {
      window_write(now, uint64_t{word} << 32 | data);
    };
    block.read_window = [this](Cycle now, uint32_t word) {
      window_read(now, word);
      return window_data = static_cast<uint32_t>(random());
    };
    block.idle = [this] { return p.idle_i != 0; };
    block.quiet = [this] { return p.quiet_i != 0; };
    block.memory_fence = [this](Cycle) { return p.memory_fence_i != 0; };
    block.queue_fence = [this](Cycle) { return p.queue_fence_i != 0; };
    block.dma_outstanding = [this](Cycle) { return p.dma_outstanding_i; };
    block.cq_context_ready = [this](Cycle) { return p.cq_context_ready_i != 0; };
    block.time_ns = [this](Cycle now) { return TimeOf(now); };
  }

  // Writes the last entry of MRs in RTL, and resets it.
  void Use() {
    p.cq_context_ready_i = 1;
    p.csr_valid_i = p.csr_write_i = 1;
    for (const auto& [address, data] :
         {std::pair{spec::kMgmtTableDataRegister, uint32_t{0x5a}},
          std::pair{spec::kMgmtTableIndexRegister, kConfig.num_mrs - 1},
          std::pair{
              spec::kMgmtTableCommandRegister,
              spec::MgmtTableCommand{.table_id = MgmtTable::kMr, .operation = MgmtTableOperation::kWrite}.ToWord()}}) {
      p.csr_address_i = static_cast<uint16_t>(address);
      p.csr_data_i = data;
      rtl.Clock();
    }
    p.csr_valid_i = 0;
    for (int i = 0; i < 20; ++i) rtl.Clock();
    rtl.Reset();
  }

  const bool is_used;
  std::mt19937_64 random = sim::MakeRandom("csr");
  Agenda agenda;
  Csr block{agenda, kConfig, is_used};
  Channel<spec::QpLoad> requester_sink = Channel<spec::QpLoad>::Sink();
  Channel<spec::QpLoad> responder_sink = Channel<spec::QpLoad>::Sink();
  Channel<spec::QpOrder> order_sink = Channel<spec::QpOrder>::Sink();
  Channel<spec::HostEvent> event_sink = Channel<spec::HostEvent>::Sink();
  RtlTop<Vcsr_nic1> rtl{[](const Vcsr_nic1& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.csr_read_valid_o,
                           top.firmware_interrupt_o,
                           top.queue_reset_ready_o,
                           top.queue_reset_done_valid_o,
                           top.reset_done_o,
                           top.firmware_ready_o,
                           top.profile_o,
                           top.link_up_o,
                           top.announce_o,
                           top.needs_reset_o,
                           top.datapath_enable_o,
                           top.pause_o,
                           top.table_write_valid_o,
                           top.context_flip_valid_o,
                           top.requester_load_valid_o,
                           top.responder_load_valid_o,
                           top.qp_order_valid_o,
                           top.host_event_valid_o,
                           top.mailbox_fetch_valid_o,
                           top.mailbox_complete_valid_o,
                           top.window_write_valid_o,
                           top.window_read_valid_o,
                           top.window_write_word_o,
                           top.window_read_word_o,
                           top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      for (const auto byte : BytesOf(port)) bytes.push_back(byte);
    };
    add(top.csr_read_data_o);
    add(top.queue_reset_done_o);
    add(top.mac_o);
    add(top.mtu_o);
    add(top.rx_mode_o);
    add(top.active_pairs_o);
    add(top.table_write_o);
    add(top.context_flip_o);
    add(top.requester_load_o);
    add(top.responder_load_o);
    add(top.qp_order_o);
    add(top.host_event_o);
    add(top.mailbox_fetch_o);
    add(top.mailbox_complete_o);
    add(top.window_write_data_o);
  }};
  BlockBench<Vcsr_nic1> bench;
  Vcsr_nic1& p = rtl.ports();

  // --- Outside of the block
  std::deque<Access> accesses;
  unsigned access_rate = 16;
  uint64_t time_start = 0xfffffff0;
  uint64_t TimeOf(Cycle now) const { return time_start + 4 * now; }
  bool link = false, idle = true, quiet = true, memory_fence = false, queue_fence = false;
  bool device_reset = false, features_written = false, driver_ok = false, qp_done = false, drain_done = false;
  bool tx_frame = false, rx_drop = false, retransmission = false, window_violation = false;
  bool net_rx_filtered = false;
  uint8_t net_rx_drop = 0, net_tx_drop = 0;  // a bit per source
  uint16_t dma_outstanding = 0;
  bool cq_context_ready = true;
  uint8_t dma_error = 0;
  uint16_t parity_error = 0;  // a bit per owner
  std::optional<uint8_t> rx_verdict;
  uint8_t device_status = 0;
  std::array<uint32_t, 4> features{};
  MailboxStatus mailbox, told_mailbox;
  uint32_t window_data = 0;
  std::function<void()> choose = [] {};  // in random traffic

  ModelPulse read{"read"}, reset_done{"reset_done"}, queue_reset_done{"queue_reset_done"},
      mailbox_fetch{"mailbox_fetch"};
  ModelPulse mailbox_complete{"mailbox_complete"}, window_write{"window_write"}, window_read{"window_read"};
  Cycle last_access = 0;

  Probe outside{[this](Cycle now) { return Begin(now); }, [this](Cycle now) { return End(now); }};
  OutPulse<spec::TableWrite, decltype(p.table_write_valid_o), decltype(p.table_write_o)> table_write{
      "table_write", p.table_write_valid_o, p.table_write_o};
  // Before all others, so that idle is compared before the cycle's tokens are passed to the model.
  OutPulse<spec::ContextFlip, decltype(p.context_flip_valid_o), decltype(p.context_flip_o)> context_flip{
      "context_flip", p.context_flip_valid_o, p.context_flip_o};
  bool added = (bench.AddOther(outside), bench.AddOther(table_write), bench.AddOther(context_flip), true);

  std::string Begin(Cycle now) {
    std::string text = Same("idle", p.idle_o, now == 0 ? !is_used : block.IsIdle(now - 1));
    choose();
    p.time_ns_i = TimeOf(now);
    p.idle_i = idle;
    p.quiet_i = quiet;
    p.memory_fence_i = memory_fence;
    p.queue_fence_i = queue_fence;
    p.dma_outstanding_i = dma_outstanding;
    p.cq_context_ready_i = cq_context_ready;
    p.mac_link_i = link;
    block.SetMacLink(now, link);
    p.device_status_i = device_status;
    block.SetDeviceStatus(now, device_status);
    std::memcpy(BytesOf(p.driver_features_i).data(), features.data(), sizeof(features));
    block.SetDriverFeatures(now, features);
    p.window_read_data_i = window_read.cycle + 1 == now ? window_data : static_cast<uint32_t>(random());
    const auto pulse = [&](auto& port, bool& flag, auto tell) {
      port = flag;
      if (std::exchange(flag, false)) tell();
    };
    pulse(p.device_reset_i, device_reset, [&] { block.OnDeviceReset(now); });
    pulse(p.features_written_i, features_written, [&] { block.OnFeaturesWritten(now); });
    pulse(p.driver_ok_i, driver_ok, [&] { block.OnDriverOk(now); });
    p.qp_done_i = drain_done;
    pulse(p.qp_done_valid_i, qp_done, [&] { block.OnQpDone(now, {.is_drain = drain_done}); });
    pulse(p.tx_frame_i, tx_frame, [&] { block.OnTxFrame(now); });
    pulse(p.rx_drop_i, rx_drop, [&] { block.OnRxDrop(now); });
    pulse(p.retransmission_i, retransmission, [&] { block.OnRetransmission(now); });
    pulse(p.window_violation_i, window_violation, [&] { block.OnWindowViolation(now); });
    pulse(p.net_rx_filtered_i, net_rx_filtered, [&] { block.OnNetRxFiltered(now); });
    const auto pulses = [&](auto& port, uint8_t& bits, auto tell) {
      port = bits;
      for (int bit = 0; bit < 2; ++bit) {
        if ((bits >> bit & 1) != 0) tell();
      }
      bits = 0;
    };
    p.parity_error_i = static_cast<std::remove_reference_t<decltype(p.parity_error_i)>>(parity_error);
    if (std::exchange(parity_error, 0) != 0) block.OnParityError(now);
    pulses(p.dma_error_i, dma_error, [&] { block.OnDmaError(now); });
    pulses(p.net_rx_drop_i, net_rx_drop, [&] { block.OnNetRxDrop(now); });
    pulses(p.net_tx_drop_i, net_tx_drop, [&] { block.OnNetTxDrop(now); });
    p.rx_verdict_valid_i = rx_verdict.has_value();
    p.rx_verdict_i = rx_verdict ? *rx_verdict : static_cast<uint8_t>(random() & 15);
    if (rx_verdict) block.OnRxVerdict(now, static_cast<spec::RxVerdict>(*rx_verdict));
    rx_verdict.reset();
    p.mailbox_request_i = mailbox.request;
    p.mailbox_busy_i = mailbox.busy;
    p.mailbox_dma_error_i = mailbox.dma_error;
    p.mailbox_request_bytes_i = mailbox.request_bytes;
    p.mailbox_response_bytes_i = mailbox.response_bytes;
    if (!(mailbox == told_mailbox)) block.OnMailboxStatus(now, told_mailbox = mailbox);

    p.csr_valid_i = !accesses.empty() && random() % 16 < access_rate;
    p.csr_write_i = static_cast<uint8_t>(random() & 1);
    p.csr_address_i = static_cast<uint16_t>(random() & 0xfff);
    p.csr_data_i = static_cast<uint32_t>(random());
    if (p.csr_valid_i) {
      const Access access = accesses.front();
      accesses.pop_front();
      p.csr_write_i = access.write;
      p.csr_address_i = access.address;
      p.csr_data_i = access.data;
      block.OnAccess(now, access.write, access.address, access.data);
      last_access = now;
    }
    return text;
  }
  std::string End(Cycle now) {
    const auto& settings = block.SettingsAt(now);
    for (const auto& text : {
             read.Check(now, p.csr_read_valid_o, p.csr_read_data_o),
             reset_done.Check(now, p.reset_done_o, 0),
             queue_reset_done.Check(now, p.queue_reset_done_valid_o, p.queue_reset_done_o),
             mailbox_fetch.Check(now, p.mailbox_fetch_valid_o, p.mailbox_fetch_o),
             mailbox_complete.Check(now, p.mailbox_complete_valid_o, p.mailbox_complete_o),
             window_write.Check(now, p.window_write_valid_o,
                                uint64_t{p.window_write_word_o} << 32 | p.window_write_data_o),
             window_read.Check(now, p.window_read_valid_o, p.window_read_word_o),
             Same("firmware_interrupt", p.firmware_interrupt_o, block.FirmwareInterruptAt(now)),
             Same("firmware_ready", p.firmware_ready_o, settings.firmware_ready),
             Same("profile", p.profile_o, settings.profile),
             Same("link_up", p.link_up_o, settings.link_up),
             Same("announce", p.announce_o, settings.announce),
             Same("datapath_enable", p.datapath_enable_o, settings.datapath_enable),
             Same("pause", p.pause_o, settings.pause),
             Same("rx_mode", p.rx_mode_o, settings.rx_mode.ToWord()),
             Same("active_pairs", p.active_pairs_o, settings.active_pairs),
             Same("needs_reset", p.needs_reset_o, settings.needs_reset),
             Same("mac", p.mac_o, settings.mac),
             Same("mtu", p.mtu_o, settings.mtu),
         }) {
      if (!text.empty()) return text;
    }
    return {};
  }

  decltype(bench.In("queue_reset", block.queue_reset_in, p.queue_reset_valid_i, p.queue_reset_ready_o,
                    p.queue_reset_i)) queue_reset =
      bench.In("queue_reset", block.queue_reset_in, p.queue_reset_valid_i, p.queue_reset_ready_o, p.queue_reset_i);
// A declarator cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define VIREO_OUT(name, sink)                                                             \
  decltype(bench.Out(#name, sink, p.name##_valid_o, p.name##_ready_i, p.name##_o)) name = \
      bench.Out(#name, sink, p.name##_valid_o, p.name##_ready_i, p.name##_o)
  // NOLINTEND(bugprone-macro-parentheses)
  VIREO_OUT(requester_load, requester_sink);
  VIREO_OUT(responder_load, responder_sink);
  VIREO_OUT(qp_order, order_sink);
  VIREO_OUT(host_event, event_sink);
#undef VIREO_OUT
  decltype(bench.Pulse<spec::QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i, {})) row_write =
      bench.Pulse<spec::QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i,
                                       [this](Cycle now, const auto& row) { block.OnQueueRowWrite(now, row); });
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) state_write =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle now, const auto& write) { block.OnQpStateWrite(now, write); });
  decltype(bench.Pulse<spec::QpSends>(p.qp_sends_valid_i, p.qp_sends_i, {})) qp_sends = bench.Pulse<spec::QpSends>(
      p.qp_sends_valid_i, p.qp_sends_i, [this](Cycle now, const auto& sends) { block.OnQpSends(now, sends); });
  decltype(bench.Pulse<spec::QpPsn>(p.next_psn_valid_i, p.next_psn_i, {})) next_psn = bench.Pulse<spec::QpPsn>(
      p.next_psn_valid_i, p.next_psn_i, [this](Cycle now, const auto& psn) { block.OnNextPsn(now, psn); });
  decltype(bench.Pulse<spec::QpPsn>(p.expected_psn_valid_i, p.expected_psn_i, {})) expected_psn =
      bench.Pulse<spec::QpPsn>(p.expected_psn_valid_i, p.expected_psn_i,
                               [this](Cycle now, const auto& psn) { block.OnExpectedPsn(now, psn); });
  decltype(bench.Pulse<spec::MrBinding>(p.mr_binding_valid_i, p.mr_binding_i, {})) mr_binding =
      bench.Pulse<spec::MrBinding>(p.mr_binding_valid_i, p.mr_binding_i,
                                   [this](Cycle now, const auto& binding) { block.OnMrBinding(now, binding); });

  // --- Firmware
  void Run(uint64_t cycles) { ASSERT_EQ(bench.Run(cycles), ""); }
  uint32_t Read(uint32_t address) {
    accesses.push_back({false, static_cast<uint16_t>(address), 0});
    const size_t answers = read.all.size();
    for (int i = 0; i < 20 && read.all.size() == answers; ++i) Run(1);
    EXPECT_EQ(read.all.size(), answers + 1);
    return static_cast<uint32_t>(read.all.back().second);
  }
  void Write(uint32_t address, uint32_t data) {
    accesses.push_back({true, static_cast<uint16_t>(address), data});
    Run(1);
  }
  template <typename T>
  T Get(uint32_t address) {
    return T::FromWord(Read(address));
  }
  MgmtInterruptCause Cause() { return Get<MgmtInterruptCause>(spec::kMgmtInterruptCauseRegister); }
  void ClearCause() {
    Write(spec::kMgmtInterruptCauseRegister, 0xff & ~MgmtInterruptCause{.device_reset = true}.ToWord());
  }
  // True: done.
  bool Table(uint32_t table, uint32_t index, uint32_t operation) {
    Write(spec::kMgmtTableIndexRegister, index);
    Write(spec::kMgmtTableCommandRegister, table | operation << 8);
    spec::MgmtTableCommand command;
    for (int i = 0; i < 50; ++i) {
      command = Get<spec::MgmtTableCommand>(spec::kMgmtTableCommandRegister);
      if (!command.busy) break;
    }
    EXPECT_FALSE(command.busy);
    EXPECT_EQ(command.table_id, static_cast<MgmtTable>(table));
    EXPECT_EQ(command.operation, static_cast<MgmtTableOperation>(operation));
    return !command.error;
  }
  bool Table(MgmtTable table, uint32_t index, MgmtTableOperation operation) {
    return Table(static_cast<uint32_t>(table), index, static_cast<uint32_t>(operation));
  }
  std::vector<uint8_t> TableData() {
    std::vector<uint8_t> bytes;
    for (uint32_t word = 0; word < 32; ++word) {
      const uint32_t data = Read(spec::kMgmtTableDataRegister + 4 * word);
      for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(data >> (8 * i)));
    }
    return bytes;
  }
  void SetTableData(const std::vector<uint8_t>& bytes) {
    for (uint32_t word = 0; word < bytes.size() / 4; ++word) {
      uint32_t data;
      std::memcpy(&data, &bytes[4 * word], 4);
      Write(spec::kMgmtTableDataRegister + 4 * word, data);
    }
  }
  template <typename Entry>
  void WriteEntry(MgmtTable table, uint32_t index, const Entry& entry) {
    std::vector<uint8_t> bytes(Entry::kBytes);
    entry.Encode(bytes.data());
    SetTableData(bytes);
    ASSERT_TRUE(Table(table, index, MgmtTableOperation::kWrite));
  }
  template <typename Entry>
  Entry ReadEntry(MgmtTable table, uint32_t index) {
    EXPECT_TRUE(Table(table, index, MgmtTableOperation::kRead));
    return Entry::Decode(TableData().data());
  }
};

// --- Registers -------------------------------------------------------------------------------------------------------

TEST(Csr, RegistersHaveTheirResetValues) {
  Bench bench;
  bench.idle = bench.quiet = false;
  for (const auto& info : spec::kMgmtRegisters) {
    for (uint32_t i = 0; i < info.count; ++i) {
      const uint32_t address = info.offset + 4 * i;
      if (info.offset == spec::kMgmtTimeLowRegister || info.offset == spec::kMgmtTimeHighRegister ||
          info.offset == spec::kMgmtParameterRegister || info.offset == spec::kMgmtMailboxDataRegister) {
        continue;
      }
      EXPECT_EQ(bench.Read(address), info.has_reset ? info.reset : 0) << info.name;
    }
  }
}

TEST(Csr, ParametersMatchTheConfiguration) {
  Bench bench;
  constexpr uint32_t kCount = std::size(spec::kParameterInfo), kRegisters = 64;
  static_assert(kCount <= kRegisters);
  for (uint32_t i = 0; i < kRegisters; ++i) {
    EXPECT_EQ(bench.Read(spec::kMgmtParameterRegister + 4 * i),
              i < kCount ? kConfig.*spec::kParameterInfo[i].member : 0)
        << i;
  }
}

TEST(Csr, OnlyWritableFieldsChange) {
  const std::map<uint32_t, uint32_t> masks = {
      {spec::kMgmtAbiProfileRegister, 1},   {spec::kMgmtScratchRegister, ~0u},
      {spec::kMgmtControlRegister, 0x1e},   {spec::kMgmtInterruptEnableRegister, 0xff},
      {spec::kMgmtTableIndexRegister, ~0u}, {spec::kMgmtFlipEntryRegister, ~0u},
      {spec::kMgmtTableDataRegister, ~0u},  {spec::kMgmtEventDataRegister, ~0u},
      {spec::kMgmtMacLowRegister, ~0u},     {spec::kMgmtMacHighRegister, 0xffff},
      {spec::kMgmtRxModeRegister, 0x7f},    {spec::kMgmtActiveQueuePairsRegister, 0xffff},
      {spec::kMgmtMtuRegister, 0xffff},
  };
  Bench bench;
  for (uint32_t address = 0; address < spec::kMgmtBytes; address += 4) {
    const spec::RegisterInfo* found = nullptr;
    for (const auto& info : spec::kMgmtRegisters) {
      if (address >= info.offset && address < info.offset + 4 * info.count) found = &info;
    }
    if (found != nullptr &&
        (found->offset == spec::kMgmtTableCommandRegister || found->offset == spec::kMgmtQpCommandRegister ||
         found->offset == spec::kMgmtMailboxDataRegister || found->offset == spec::kMgmtTimeLowRegister ||
         found->offset == spec::kMgmtTimeHighRegister)) {
      continue;
    }
    const uint32_t before = bench.Read(address);
    const auto data = static_cast<uint32_t>(bench.random()) & ~1u;  // firmware_ready and profile stay
    for (const uint32_t off : {1u, 2u, 3u}) bench.Write(address + off, ~data);
    EXPECT_EQ(bench.Read(address), before) << address;
    bench.Write(address, data);
    const auto mask = found == nullptr ? masks.end() : masks.find(found->offset);
    const uint32_t after = bench.Read(address);
    if (mask == masks.end()) {
      EXPECT_EQ(after, before) << address;
    } else {
      EXPECT_EQ(after, data & mask->second) << address;
    }
    EXPECT_EQ(bench.Read(address + 1), 0u);
  }
  EXPECT_EQ(bench.p.mtu_o, bench.Read(spec::kMgmtMtuRegister));
  EXPECT_EQ(bench.p.mac_o,
            uint64_t{bench.Read(spec::kMgmtMacHighRegister)} << 32 | bench.Read(spec::kMgmtMacLowRegister));
}

TEST(Csr, ProfileChangesOnlyDuringDeviceReset) {
  Bench bench;
  bench.device_status = 1;
  bench.Write(spec::kMgmtAbiProfileRegister, 0);
  EXPECT_EQ(bench.Read(spec::kMgmtAbiProfileRegister), 1u);
  bench.device_status = 0;
  bench.Write(spec::kMgmtAbiProfileRegister, 0);
  EXPECT_EQ(bench.Read(spec::kMgmtAbiProfileRegister), 0u);
  EXPECT_EQ(bench.p.profile_o, 0);
}

TEST(Csr, TimeHalvesAreConsistent) {
  Bench bench;
  bench.time_start = 0xffffffffull - 60;
  for (int i = 0; i < 10; ++i) {
    const uint64_t low = bench.Read(spec::kMgmtTimeLowRegister);
    const Cycle answered = bench.read.all.back().first;
    bench.Run(7);
    const uint64_t high = bench.Read(spec::kMgmtTimeHighRegister);
    EXPECT_EQ(high << 32 | low, bench.TimeOf(answered - 1));
  }
}

TEST(Csr, StatusAndFeaturesFollowTheInputs) {
  Bench bench;
  bench.idle = true;
  bench.link = true;
  bench.device_status = 0x8f;
  bench.dma_outstanding = 0x1234;
  for (auto& word : bench.features) word = static_cast<uint32_t>(bench.random());
  bench.mailbox = {.request = true, .busy = true, .dma_error = true, .request_bytes = 77, .response_bytes = 88};
  const auto status = bench.Get<spec::MgmtStatus>(spec::kMgmtStatusRegister);
  EXPECT_EQ(status,
            (spec::MgmtStatus{
                .idle = true, .mac_link = true, .quiet = true, .device_status = 0x8f, .dma_outstanding = 0x1234}));
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bench.Read(spec::kMgmtDriverFeaturesRegister + 4 * i), bench.features[i]);
  }
  EXPECT_EQ(bench.Get<spec::MgmtMailboxStatus>(spec::kMgmtMailboxStatusRegister),
            (spec::MgmtMailboxStatus{.request = true, .busy = true, .dma_error = true}));
  EXPECT_EQ(bench.Read(spec::kMgmtMailboxRequestBytesRegister), 77u);
  EXPECT_EQ(bench.Read(spec::kMgmtMailboxResponseBytesRegister), 88u);
}

TEST(Csr, MailboxRegistersReachTheMailbox) {
  Bench bench;
  bench.Write(spec::kMgmtMailboxFetchRegister, 1000);
  bench.Write(spec::kMgmtMailboxCompleteRegister, 12);
  bench.Write(spec::kMgmtMailboxDataRegister + 4 * 127, 0x12345678);
  EXPECT_EQ(bench.Read(spec::kMgmtMailboxDataRegister + 4 * 5), bench.window_data);
  ASSERT_EQ(bench.mailbox_fetch.all.size(), 1u);
  EXPECT_EQ(bench.mailbox_fetch.all[0].second, 1000u);
  ASSERT_EQ(bench.mailbox_complete.all.size(), 1u);
  EXPECT_EQ(bench.mailbox_complete.all[0].second, 12u);
  ASSERT_EQ(bench.window_write.all.size(), 1u);
  EXPECT_EQ(bench.window_write.all[0].second, uint64_t{127} << 32 | 0x12345678);
  ASSERT_EQ(bench.window_read.all.size(), 1u);
  EXPECT_EQ(bench.window_read.all[0].second, 5u);
}

TEST(Csr, CountersCountAndClearOnRead) {
  Bench bench;
  std::array<uint32_t, 24> expected{};
  const auto address = [](uint32_t i) {
    return i < 16 ? spec::kMgmtRxVerdictCountRegister + 4 * i : spec::kMgmtTxFramesRegister + 4 * (i - 16);
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 500; ++i) {
      auto& random = bench.random;
      if (random() % 2 != 0) ++expected[*(bench.rx_verdict = random() % 16)];
      if ((bench.tx_frame = random() % 2)) ++expected[16];
      if ((bench.rx_drop = random() % 2)) ++expected[17];
      if ((bench.retransmission = random() % 2)) ++expected[18];
      const auto choose = [&](uint8_t& sources, size_t counter) {
        sources = static_cast<uint8_t>(random() % 4);
        expected.at(counter) += static_cast<uint32_t>(std::popcount(sources));
      };
      choose(bench.dma_error, 19);
      if ((bench.window_violation = random() % 2)) ++expected[20];
      if ((bench.net_rx_filtered = random() % 2)) ++expected[21];
      choose(bench.net_rx_drop, 22);
      choose(bench.net_tx_drop, 23);
      bench.Run(1);
    }
    for (uint32_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(bench.Read(address(i)), expected[i]) << i;
      EXPECT_EQ(bench.Read(address(i)), 0u) << i;
    }
    expected = {};
  }
  // No event is lost to a read in the same cycle.
  uint32_t total = 0;
  for (int i = 0; i < 100; ++i) {
    bench.tx_frame = true;
    if (i % 3 == 0) bench.accesses.push_back({false, static_cast<uint16_t>(spec::kMgmtTxFramesRegister), 0});
    bench.Run(1);
  }
  const size_t first = bench.read.all.size();
  total = bench.Read(spec::kMgmtTxFramesRegister);
  for (size_t i = bench.read.all.size() - 1; i > 0 && bench.read.all.size() - i <= 34; --i) {
    total += static_cast<uint32_t>(bench.read.all[i - 1].second);
  }
  EXPECT_GE(first, 30u);
  EXPECT_EQ(total, 100u);
}

// --- Interrupts, resets of the device --------------------------------------------------------------------------------

TEST(Csr, EnabledCauseRaisesInterruptUntilCleared) {
  Bench bench;
  const std::vector<std::pair<MgmtInterruptCause, std::function<void()>>> causes = {
      {{.mailbox_request = true}, [&] { bench.mailbox.request = true; }},
      {{.features_written = true}, [&] { bench.features_written = true; }},
      {{.driver_ok = true}, [&] { bench.driver_ok = true; }},
      {{.queue_reset = true}, [&] { bench.queue_reset.tokens.push_back({7}); }},
      {{.link_change = true}, [&] { bench.link = true; }},
      {{.link_change = true}, [&] { bench.link = false; }},
      {{.qp_done = true}, [&] { bench.qp_done = true; }},
      {{.fatal = true}, [&] { bench.parity_error = 1; }},
      {{.device_reset = true}, [&] { bench.device_reset = true; }},
  };
  for (const auto& [cause, raise] : causes) {
    bench.Write(spec::kMgmtInterruptEnableRegister, 0);
    raise();
    bench.Run(6);
    EXPECT_EQ(bench.Cause(), cause);
    EXPECT_FALSE(bench.p.firmware_interrupt_o);
    bench.Write(spec::kMgmtInterruptEnableRegister, cause.ToWord());
    bench.Run(4);
    EXPECT_TRUE(bench.p.firmware_interrupt_o);
    bench.Write(spec::kMgmtInterruptEnableRegister, 0xff & ~cause.ToWord());
    bench.Run(4);
    EXPECT_FALSE(bench.p.firmware_interrupt_o);
    bench.Write(spec::kMgmtInterruptCauseRegister, ~cause.ToWord());
    EXPECT_EQ(bench.Cause(), cause);
    bench.Write(spec::kMgmtInterruptCauseRegister, cause.ToWord());
    EXPECT_EQ(bench.Cause(), MgmtInterruptCause{});
  }
  // A command that stays is reported once, the next one again.
  bench.mailbox.request = false;
  bench.Run(3);
  bench.mailbox.request = true;
  EXPECT_TRUE((bench.Run(3), bench.Cause().mailbox_request));
}

TEST(Csr, DeviceResetIsDoneWhenItsCauseIsCleared) {
  Bench bench;
  bench.ClearCause();
  bench.Write(spec::kMgmtInterruptCauseRegister, MgmtInterruptCause{.device_reset = true}.ToWord());
  bench.Run(5);
  EXPECT_TRUE(bench.reset_done.all.empty());  // there was none
  bench.queue_reset.tokens.push_back({3});
  bench.Run(5);
  bench.device_reset = true;
  bench.queue_reset.tokens.push_back({4});
  bench.Run(10);
  EXPECT_TRUE(bench.Cause().device_reset);
  EXPECT_EQ(bench.Read(spec::kMgmtQueueResetIndexRegister), 0u);  // discarded
  bench.Write(spec::kMgmtInterruptCauseRegister, 0xff);
  bench.Run(5);
  ASSERT_EQ(bench.reset_done.all.size(), 1u);
  EXPECT_EQ(bench.Cause(), MgmtInterruptCause{});
  EXPECT_TRUE(bench.queue_reset_done.all.empty());
}

TEST(Csr, QueueResetsAreReportedOneByOne) {
  Bench bench;
  bench.queue_reset.tokens = {{11}, {12}, {11}};
  bench.Run(10);
  for (const uint32_t index : {11u, 12u, 11u}) {
    EXPECT_TRUE(bench.Cause().queue_reset);
    bench.ClearCause();
    EXPECT_FALSE(bench.Cause().queue_reset);  // once for each
    EXPECT_EQ(bench.Read(spec::kMgmtQueueResetIndexRegister), index);
    const size_t done = bench.queue_reset_done.all.size();
    for (const uint32_t wrong : {13u, index + 0x10000}) bench.Write(spec::kMgmtQueueResetDoneRegister, wrong);
    bench.Run(5);
    EXPECT_EQ(bench.queue_reset_done.all.size(), done);
    bench.Write(spec::kMgmtQueueResetDoneRegister, index);
    bench.Run(5);
    ASSERT_EQ(bench.queue_reset_done.all.size(), done + 1);
    EXPECT_EQ(bench.queue_reset_done.all.back().second, index);
  }
  EXPECT_FALSE(bench.Cause().queue_reset);
  bench.Write(spec::kMgmtQueueResetDoneRegister, 11);
  bench.Run(5);
  EXPECT_EQ(bench.queue_reset_done.all.size(), 3u);
}

TEST(Csr, FirstFatalCauseStaysUntilDeviceReset) {
  using spec::FatalCause;
  for (const FatalCause cause : {FatalCause::kFirmware, FatalCause::kMemory}) {
    Bench bench;
    const auto give_up = [&] {
      bench.Write(spec::kMgmtControlRegister, spec::MgmtControl{.firmware_ready = true}.ToWord());
      bench.Write(spec::kMgmtControlRegister, 0);
      bench.Run(5);
    };
    const auto corrupt = [&] {
      bench.parity_error = static_cast<uint16_t>(1 << bench.random() % kContextOwners);
      bench.Run(5);
    };
    EXPECT_FALSE(bench.p.needs_reset_o);
    if (cause == FatalCause::kFirmware) give_up();
    if (cause == FatalCause::kMemory) corrupt();
    EXPECT_TRUE(bench.p.needs_reset_o);
    EXPECT_EQ(bench.p.pause_o, cause == FatalCause::kMemory);
    EXPECT_TRUE(bench.Cause().fatal);
    bench.ClearCause();
    give_up();
    corrupt();
    EXPECT_FALSE(bench.Cause().fatal);
    EXPECT_EQ(bench.Read(spec::kMgmtFatalCauseRegister), static_cast<uint32_t>(cause));
    bench.device_reset = true;
    bench.Run(3);
    EXPECT_TRUE(bench.p.needs_reset_o);
    EXPECT_FALSE(bench.p.pause_o);
    bench.Write(spec::kMgmtInterruptCauseRegister, 0xff);
    bench.Run(5);
    EXPECT_FALSE(bench.p.needs_reset_o);
    EXPECT_EQ(bench.Read(spec::kMgmtFatalCauseRegister), 0u);
  }
}

// --- Tables ----------------------------------------------------------------------------------------------------------

struct TableInfo {
  MgmtTable table;
  uint32_t entries;
  uint32_t bytes;  // that are read back; of rss those of entry 0, others are not
};
constexpr TableInfo kTables[] = {
    {MgmtTable::kVirtqueue, kQueues, 24},
    {MgmtTable::kWindow, kQueues, 0},
    {MgmtTable::kQpContext, kConfig.num_qps, 80},
    {MgmtTable::kCqContext, kConfig.num_cqs, 8},
    {MgmtTable::kMr, kConfig.num_mrs, 32},
    {MgmtTable::kTranslation, kConfig.num_translations, 0},
    {MgmtTable::kAh, kConfig.num_ahs, 8},
    {MgmtTable::kGid, kConfig.num_gids, 24},
    {MgmtTable::kMacFilter, 64, 0},
    {MgmtTable::kVlanFilter, 128, 8},
    {MgmtTable::kRss, 5, 56},
};
uint32_t BytesRead(const TableInfo& info, uint32_t index) {
  return info.table == MgmtTable::kRss && index != 0 ? 0 : info.bytes;
}

TEST(Csr, TableWriteIsBroadcastAndWhatIsKeptIsReadBack) {
  Bench bench;
  for (const auto& info : kTables) {
    for (const uint32_t index : {0u, info.entries / 2, info.entries - 1}) {
      const uint32_t bytes = BytesRead(info, index);
      std::vector<uint8_t> entry(128);
      for (auto& byte : entry) byte = static_cast<uint8_t>(bench.random());
      bench.SetTableData(entry);
      bench.table_write.sent.clear();
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kWrite));
      ASSERT_EQ(bench.table_write.sent.size(), 1u);
      const auto table_write = bench.table_write.sent[0].second;
      EXPECT_EQ(table_write.table_id, info.table);
      EXPECT_EQ(table_write.index, index);
      EXPECT_EQ(std::memcmp(table_write.data, entry.data(), entry.size()), 0);

      auto expected = entry;
      std::fill(expected.begin() + bytes, expected.end(), uint8_t{0});
      // Bits that only request an action read 0.
      if (info.table == MgmtTable::kVirtqueue) expected[1] &= 0xfd;
      if (info.table == MgmtTable::kQpContext) expected[3] &= 0xf3;
      if (info.table == MgmtTable::kCqContext) expected[0] &= 0xf1;
      bench.SetTableData(std::vector<uint8_t>(128, 0xee));
      if (bytes != 0) {
        ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kRead));
        EXPECT_EQ(bench.TableData(), expected) << spec::ToString(info.table) << " " << index;
      } else {
        EXPECT_FALSE(bench.Table(info.table, index, MgmtTableOperation::kRead));
        EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128, 0xee)) << spec::ToString(info.table) << " " << index;
      }
      EXPECT_EQ(bench.table_write.sent.size(), 1u);

      // The next entry is independent.
      if (index + 1 < info.entries && BytesRead(info, index + 1) != 0) {
        ASSERT_TRUE(bench.Table(info.table, index + 1, MgmtTableOperation::kRead));
        EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128));
      }
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kClear));
      ASSERT_EQ(bench.table_write.sent.size(), 2u);
      EXPECT_EQ(bench.table_write.sent[1].second, (spec::TableWrite{.table_id = info.table, .index = index}));
      EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128));
      if (bytes == 0) continue;
      bench.SetTableData(std::vector<uint8_t>(128, 0xee));
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kRead));
      EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128));
    }
  }
}

// Entries of all tables are in one memory: each is there beside all others.
TEST(Csr, EveryKeptEntryHasItsOwnPlace) {
  Bench bench;
  std::map<std::pair<MgmtTable, uint32_t>, std::vector<uint8_t>> written;
  for (const auto& info : kTables) {
    for (uint32_t index = 0; index < std::min(info.entries, 20u) && BytesRead(info, index) != 0; ++index) {
      std::vector<uint8_t> entry(128);
      for (uint32_t i = 0; i < info.bytes; ++i) entry[i] = static_cast<uint8_t>(bench.random());
      if (info.table == MgmtTable::kVirtqueue) entry[1] &= 0xfd;
      if (info.table == MgmtTable::kQpContext) entry[3] &= 0xf3;
      if (info.table == MgmtTable::kCqContext) entry[0] &= 0xf1;
      bench.SetTableData(entry);
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kWrite));
      written[{info.table, index}] = entry;
    }
  }
  for (const auto& [key, entry] : written) {
    ASSERT_TRUE(bench.Table(key.first, key.second, MgmtTableOperation::kRead));
    EXPECT_EQ(bench.TableData(), entry) << spec::ToString(key.first) << " " << key.second;
  }
}

TEST(Csr, DataWindowIsClosedDuringAnOperation) {
  Bench bench;
  bench.SetTableData(std::vector<uint8_t>(128, 0x3c));
  bench.memory_fence = true;
  bench.Write(spec::kMgmtTableIndexRegister, 2);
  bench.Write(spec::kMgmtTableCommandRegister,
              spec::MgmtTableCommand{.table_id = MgmtTable::kMr, .operation = MgmtTableOperation::kWrite}.ToWord());
  bench.Write(spec::kMgmtTableDataRegister, 0x12345678);
  EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128));
  bench.SetTableData(std::vector<uint8_t>(128, 0xee));
  bench.memory_fence = false;
  bench.Run(5);
  EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128, 0x3c));
}

TEST(Csr, OnlyAWriteOfACqContextWaitsForTheCqWriter) {
  Bench bench;
  bench.cq_context_ready = false;
  EXPECT_TRUE(bench.Table(MgmtTable::kCqContext, 1, MgmtTableOperation::kRead));
  EXPECT_FALSE(bench.Table(MgmtTable::kCqContext, kConfig.num_cqs, MgmtTableOperation::kWrite));
  EXPECT_TRUE(bench.Table(MgmtTable::kGid, 1, MgmtTableOperation::kWrite));
  EXPECT_EQ(bench.table_write.sent.size(), 1u);
  for (const auto operation : {MgmtTableOperation::kWrite, MgmtTableOperation::kClear}) {
    bench.cq_context_ready = false;
    bench.table_write.sent.clear();
    bench.Write(spec::kMgmtTableIndexRegister, 1);
    bench.Write(spec::kMgmtTableCommandRegister,
                spec::MgmtTableCommand{.table_id = MgmtTable::kCqContext, .operation = operation}.ToWord());
    bench.Run(100);
    EXPECT_TRUE(bench.Get<spec::MgmtTableCommand>(spec::kMgmtTableCommandRegister).busy);
    EXPECT_FALSE(bench.p.idle_o);
    bench.cq_context_ready = true;
    const Cycle ready = bench.bench.cycle();
    bench.Run(1);
    EXPECT_TRUE(bench.table_write.sent.empty());
    bench.cq_context_ready = false;  // that write has used the space
    bench.Run(1);
    ASSERT_EQ(bench.table_write.sent.size(), 1u);
    EXPECT_EQ(bench.table_write.sent[0].first, ready + Csr::kCqContextReadyLatency);
    bench.Run(5);
    EXPECT_FALSE(bench.Get<spec::MgmtTableCommand>(spec::kMgmtTableCommandRegister).busy);
    EXPECT_TRUE(bench.p.idle_o);
  }
}

// Not a read, which finds zeros. The deepest table of nic1 is that of the kept words.
TEST(Csr, AfterAResetWritesWaitUntilTheTablesAreClear) {
  Bench bench(true);
  const Cycle clear = Csr::SweepCycles(kConfig);
  EXPECT_GT(clear, 500U);
  ASSERT_TRUE(bench.Table(MgmtTable::kMr, kConfig.num_mrs - 1, MgmtTableOperation::kRead));
  EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128));
  ASSERT_LT(bench.bench.cycle(), clear - 10);
  bench.Write(spec::kMgmtTableIndexRegister, kConfig.num_mrs - 1);
  bench.Write(spec::kMgmtTableCommandRegister,
              spec::MgmtTableCommand{.table_id = MgmtTable::kMr, .operation = MgmtTableOperation::kClear}.ToWord());
  bench.Run(clear);
  ASSERT_EQ(bench.table_write.sent.size(), 1U);
  EXPECT_EQ(bench.table_write.sent.back().first, clear + 1);
  // The same after a second reset, and without anything that waits the device is idle in time.
  Bench idle(true);
  idle.Use();
  idle.Run(2 * clear);
}

TEST(Csr, NonexistentTargetsAreErrorsWithoutEffect) {
  Bench bench;
  const std::vector<uint8_t> data(128, 0x5a);
  bench.SetTableData(data);
  for (uint32_t operation = 0; operation < 4; ++operation) {
    for (const auto& info : kTables) {
      for (const uint32_t index : {info.entries, info.entries + 1, 0x1000000u, 0xffffffffu}) {
        EXPECT_FALSE(bench.Table(static_cast<uint32_t>(info.table), index, operation));
      }
    }
    for (const uint32_t table : {12u, 13u, 128u, 255u}) EXPECT_FALSE(bench.Table(table, 0, operation));
  }
  EXPECT_FALSE(bench.Table(0, 0, 3));
  EXPECT_TRUE(bench.table_write.sent.empty());
  EXPECT_EQ(bench.TableData(), data);
  EXPECT_TRUE(bench.Table(0, 0, 0));  // the error is the last operation's
}

TEST(Csr, EnabledAndEngineStateAreReadable) {
  Bench bench;
  for (const uint16_t index : {uint16_t{0}, static_cast<uint16_t>(kQueues - 1)}) {
    const spec::QueueRowWrite row{.vq_index = index,
                                  .enabled = true,
                                  .queue_size = static_cast<uint16_t>(bench.random()),
                                  .msix_vector = static_cast<uint16_t>(bench.random()),
                                  .queue_desc = bench.random(),
                                  .queue_driver = bench.random(),
                                  .queue_device = bench.random()};
    bench.row_write.tokens = {row, {.vq_index = 0xffff, .enabled = true}};
    const spec::TableVirtqueue mine{.kind = spec::TableQueueKind::kSq, .stopped = true, .limit = 5, .owner = 9};
    bench.WriteEntry(MgmtTable::kVirtqueue, index, mine);
    auto expected = mine;
    expected.enabled = true;
    const auto found = bench.ReadEntry<spec::TableVirtqueue>(MgmtTable::kVirtqueue, index);
    EXPECT_EQ(found, expected);
    bench.row_write.tokens = {{.vq_index = index}};
    bench.Run(2);
    EXPECT_EQ(bench.ReadEntry<spec::TableVirtqueue>(MgmtTable::kVirtqueue, index), mine);
  }
  const spec::TableQpContext qp{.state = spec::IbQpState::kRts, .valid = true, .pdn = 4};
  bench.WriteEntry(MgmtTable::kQpContext, 15, qp);
  for (const auto state : {spec::IbQpState::kErr, spec::IbQpState::kInit}) {
    bench.state_write.tokens = {{.qpn = 15, .state = state}};
    bench.Run(2);
    auto expected = qp;
    bench.qp_sends.tokens = {{.qpn = 15, .outstanding = static_cast<uint16_t>(bench.random())}};
    bench.next_psn.tokens = {{.qpn = 15, .psn = static_cast<uint32_t>(bench.random() & 0xffffff)}};
    bench.expected_psn.tokens = {{.qpn = 15, .psn = static_cast<uint32_t>(bench.random() & 0xffffff)}};
    expected.engine_state = state;
    expected.send_outstanding = bench.qp_sends.tokens[0].outstanding;
    expected.next_psn = bench.next_psn.tokens[0].psn;
    expected.expected_psn = bench.expected_psn.tokens[0].psn;
    bench.Run(2);
    EXPECT_EQ(bench.ReadEntry<spec::TableQpContext>(MgmtTable::kQpContext, 15), expected);
  }
}

// What memory_check tells, not what firmware writes.
TEST(Csr, BindingsOfWindowsAreReadable) {
  Bench bench;
  for (const uint32_t index : {0u, kConfig.num_mrs - 1}) {
    spec::TableMr window{.valid = true, .key = 7, .is_window = true, .is_type_2 = true, .pdn = 4, .is_bound = true};
    bench.WriteEntry(MgmtTable::kMr, index, window);
    bench.mr_binding.tokens = {{.index = index,
                                .is_bound = true,
                                .bound_to = kConfig.num_mrs - 2,
                                .bound_by = kConfig.num_qps - 1,
                                .is_alive = true,
                                .device_key = 0xa5}};
    bench.Run(2);
    window.is_alive = true;
    window.device_key = 0xa5;
    window.bound_to = kConfig.num_mrs - 2;
    window.bound_by = kConfig.num_qps - 1;
    EXPECT_EQ(bench.ReadEntry<spec::TableMr>(MgmtTable::kMr, index), window);
    EXPECT_EQ(bench.ReadEntry<spec::TableMr>(MgmtTable::kMr, 1), spec::TableMr{});
    bench.mr_binding.tokens = {{.index = index}};
    bench.Run(2);
    window.is_bound = window.is_alive = false;
    window.bound_to = window.bound_by = window.device_key = 0;
    EXPECT_EQ(bench.ReadEntry<spec::TableMr>(MgmtTable::kMr, index), window);
  }
}

TEST(Csr, LoadsGoToTheSelectedHalves) {
  Bench bench;
  for (int loads = 0; loads < 4; ++loads) {
    bench.requester_load.rate = bench.responder_load.rate = 0;
    const spec::TableQpContext qp{.valid = true,
                                  .load_requester = (loads & 1) != 0,
                                  .load_responder = (loads & 2) != 0,
                                  .next_psn = 0x123456,
                                  .expected_psn = 0xabcdef};
    std::vector<uint8_t> bytes(spec::TableQpContext::kBytes);
    qp.Encode(bytes.data());
    bench.SetTableData(bytes);
    bench.Write(spec::kMgmtTableIndexRegister, 6);
    bench.Write(
        spec::kMgmtTableCommandRegister,
        spec::MgmtTableCommand{.table_id = MgmtTable::kQpContext, .operation = MgmtTableOperation::kWrite}.ToWord());
    bench.Run(20);
    const auto busy = [&] { return bench.Get<spec::MgmtTableCommand>(spec::kMgmtTableCommandRegister).busy; };
    EXPECT_EQ(busy(), loads != 0);
    bench.requester_load.rate = 16;
    bench.Run(5);
    EXPECT_EQ(busy(), (loads & 2) != 0);
    bench.Write(spec::kMgmtTableIndexRegister, 3);  // too late to have an effect
    bench.responder_load.rate = 16;
    bench.Run(5);
    EXPECT_FALSE(busy());
    ASSERT_EQ(bench.requester_sink.sent().size(), static_cast<size_t>(loads & 1));
    ASSERT_EQ(bench.responder_sink.sent().size(), static_cast<size_t>(loads >> 1));
    if ((loads & 1) != 0) {
      EXPECT_EQ(bench.requester_sink.sent()[0].token, (spec::QpLoad{6, 0x123456}));
    }
    if ((loads & 2) != 0) {
      EXPECT_EQ(bench.responder_sink.sent()[0].token, (spec::QpLoad{6, 0xabcdef}));
    }
    bench.requester_sink.sent().clear();
    bench.responder_sink.sent().clear();
  }
  // A clear loads nothing.
  EXPECT_TRUE(bench.Table(MgmtTable::kQpContext, 6, MgmtTableOperation::kClear));
  EXPECT_EQ(bench.requester_load.count + bench.responder_load.count, 4u);
}

// --- QPs and events --------------------------------------------------------------------------------------------------

TEST(Csr, OneQpCommandAtATimeIsBusyUntilDone) {
  Bench bench;
  const spec::MgmtQpCommand command{.qpn = 9, .operation = QpOperation::kFlush};
  const auto read = [&] { return bench.Get<spec::MgmtQpCommand>(spec::kMgmtQpCommandRegister); };
  bench.qp_order.rate = 0;
  bench.Write(spec::kMgmtQpCommandRegister, command.ToWord());
  bench.Run(10);
  auto expected = command;
  expected.busy = true;
  EXPECT_EQ(read(), expected);
  bench.qp_order.rate = 16;
  bench.Run(5);
  ASSERT_EQ(bench.qp_order.count, 1u);
  EXPECT_EQ(bench.order_sink.sent()[0].token, (spec::QpOrder{9, QpOperation::kFlush}));
  bench.Write(spec::kMgmtQpCommandRegister, spec::MgmtQpCommand{.qpn = 3}.ToWord());
  EXPECT_EQ(read(), expected);
  EXPECT_FALSE(bench.p.idle_o);
  bench.qp_done = true;
  bench.Run(1);
  EXPECT_EQ(read(), command);
  EXPECT_TRUE(bench.Cause().qp_done);
  EXPECT_TRUE(bench.p.idle_o);
  bench.Write(spec::kMgmtQpCommandRegister, spec::MgmtQpCommand{.qpn = 3}.ToWord());
  bench.Run(5);
  EXPECT_EQ(bench.qp_order.count, 2u);
}

TEST(Csr, ReplacedDrainHasNoEffectAtItsEnd) {
  Bench bench;
  const auto busy = [&] { return bench.Get<spec::MgmtQpCommand>(spec::kMgmtQpCommandRegister).busy; };
  bench.Write(spec::kMgmtQpCommandRegister, spec::MgmtQpCommand{.qpn = 3, .operation = QpOperation::kDrain}.ToWord());
  bench.Run(5);
  EXPECT_TRUE(busy());
  EXPECT_TRUE(bench.p.idle_o);
  bench.Write(spec::kMgmtQpCommandRegister, spec::MgmtQpCommand{.qpn = 4, .operation = QpOperation::kFlush}.ToWord());
  bench.Run(5);
  EXPECT_EQ(bench.qp_order.count, 2u);
  EXPECT_FALSE(bench.p.idle_o);
  bench.drain_done = bench.qp_done = true;
  bench.Run(1);
  EXPECT_TRUE(busy());
  EXPECT_FALSE(bench.Cause().qp_done);
  bench.drain_done = false;
  bench.qp_done = true;
  bench.Run(1);
  EXPECT_FALSE(busy());
  EXPECT_TRUE(bench.Cause().qp_done);
  // For a drain it ends it.
  bench.Write(spec::kMgmtQpCommandRegister, spec::MgmtQpCommand{.qpn = 3, .operation = QpOperation::kDrain}.ToWord());
  bench.drain_done = bench.qp_done = true;
  bench.Run(1);
  EXPECT_FALSE(busy());
}

TEST(Csr, EventsLeaveInOrderUpToTheQueueDepthAndAFullQueueIsShown) {
  Bench bench;
  bench.host_event.rate = 0;
  const auto push = [&](uint32_t i) {
    const spec::RdmaEvent event{.event_type = spec::RdmaEventType::kPortErr, .element = i, .code = ~i, .lost = 5};
    uint8_t bytes[spec::RdmaEvent::kBytes];
    event.Encode(bytes);
    for (uint32_t word = 0; word < 4; ++word) {
      uint32_t data;
      std::memcpy(&data, bytes + 4 * word, 4);
      bench.Write(spec::kMgmtEventDataRegister + 4 * word, data);
    }
    bench.Write(spec::kMgmtEventPushRegister, 1);
  };
  const auto full = [&bench] { return bench.Get<spec::MgmtStatus>(spec::kMgmtStatusRegister).event_full; };
  for (uint32_t i = 0; i < Csr::kEventDepth; ++i) {
    EXPECT_FALSE(full()) << i;
    push(i);
  }
  EXPECT_TRUE(full());
  for (uint32_t i = 0; i < 4; ++i) push(Csr::kEventDepth + i);
  EXPECT_TRUE(full());
  // Firmware that waits for room loses none.
  bench.host_event.rate = 16;
  bench.Run(50);
  EXPECT_FALSE(full());
  ASSERT_EQ(bench.host_event.count, Csr::kEventDepth);
  for (uint32_t i = 0; i < Csr::kEventDepth; ++i) {
    EXPECT_EQ(bench.event_sink.sent()[i].token, (spec::HostEvent{spec::RdmaEventType::kPortErr, i, ~i}));
  }
}

// --- Latencies -------------------------------------------------------------------------------------------------------

TEST(Csr, AccessesMeetDocumentedLatencies) {
  Bench bench;
  bench.Run(5);
  // One access in every cycle; a read sees all writes before it and none after.
  for (uint32_t i = 1; i < 6; ++i) {
    bench.accesses.push_back({true, static_cast<uint16_t>(spec::kMgmtScratchRegister), i});
    bench.accesses.push_back({false, static_cast<uint16_t>(spec::kMgmtScratchRegister), 0});
  }
  Cycle from = bench.bench.cycle();
  bench.Run(20);
  ASSERT_EQ(bench.read.all.size(), 5u);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(bench.read.all[i], (std::pair<Cycle, uint64_t>{from + 1 + 2 * i + Csr::kReadLatency, i + 1}));
  }
  // Busy for exactly the documented time.
  const auto busy_for = [&](uint32_t table, uint32_t operation) {
    bench.Write(spec::kMgmtTableIndexRegister, 0);
    bench.Run(10);
    from = bench.bench.cycle();
    bench.accesses.push_back({true, static_cast<uint16_t>(spec::kMgmtTableCommandRegister), table | operation << 8});
    for (int i = 0; i < 24; ++i) {
      bench.accesses.push_back({false, static_cast<uint16_t>(spec::kMgmtTableCommandRegister), 0});
    }
    const size_t first = bench.read.all.size();
    bench.Run(40);
    for (size_t i = first; i < bench.read.all.size(); ++i) {
      const auto [cycle, data] = bench.read.all[i];
      if ((data >> 31) == 0) return cycle - (Csr::kReadLatency - Csr::kAnswerLatency) - from;
    }
    return model::kUnknown;
  };
  EXPECT_EQ(busy_for(11, 0), Csr::kTableErrorLatency);
  for (const auto& info : kTables) {
    SCOPED_TRACE(spec::ToString(info.table));
    const auto table = static_cast<uint32_t>(info.table);
    const Cycle kept = info.bytes / 8;
    const bool is_fenced = info.table == MgmtTable::kMr || info.table == MgmtTable::kVirtqueue;
    const Cycle write = kept + (is_fenced ? Csr::kFencedLatency : Csr::kTableLatency);
    Cycle read = Csr::kTableLatency + kept;
    if (info.table == MgmtTable::kVirtqueue) read += 1;  // enabled
    if (info.table == MgmtTable::kMr) read += 1;         // what a window is bound to
    if (info.table == MgmtTable::kQpContext) read += 4;  // up to expected_psn
    EXPECT_EQ(busy_for(table, 0), kept == 0 ? Csr::kTableErrorLatency : read);
    EXPECT_EQ(busy_for(table, 1), write);
    EXPECT_EQ(bench.table_write.sent.back().first, from + Csr::kTableWriteLatency);
    EXPECT_EQ(busy_for(table, 2), write);
    EXPECT_EQ(bench.table_write.sent.back().first, from + Csr::kTableWriteLatency);
  }
  // Loads that are taken at once are done before the entry is kept.
  bench.Write(spec::kMgmtTableDataRegister, 0x0c000000);  // load_requester and load_responder
  EXPECT_EQ(busy_for(2, 1), Csr::kTableLatency + 10);
  EXPECT_EQ(bench.requester_sink.sent().back().cycle, from + Csr::kTableWriteLatency + 1);
  EXPECT_EQ(bench.responder_sink.sent().back().cycle, from + Csr::kTableWriteLatency + 1);

  from = bench.bench.cycle();
  bench.Write(spec::kMgmtQpCommandRegister, 5);
  bench.Run(10);
  EXPECT_EQ(bench.order_sink.sent()[0].cycle, from + Csr::kQpOrderLatency);
  from = bench.bench.cycle();
  bench.Write(spec::kMgmtEventPushRegister, 1);
  bench.Run(10);
  EXPECT_EQ(bench.event_sink.sent()[0].cycle, from + Csr::kEventLatency);
}

// A write or clear of this table is done when older accesses have ended, not before. `other`: the fence of other
// tables.
void ExpectBusyUntilTheFenceFalls(Bench& bench, spec::MgmtTable table_id, bool& fence, bool& other) {
  const auto table = static_cast<uint32_t>(table_id);
  constexpr auto kClear = static_cast<uint32_t>(spec::MgmtTableOperation::kClear);
  const auto busy = [&] { return bench.Get<spec::MgmtTableCommand>(spec::kMgmtTableCommandRegister).busy; };
  fence = true;
  bench.Write(spec::kMgmtTableCommandRegister, table | kClear << 8);
  bench.Run(20);
  ASSERT_EQ(bench.table_write.sent.size(), 1u) << "later accesses are refused from here on";
  for (unsigned i = 0; i < 20; ++i) {
    ASSERT_TRUE(busy());
    bench.Run(37);
  }
  // A command meanwhile is ignored, as while any other is in progress.
  bench.Write(spec::kMgmtTableCommandRegister, table | kClear << 8);
  fence = false;
  other = true;
  bench.Run(2);
  EXPECT_FALSE(busy());
  bench.Run(20);
  EXPECT_EQ(bench.table_write.sent.size(), 1u);
}

TEST(Csr, RegionIsBusyUntilTheFenceFalls) {
  Bench bench;
  ExpectBusyUntilTheFenceFalls(bench, spec::MgmtTable::kMr, bench.memory_fence, bench.queue_fence);
}

TEST(Csr, VirtqueueIsBusyUntilTheFenceFalls) {
  Bench bench;
  ExpectBusyUntilTheFenceFalls(bench, spec::MgmtTable::kVirtqueue, bench.queue_fence, bench.memory_fence);
}

// --- Parity ----------------------------------------------------------------------------------------------------------

struct RamInfo {
  spec::ContextRam ram;
  MgmtTable table;
  uint32_t entries;  // of the table
  uint32_t words;    // of an entry, in the memory
  uint32_t bits;     // of a word
  // The memory's entry.
  uint32_t IndexOf(uint32_t index, uint32_t word) const {
    if (ram != spec::ContextRam::kManagementContext) return index;
    return static_cast<uint32_t>(model::ContextStore(kConfig).AddressOf(table, index)) + word;
  }
};
uint32_t BindingBits() {
  return 1 + 1 + 8 + static_cast<uint32_t>(std::bit_width(kConfig.num_mrs - 1) + std::bit_width(kConfig.num_qps - 1));
}
std::vector<RamInfo> Rams() {
  std::vector<RamInfo> rams;
  for (const auto& info : kTables) {
    if (info.bytes == 0) continue;
    const uint32_t entries = info.table == MgmtTable::kRss ? 1 : info.entries;
    rams.push_back({spec::ContextRam::kManagementContext, info.table, entries, info.bytes / 8, 64});
  }
  rams.push_back({spec::ContextRam::kManagementQueueRow, MgmtTable::kVirtqueue, kQueues, 1, 1});
  rams.push_back({spec::ContextRam::kManagementMrBinding, MgmtTable::kMr, kConfig.num_mrs, 1, BindingBits()});
  rams.push_back({spec::ContextRam::kManagementEngineState, MgmtTable::kQpContext, kConfig.num_qps, 1, 3});
  return rams;
}
void Flip(Bench& bench, spec::ContextRam ram, uint32_t index, uint32_t bit) {
  bench.Write(spec::kMgmtFlipEntryRegister, spec::MgmtFlipEntry{.index = index, .ram = ram}.ToWord());
  bench.Write(spec::kMgmtFlipBitRegister, bit);
}
void ExpectFatal(Bench& bench, bool fatal) {
  EXPECT_EQ(bench.Read(spec::kMgmtFatalCauseRegister), fatal ? static_cast<uint32_t>(spec::FatalCause::kMemory) : 0);
  EXPECT_EQ(bench.Cause().fatal, fatal);
  EXPECT_EQ(bench.p.needs_reset_o, fatal);
  EXPECT_EQ(bench.p.pause_o, fatal);
}
void ResetDevice(Bench& bench) {
  bench.device_reset = true;
  bench.Run(3);
  bench.Write(spec::kMgmtInterruptCauseRegister, 0xff);
  bench.Run(5);
}

TEST(Csr, BitFlipIsDetectedWhenItsEntryIsRead) {
  Bench bench;
  for (const RamInfo& info : Rams()) {
    SCOPED_TRACE(std::string(spec::ToString(info.ram)) + " " + std::string(spec::ToString(info.table)));
    uint32_t word = 0;  // first, last, any
    for (const uint32_t bit : {0u, info.bits / 2, info.bits - 1, info.bits, 1023u}) {
      const uint32_t index = static_cast<uint32_t>(sim::UniformBelow(bench.random, info.entries));
      std::vector<uint8_t> entry(128);
      for (auto& byte : entry) byte = static_cast<uint8_t>(bench.random());
      bench.SetTableData(entry);
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kWrite));
      bench.row_write.tokens.push_back({.vq_index = static_cast<uint16_t>(index % kQueues), .enabled = true});
      bench.state_write.tokens.push_back({.qpn = index % kConfig.num_qps, .state = spec::IbQpState::kRts});
      bench.mr_binding.tokens.push_back({.index = index % kConfig.num_mrs, .is_bound = true});
      bench.Run(20);
      Flip(bench, info.ram, info.IndexOf(index, word), bit);
      word = word == 0 ? info.words - 1 : static_cast<uint32_t>(sim::UniformBelow(bench.random, info.words));
      bench.Run(10);
      // Others are not changed, nor is an entry that a write reads.
      for (const RamInfo& other : Rams()) {
        const bool same = other.table == info.table;
        if (same && other.entries == 1) continue;
        ASSERT_TRUE(bench.Table(other.table, same && index == 0 ? 1 : 0, MgmtTableOperation::kRead));
      }
      ExpectFatal(bench, false);
      EXPECT_FALSE(bench.Table(info.table, index, MgmtTableOperation::kRead));
      EXPECT_EQ(bench.TableData(), std::vector<uint8_t>(128));
      bench.Run(5);
      ExpectFatal(bench, true);
      ResetDevice(bench);
      ExpectFatal(bench, false);
      // A reset does not clear it, a write does.
      EXPECT_FALSE(bench.Table(info.table, index, MgmtTableOperation::kRead));
      ResetDevice(bench);
      ASSERT_TRUE(
          bench.Table(info.table, index, bit % 2 != 0 ? MgmtTableOperation::kWrite : MgmtTableOperation::kClear));
      bench.row_write.tokens.push_back({.vq_index = static_cast<uint16_t>(index % kQueues)});
      bench.state_write.tokens.push_back({.qpn = index % kConfig.num_qps});
      bench.mr_binding.tokens.push_back({.index = index % kConfig.num_mrs});
      bench.Run(20);
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kRead));
      ExpectFatal(bench, false);
    }
  }
}

TEST(Csr, FlipIsBroadcastAndIgnoredWithoutEntry) {
  Bench bench;
  for (const RamInfo& info : Rams()) {
    const bool is_store = info.ram == spec::ContextRam::kManagementContext;
    // rss comes last, with one entry.
    Flip(bench, info.ram, is_store ? 7 + RamInfo{info.ram, MgmtTable::kRss, 1, 7, 64}.IndexOf(0, 0) : info.entries, 0);
    Flip(bench, info.ram, 0xffffff, 0);
    Flip(bench, static_cast<spec::ContextRam>(0xff), 0, 0x12345000 + static_cast<uint32_t>(info.ram));
    bench.Run(3);
    EXPECT_EQ(bench.context_flip.sent.back().second, (spec::ContextFlip{.ram = static_cast<spec::ContextRam>(0xff),
                                                                        .bit_index = static_cast<uint16_t>(info.ram)}));
  }
  for (const RamInfo& info : Rams()) {
    for (const uint32_t index : {0u, info.entries - 1}) {
      ASSERT_TRUE(bench.Table(info.table, index, MgmtTableOperation::kRead));
    }
  }
  // Of two flips in one memory the later one stays.
  const RamInfo regions{spec::ContextRam::kManagementContext, MgmtTable::kMr, kConfig.num_mrs, 4, 64};
  Flip(bench, regions.ram, regions.IndexOf(1, 0), 5);
  Flip(bench, regions.ram, regions.IndexOf(2, 1), 5);
  ASSERT_TRUE(bench.Table(MgmtTable::kMr, 1, MgmtTableOperation::kRead));
  ExpectFatal(bench, false);
  EXPECT_FALSE(bench.Table(MgmtTable::kMr, 2, MgmtTableOperation::kRead));
  bench.Run(3);
  ExpectFatal(bench, true);
}

TEST(Csr, ParityErrorIsFatalAfterItsLatency) {
  Bench bench;
  bench.Run(10);
  const auto needs_reset_after = [&] {
    const Cycle from = bench.bench.cycle();
    while (!bench.p.needs_reset_o) bench.Run(1);
    EXPECT_TRUE(bench.p.pause_o);  // in the same cycle
    return bench.bench.cycle() - from;
  };
  bench.parity_error = 4;
  EXPECT_EQ(needs_reset_after(), Csr::kParityLatency);
  ResetDevice(bench);
  const RamInfo gids{spec::ContextRam::kManagementContext, MgmtTable::kGid, kConfig.num_gids, 3, 64};
  Flip(bench, gids.ram, gids.IndexOf(3, 0), 7);
  bench.Write(spec::kMgmtTableIndexRegister, 3);
  bench.Run(5);
  bench.accesses.push_back(
      {true, static_cast<uint16_t>(spec::kMgmtTableCommandRegister), static_cast<uint32_t>(MgmtTable::kGid)});
  // The error is reported one cycle after the last word was read.
  EXPECT_EQ(needs_reset_after(), Csr::kTableLatency + Csr::WordsRead(MgmtTable::kGid, 3) + Csr::kParityLatency);
}

// --- RTL against model -----------------------------------------------------------------------------------------------

TEST(Csr, MatchesModelInRandomTraffic) {
  for (const unsigned access_rate : {16u, 6u}) {
    for (const unsigned out_rate : {16u, 3u}) {
      Bench bench;
      auto& random = bench.random;
      bench.access_rate = access_rate;
      bench.requester_load.rate = bench.responder_load.rate = bench.qp_order.rate = bench.host_event.rate = out_rate;
      bench.row_write.rate = bench.state_write.rate = 4;
      bool resetting = false;
      size_t table_writes = 0;
      const std::vector<RamInfo> rams = Rams();
      bench.choose = [&] {
        const auto rarely = [&](unsigned n) { return random() % n == 0; };
        bench.idle = random() % 2;
        bench.quiet = random() % 2;
        bench.memory_fence = random() % 4 != 0;
        bench.queue_fence = random() % 4 != 0;
        bench.dma_outstanding = static_cast<uint16_t>(random());
        // What is ready stays so until the next write of a context, or a later one.
        if (!bench.cq_context_ready) bench.cq_context_ready = rarely(8);
        if (bench.table_write.sent.size() != table_writes) {
          table_writes = bench.table_write.sent.size();
          bench.cq_context_ready = random() % 2 != 0;
        }
        if (rarely(30)) bench.link = !bench.link;
        if (rarely(50)) bench.device_status = static_cast<uint8_t>(random() % 3 == 0 ? random() : 0);
        if (rarely(20)) bench.features[random() % 4] = static_cast<uint32_t>(random());
        // common_cfg pulses a reset once until it is done.
        if (!bench.reset_done.all.empty()) {
          bench.reset_done.all.clear();
          resetting = false;
        }
        if (!resetting && rarely(200)) resetting = bench.device_reset = true;
        bench.features_written = rarely(20);
        bench.driver_ok = rarely(20);
        bench.qp_done = rarely(20);
        bench.drain_done = random() % 2 != 0;
        if (rarely(10)) bench.qp_sends.tokens.push_back({.qpn = static_cast<uint32_t>(random() % 16)});
        if (rarely(300)) bench.parity_error = static_cast<uint16_t>(random() % (1u << kContextOwners));
        bench.tx_frame = random() % 2;
        bench.rx_drop = random() % 2;
        bench.retransmission = random() % 2;
        bench.window_violation = random() % 2;
        bench.net_rx_filtered = random() % 2;
        for (uint8_t* sources : {&bench.dma_error, &bench.net_rx_drop, &bench.net_tx_drop}) {
          *sources = static_cast<uint8_t>(random() % 4);
        }
        if (random() % 2 != 0) bench.rx_verdict = random() % 16;
        if (rarely(8)) {
          bench.mailbox = {.request = random() % 2 != 0,
                           .busy = random() % 2 != 0,
                           .dma_error = random() % 2 != 0,
                           .request_bytes = static_cast<uint32_t>(random()),
                           .response_bytes = static_cast<uint32_t>(random())};
        }
        if (bench.queue_reset.tokens.empty() && rarely(20)) {
          bench.queue_reset.tokens.push_back({static_cast<uint16_t>(random() % 4)});
        }
        if (bench.row_write.tokens.empty()) {
          bench.row_write.tokens.push_back({.vq_index = static_cast<uint16_t>(sim::UniformBelow(random, kQueues + 2)),
                                            .enabled = random() % 2 != 0,
                                            .queue_size = static_cast<uint16_t>(random()),
                                            .msix_vector = static_cast<uint16_t>(random()),
                                            .queue_desc = random(),
                                            .queue_driver = random(),
                                            .queue_device = random()});
        }
        if (bench.state_write.tokens.empty()) {
          bench.state_write.tokens.push_back({.qpn = static_cast<uint32_t>(random() % kConfig.num_qps),
                                              .state = static_cast<spec::IbQpState>(random() % 7)});
        }
        if (!bench.accesses.empty()) return;
        if (rarely(40)) {
          const RamInfo info = rams[sim::UniformBelow(random, rams.size())];
          const auto index = info.IndexOf(static_cast<uint32_t>(sim::UniformBelow(random, std::min(info.entries, 4u))),
                                          static_cast<uint32_t>(sim::UniformBelow(random, info.words)));
          const auto flip = spec::MgmtFlipEntry{.index = index, .ram = info.ram}.ToWord();
          bench.accesses.push_back({true, static_cast<uint16_t>(spec::kMgmtFlipEntryRegister), flip});
          bench.accesses.push_back(
              {true, static_cast<uint16_t>(spec::kMgmtFlipBitRegister), static_cast<uint32_t>(random())});
        }
        const auto add = [&](bool write, uint32_t address, uint32_t data) {
          bench.accesses.push_back({write, static_cast<uint16_t>(address), data});
        };
        switch (random() % 8) {
          case 0: add(random() % 2, random() & 0xfff, static_cast<uint32_t>(random())); break;
          case 1:
          case 2: {
            const auto& info = spec::kMgmtRegisters[random() % std::size(spec::kMgmtRegisters)];
            add(random() % 2, info.offset + 4 * static_cast<uint32_t>(random() % info.count),
                static_cast<uint32_t>(random()));
            break;
          }
          case 3:
          case 4: {
            const auto& info = kTables[rarely(3) ? 2 : random() % std::size(kTables)];
            add(true, spec::kMgmtTableIndexRegister,
                static_cast<uint32_t>(sim::UniformBelow(random, std::min(info.entries, 6u) + 1)));
            if (rarely(4)) {
              for (uint32_t i = 0; i < 32; ++i) {
                add(true, spec::kMgmtTableDataRegister + 4 * i, static_cast<uint32_t>(random()));
              }
            }
            add(true, spec::kMgmtTableCommandRegister,
                static_cast<uint32_t>(info.table) | static_cast<uint32_t>(random() % 4) << 8);
            if (rarely(4)) add(true, spec::kMgmtTableDataRegister, static_cast<uint32_t>(random()));
            for (uint32_t i = 0; i < 32; ++i) add(false, spec::kMgmtTableDataRegister + 4 * i, 0);
            add(false, spec::kMgmtTableCommandRegister, 0);
            break;
          }
          case 5: add(true, spec::kMgmtQueueResetDoneRegister, static_cast<uint32_t>(random() % 4)); break;
          case 6: add(true, spec::kMgmtInterruptCauseRegister, static_cast<uint32_t>(random())); break;
          default:
            add(true, spec::kMgmtEventPushRegister, 0);
            add(true, spec::kMgmtQpCommandRegister, static_cast<uint32_t>(random()));
            break;
        }
      };
      bench.Run(60'000);
      EXPECT_GT(bench.table_write.sent.size(), 50u);
      EXPECT_GT(bench.requester_load.count, 2u);
      EXPECT_GT(bench.qp_order.count, 5u);
      EXPECT_GT(bench.queue_reset_done.all.size(), 2u);
    }
  }
}

}  // namespace
}  // namespace vireo::verif
