// SPDX-License-Identifier: Apache-2.0
// The codecs against MADs recorded from two Linux hosts (rping, udaddy): every recorded bit is preserved, and fields
// set by the programs are at the offsets of the standard.
#include "host/service/cm/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/common/seed.h"
#include "verif/host/service/cm/recorded_mads.h"

namespace vireo::sim {
namespace {

using namespace service::cm;  // NOLINT(google-build-using-namespace): namespace under test

template <typename Message>
void ExpectKept(const Mad& mad) {
  EXPECT_EQ(Encode(Decode<Message>(mad), Parse(mad)->transaction_id), mad);
}
void ExpectKept(Attribute attribute, const Mad& mad) {
  switch (attribute) {
    case Attribute::kReq: return ExpectKept<Req>(mad);
    case Attribute::kMra: return ExpectKept<Mra>(mad);
    case Attribute::kRej: return ExpectKept<Rej>(mad);
    case Attribute::kRep: return ExpectKept<Rep>(mad);
    case Attribute::kRtu: return ExpectKept<Rtu>(mad);
    case Attribute::kDreq: return ExpectKept<Dreq>(mad);
    case Attribute::kDrep: return ExpectKept<Drep>(mad);
    case Attribute::kSidrReq: return ExpectKept<SidrReq>(mad);
    case Attribute::kSidrRep: return ExpectKept<SidrRep>(mad);
  }
}

TEST(CmMessages, RecordedMadsRoundTripExactly) {
  for (const char* const name : {"cm_rping.pcap", "cm_udaddy.pcap"}) {
    const auto mads = RecordedMads(name);
    ASSERT_GE(mads.size(), 5U) << name;
    for (const Mad& mad : mads) {
      const auto header = Parse(mad);
      ASSERT_TRUE(header.has_value());
      ExpectKept(header->attribute, mad);
    }
  }
}

// Values: as dissected by Wireshark.
TEST(CmMessages, FieldOffsetsMatchIbta) {
  const auto mads = RecordedMads("cm_rping.pcap");
  ASSERT_EQ(mads.size(), 7U);
  const auto req = Decode<Req>(mads[0]);
  EXPECT_EQ(req.local_comm_id, 0xed5d7844U);
  EXPECT_EQ(req.service_id, 0x0000'0000'0106'1c06U);
  EXPECT_EQ(req.local_ca_guid, 0x5054'00ff'fe77'0002U);
  EXPECT_EQ(req.local_qpn, 0x11U);
  EXPECT_EQ(req.responder_resources, 1U);
  EXPECT_EQ(req.initiator_depth, 1U);
  EXPECT_EQ(req.remote_cm_response_timeout, 0x14U);
  EXPECT_EQ(req.transport_service, 0U);
  EXPECT_EQ(req.starting_psn, 0x8a84e4U);
  EXPECT_EQ(req.local_cm_response_timeout, 0x14U);
  EXPECT_EQ(req.retry_count, 7U);
  EXPECT_EQ(req.pkey, 0xffffU);
  EXPECT_EQ(req.path_mtu, 3U);
  EXPECT_EQ(req.rnr_retry_count, 7U);
  EXPECT_EQ(req.max_cm_retries, 15U);
  EXPECT_EQ(req.primary.local_lid, 0xffffU);
  EXPECT_EQ(req.primary.local_gid, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 77, 2}));
  EXPECT_EQ(req.primary.remote_gid, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 77, 1}));
  // Bytes a2 df c0 00; Wireshark 4.0 reads these two fields at an offset one byte too high.
  EXPECT_EQ(req.primary.flow_label, 0xa2dfcU);
  EXPECT_EQ(req.primary.packet_rate, 0U);
  EXPECT_EQ(req.primary.hop_limit, 0x40U);
  EXPECT_EQ(req.primary.local_ack_timeout, 0x13U);
  const auto address = Decode(std::span(req.private_data).first<IpHeader::kBytes>());
  EXPECT_EQ(address.version, 0U);
  EXPECT_EQ(address.ip_version, 4U);
  EXPECT_EQ(address.source_port, 0xd74aU);
  EXPECT_EQ(address.source, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 168, 77, 2}));
  EXPECT_EQ(address.destination, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 168, 77, 1}));
  std::array<uint8_t, IpHeader::kBytes> bytes;
  Encode(address, bytes);
  EXPECT_TRUE(std::ranges::equal(bytes, std::span(req.private_data).first<IpHeader::kBytes>()));

  const auto rep = Decode<Rep>(mads[1]);
  EXPECT_EQ(rep.local_comm_id, 0x8d801539U);
  EXPECT_EQ(rep.remote_comm_id, 0xed5d7844U);
  EXPECT_EQ(rep.local_qpn, 0x11U);
  EXPECT_EQ(rep.starting_psn, 0xf8aa6cU);
  EXPECT_EQ(rep.responder_resources, 1U);
  EXPECT_EQ(rep.initiator_depth, 1U);
  EXPECT_EQ(rep.target_ack_delay, 0x0fU);
  EXPECT_EQ(rep.rnr_retry_count, 7U);
  EXPECT_EQ(rep.local_ca_guid, 0x5054'00ff'fe77'0001U);

  const auto rtu = Decode<Rtu>(mads[2]);
  EXPECT_EQ(rtu.local_comm_id, 0xed5d7844U);
  EXPECT_EQ(rtu.remote_comm_id, 0x8d801539U);
  EXPECT_EQ(Decode<Dreq>(mads[3]).remote_qpn, 0x11U);
  EXPECT_EQ(Decode<Drep>(mads[4]).local_comm_id, 0x8d801539U);
  const auto rej = Decode<Rej>(mads[6]);
  EXPECT_EQ(rej.local_comm_id, 0U);
  EXPECT_EQ(rej.remote_comm_id, 0xec5d7844U);
  EXPECT_EQ(rej.answered, Answered::kReq);
  EXPECT_EQ(rej.reason, RejectReason::kInvalidServiceId);
}

// Values: the bytes of the recorded frames, decoded by hand with the standard's table.
TEST(CmMessages, DatagramServices) {
  const auto mads = RecordedMads("cm_udaddy.pcap");
  ASSERT_GE(mads.size(), 2U);
  const auto req = Decode<SidrReq>(mads[0]);
  EXPECT_EQ(req.request_id, 0x3d7eeb60U);
  EXPECT_EQ(req.pkey, 0xffffU);
  EXPECT_EQ(req.service_id, 0x0000'0000'0111'1c06U);
  const auto rep = Decode<SidrRep>(mads[1]);
  EXPECT_EQ(rep.request_id, req.request_id);
  EXPECT_EQ(rep.status, SidrStatus::kValid);
  EXPECT_EQ(rep.service_id, req.service_id);
  EXPECT_EQ(rep.qpn, 0x11U);
  EXPECT_EQ(rep.qkey, 0x01234567U);
}

TEST(CmMessages, RandomBytesRoundTripExceptReservedBits) {
  auto random = MakeRandom("messages");
  for (int round = 0; round < 200; ++round) {
    Mad mad{};
    for (auto& byte : mad) byte = static_cast<uint8_t>(random() >> 32);
    // Encode and decode round-trip.
    const auto check = [&]<typename Message>(Message) {
      const Mad once = Encode(Decode<Message>(mad), 7);
      EXPECT_EQ(Encode(Decode<Message>(once), 7), once);
      EXPECT_EQ(Decode<Message>(once).private_data, Decode<Message>(mad).private_data);
      // Private data ends at the end of the MAD.
      EXPECT_EQ(Decode<Message>(mad).private_data.back(), mad.back());
    };
    check(Req{});
    check(Mra{});
    check(Rej{});
    check(Rep{});
    check(Rtu{});
    check(Dreq{});
    check(Drep{});
    check(SidrReq{});
    check(SidrRep{});
  }
}

TEST(CmMessages, OtherMadClassesAreRefused) {
  const Mad good = Encode(Rtu{}, 1);
  ASSERT_TRUE(Parse(good).has_value());
  for (size_t byte = 0; byte < 4; ++byte) {  // base version, class, class version, method
    Mad bad = good;
    bad.at(byte) = static_cast<uint8_t>(bad.at(byte) + 1);
    EXPECT_FALSE(Parse(bad).has_value()) << byte;
  }
}

}  // namespace
}  // namespace vireo::sim
