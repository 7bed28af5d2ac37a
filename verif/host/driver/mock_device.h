// SPDX-License-Identifier: Apache-2.0
// A mock virtio-net RoCE device for tests of the driver: registers, queues and loopback in memory. Protocol violations
// of the driver are recorded in violations(). A test can make the device slow, unresponsive or malicious.
//
// The device works only inside Wait (a doorbell is only recorded). Time advances slightly with every register access,
// and in Wait to the deadline if nothing happens.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/driver/pci_function.h"
#include "verif/host/driver/mock_ring.h"

namespace vireo::sim {

using MockFeatures = std::bitset<spec::kVirtioFeatureBits>;

struct MockDeviceOptions {
  spec::Profile profile = spec::Profile::kVireo;
  bool roce = true;  // offers the profile's RoCE feature bit
  MockFeatures offered;
  uint16_t net_pairs = 1;
  uint32_t qps = 4;
  uint32_t cqs = 4;
  uint16_t max_queue_size = 256;
  unsigned vectors = 8;            // of the function
  unsigned device_vectors = 2048;  // supported by the device
  uint16_t mtu = 1500;
  bool refuse_features = false;
  unsigned reset_reads = 3;  // reads of status or queue_reset until a reset is complete
};

// All features that the driver supports in this profile.
MockFeatures AllMockFeatures();

class MockDevice final : public host::PciFunction, public DeviceMemory {
 public:
  explicit MockDevice(const MockDeviceOptions& options);
  ~MockDevice() override;

  // --- host::PciFunction
  host::Status health() const override;
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override;
  uint64_t BarBytes(unsigned bar) const override;
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  host::Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  host::Result<host::DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return options_.vectors; }
  host::Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override;
  uint64_t NowNs() override { return now_ns_; }
  void Wait(uint64_t deadline_ns) override;

  // --- DeviceMemory
  uint8_t* At(uint64_t address, uint64_t bytes) override;

  // --- For the tests
  struct Queue {
    uint16_t size = 0;
    uint16_t vector = spec::kVirtioMsiNoVector;
    bool enabled = false;
    uint64_t descriptors = 0;
    uint64_t driver = 0;
    uint64_t device = 0;
    unsigned resetting = 0;  // reads until the reset is complete
    std::unique_ptr<MockRing> ring;
    bool kicked = false;
    uint64_t doorbells = 0;
    uint64_t last_doorbell = 0;
    std::vector<uint32_t> arms;                         // writes at rdma_cq_arm_offset
    std::vector<std::pair<uint64_t, uint64_t>> pushed;  // places in the page, and writes of 8 bytes to them
    std::vector<MockChain> chains;                      // fetched, not used
    uint64_t resets = 0;
  };
  Queue& queue(unsigned index) { return queues_[index]; }
  unsigned num_queues() const { return static_cast<unsigned>(queues_.size()); }
  unsigned control_index() const;
  unsigned event_index() const;

  // Returns the answer (ack byte, response) to a control request (header, request, tail). `room` is the writable size.
  using ControlHandler = std::function<std::vector<uint8_t>(const std::vector<uint8_t>& request, uint64_t room)>;
  ControlHandler on_control;
  // Number of bytes reported as written to a control answer; -1: the number actually written.
  int64_t control_length = -1;
  bool never_resets = false;    // neither the device nor a queue completes a reset
  bool unresponsive = false;    // ignores all queues
  bool loopback = true;         // frames of a transmit queue return on the pair's receive queue
  unsigned unstable_reads = 0;  // number of reads of the device configuration that change its generation
  std::function<void(spec::NetHdr&)> on_receive_header;  // modifies the header of a packet

  // Writes a used element, and interrupts unless suppressed.
  void UseChain(unsigned queue, const MockChain& chain, uint32_t written);
  // Writes an event to the event queue; false if there is no buffer.
  bool SendEvent(const spec::RdmaEvent& event);
  void ChangeConfig();  // link status flips, with interrupt
  void NeedReset();
  void LoseFunction() { lost_ = true; }
  void Message(unsigned vector);

  std::vector<uint8_t>& config_space() { return config_space_; }
  std::map<unsigned, uint64_t>& bars() { return bars_; }
  spec::NetConfig& net_config() { return net_config_; }
  spec::NetConfigRdma& rdma_config() { return rdma_config_; }
  uint8_t status() const { return status_; }
  const MockFeatures& accepted() const { return accepted_; }
  bool bus_master() const;
  uint64_t messages(unsigned vector) const { return messages_[vector]; }
  size_t live_allocations() const { return memory_.size(); }
  uint16_t config_vector() const { return config_vector_; }
  uint16_t override_num_queues = 0;  // not 0: value of num_queues
  uint64_t common_length = spec::kBarVirtioCfgBytes;

  // Protocol violations, at the device and its rings.
  std::vector<std::string> violations() const;

 private:
  class Memory;
  friend class Memory;

  bool Has(spec::VirtioFeature feature) const { return accepted_[static_cast<size_t>(feature)]; }
  bool Has(spec::NetFeature feature) const { return accepted_[static_cast<size_t>(feature)]; }
  void Violation(const std::string& what) { violations_.push_back(what); }
  void BuildConfigSpace();
  uint64_t ReadCommon(uint64_t offset, unsigned bytes);
  void WriteCommon(uint64_t offset, unsigned bytes, uint32_t value);
  void WriteStatus(uint8_t value);
  void WriteNotify(uint64_t offset, unsigned bytes, uint64_t value);
  std::vector<uint8_t> DeviceConfigBytes() const;
  bool FeaturesAreGood() const;
  void ClearState();
  void EnableSelected();
  void Work();
  void Transmit(unsigned index, const MockChain& chain);
  void Deliver(unsigned rx_index, const std::vector<uint8_t>& packet);
  void Control(const MockChain& chain);
  std::vector<uint8_t> Gather(const MockChain& chain);
  uint32_t Scatter(const MockChain& chain, const std::vector<uint8_t>& bytes);

  const MockDeviceOptions options_;
  const spec::ProfileConstants& constants_;
  MockFeatures offered_;
  std::vector<uint8_t> config_space_;
  std::map<unsigned, uint64_t> bars_;
  std::map<uint64_t, std::pair<uint8_t*, uint64_t>> memory_;  // device address -> where, bytes
  uint64_t next_address_ = 0x10'0000'0000;

  spec::NetConfig net_config_;
  spec::NetConfigRdma rdma_config_;
  uint8_t generation_ = 1;
  uint8_t status_ = 0;
  unsigned resetting_ = 0;
  MockFeatures accepted_;
  uint32_t device_feature_select_ = 0;
  uint32_t driver_feature_select_ = 0;
  uint16_t config_vector_ = spec::kVirtioMsiNoVector;
  uint16_t select_ = 0;
  uint8_t isr_ = 0;
  std::vector<Queue> queues_;

  unsigned msix_count_ = 0;
  std::vector<bool> pending_;
  std::vector<uint64_t> messages_;
  bool message_since_wait_ = false;
  uint64_t now_ns_ = 1000;
  bool lost_ = false;
  std::vector<std::string> violations_;
  std::vector<std::string> ring_violations_;  // of former rings
};

}  // namespace vireo::sim
