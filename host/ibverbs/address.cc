// SPDX-License-Identifier: Apache-2.0
// Address handles, also from received completions.
#include <endian.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

// The MAC address in a link-local GID (modified EUI-64). [RFC 4291, appendix A]
bool MacOfLinkLocal(const uint8_t* gid, uint8_t (&mac)[6]) {
  constexpr uint8_t kPrefix[8] = {0xfe, 0x80};
  if (!std::equal(kPrefix, kPrefix + sizeof kPrefix, gid) || gid[11] != 0xff || gid[12] != 0xfe) return false;
  const uint8_t found[6] = {static_cast<uint8_t>(gid[8] ^ 2), gid[9], gid[10], gid[13], gid[14], gid[15]};
  std::ranges::copy(found, mac);
  return true;
}

std::optional<service::Gid> FindGid(const Context& context, const uint8_t* gid) {
  const std::vector<service::Gid> gids = context.shared->gids();
  const auto found =
      std::ranges::find_if(gids, [gid](const auto& own) { return std::ranges::equal(own.gid, std::span(gid, 16)); });
  return found == gids.end() ? std::nullopt : std::optional(*found);
}

constexpr size_t kAreaBytes = 40;
constexpr size_t kIpv4Begin = 20;  // of them: the IPv4 header is at the end of the GRH area [IBTA annex A17, 17.4.5.1]

bool HasIpv4Header(const uint8_t* area) {
  const uint8_t* header = area + kIpv4Begin;
  if (header[0] != 0x45) return false;
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

void MapIpv4(const uint8_t* address, uint8_t (&gid)[16]) {
  std::ranges::fill(gid, uint8_t{0});
  gid[10] = gid[11] = 0xff;
  std::copy_n(address, 4, gid + 12);
}

}  // namespace

uint8_t ToServiceLevel(Context& context, const spec::RdmaCqReq& completion) {
  if ((completion.wc_flags & spec::IbWcFlags::kGrh) == 0) return 0;
  const uint64_t address = context.datagrams.Take(completion);
  if (address == 0) return 0;
  // By the kernel, because the program may have unmapped it.
  uint8_t area[kAreaBytes]{};
  const iovec to{.iov_base = area, .iov_len = sizeof area};
  const iovec from{.iov_base = reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
                   .iov_len = sizeof area};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof area) return 0;
  constexpr uint8_t kUdp = 8;
  constexpr uint8_t kIpv6 = 1;
  constexpr uint8_t kIpv4 = 2;
  constexpr size_t kDestination = 16;
  uint8_t local[16];
  const bool is_ipv4 = HasIpv4Header(area);
  if (is_ipv4) {
    MapIpv4(area + kIpv4Begin + kDestination, local);
  } else {
    std::copy_n(area + sizeof area - sizeof local, sizeof local, local);
  }
  // Any other memory is not a header to this NIC.
  if (!FindGid(context, local).has_value()) return 0;
  return kUdp | (is_ipv4 ? kIpv4 : kIpv6);
}

int ToAhAttr(Context& context, const ibv_ah_attr& attributes, spec::RdmaAhAttr& out) {
  if (attributes.port_num != kPort) return EINVAL;
  if (attributes.is_global == 0) return EINVAL;  // RoCE requires a GRH
  const ibv_global_route& route = attributes.grh;
  if (!context.FindGid(route.sgid_index).has_value()) return EINVAL;
  out = {};
  std::ranges::copy(route.dgid.raw, out.grh.dgid);
  constexpr uint32_t kFlowLabelBits = 0xfffff;
  constexpr uint8_t kDefaultHopLimit = 64;
  out.grh.flow_label = route.flow_label & kFlowLabelBits;
  out.grh.sgid_index = route.sgid_index;
  out.grh.hop_limit = route.hop_limit == 0 ? kDefaultHopLimit : route.hop_limit;
  out.grh.traffic_class = route.traffic_class;
  if (FindGid(context, out.grh.dgid).has_value()) {
    std::ranges::copy(context.shared->info().mac, out.dmac);
  } else {
    static_cast<void>(MacOfLinkLocal(out.grh.dgid, out.dmac));
  }
  return 0;
}

void FromAhAttr(const spec::RdmaAhAttr& in, ibv_ah_attr& out) {
  out = {};
  std::ranges::copy(in.grh.dgid, out.grh.dgid.raw);
  out.grh.flow_label = in.grh.flow_label;
  out.grh.sgid_index = in.grh.sgid_index;
  out.grh.hop_limit = in.grh.hop_limit;
  out.grh.traffic_class = in.grh.traffic_class;
  out.is_global = 1;
  out.port_num = kPort;
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  VIREO_PASS(ibv_create_ah, pd, attributes);
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return Null(EIO);
  vireo::spec::RdmaAhAttr path;
  if (int error = ToAhAttr(context, *attributes, path); error != 0) return Null(error);
  std::lock_guard guard(context.control);
  auto impl = Of(pd).impl->CreateAh(path);
  if (!impl.ok()) return Null(impl.error());
  auto ah = std::make_unique<Ah>();
  ah->impl = std::move(impl).value();
  ah->pd = PdUse(pd);
  ah->ah = {.context = pd->context, .pd = pd, .handle = ah->impl->handle()};
  return &ah.release()->ah;
}

VIREO_API int ibv_destroy_ah(ibv_ah* ah) {
  VIREO_PASS(ibv_destroy_ah, ah);
  Context& context = Of(ah->context);
  if (!context.IsOwnedByThisProcess()) return 0;
  std::lock_guard guard(context.control);
  delete &Of(ah);
  return 0;
}

VIREO_API int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc, ibv_grh* grh,
                                  ibv_ah_attr* attributes) {
  VIREO_PASS(ibv_init_ah_from_wc, context, port, wc, grh, attributes);
  *attributes = {};
  attributes->port_num = port;
  if (port != kPort || (wc->wc_flags & IBV_WC_GRH) == 0) return MinusOne(EINVAL);
  const auto* area = reinterpret_cast<const uint8_t*>(grh);
  uint8_t local[16];
  ibv_global_route& route = attributes->grh;
  if (HasIpv4Header(area)) {
    constexpr size_t kTos = 1;
    constexpr size_t kSource = 12;
    constexpr size_t kDestination = 16;
    const uint8_t* header = area + kIpv4Begin;
    MapIpv4(header + kDestination, local);
    MapIpv4(header + kSource, route.dgid.raw);
    route.traffic_class = header[kTos];
  } else {
    std::ranges::copy(grh->dgid.raw, local);
    route.dgid = grh->sgid;
    const uint32_t first = be32toh(grh->version_tclass_flow);
    route.flow_label = first & 0xfffff;
    route.traffic_class = static_cast<uint8_t>(first >> 20);
  }
  const auto own = FindGid(Of(context), local);
  if (!own.has_value()) return MinusOne(EINVAL);
  route.sgid_index = static_cast<uint8_t>(own->index);
  route.hop_limit = 0xff;
  attributes->is_global = 1;
  return 0;
}

VIREO_API ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) {
  VIREO_PASS(ibv_create_ah_from_wc, pd, wc, grh, port);
  ibv_ah_attr attributes;
  if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}

VIREO_API int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, uint8_t* mac, uint16_t* vid) {
  VIREO_PASS(ibv_resolve_eth_l2_from_gid, context, attributes, mac, vid);
  vireo::spec::RdmaAhAttr path;
  if (int error = ToAhAttr(Of(context), *attributes, path); error != 0) return MinusOne(error);
  if (std::ranges::all_of(path.dmac, [](uint8_t byte) { return byte == 0; })) return MinusOne(EHOSTUNREACH);
  std::ranges::copy(path.dmac, mac);
  constexpr uint16_t kNoVlan = 0xffff;
  if (vid != nullptr) *vid = kNoVlan;
  return 0;
}
