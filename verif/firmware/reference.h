// SPDX-License-Identifier: Apache-2.0
// What the contract says about RoCE commands, as simply as possible and without any code of the firmware: for a request
// all codes that apply are collected, and the lowest is the answer.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::verif {

// A change of state that IBTA knows (vol. 1, 10.3.1 and 11.2.5.2), for one kind of QP; attributes as
// spec::IbQpAttrMask.
struct QpRule {
  uint32_t required = 0;
  uint32_t allowed = 0;  // besides the required ones, `state` and `cur_state`
};
// Null: there is no such change.
const QpRule* QpRuleOf(spec::IbQpType type, spec::IbQpState from, spec::IbQpState to);

struct ReferenceQueue {
  bool enabled = false;
  bool stopped = false;
};

struct ReferenceQp {
  spec::IbQpType type{};
  uint32_t pdn = 0, send_cqn = 0, recv_cqn = 0;
  uint32_t max_send_wr = 0, max_recv_wr = 0;
  spec::IbQpState state = spec::IbQpState::kReset;
  bool has_send_outstanding = false;
};

class Reference {
 public:
  // Net queue pairs: 1. Ring reset is accepted.
  Reference(const spec::Config& config, spec::Profile profile, uint32_t mtu);

  // The code of a command of the RoCE class; `request` without header. The bus does not fail.
  spec::RdmaError Expect(spec::RdmaCtrlCmd command, const std::vector<uint8_t>& request, uint32_t writable) const;
  // It was accepted with this response (without the ack byte). An empty string, or what is wrong with the response.
  std::string Accept(spec::RdmaCtrlCmd command, const std::vector<uint8_t>& request,
                     const std::vector<uint8_t>& response);

  // What the driver does to a virtqueue.
  void EnableQueue(uint32_t index) { queues[index].enabled = true; }
  void ResetQueue(uint32_t index);

  uint32_t CqQueue(uint32_t cqn) const { return 2 + spec::kRdmaCompleteqOffset + cqn; }
  uint32_t SendQueue(uint32_t qpn) const { return 2 + config_.num_cqs + spec::kRdmaTransmitqOffset + 2 * qpn; }
  uint32_t ReceiveQueue(uint32_t qpn) const { return 2 + config_.num_cqs + spec::kRdmaReceiveqOffset + 2 * qpn; }
  uint32_t QueueCount() const;

  struct Mr {
    uint32_t pdn = 0, key = 0, first = 0, npages = 0;
  };
  struct Gid {
    std::array<uint8_t, 16> bytes{};
    bool has_vlan = false;
    uint16_t vlan = 0;
    friend bool operator==(const Gid&, const Gid&) = default;
  };
  std::set<uint32_t> pds;
  std::map<uint32_t, bool> cqs;  // by number; true: failed
  std::map<uint32_t, ReferenceQp> qps;
  std::map<uint32_t, Mr> mrs;
  std::map<uint32_t, uint32_t> ahs;  // PD by number
  std::map<uint32_t, Gid> gids;
  std::map<uint32_t, ReferenceQueue> queues;

 private:
  using Codes = std::set<spec::RdmaError>;
  void CheckModify(const spec::RdmaCmdModifyQp& request, Codes& codes) const;
  void CheckPath(const spec::RdmaAhAttr& path, Codes& codes) const;
  void CheckRegion(const spec::RdmaCmdRegUserMr& request, const uint8_t* pages, Codes& codes) const;
  bool IsReady(uint32_t queue) const;
  uint32_t FindPages(uint32_t count) const;
  void StopQueue(uint32_t index);
  bool HasPages(uint32_t index) const;

  spec::Config config_;
  bool is_vireo_;
  uint32_t mtu_;
  std::vector<bool> pages_;
};

}  // namespace vireo::verif
