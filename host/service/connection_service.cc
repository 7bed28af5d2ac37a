// SPDX-License-Identifier: Apache-2.0
#include "host/service/connection_service.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/service/cm/cm.h"
#include "host/service/cm/gsi.h"
#include "host/service/cm/ucma.h"
#include "host/service/cm/ucma_channel.h"

namespace vireo::service {
namespace {

// perftest connects a second time as soon as the first connection has exchanged the parameters. Its server may not be
// listening again by then, and a rejected client crashes and leaves its server waiting. Between two machines that race
// is rare; here the client reconnects before the server's next listen.
constexpr uint64_t kRefusalDelayNs = 500'000'000;

template <typename Entry>
std::vector<Entry> GidsOf(const Service& service) {
  std::vector<Entry> gids;
  for (const GidEntry& entry : service.gids()) {
    Entry& gid = gids.emplace_back();
    gid.index = static_cast<uint8_t>(entry.index);
    std::ranges::copy(entry.gid, gid.gid.begin());
  }
  return gids;
}

class ConnectionService final : public ConnectionServer {
 public:
  ConnectionService(Service& service, std::unique_ptr<cm::Gsi> gsi, uint64_t seed)
      : service_(service),
        gsi_(std::move(gsi)),
        manager_(*gsi_, MonotonicNs,
                 {.node_guid = service.node_guid(), .seed = seed, .refusal_delay_ns = kRefusalDelayNs}),
        ucma_(manager_, IdentityOf(service, seed), [&service](const cm::Gid& gid) {
          if (service.FindNeighbor(gid).has_value()) return Ucma::Reach::kReachable;
          return service.IsSearching(gid) ? Ucma::Reach::kSearching : Ucma::Reach::kNowhere;
        }) {
    gsi_->SetReceiver([this](const cm::Path& path, cm::MadView mad) { manager_.OnMad(path, mad); });
  }
  ~ConnectionService() override {
    for (const auto& [socket, channel] : channels_) service_.loop().Unwatch(socket);
  }

  cm::Gsi& gsi() override { return *gsi_; }

  void OnChannel(host::FileDescriptor channel) override {
    const int socket = channel.Release();
    channels_[socket] = std::make_unique<UcmaChannel>(ucma_, socket);
    service_.loop().Watch(socket, [this, socket] {
      if (channels_.at(socket)->Serve()) return;
      service_.loop().Unwatch(socket);
      channels_.erase(socket);
    });
  }

  void OnGidsChanged() override {
    gsi_->SetGids(GidsOf<cm::Gsi::LocalGid>(service_));
    ucma_.SetGids(GidsOf<Ucma::Identity::Gid>(service_));
  }

  void Progress() override {
    if (!is_failed_) is_failed_ = !gsi_->Poll().ok();
    if (const std::optional<uint64_t> deadline = manager_.NextDeadline(); deadline && *deadline <= MonotonicNs()) {
      manager_.Tick();
    }
    ucma_.ResolveWaiting();
  }

  uint64_t NextDeadlineNs() const override {
    if (!is_failed_ && gsi_->IsPending()) return 0;
    return manager_.NextDeadline().value_or(EventLoop::kForeverNs);
  }

 private:
  static Ucma::Identity IdentityOf(const Service& service, uint64_t seed) {
    Ucma::Identity identity;
    identity.node_guid = service.node_guid();
    identity.device_index = service.options().ifindex;
    identity.gids = GidsOf<Ucma::Identity::Gid>(service);
    identity.active_mtu = service.active_mtu();
    identity.link_mbps = service.link_mbps();
    identity.seed = seed;
    return identity;
  }

  Service& service_;
  std::unique_ptr<cm::Gsi> gsi_;
  cm::ConnectionManager manager_;
  Ucma ucma_;
  std::map<int, std::unique_ptr<UcmaChannel>> channels_;  // by socket
  bool is_failed_ = false;                                // QP 1 is in the error state; established connections stay
};

}  // namespace

host::Result<std::unique_ptr<ConnectionServer>> MakeUcmaServer(Service& service, uint64_t seed) {
  if (!service.options().neighbors && !service.options().discovers_neighbors) {
    return host::Error{host::ErrorCode::kInvalidArgument,
                       "connection management requires ServiceOptions::neighbors or discovers_neighbors"};
  }
  cm::Gsi::Options options;
  options.gids = GidsOf<cm::Gsi::LocalGid>(service);
  options.neighbors = [&service](const cm::Gid& gid) { return service.FindNeighbor(gid); };
  host::Result<std::unique_ptr<cm::Gsi>> gsi = cm::Gsi::Create(service.device(), std::move(options));
  if (!gsi.ok()) return gsi.error();
  return std::unique_ptr<ConnectionServer>(std::make_unique<ConnectionService>(service, std::move(gsi).value(), seed));
}

}  // namespace vireo::service
