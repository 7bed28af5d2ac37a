// SPDX-License-Identifier: Apache-2.0
// Protection domains, and the memory regions and address handles in them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "host/verbs/device.h"

namespace vireo::verbs {

class ProtectionDomain;
class QueuePair;
struct QueuePairOptions;
class SharedReceiveQueue;
struct SharedReceiveQueueOptions;

// A memory region: memory that work requests and peers may access. The caller owns the memory, which must outlive the
// region.
class MemoryRegion {
 public:
  // What to change; the rest stays.
  struct Pages {
    uint64_t virtual_address = 0, length = 0;
    uint8_t page_shift = 0;
    std::span<const uint64_t> addresses;  // as of ProtectionDomain::Register
    bool is_pmem = false;
  };
  struct Change {
    std::optional<Pages> pages = std::nullopt;
    std::shared_ptr<ProtectionDomain> pd = nullptr;  // null: the same
    std::optional<uint32_t> access = std::nullopt;
  };

  ~MemoryRegion();
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  // Changes the region in place: after success the device accesses nothing but what the new region allows, and the old
  // memory is free. The keys stay, but an invalidatable region gets new ones, and is valid again. If the device refuses
  // it, the region is as before. kUnsupported: profile rfc-v2; kInvalidArgument: nothing to change, or a protection
  // domain of another device.
  Status Modify(const Change& change);
  // The region as the device has it. kUnsupported: profile rfc-v2.
  Result<spec::RdmaAckQueryMr> Query();
  // Deregisters it before this object ends. kRefused: a memory window is bound to it; it stays.
  Status Deregister();
  // The device keeps the region when this object ends: it is another user's (ProtectionDomain::ImportMr).
  void Leave() { is_left_ = true; }

  uint32_t mrn() const { return mrn_; }
  uint32_t lkey() const { return lkey_; }
  uint32_t rkey() const { return rkey_; }
  uint64_t address() const { return address_; }  // virtual address of the first byte, for SGEs and peers
  uint64_t length() const { return length_; }    // bytes
  // Part of it as a scatter/gather element; `offset` + `bytes` is at most length().
  spec::RdmaSge Sge(uint64_t offset, uint32_t bytes) const {
    return {.addr = address_ + offset, .length = bytes, .lkey = lkey_};
  }

 private:
  friend class ProtectionDomain;
  MemoryRegion(std::shared_ptr<ProtectionDomain> pd, uint32_t mrn, uint32_t lkey, uint32_t rkey, uint64_t address,
               uint64_t length)
      : pd_(std::move(pd)), mrn_(mrn), lkey_(lkey), rkey_(rkey), address_(address), length_(length) {}

  std::shared_ptr<ProtectionDomain> pd_;
  uint32_t mrn_, lkey_, rkey_;
  uint64_t address_, length_;
  bool is_left_ = false;  // also: deregistered
};

// A memory window: work requests (SendRequest, bind_mw) give peers access to a part of a region by it.
class MemoryWindow {
 public:
  ~MemoryWindow();
  MemoryWindow(const MemoryWindow&) = delete;
  MemoryWindow& operator=(const MemoryWindow&) = delete;

  uint32_t mwn() const { return mwn_; }
  spec::RdmaMwType type() const { return type_; }
  // Its first key, which is of no use yet. Each bind chooses its own, with other low 8 bits.
  uint32_t rkey() const { return rkey_; }
  // Nobody has access by it any more, and its number is free.
  Status Deallocate();

 private:
  friend class ProtectionDomain;
  MemoryWindow(std::shared_ptr<ProtectionDomain> pd, uint32_t mwn, uint32_t rkey, spec::RdmaMwType type)
      : pd_(std::move(pd)), mwn_(mwn), rkey_(rkey), type_(type) {}

  std::shared_ptr<ProtectionDomain> pd_;
  uint32_t mwn_, rkey_;
  spec::RdmaMwType type_;
  bool is_free_ = false;
};

// An address handle: the path to a peer, for UD.
class AddressHandle {
 public:
  ~AddressHandle();
  AddressHandle(const AddressHandle&) = delete;
  AddressHandle& operator=(const AddressHandle&) = delete;
  uint32_t handle() const { return handle_; }

 private:
  friend class ProtectionDomain;
  AddressHandle(std::shared_ptr<ProtectionDomain> pd, uint32_t handle) : pd_(std::move(pd)), handle_(handle) {}
  std::shared_ptr<ProtectionDomain> pd_;
  uint32_t handle_;
};

class ProtectionDomain : public std::enable_shared_from_this<ProtectionDomain> {
 public:
  ~ProtectionDomain();
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;

  uint32_t pdn() const { return pdn_; }
  Device& device() { return *device_; }
  // Destroys it before this object ends. kRefused: something of another user of the device is in it; it stays.
  Status Destroy();
  // The device keeps the domain when this object ends: it is another user's (Device::ImportPd).
  void Leave() { is_left_ = true; }

  // Registers all of `memory` at `virtual_address`, which must be congruent to memory.address() modulo 4096 (else the
  // device refuses it). `access`: spec::IbAccessFlags.
  Result<std::shared_ptr<MemoryRegion>> Register(const host::DmaMemory& memory, uint32_t access,
                                                 uint64_t virtual_address);
  Result<std::shared_ptr<MemoryRegion>> Register(const host::DmaMemory& memory, uint32_t access) {
    return Register(memory, access, memory.address());
  }
  // Registers pages of 2^page_shift bytes at any device addresses; page_shift 0: 4096 bytes. `invalidatable`: a local
  // invalidate of a QP of this domain, or a SEND with invalidate to one, ends the region: its keys are never valid
  // again, and the object only keeps its number. `is_pmem`: all of it is persistent memory; the access right
  // flush_persistent needs it.
  Result<std::shared_ptr<MemoryRegion>> Register(uint64_t virtual_address, uint64_t length, uint32_t access,
                                                 uint8_t page_shift, std::span<const uint64_t> pages,
                                                 bool invalidatable = false, bool is_pmem = false);
  // A region that work requests of this domain register (SendRequest, reg_mr), with up to `max_pages` pages at any
  // device addresses, and that an invalidate frees; its keys are of no use before. For trusted users, as RegisterAll.
  // kUnsupported: the profile or the device has none.
  Result<std::shared_ptr<MemoryRegion>> AllocateRegion(uint32_t max_pages);
  // kUnsupported: the profile or the device has no memory windows.
  Result<std::shared_ptr<MemoryWindow>> AllocateWindow(spec::RdmaMwType type);
  // A region of another user of this device, whom base() lets share it.
  std::shared_ptr<MemoryRegion> ImportMr(uint32_t mrn, uint32_t lkey, uint32_t rkey, uint64_t address, uint64_t length);
  // Registers the whole device address space; for trusted users.
  Result<std::shared_ptr<MemoryRegion>> RegisterAll(uint32_t access);

  Result<std::shared_ptr<AddressHandle>> CreateAh(const spec::RdmaAhAttr& attributes);
  Result<std::shared_ptr<QueuePair>> CreateQp(const QueuePairOptions& options);
  // kUnsupported: the profile or the device has no shared receive queues.
  Result<std::shared_ptr<SharedReceiveQueue>> CreateSrq(const SharedReceiveQueueOptions& options);

 private:
  friend class Device;
  ProtectionDomain(std::shared_ptr<Device> device, uint32_t pdn) : device_(std::move(device)), pdn_(pdn) {}
  std::shared_ptr<Device> device_;
  uint32_t pdn_;
  bool is_left_ = false;  // also: destroyed
};

}  // namespace vireo::verbs
