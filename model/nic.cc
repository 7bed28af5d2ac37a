// SPDX-License-Identifier: Apache-2.0
#include "model/nic.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "model/common/wide_slice.h"
#include "model/virtio/queue_count.h"

namespace vireo::model {
namespace {

// Clients of the DMA ports for small accesses.
enum FetchClient : size_t {
  kFetchIndex,
  kFetchRing,
  kFetchDescriptor,
  kFetchWorkRequest,
  kFetchElement,
  kFetchReceive,
  kFetchMailbox,
  kFetchTable,
  kFetchSuppression,
  kFetchAtomic,
  kFetchClients
};
enum StoreClient : size_t { kStoreCqWriter, kStoreMailbox, kStoreAtomic, kStoreClients };
// Clients for large reads.
enum ReadClient : size_t { kReadGather, kReadNetGather, kReadClients };
enum WriteClient : size_t { kWriteScatter, kWriteNetRx, kWriteClients };
// Sources of completions.
enum CompletionSource : size_t {
  kCompletionCompleter,
  kCompletionMailbox,
  kCompletionScatter,
  kCompletionNetTx,
  kCompletionNetRx,
  kCompletionSources
};
// Those of queue pairs.
constexpr std::array<size_t, QpSweep::kCompletionSources> kRdmaCompletions = {kCompletionCompleter, kCompletionScatter};
// Pulses that are kept until they are counted.
constexpr size_t kMostPacketReads = 64;
// Of acknowledges for the completer.
constexpr size_t kAckWire = 0;

// Answers of a fetch client of the read port. More reads than tags are not in flight. A queue has 4 places at least.
size_t FetchDepth(const spec::Config& config) { return std::clamp<size_t>(config.dma_tags, 4, spec::kDmaFetchDepth); }

DmaReadPort::Config ReadConfig(const spec::Config& config, size_t times) {
  return {.reader = {.data_bits = config.datapath_bits,
                     .tags = config.dma_tags,
                     .buffer_bytes = config.dma_read_buffer_bytes},
          .fetch_clients = kFetchClients,
          .fetch_depth = times * FetchDepth(config),
          .read_clients = kReadClients};
}
DmaWritePort::Config WriteConfig(const spec::Config& config) {
  return {.writer = {.data_bits = config.datapath_bits, .writes = config.dma_writes},
          .store_clients = kStoreClients,
          .write_clients = kWriteClients};
}

size_t Client(spec::BufferClient client) { return static_cast<size_t>(client); }

// Of twice the speed are blocks that have twice as much under way: their machines are faster than what they wait for,
// host memory.
size_t Times(const std::vector<Nic::Faster>& faster, const char* block) {
  return std::ranges::count(faster, block, &Nic::Faster::name) != 0 ? 2 : 1;
}
SendQueue::Sizes SendQueueSizes(const spec::Config& config, const std::vector<Nic::Faster>& faster) {
  const auto times = static_cast<uint32_t>(Times(faster, "send_queue"));
  SendQueue::Sizes sizes = SendQueue::SizesOf(config);
  sizes.requests *= times;
  sizes.buffers *= times;
  sizes.fetches *= times;
  return sizes;
}
DescFetch::Sizes DescFetchSizes(const spec::Config& config, const std::vector<Nic::Faster>& faster) {
  const size_t times = Times(faster, "desc_fetch");
  DescFetch::Sizes sizes{.queues = QueuesOf(config),
                         .descriptors = times * FetchDepth(config),
                         .knows_entries = config.known_entries != 0,
                         .data_bits = config.datapath_bits};
  sizes.requests *= times;
  return sizes;
}

}  // namespace

Nic::Nic(const spec::Config& config, NicOutputs& environment, bool is_metered, const std::vector<Faster>& faster,
         bool is_used)
    : read_port_(agenda_, ReadConfig(config, Times(faster, "dma_read_port"))),
      write_port_(agenda_, WriteConfig(config)),
      common_cfg_(agenda_, config, config.num_msix_vectors),
      notify_(agenda_, config),
      msix_(agenda_, config.num_msix_vectors),
      desc_fetch_(agenda_, DescFetchSizes(config, faster)),
      cq_writer_(agenda_, {.queues = QueuesOf(config),
                           .cqs = config.num_cqs,
                           .slots = WaitingPackets(config.datapath_bits),
                           .data_bits = config.datapath_bits,
                           .has_elements = config.cqe_elements != 0}),
      moderation_(agenda_, config.moderation != 0 ? config.net_queue_pairs : 0),
      csr_(agenda_, config, is_used),
      mailbox_(agenda_),
      qp_control_(agenda_, config.num_qps, QueuesOf(config), config.max_srqs != 0),
      qp_sweep_(agenda_),
      memory_check_(agenda_, config),
      send_queue_(agenda_, config, SendQueueSizes(config, faster)),
      requester_(agenda_, config),
      completer_(agenda_, config),
      retry_timer_(agenda_, config.num_qps),
      tx_gather_(agenda_, config),
      net_tx_(agenda_, config),
      net_gather_(agenda_, config.datapath_bits / 8, config.net_buffer_bytes),
      net_checksum_(agenda_, config, net_gather_),
      frames_(environment, csr_),
      tx_builder_(agenda_, config, tx_gather_, frames_, &net_checksum_),
      rx_buffer_(agenda_, config),
      recv_queue_(agenda_, config),
      responder_(agenda_, config),
      rx_scatter_(agenda_, config, rx_buffer_),
      read_responder_(agenda_, config),
      atomic_(agenda_, config),
      net_filter_(agenda_, config),
      net_rx_(agenda_, config, net_filter_),
      interrupts_(agenda_, 2, IsNarrow(config.datapath_bits)),
      completions_(agenda_, kCompletionSources, IsNarrow(config.datapath_bits),
                   [](const spec::Completion& completion) { return !completion.more; }),
      queue_failures_(agenda_, 2, IsNarrow(config.datapath_bits)),
      work_failures_(agenda_, 5, IsNarrow(config.datapath_bits)),
      send_failures_(agenda_, 2, IsNarrow(config.datapath_bits)),
      request_failures_(agenda_, 3, IsNarrow(config.datapath_bits)),
      acks_(agenda_, 2, IsNarrow(config.datapath_bits)) {
  assert(is_metered || faster.empty());
  if (is_metered) AddMeters(faster);
  ConnectHost(environment);
  ConnectManagement(environment);
  ConnectQueues();
  ConnectQueuePairs();
  ConnectSweep();
  ConnectNet();
  ApplySettings(0, csr_.SettingsAt(0));
  ApplyLevels(0, CommonCfg::Levels{});
}

void Nic::AddMeters(const std::vector<Faster>& faster) {
  meters_ = std::make_unique<Meters>();
  const auto part = [](const void* begin, size_t bytes, const char* name) { return Meters::Part{begin, bytes, name}; };
  meters_->SetParts({
      part(&read_port_, sizeof read_port_, "dma_read_port"),
      part(&write_port_, sizeof write_port_, "dma_write_port"),
      part(&common_cfg_, sizeof common_cfg_, "common_cfg"),
      part(&notify_, sizeof notify_, "notify"),
      part(&msix_, sizeof msix_, "msix"),
      part(&desc_fetch_, sizeof desc_fetch_, "desc_fetch"),
      part(&cq_writer_, sizeof cq_writer_, "cq_writer"),
      part(&moderation_, sizeof moderation_, "moderation"),
      part(&csr_, sizeof csr_, "csr"),
      part(&mailbox_, sizeof mailbox_, "mailbox"),
      part(&qp_control_, sizeof qp_control_, "qp_control"),
      part(&qp_sweep_, sizeof qp_sweep_, "qp_sweep"),
      part(&memory_check_, sizeof memory_check_, "memory_check"),
      part(&send_queue_, sizeof send_queue_, "send_queue"),
      part(&requester_, sizeof requester_, "requester"),
      part(&completer_, sizeof completer_, "completer"),
      part(&retry_timer_, sizeof retry_timer_, "retry_timer"),
      part(&tx_gather_, sizeof tx_gather_, "tx_gather"),
      part(&net_tx_, sizeof net_tx_, "net_tx"),
      part(&net_gather_, sizeof net_gather_, "net_gather"),
      part(&net_checksum_, sizeof net_checksum_, "net_checksum"),
      part(&tx_builder_, sizeof tx_builder_, "tx_builder"),
      part(&rx_buffer_, sizeof rx_buffer_, "rx_buffer"),
      part(&recv_queue_, sizeof recv_queue_, "recv_queue"),
      part(&responder_, sizeof responder_, "responder"),
      part(&rx_scatter_, sizeof rx_scatter_, "rx_scatter"),
      part(&read_responder_, sizeof read_responder_, "read_responder"),
      part(&atomic_, sizeof atomic_, "atomic"),
      part(&net_filter_, sizeof net_filter_, "net_filter"),
      part(&net_rx_, sizeof net_rx_, "net_rx"),
      part(&interrupts_, sizeof interrupts_, "interrupt_arb"),
      part(&completions_, sizeof completions_, "completion_arb"),
      part(&queue_failures_, sizeof queue_failures_, "queue_failure_arb"),
      part(&work_failures_, sizeof work_failures_, "work_failure_arb"),
      part(&send_failures_, sizeof send_failures_, "send_failure_arb"),
      part(&request_failures_, sizeof request_failures_, "request_failure_arb"),
      part(&acks_, sizeof acks_, "ack_arb"),
  });
  agenda_.SetMeters(meters_.get());
  send_queue_.SetMeter(meters_->Of(&send_queue_));
  read_responder_.SetMeter(meters_->Of(&read_responder_));
  if (faster.empty()) return;
  agenda_.RunTwice([&](const Block* block) -> Cycle {
    const auto found = std::ranges::find(faster, meters_->NameOf(block), &Faster::name);
    return found == faster.end() ? 0 : found->every;
  });
}

void Nic::ConnectHost(NicOutputs& environment) {
  read_port_.train_sink[kReadGather] = &tx_gather_;
  read_port_.train_sink[kReadNetGather] = &net_gather_;
  read_port_.on_dma_error = [this](Cycle now) { csr_.OnDmaError(now); };
  write_port_.on_dma_error = [this](Cycle now) { csr_.OnDmaError(now); };
  write_port_.on_write_done[kWriteScatter] = [this](Cycle now, const spec::DmaDone& done) {
    rx_scatter_.OnWriteDone(now, done.resp != 0);
  };
  write_port_.on_write_done[kWriteNetRx] = [this](Cycle now, const spec::DmaDone& done) {
    net_rx_.OnWriteDone(now, done);
  };
  write_port_.beat_source[kWriteScatter] = &rx_scatter_.beat_source();
  write_port_.beat_source[kWriteNetRx] = &net_rx_.beat_source();
  write_port_.on_done[kStoreCqWriter] = [this](Cycle now, const spec::DmaDone& done) { cq_writer_.OnDone(now, done); };
  write_port_.on_done[kStoreMailbox] = [this](Cycle now, const spec::DmaDone& done) {
    mailbox_.OnStoreDone(now, done);
  };
  write_port_.on_done[kStoreAtomic] = [this](Cycle now, const spec::DmaDone& done) { atomic_.OnDone(now, done); };

  common_cfg_.on_read_data = [&environment](Cycle now, uint64_t data) { environment.OnBarRead(now, data); };
  common_cfg_.on_queue_row_write = [this](Cycle now, const spec::QueueRowWrite& row) {
    notify_.OnQueueRowWrite(now, row);
    desc_fetch_.OnQueueRowWrite(now, row);
    cq_writer_.OnQueueRowWrite(now, row);
    moderation_.OnQueueRowWrite(now, row);
    csr_.OnQueueRowWrite(now, row);
    mailbox_.OnQueueRowWrite(now, row);
    net_tx_.OnQueueRowWrite(now, row);
    net_rx_.OnQueueRowWrite(now, row);
  };
  common_cfg_.on_device_reset = [this](Cycle now) {
    csr_.OnDeviceReset(now);
    mailbox_.OnDeviceReset(now);
  };
  common_cfg_.on_features_written = [this](Cycle now) { csr_.OnFeaturesWritten(now); };
  common_cfg_.on_driver_ok = [this](Cycle now) { csr_.OnDriverOk(now); };
  common_cfg_.on_levels = [this](Cycle from, const CommonCfg::Levels& levels) { ApplyLevels(from, levels); };
  common_cfg_.ConnectQueueReset(csr_.queue_reset_in);

  common_cfg_.SetMsixReady(msix_.ReadyFrom());
  msix_.on_read_data = [this](Cycle at, uint64_t data) { common_cfg_.OnOtherReadData(at, data); };
  msix_.on_message = [&environment](Cycle now, const MsixMessage& message) { environment.OnMessage(now, message); };
  common_cfg_.interrupt_out.Connect(interrupts_.in[0], common_cfg_);
  cq_writer_.queue_interrupt_out.Connect(moderation_.queue_interrupt_in, cq_writer_);
  moderation_.interrupt_out.Connect(interrupts_.in[1], moderation_);
  interrupts_.out.Connect(msix_.interrupt_in, interrupts_);

  notify_.ConnectSend(send_queue_.doorbell_in);
  notify_.on_push_write = [this](Cycle now, const spec::PushWrite& write) { send_queue_.OnPushWrite(now, write); };
  notify_.ConnectReceive(responder_.doorbell_in);
  notify_.ConnectControl(mailbox_.control_doorbell_in);
  notify_.ConnectNet(net_tx_.doorbell_in);
  notify_.ConnectCqArm(cq_writer_.cq_arm_in);
}

void Nic::ConnectManagement(NicOutputs& environment) {
  csr_.on_read = [&environment](Cycle now, uint32_t data) { environment.OnCsrRead(now, data); };
  csr_.on_firmware_interrupt = [&environment](Cycle from, bool level) { environment.OnFirmwareInterrupt(from, level); };
  csr_.time_ns = [&environment](Cycle now) { return environment.TimeNs(now); };
  retry_timer_.time_ns = csr_.time_ns;
  retry_timer_.cycle_at = [&environment](uint64_t ns) { return environment.CycleAt(ns); };
  moderation_.time_ns = csr_.time_ns;
  cq_writer_.time_ns = csr_.time_ns;
  moderation_.cycle_at = retry_timer_.cycle_at;
  csr_.idle = [this] { return IsDatapathIdle(now_); };
  csr_.quiet = [this] { return IsQuiet(); };
  csr_.dma_outstanding = [this](Cycle now) { return static_cast<uint16_t>(read_port_.outstanding(now)); };
  csr_.on_settings = [this](Cycle from, const CsrSettings& settings) { ApplySettings(from, settings); };
  csr_.on_reset_done = [this](Cycle now) { common_cfg_.OnResetDone(now); };
  csr_.on_queue_reset_done = [this](Cycle now, uint16_t vq_index) { common_cfg_.OnQueueResetDone(now, vq_index); };
  csr_.on_table_write = [this](Cycle now, const spec::TableWrite& write) {
    desc_fetch_.OnTableWrite(now, write);
    cq_writer_.OnTableWrite(now, write);
    moderation_.OnTableWrite(now, write);
    qp_control_.OnTableWrite(now, write);
    memory_check_.OnTableWrite(now, write);
    requester_.OnTableWrite(now, write);
    completer_.OnTableWrite(now, write);
    tx_builder_.OnTableWrite(now, write);
    responder_.OnTableWrite(now, write);
    recv_queue_.OnTableWrite(now, write);
    read_responder_.OnTableWrite(now, write);
    net_filter_.OnTableWrite(now, write);
    net_rx_.OnTableWrite(now, write);
  };
  csr_.cq_context_ready = [this](Cycle now) { return cq_writer_.IsContextReady(now); };
  csr_.on_context_flip = [this](Cycle now, const spec::ContextFlip& flip) {
    desc_fetch_.OnContextFlip(now, flip);
    memory_check_.OnContextFlip(now, flip);
    requester_.OnContextFlip(now, flip);
    responder_.OnContextFlip(now, flip);
    net_filter_.OnContextFlip(now, flip);
    moderation_.OnContextFlip(now, flip);
    qp_control_.OnContextFlip(now, flip);
    tx_builder_.OnContextFlip(now, flip);
    read_responder_.OnContextFlip(now, flip);
    completer_.OnContextFlip(now, flip);
    cq_writer_.OnContextFlip(now, flip);
  };
  for (auto* on_parity_error :
       {&desc_fetch_.on_parity_error, &memory_check_.on_parity_error, &requester_.on_parity_error,
        &responder_.on_parity_error, &net_filter_.on_parity_error, &moderation_.on_parity_error,
        &qp_control_.on_parity_error, &tx_builder_.on_parity_error, &read_responder_.on_parity_error,
        &completer_.on_parity_error, &cq_writer_.on_parity_error}) {
    *on_parity_error = [this](Cycle at) { csr_.OnParityError(at); };
  }
  csr_.on_mailbox_fetch = [this](Cycle now, uint32_t offset) { mailbox_.OnFetch(now, offset); };
  csr_.on_mailbox_complete = [this](Cycle now, uint32_t bytes) { mailbox_.OnComplete(now, bytes); };
  csr_.on_window_write = [this](Cycle now, uint32_t word, uint32_t data) { mailbox_.OnWindowWrite(now, word, data); };
  csr_.read_window = [this](Cycle now, uint32_t word) { return mailbox_.ReadWindow(now, word); };
  cq_writer_.on_queue_stopped = [this](Cycle at, const spec::QueueFailure& failure) {
    mailbox_.OnQueueStopped(at, failure);
  };
  mailbox_.on_status = [this](Cycle now, const MailboxStatus& status) { csr_.OnMailboxStatus(now, status); };

  csr_.requester_load_out.Connect(requester_.load_in, csr_);
  csr_.responder_load_out.Connect(responder_.load_in, csr_);
  csr_.qp_order_out.Connect(qp_control_.qp_order_in, csr_);
  csr_.host_event_out.Connect(qp_control_.csr_event_in, csr_);
  rx_buffer_.on_drop = [this](Cycle now) { csr_.OnRxDrop(now); };
  rx_buffer_.on_verdict = [this](Cycle now, spec::RxVerdict verdict) { csr_.OnRxVerdict(now, verdict); };
  desc_fetch_.on_avail_event = [this](Cycle now, const spec::AvailEvent& event) {
    cq_writer_.OnAvailEvent(now, event);
  };
  desc_fetch_.on_window_violation = [this](Cycle now) { csr_.OnWindowViolation(now); };
}

void Nic::ConnectQueues() {
  auto& fetch = read_port_.fetch_request_in;
  auto& fetched = read_port_.fetched_out;
  desc_fetch_.index_request_out.Connect(fetch[kFetchIndex], desc_fetch_);
  desc_fetch_.ring_request_out.Connect(fetch[kFetchRing], desc_fetch_);
  desc_fetch_.descriptor_request_out.Connect(fetch[kFetchDescriptor], desc_fetch_);
  send_queue_.fetch_request_out.Connect(fetch[kFetchWorkRequest], send_queue_);
  requester_.fetch_request_out.Connect(fetch[kFetchElement], requester_);
  recv_queue_.fetch_request_out.Connect(fetch[kFetchReceive], recv_queue_);
  mailbox_.fetch_request_out.Connect(fetch[kFetchMailbox], mailbox_);
  fetched[kFetchIndex].Connect(desc_fetch_.index_fetched_in, read_port_);
  fetched[kFetchRing].Connect(desc_fetch_.ring_fetched_in, read_port_);
  fetched[kFetchDescriptor].Connect(desc_fetch_.descriptor_fetched_in, read_port_);
  fetched[kFetchWorkRequest].Connect(send_queue_.fetched_in, read_port_);
  fetched[kFetchElement].Connect(requester_.fetched_in, read_port_);
  fetched[kFetchReceive].Connect(recv_queue_.fetched_in, read_port_);
  fetched[kFetchMailbox].Connect(mailbox_.fetched_in, read_port_);
  desc_fetch_.table_request_out.Connect(fetch[kFetchTable], desc_fetch_);
  fetched[kFetchTable].Connect(desc_fetch_.table_fetched_in, read_port_);
  cq_writer_.fetch_request_out.Connect(fetch[kFetchSuppression], cq_writer_);
  fetched[kFetchSuppression].Connect(cq_writer_.fetched_in, read_port_);
  cq_writer_.doorbell_out.Connect(notify_.internal_in, cq_writer_);

  auto& request = desc_fetch_.buffer_request_in;
  auto& buffer = desc_fetch_.buffer_out;
  send_queue_.buffer_request_out.Connect(request[Client(spec::BufferClient::kSend)], send_queue_);
  recv_queue_.buffer_request_out.Connect(request[Client(spec::BufferClient::kReceive)], recv_queue_);
  cq_writer_.buffer_request_out.Connect(request[Client(spec::BufferClient::kCompletion)], cq_writer_);
  mailbox_.buffer_request_out.Connect(request[Client(spec::BufferClient::kControl)], mailbox_);
  buffer[Client(spec::BufferClient::kSend)].Connect(send_queue_.buffer_in, desc_fetch_);
  buffer[Client(spec::BufferClient::kReceive)].Connect(recv_queue_.buffer_in, desc_fetch_);
  buffer[Client(spec::BufferClient::kCompletion)].Connect(cq_writer_.buffer_in, desc_fetch_);
  buffer[Client(spec::BufferClient::kControl)].Connect(mailbox_.buffer_in, desc_fetch_);

  cq_writer_.store_out.Connect(write_port_.store_in[kStoreCqWriter], cq_writer_);
  mailbox_.store_out.Connect(write_port_.store_in[kStoreMailbox], mailbox_);
  completer_.completion_out.Connect(completions_.in[kCompletionCompleter], completer_);
  mailbox_.completion_out.Connect(completions_.in[kCompletionMailbox], mailbox_);
  rx_scatter_.completion_out.Connect(completions_.in[kCompletionScatter], rx_scatter_);
  completions_.out.Connect(cq_writer_.completion_in, completions_);
  qp_control_.host_event_out.Connect(cq_writer_.host_event_in, qp_control_);
  desc_fetch_.queue_failure_out.Connect(queue_failures_.in[0], desc_fetch_);
  cq_writer_.queue_failure_out.Connect(queue_failures_.in[1], cq_writer_);
  queue_failures_.out.Connect(qp_control_.desc_fetch_failure_in, queue_failures_);
  send_queue_.queue_failure_out.Connect(work_failures_.in[0], send_queue_);
  recv_queue_.queue_failure_out.Connect(work_failures_.in[1], recv_queue_);
  mailbox_.queue_failure_out.Connect(work_failures_.in[4], mailbox_);
  work_failures_.out.Connect(qp_control_.work_failure_in, work_failures_);
}

void Nic::ConnectQueuePairs() {
  qp_control_.on_qp_state_write = [this](Cycle now, const spec::QpStateWrite& write) {
    csr_.OnQpStateWrite(now, write);
    send_queue_.OnQpStateWrite(now, write);
    requester_.OnQpStateWrite(now, write);
    completer_.OnQpStateWrite(now, write);
    tx_builder_.OnQpStateWrite(now, write);
    recv_queue_.OnQpStateWrite(now, write);
    responder_.OnQpStateWrite(now, write);
    rx_scatter_.OnQpStateWrite(now, write);
    read_responder_.OnQpStateWrite(now, write);
    atomic_.OnQpStateWrite(now, write);
    qp_sweep_.OnQpStateWrite(now, write);
  };
  qp_control_.on_qp_done = [this](Cycle now, const spec::QpDone& done) { csr_.OnQpDone(now, done); };
  send_queue_.on_qp_sends = [this](Cycle now, const spec::QpSends& sends) {
    qp_control_.OnQpSends(now, sends);
    csr_.OnQpSends(now, sends);
  };
  responder_.on_queue_rung = [this](Cycle now, const spec::QueueRung& rung) { recv_queue_.OnQueueRung(now, rung); };
  memory_check_.on_binding = [this](Cycle at, const spec::MrBinding& binding) { csr_.OnMrBinding(at, binding); };
  requester_.on_next_psn = [this](Cycle now, const spec::QpPsn& psn) { csr_.OnNextPsn(now, psn); };
  responder_.on_expected_psn = [this](Cycle now, const spec::QpPsn& psn) {
    csr_.OnExpectedPsn(now, psn);
    qp_sweep_.OnExpectedPsn(psn);
  };

  send_queue_.work_request_out.Connect(requester_.work_request_in, send_queue_);
  requester_.memory_check_out.Connect(memory_check_.check_in[MemoryCheck::kRequester], requester_);
  using spec::KeySide;
  for (const auto& [on_grant_ended, side] :
       {std::pair(&requester_.on_grant_ended, KeySide::kSent), std::pair(&tx_gather_.on_grant_ended, KeySide::kSent),
        std::pair(&atomic_.on_grant_ended, KeySide::kSent), std::pair(&responder_.on_grant_ended, KeySide::kReceived),
        std::pair(&rx_scatter_.on_grant_ended, KeySide::kReceived)}) {
    *on_grant_ended = [this, side = side](Cycle now, Cycle at, const spec::MemoryGrant& grant) {
      memory_check_.OnGrantEnded(now, at, side, grant);
    };
  }
  rx_scatter_.key_fence = completer_.key_fence = [this](Cycle now) { return memory_check_.FenceState(now); };
  rx_scatter_.on_fence_wait = [this](Cycle at) { memory_check_.Wait(KeySide::kSent, at); };
  completer_.on_fence_wait = [this](Cycle at) {
    memory_check_.Wait(KeySide::kSent, at);
    memory_check_.Wait(KeySide::kReceived, at);
  };
  csr_.memory_fence = [this](Cycle now) { return memory_check_.IsFencing(now); };
  csr_.queue_fence = [this](Cycle now) { return desc_fetch_.IsFencing(now) || cq_writer_.IsFencing(now); };
  responder_.memory_check_out.Connect(memory_check_.check_in[MemoryCheck::kResponder], responder_);
  read_responder_.memory_check_out.Connect(memory_check_.check_in[MemoryCheck::kReadResponder], read_responder_);
  memory_check_.place_out[MemoryCheck::kRequester].Connect(requester_.memory_place_in, memory_check_);
  memory_check_.place_out[MemoryCheck::kResponder].Connect(responder_.memory_place_in, memory_check_);
  memory_check_.place_out[MemoryCheck::kReadResponder].Connect(read_responder_.memory_place_in, memory_check_);
  requester_.job_out.Connect(tx_gather_.job_in, requester_);
  tx_gather_.on_room = [this](Cycle now, size_t input) {
    if (input == 0) return requester_.OnRoom(now);
    read_responder_.OnRoom(now);
  };
  requester_.on_room_used = [this](Cycle at) { tx_gather_.OnRoomUsed(at, 0); };
  requester_.on_room_unused = [this](Cycle at) { tx_gather_.OnRoomUnused(at); };
  read_responder_.on_room_used = [this](Cycle at) { tx_gather_.OnRoomUsed(at, 1); };
  requester_.record_out.Connect(completer_.record_in, requester_);
  requester_.read_record_out.Connect(responder_.read_record_in, requester_);
  completer_.replay_out.Connect(send_queue_.replay_in, completer_);
  completer_.on_qp_hold = [this](Cycle now, const spec::QpHold& hold) {
    requester_.OnQpHold(now, hold);
    tx_builder_.OnQpHold(now, hold);
  };
  completer_.on_qp_reads = [this](Cycle now, const spec::QpReads& reads) { requester_.OnQpReads(now, reads); };
  requester_.on_work_ends = [this](Cycle now, const WorkEnds& ends) { completer_.OnWorkEnds(now, ends); };
  tx_gather_.on_packet_read = [this](Cycle at) {
    completer_.OnPacketRead(at);
    packet_reads_.push_back(at);
  };
  completer_.timer_set_out.Connect(retry_timer_.timer_set_in, completer_);
  retry_timer_.timer_expired_out.Connect(completer_.timer_expired_in, retry_timer_);
  completer_.retired_out.Connect(send_queue_.retired_in, completer_);
  requester_.on_resent = [this](Cycle now) { csr_.OnRetransmission(now); };
  requester_.failure_out.Connect(send_failures_.in[0], requester_);
  tx_gather_.failed_out.Connect(send_failures_.in[1], tx_gather_);
  send_failures_.out.Connect(qp_control_.requester_failure_in, send_failures_);
  completer_.failure_out.Connect(qp_control_.completer_failure_in, completer_);
  responder_.failure_out.Connect(request_failures_.in[0], responder_);
  read_responder_.failure_out.Connect(request_failures_.in[1], read_responder_);
  rx_scatter_.failure_out.Connect(request_failures_.in[2], rx_scatter_);
  request_failures_.out.Connect(qp_control_.responder_failure_in, request_failures_);

  tx_gather_.read_request_out.Connect(read_port_.read_request_in[kReadGather], tx_gather_);
  tx_gather_.packet_out.Connect(tx_builder_.packet_in, tx_gather_);
  tx_gather_.sent_out.Connect(acks_.in[1], tx_gather_);
  tx_builder_.on_response_taken = [this](Cycle now) { read_responder_.OnResponseTaken(now); };
  tx_builder_.on_qp_sent = [this](Cycle now, const spec::QpSent& sent) { completer_.OnQpSent(now, sent); };
  rx_scatter_.answer_out.Connect(read_responder_.answer_in, rx_scatter_);
  read_responder_.packet_out.Connect(tx_builder_.answer_in, read_responder_);
  read_responder_.job_out.Connect(tx_gather_.response_in, read_responder_);
  read_responder_.atomic_out.Connect(atomic_.request_in, read_responder_);
  atomic_.result_out.Connect(read_responder_.result_in, atomic_);
  atomic_.fetch_request_out.Connect(read_port_.fetch_request_in[kFetchAtomic], atomic_);
  read_port_.fetched_out[kFetchAtomic].Connect(atomic_.fetched_in, read_port_);
  atomic_.store_out.Connect(write_port_.store_in[kStoreAtomic], atomic_);
  read_responder_.on_qp_reads = [this](Cycle now, const spec::QpReads& reads) { responder_.OnQpReads(now, reads); };
  rx_buffer_.frame_out.Connect(responder_.frame_in, rx_buffer_);
  responder_.receive_request_out.Connect(recv_queue_.receive_request_in, responder_);
  recv_queue_.receive_retry_out.Connect(responder_.receive_retry_in, recv_queue_);
  recv_queue_.receive_out.Connect(responder_.receive_in, recv_queue_);
  responder_.place_out.Connect(rx_scatter_.place_in, responder_);
  rx_scatter_.ack_out.Connect(acks_.in[0], rx_scatter_);
  acks_.out.Connect(completer_.ack_in, acks_);
  rx_scatter_.write_out.Connect(write_port_.write_in[kWriteScatter], rx_scatter_);
}

void Nic::ConnectSweep() {
  qp_control_.on_sweep = [this](Cycle from, bool sweep) { qp_sweep_.Set(from - 1, sweep); };
  qp_sweep_.on_stopped = [this](Cycle now, const QpStop& stop) {
    read_responder_.OnStopped(now, stop);
    tx_gather_.OnStopped(now, stop);
    tx_builder_.OnStopped(now, stop);
  };
  qp_sweep_.on_epoch = [this](Cycle now) { memory_check_.StartEpoch(now); };
  qp_sweep_.passages = {
      .start_acks = [this](Passage& passage) { passage.Start(acks_, kAckWire, false); },
      .advance_acks = [this](Passage& passage) { passage.Advance(acks_, kAckWire); },
      .ack_waits = [this] { return completer_.HasAck(); },
      .start_completions =
          [this](Passage& passage, size_t source) {
            const size_t input = kRdmaCompletions.at(source);
            passage.Start(completions_, input, input == kCompletionCompleter && completer_.HasCompletion());
          },
      .advance_completions = [this](Passage& passage,
                                    size_t source) { passage.Advance(completions_, kRdmaCompletions.at(source)); },
      .completion_waits = [this] { return cq_writer_.completion_in.size() != 0; },
  };
}

void Nic::ConnectNet() {
  auto& request = desc_fetch_.buffer_request_in;
  auto& buffer = desc_fetch_.buffer_out;
  net_tx_.buffer_request_out.Connect(request[Client(spec::BufferClient::kNetTransmit)], net_tx_);
  buffer[Client(spec::BufferClient::kNetTransmit)].Connect(net_tx_.buffer_in, desc_fetch_);
  net_tx_.job_out.Connect(net_gather_.job_in, net_tx_);
  net_gather_.read_request_out.Connect(read_port_.read_request_in[kReadNetGather], net_gather_);
  net_gather_.sent_out.Connect(net_tx_.sent_in, net_gather_);
  net_gather_.failed_out.Connect(net_tx_.failed_in, net_gather_);
  net_gather_.packet_out.Connect(net_checksum_.packet_in, net_gather_);
  net_tx_.completion_out.Connect(completions_.in[kCompletionNetTx], net_tx_);
  net_tx_.queue_failure_out.Connect(work_failures_.in[2], net_tx_);
  net_tx_.on_doorbell = [this](Cycle now, const spec::Doorbell& doorbell) { net_rx_.OnDoorbell(now, doorbell); };
  net_tx_.on_drop = [this](Cycle now) { csr_.OnNetTxDrop(now); };
  net_checksum_.on_drop = [this](Cycle now) { csr_.OnNetTxDrop(now); };

  rx_scatter_.net_sink = &net_filter_;
  net_filter_.frame_out.Connect(net_rx_.frame_in, net_filter_);
  net_filter_.on_drop = [this](Cycle now) { csr_.OnNetRxDrop(now); };
  net_filter_.on_filtered = [this](Cycle now) { csr_.OnNetRxFiltered(now); };
  net_rx_.buffer_request_out.Connect(request[Client(spec::BufferClient::kNetReceive)], net_rx_);
  buffer[Client(spec::BufferClient::kNetReceive)].Connect(net_rx_.buffer_in, desc_fetch_);
  net_rx_.write_out.Connect(write_port_.write_in[kWriteNetRx], net_rx_);
  net_rx_.completion_out.Connect(completions_.in[kCompletionNetRx], net_rx_);
  net_rx_.queue_failure_out.Connect(work_failures_.in[3], net_rx_);
  net_rx_.on_drop = [this](Cycle now) { csr_.OnNetRxDrop(now); };
}

void Nic::ApplySettings(Cycle from, const CsrSettings& settings) {
  CommonCfg::Inputs inputs{.profile = settings.profile ? spec::Profile::kVireo : spec::Profile::kRfcV2,
                           .needs_reset = settings.needs_reset,
                           .link_up = settings.link_up,
                           .announce = settings.announce,
                           .mtu = settings.mtu};
  for (size_t i = 0; i < inputs.mac.size(); ++i) inputs.mac[i] = static_cast<uint8_t>(settings.mac >> 8 * i);
  common_cfg_.SetInputs(from, inputs);
  if (settings.firmware_ready) common_cfg_.OnFirmwareReady(from);
  notify_.SetProfile(from, inputs.profile);
  send_queue_.SetExtensible(from, settings.profile);
  notify_.SetEnable(from, settings.datapath_enable);
  datapath_enable_ = settings.datapath_enable;
  ApplyEnable(from);
  pause_ = settings.pause;
  ApplyHold(from);
  responder_.SetEnable(from, settings.datapath_enable);
  tx_builder_.OnEnable(from, settings.datapath_enable);
  tx_builder_.OnMac(from, inputs.mac);
  responder_.SetMac(from, inputs.mac);
  net_filter_.SetMac(from, settings.mac);
  net_filter_.SetRxMode(from, settings.rx_mode);
  net_filter_.SetActivePairs(from, settings.active_pairs);
}

// During a reset no frame is accepted, or the device might never become idle.
void Nic::ApplyEnable(Cycle from) { rx_buffer_.SetEnable(from, datapath_enable_ && !resetting_); }

void Nic::ApplyHold(Cycle from) {
  send_queue_.SetHold(from, pause_);
  completer_.SetHold(from, pause_);
  read_responder_.SetHold(from, pause_);
  responder_.SetHold(from, pause_);
  net_tx_.SetHold(from, pause_);
  net_rx_.SetHold(from, pause_);
}

void Nic::ApplyLevels(Cycle from, const CommonCfg::Levels& levels) {
  constexpr auto kMq = static_cast<uint32_t>(spec::NetFeature::kMq);
  constexpr auto kMrgRxbuf = static_cast<uint32_t>(spec::NetFeature::kMrgRxbuf);
  constexpr auto kRingPacked = static_cast<uint32_t>(spec::VirtioFeature::kRingPacked);
  constexpr auto kRingEventIdx = static_cast<uint32_t>(spec::VirtioFeature::kRingEventIdx);
  constexpr auto kRingIndirectDesc = static_cast<uint32_t>(spec::VirtioFeature::kRingIndirectDesc);
  csr_.SetDeviceStatus(from, levels.device_status);
  csr_.SetDriverFeatures(from, levels.driver_features);
  notify_.SetResetting(from, levels.resetting);
  resetting_ = levels.resetting;
  ApplyEnable(from);
  const auto has = [&](uint32_t bit) { return (levels.driver_features[bit / 32] >> bit % 32 & 1) != 0; };
  const bool mq = has(kMq);
  notify_.SetMq(from, mq);
  // These still finish work of the previous driver instance when a reset has cleared the features.
  if (levels.resetting) return;
  send_queue_.SetMq(from + 1, mq);
  completer_.SetMq(from + 1, mq);
  recv_queue_.SetMq(from + 1, mq);
  responder_.SetMq(from + 1, mq);
  const bool packed = has(kRingPacked);
  desc_fetch_.SetRingPacked(from + 1, packed);
  cq_writer_.SetRingPacked(from + 1, packed);
  recv_queue_.SetRingPacked(from + 1, packed);
  const bool event_idx = has(kRingEventIdx);
  desc_fetch_.SetEventIdx(from + 1, event_idx);
  cq_writer_.SetEventIdx(from + 1, event_idx);
  desc_fetch_.SetIndirect(from + 1, has(kRingIndirectDesc));
  net_rx_.SetMrgRxbuf(from + 1, has(kMrgRxbuf));
  rx_buffer_.SetRoce(from + 1, levels.roce);
}

void Nic::OnBar(Cycle now, const spec::BarAccess& access) {
  common_cfg_.OnBar(now, access);
  notify_.OnBar(now, access);
  msix_.OnBar(now, access);
}

void Nic::SetControls(Cycle now, const Controls& controls) {
  msix_.SetControl(now, controls.msix_enable, controls.msix_mask, controls.bus_master);
  read_port_.max_read_request_size = controls.max_read_request_size;
  write_port_.max_payload_size = controls.max_payload_size;
}

void Nic::Run(Cycle cycle) {
  agenda_.Run(cycle);
  if (qp_sweep_.IsActive()) {
    if (qp_control_.IsSweeping()) qp_control_.SetSwept(cycle + 1, qp_sweep_.IsSwept());
    qp_sweep_.Advance(cycle, SweepState(cycle));
  } else if (packet_reads_.size() > kMostPacketReads) {
    CountPacketReads(cycle);
  }
  if (completer_.IsFencing()) {
    completer_.AdvanceFence({responder_.IsSettled(), responder_.places_begun(), rx_scatter_.places_ended()});
  }
  now_ = cycle;
}

bool Nic::IsQuiet() const {
  return send_queue_.IsIdle() && requester_.IsIdle() && completer_.IsIdle() && memory_check_.IsIdle() &&
         tx_gather_.IsIdle() && tx_builder_.IsIdle() && recv_queue_.IsIdle() && responder_.IsIdle() &&
         rx_scatter_.IsIdle() && read_responder_.IsIdle() && atomic_.IsIdle() && acks_.IsIdle() && net_tx_.IsIdle() &&
         net_gather_.IsIdle() && net_checksum_.IsIdle() && net_filter_.IsIdle() && net_rx_.IsIdle() &&
         completions_.IsIdle() && cq_writer_.IsIdle() && write_port_.IsIdle();
}

void Nic::CountPacketReads(Cycle now) {
  packets_read_ += std::erase_if(packet_reads_, [now](Cycle at) { return at <= now; });
}

QpSweep::State Nic::SweepState(Cycle now) {
  CountPacketReads(now);
  return {
      .send_queue_settled = send_queue_.IsSettled(),
      .requester_settled = requester_.IsSettled(),
      .responder_settled = responder_.IsSettled(),
      .read_responder_settled = read_responder_.IsSettled(),
      .completer_settled = completer_.IsSettled(),
      .fetches = {send_queue_.reads_begun(), send_queue_.reads_ended()},
      .entries = {requester_.entries_begun(), requester_.entries_ended()},
      .batches = {recv_queue_.batches_begun(), recv_queue_.batches_ended()},
      .packets = {requester_.packets_begun(), packets_read_},
      .responses = {read_responder_.responses_begun(), tx_gather_.responses_ended()},
      .places = {responder_.places_begun(), rx_scatter_.places_ended()},
      .memory_fence = memory_check_.IsFencing(now + 1),
  };
}

bool Nic::AreOthersIdle(Cycle now) {
  return IsQuiet() && read_port_.IsIdle() && common_cfg_.IsIdle() && notify_.IsIdle(now + 1) && msix_.IsIdle(now + 1) &&
         desc_fetch_.IsIdle() && qp_control_.IsIdle() && rx_buffer_.IsIdle(now) && interrupts_.IsIdle() &&
         queue_failures_.IsIdle() && work_failures_.IsIdle() && send_failures_.IsIdle() && request_failures_.IsIdle() &&
         retry_timer_.IsIdle() && moderation_.IsIdle();
}

}  // namespace vireo::model
