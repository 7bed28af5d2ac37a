// SPDX-License-Identifier: Apache-2.0
#include "host/service/cm/messages.h"

#include <algorithm>
#include <type_traits>

namespace vireo::service::cm {
namespace {

// Encoder and decoder share one field list (Visit below), in wire order, most significant bit first.
class Writer {
 public:
  explicit Writer(std::span<uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  void Field(unsigned bits, const T& value) {
    const auto number = static_cast<uint64_t>(value);
    for (unsigned i = bits; i-- > 0; ++at_) {
      if ((number >> i & 1) != 0) bytes_[at_ / 8] |= static_cast<uint8_t>(0x80U >> at_ % 8);
    }
  }
  template <size_t kSize>
  void Bytes(const std::array<uint8_t, kSize>& value) {
    std::ranges::copy(value, bytes_.begin() + static_cast<std::ptrdiff_t>(at_ / 8));
    at_ += kSize * 8;
  }
  void Reserved(unsigned bits) { at_ += bits; }

 private:
  std::span<uint8_t> bytes_;  // zeros
  size_t at_ = 0;             // bits
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  void Field(unsigned bits, T& value) {
    uint64_t number = 0;
    for (unsigned i = 0; i < bits; ++i, ++at_) number = number << 1 | (bytes_[at_ / 8] >> (7 - at_ % 8) & 1U);
    value = static_cast<T>(number);
  }
  template <size_t kSize>
  void Bytes(std::array<uint8_t, kSize>& value) {
    std::ranges::copy(bytes_.subspan(at_ / 8, kSize), value.begin());
    at_ += kSize * 8;
  }
  void Reserved(unsigned bits) { at_ += bits; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

template <typename T, typename Wanted>
concept Is = std::is_same_v<std::remove_const_t<T>, Wanted>;

void Visit(auto& c, Is<MadHeader> auto& m) {
  c.Field(8, m.base_version);
  c.Field(8, m.mgmt_class);
  c.Field(8, m.class_version);
  c.Field(8, m.method);
  c.Field(16, m.status);
  c.Field(16, m.class_specific);
  c.Field(64, m.transaction_id);
  c.Field(16, m.attribute);
  c.Field(16, m.reserved);
  c.Field(32, m.attribute_modifier);
}

void Visit(auto& c, Is<ReqPath> auto& m) {
  c.Field(16, m.local_lid);
  c.Field(16, m.remote_lid);
  c.Bytes(m.local_gid);
  c.Bytes(m.remote_gid);
  c.Field(20, m.flow_label);
  c.Field(6, m.reserved);
  c.Field(6, m.packet_rate);
  c.Field(8, m.traffic_class);
  c.Field(8, m.hop_limit);
  c.Field(4, m.sl);
  c.Field(1, m.subnet_local);
  c.Reserved(3);
  c.Field(5, m.local_ack_timeout);
  c.Reserved(3);
}

void Visit(auto& c, Is<Req> auto& m) {
  c.Field(32, m.local_comm_id);
  c.Reserved(32);
  c.Field(64, m.service_id);
  c.Field(64, m.local_ca_guid);
  c.Reserved(32);
  c.Field(32, m.local_qkey);
  c.Field(24, m.local_qpn);
  c.Field(8, m.responder_resources);
  c.Field(24, m.local_eecn);
  c.Field(8, m.initiator_depth);
  c.Field(24, m.remote_eecn);
  c.Field(5, m.remote_cm_response_timeout);
  c.Field(2, m.transport_service);
  c.Field(1, m.flow_control);
  c.Field(24, m.starting_psn);
  c.Field(5, m.local_cm_response_timeout);
  c.Field(3, m.retry_count);
  c.Field(16, m.pkey);
  c.Field(4, m.path_mtu);
  c.Field(1, m.rdc_exists);
  c.Field(3, m.rnr_retry_count);
  c.Field(4, m.max_cm_retries);
  c.Field(1, m.srq);
  c.Field(3, m.extended_transport);
  Visit(c, m.primary);
  Visit(c, m.alternate);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<Mra> auto& m) {
  c.Field(32, m.local_comm_id);
  c.Field(32, m.remote_comm_id);
  c.Field(2, m.answered);
  c.Reserved(6);
  c.Field(5, m.service_timeout);
  c.Reserved(3);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<Rej> auto& m) {
  c.Field(32, m.local_comm_id);
  c.Field(32, m.remote_comm_id);
  c.Field(2, m.answered);
  c.Reserved(6);
  c.Field(7, m.info_length);
  c.Reserved(1);
  c.Field(16, m.reason);
  c.Bytes(m.info);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<Rep> auto& m) {
  c.Field(32, m.local_comm_id);
  c.Field(32, m.remote_comm_id);
  c.Field(32, m.local_qkey);
  c.Field(24, m.local_qpn);
  c.Reserved(8);
  c.Field(24, m.local_eecn);
  c.Reserved(8);
  c.Field(24, m.starting_psn);
  c.Reserved(8);
  c.Field(8, m.responder_resources);
  c.Field(8, m.initiator_depth);
  c.Field(5, m.target_ack_delay);
  c.Field(2, m.failover_accepted);
  c.Field(1, m.flow_control);
  c.Field(3, m.rnr_retry_count);
  c.Field(1, m.srq);
  c.Reserved(4);
  c.Field(64, m.local_ca_guid);
  c.Bytes(m.private_data);
}

template <typename T>
concept IsBare = Is<T, Rtu> || Is<T, Drep>;
void Visit(auto& c, IsBare auto& m) {
  c.Field(32, m.local_comm_id);
  c.Field(32, m.remote_comm_id);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<Dreq> auto& m) {
  c.Field(32, m.local_comm_id);
  c.Field(32, m.remote_comm_id);
  c.Field(24, m.remote_qpn);
  c.Reserved(8);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<SidrReq> auto& m) {
  c.Field(32, m.request_id);
  c.Field(16, m.pkey);
  c.Reserved(16);
  c.Field(64, m.service_id);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<SidrRep> auto& m) {
  c.Field(32, m.request_id);
  c.Field(8, m.status);
  c.Field(8, m.info_length);
  c.Reserved(16);
  c.Field(24, m.qpn);
  c.Reserved(8);
  c.Field(64, m.service_id);
  c.Field(32, m.qkey);
  c.Bytes(m.info);
  c.Bytes(m.private_data);
}

void Visit(auto& c, Is<IpHeader> auto& m) {
  c.Field(8, m.version);
  c.Field(4, m.ip_version);
  c.Reserved(4);
  c.Field(16, m.source_port);
  c.Bytes(m.source);
  c.Bytes(m.destination);
}

}  // namespace

std::optional<MadHeader> Parse(MadView mad) {
  MadHeader header;
  Reader reader(mad);
  Visit(reader, header);
  const MadHeader expected;
  if (header.base_version != expected.base_version || header.mgmt_class != expected.mgmt_class ||
      header.class_version != expected.class_version || header.method != expected.method) {
    return std::nullopt;
  }
  return header;
}

template <typename Message>
Mad Encode(const Message& message, uint64_t transaction_id) {
  Mad mad{};
  Writer writer(mad);
  const MadHeader header{.transaction_id = transaction_id, .attribute = Message::kAttribute};
  Visit(writer, header);
  Visit(writer, message);
  return mad;
}

template <typename Message>
Message Decode(MadView mad) {
  Message message;
  Reader reader(mad.subspan<MadHeader::kBytes>());
  Visit(reader, message);
  return message;
}

void Encode(const IpHeader& header, std::span<uint8_t, IpHeader::kBytes> bytes) {
  std::ranges::fill(bytes, uint8_t{0});
  Writer writer(bytes);
  Visit(writer, header);
}

IpHeader Decode(std::span<const uint8_t, IpHeader::kBytes> bytes) {
  IpHeader header;
  Reader reader(bytes);
  Visit(reader, header);
  return header;
}

template Mad Encode(const Req&, uint64_t);
template Mad Encode(const Mra&, uint64_t);
template Mad Encode(const Rej&, uint64_t);
template Mad Encode(const Rep&, uint64_t);
template Mad Encode(const Rtu&, uint64_t);
template Mad Encode(const Dreq&, uint64_t);
template Mad Encode(const Drep&, uint64_t);
template Mad Encode(const SidrReq&, uint64_t);
template Mad Encode(const SidrRep&, uint64_t);
template Req Decode(MadView);
template Mra Decode(MadView);
template Rej Decode(MadView);
template Rep Decode(MadView);
template Rtu Decode(MadView);
template Dreq Decode(MadView);
template Drep Decode(MadView);
template SidrReq Decode(MadView);
template SidrRep Decode(MadView);

}  // namespace vireo::service::cm
