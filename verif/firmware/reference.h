// SPDX-License-Identifier: Apache-2.0
// A simple reference of the contract's RoCE commands, independent of the firmware's code: collects all applicable error
// codes of a request and returns the lowest.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::verif {

// A state transition defined by IBTA (vol. 1, 10.3.1 and 11.2.5.2), for one QP type; attributes as spec::IbQpAttrMask.
struct QpRule {
  uint32_t required = 0;
  uint32_t allowed = 0;  // in addition to the required ones, `state` and `cur_state`
};
// Null: no such transition.
const QpRule* QpRuleOf(spec::IbQpType type, spec::IbQpState from, spec::IbQpState to);

struct ReferenceQueue {
  bool enabled = false;
  bool stopped = false;
};

struct ReferenceQp {
  spec::IbQpType type{};
  uint32_t pdn = 0, send_cqn = 0, recv_cqn = 0;
  uint32_t max_send_wr = 0, max_recv_wr = 0;
  std::optional<uint32_t> srq = {};
  spec::IbQpState state = spec::IbQpState::kReset;
  bool has_send_outstanding = false;
};

class Reference {
 public:
  // Assumes one network queue pair, and accepted ring_reset.
  Reference(const spec::Config& config, spec::Profile profile, uint32_t mtu);

  // The expected code of a RoCE command; `request` without header. Assumes no bus errors.
  spec::RdmaError Expect(spec::RdmaCtrlCmd command, const std::vector<uint8_t>& request, uint32_t writable) const;
  // Applies an accepted command and checks its response (without the ack byte). Returns an empty string, or the error.
  std::string Accept(spec::RdmaCtrlCmd command, const std::vector<uint8_t>& request,
                     const std::vector<uint8_t>& response);

  // Driver actions on virtqueues.
  void EnableQueue(uint32_t index) { queues[index].enabled = true; }
  void ResetQueue(uint32_t index);

  uint32_t CqQueue(uint32_t cqn) const { return 2 + spec::kRdmaCompleteqOffset + cqn; }
  uint32_t SendQueue(uint32_t qpn) const { return 2 + config_.num_cqs + spec::kRdmaTransmitqOffset + 2 * qpn; }
  uint32_t ReceiveQueue(uint32_t qpn) const { return 2 + config_.num_cqs + spec::kRdmaReceiveqOffset + 2 * qpn; }
  uint32_t QueueCount() const;

  struct Mr {
    uint32_t pdn = 0, key = 0, first = 0, npages = 0;
    bool invalidatable = false, is_dma = false, is_pmem = false;
    uint32_t flushes = 0;  // rights to FLUSH: 0x100, 0x200
    bool may_bind = false;
    bool is_fast = false;  // of alloc_mr
  };
  struct Mw {
    uint32_t pdn = 0, key = 0;
    bool is_type_2 = false;
    std::optional<uint32_t> bound_to = {};
    uint32_t bound_by = 0;
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
  struct Srq {
    uint32_t pdn = 0, max_wr = 0, max_sge = 0, limit = 0;
  };
  std::map<uint32_t, Srq> srqs;
  std::map<uint32_t, Mr> mrs;
  std::map<uint32_t, Mw> mws;        // with numbers of the same kind
  std::map<uint32_t, uint32_t> ahs;  // PD by number
  std::map<uint32_t, Gid> gids;
  std::set<std::pair<uint32_t, std::array<uint8_t, 16>>> attachments;  // QP and multicast group
  std::map<uint32_t, ReferenceQueue> queues;

 private:
  using Codes = std::set<spec::RdmaError>;
  void CheckModify(const spec::RdmaCmdModifyQp& request, Codes& codes) const;
  void CheckPath(const spec::RdmaAhAttr& path, Codes& codes) const;
  void CheckAccess(uint32_t flags, Codes& codes) const;  // of a region
  static void CheckFlush(bool is_dma, bool is_pmem, uint32_t flags, Codes& codes);
  void CheckRegion(const spec::RdmaCmdRegUserMr& request, const uint8_t* pages, Codes& codes) const;
  void CheckChange(const spec::RdmaCmdReregMr& request, const uint8_t* pages, Codes& codes) const;
  bool IsBound(uint32_t mrn) const;
  bool IsReady(uint32_t queue) const;
  uint32_t FindPages(uint32_t count) const;
  void StopQueue(uint32_t index);
  bool HasPages(uint32_t index) const;

  spec::Config config_;
  // The access rights that exist; rfc-v2 has no atomic operations.
  uint32_t Rights() const { return is_vireo_ ? 0x30f : 7; }

  bool is_vireo_;
  uint32_t mtu_;
  std::vector<bool> pages_;
};

}  // namespace vireo::verif
