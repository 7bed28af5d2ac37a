// SPDX-License-Identifier: Apache-2.0
// The RoCE commands of the control queue, one function each. Checks are left to the device: a refused command fails
// with kRefused and the reason in Error::rdma (profile vireo). A command or value that the profile does not have fails
// with kUnsupported and is not sent; fields that exist only in profile vireo are sent as 0 in rfc-v2.
//
// They do not touch virtqueues: the caller enables the queues of a new CQ or QP and resets them after its destruction,
// in the order that each function's comment states.
#pragma once

#include <cstdint>
#include <span>

#include "host/driver/control_queue.h"

namespace vireo::host {

class RoceCommands {
 public:
  // `control` must outlive the object.
  explicit RoceCommands(CommandChannel& control) : control_(&control) {}

  Result<spec::RdmaAckQueryDevice> QueryDevice();
  Result<spec::RdmaAckQueryPort> QueryPort();
  // Profile vireo only. The device's clock, in ns, between the call and its return.
  Result<uint64_t> QueryClock();

  // Returns the CQ's number. Next: enable its virtqueue and post buffers.
  Result<uint32_t> CreateCq(uint32_t cqe);
  // Likewise. Profile vireo only. `elements` of its completions: spec::RdmaCqElement.
  Result<uint32_t> CreateExtendedCq(uint32_t cqe, uint32_t elements);
  // Next: reset its virtqueue; its buffers are free after that.
  Status DestroyCq(uint32_t cqn);
  // Arms a CQ for CQEs written after the answer: poll once more before sleeping. `flags`: spec::IbNotifyFlags. In
  // profile vireo Doorbell::ArmCq does the same without a command.
  Status ReqNotifyCq(uint32_t cqn, uint32_t flags);

  Result<uint32_t> CreatePd();
  Status DestroyPd(uint32_t pdn);

  // `access_flags`: spec::IbAccessFlags.
  Result<spec::RdmaAckGetDmaMr> GetDmaMr(uint32_t pdn, uint32_t access_flags);
  // request.npages is set from `pages` (device addresses). In rfc-v2 pages have 4096 bytes: another page_shift is
  // kUnsupported.
  Result<spec::RdmaAckRegUserMr> RegUserMr(spec::RdmaCmdRegUserMr request, std::span<const uint64_t> pages);
  // After success the device does not access its memory any more. Refused while a memory window is bound to it.
  Status DeregMr(uint32_t mrn);
  // Profile vireo only. request.npages is set from `pages`, which must be empty without the flag `translation`. After
  // success the device accesses nothing but what the new region allows; if it is refused, the region is as it was.
  Result<spec::RdmaAckReregMr> ReregMr(spec::RdmaCmdReregMr request, std::span<const uint64_t> pages);

  // Profile vireo only. It is registered by work requests; `max_pages` is up to max_fast_mr_pages.
  Result<spec::RdmaAckAllocMr> AllocMr(uint32_t pdn, uint32_t max_pages);
  // Profile vireo only.
  Result<spec::RdmaAckQueryMr> QueryMr(uint32_t mrn);

  // Profile vireo only. It is bound by work requests.
  Result<spec::RdmaAckAllocMw> AllocMw(uint32_t pdn, spec::RdmaMwType type);
  // After success nobody accesses memory by it any more.
  Status DeallocMw(uint32_t mwn);

  // Returns the QP's number. Next: enable its two virtqueues.
  Result<uint32_t> CreateQp(const spec::RdmaCmdCreateQp& request);
  Status ModifyQp(const spec::RdmaCmdModifyQp& request);
  Result<spec::RdmaAckQueryQp> QueryQp(uint32_t qpn, uint32_t attr_mask);
  // Next: reset both virtqueues; outstanding work requests never complete.
  Status DestroyQp(uint32_t qpn);

  // Profile vireo only. Returns its number. Next: enable its virtqueue, the receive queue of the QP of this number.
  Result<uint32_t> CreateSrq(const spec::RdmaCmdCreateSrq& request);
  Status ModifySrq(const spec::RdmaCmdModifySrq& request);
  Result<spec::RdmaAckQuerySrq> QuerySrq(uint32_t srqn);
  // Next: reset its virtqueue; its receives never complete.
  Status DestroySrq(uint32_t srqn);

  // Returns the address handle.
  Result<uint32_t> CreateAh(uint32_t pdn, const spec::RdmaAhAttr& attributes);
  Status DestroyAh(uint32_t pdn, uint32_t ah);

  // In rfc-v2 a VLAN or another type than RoCE v2 is kUnsupported.
  Status AddGid(spec::RdmaCmdAddGid request);
  Status DelGid(uint16_t index);

  // Profile vireo only. Of a UD QP; `mgid`: of the group, 16 bytes. Attached again: nothing changes.
  Status AttachMcast(uint32_t qpn, std::span<const uint8_t, 16> mgid);
  // A datagram that had arrived before may still complete a receive.
  Status DetachMcast(uint32_t qpn, std::span<const uint8_t, 16> mgid);

  // Profile vireo only.
  Status SetWindow(const spec::RdmaCmdSetWindow& request);

 private:
  template <typename Request, typename Response>
  Result<Response> Send(spec::RdmaCtrlCmd command, const Request& request, std::span<const uint8_t> tail = {});
  template <typename Request>
  Status SendOnly(spec::RdmaCtrlCmd command, const Request& request);
  bool has_additions() const { return spec::ConstantsOf(control_->profile()).rdma_has_additions; }

  CommandChannel* control_;
};

}  // namespace vireo::host
