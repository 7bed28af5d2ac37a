// SPDX-License-Identifier: Apache-2.0
// Commands on shared receive queues. Each takes the number of a QP that does not exist meanwhile; its virtqueue is that
// QP's receive queue, and the engine stops it like a QP.
#include "firmware/app/firmware.h"

namespace vireo::firmware {

using spec::TableQpContext;

Firmware::Error Firmware::CreateSrq(const spec::RdmaCmdCreateSrq& request, spec::RdmaAckCreateSrq& response) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (request.max_wr == 0) return Error::kInvalidParameter;
  if (request.max_wr > config_.max_queue_entries) return Error::kCapWrExceeded;
  if (request.max_sge > config_.max_recv_sge) return Error::kCapSgeExceeded;
  const uint32_t srqn = srqs_ < config_.max_srqs ? FindQpNumber() : kNone;
  if (srqn == kNone) return Error::kNoFreeSrq;

  BindQueue(ReceiveQueue(srqn), spec::TableQueueKind::kRq, srqn, request.max_wr);
  device_.WriteEntry(srqn, TableQpContext{.pdn = static_cast<uint16_t>(request.pdn),
                                          .max_recv_wr = static_cast<uint16_t>(request.max_wr),
                                          .max_recv_sge = static_cast<uint8_t>(request.max_sge),
                                          .is_srq = true});
  qp_used_.Set(srqn);
  srq_used_.Set(srqn);
  ++srqs_;
  next_qp_ = srqn + 1;
  ++pd_users_[request.pdn];
  response.srqn = srqn;
  return Error::kOk;
}

Firmware::Error Firmware::ModifySrq(const spec::RdmaCmdModifySrq& request, Empty&) {
  if (!HasSrq(request.srqn)) return Error::kBadSrqn;
  auto context = device_.ReadEntry<TableQpContext>(request.srqn);
  if (request.srq_limit > context.max_recv_wr) return Error::kInvalidAttribute;

  // Fewer than the limit are left when all of `posted` but limit - 1 were taken.
  context.limit_armed = request.srq_limit != 0;
  context.srq = static_cast<uint16_t>(context.limit_armed ? request.posted - request.srq_limit + 1 : 0);
  // Not used by the engine for a number that is no QP's: kept for the query.
  context.max_send_wr = static_cast<uint16_t>(request.srq_limit);
  device_.WriteEntry(request.srqn, context);
  return Error::kOk;
}

Firmware::Error Firmware::QuerySrq(const spec::RdmaCmdQuerySrq& request, spec::RdmaAckQuerySrq& response) {
  if (!HasSrq(request.srqn)) return Error::kBadSrqn;
  const auto context = device_.ReadEntry<TableQpContext>(request.srqn);
  response = {.max_wr = context.max_recv_wr,
              .max_sge = context.max_recv_sge,
              .srq_limit = context.max_send_wr,
              .qps = srq_users_[request.srqn]};
  return Error::kOk;
}

Firmware::Error Firmware::DestroySrq(const spec::RdmaCmdDestroySrq& request, Empty&) {
  if (!HasSrq(request.srqn)) return Error::kBadSrqn;
  if (srq_users_[request.srqn] != 0) return Error::kHandleBusy;
  const uint16_t pdn = device_.ReadEntry<TableQpContext>(request.srqn, WordAt(TableQpContext::kPdnOffset)).pdn;
  RunQp(request.srqn, spec::QpOperation::kStop);
  RemoveQp(request.srqn);
  srq_used_.Clear(request.srqn);
  if (device_.broken()) return Error::kInternal;
  StopQueue(ReceiveQueue(request.srqn), true);
  --srqs_;
  --pd_users_[pdn];
  return Error::kOk;
}

}  // namespace vireo::firmware
