// SPDX-License-Identifier: Apache-2.0
// Completions as they are read from memory: of this version of the format, of a device that has a later one, and of one
// that does not keep to it. And times of its clock as times of the host.
#include "host/verbs/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "host/verbs/clock_relation.h"

namespace vireo::verbs {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kTime = 0x1122'3344'5566'7788;
constexpr uint32_t kTimestamp = spec::RdmaCqElement::kTimestamp;

spec::RdmaCqBase Base(uint32_t elements) {
  return {.wr_id = 0x0123'4567'89ab'cdef,
          .status = spec::IbWcStatus::kRemAccessErr,
          .opcode = spec::IbWcOpcode::kRecvRdmaWithImm,
          .version = 1,
          .base_bytes = 40,
          .vendor_err = 0x0a0b'0c0d,
          .byte_len = 0x0102'0304,
          .imm_data = {1, 2, 3, 4},
          .qp_num = 0x11'2233,
          .src_qp = 0x44'5566,
          .wc_flags = spec::IbWcFlags::kWithImm,
          .elements = elements};
}
Bytes Entry(const spec::RdmaCqBase& base, const Bytes& behind) {
  Bytes bytes(spec::RdmaCqBase::kBytes);
  base.Encode(bytes.data());
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  return bytes;
}
Bytes Time(uint64_t time = kTime) {
  Bytes bytes(spec::RdmaCqTimestamp::kBytes);
  spec::RdmaCqTimestamp{.time_ns = time}.Encode(bytes.data());
  return bytes;
}
void ExpectBase(const Completion& completion) {
  const auto base = Base(0);
  EXPECT_EQ(static_cast<const spec::RdmaCqReq&>(completion), (spec::RdmaCqReq{.wr_id = base.wr_id,
                                                                              .status = base.status,
                                                                              .opcode = base.opcode,
                                                                              .vendor_err = base.vendor_err,
                                                                              .byte_len = base.byte_len,
                                                                              .imm_data = {1, 2, 3, 4},
                                                                              .qp_num = base.qp_num,
                                                                              .src_qp = base.src_qp,
                                                                              .wc_flags = base.wc_flags}));
}
void ExpectMisbehaved(const Bytes& bytes, bool is_extended = true) {
  const auto parsed = ParseCompletion(bytes, is_extended);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, host::ErrorCode::kMisbehaved);
}

TEST(Completion, PlainOneIsAsLongAsEver) {
  const spec::RdmaCqReq plain{.wr_id = 7, .byte_len = 9};
  Bytes bytes(spec::RdmaCqReq::kBytes);
  plain.Encode(bytes.data());
  const auto parsed = ParseCompletion(bytes, false);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(static_cast<const spec::RdmaCqReq&>(*parsed), plain);
  EXPECT_FALSE(parsed->timestamp_ns.has_value());
  bytes.pop_back();
  ExpectMisbehaved(bytes, false);
}

TEST(Completion, HasTheElementsThatItNames) {
  const auto with = ParseCompletion(Entry(Base(kTimestamp), Time()), true);
  ASSERT_TRUE(with.ok());
  ExpectBase(*with);
  EXPECT_EQ(with->timestamp_ns, kTime);
  // A device that has fewer than its driver knows.
  const auto without = ParseCompletion(Entry(Base(0), {}), true);
  ASSERT_TRUE(without.ok());
  ExpectBase(*without);
  EXPECT_FALSE(without->timestamp_ns.has_value());
}

// What neither this driver nor this device knows: a longer base, and elements with higher bits.
TEST(Completion, LaterVersionIsReadAsFarAsItIsKnown) {
  for (const uint8_t version : {uint8_t{2}, uint8_t{0xff}}) {
    for (const uint8_t longer : {uint8_t{0}, uint8_t{8}, uint8_t{24}}) {
      for (const uint32_t unknown : {0U, 2U, 0x8000'0000U, 0xffff'fffeU}) {
        for (const bool has_time : {false, true}) {
          auto base = Base(unknown | (has_time ? kTimestamp : 0));
          base.version = version;
          base.base_bytes = static_cast<uint8_t>(40 + longer);
          Bytes behind(longer, 0x5a);
          if (has_time) {
            const Bytes time = Time();
            behind.insert(behind.end(), time.begin(), time.end());
          }
          behind.insert(behind.end(), unknown == 0 ? 0 : 24, 0xa5);
          const auto parsed = ParseCompletion(Entry(base, behind), true);
          ASSERT_TRUE(parsed.ok()) << host::ToString(parsed.error());
          ExpectBase(*parsed);
          EXPECT_EQ(parsed->timestamp_ns, has_time ? std::optional(kTime) : std::nullopt);
        }
      }
    }
  }
}

TEST(Completion, EveryCutIsNoticed) {
  const Bytes whole = Entry(Base(kTimestamp), Time());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) ExpectMisbehaved(Bytes(whole.begin(), whole.begin() + bytes));
  auto base = Base(kTimestamp);
  base.version = 0;  // an rdma_cq_req
  ExpectMisbehaved(Entry(base, Time()));
  for (const unsigned base_bytes : {0U, 39U, 41U, 48U, 49U, 255U}) {
    base = Base(kTimestamp);
    base.base_bytes = static_cast<uint8_t>(base_bytes);  // no room for its timestamp, or no base
    ExpectMisbehaved(Entry(base, Time()));
  }
}

TEST(ClockRelation, TimesBetweenReadingsAreBetweenThem) {
  ClockRelation clock;
  EXPECT_TRUE(clock.is_empty());
  clock.Add(1000, 50'000);
  EXPECT_EQ(clock.ToHost(1000), 50'000U);
  clock.Add(2000, 70'000);  // a host that is 20 times as fast
  EXPECT_EQ(clock.ToHost(1000), 50'000U);
  EXPECT_EQ(clock.ToHost(1500), 60'000U);
  clock.Add(3000, 70'500);  // and half as fast
  clock.Add(4000, 80'000);
  uint64_t last = 0;
  for (uint64_t time = 1500; time <= 4100; time += 10) {
    const uint64_t host = clock.ToHost(time);
    EXPECT_GE(host, last);
    last = host;
    if (time == 2000) {
      EXPECT_EQ(host, 70'000U);
    }
    if (time == 2500) {
      EXPECT_EQ(host, 70'250U);
    }
  }
  EXPECT_EQ(last, 80'000U) << "no later than the last reading";
}

TEST(ClockRelation, TimesBeforeTheFirstReadingAreNotLater) {
  ClockRelation clock;
  clock.Add(1000, 50'000);
  EXPECT_EQ(clock.ToHost(900), 49'900U);
  clock.Add(1000, 51'000);  // at once
  EXPECT_EQ(clock.ToHost(1000), 51'000U);
  EXPECT_EQ(clock.ToHost(900), 50'000U);
}

}  // namespace
}  // namespace vireo::verbs
