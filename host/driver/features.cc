// SPDX-License-Identifier: Apache-2.0
#include "host/driver/features.h"

namespace vireo::host {
namespace {

using spec::NetFeature;
using spec::VirtioFeature;

// True if this profile reuses the number of the virtio feature `bit`.
bool IsWithheld(uint8_t bit, spec::Profile profile) {
  return bit < 64 && (spec::ConstantsOf(profile).net_features_withheld >> bit & 1) != 0;
}

std::string NameOf(uint8_t bit, spec::Profile profile) {
  if (bit == spec::ConstantsOf(profile).net_f_roce) return "net_f_roce";
  const bool transport = bit >= spec::kVirtioFeatureDeviceLowEnd && bit < spec::kVirtioFeatureDeviceHigh;
  const char* name =
      transport ? spec::ToString(static_cast<VirtioFeature>(bit)) : spec::ToString(static_cast<NetFeature>(bit));
  return name != nullptr ? name : "bit_" + std::to_string(bit);
}

struct Requirement {
  Feature feature;
  Feature needs;  // one of these two
  Feature other;  // equal to `needs` if there is only one
};

// The contract (net.toml) states these as prose: "Requires …".
constexpr Requirement kRequirements[] = {
    {NetFeature::kGuestTso4, NetFeature::kGuestCsum, NetFeature::kGuestCsum},
    {NetFeature::kGuestTso6, NetFeature::kGuestCsum, NetFeature::kGuestCsum},
    {NetFeature::kGuestEcn, NetFeature::kGuestTso4, NetFeature::kGuestTso6},
    {NetFeature::kGuestUfo, NetFeature::kGuestCsum, NetFeature::kGuestCsum},
    {NetFeature::kGuestUso4, NetFeature::kGuestCsum, NetFeature::kGuestCsum},
    {NetFeature::kGuestUso6, NetFeature::kGuestCsum, NetFeature::kGuestCsum},
    {NetFeature::kHostTso4, NetFeature::kCsum, NetFeature::kCsum},
    {NetFeature::kHostTso6, NetFeature::kCsum, NetFeature::kCsum},
    {NetFeature::kHostEcn, NetFeature::kHostTso4, NetFeature::kHostTso6},
    {NetFeature::kHostUfo, NetFeature::kCsum, NetFeature::kCsum},
    {NetFeature::kHostUso, NetFeature::kCsum, NetFeature::kCsum},
    {NetFeature::kRscExt, NetFeature::kHostTso4, NetFeature::kHostTso6},
    {NetFeature::kCtrlRx, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kCtrlRxExtra, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kCtrlVlan, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kCtrlMacAddr, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kCtrlGuestOffloads, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kGuestAnnounce, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kMq, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kRss, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kRssContext, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kRssContext, NetFeature::kRss, NetFeature::kRss},
    {NetFeature::kHashReport, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kHashTunnel, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kHashTunnel, NetFeature::kRss, NetFeature::kHashReport},
    {NetFeature::kVqNotfCoal, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kNotfCoal, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
    {NetFeature::kDeviceStats, NetFeature::kCtrlVq, NetFeature::kCtrlVq},
};

}  // namespace

FeatureSet::FeatureSet(std::initializer_list<Feature> features) {
  for (const Feature feature : features) Add(feature);
}

uint32_t FeatureSet::Window(unsigned index) const {
  uint32_t window = 0;
  for (unsigned i = 0; i < kWindowBits; ++i) window |= static_cast<uint32_t>(bits_[index * kWindowBits + i]) << i;
  return window;
}

void FeatureSet::SetWindow(unsigned index, uint32_t bits) {
  for (unsigned i = 0; i < kWindowBits; ++i) bits_.set(index * kWindowBits + i, (bits >> i & 1) != 0);
}

FeatureSet FeatureSet::operator&(const FeatureSet& other) const {
  FeatureSet result = *this;
  result.bits_ &= other.bits_;
  return result;
}

FeatureSet FeatureSet::operator|(const FeatureSet& other) const {
  FeatureSet result = *this;
  result.bits_ |= other.bits_;
  return result;
}

FeatureSet FeatureSet::operator-(const FeatureSet& other) const {
  FeatureSet result = *this;
  result.bits_ &= ~other.bits_;
  return result;
}

std::string NamesOf(const FeatureSet& features, spec::Profile profile) {
  std::string names;
  for (unsigned bit = 0; bit < FeatureSet::kBits; ++bit) {
    if (!features.Has(Feature(static_cast<uint8_t>(bit)))) continue;
    if (!names.empty()) names += ' ';
    names += NameOf(static_cast<uint8_t>(bit), profile);
  }
  return names;
}

std::optional<UnmetRequirement> FindUnmetRequirement(const FeatureSet& features, spec::Profile profile) {
  for (const Requirement& row : kRequirements) {
    if (IsWithheld(row.feature.bit, profile) || !features.Has(row.feature)) continue;
    if (!features.Has(row.needs) && !features.Has(row.other))
      return UnmetRequirement{row.feature, {row.needs, row.other}};
  }
  const spec::ProfileConstants& constants = spec::ConstantsOf(profile);
  const Feature roce(constants.net_f_roce);
  if (!features.Has(roce)) return std::nullopt;
  for (const Feature needed : {Feature(VirtioFeature::kVersion1), Feature(NetFeature::kCtrlVq)}) {
    if (!features.Has(needed)) return UnmetRequirement{roce, {needed}};
  }
  if (constants.rdma_needs_ring_reset && !features.Has(VirtioFeature::kRingReset)) {
    return UnmetRequirement{roce, {VirtioFeature::kRingReset}};
  }
  return std::nullopt;
}

}  // namespace vireo::host
