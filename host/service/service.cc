// SPDX-License-Identifier: Apache-2.0
#include "host/service/service.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "host/driver/device.h"
#include "host/driver/unix_socket.h"
#include "host/service/context.h"
#include "host/service/packet_socket.h"
#include "host/service/protocol.h"

namespace vireo::service {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

Result<std::unique_ptr<Service>> Service::Open(host::PciFunction& function, EventLoop& loop,
                                               const ServiceOptions& options) {
  if (options.gids.size() > kMaxGids || options.name.size() >= sizeof HelloAnswer::name ||
      options.netdev.size() >= sizeof HelloAnswer::netdev || options.pmem.size() >= sizeof HelloAnswer::pmem) {
    return Error{ErrorCode::kInvalidArgument, "too many GIDs, or names too long"};
  }
  // Rings are in the programs' memory: the device must release them when a program ends, in profile rfc-v2 too.
  host::DeviceOptions driver = options.driver;
  driver.required.Add(spec::VirtioFeature::kRingReset);
  Result<std::shared_ptr<verbs::Device>> device = verbs::Device::Open(function, driver);
  if (!device.ok()) return device.error();
  std::unique_ptr<Service> service(new Service(loop, options));
  service->device_ = std::move(device).value();
  if (Status set_up = service->SetUp(); !set_up.ok()) return set_up.error();
  return service;
}

namespace {

std::vector<NeighborDiscovery::Gid> OwnGids(const std::vector<GidEntry>& gids) {
  std::vector<NeighborDiscovery::Gid> own;
  for (const GidEntry& entry : gids) std::ranges::copy(entry.gid, own.emplace_back().begin());
  return own;
}

}  // namespace

Service::Service(EventLoop& loop, const ServiceOptions& options) : loop_(loop), options_(options) {}

Status Service::SetUp() {
  Result<spec::NetConfig> config = net().ReadNetConfig();
  if (!config.ok()) return config.error();
  net_config_ = *config;
  Result<std::unique_ptr<GidTableWriter>> table = GidTableWriter::Create();
  if (!table.ok()) return table.error();
  gid_table_ = std::move(table).value();
  for (const GidEntry& entry : options_.gids) {
    if (Status added = WriteGid(entry); !added.ok()) return added;
    gids_.push_back(entry);
  }
  std::ranges::sort(gids_, {}, &GidEntry::index);
  PublishGids();
  // Vector 0 is for configuration changes, 1 for the driver's own queues; contexts share the rest.
  constexpr uint16_t kOwnVectors = 2;
  first_vector_ = kOwnVectors;
  if (net().vectors() > kOwnVectors) {
    const auto shared = static_cast<uint16_t>(net().vectors() - kOwnVectors);
    const uint16_t clients =
        options_.client_vectors.has_value() ? std::min<uint16_t>(*options_.client_vectors, shared / 2) : shared;
    reserved_vectors_ = static_cast<uint16_t>(shared - clients);
    vector_uses_.resize(clients);
  }
  SetClientQuota(verbs::CapacityOf(*device_, /*has_gsi=*/true, static_cast<uint32_t>(gids_.size())));
  return options_.discovers_neighbors ? SetUpNeighborDiscovery() : Status();
}

void Service::SetClientQuota(const verbs::Quota& together) {
  clients_quota_ = together;
  const auto most = [](uint32_t all, uint32_t) { return static_cast<uint32_t>((uint64_t{3} * all + 3) / 4); };
  process_quota_ = verbs::Each(together, {}, most);
}

Status Service::CheckRoom(const Context& context, const verbs::Quota& more) const {
  if (more == verbs::Quota{}) return {};  // most commands: nothing needs to be counted
  verbs::Quota own, all;
  std::set<const void*> counted, counted_own;
  for (const auto& one : contexts_) {
    all = verbs::Sum(all, one->objects().Count(counted));
    const bool is_own = one.get() == &context || (context.process() != 0 && one->process() == context.process());
    if (is_own) own = verbs::Sum(own, one->objects().Count(counted_own));
  }
  const verbs::Quota own_room = verbs::Less(process_quota_, own), room = verbs::Less(clients_quota_, all);
  for (const auto& [name, count] : verbs::kQuotaKinds) {
    if (more.*count > own_room.*count) {
      return Error{ErrorCode::kNoMemory, std::string("this program has all ") + name + " that it may have"};
    }
    if (more.*count > room.*count) {
      return Error{ErrorCode::kNoMemory, std::string("programs have all ") + name + " that they may have"};
    }
  }
  return {};
}

Status Service::SetUpNeighborDiscovery() {
  // Receive multicast: neighbour solicitations are multicast.
  if (host::NetCommands* const commands = net().net(); commands != nullptr) {
    Status set = commands->SetRxMode(spec::NetCtrlRxCmd::kAllmulti, true);
    if (!set.ok() && set.error().code != ErrorCode::kUnsupported) return set;
  }
  NeighborDiscovery::Mac mac;
  std::ranges::copy(net_config_.mac, mac.begin());
  // Frames are dropped if the queue is full: requests are retransmitted.
  neighbor_discovery_ = std::make_unique<NeighborDiscovery>(
      mac, OwnGids(gids_),
      [this](std::span<const uint8_t> frame) { static_cast<void>(net().transmit(0).Send(frame)); });
  return {};
}

Status Service::WriteGid(const GidEntry& entry) {
  spec::RdmaCmdAddGid request{.index = entry.index, .gid_type = entry.type};
  std::ranges::copy(entry.gid, request.gid);
  if (entry.vlan.has_value()) {
    request.flags = spec::RdmaGidFlags::kVlanPresent;
    request.vlan = *entry.vlan;
  }
  return device_->base().roce().AddGid(request);
}

void Service::PublishGids() {
  gid_table_->Write({gids_.begin(), gids_.end()});
  PublishAddresses();
  if (ucma_ != nullptr) ucma_->OnGidsChanged();
  for (const auto& context : contexts_) context->OnEvent({host::DeviceEvent::Kind::kGidTableChanged, {}});
}

void Service::PublishAddresses() {
  if (neighbor_discovery_ == nullptr) return;
  std::vector<NeighborDiscovery::Gid> own = OwnGids(gids_);
  own.insert(own.end(), guest_addresses_.begin(), guest_addresses_.end());
  neighbor_discovery_->SetOwn(std::move(own));
}

void Service::SetGuestAddresses(std::vector<std::array<uint8_t, 16>> gids) {
  guest_addresses_ = std::move(gids);
  PublishAddresses();
}

Result<uint16_t> Service::AddGid(const std::array<uint8_t, 16>& gid, std::optional<uint16_t> vlan) {
  if (vlan.has_value() && !device_->base().constants().rdma_has_additions) {
    return Error{ErrorCode::kInvalidArgument, "a NIC of profile rfc-v2 has no VLAN"};
  }
  GidEntry entry;
  entry.vlan = vlan;
  std::ranges::copy(gid, entry.gid);
  auto place = gids_.begin();
  while (place != gids_.end() && place->index == entry.index) ++entry.index, ++place;
  if (entry.index == kMaxGids) return Error{ErrorCode::kInvalidArgument, "the GID table is full"};
  if (Status written = WriteGid(entry); !written.ok()) return written.error();
  gids_.insert(place, entry);
  PublishGids();
  return entry.index;
}

Status Service::DeleteGid(uint16_t index) {
  const auto entry = std::ranges::find(gids_, index, &GidEntry::index);
  if (entry == gids_.end()) return Error{ErrorCode::kInvalidArgument, "there is no GID " + std::to_string(index)};
  if (Status deleted = device_->base().roce().DelGid(index); !deleted.ok()) return deleted;
  gids_.erase(entry);
  PublishGids();
  return {};
}

void Service::TakeFrames() {
  // At most one ring of frames per call.
  for (int i = 0; i < options_.driver.net_queue_size; ++i) {
    const Result<std::optional<host::ReceivedFrame>> frame = net().receive(0).Receive();
    if (!frame.ok() || !frame->has_value()) break;
    neighbor_discovery_->OnFrame((*frame)->bytes);
  }
  neighbor_discovery_->Tick(MonotonicNs());
}

std::optional<std::array<uint8_t, 6>> Service::FindNeighbor(const std::array<uint8_t, 16>& gid) {
  if (const auto group = GroupMac(gid); group.has_value()) return group;
  if (options_.neighbors) {
    if (const auto mac = options_.neighbors(gid); mac.has_value()) return mac;
  }
  return neighbor_discovery_ == nullptr ? std::nullopt : neighbor_discovery_->Find(gid, MonotonicNs());
}

bool Service::IsSearching(const std::array<uint8_t, 16>& gid) const {
  return neighbor_discovery_ != nullptr && neighbor_discovery_->IsSearching(gid);
}

Service::~Service() {
  if (listener_.is_open()) {
    loop_.Unwatch(listener_.get());
    ::unlink(path_.c_str());
  }
  ucma_.reset();
  contexts_.clear();
  device_.reset();  // resets the device; after that kept_ is unused
}

Status Service::Listen(const std::string& path) {
  Result<host::FileDescriptor> listener = host::ListenAt(path, SOCK_SEQPACKET);
  if (!listener.ok()) return listener.error();
  listener_ = std::move(listener).value();
  path_ = path;
  loop_.Watch(listener_.get(), [this] { Accept(); });
  return {};
}

void Service::Accept() {
  host::FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.is_open()) Adopt(std::move(socket));
}

void Service::Adopt(host::FileDescriptor socket) {
  Reap();
  contexts_.push_back(std::make_unique<Context>(*this, ++last_context_, std::move(socket)));
}

std::vector<pid_t> Service::processes() const {
  std::vector<pid_t> processes;
  for (const auto& context : contexts_) {
    if (!context->is_ended() && context->process() > 0) processes.push_back(context->process());
  }
  return processes;
}

std::vector<Service::Client> Service::Clients() {
  std::vector<Client> clients;
  for (const auto& context : contexts_) {
    if (context->is_ended()) continue;
    std::set<const void*> counted;
    const verbs::Quota counts = context->objects().Count(counted);
    Client& client = clients.emplace_back(Client{.process = context->process(),
                                                 .pds = counts.pds,
                                                 .mrs = counts.mrs,
                                                 .ahs = counts.ahs,
                                                 .cqs = counts.cqs,
                                                 .srqs = counts.srqs,
                                                 .qps = {}});
    for (const auto& [qpn, qp] : context->objects().qps()) {
      const Result<spec::RdmaAckQueryQp> attributes = device_->base().roce().QueryQp(qpn, 0);
      if (attributes.ok()) client.qps.push_back({.qpn = qpn, .type = qp.type, .attributes = *attributes});
    }
  }
  return clients;
}

std::vector<ObjectBytes> Service::ListObjects(ObjectKind kind, uint32_t first, bool with_state, const Context* except) {
  std::map<uint32_t, ObjectBytes> all;
  for (const auto& context : contexts_) {
    if (context->is_ended() || context.get() == except) continue;
    context->objects().List(kind, {.process = context->process(), .context = context->number()}, all);
  }
  std::vector<ObjectBytes> found;
  for (auto next = all.lower_bound(first); next != all.end() && found.size() < kMaxObjectsAtATime; ++next) {
    ObjectBytes& object = found.emplace_back(next->second);
    if (kind != ObjectKind::kQp || !with_state) continue;
    const Result<spec::RdmaAckQueryQp> now = device_->base().roce().QueryQp(object.number, 0);
    if (!now.ok()) continue;
    object.qp_state = static_cast<uint8_t>(now->qp_state);
    object.dest_qpn = now->dest_qp_num;
    object.sq_psn = now->sq_psn;
    object.rq_psn = now->rq_psn;
  }
  return found;
}

void Service::Reap() {
  std::erase_if(contexts_, [](const auto& context) { return context->is_ended(); });
}

void Service::Progress() {
  Reap();
  for (uint16_t vector = 0; vector < vectors(); ++vector) {
    if (!device_->function().TakeInterrupt(first_vector_ + vector)) continue;
    for (const auto& context : contexts_) context->OnInterrupt(vector);
  }
  RouteEvents();
  if (neighbor_discovery_ != nullptr) {
    TakeFrames();
    for (const auto& context : contexts_) context->Resume();
  }
  if (ucma_ != nullptr) ucma_->Progress();
}

void Service::RouteEvents() {
  for (;;) {
    const Result<std::optional<host::DeviceEvent>> event = device_->PollEvent();
    if (!event.ok() || !event->has_value()) return;
    RouteEvent(**event);
  }
}

uint64_t Service::NextDeadlineNs() const {
  const uint64_t asking =
      neighbor_discovery_ == nullptr ? EventLoop::kForeverNs : neighbor_discovery_->NextDeadlineNs();
  return std::min(asking, ucma_ == nullptr ? EventLoop::kForeverNs : ucma_->NextDeadlineNs());
}

void Service::RouteEvent(const host::DeviceEvent& event) {
  using Type = spec::RdmaEventType;
  if (on_event_) on_event_(event);
  std::optional<QueueUser> user;
  if (event.kind == host::DeviceEvent::Kind::kConfigChanged) {
    // For clients that connect later.
    if (const Result<spec::NetConfig> config = net().ReadNetConfig(); config.ok()) net_config_ = *config;
  }
  if (event.kind == host::DeviceEvent::Kind::kRdma) {
    switch (event.rdma.event_type) {
      case Type::kCqErr: user = QueueUser{.is_cq = true, .number = event.rdma.element}; break;
      case Type::kQpFatal:
      case Type::kQpReqErr:
      case Type::kQpAccessErr:
      case Type::kCommEst:
      case Type::kSqDrained:
      case Type::kQpLastWqeReached:
      case Type::kSrqErr:
      case Type::kSrqLimitReached: user = QueueUser{.is_cq = false, .number = event.rdma.element}; break;
      case Type::kVqErr:
        user = UserOf(event.rdma.element);
        if (!user.has_value()) return;  // one of the driver's own queues
        break;
      default: break;
    }
  }
  for (const auto& context : contexts_) {
    const ContextObjects& objects = context->objects();
    if (!user.has_value() || (user->is_cq ? objects.OwnsCq(user->number) : objects.OwnsQp(user->number))) {
      context->OnEvent(event);
    }
  }
}

std::optional<Service::QueueUser> Service::UserOf(uint32_t queue) const {
  const spec::NetConfigRdma limits = net().rdma_config();
  const Result<uint16_t> first_cq = net().CompletionQueueIndex(0);
  const Result<uint16_t> first_qp = net().SendQueueIndex(0);
  if (!first_cq.ok() || !first_qp.ok()) return std::nullopt;
  if (queue >= *first_cq && queue - *first_cq < limits.max_rdma_cqs) {
    return QueueUser{.is_cq = true, .number = queue - *first_cq};
  }
  if (queue >= *first_qp && queue - *first_qp < 2 * uint32_t{limits.max_rdma_qps}) {
    return QueueUser{.is_cq = false, .number = (queue - *first_qp) / 2};
  }
  return std::nullopt;
}

bool Service::StopQueue(uint16_t queue) { return net().pci().ResetQueue(queue, net().options().reset_timeout_ns).ok(); }

uint16_t Service::TakeVector() {
  const auto least_used = std::ranges::min_element(vector_uses_);
  ++*least_used;
  return static_cast<uint16_t>(least_used - vector_uses_.begin());
}

spec::IbMtu Service::active_mtu() const {
  // The largest that leaves room for every header of a RoCEv2 packet: IPv6 40, UDP 8, BTH 12, the longest extended
  // headers 32, ICRC 4. As Linux, iboe_get_mtu().
  constexpr uint32_t kHeaders = 96;
  const uint32_t ip_mtu =
      net().features().Has(spec::NetFeature::kMtu) ? uint32_t{net_config_.mtu} : spec::kNetPacketBytesMax;
  auto mtu = spec::IbMtu::kMtu256;
  for (const spec::IbMtu larger :
       {spec::IbMtu::kMtu512, spec::IbMtu::kMtu1024, spec::IbMtu::kMtu2048, spec::IbMtu::kMtu4096}) {
    if ((128U << static_cast<unsigned>(larger)) + kHeaders <= ip_mtu) mtu = larger;
  }
  return mtu;
}

uint64_t Service::node_guid() const {
  // Modified EUI-64. [RFC 4291, appendix A]
  const auto& mac = net_config_.mac;
  uint64_t guid = 0;
  for (const uint8_t byte :
       {static_cast<uint8_t>(mac[0] ^ 2), mac[1], mac[2], uint8_t{0xff}, uint8_t{0xfe}, mac[3], mac[4], mac[5]}) {
    guid = guid << 8 | byte;
  }
  return guid;
}

uint32_t Service::link_mbps() const {
  return net().features().Has(spec::NetFeature::kSpeedDuplex) ? net_config_.speed : options_.link_mbps;
}

}  // namespace vireo::service
