// SPDX-License-Identifier: Apache-2.0
// Sets of feature bits, their names, and which bits need which others.
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "spec/gen/vireo_spec.h"

namespace vireo::host {

// The number of a feature bit. The RoCE bit has no enumerator, because it differs between profiles:
// Feature(constants.net_f_roce).
struct Feature {
  constexpr Feature(spec::NetFeature f) : bit(static_cast<uint8_t>(f)) {}     // NOLINT(google-explicit-constructor)
  constexpr Feature(spec::VirtioFeature f) : bit(static_cast<uint8_t>(f)) {}  // NOLINT(google-explicit-constructor)
  explicit constexpr Feature(uint8_t number) : bit(number) {}
  uint8_t bit;  // below spec::kVirtioFeatureBits
};

class FeatureSet {
 public:
  static constexpr unsigned kBits = spec::kVirtioFeatureBits;
  static constexpr unsigned kWindowBits = 32;  // as many as one access to the common configuration shows
  static constexpr unsigned kWindows = kBits / kWindowBits;

  FeatureSet() = default;
  FeatureSet(std::initializer_list<Feature> features);  // NOLINT(google-explicit-constructor)

  bool Has(Feature feature) const { return bits_[feature.bit]; }
  void Add(Feature feature) { bits_.set(feature.bit); }
  void Remove(Feature feature) { bits_.reset(feature.bit); }
  bool empty() const { return bits_.none(); }

  uint32_t Window(unsigned index) const;  // bits 32 * index and up
  void SetWindow(unsigned index, uint32_t bits);

  FeatureSet operator&(const FeatureSet& other) const;
  FeatureSet operator|(const FeatureSet& other) const;
  FeatureSet operator-(const FeatureSet& other) const;
  bool operator==(const FeatureSet&) const = default;

 private:
  std::bitset<kBits> bits_;
};

// "mac mrg_rxbuf net_f_roce": the contract's names in this profile, "bit_71" for what has none.
std::string NamesOf(const FeatureSet& features, spec::Profile profile);

struct UnmetRequirement {
  Feature feature;   // is in the set,
  FeatureSet needs;  // but none of these is
};

// The first feature of `features` that needs another one which is missing; none if the set is consistent. `profile`
// says what the bits mean that its RoCE extension took from virtio.
std::optional<UnmetRequirement> FindUnmetRequirement(const FeatureSet& features, spec::Profile profile);

}  // namespace vireo::host
