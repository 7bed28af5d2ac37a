// SPDX-License-Identifier: Apache-2.0
// The wire format of communication management messages on QP 1: management datagrams (MADs) of 256 bytes. Sources: IBTA
// Architecture Specification vol. 1 (1.6), 13.4.3 (MAD header), 12.6 and 12.11 (messages), Annex A11 (the address
// header that RDMA IP CM puts in front of private data).
//
// They are not in spec/, because spec/ holds only numbers that two parts of Vireo share: the device does not parse
// MADs. The peer is Linux.
//
// Codecs check only the header (Parse); every other bit pattern is valid. Numbers are in host byte order, GIDs and
// private data as on the wire. Reserved bits are sent as 0 and ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace vireo::service::cm {

inline constexpr size_t kMadBytes = 256;
using Mad = std::array<uint8_t, kMadBytes>;
using MadView = std::span<const uint8_t, kMadBytes>;
using Gid = std::array<uint8_t, 16>;  // network order; IPv4 as ::ffff:a.b.c.d

// IBTA 12.6, table "CM attributes".
enum class Attribute : uint16_t {
  kReq = 0x10,
  kMra = 0x11,
  kRej = 0x12,
  kRep = 0x13,
  kRtu = 0x14,
  kDreq = 0x15,
  kDrep = 0x16,
  kSidrReq = 0x17,
  kSidrRep = 0x18,
};

// IBTA 12.6.7.2. Other values are passed through.
enum class RejectReason : uint16_t {
  kNoQp = 1,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupported = 5,
  kInvalidCommId = 6,
  kInvalidServiceId = 8,
  kStaleConnection = 10,
  kConsumer = 28,
  kVendorOption = 35,
};

// The message that a REJ or MRA answers.
enum class Answered : uint8_t { kReq = 0, kRep = 1, kOther = 2 };

// IBTA 12.11.2.
enum class SidrStatus : uint8_t { kValid = 0, kUnsupported = 1, kReject = 2, kNoQp = 3, kRedirect = 4, kVersion = 5 };

// Timeout encoding: 4.096 us times 2^n, n of 5 bits. [IBTA 12.7.3]
constexpr uint64_t TimeoutNs(uint8_t exponent) { return uint64_t{4096} << (exponent & 0x1f); }

// IBTA 13.4.3. The first three are constants that Parse checks.
struct MadHeader {
  static constexpr size_t kBytes = 24;
  uint8_t base_version = 1;
  uint8_t mgmt_class = 7;     // communication management
  uint8_t class_version = 2;  // of communication management
  uint8_t method = 3;         // Send()
  uint16_t status = 0;
  uint16_t class_specific = 0;
  uint64_t transaction_id = 0;
  Attribute attribute = Attribute::kReq;
  uint16_t reserved = 0;
  uint32_t attribute_modifier = 0;
};

inline constexpr size_t kMessageBytes = kMadBytes - MadHeader::kBytes;

// One path in a REQ. RoCE has no LIDs: permissive LIDs, 0xffff. [as Linux sends]
struct ReqPath {
  uint16_t local_lid = 0, remote_lid = 0;
  Gid local_gid{}, remote_gid{};
  uint32_t flow_label = 0;
  uint8_t reserved = 0;     // 6 bits
  uint8_t packet_rate = 0;  // 6 bits
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint8_t sl = 0;
  bool subnet_local = false;
  uint8_t local_ack_timeout = 0;  // 5 bits, TimeoutNs
};

struct Req {  // 12.6.5
  static constexpr Attribute kAttribute = Attribute::kReq;
  static constexpr size_t kPrivateBytes = 92;
  uint32_t local_comm_id = 0;
  uint64_t service_id = 0;
  uint64_t local_ca_guid = 0;
  uint32_t local_qkey = 0;
  uint32_t local_qpn = 0;
  uint8_t responder_resources = 0;
  uint32_t local_eecn = 0;
  uint8_t initiator_depth = 0;
  uint32_t remote_eecn = 0;
  uint8_t remote_cm_response_timeout = 0;  // 5 bits
  uint8_t transport_service = 0;           // 0 RC, 1 UC, 2 RD, 3 see extended_transport
  bool flow_control = false;
  uint32_t starting_psn = 0;
  uint8_t local_cm_response_timeout = 0;  // 5 bits
  uint8_t retry_count = 0;                // 3 bits
  uint16_t pkey = 0;
  uint8_t path_mtu = 0;  // spec::IbMtu
  bool rdc_exists = false;
  uint8_t rnr_retry_count = 0;  // 3 bits
  uint8_t max_cm_retries = 0;   // 4 bits
  bool srq = false;
  uint8_t extended_transport = 0;  // 3 bits
  ReqPath primary, alternate;
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct Mra {  // 12.6.6
  static constexpr Attribute kAttribute = Attribute::kMra;
  static constexpr size_t kPrivateBytes = 222;
  uint32_t local_comm_id = 0, remote_comm_id = 0;
  Answered answered = Answered::kReq;
  uint8_t service_timeout = 0;  // 5 bits
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct Rej {  // 12.6.7
  static constexpr Attribute kAttribute = Attribute::kRej;
  static constexpr size_t kPrivateBytes = 148, kInfoBytes = 72;
  uint32_t local_comm_id = 0, remote_comm_id = 0;  // 0: not known to the sender
  Answered answered = Answered::kReq;
  uint8_t info_length = 0;  // valid bytes of info, 7 bits
  RejectReason reason = RejectReason::kConsumer;
  std::array<uint8_t, kInfoBytes> info{};
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct Rep {  // 12.6.8
  static constexpr Attribute kAttribute = Attribute::kRep;
  static constexpr size_t kPrivateBytes = 196;
  uint32_t local_comm_id = 0, remote_comm_id = 0;
  uint32_t local_qkey = 0;
  uint32_t local_qpn = 0;
  uint32_t local_eecn = 0;
  uint32_t starting_psn = 0;
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t target_ack_delay = 0;  // 5 bits
  uint8_t failover_accepted = 0;
  bool flow_control = false;
  uint8_t rnr_retry_count = 0;
  bool srq = false;
  uint64_t local_ca_guid = 0;
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct Rtu {  // 12.6.9
  static constexpr Attribute kAttribute = Attribute::kRtu;
  static constexpr size_t kPrivateBytes = 224;
  uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct Dreq {  // 12.6.10
  static constexpr Attribute kAttribute = Attribute::kDreq;
  static constexpr size_t kPrivateBytes = 220;
  uint32_t local_comm_id = 0, remote_comm_id = 0;
  uint32_t remote_qpn = 0;
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct Drep {  // 12.6.11
  static constexpr Attribute kAttribute = Attribute::kDrep;
  static constexpr size_t kPrivateBytes = 224;
  uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct SidrReq {  // 12.11.1
  static constexpr Attribute kAttribute = Attribute::kSidrReq;
  static constexpr size_t kPrivateBytes = 216;
  uint32_t request_id = 0;
  uint16_t pkey = 0;
  uint64_t service_id = 0;
  std::array<uint8_t, kPrivateBytes> private_data{};
};

struct SidrRep {  // 12.11.2
  static constexpr Attribute kAttribute = Attribute::kSidrRep;
  static constexpr size_t kPrivateBytes = 136, kInfoBytes = 72;
  uint32_t request_id = 0;
  SidrStatus status = SidrStatus::kValid;
  uint8_t info_length = 0;
  uint32_t qpn = 0;
  uint64_t service_id = 0;
  uint32_t qkey = 0;
  std::array<uint8_t, kInfoBytes> info{};
  std::array<uint8_t, kPrivateBytes> private_data{};
};

// In front of the consumer's private data in REQ and SIDR_REQ. [Annex A11.6]
struct IpHeader {
  static constexpr size_t kBytes = 36;
  uint8_t version = 0;     // major and minor, 4 bits each
  uint8_t ip_version = 0;  // 4 or 6
  uint16_t source_port = 0;
  Gid source{}, destination{};  // IPv4 in the last 4 bytes, the others 0
};

// The header, if the MAD is a communication management MAD of the supported version; any attribute.
std::optional<MadHeader> Parse(MadView mad);

// Encodes a whole MAD with the attribute of Message.
template <typename Message>
Mad Encode(const Message& message, uint64_t transaction_id);
// Decodes the message after the header. The caller has checked that the attribute is that of Message.
template <typename Message>
Message Decode(MadView mad);

void Encode(const IpHeader& header, std::span<uint8_t, IpHeader::kBytes> bytes);
IpHeader Decode(std::span<const uint8_t, IpHeader::kBytes> bytes);

}  // namespace vireo::service::cm
