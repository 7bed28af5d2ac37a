// SPDX-License-Identifier: Apache-2.0
// Command dispatch: mailbox to handler and back.
#include "firmware/app/firmware.h"

namespace vireo::firmware {

template <typename Request, typename Response, spec::RdmaError (Firmware::*handler)(const Request&, Response&)>
constexpr Firmware::RoceCommand Firmware::Roce(uint64_t (*tail_bytes)(const uint8_t*)) {
  static_assert(Request::kBytes <= kRequestBytes && Response::kBytes <= kResponseBytes);
  return {.request_bytes = Request::kBytes,
          .response_bytes = Response::kBytes,
          .tail_bytes = tail_bytes,
          .handler = [](Firmware& self, const uint8_t* request, uint8_t* response) {
            Response result{};
            const Error error = (self.*handler)(Request::Decode(request), result);
            if (error == Error::kOk) result.Encode(response);
            return error;
          }};
}

template <typename Request, typename Response, bool (Firmware::*handler)(const Request&, Response&)>
constexpr Firmware::NetCommand Firmware::Net(spec::NetCtrlClass ctrl_class, uint8_t command, spec::NetFeature feature) {
  static_assert(Request::kBytes <= kRequestBytes && Response::kBytes <= kResponseBytes);
  return {.ctrl_class = ctrl_class,
          .command = command,
          .feature = feature,
          .request_bytes = Request::kBytes,
          .response_bytes = Response::kBytes,
          .handler = [](Firmware& self, const uint8_t* request, uint8_t* response) {
            Response result{};
            const bool done = (self.*handler)(Request::Decode(request), result);
            if (done) result.Encode(response);
            return done;
          }};
}

namespace {

uint64_t PageListBytes(const uint8_t* request) {
  return uint64_t{spec::RdmaCmdRegUserMr::Decode(request).npages} * spec::TableTranslation::kBytes;
}

uint64_t NewPageListBytes(const uint8_t* request) {
  const auto decoded = spec::RdmaCmdReregMr::Decode(request);
  if ((decoded.flags & spec::RdmaReregFlags::kTranslation) == 0) return 0;
  return uint64_t{decoded.npages} * spec::TableTranslation::kBytes;
}

}  // namespace

// By command number.
constexpr Firmware::RoceCommand Firmware::kRoceCommands[] = {
    Roce<Empty, spec::RdmaAckQueryDevice, &Firmware::QueryDevice>(),
    Roce<Empty, spec::RdmaAckQueryPort, &Firmware::QueryPort>(),
    Roce<spec::RdmaCmdCreateCq, spec::RdmaAckCreateCq, &Firmware::CreateCq>(),
    Roce<spec::RdmaCmdDestroyCq, Empty, &Firmware::DestroyCq>(),
    Roce<Empty, spec::RdmaAckCreatePd, &Firmware::CreatePd>(),
    Roce<spec::RdmaCmdDestroyPd, Empty, &Firmware::DestroyPd>(),
    Roce<spec::RdmaCmdGetDmaMr, spec::RdmaAckGetDmaMr, &Firmware::GetDmaMr>(),
    Roce<spec::RdmaCmdRegUserMr, spec::RdmaAckRegUserMr, &Firmware::RegUserMr>(PageListBytes),
    Roce<spec::RdmaCmdDeregMr, Empty, &Firmware::DeregMr>(),
    Roce<spec::RdmaCmdCreateQp, spec::RdmaAckCreateQp, &Firmware::CreateQp>(),
    Roce<spec::RdmaCmdModifyQp, Empty, &Firmware::ModifyQp>(),
    Roce<spec::RdmaCmdQueryQp, spec::RdmaAckQueryQp, &Firmware::QueryQp>(),
    Roce<spec::RdmaCmdDestroyQp, Empty, &Firmware::DestroyQp>(),
    Roce<spec::RdmaCmdCreateAh, spec::RdmaAckCreateAh, &Firmware::CreateAh>(),
    Roce<spec::RdmaCmdDestroyAh, Empty, &Firmware::DestroyAh>(),
    Roce<spec::RdmaCmdAddGid, Empty, &Firmware::AddGid>(),
    Roce<spec::RdmaCmdDelGid, Empty, &Firmware::DelGid>(),
    Roce<spec::RdmaCmdReqNotify, Empty, &Firmware::ReqNotifyCq>(),
    Roce<spec::RdmaCmdSetWindow, Empty, &Firmware::SetWindow>(),
    Roce<spec::RdmaCmdCreateSrq, spec::RdmaAckCreateSrq, &Firmware::CreateSrq>(),
    Roce<spec::RdmaCmdModifySrq, Empty, &Firmware::ModifySrq>(),
    Roce<spec::RdmaCmdQuerySrq, spec::RdmaAckQuerySrq, &Firmware::QuerySrq>(),
    Roce<spec::RdmaCmdDestroySrq, Empty, &Firmware::DestroySrq>(),
    Roce<spec::RdmaCmdReregMr, spec::RdmaAckReregMr, &Firmware::ReregMr>(NewPageListBytes),
    Roce<spec::RdmaCmdAllocMw, spec::RdmaAckAllocMw, &Firmware::AllocMw>(),
    Roce<spec::RdmaCmdDeallocMw, Empty, &Firmware::DeallocMw>(),
    Roce<spec::RdmaCmdAllocMr, spec::RdmaAckAllocMr, &Firmware::AllocMr>(),
    Roce<spec::RdmaCmdQueryMr, spec::RdmaAckQueryMr, &Firmware::QueryMr>(),
    Roce<spec::RdmaCmdCreateExtendedCq, spec::RdmaAckCreateCq, &Firmware::CreateExtendedCq>(),
    Roce<Empty, spec::RdmaAckQueryClock, &Firmware::QueryClock>(),
    Roce<spec::RdmaCmdAttachMcast, Empty, &Firmware::AttachMcast>(),
    Roce<spec::RdmaCmdDetachMcast, Empty, &Firmware::DetachMcast>(),
};

constexpr Firmware::NetCommand Firmware::kNetCommands[] = {
    Net<spec::NetCtrlRx, Empty, &Firmware::SetRxMode<&spec::MgmtRxMode::promiscuous>>(
        spec::NetCtrlClass::kRx, static_cast<uint8_t>(spec::NetCtrlRxCmd::kPromisc), spec::NetFeature::kCtrlRx),
    Net<spec::NetCtrlRx, Empty, &Firmware::SetRxMode<&spec::MgmtRxMode::all_multicast>>(
        spec::NetCtrlClass::kRx, static_cast<uint8_t>(spec::NetCtrlRxCmd::kAllmulti), spec::NetFeature::kCtrlRx),
    Net<spec::NetCtrlRx, Empty, &Firmware::SetRxMode<&spec::MgmtRxMode::all_unicast>>(
        spec::NetCtrlClass::kRx, static_cast<uint8_t>(spec::NetCtrlRxCmd::kAlluni), spec::NetFeature::kCtrlRxExtra),
    Net<spec::NetCtrlRx, Empty, &Firmware::SetRxMode<&spec::MgmtRxMode::no_multicast>>(
        spec::NetCtrlClass::kRx, static_cast<uint8_t>(spec::NetCtrlRxCmd::kNomulti), spec::NetFeature::kCtrlRxExtra),
    Net<spec::NetCtrlRx, Empty, &Firmware::SetRxMode<&spec::MgmtRxMode::no_unicast>>(
        spec::NetCtrlClass::kRx, static_cast<uint8_t>(spec::NetCtrlRxCmd::kNouni), spec::NetFeature::kCtrlRxExtra),
    Net<spec::NetCtrlRx, Empty, &Firmware::SetRxMode<&spec::MgmtRxMode::no_broadcast>>(
        spec::NetCtrlClass::kRx, static_cast<uint8_t>(spec::NetCtrlRxCmd::kNobcast), spec::NetFeature::kCtrlRxExtra),
    Net<spec::NetCtrlMac, Empty, &Firmware::SetMacTable>(
        spec::NetCtrlClass::kMac, static_cast<uint8_t>(spec::NetCtrlMacCmd::kTableSet), spec::NetFeature::kCtrlRx),
    Net<spec::NetCtrlMacAddr, Empty, &Firmware::SetMacAddress>(
        spec::NetCtrlClass::kMac, static_cast<uint8_t>(spec::NetCtrlMacCmd::kAddrSet), spec::NetFeature::kCtrlMacAddr),
    Net<spec::NetCtrlVlan, Empty, &Firmware::SetVlan<true>>(
        spec::NetCtrlClass::kVlan, static_cast<uint8_t>(spec::NetCtrlVlanCmd::kAdd), spec::NetFeature::kCtrlVlan),
    Net<spec::NetCtrlVlan, Empty, &Firmware::SetVlan<false>>(
        spec::NetCtrlClass::kVlan, static_cast<uint8_t>(spec::NetCtrlVlanCmd::kDel), spec::NetFeature::kCtrlVlan),
    Net<Empty, Empty, &Firmware::AckAnnounce>(spec::NetCtrlClass::kAnnounce,
                                              static_cast<uint8_t>(spec::NetCtrlAnnounceCmd::kAck),
                                              spec::NetFeature::kGuestAnnounce),
    Net<spec::NetCtrlMqPairsSet, Empty, &Firmware::SetQueuePairs>(
        spec::NetCtrlClass::kMq, static_cast<uint8_t>(spec::NetCtrlMqCmd::kVqPairsSet), spec::NetFeature::kMq),
    Net<spec::NetRssConfigHdr, Empty, &Firmware::SetRss>(
        spec::NetCtrlClass::kMq, static_cast<uint8_t>(spec::NetCtrlMqCmd::kRssConfig), spec::NetFeature::kRss),
    Net<spec::NetHashConfig, Empty, &Firmware::SetHash>(
        spec::NetCtrlClass::kMq, static_cast<uint8_t>(spec::NetCtrlMqCmd::kHashConfig), spec::NetFeature::kHashReport),
    Net<spec::NetCtrlGuestOffloads, Empty, &Firmware::SetGuestOffloads>(
        spec::NetCtrlClass::kGuestOffloads, static_cast<uint8_t>(spec::NetCtrlGuestOffloadsCmd::kSet),
        spec::NetFeature::kCtrlGuestOffloads),
    Net<spec::NetCtrlCoal, Empty, &Firmware::SetCoalescing<true>>(
        spec::NetCtrlClass::kNotfCoal, static_cast<uint8_t>(spec::NetCtrlNotfCoalCmd::kTxSet),
        spec::NetFeature::kNotfCoal),
    Net<spec::NetCtrlCoal, Empty, &Firmware::SetCoalescing<false>>(
        spec::NetCtrlClass::kNotfCoal, static_cast<uint8_t>(spec::NetCtrlNotfCoalCmd::kRxSet),
        spec::NetFeature::kNotfCoal),
    Net<spec::NetCtrlCoalVq, Empty, &Firmware::SetQueueCoalescing>(
        spec::NetCtrlClass::kNotfCoal, static_cast<uint8_t>(spec::NetCtrlNotfCoalCmd::kVqSet),
        spec::NetFeature::kVqNotfCoal),
    Net<spec::NetCtrlCoalVqGet, spec::NetCtrlCoal, &Firmware::GetQueueCoalescing>(
        spec::NetCtrlClass::kNotfCoal, static_cast<uint8_t>(spec::NetCtrlNotfCoalCmd::kVqGet),
        spec::NetFeature::kVqNotfCoal),
};

// The ack byte of a refused or accepted RoCE command in this profile.
uint8_t Firmware::AckOf(Error error) const {
  if (error != Error::kOk && !profile_->rdma_has_error_codes) error = Error::kErr;
  return static_cast<uint8_t>(error);
}

void Firmware::ServeCommand() {
  device_.OpenMailbox();
  uint8_t answer[1 + kResponseBytes]{};
  size_t answer_bytes = 1;
  uint8_t header_bytes[spec::NetCtrlHdr::kBytes];
  if (device_.response_bytes() == 0) {
    answer_bytes = 0;  // No response can be written, so the command is not executed.
  } else if (device_.request_bytes() < sizeof(header_bytes) ||
             !device_.ReadRequest(0, header_bytes, sizeof(header_bytes))) {
    // The command class is unknown. A driver of the RoCE extension understands the codes, any other only `err`.
    const Error error = device_.request_bytes() < sizeof(header_bytes) ? Error::kRequestTooShort
                        : device_.broken()                             ? Error::kInternal
                                                                       : Error::kDmaError;
    answer[0] = HasRoce() ? AckOf(error) : static_cast<uint8_t>(spec::NetCtrlAck::kErr);
  } else {
    const auto header = spec::NetCtrlHdr::Decode(header_bytes);
    answer_bytes = static_cast<uint8_t>(header.ctrl_class) == profile_->net_ctrl_class_roce
                       ? CompleteRoce(header.command, answer)
                       : CompleteNet(header.ctrl_class, header.command, answer);
  }
  device_.Complete(answer, answer_bytes);
}

size_t Firmware::CompleteRoce(uint8_t command, uint8_t* answer) {
  Error error = ExecuteRoce(command, answer + 1);
  if (device_.broken()) error = Error::kInternal;
  answer[0] = AckOf(error);
  return 1 + (error == Error::kOk ? kRoceCommands[command].response_bytes : 0u);
}

// Checks for the codes of every command, in their order; then the command's handler.
Firmware::Error Firmware::ExecuteRoce(uint8_t command, uint8_t* response) {
  static_assert(sizeof(kRoceCommands) / sizeof(kRoceCommands[0]) ==
                sizeof(spec::kNetCtrlRoceCommands) / sizeof(spec::kNetCtrlRoceCommands[0]));
  if (command > profile_->rdma_last_command) return Error::kUnsupportedCommand;
  if (!HasRoce()) return Error::kFeatureNotNegotiated;
  const RoceCommand& row = kRoceCommands[command];
  const uint64_t fixed_bytes = spec::NetCtrlHdr::kBytes + row.request_bytes;
  if (device_.request_bytes() < fixed_bytes) return Error::kRequestTooShort;
  uint8_t request[kRequestBytes];
  const bool was_read = device_.ReadRequest(spec::NetCtrlHdr::kBytes, request, row.request_bytes);
  if (was_read && row.tail_bytes != nullptr && device_.request_bytes() - fixed_bytes < row.tail_bytes(request)) {
    return Error::kRequestTooShort;
  }
  if (device_.response_bytes() < 1u + row.response_bytes) return Error::kResponseTooShort;
  if (!was_read) return Error::kDmaError;
  return row.handler(*this, request, response);
}

size_t Firmware::CompleteNet(spec::NetCtrlClass ctrl_class, uint8_t command, uint8_t* answer) {
  for (const NetCommand& row : kNetCommands) {
    if (row.ctrl_class != ctrl_class || row.command != command) continue;
    uint8_t request[kRequestBytes];
    const bool has_room = device_.response_bytes() > row.response_bytes;
    const bool done = HasFeature(row.feature) && has_room &&
                      device_.request_bytes() >= spec::NetCtrlHdr::kBytes + row.request_bytes &&
                      device_.ReadRequest(spec::NetCtrlHdr::kBytes, request, row.request_bytes) &&
                      row.handler(*this, request, answer) && !device_.broken();
    const size_t ack_at = has_room ? row.response_bytes : 0;
    answer[ack_at] = static_cast<uint8_t>(done ? spec::NetCtrlAck::kOk : spec::NetCtrlAck::kErr);
    return ack_at + 1;
  }
  answer[0] = static_cast<uint8_t>(spec::NetCtrlAck::kErr);
  return 1;
}

}  // namespace vireo::firmware
