// SPDX-License-Identifier: Apache-2.0
// The real firmware on the models of csr, mailbox and QP control: commands of a driver that lie in memory as
// descriptors, answered from there. Tests the interfaces between the three blocks as firmware uses them.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "firmware/app/firmware.h"
#include "model/ctrl/csr.h"
#include "model/ctrl/mailbox.h"
#include "model/rdma/qp_control.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using spec::IbQpState;
using spec::RdmaCtrlCmd;

constexpr spec::Config kConfig = spec::kNic1;
constexpr uint16_t kControlQueue = 2;
constexpr uint64_t kRequestAt = 0x10000;
constexpr uint64_t kResponseAt = 0x90000;

template <typename T>
std::vector<uint8_t> BytesOf(const T& value) {
  std::vector<uint8_t> bytes(T::kBytes);
  value.Encode(bytes.data());
  return bytes;
}

class Nic {
 public:
  Nic() {
    csr.requester_load_out.Connect(requester_load, csr);
    csr.responder_load_out.Connect(responder_load, csr);
    csr.qp_order_out.Connect(qp_control.qp_order_in, csr);
    csr.host_event_out.Connect(qp_control.csr_event_in, csr);
    qp_control.host_event_out.Connect(events, qp_control);
    mailbox.buffer_request_out.Connect(requests, mailbox);
    mailbox.fetch_request_out.Connect(fetches, mailbox);
    mailbox.store_out.Connect(stores, mailbox);
    mailbox.completion_out.Connect(completions, mailbox);
    mailbox.queue_failure_out.Connect(qp_control.work_failure_in, mailbox);
    csr.on_read = [this](Cycle, uint32_t data) { answer_ = data; };
    csr.on_table_write = [this](Cycle now, const spec::TableWrite& write) { qp_control.OnTableWrite(now, write); };
    csr.on_reset_done = [this](Cycle) { ++resets_done; };
    csr.on_queue_reset_done = [this](Cycle, uint16_t index) { queue_resets_done.push_back(index); };
    csr.on_mailbox_fetch = [this](Cycle now, uint32_t offset) { mailbox.OnFetch(now, offset); };
    csr.on_mailbox_complete = [this](Cycle now, uint32_t bytes) { mailbox.OnComplete(now, bytes); };
    csr.on_window_write = [this](Cycle now, uint32_t word, uint32_t data) { mailbox.OnWindowWrite(now, word, data); };
    csr.read_window = [this](Cycle now, uint32_t word) { return mailbox.ReadWindow(now, word); };
    csr.idle = [this] { return mailbox.IsIdle() && qp_control.IsIdle(); };
    mailbox.on_status = [this](Cycle now, const model::MailboxStatus& status) { csr.OnMailboxStatus(now, status); };
    qp_control.on_qp_state_write = [this](Cycle now, const spec::QpStateWrite& write) {
      csr.OnQpStateWrite(now, write);
    };
    qp_control.on_qp_done = [this](Cycle now, const spec::QpDone& done) { csr.OnQpDone(now, done); };
    csr.SetMacLink(0, true);
    qp_control.SetSwept(0, true);
    Run(5);
  }

  firmware::Csr MakeCsr() {
    return firmware::Csr(
        this, [](void* self, uint32_t offset) { return static_cast<Nic*>(self)->Read(offset); },
        [](void* self, uint32_t offset, uint32_t value) { static_cast<Nic*>(self)->Write(offset, value); });
  }
  uint32_t Read(uint32_t offset) {
    csr.OnAccess(now, false, static_cast<uint16_t>(offset), 0);
    answer_.reset();
    while (!answer_) Run(1);
    return *answer_;
  }
  void Write(uint32_t offset, uint32_t value) {
    csr.OnAccess(now, true, static_cast<uint16_t>(offset), value);
    Run(1);
  }
  // Host memory answers after some cycles.
  void Run(uint64_t cycles) {
    for (; cycles > 0; --cycles, ++now) {
      agenda.RunThrough(now);
      while (!requests.sent().empty()) {
        const auto request = requests.sent().front().token;
        requests.sent().pop_front();
        spec::Buffer buffer{.last = true, .vq_index = request.vq_index, .head = request.index};
        if (!request.by_index && ring_.empty()) {
          buffer.status = spec::BufferStatus::kEmpty;
        } else {
          if (!request.by_index) {
            chain_ = ring_.front();
            ring_.erase(ring_.begin());
          }
          const bool first = !request.by_index;
          buffer.address = first ? kRequestAt : kResponseAt;
          buffer.bytes = first ? chain_.first : chain_.second;
          buffer.writable = !first;
          buffer.more = first && chain_.second != 0;
        }
        mailbox.buffer_in.Push(now, buffer);
      }
      while (!fetches.sent().empty()) {
        const auto request = fetches.sent().front().token;
        fetches.sent().pop_front();
        spec::DmaFetched fetched{.tag = request.tag};
        for (size_t i = 0; i < request.bytes; ++i) fetched.data[i] = memory[request.address + i];
        mailbox.fetched_in.Push(now, fetched);
      }
      while (!stores.sent().empty()) {
        const auto store = stores.sent().front().token;
        stores.sent().pop_front();
        for (size_t i = 0; i < store.bytes; ++i) memory[store.address + i] = store.data[i];
        mailbox.OnStoreDone(now, {.tag = store.tag});
      }
    }
  }
  // A command of this length, and room for the response.
  void Post(const std::vector<uint8_t>& request, uint32_t room) {
    for (size_t i = 0; i < request.size(); ++i) memory[kRequestAt + i] = request[i];
    ring_.emplace_back(static_cast<uint32_t>(request.size()), room);
    mailbox.control_doorbell_in.Push(now, {kControlQueue});
  }

  Agenda agenda;
  Cycle now = 0;
  model::Csr csr{agenda, kConfig};
  model::Mailbox mailbox{agenda};
  model::QpControl qp_control{agenda, kConfig};
  Channel<spec::QpLoad> requester_load = Channel<spec::QpLoad>::Sink();
  Channel<spec::QpLoad> responder_load = Channel<spec::QpLoad>::Sink();
  Channel<spec::HostEvent> events = Channel<spec::HostEvent>::Sink();
  Channel<spec::BufferRequest> requests = Channel<spec::BufferRequest>::Sink();
  Channel<spec::DmaReadRequest> fetches = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::DmaStore> stores = Channel<spec::DmaStore>::Sink();
  Channel<spec::Completion> completions = Channel<spec::Completion>::Sink();
  std::map<uint64_t, uint8_t> memory;
  int resets_done = 0;
  std::vector<uint16_t> queue_resets_done;

 private:
  std::optional<uint32_t> answer_;
  std::vector<std::pair<uint32_t, uint32_t>> ring_;
  std::pair<uint32_t, uint32_t> chain_;
};

struct Bench {
  Bench() {
    EXPECT_TRUE(control.Start());
    BringUp();
  }
  void BringUp() {
    std::array<uint32_t, 4> features{};
    for (const uint32_t bit :
         {static_cast<uint32_t>(spec::VirtioFeature::kVersion1), static_cast<uint32_t>(spec::NetFeature::kCtrlVq),
          static_cast<uint32_t>(spec::VirtioFeature::kRingReset), uint32_t{constants.net_f_roce}}) {
      features[bit / 32] |= 1u << bit % 32;
    }
    nic.csr.SetDriverFeatures(nic.now, features);
    nic.csr.OnFeaturesWritten(nic.now);
    nic.csr.OnDriverOk(nic.now);
    nic.Run(1);
    Settle();
  }
  // As on the board: whenever the interrupt is raised.
  void Settle() {
    for (int i = 0; i < 1000; ++i) {
      nic.Run(100);
      const bool raised = nic.csr.FirmwareInterruptAt(nic.now);
      if (!control.Poll() && !raised) return;
    }
    ADD_FAILURE() << "the firmware never becomes idle";
  }
  // Ack and response.
  std::vector<uint8_t> Send(RdmaCtrlCmd command, const std::vector<uint8_t>& request = {}, uint32_t room = 256) {
    std::vector<uint8_t> bytes{constants.net_ctrl_class_roce, static_cast<uint8_t>(command)};
    bytes.insert(bytes.end(), request.begin(), request.end());
    const size_t before = nic.completions.sent().size();
    nic.Post(bytes, room);
    Settle();
    EXPECT_EQ(nic.completions.sent().size(), before + 1);
    if (nic.completions.sent().size() != before + 1) return {0xff};
    const auto used = nic.completions.sent().back().token;
    EXPECT_EQ(used.vq_index, kControlQueue);
    std::vector<uint8_t> answer;
    for (uint32_t i = 0; i < used.used_bytes; ++i) answer.push_back(nic.memory[kResponseAt + i]);
    return answer;
  }
  template <typename T>
  T Get(RdmaCtrlCmd command, const std::vector<uint8_t>& request = {}) {
    const auto answer = Send(command, request);
    EXPECT_EQ(answer[0], 0) << "refused";
    EXPECT_EQ(answer.size(), 1 + T::kBytes);
    return answer.size() == 1 + T::kBytes ? T::Decode(answer.data() + 1) : T{};
  }
  uint32_t CreateQp() {
    const uint32_t pdn = Get<spec::RdmaAckCreatePd>(RdmaCtrlCmd::kCreatePd).pdn;
    const uint32_t cqn =
        Get<spec::RdmaAckCreateCq>(RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 16})).cqn;
    const spec::RdmaCmdCreateQp request{
        .pdn = pdn,
        .qp_type = spec::IbQpType::kRc,
        .send_cqn = cqn,
        .recv_cqn = cqn,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0}};
    const uint32_t qpn = Get<spec::RdmaAckCreateQp>(RdmaCtrlCmd::kCreateQp, BytesOf(request)).qpn;
    const uint32_t first = kControlQueue + kConfig.num_cqs;
    for (const uint32_t index :
         {kControlQueue + spec::kRdmaCompleteqOffset + cqn, first + spec::kRdmaTransmitqOffset + 2 * qpn,
          first + spec::kRdmaReceiveqOffset + 2 * qpn}) {
      nic.csr.OnQueueRowWrite(nic.now, {.vq_index = static_cast<uint16_t>(index), .enabled = true, .queue_size = 64});
      nic.Run(1);
    }
    return qpn;
  }
  uint8_t ToInit(uint32_t qpn) {
    const spec::RdmaCmdModifyQp request{.qpn = qpn,
                                        .attr_mask = spec::IbQpAttrMask::kState | spec::IbQpAttrMask::kAccessFlags,
                                        .qp_state = IbQpState::kInit,
                                        .qp_access_flags = spec::IbAccessFlags::kRemoteRead};
    return Send(RdmaCtrlCmd::kModifyQp, BytesOf(request))[0];
  }
  IbQpState StateOf(uint32_t qpn) {
    return Get<spec::RdmaAckQueryQp>(RdmaCtrlCmd::kQueryQp, BytesOf(spec::RdmaCmdQueryQp{.qpn = qpn})).qp_state;
  }

  const spec::ProfileConstants& constants = spec::ConstantsOf(spec::Profile::kVireo);
  Nic nic;
  firmware::Firmware control{nic.MakeCsr(), firmware::Options{.max_polls = 1000}};
};

TEST(FirmwareOnControl, FindsTheDeviceAndReportsItsProperties) {
  Bench bench;
  const auto device = bench.Get<spec::RdmaAckQueryDevice>(RdmaCtrlCmd::kQueryDevice);
  EXPECT_EQ(device.max_mr, kConfig.num_mrs);
  EXPECT_EQ(device.max_pd, kConfig.num_pds);
  EXPECT_TRUE(bench.nic.csr.SettingsAt(bench.nic.now).datapath_enable);
  EXPECT_TRUE(bench.nic.csr.SettingsAt(bench.nic.now).link_up);
}

TEST(FirmwareOnControl, TakesAQpThroughItsLifetime) {
  Bench bench;
  const uint32_t qpn = bench.CreateQp();
  EXPECT_EQ(bench.StateOf(qpn), IbQpState::kReset);
  EXPECT_EQ(bench.ToInit(qpn), 0);
  EXPECT_EQ(bench.StateOf(qpn), IbQpState::kInit);
  EXPECT_NE(bench.ToInit(qpn + 1), 0);  // there is no such QP
  const auto destroy = BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn});
  EXPECT_EQ(bench.Send(RdmaCtrlCmd::kDestroyQp, destroy)[0], 0);
  EXPECT_NE(bench.Send(RdmaCtrlCmd::kDestroyQp, destroy)[0], 0);
  EXPECT_FALSE(bench.control.fatal());
}

TEST(FirmwareOnControl, ReadsAPageListOfManyWindows) {
  Bench bench;
  const uint32_t pdn = bench.Get<spec::RdmaAckCreatePd>(RdmaCtrlCmd::kCreatePd).pdn;
  constexpr uint32_t kPages = 200;
  auto request = BytesOf(
      spec::RdmaCmdRegUserMr{.pdn = pdn, .virt_addr = 0x7000'0000, .length = uint64_t{kPages} << 12, .npages = kPages});
  for (uint64_t page = 0; page < kPages; ++page) {
    const auto bytes = BytesOf(spec::TableTranslation{.address = (page * 7 + 1) << 12});
    request.insert(request.end(), bytes.begin(), bytes.end());
  }
  std::map<uint32_t, uint64_t> pages;
  bench.nic.csr.on_table_write = [&](Cycle now, const spec::TableWrite& write) {
    bench.nic.qp_control.OnTableWrite(now, write);
    if (write.table_id != spec::MgmtTable::kTranslation) return;
    pages[write.index] = spec::TableTranslation::Decode(write.data).address;
  };
  EXPECT_EQ(bench.Send(RdmaCtrlCmd::kRegUserMr, request)[0], 0);
  ASSERT_EQ(pages.size(), kPages);
  uint64_t page = 0;
  for (const auto& [index, address] : pages) EXPECT_EQ(address, (page++ * 7 + 1) << 12) << index;
}

TEST(FirmwareOnControl, EndsADeviceResetAndServesTheNextDriver) {
  Bench bench;
  const uint32_t qpn = bench.CreateQp();
  EXPECT_EQ(bench.ToInit(qpn), 0);
  bench.nic.csr.OnDeviceReset(bench.nic.now);
  bench.nic.mailbox.OnDeviceReset(bench.nic.now);
  bench.nic.Run(1);
  bench.Settle();
  EXPECT_EQ(bench.nic.resets_done, 1);
  EXPECT_FALSE(bench.nic.csr.SettingsAt(bench.nic.now).datapath_enable);
  bench.BringUp();
  EXPECT_EQ(bench.StateOf(bench.CreateQp()), IbQpState::kReset);
  EXPECT_FALSE(bench.control.fatal());
}

TEST(FirmwareOnControl, AcknowledgesAQueueResetAndFailsItsOwner) {
  Bench bench;
  const uint32_t qpn = bench.CreateQp();
  EXPECT_EQ(bench.ToInit(qpn), 0);
  const auto index = static_cast<uint16_t>(kControlQueue + kConfig.num_cqs + spec::kRdmaTransmitqOffset + 2 * qpn);
  bench.nic.csr.queue_reset_in.Push(bench.nic.now, {index});
  bench.Settle();
  EXPECT_EQ(bench.nic.queue_resets_done, std::vector<uint16_t>{index});
  EXPECT_EQ(bench.StateOf(qpn), IbQpState::kErr);
  ASSERT_FALSE(bench.nic.events.sent().empty());
  EXPECT_EQ(bench.nic.events.sent().back().token,
            (spec::HostEvent{spec::RdmaEventType::kQpFatal, qpn, static_cast<uint8_t>(spec::RdmaError::kQueueReset)}));
}

TEST(FirmwareOnControl, FailedDeviceNeedsAReset) {
  Bench bench;
  bench.nic.csr.OnParityError(bench.nic.now);
  bench.Settle();
  EXPECT_TRUE(bench.control.fatal());
  EXPECT_TRUE(bench.nic.csr.SettingsAt(bench.nic.now).needs_reset);
  bench.nic.csr.OnDeviceReset(bench.nic.now);
  bench.nic.mailbox.OnDeviceReset(bench.nic.now);
  bench.nic.Run(1);
  bench.Settle();
  EXPECT_FALSE(bench.nic.csr.SettingsAt(bench.nic.now).needs_reset);
  bench.BringUp();
  EXPECT_EQ(bench.StateOf(bench.CreateQp()), IbQpState::kReset);
}

}  // namespace
}  // namespace vireo::verif
