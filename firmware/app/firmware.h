// SPDX-License-Identifier: Apache-2.0
// The control plane: executes the commands of the control queue and handles reset, link and failures. See
// docs/firmware.md.
//
// One object per NIC, its size set by limits.h, without pointers into itself; no dynamic memory. Single-threaded. It
// does not duplicate contents of datapath tables; it keeps which objects are in use, reference counts, and next keys.
//
// A command is checked completely before it changes anything, so that a refused one has no effect. Checks are in the
// order of their error codes (errors.toml: the lowest one applies).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "firmware/app/bitmap.h"
#include "firmware/app/limits.h"
#include "firmware/hal/device.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::firmware {

struct Options {
  bool has_mac = false;  // false: the register is not written
  uint8_t mac[6]{};
  uint32_t mtu = 0;  // mgmt.mtu; 0: the register is not written
  // mgmt.abi_profile, which keeps it until the next hardware reset. The register's reset value is not written.
  spec::Profile profile = spec::Profile{spec::kProfileDefault};
  uint32_t max_polls = uint32_t{1} << 24;  // limit of every wait, in register reads
};

// For a command without request or response.
struct Empty {
  static constexpr size_t kBytes = 0;
  static constexpr Empty Decode(const uint8_t*) { return {}; }
  constexpr void Encode(uint8_t*) const {}
};

class Firmware {
 public:
  explicit Firmware(const Csr& csr, const Options& options = {}) : device_(csr, options.max_polls), options_(options) {}
  Firmware(const Firmware&) = delete;
  Firmware& operator=(const Firmware&) = delete;

  // Identifies the device, initializes it and sets firmware_ready. The device must come out of a hardware reset. False:
  // wrong device or major version, or more objects than limits.h allows; no commands are served then.
  bool Start();

  // Handles pending work, at most one command. True if there was any: call it again. To be called when the firmware's
  // interrupt is raised (Start sets mgmt.interrupt_enable), or continuously.
  bool Poll();

  // A wait reached its limit or the device rejected a valid access: no commands are served until the driver resets the
  // device.
  bool fatal() const { return fatal_; }

 private:
  using Error = spec::RdmaError;

  // Buffer for the fixed part of any request and for its response.
  static constexpr size_t kRequestBytes = spec::RdmaCmdModifyQp::kBytes;
  static constexpr size_t kResponseBytes = spec::RdmaAckQueryDevice::kBytes;
  struct RoceCommand {
    uint16_t request_bytes;   // after the header
    uint16_t response_bytes;  // after the ack byte
    // Bytes after the fixed request, computed from it; null: none.
    uint64_t (*tail_bytes)(const uint8_t* request);
    Error (*handler)(Firmware& self, const uint8_t* request, uint8_t* response);
  };
  struct NetCommand {
    spec::NetCtrlClass ctrl_class;
    uint8_t command;
    spec::NetFeature feature;  // required feature
    uint16_t request_bytes;    // after the header
    uint16_t response_bytes;   // before the ack byte (sic): only notf_coal's vq_get has one
    bool (*handler)(Firmware& self, const uint8_t* request, uint8_t* response);
  };
  // Adapters from a command's row to its typed handler.
  template <typename Request, typename Response, Error (Firmware::*handler)(const Request&, Response&)>
  static constexpr RoceCommand Roce(uint64_t (*tail_bytes)(const uint8_t*) = nullptr);
  template <typename Request, typename Response, bool (Firmware::*handler)(const Request&, Response&)>
  static constexpr NetCommand Net(spec::NetCtrlClass ctrl_class, uint8_t command, spec::NetFeature feature);
  static const RoceCommand kRoceCommands[];
  static const NetCommand kNetCommands[];

  // --- dispatch.cc ---
  void ServeCommand();
  size_t CompleteRoce(uint8_t command, uint8_t* answer);
  size_t CompleteNet(spec::NetCtrlClass ctrl_class, uint8_t command, uint8_t* answer);
  Error ExecuteRoce(uint8_t command, uint8_t* response);
  uint8_t AckOf(Error error) const;

  // --- firmware.cc: device lifecycle ---
  void ReadNegotiation();
  void StartDatapath();
  void EnableDatapath();
  void Quiesce();
  void ResetDevice();
  void ClearObjects();
  void ClearTables();
  static bool HoldsWork(spec::TableQueueKind kind);
  void HandleQueueReset();
  void FailQp(uint32_t qpn, Error reason);
  void FailCq(uint32_t cqn, Error reason);
  void FailSrq(uint32_t srqn, Error reason);
  void FollowLink();
  void EnterFatal();
  void PushEvent(spec::RdmaEventType type, uint32_t element, Error code);

  bool HasFeature(spec::VirtioFeature feature) const { return HasBit(static_cast<uint8_t>(feature)); }
  bool HasFeature(spec::NetFeature feature) const;
  bool HasRoce() const { return HasBit(profile_->net_f_roce); }
  bool HasBit(uint32_t bit) const { return (features_[bit / 32] >> (bit % 32) & 1) != 0; }

  // --- queues.cc: virtqueues ---
  uint32_t ControlQueue() const { return 2 * net_pairs_; }
  uint32_t FirstCq() const { return ControlQueue() + spec::kRdmaCompleteqOffset; }
  uint32_t CqQueue(uint32_t cqn) const { return FirstCq() + cqn; }
  uint32_t SendQueue(uint32_t qpn) const {
    return ControlQueue() + config_.num_cqs + spec::kRdmaTransmitqOffset + 2 * qpn;
  }
  uint32_t ReceiveQueue(uint32_t qpn) const {
    return ControlQueue() + config_.num_cqs + spec::kRdmaReceiveqOffset + 2 * qpn;
  }
  uint32_t EventQueue() const {
    return ControlQueue() + config_.num_cqs + 2 * config_.num_qps + spec::kRdmaEventqOffset;
  }
  uint32_t QueueCount() const;
  void BindQueue(uint32_t index, spec::TableQueueKind kind, uint32_t owner, uint32_t limit);
  void StopQueue(uint32_t index, bool release);
  bool IsQueueReady(uint32_t index);

  // --- objects.cc: CQs, PDs, memory regions, address handles, GIDs, windows ---
  Error QueryDevice(const Empty&, spec::RdmaAckQueryDevice& response);
  Error QueryPort(const Empty&, spec::RdmaAckQueryPort& response);
  Error QueryClock(const Empty&, spec::RdmaAckQueryClock& response);
  Error CreateCq(const spec::RdmaCmdCreateCq& request, spec::RdmaAckCreateCq& response);
  Error CreateExtendedCq(const spec::RdmaCmdCreateExtendedCq& request, spec::RdmaAckCreateCq& response);
  Error DestroyCq(const spec::RdmaCmdDestroyCq& request, Empty&);
  Error ReqNotifyCq(const spec::RdmaCmdReqNotify& request, Empty&);
  Error CreatePd(const Empty&, spec::RdmaAckCreatePd& response);
  Error DestroyPd(const spec::RdmaCmdDestroyPd& request, Empty&);
  Error GetDmaMr(const spec::RdmaCmdGetDmaMr& request, spec::RdmaAckGetDmaMr& response);
  Error RegUserMr(const spec::RdmaCmdRegUserMr& request, spec::RdmaAckRegUserMr& response);
  Error DeregMr(const spec::RdmaCmdDeregMr& request, Empty&);
  Error ReregMr(const spec::RdmaCmdReregMr& request, spec::RdmaAckReregMr& response);
  Error AllocMr(const spec::RdmaCmdAllocMr& request, spec::RdmaAckAllocMr& response);
  Error QueryMr(const spec::RdmaCmdQueryMr& request, spec::RdmaAckQueryMr& response);
  Error AllocMw(const spec::RdmaCmdAllocMw& request, spec::RdmaAckAllocMw& response);
  Error DeallocMw(const spec::RdmaCmdDeallocMw& request, Empty&);
  Error CreateAh(const spec::RdmaCmdCreateAh& request, spec::RdmaAckCreateAh& response);
  Error DestroyAh(const spec::RdmaCmdDestroyAh& request, Empty&);
  Error AddGid(const spec::RdmaCmdAddGid& request, Empty&);
  Error DelGid(const spec::RdmaCmdDelGid& request, Empty&);
  Error SetWindow(const spec::RdmaCmdSetWindow& request, Empty&);

  bool HasPd(uint32_t pdn) const { return pdn < config_.num_pds && pd_used_.Test(pdn); }
  bool HasCq(uint32_t cqn) const { return cqn < config_.num_cqs && cq_used_.Test(cqn); }
  bool HasMr(uint32_t mrn) const { return mrn < config_.num_mrs && mr_used_.Test(mrn) && !mw_used_.Test(mrn); }
  bool HasMw(uint32_t mwn) const { return mwn < config_.num_mrs && mw_used_.Test(mwn); }
  bool HasQp(uint32_t qpn) const { return qpn < config_.num_qps && qp_used_.Test(qpn) && !srq_used_.Test(qpn); }
  bool HasSrq(uint32_t srqn) const { return srqn < config_.num_qps && srq_used_.Test(srqn); }
  bool HasGid(uint32_t index) const { return index < config_.num_gids && gid_used_.Test(index); }
  uint32_t CqElements() const;  // of completions, that the device offers
  // Without elements: a CQ of create_cq.
  Error MakeCq(const spec::RdmaCmdCreateExtendedCq& request, spec::RdmaAckCreateCq& response);
  uint64_t PageSizeCap() const;
  uint64_t MaxMrSize() const;
  bool HasAtomics() const;
  bool HasAtomicWrite() const;
  bool HasFlush() const;
  bool HasInvalidation() const;
  bool HasWindows() const;
  uint32_t MaxFastPages() const;  // of a registration by a work request; 0: there is none
  bool HasExtensibleRequests() const;
  bool HasPush() const;
  uint32_t KnownAccess() const;  // rights that exist
  static bool IsFlushAllowed(const spec::TableMr& entry, uint32_t access_flags);
  static bool AreWindowsAllowed(const spec::TableMr& entry);
  bool IsAccessAllowed(uint32_t access_flags) const;  // of a region
  // Programs the request's page list from `first` on and checks it; with first == kNone it checks only. On failure the
  // entries are cleared again.
  Error LoadPages(size_t request_bytes, uint32_t npages, uint8_t page_shift, uint32_t first);
  Error CheckPageCount(uint64_t virt_addr, uint64_t length, uint32_t npages, uint8_t& page_shift) const;
  void ClearPages(uint32_t first, uint32_t npages);
  void FreePages(uint32_t first, uint32_t npages);
  static void SetRights(spec::TableMr& entry, uint32_t access_flags);
  static uint32_t RightsOf(const spec::TableMr& entry);
  uint8_t NextKey(uint32_t index);
  uint32_t ActivateMr(spec::TableMr entry, uint32_t access_flags);  // returns the key
  uint32_t WriteNewMr(spec::TableMr entry);                         // likewise
  void RemoveMr(uint32_t index);
  bool IsBound(uint32_t mrn);  // a window to this region
  // No window is bound to the region from now on, until its entry is written again. False: one is, and nothing changed.
  bool EndBinds(uint32_t mrn, const spec::TableMr& entry);
  void UnbindWindows(uint32_t qpn);
  // Checks numbers and addresses of a path whose sgid_index exists: invalid_attribute, invalid_address or ok.
  Error CheckPath(const spec::RdmaAhAttr& path);
  spec::TablePath ResolvePath(const spec::RdmaAhAttr& path);

  // --- queue_pairs.cc ---
  Error CreateQp(const spec::RdmaCmdCreateQp& request, spec::RdmaAckCreateQp& response);
  Error ModifyQp(const spec::RdmaCmdModifyQp& request, Empty&);
  Error QueryQp(const spec::RdmaCmdQueryQp& request, spec::RdmaAckQueryQp& response);
  Error DestroyQp(const spec::RdmaCmdDestroyQp& request, Empty&);

  Error CheckModify(const spec::RdmaCmdModifyQp& request, const spec::TableQpContext& context, spec::IbQpState to);
  bool AreAttributesValid(const spec::RdmaCmdModifyQp& request) const;
  bool AreQueuesReady(uint32_t qpn, const spec::TableQpContext& context);
  void ApplyAttributes(const spec::RdmaCmdModifyQp& request, spec::TableQpContext& context);
  spec::IbMtu LinkMtu() const;  // largest path MTU that fits the link's MTU; 0: none
  void RunQp(uint32_t qpn, spec::QpOperation operation);
  bool HasOldWork(uint32_t qpn);
  uint32_t FindQpNumber();  // of a QP or a shared receive queue; kNone: all are used
  void RemoveQp(uint32_t qpn);
  // The drain continues after the response.
  void StartDrain(uint32_t qpn);
  void WatchNextDrain();
  bool CheckDrains();           // true if one has ended
  bool EndDrain(uint32_t qpn);  // true if it has ended

  // --- shared_receive_queues.cc ---
  Error CreateSrq(const spec::RdmaCmdCreateSrq& request, spec::RdmaAckCreateSrq& response);
  Error ModifySrq(const spec::RdmaCmdModifySrq& request, Empty&);
  Error QuerySrq(const spec::RdmaCmdQuerySrq& request, spec::RdmaAckQuerySrq& response);
  Error DestroySrq(const spec::RdmaCmdDestroySrq& request, Empty&);

  // --- multicast.cc ---
  Error AttachMcast(const spec::RdmaCmdAttachMcast& request, Empty&);
  Error DetachMcast(const spec::RdmaCmdDetachMcast& request, Empty&);

  uint32_t MaxMcastAttach() const { return profile_->rdma_has_additions ? config_.max_mcast_attach : 0; }
  uint32_t FindAttachment(uint32_t qpn, const uint8_t* mgid) const;  // its row of the table, or kNone
  bool IsAttached(uint32_t qpn) const;                               // to any group
  void RemoveAttachment(uint32_t row);

  // --- net.cc ---
  template <bool spec::MgmtRxMode::*mode>
  bool SetRxMode(const spec::NetCtrlRx& request, Empty&);
  bool SetMacTable(const spec::NetCtrlMac& unicast, Empty&);
  bool SetMacAddress(const spec::NetCtrlMacAddr& request, Empty&);
  template <bool member>
  bool SetVlan(const spec::NetCtrlVlan& request, Empty&);
  bool AckAnnounce(const Empty&, Empty&);
  bool SetQueuePairs(const spec::NetCtrlMqPairsSet& request, Empty&);
  bool SetRss(const spec::NetRssConfigHdr& request, Empty&);
  bool SetHash(const spec::NetHashConfig& request, Empty&);
  bool SetGuestOffloads(const spec::NetCtrlGuestOffloads& request, Empty&);
  template <bool transmit>
  bool SetCoalescing(const spec::NetCtrlCoal& request, Empty&);
  bool SetQueueCoalescing(const spec::NetCtrlCoalVq& request, Empty&);
  bool GetQueueCoalescing(const spec::NetCtrlCoalVqGet& request, spec::NetCtrlCoal& response);

  void StartNet();
  void ResetNet();
  void SetToCommonCoalescing(uint32_t index, spec::TableVirtqueue& queue) const;
  bool IsNetQueueEnabled(uint32_t index);
  void WriteRxMode();
  void WriteMac(const uint8_t* mac);
  void WriteGuestOffloads(uint64_t offloads);
  uint64_t AcceptedGuestOffloads() const;
  bool ReadHashKey(uint64_t offset, uint8_t length, spec::TableRssConfig& entry);

  Device device_;
  Options options_;
  bool started_ = false;
  bool fatal_ = false;

  spec::Config config_{};  // of the device as built
  uint32_t hardware_version_ = 0;
  uint8_t permanent_mac_[6]{};

  // State of the current driver instance.
  const spec::ProfileConstants* profile_ = &spec::ConstantsOf(spec::Profile{spec::kProfileDefault});
  uint32_t features_[spec::kVirtioFeatureBits / 32]{};
  uint32_t net_pairs_ = 1;  // N of roce.toml
  bool driver_ok_ = false;

  Bitmap<kMaxPds> pd_used_;
  Bitmap<kMaxCqs> cq_used_;
  Bitmap<kMaxQps> qp_used_;   // numbers of QPs and of shared receive queues
  Bitmap<kMaxQps> qp_old_;    // free ones that had old work when it was last asked: HasOldWork
  Bitmap<kMaxQps> srq_used_;  // those of shared receive queues
  uint32_t srqs_ = 0;
  Bitmap<kMaxMrs> mr_used_;  // numbers of regions and memory windows
  Bitmap<kMaxMrs> mw_used_;  // those of windows
  Bitmap<kMaxTranslations> translation_used_;
  Bitmap<kMaxAhs> ah_used_;
  Bitmap<kMaxGids> gid_used_;
  Bitmap<kMaxQueues> window_used_;
  Bitmap<kMaxQueues> queue_bound_;  // virtqueue table entries with a nonzero part owned by firmware
  uint16_t pd_users_[kMaxPds]{};    // QPs, shared receive queues, memory regions and address handles
  uint16_t cq_users_[kMaxCqs]{};    // one for each direction of a QP
  uint16_t srq_users_[kMaxQps]{};   // QPs, by the number of the shared receive queue
  static_assert(kMaxQps + kMaxMrs + kMaxAhs <= 0xffff && 2 * kMaxQps <= 0xffff);
  struct {
    uint16_t send;
    uint16_t receive;
  } qp_cqs_[kMaxQps]{};
  uint8_t mr_key_[kMaxMrs]{};  // key of the last region with this index
  struct Attachment {
    bool is_valid;
    uint16_t qpn;
    uint8_t mgid[16];
  };
  Attachment attachments_[kMaxMcastAttach]{};  // to multicast groups, by their row of the table
  // Start of the next search: numbers are not reused at once, so that stale ones are detected.
  uint32_t next_pd_ = 0, next_cq_ = 0, next_qp_ = 0, next_mr_ = 0, next_ah_ = 0;

  Bitmap<kMaxQps> draining_;
  uint32_t watched_drain_ = kNone;  // the one whose end the device reports

  spec::MgmtRxMode rx_mode_{};  // as requested by the driver
  bool unicast_overflow_ = false;
  bool multicast_overflow_ = false;
  uint32_t mac_entries_ = 0;
  spec::NetCtrlCoal coalescing_[2]{};  // of all receive, of all transmit queues
};

// For the caller's static memory.
inline constexpr size_t kFirmwareBytes = sizeof(Firmware);

}  // namespace vireo::firmware
