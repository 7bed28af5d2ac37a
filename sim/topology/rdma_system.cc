// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/rdma_system.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "sim/device/board/board_device.h"
#include "sim/device/nic_devices.h"
#include "sim/topology/board_runner.h"
#include "sim/topology/riscv_runner.h"

namespace vireo::sim {
namespace {

// Bytes of a frame around its packet: Ethernet header and a VLAN tag.
constexpr uint32_t kFrameOverhead = spec::Ethernet::kBytes + spec::VlanTag::kBytes;

}  // namespace

std::string DefaultFirmware() {
  const char* const name = std::getenv("VIREO_FIRMWARE");
  return name == nullptr || *name == '\0' ? kFirmwareNames[0] : name;
}

// --- Hosts

RdmaHost::RdmaHost(Scheduler& scheduler, Station& station, uint16_t number, const HostOptions& options,
                   const host::DeviceOptions& driver)
    : station_(station),
      mac_(options.mac.value_or(DefaultMac(number))),
      ipv4_(options.ipv4.value_or(DefaultIpv4(number))),
      driver_(driver) {
  firmware::Options settings{.has_mac = true};
  settings.profile = options.profile;
  std::ranges::copy(mac_, settings.mac);
  settings.mtu = options.mtu != 0 ? options.mtu : options.nic.config->max_frame_bytes - kFrameOverhead;
  auto* const board = dynamic_cast<BoardNic*>(&station.nic());
  if (options.firmware == "rv32" && board != nullptr && board->has_processor()) {
    firmware_ = std::make_unique<BoardRunner>(scheduler, station.clock(), station.tap(), *board, settings);
  } else if (options.firmware == "rv32") {
    firmware_ = std::make_unique<RiscvRunner>(scheduler, station.clock(), station.tap(), settings);
  } else {
    const FirmwareRunner::Options runner{.access_cycles = options.firmware_access_cycles, .firmware = settings};
    firmware_ = std::make_unique<FirmwareRunner>(scheduler, station.clock(), station.tap(), runner);
  }
  function_ = std::make_unique<SimulatedFunction>(scheduler, station);
}

std::array<uint8_t, 6> RdmaHost::DefaultMac(uint16_t number) {
  // Locally administered. [IEEE 802, 8.2.2]
  return {0x02, 0x56, 0x49, 0x52, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number + 1)};
}

std::array<uint8_t, 4> RdmaHost::DefaultIpv4(uint16_t number) {
  const auto host = static_cast<uint16_t>(number + 1);
  return {10, 0, static_cast<uint8_t>(host >> 8), static_cast<uint8_t>(host)};
}

std::array<uint8_t, 16> RdmaHost::gid(uint8_t index) const {
  if (index == kIpv6Gid) {
    // Link-local, with the MAC's modified EUI-64. [RFC 4291, 2.5.6 and appendix A]
    const std::array<uint8_t, 6> eui = mac();
    return {0xfe,   0x80,   0,    0,    0,      0,      0,     0, static_cast<uint8_t>(eui[0] ^ 2),
            eui[1], eui[2], 0xff, 0xfe, eui[3], eui[4], eui[5]};
  }
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ipv4_[0], ipv4_[1], ipv4_[2], ipv4_[3]};
}

spec::RdmaAhAttr RdmaHost::PathTo(const RdmaHost& peer, uint8_t gid_index) const {
  spec::RdmaAhAttr path;
  std::ranges::copy(peer.gid(gid_index), path.grh.dgid);
  path.grh.sgid_index = gid_index;
  path.grh.hop_limit = 64;
  std::ranges::copy(peer.mac(), path.dmac);
  return path;
}

void RdmaHost::FlipBit(spec::ContextRam ram, uint32_t index, uint32_t bit) {
  firmware_->WriteBeside(spec::kMgmtFlipEntryRegister, spec::MgmtFlipEntry{.index = index, .ram = ram}.ToWord());
  firmware_->WriteBeside(spec::kMgmtFlipBitRegister, bit);
}

std::string RdmaHost::AddIpv6Gid() {
  uint8_t bytes[16];
  std::ranges::copy(gid(kIpv6Gid), bytes);
  const verbs::Status added = device_->AddGid(kIpv6Gid, bytes);
  return added.ok() ? "" : station_.name() + ": GID 1: " + host::ToString(added.error());
}

std::string RdmaHost::Open(const host::FeatureSet& wanted) {
  host::DeviceOptions options = driver_;
  options.wanted = wanted;
  auto opened = verbs::Device::Open(*function_, options);
  if (!opened.ok()) return station_.name() + ": " + host::ToString(opened.error());
  device_ = std::move(opened).value();
  uint8_t bytes[16];
  std::ranges::copy(gid(), bytes);
  const verbs::Status added = device_->AddGid(0, bytes);
  return added.ok() ? "" : station_.name() + ": GID 0: " + host::ToString(added.error());
}

// --- The system

namespace {

std::string NoDevice(const std::string& name) {
  std::string text = "no device " + name + "; known:";
  for (const std::string& known : DeviceNames()) text += " " + known;
  return text + " board:LINE";
}

}  // namespace

RdmaSystem::Built RdmaSystem::Build(const RdmaSystemOptions& options) {
  const PcieParameters* pcie = FindPciePreset(options.pcie_preset);
  if (pcie == nullptr) return {nullptr, "no PCIe preset " + std::string(options.pcie_preset)};
  std::vector<HostOptions> hosts = options.hosts;
  for (size_t i = 0; options.hosts.empty() && i < options.nics; ++i) {
    HostOptions& host = hosts.emplace_back();
    host.device = i == 0 || options.peer.empty() ? DeviceOfNic(options.device, i) : options.peer;
    host.nic.name = "nic" + std::to_string(i);
    host.nic.config = options.config;
    host.profile = options.profile;
    host.nic.pcie = *pcie;
    host.firmware = options.firmware;
    host.firmware_access_cycles = options.firmware_access_cycles;
    if (i < options.faults_out.size()) host.nic.faults_out = options.faults_out[i];
  }
  std::unique_ptr<RdmaSystem> system(new RdmaSystem());
  system->scheduler_ = options.make_scheduler ? options.make_scheduler() : std::make_unique<StandaloneScheduler>();
  LockstepOptions lockstep;
  lockstep.on_mismatch = [&mismatches = system->mismatches_](const std::string& report) {
    std::fprintf(stderr, "%s\n", report.c_str());  // GoogleTest would print it as one escaped line
    if (std::getenv("VIREO_STOP_AT_MISMATCH") != nullptr) std::_Exit(EXIT_FAILURE);
    mismatches.push_back(report);
  };
  std::map<std::string, NicFactory> factories;
  // IPv6 requires at least 1280 bytes. [RFC 8200, 5]
  constexpr uint32_t kMtuMin = 1280;
  for (const HostOptions& host : hosts) {
    const uint32_t mtu_max = host.nic.config->max_frame_bytes - kFrameOverhead;
    if (host.mtu != 0 && (host.mtu < kMtuMin || host.mtu > mtu_max)) {
      return {nullptr, "the MTU must be from " + std::to_string(kMtuMin) + " to " + std::to_string(mtu_max) + " bytes"};
    }
    const auto [at, is_new] = factories.try_emplace(host.device);
    if (is_new)
      at->second = options.devices ? options.devices(host.device, lockstep) : NicDeviceFactory(host.device, lockstep);
    if (!at->second) return {nullptr, NoDevice(host.device)};
    if (std::ranges::find(kFirmwareNames, host.firmware) == kFirmwareNames.end()) {
      return {nullptr, "no firmware " + host.firmware + "; known: native rv32"};
    }
    if (std::string why = ProcessorRtl::WhyUnavailable(); host.firmware == "rv32" && !why.empty())
      return {nullptr, why};
  }
  const NicFactory factory = [&](const NicContext& context) {
    return factories.at(hosts[context.number].device)(context);
  };
  TopologyParameters parameters;
  parameters.fabric = options.fabric;
  parameters.network_switch = options.network_switch;
  parameters.capture_path = options.capture_path;
  parameters.outer_ports = options.outer_ports;
  parameters.is_metered = options.is_metered;
  parameters.is_monitored = options.is_monitored;
  parameters.is_traced = options.is_traced;
  for (const HostOptions& host : hosts) {
    NicParameters& nic = parameters.nics.emplace_back(host.nic);
    nic.mac.buffer_bytes = std::max(nic.mac.buffer_bytes, 4 * nic.config->max_frame_bytes);
  }
  auto built = Topology::Build(*system->scheduler_, parameters, factory);
  if (built.topology == nullptr) return {nullptr, built.error};
  system->topology_ = std::move(built.topology);
  for (size_t i = 0; i < hosts.size(); ++i) {
    system->hosts_.push_back(std::make_unique<RdmaHost>(*system->scheduler_, system->topology_->station(i),
                                                        static_cast<uint16_t>(i), hosts[i], options.driver));
  }
  for (const auto& host : system->hosts_) {
    if (!options.open) break;
    if (std::string error = host->Open(); !error.empty()) {
      for (const std::string& mismatch : system->mismatches_) error += "\n" + mismatch;
      return {nullptr, error};
    }
  }
  return {std::move(system), ""};
}

RdmaSystem::~RdmaSystem() {
  for (const auto& host : hosts_) host->device_.reset();  // while the simulation still runs
}

void RdmaSystem::Reset(size_t number) {
  RdmaHost& reset = host(number);
  topology_->Reset(number);
  // The reset happens at the start of a cycle and restarts the firmware.
  topology_->RunFor(2 * reset.station().clock().Begin(1));
  constexpr Picoseconds kTimeout = 1'000'000'000'000;
  const auto is_done = [&reset] { return reset.firmware().is_started() || reset.firmware().is_refused(); };
  scheduler_->RunUntil(is_done, scheduler_->now() + kTimeout);
  reset.function().Enumerate();
}

LockstepNic* RdmaSystem::lockstep(size_t number) {
  return dynamic_cast<LockstepNic*>(&topology_->station(number).nic());
}

std::string RdmaSystem::Violations() {
  std::string text;
  for (const std::string& violation : topology_->Violations()) text += violation + "\n";
  for (const std::string& mismatch : mismatches_) text += mismatch + "\n";
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const LockstepNic* nic = lockstep(i);
    if (nic == nullptr) continue;
    const CycleDifferences all = nic->TotalDifferences();
    if (all.exact != all.count) text += hosts_[i]->station().name() + ":\n" + nic->DifferenceTable();
  }
  return text;
}

// --- Connections

namespace {

// Common part of connected and datagram pairs: a domain (that of `srq`, if there is one), a completion queue, the queue
// pair, memory and its region. Returns an error message, empty if none.
template <typename Side, typename Options>
std::string MakeSide(Side& side, RdmaHost& host, const Options& options,
                     const std::shared_ptr<verbs::SharedReceiveQueue>& srq = nullptr) {
  const auto fail = [&host](const char* what, const host::Error& reason) {
    return host.station().name() + ": " + what + ": " + host::ToString(reason);
  };
  if (srq == nullptr) {
    auto pd = host.device().CreatePd();
    if (!pd.ok()) return fail("protection domain", pd.error());
    side.pd = *pd;
  } else {
    side.pd = srq->pd();
  }
  const uint16_t vectors = host.device().net().vectors();
  auto cq = host.device().CreateCq(
      options.cqe, options.interrupts && vectors != 0 ? std::optional<uint16_t>(vectors - 1) : std::nullopt, 0,
      options.cq_elements);
  if (!cq.ok()) return fail("completion queue", cq.error());
  side.cq = *cq;
  verbs::QueuePairOptions qp_options = options.qp;
  qp_options.send_cq = qp_options.recv_cq = side.cq;
  if (srq != nullptr) qp_options.srq = srq;
  auto qp = side.pd->CreateQp(qp_options);
  if (!qp.ok()) return fail("queue pair", qp.error());
  side.qp = *qp;
  auto memory = host.function().AllocateDma(options.memory_bytes, 4096);
  if (!memory.ok()) return fail("memory", memory.error());
  side.memory = std::move(memory).value();
  auto region = side.pd->Register(*side.memory, host.device().all_access());
  if (!region.ok()) return fail("memory region", region.error());
  side.region = *region;
  return "";
}

constexpr std::array<uint32_t, 2> kPsn = {0xfffffe, 0x123456};  // one that wraps soon

}  // namespace

ConnectedPair::~ConnectedPair() {
  for (Side& one : side) one.qp.reset();
}

std::unique_ptr<ConnectedPair> MakeConnectedPair(RdmaHost& first, RdmaHost& second, const ConnectedPairOptions& options,
                                                 std::string* error) {
  auto pair = std::make_unique<ConnectedPair>();
  const std::array<RdmaHost*, 2> hosts = {&first, &second};
  for (size_t i = 0; i < 2; ++i) {
    *error = MakeSide(pair->side.at(i), *hosts.at(i), options, i == 1 ? options.far_srq : nullptr);
    if (!error->empty()) return nullptr;
  }
  for (size_t i = 0; i < 2; ++i) {
    verbs::QueuePair::Connection connection = options.connection;
    connection.dest_qpn = pair->side.at(1 - i).qp->qpn();
    connection.local_psn = kPsn.at(i);
    connection.remote_psn = kPsn.at(1 - i);
    connection.path_mtu = options.path_mtu;
    connection.path = hosts.at(i)->PathTo(*hosts.at(1 - i), options.gid_index);
    const verbs::Status connected = pair->side.at(i).qp->Connect(connection);
    if (!connected.ok()) {
      *error = hosts.at(i)->station().name() + ": connect: " + host::ToString(connected.error());
      return nullptr;
    }
  }
  return pair;
}

// --- Datagrams

DatagramPair::~DatagramPair() {
  for (Side& one : side) one.qp.reset();
}

verbs::SendRequest DatagramPair::To(size_t from, verbs::SendRequest request) const {
  const Side& peer = side.at(1 - from);
  request.remote_qpn = peer.qp->qpn();
  request.remote_qkey = peer.qkey;
  request.ah = side.at(from).ah.get();
  return request;
}

std::unique_ptr<DatagramPair> MakeDatagramPair(RdmaHost& first, RdmaHost& second, const DatagramPairOptions& options,
                                               std::string* error) {
  auto pair = std::make_unique<DatagramPair>();
  const std::array<RdmaHost*, 2> hosts = {&first, &second};
  for (size_t i = 0; i < 2; ++i) {
    DatagramPair::Side& side = pair->side.at(i);
    *error = MakeSide(side, *hosts.at(i), options);
    if (!error->empty()) return nullptr;
    auto ah = side.pd->CreateAh(hosts.at(i)->PathTo(*hosts.at(1 - i), options.gid_index));
    if (!ah.ok()) {
      *error = hosts.at(i)->station().name() + ": address handle: " + host::ToString(ah.error());
      return nullptr;
    }
    side.ah = *ah;
    side.qkey = options.qkey.at(i);
    const verbs::Status started = side.qp->Start({.qkey = side.qkey, .local_psn = kPsn.at(i)});
    if (!started.ok()) {
      *error = hosts.at(i)->station().name() + ": start: " + host::ToString(started.error());
      return nullptr;
    }
  }
  return pair;
}

}  // namespace vireo::sim
