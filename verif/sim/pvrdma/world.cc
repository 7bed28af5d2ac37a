// SPDX-License-Identifier: Apache-2.0
#include "verif/sim/pvrdma/world.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo::sim::pvrdma {

// Guest memory: mapped here, and a window of the guest.
class LocalGuest::Pages final : public host::DmaMemory {
 public:
  Pages(GuestMemory& memory, uint8_t* data, uint64_t address, size_t bytes)
      : DmaMemory(data, address, bytes), memory_(memory) {}
  ~Pages() override {
    memory_.Unmap(address());
    ::munmap(data(), size());
  }

 private:
  GuestMemory& memory_;
};

LocalGuest::LocalGuest(Nic& nic, const verbs::Quota& quota)
    : memory_(nic.device().function()), device_(nic, memory_, quota), function_(device_, nic.device().function()) {}

host::Result<host::DmaBuffer> LocalGuest::AllocateDma(size_t bytes, size_t alignment) {
  EXPECT_LE(alignment, kPageBytes);
  bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(data, MAP_FAILED);
  const uint64_t address = next_;
  next_ += bytes + kGapBytes;
  EXPECT_TRUE(memory_.Map(address, {static_cast<uint8_t*>(data), bytes}));
  return host::DmaBuffer(std::make_unique<Pages>(memory_, static_cast<uint8_t*>(data), address, bytes));
}

host::Result<host::DmaBuffer> LocalGuest::MapDma(uint8_t* memory, size_t bytes) {
  return function_.MapDma(memory, bytes);
}

void LocalGuest::Wait(uint64_t deadline_ns) {
  function_.Wait(deadline_ns);
  progress_();
}

World::World(const Options& options) : nic_of_(options.guests) {
  RdmaSystemOptions system{.device = options.device, .config = options.config};
  system.profile = options.profile;
  system.nics = std::max<size_t>(2, *std::ranges::max_element(options.guests) + 1);
  system.fabric = Fabric::kSwitch;
  system.network_switch.hairpin = true;  // two guests of one NIC
  system.is_monitored = options.is_monitored;
  system.is_traced = options.is_traced;
  system.firmware_access_cycles = options.firmware_access_cycles;
  auto built = RdmaSystem::Build(system);
  EXPECT_NE(built.system, nullptr) << built.error;
  system_ = std::move(built.system);
  constexpr uint16_t kFirstVector = 2;  // after the driver's own
  for (size_t i = 0; i < system.nics; ++i) {
    RdmaHost& host = system_->host(i);
    if (options.has_gsi) gsis_.push_back(OpenGsi(i));
    nics_.push_back(std::make_unique<Nic>(host.device(), directory_,
                                          Nic::Options{.mac = host.mac(),
                                                       .own_gids = {{.index = 0, .gid = host.gid()}},
                                                       .drain_events = [this, i] { DrainEvents(i); },
                                                       .active_mtu = spec::IbMtu::kMtu4096,
                                                       .link_mbps = options.config->link_mbps,
                                                       .node_guid = 0x0256'49ff'fe52'0001 + i,
                                                       .first_vector = kFirstVector,
                                                       .vectors = options.vectors,
                                                       .gsi = options.has_gsi ? gsis_.back().get() : nullptr}));
  }
  for (size_t i = 0; i < options.guests.size(); ++i) {
    const verbs::Quota quota = i < options.quotas.size() ? options.quotas[i] : verbs::Unlimited();
    guests_.push_back(std::make_unique<LocalGuest>(*nics_[options.guests[i]], quota));
    guests_.back()->progress_ = [this] { Progress(); };
    drivers_.push_back(std::make_unique<Driver>(*guests_.back()));
  }
}

World::~World() {
  drivers_.clear();
  guests_.clear();
  nics_.clear();
  gsis_.clear();
  EXPECT_EQ(system_->Violations(), "");
}

std::unique_ptr<service::cm::Gsi> World::OpenGsi(size_t nic) {
  service::cm::Gsi::Options options;
  options.gids = {{.index = 0, .gid = system_->host(nic).gid()}};
  options.neighbors = [this](const Gid& gid) -> std::optional<Mac> {
    for (size_t i = 0; i < nics_.size(); ++i) {
      if (gid == system_->host(i).gid()) return system_->host(i).mac();
    }
    return directory_.Find(gid);
  };
  auto opened = service::cm::Gsi::Create(system_->host(nic).device().shared_from_this(), std::move(options));
  EXPECT_TRUE(opened.ok()) << host::ToString(opened.error());
  return std::move(opened).value();
}

std::array<uint8_t, 16> World::GidOf(size_t number, uint8_t which) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, which, static_cast<uint8_t>(number + 1)};
}

void World::Start() {
  for (size_t i = 0; i < drivers_.size(); ++i) {
    drivers_[i]->Start();
    drivers_[i]->Bind(0, GidOf(i));
  }
}

void World::DrainEvents(size_t nic) {
  for (;;) {
    const auto event = system_->host(nic).device().PollEvent();
    if (!event.ok() || !event->has_value()) return;
    for (size_t i = 0; i < guests_.size(); ++i) {
      if (nic_of_[i] == nic) guests_[i]->device_.OnEvent(**event);
    }
  }
}

void World::Progress() {
  for (size_t i = 0; i < nics_.size(); ++i) DrainEvents(i);
  for (const auto& gsi : gsis_) EXPECT_TRUE(gsi->Poll().ok());
  for (const auto& guest : guests_) guest->device_.Progress();
}

}  // namespace vireo::sim::pvrdma
