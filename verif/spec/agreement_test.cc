// SPDX-License-Identifier: Apache-2.0
// The SystemVerilog package and the C++ header are two implementations of one contract: here each checks the other. The
// Verilated codec module converts with the package's functions and types, the C++ side with Decode, Encode and Visit.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "Vspec_codec.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec_codec.h"

namespace vireo::verif {
namespace {

constexpr int kRoundsPerStruct = 100;

// Bits laid end to end, least significant bit of each field first.
class BitStream {
 public:
  explicit BitStream(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  void Put(uint64_t value, size_t bits) {
    for (size_t i = 0; i < bits; ++i, ++position_) {
      const auto bit = static_cast<uint8_t>((value >> i & 1) << position_ % 8);
      bytes_[position_ / 8] = static_cast<uint8_t>(bytes_[position_ / 8] | bit);
    }
  }
  uint64_t Get(size_t bits) {
    uint64_t value = 0;
    for (size_t i = 0; i < bits; ++i, ++position_) {
      value |= static_cast<uint64_t>(bytes_[position_ / 8] >> position_ % 8 & 1) << i;
    }
    return value;
  }
  size_t position() const { return position_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  size_t position_ = 0;
};

template <typename Port>
void Drive(Port& port, const std::vector<uint8_t>& bytes) {
  std::memset(&port, 0, sizeof(port));
  std::memcpy(&port, bytes.data(), bytes.size());
}

template <typename Port>
std::vector<uint8_t> Sample(const Port& port, size_t bytes) {
  std::vector<uint8_t> result(bytes);
  std::memcpy(result.data(), &port, bytes);
  return result;
}

template <typename T>
void CheckStruct(const char* name, uint16_t index, Vspec_codec& rtl, std::mt19937_64& random) {
  std::vector<uint8_t> bytes(T::kBytes), fields(T::kBytes);
  for (int round = 0; round < kRoundsPerStruct; ++round) {
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
    for (auto& byte : fields) byte = static_cast<uint8_t>(random());
    rtl.struct_i = index;
    Drive(rtl.bytes_i, bytes);
    Drive(rtl.fields_i, fields);
    rtl.eval();

    const T decoded = T::Decode(bytes.data());
    BitStream unpacked{std::vector<uint8_t>(T::kBytes)};
    T::Visit(decoded,
             [&](const char*, const auto& value, size_t bits) { unpacked.Put(static_cast<uint64_t>(value), bits); });
    ASSERT_EQ(unpacked.position(), T::kBytes * 8) << name << ": Visit leaves something out";
    ASSERT_EQ(unpacked.bytes(), Sample(rtl.fields_o, T::kBytes)) << "struct " << name << ": unpack differs";
    std::vector<uint8_t> encoded(T::kBytes);
    decoded.Encode(encoded.data());
    ASSERT_EQ(encoded, bytes) << "struct " << name << ": Encode does not undo Decode";

    T packed;
    BitStream source(fields);
    T::Visit(packed, [&](const char*, auto& value, size_t bits) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(source.Get(bits));
    });
    packed.Encode(encoded.data());
    ASSERT_EQ(encoded, Sample(rtl.bytes_o, T::kBytes)) << "struct " << name << ": pack differs";
  }
  std::vector<uint8_t> icrc_ones(T::kBytes);
  if constexpr (requires { T::kIcrcOnes; }) std::memcpy(icrc_ones.data(), T::kIcrcOnes, T::kBytes);
  ASSERT_EQ(icrc_ones, Sample(rtl.icrc_ones_o, T::kBytes)) << "struct " << name << ": ICRC mask differs";
}

class SpecAgreement : public testing::Test {
 protected:
  Vspec_codec rtl_;
};

TEST_F(SpecAgreement, EveryStructureConvertsTheSameBothWays) {
  uint16_t index = 0;
  spec::ForEachStruct([&]<typename T>(const char* name) {
    auto random = sim::MakeRandom(name);
    CheckStruct<T>(name, index++, rtl_, random);
  });
  EXPECT_GT(index, 0);
}

TEST_F(SpecAgreement, EveryNumberIsTheSame) {
  uint16_t index = 0;
  for (const auto& number : spec::kNumbers) {
    rtl_.number_i = index++;
    rtl_.eval();
    EXPECT_EQ(rtl_.number_o, number.value) << "number " << number.name << " differs";
  }
}

TEST_F(SpecAgreement, EveryOpcodeRowIsTheSame) {
  int valid = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    rtl_.opcode_i = static_cast<uint8_t>(opcode);
    rtl_.eval();
    BitStream row(Sample(rtl_.opcode_info_o, sizeof(rtl_.opcode_info_o)));
    spec::OpcodeInfo::Visit(spec::kOpcodeInfo[opcode], [&](const char* column, const auto& value, size_t bits) {
      EXPECT_EQ(row.Get(bits), static_cast<uint64_t>(value))
          << "opcode " << opcode << ", column " << column << " differs";
    });
    valid += spec::kOpcodeInfo[opcode].valid;
  }
  EXPECT_GT(valid, 0);
}

}  // namespace
}  // namespace vireo::verif
