// SPDX-License-Identifier: Apache-2.0
// A PVRDMA driver for tests, over any PCI function: in this process or behind vfio-user. It does what Linux' driver
// does with registers, shared region, page directories and rings, and lets a test write anything else into them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/driver/pci_function.h"
#include "sim/pvrdma/abi.h"

namespace vireo::sim::pvrdma {

// Pages of guest memory with the directory that lists them.
struct GuestBuffer {
  host::DmaBuffer memory, directory;
  uint32_t pages = 0;
  uint8_t* data() const { return memory->data(); }
  uint64_t address() const { return memory->address(); }
};

class Driver {
 public:
  explicit Driver(host::PciFunction& function) : function_(function) {}

  host::PciFunction& function() { return function_; }
  uint32_t ReadRegister(uint32_t offset) {
    return static_cast<uint32_t>(function_.ReadBar(kRegisterBar, offset, sizeof(uint32_t)));
  }
  void WriteRegister(uint32_t offset, uint32_t value) {
    function_.WriteBar(kRegisterBar, offset, sizeof(uint32_t), value);
  }
  void Ring(uint32_t page, uint32_t offset, uint32_t value) {
    function_.WriteBar(kUarBar, page * kPageBytes + offset, sizeof(uint32_t), value);
  }

  host::DmaBuffer Allocate(uint64_t pages);
  GuestBuffer AllocateListed(uint32_t pages);
  // Any other list of pages.
  host::DmaBuffer MakeDirectory(std::span<const uint64_t> pages);

  // Allocates the shared region with its slots and rings.
  void Prepare();
  SharedRegion& region() { return *reinterpret_cast<SharedRegion*>(region_->data()); }
  uint8_t* command_slot() { return command_->data(); }
  // Writes the region's address; returns ERR.
  uint32_t WriteRegion();
  // All of it, up to the activation, with all vectors enabled.
  void Start();
  const DeviceCaps& caps() { return region().caps; }

  // Executes a command. Returns ERR, which must agree with the response.
  template <typename Request, typename Response>
  uint32_t Execute(Command command, Request request, Response& response) {
    static uint64_t key = 0x1234'5678'0000'0000;
    request.header.command = command;
    request.header.response = ++key;
    std::memcpy(command_->data(), &request, sizeof request);
    WriteRegister(kRequest, 0);
    const uint32_t error = ReadRegister(kErr);
    std::memcpy(&response, response_->data(), sizeof response);
    ResponseHeader header;
    std::memcpy(&header, response_->data(), sizeof header);
    EXPECT_EQ(header.response, key);
    EXPECT_EQ(header.ack, kResponseBit | static_cast<uint32_t>(command));
    EXPECT_EQ(header.error, error);
    return error;
  }
  template <typename Request>
  uint32_t Execute(Command command, const Request& request) {
    ResponseHeader response;
    return Execute(command, request, response);
  }
  uint32_t Destroy(Command command, uint32_t handle) { return Execute(command, HandleCommand{.handle = handle}); }

  // Waits until `done`; false: not within some seconds of real time.
  bool Await(const std::function<bool()>& done);
  // Takes the events, or notified CQ handles, that the device has put into its ring.
  std::vector<Event> TakeEvents();
  std::vector<uint32_t> TakeNotifications();

  // --- Objects; each call must succeed
  uint32_t CreatePd(uint32_t context = 0);
  struct Region {
    GuestBuffer buffer;
    uint32_t handle = 0, lkey = 0, rkey = 0;
    uint64_t start = 0;
    Sge Element(uint64_t offset, uint32_t bytes) const {
      return {.addr = start + offset, .length = bytes, .lkey = lkey};
    }
  };
  Region CreateRegion(uint32_t pd, uint32_t pages, uint32_t access = 7);
  void Bind(uint32_t index, const std::array<uint8_t, 16>& gid);

 private:
  template <typename T>
  std::vector<T> Take(const GuestBuffer& ring);

  host::PciFunction& function_;
  host::DmaBuffer region_, command_, response_;
  GuestBuffer events_, notifications_;
};

// A completion queue's ring.
class DriverCq {
 public:
  DriverCq(Driver& driver, uint32_t cqe, uint32_t context = 0);
  uint32_t handle() const { return handle_; }
  GuestBuffer& buffer() { return buffer_; }
  RingState& state() { return reinterpret_cast<RingHeader*>(buffer_.data())->second; }
  // The next completion, if there is one.
  std::optional<Cqe> Poll();
  // Waits for it.
  std::optional<Cqe> Next();
  void Arm(bool solicited = false) { Ring(solicited ? kCqArmSolicited : kCqArm); }
  void Ring(uint32_t bits) { driver_.Ring(context_, kCqDoorbell, handle_ | bits); }
  uint32_t Destroy() { return driver_.Destroy(Command::kDestroyCq, handle_); }

 private:
  Driver& driver_;
  uint32_t cqe_, context_, handle_ = 0;
  GuestBuffer buffer_;
};

// A shared receive queue's ring.
class DriverSrq {
 public:
  DriverSrq(Driver& driver, uint32_t pd, uint32_t max_wr, uint32_t max_sge = 1, uint32_t context = 0);
  // The command for it, but for its buffer.
  static CreateSrq Request(uint32_t pd, uint32_t max_wr, uint32_t max_sge);
  uint32_t handle() const { return handle_; }
  RingState& state() { return reinterpret_cast<RingHeader*>(buffer_.data())->second; }
  // Writes an entry and the doorbell. The ring must have room.
  void Receive(RecvWqe wqe, std::span<const Sge> elements = {}, bool rings = true);
  void Ring() { driver_.Ring(context_, kSrqDoorbell, handle_ | kSrqRecv); }
  uint32_t Modify(uint32_t mask, uint32_t limit) {
    return driver_.Execute(Command::kModifySrq,
                           ModifySrq{.handle = handle_, .mask = mask, .attributes = {.srq_limit = limit}});
  }
  SrqAttributes Query();
  uint32_t Destroy() { return driver_.Destroy(Command::kDestroySrq, handle_); }

 private:
  Driver& driver_;
  uint32_t max_wr_, max_sge_, context_, handle_ = 0;
  GuestBuffer buffer_;
};

struct DriverQpOptions {
  uint8_t type = 2;  // IBTA's: RC
  uint32_t send_wr = 16, recv_wr = 16, send_sge = 1, recv_sge = 1;
  bool signal_all = false;
  uint32_t context = 0;
  std::optional<uint32_t> srq{};  // its handle; recv_wr and recv_sge are ignored
  uint32_t ring_recv_wr() const { return srq.has_value() ? 0 : recv_wr; }
  uint32_t ring_recv_sge() const { return srq.has_value() ? 0 : recv_sge; }
};

class DriverQp {
 public:
  DriverQp(Driver& driver, uint32_t pd, DriverCq& send_cq, DriverCq& recv_cq, const DriverQpOptions& options = {});
  // The command for it; `buffer` has the rings.
  static CreateQp Request(uint32_t pd, uint32_t send_cq, uint32_t recv_cq, const DriverQpOptions& options);
  static uint32_t SendPages(const DriverQpOptions& options);
  static uint32_t RecvPages(const DriverQpOptions& options);

  uint32_t qpn() const { return qpn_; }
  uint32_t handle() const { return handle_; }
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(buffer_.data()); }
  GuestBuffer& buffer() { return buffer_; }
  uint32_t Modify(uint32_t mask, const QpAttributes& attributes);
  QpAttributes Query();
  // To INIT, RTR, RTS with a path to `dgid`; a test may give other attributes. Each step must succeed.
  struct Connection {
    uint32_t dest_qpn = 0;
    std::array<uint8_t, 16> dgid{};
    uint8_t sgid_index = 0;
    uint32_t qkey = 0x1111'1111;
    uint32_t mtu = 3;
    uint32_t access = 7;  // of its peer: all but atomics
  };
  void Connect(const Connection& connection);
  // Writes entries and the doorbell. The ring must have room.
  void Send(SendWqe wqe, std::span<const Sge> elements = {}, bool rings = true);
  void Receive(RecvWqe wqe, std::span<const Sge> elements = {}, bool rings = true);
  void RingSend() { driver_.Ring(options_.context, kQpDoorbell, handle_ | kQpSend); }
  void RingRecv() { driver_.Ring(options_.context, kQpDoorbell, handle_ | kQpRecv); }
  uint32_t Destroy() { return driver_.Destroy(Command::kDestroyQp, handle_); }

 private:
  Driver& driver_;
  const DriverQpOptions options_;
  GuestBuffer buffer_;
  uint32_t qpn_ = 0, handle_ = 0;
};

}  // namespace vireo::sim::pvrdma
