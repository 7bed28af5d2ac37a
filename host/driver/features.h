// SPDX-License-Identifier: Apache-2.0
// Feature bit sets, their names, and their dependencies.
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
  static constexpr unsigned kWindowBits = 32;  // of one access to the common configuration
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

// The contract's names in this profile, as in "mac mrg_rxbuf net_f_roce"; "bit_71" for a bit without a name.
std::string NamesOf(const FeatureSet& features, spec::Profile profile);

struct UnmetRequirement {
  Feature feature;   // a feature of the set
  FeatureSet needs;  // it requires one of these, none of which is in the set
};

// The first feature of `features` whose requirement is missing; none if the set is consistent. `profile` defines the
// meaning of the bits that its RoCE extension reuses.
std::optional<UnmetRequirement> FindUnmetRequirement(const FeatureSet& features, spec::Profile profile);

}  // namespace vireo::host
