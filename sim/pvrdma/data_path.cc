// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/data_path.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "sim/pvrdma/translate.h"

namespace vireo::sim::pvrdma {
namespace {

// Most handles that a queue pair keeps.
constexpr size_t kMostHandles = 64;
// Completes in its turn with loc_qp_op_err, by the NIC's own order and rules.
constexpr auto kInvalidOpcode = static_cast<spec::IbWrOpcode>(0xff);
// In no region: a receive that uses it completes with loc_prot_err.
constexpr uint32_t kInvalidKey = ~uint32_t{0};

bool IsDatagram(const Qp& qp) { return qp.qp->type() == spec::IbQpType::kUd; }

std::vector<spec::RdmaSge> ElementsAt(const uint8_t* from, uint32_t count) {
  std::vector<spec::RdmaSge> elements;
  for (uint32_t i = 0; i < count; ++i) {
    const auto sge = Load<Sge>(from + i * sizeof(Sge));
    elements.push_back({.addr = sge.addr, .length = sge.length, .lkey = sge.lkey});
  }
  return elements;
}

}  // namespace

void DataPath::MoveSends(Qp& qp) {
  using State = spec::IbQpState;
  if (qp.state == State::kReset || qp.state == State::kInit || qp.state == State::kRtr) return;
  RingEnd& ring = qp.send.ring;
  for (std::optional<uint32_t> left = ring.Available(); left.value_or(0) != 0; left = ring.Available()) {
    if (PostSend(qp, qp.pages.At(qp.send.next())) == Posted::kLater) return;
    ring.Advance();
  }
  if (ring.is_stopped()) Fail(qp);
}

void DataPath::MoveReceives(Qp& qp) {
  if (qp.state == spec::IbQpState::kReset || qp.srq.has_value()) return;
  RingEnd& ring = qp.recv.ring;
  for (std::optional<uint32_t> left = ring.Available(); left.value_or(0) != 0; left = ring.Available()) {
    if (PostRecv(*qp.qp, qp.recv, qp.pages.At(qp.recv.next())) == Posted::kLater) return;
    ring.Advance();
  }
  if (ring.is_stopped()) Fail(qp);
}

void DataPath::MoveReceives(Srq& srq) {
  RingEnd& ring = srq.recv.ring;
  for (std::optional<uint32_t> left = ring.Available(); left.value_or(0) != 0; left = ring.Available()) {
    if (PostRecv(*srq.queue, srq.recv, srq.pages.At(srq.recv.next())) == Posted::kLater) return;
    ring.Advance();
  }
}

// A ring with impossible indices: the queue pair ends, with an event (Device::Progress).
void DataPath::Fail(Qp& qp) {
  if (qp.state == spec::IbQpState::kErr) return;
  qp.state = spec::IbQpState::kErr;
  static_cast<void>(qp.qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState));
}

bool DataPath::IsOffered(WrOpcode opcode) const {
  return (!IsAtomic(opcode) || nic_.has_atomics()) && (!Invalidates(opcode) || nic_.device().has_invalidation());
}

DataPath::Posted DataPath::PostSend(Qp& qp, const uint8_t* wqe) {
  const auto header = Load<SendWqe>(wqe);
  verbs::SendRequest request{.wr_id = header.wr_id, .opcode = kInvalidOpcode, .flags = FromSendFlags(header.flags)};
  std::ranges::copy(header.imm_data, request.imm_data);
  std::vector<spec::RdmaSge> elements;
  const std::optional<spec::IbWrOpcode> opcode = IsOffered(header.opcode) ? FromOpcode(header.opcode) : std::nullopt;
  // The ABI has no place for inline data; max_inline_data is 0.
  bool is_valid = opcode.has_value() && header.num_sge <= qp.send.max_sge && (header.flags & kSendInline) == 0;
  if (is_valid && IsDatagram(qp)) {
    const auto part = Load<DatagramPart>(header.part);
    request.remote_qpn = part.remote_qpn;
    request.remote_qkey = part.remote_qkey;
    const auto [posted, handle] = HandleFor(qp, part.av);
    if (posted == Posted::kLater) return posted;
    request.ah = handle;
    is_valid = handle != nullptr;
  } else if (is_valid && IsAtomic(header.opcode)) {
    const auto part = Load<AtomicPart>(header.part);
    request.remote_addr = part.remote_addr;
    request.rkey = part.rkey;
    request.compare_add = part.compare_add;
    request.swap = part.swap;
  } else if (is_valid && Invalidates(header.opcode)) {
    request.invalidate_rkey = Load<uint32_t>(header.imm_data);
  } else if (is_valid) {
    const auto part = Load<RdmaPart>(header.part);
    request.remote_addr = part.remote_addr;
    request.rkey = part.rkey;
  }
  if (is_valid) {
    request.opcode = *opcode;
    elements = ElementsAt(wqe + sizeof header, header.num_sge);
    request.sg_list = elements;
  }
  const host::Status posted = qp.qp->PostSend(request);
  return !posted.ok() && posted.error().code == host::ErrorCode::kNoSpace ? Posted::kLater : Posted::kYes;
}

template <typename Queue>
DataPath::Posted DataPath::PostRecv(Queue& queue, const WorkRing& from, const uint8_t* wqe) {
  const auto header = Load<RecvWqe>(wqe);
  std::vector<spec::RdmaSge> elements;
  if (header.num_sge <= from.max_sge) {
    elements = ElementsAt(wqe + sizeof header, header.num_sge);
  } else {
    elements.push_back({.addr = 0, .length = 1, .lkey = kInvalidKey});
  }
  const host::Status posted = queue.PostRecv({.wr_id = header.wr_id, .sg_list = elements});
  return !posted.ok() && posted.error().code == host::ErrorCode::kNoSpace ? Posted::kLater : Posted::kYes;
}

std::pair<DataPath::Posted, const verbs::AddressHandle*> DataPath::HandleFor(Qp& qp, const AddressVector& vector) {
  AddressVector path = vector;
  path.port_pd = 0;
  std::ranges::fill(path.reserved, 0);
  AddressKey key{};
  Store(key.data(), path);
  const bool is_current = qp.handles_version == nic_.directory().version();
  if (is_current) {
    if (const auto known = qp.handles.find(key); known != qp.handles.end()) return {Posted::kYes, known->second.get()};
  }
  if (!is_current || qp.handles.size() >= kMostHandles) {
    if (!ReleaseHandles(qp)) return {Posted::kLater, nullptr};
    qp.handles_version = nic_.directory().version();
  }
  const auto sgid = objects_.gids.find(vector.gid_index);
  Pd* const pd = Find(objects_.pds, qp.pd);
  if (sgid == objects_.gids.end() || pd == nullptr) return {Posted::kYes, nullptr};
  spec::RdmaAhAttr attributes = FromVector(path, static_cast<uint8_t>(sgid->second));
  std::ranges::copy(nic_.MacFor(std::to_array(attributes.grh.dgid), std::to_array(attributes.dmac)), attributes.dmac);
  if (!HasRoomForHandle()) return {Posted::kLater, nullptr};
  auto made = pd->pd->CreateAh(attributes);
  if (!made.ok()) return {Posted::kYes, nullptr};
  return {Posted::kYes, (qp.handles[key] = std::move(made).value()).get()};
}

bool DataPath::HasRoomForHandle() {
  if (objects_.Count().ahs < most_handles_) return true;
  for (auto& [handle, qp] : objects_.qps) {
    if (!qp.handles.empty() && ReleaseHandles(qp)) return true;
  }
  return false;
}

bool DataPath::ReleaseHandles(Qp& qp) {
  if (qp.handles.empty()) return true;
  const host::Result<size_t> room = qp.qp->SendRoom();
  if (room.ok() && *room != qp.max_send_wr) return false;
  qp.handles.clear();
  return true;
}

void DataPath::ArmSolicited(Cq& cq) {
  if (cq.arm != Cq::Arm::kOff) return;
  cq.arm = Cq::Arm::kReceived;
  // The NIC does not see completions that were taken from its queue and wait for room.
  if (cq.vector == nullptr || cq.queue->buffered() != 0 || !cq.own.empty()) return;
  static_cast<void>(cq.vector->TakeInterrupt());  // of an earlier time
  if (cq.queue->Arm(/*solicited_only=*/true).ok()) cq.arm = Cq::Arm::kSolicited;
}

void DataPath::MoveCompletions(Cq& cq) {
  // Taken first: the NIC writes a completion before it interrupts for it.
  if (cq.arm == Cq::Arm::kSolicited && cq.vector->TakeInterrupt()) {
    cq.arm = Cq::Arm::kOff;
    cq.must_notify = true;
  }
  RingEnd& ring = cq.ring;
  for (std::optional<uint32_t> used = ring.Outstanding(); used.has_value() && *used < ring.entries();
       used = ring.Outstanding()) {
    if (!cq.own.empty()) {
      Complete(cq, cq.own.front(), /*is_own=*/true);
      cq.own.pop_front();
      continue;
    }
    std::array<spec::RdmaCqReq, 1> completion;
    const host::Result<size_t> count = cq.queue->Poll(completion);
    if (!count.ok() || *count == 0) return;
    const auto handle = objects_.qp_handles.find(completion[0].qp_num);
    if (handle == objects_.qp_handles.end()) continue;  // a driver cannot process it
    Cqe cqe = FromCompletion(completion[0]);
    cqe.qp = handle->second;
    Complete(cq, cqe, /*is_own=*/false);
  }
}

void DataPath::Complete(Cq& cq, const Cqe& cqe, bool is_own) {
  constexpr uint32_t kWcReceived = 128;  // vmw_pvrdma-abi.h, PVRDMA_WC_RECV, a bit of all received messages' codes
  Store(cq.pages.At(kFirstEntry + uint64_t{cq.ring.slot()} * sizeof cqe), cqe);
  cq.ring.Advance();
  // The completion does not say whether its message was sent solicited.
  const bool may_be_solicited = cqe.status != 0 || (cqe.opcode & kWcReceived) != 0;
  const bool is_judged_here = cq.arm == Cq::Arm::kReceived || (cq.arm == Cq::Arm::kSolicited && is_own);
  if (cq.arm == Cq::Arm::kAny || (is_judged_here && may_be_solicited)) {
    cq.arm = Cq::Arm::kOff;
    cq.must_notify = true;
  }
}

}  // namespace vireo::sim::pvrdma
