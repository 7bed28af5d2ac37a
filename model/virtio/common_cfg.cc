// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/common_cfg.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace vireo::model {
namespace {

using Common = spec::VirtioPciCommonCfg;
using DeviceStatus = spec::VirtioDeviceStatus;
using spec::NetFeature;
using spec::VirtioFeature;

bool Has(const CommonCfg::Features& features, uint32_t bit) { return (features[bit / 32] >> bit % 32 & 1) != 0; }
bool Has(const CommonCfg::Features& features, NetFeature feature) {
  return Has(features, static_cast<uint32_t>(feature));
}
bool Has(const CommonCfg::Features& features, VirtioFeature feature) {
  return Has(features, static_cast<uint32_t>(feature));
}

uint64_t WordAt(const uint8_t* bytes, uint32_t at) {
  uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) word |= uint64_t{bytes[at / 8 * 8 + i]} << 8 * i;
  return word;
}

bool InCommon(const spec::BarAccess& access) { return access.offset - spec::kBarVirtioCommonCfg < Common::kBytes; }

}  // namespace

CommonCfg::CommonCfg(Agenda& agenda, const spec::Config& config, uint32_t num_vectors)
    : Block(agenda),
      net_queue_pairs_(config.net_queue_pairs),
      num_cqs_(config.num_cqs),
      num_qps_(config.num_qps),
      max_queue_entries_(config.max_queue_entries),
      max_net_queue_entries_(std::min(config.max_net_queue_entries, config.max_queue_entries)),
      num_vectors_(num_vectors),
      features_withheld_(spec::FeaturesWithheld(config)),
      base_queues_(2 * config.net_queue_pairs + config.num_cqs + 2 * config.num_qps + spec::kRdmaEventqOffset),
      rows_(base_queues_ + spec::kVireoConstants.rdma_event_queues,
            Row{.size = static_cast<uint16_t>(max_queue_entries_)}),
      queue_reset_(agenda, rows_.size(),
                   [](Cycle, uint32_t index) { return spec::Doorbell{.vq_index = static_cast<uint16_t>(index)}; }) {
  queue_reset_.SetClear(0, true);
  WakeAt(0);
}

void CommonCfg::OnBar(Cycle now, const spec::BarAccess& access) {
  if (access.write && access.bar_index != spec::kBarVirtio) return;
  const unsigned bytes = access.bytes;
  const bool aligned = std::has_single_bit(bytes) && access.offset % bytes == 0;
  Access entry{.cycle = now, .access = access};
  entry.aligned = aligned && access.bar_index == spec::kBarVirtio;
  accesses_.push_back(entry);
  WakeAt(now + 1);
}

void CommonCfg::OnFirmwareReady(Cycle from) {
  if (started_ != kUnknown) return;
  started_ = from + 1;
  WakeAt(started_);
}

void CommonCfg::OnResetDone(Cycle now) {
  resets_done_.push_back(now);
  WakeAt(now + 1);
}

void CommonCfg::OnQueueResetDone(Cycle now, uint16_t vq_index) {
  if (vq_index >= rows_.size()) return;
  queue_resets_done_.push_back({.cycle = now, .queue = vq_index});
  WakeAt(now + 1);
}

void CommonCfg::SetInputs(Cycle now, const Inputs& inputs) {
  inputs_.Set(now + 1, inputs);
  WakeAt(now + 1);
}

CommonCfg::Features CommonCfg::Offered(const Registers& r) const {
  Features offered;
  std::copy(std::begin(spec::kOfferedFeatures), std::end(spec::kOfferedFeatures), offered.begin());
  const uint64_t withheld = profile(r).net_features_withheld | features_withheld_;
  offered[0] &= ~static_cast<uint32_t>(withheld);
  offered[1] &= ~static_cast<uint32_t>(withheld >> 32);
  const uint32_t roce = profile(r).net_f_roce;
  offered[roce / 32] |= uint32_t{1} << roce % 32;
  return offered;
}

bool CommonCfg::HasRoce(const Registers& r) const { return Has(r.accepted, uint32_t{profile(r).net_f_roce}); }

// virtio 1.3, 2.2.2 and 5.1.3.1; profiles.toml, net_f_roce.
bool CommonCfg::FeaturesAreGood(const Registers& r) const {
  const Features offered = Offered(r);
  for (size_t i = 0; i < offered.size(); ++i) {
    if ((r.accepted[i] & ~offered[i]) != 0) return false;
  }
  if (!Has(r.accepted, VirtioFeature::kVersion1)) return false;
  const bool roce = HasRoce(r);
  if ((roce || Has(r.accepted, NetFeature::kMq)) && !Has(r.accepted, NetFeature::kCtrlVq)) return false;
  return !roce || !profile(r).rdma_needs_ring_reset || Has(r.accepted, VirtioFeature::kRingReset);
}

uint64_t CommonCfg::CommonWord(const Registers& b, const Access& access) const {
  const Features offered = Offered(b);
  Common common;
  common.device_feature_select = b.device_select;
  if (b.device_select < offered.size()) common.device_feature = offered[b.device_select];
  common.driver_feature_select = b.driver_select;
  if (b.driver_select < b.accepted.size()) common.driver_feature = b.accepted[b.driver_select];
  common.config_msix_vector = b.config_vector;
  common.num_queues = static_cast<uint16_t>(QueuesOf(b));
  const bool needs_reset = b.resetting || b.shown.needs_reset;
  common.device_status = static_cast<uint8_t>(b.status | (needs_reset ? DeviceStatus::kDeviceNeedsReset : 0));
  common.config_generation = b.generation;
  common.queue_select = access.select;
  uint8_t bytes[Common::kBytes];
  common.Encode(bytes);
  return WordAt(bytes, access.access.offset - spec::kBarVirtioCommonCfg);
}

uint64_t CommonCfg::QueueWord(const Access& access) const {
  Common common;
  common.queue_size = access.row.size;
  common.queue_msix_vector = access.row.vector;
  common.queue_enable = access.row.enabled ? 1 : 0;
  common.queue_notify_off = access.select;
  common.queue_desc = access.row.desc;
  common.queue_driver = access.row.driver;
  common.queue_device = access.row.device;
  common.queue_reset = access.row.reset_toggle != access.done ? 1 : 0;
  uint8_t bytes[Common::kBytes];
  common.Encode(bytes);
  return WordAt(bytes, access.access.offset - spec::kBarVirtioCommonCfg);
}

uint64_t CommonCfg::DeviceWord(const Registers& b, uint32_t at) const {
  spec::NetConfig net;
  std::copy(b.shown.mac.begin(), b.shown.mac.end(), std::begin(net.mac));
  net.status = static_cast<uint16_t>((b.shown.link_up ? spec::NetStatus::kLinkUp : 0) |
                                     (b.shown.announce ? spec::NetStatus::kAnnounce : 0));
  net.max_virtqueue_pairs = static_cast<uint16_t>(net_queue_pairs_);
  net.mtu = b.shown.mtu;
  const spec::NetConfigRdma rdma{.max_rdma_qps = num_qps_, .max_rdma_cqs = num_cqs_};
  uint8_t bytes[spec::kVireoConstants.net_config_rdma_offset + spec::NetConfigRdma::kBytes] = {};
  net.Encode(bytes);
  rdma.Encode(bytes + profile(b).net_config_rdma_offset);
  return at < sizeof bytes ? WordAt(bytes, at) : 0;
}

uint32_t CommonCfg::MaxEntries(const Registers& r, uint16_t queue) const {
  const uint32_t pairs = Has(r.accepted, NetFeature::kMq) ? net_queue_pairs_ : uint32_t{spec::kNetMqVqPairsMin};
  return queue < 2 * pairs ? max_net_queue_entries_ : max_queue_entries_;
}

void CommonCfg::Stage1(const Registers& b, Registers& n, Access& access) {
  access.select = b.queue_select;
  access.exists = b.queue_select < QueuesOf(b);
  if (access.exists) access.done = rows_[access.select].done;
  const spec::BarAccess& bar = access.access;
  if (access.aligned && bar.write && !b.resetting && bar.bytes == 2 &&
      bar.offset == spec::kBarVirtioCommonCfg + Common::kQueueSelectOffset) {
    n.queue_select = static_cast<uint16_t>(bar.data);
  }
}

void CommonCfg::Stage2(Cycle now, const Registers& b, Registers& n, Access& access) {
  const spec::BarAccess& bar = access.access;
  if (access.exists) {
    access.row = rows_[access.select];
    // Which queues are net queues depends on a feature, which is not known when the default is stored.
    access.row.size = static_cast<uint16_t>(std::min<uint32_t>(access.row.size, MaxEntries(b, access.select)));
  }
  if (!access.aligned) return;
  if (bar.write) {
    if (InCommon(bar) && !b.resetting) WriteCommon(now, b, n, access);
    return;
  }
  if (InCommon(bar)) access.word = CommonWord(b, access);
  if (bar.offset == spec::kBarVirtioIsrCfg) {
    access.word = b.isr ? spec::VirtioIsr::kDeviceConfig : 0;
    n.isr = false;
  }
  const uint32_t at = bar.offset - spec::kBarVirtioDeviceCfg;
  if (at < spec::kBarVirtioCfgBytes) access.word = DeviceWord(b, at);
}

void CommonCfg::WriteCommon(Cycle now, const Registers& b, Registers& n, Access& access) {
  const spec::BarAccess& bar = access.access;
  const uint32_t at = bar.offset - spec::kBarVirtioCommonCfg;
  const auto value = static_cast<uint32_t>(bar.data);
  const bool set_up = b.status != 0;
  const auto hits = [&](size_t field, unsigned bytes) { return at == field && bar.bytes == bytes; };
  if (hits(Common::kDeviceFeatureSelectOffset, 4)) n.device_select = value;
  if (hits(Common::kDriverFeatureSelectOffset, 4)) n.driver_select = value;
  if (hits(Common::kDriverFeatureOffset, 4) && set_up && b.driver_select < n.accepted.size() &&
      (b.status & DeviceStatus::kFeaturesOk) == 0) {
    n.accepted[b.driver_select] = value;
  }
  if (hits(Common::kConfigMsixVectorOffset, 2) && set_up) {
    const auto vector = static_cast<uint16_t>(value);
    n.config_vector = vector < num_vectors_ ? vector : spec::kVirtioMsiNoVector;
  }
  if (hits(Common::kDeviceStatusOffset, 1)) {
    const auto written = static_cast<uint8_t>(value);
    if (written != 0) {
      n.status = static_cast<uint8_t>(
          b.status | (written & (DeviceStatus::kAcknowledge | DeviceStatus::kDriver | DeviceStatus::kFailed)));
      if ((written & DeviceStatus::kFeaturesOk) != 0 && (n.status & DeviceStatus::kDriver) != 0 && FeaturesAreGood(b)) {
        n.status |= DeviceStatus::kFeaturesOk;
      }
      if ((written & DeviceStatus::kDriverOk) != 0 && (n.status & DeviceStatus::kFeaturesOk) != 0) {
        n.status |= DeviceStatus::kDriverOk;
      }
      const auto added = static_cast<uint8_t>(n.status & ~b.status);
      n.features_written = (added & DeviceStatus::kFeaturesOk) != 0;
      n.driver_ok = (added & DeviceStatus::kDriverOk) != 0;
    } else if (b.status != 0 || b.shown.needs_reset) {
      n.device_reset = true;
    }
  }
  if (set_up && access.exists) WriteQueue(now, b, access, at, bar.bytes);
}

void CommonCfg::WriteQueue(Cycle now, const Registers& b, Access& access, uint32_t at, unsigned bytes) {
  Row& row = rows_[access.select];
  if (row.reset_toggle != access.done) return;
  const auto value = static_cast<uint32_t>(access.access.data);
  const auto value16 = static_cast<uint16_t>(value);
  const auto hits = [&](size_t field, unsigned width) { return at == field && bytes == width; };
  if (hits(Common::kQueueResetOffset, 2) && value16 == 1 && (b.status & DeviceStatus::kFeaturesOk) != 0 &&
      Has(b.accepted, VirtioFeature::kRingReset)) {
    row = Row{.reset_toggle = !row.reset_toggle, .done = row.done, .size = static_cast<uint16_t>(max_queue_entries_)};
    access.change = RowChange::kOff;
    queue_reset_.Push(now, access.select);
    return;
  }
  if (row.enabled) return;
  const auto half = [&](uint64_t& field, size_t offset) {
    if (hits(offset, 4)) field = (field & ~uint64_t{0xffff'ffff}) | value;
    if (hits(offset + 4, 4)) field = (field & 0xffff'ffff) | uint64_t{value} << 32;
  };
  // virtio 1.3, 2.7: a power of 2, except for packed rings (2.8.10.1). An invalid size is ignored.
  if (hits(Common::kQueueSizeOffset, 2) && value16 != 0 && value16 <= MaxEntries(b, access.select) &&
      (std::has_single_bit(value16) || Has(b.accepted, VirtioFeature::kRingPacked))) {
    row.size = value16;
  }
  if (hits(Common::kQueueMsixVectorOffset, 2)) {
    row.vector = value16 < num_vectors_ ? value16 : spec::kVirtioMsiNoVector;
  }
  half(row.desc, Common::kQueueDescOffset);
  half(row.driver, Common::kQueueDriverOffset);
  half(row.device, Common::kQueueDeviceOffset);
  if (hits(Common::kQueueEnableOffset, 2) && value16 == 1) {
    row.enabled = true;
    access.change = RowChange::kOn;
  }
}

void CommonCfg::Stage3(Cycle now, Registers& n, const Access& access) {
  const spec::BarAccess& bar = access.access;
  while (!other_data_.empty() && other_data_.front().at < now) other_data_.pop_front();
  if (!bar.write) {
    uint64_t word = access.word;
    if (access.aligned && access.exists && InCommon(bar)) word |= QueueWord(access);
    word >>= 8 * (bar.offset % 8);
    if (bar.bytes < 8 && std::has_single_bit(unsigned{bar.bytes})) word &= (uint64_t{1} << 8 * bar.bytes) - 1;
    n.read_valid = true;
    n.read_data = word;
    for (const OtherData& other : other_data_) {
      if (other.at == now) n.read_data |= other.data;
    }
  }
  if (access.change != RowChange::kNone) {
    n.row_valid = true;
    n.row = {.vq_index = access.select};
    if (access.change == RowChange::kOn) {
      n.row.enabled = true;
      n.row.queue_size = access.row.size;
      n.row.msix_vector = access.row.vector;
      n.row.queue_desc = access.row.desc;
      n.row.queue_driver = access.row.driver;
      n.row.queue_device = access.row.device;
    }
  }
}

void CommonCfg::Run(Cycle now) {
  if (r_.read_valid && on_read_data) on_read_data(now, r_.read_data);
  if (r_.row_valid && on_queue_row_write) on_queue_row_write(now, r_.row);
  if (r_.device_reset && on_device_reset) on_device_reset(now);
  if (r_.features_written && on_features_written) on_features_written(now);
  if (r_.driver_ok && on_driver_ok) on_driver_ok(now);

  // A pulse in the cycle in which a reset began belongs to an earlier reset.
  while (!resets_done_.empty() && resets_done_.front() < now) {
    if (resets_done_.front() != reset_at_) r_.firmware = false;
    resets_done_.pop_front();
  }
  const Registers b = r_;
  Registers n = b;
  n.read_valid = n.row_valid = n.device_reset = n.features_written = n.driver_ok = false;
  for (QueueResetDone& done : queue_resets_done_) {
    if (done.cycle + 1 == now) done.reset_toggle = rows_[done.queue].reset_toggle;
  }

  const bool sweep_step = b.sweep && !b.sweep_gap;
  n.sweep_gap = sweep_step;
  if (sweep_step) {
    n.row_valid = true;
    n.row = {.vq_index = static_cast<uint16_t>(b.sweep_queue)};
    n.sweep_queue = b.sweep_queue + 1;
    n.sweep = n.sweep_queue != rows_.size();
  } else if (!b.sweep && now >= msix_ready_ && now >= started_ && b.resetting && !b.firmware && !b.interrupt_valid &&
             !queue_reset_.IsWaiting(now)) {
    n.resetting = false;
  }

  for (Access& access : accesses_) {
    if (access.cycle + 3 == now) Stage3(now, n, access);
    if (access.cycle + 2 == now) Stage2(now, b, n, access);
    if (access.cycle + 1 == now) Stage1(b, n, access);
  }
  while (!accesses_.empty() && accesses_.front().cycle + 3 <= now) accesses_.pop_front();

  const Inputs& inputs = inputs_.At(now);
  Inputs compared = inputs;
  compared.needs_reset = b.shown.needs_reset;
  const bool changed = compared != b.shown;
  const bool event =
      (changed || (inputs.needs_reset && !b.shown.needs_reset)) && (b.status & DeviceStatus::kDriverOk) != 0;
  n.shown = inputs;
  n.generation = static_cast<uint8_t>(b.generation + (changed ? 1 : 0));
  if (event) n.isr = true;
  n.interrupt_pending = b.interrupt_pending || event;
  const bool taken = b.interrupt_valid && interrupt_out.CanPush(now);
  if (taken) {
    interrupt_out.Push(now, {.msix_vector = b.interrupt});
    n.interrupt_valid = false;
  }
  if (b.interrupt_pending && (!b.interrupt_valid || taken)) {
    n.interrupt_valid = b.config_vector != spec::kVirtioMsiNoVector;
    n.interrupt = b.config_vector;
    n.interrupt_pending = event;
  }

  if (n.device_reset) {
    n.queue_select = 0;
    n.device_select = n.driver_select = 0;
    n.accepted = {};
    n.status = 0;
    n.config_vector = spec::kVirtioMsiNoVector;
    n.isr = false;
    n.interrupt_pending = false;
    n.resetting = n.sweep = n.firmware = true;
    n.sweep_queue = 0;
    reset_at_ = now;
  }
  if (n.resetting != b.resetting) queue_reset_.SetClear(now + 1, n.resetting);

  while (!queue_resets_done_.empty() && queue_resets_done_.front().cycle + 2 <= now) {
    const QueueResetDone& done = queue_resets_done_.front();
    if (!b.resetting) rows_[done.queue].done = done.reset_toggle;
    queue_resets_done_.pop_front();
  }
  if (sweep_step) rows_[b.sweep_queue] = Row{.size = static_cast<uint16_t>(max_queue_entries_)};

  const Levels before{b.status, b.accepted, HasRoce(b), b.resetting};
  const Levels after{n.status, n.accepted, HasRoce(n), n.resetting};
  r_ = n;
  if (before != after && on_levels) on_levels(now + 1, after);

  const bool more = !accesses_.empty() || !queue_resets_done_.empty() || n.sweep || n.read_valid || n.row_valid ||
                    n.device_reset || n.features_written || n.driver_ok || changed || event ||
                    (n.interrupt_pending && !n.interrupt_valid) ||
                    (n.interrupt_valid && (taken || !b.interrupt_valid)) ||
                    (n.resetting && !n.firmware && started_ != kUnknown && !n.interrupt_valid);
  if (more) WakeAt(now + 1);
}

}  // namespace vireo::model
