// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/datagrams.h"

#include <algorithm>

namespace vireo::ibverbs {

void DatagramReceives::Add(uint32_t qpn, uint64_t wr_id, uint64_t address, size_t limit) {
  const std::lock_guard guard(lock_);
  std::deque<Receive>& receives = receives_[qpn];
  receives.push_back({wr_id, address});
  // One more, which may not be posted. The first one's completion was an error.
  if (receives.size() > limit + 1) receives.pop_front();
}

void DatagramReceives::RemoveLast(uint32_t qpn) {
  const std::lock_guard guard(lock_);
  const auto found = receives_.find(qpn);
  if (found != receives_.end() && !found->second.empty()) found->second.pop_back();
}

void DatagramReceives::Forget(uint32_t qpn) {
  const std::lock_guard guard(lock_);
  receives_.erase(qpn);
}

uint64_t DatagramReceives::Take(const spec::RdmaCqReq& completion) {
  const std::lock_guard guard(lock_);
  const auto found = receives_.find(completion.qp_num);
  if (found == receives_.end()) return 0;
  std::deque<Receive>& receives = found->second;
  const auto receive = std::ranges::find(receives, completion.wr_id, &Receive::wr_id);
  if (receive == receives.end()) return 0;
  const uint64_t address = receive->address;
  receives.erase(receives.begin(), receive + 1);
  return address;
}

}  // namespace vireo::ibverbs
