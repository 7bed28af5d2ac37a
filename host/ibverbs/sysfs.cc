// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/sysfs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <vector>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

using Kind = SysfsNode::Kind;

constexpr std::string_view kDevices = "/sys/class/infiniband";
constexpr std::string_view kVerbs = "/sys/class/infiniband_verbs";
constexpr std::string_view kNodes = "/dev/infiniband";

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 64> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), format, values...));
  return text.data();
}

std::string GuidText(uint64_t guid) {
  const auto group = [guid](int shift) { return static_cast<unsigned>(guid >> shift & 0xffff); };
  return Format("%04x:%04x:%04x:%04x", group(48), group(32), group(16), group(0));
}

std::string GidText(const uint8_t (&gid)[16]) {
  std::string text;
  for (size_t i = 0; i < sizeof gid; i += 2) text += Format("%s%02x%02x", i == 0 ? "" : ":", gid[i], gid[i + 1]);
  return text;
}

// Of this moment: the device's own description is as old as its discovery.
bool IsLinkUp(const Device& device) {
  const auto shared = service::SharedDevice::Connect(device.socket);
  return shared.ok() && (*shared)->info().link_up;
}

uint32_t GidTableLength(Device& device) {
  if (device.gid_table_length == 0) {
    const auto shared = service::SharedDevice::Connect(device.socket);
    if (!shared.ok()) return 0;
    if (const auto port = (*shared)->roce().QueryPort(); port.ok()) device.gid_table_length = port->gid_tbl_len;
  }
  return device.gid_table_length;
}

std::optional<SysfsNode> File(std::string text) { return SysfsNode{Kind::kFile, std::move(text) + "\n"}; }
std::optional<SysfsNode> Directory() { return SysfsNode{Kind::kDirectory}; }

// Removes `head` and a following '/'. False: `path` is neither `head` nor below it.
bool Descend(std::string_view& path, std::string_view head) {
  if (!path.starts_with(head) || (path.size() > head.size() && path[head.size()] != '/')) return false;
  path.remove_prefix(std::min(head.size() + 1, path.size()));
  return true;
}

// An entry of a table: a decimal number below `length`.
std::optional<uint32_t> Index(std::string_view text, uint32_t length) {
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index >= length) return std::nullopt;
  return index;
}

std::optional<SysfsNode> FindInPort(Device& device, std::string_view path) {
  const service::SharedDevice::Info& info = device.info;
  if (path.empty() || path == "gids" || path == "pkeys" || path == "gid_attrs" || path == "gid_attrs/types" ||
      path == "gid_attrs/ndevs") {
    return Directory();
  }
  if (path == "state") return File(IsLinkUp(device) ? "4: ACTIVE" : "1: DOWN");
  if (path == "phys_state") return File(IsLinkUp(device) ? "5: LinkUp" : "3: Disabled");
  if (path == "rate") return File(RateText(info.link_mbps));
  if (path == "link_layer") return File("Ethernet");
  if (path == "lid" || path == "sm_lid") return File("0x0");
  if (path == "lid_mask_count" || path == "sm_sl") return File("0");
  if (path == "cap_mask") return File(Format("0x%08x", kPortCapFlags));
  if (path == "pkeys/0") return File(Format("0x%04x", unsigned{kFullPkey}));
  const bool is_gid = Descend(path, "gids");
  const bool is_type = !is_gid && Descend(path, "gid_attrs/types");
  if (!is_gid && !is_type && !Descend(path, "gid_attrs/ndevs")) return std::nullopt;
  const std::optional<uint32_t> index = Index(path, GidTableLength(device));
  if (!index.has_value()) return std::nullopt;
  const std::vector<service::Gid> gids = device.gids->Read();
  const auto gid = std::ranges::find(gids, *index, &service::Gid::index);
  constexpr uint8_t kNoGid[16]{};
  if (is_gid) return File(GidText(gid == gids.end() ? kNoGid : gid->gid));
  if (gid == gids.end()) return SysfsNode{Kind::kFile, "", EINVAL};
  return File(is_type ? "RoCE v2" : info.netdev);
}

std::optional<SysfsNode> FindInDevice(Device& device, std::string_view path) {
  if (path.empty() || path == "ports" || path == "device") return Directory();
  if (path == "node_type") return File("1: CA");
  if (path == "node_guid" || path == "sys_image_guid") return File(GuidText(device.info.node_guid));
  if (path == "node_desc") return File(device.info.name);
  if (path == "fw_ver") return File("vireo");
  if (path == "device/numa_node") return File("-1");  // as of a device whose node is unknown
  if (path == "device/vendor") return File(Format("0x%04x", kVirtioVendor));
  if (path == "device/device") return File(Format("0x%04x", kVirtioNet));
  return Descend(path, "ports/1") ? FindInPort(device, path) : std::nullopt;
}

}  // namespace

std::optional<SysfsNode> FindSysfsNode(std::string_view path) {
  // Every file that the program opens passes here.
  if ((!path.starts_with(kDevices) && !path.starts_with(kNodes)) || !IsActive()) return std::nullopt;
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::vector<Device*> devices = VisibleDevices();
  if (devices.empty()) return std::nullopt;
  if (path == kDevices || path == kVerbs || path == kNodes) return Directory();
  if (Descend(path, kNodes)) {
    const bool is_node = path == "rdma_cm" ||
                         std::ranges::any_of(devices, [&](Device* device) { return path == device->device.dev_name; });
    return is_node ? std::optional(SysfsNode{Kind::kCharacterDevice}) : std::nullopt;
  }
  const bool is_verbs = Descend(path, kVerbs);
  if (!is_verbs && !Descend(path, kDevices)) return std::nullopt;
  if (is_verbs && path == "abi_version") return File("6");  // IB_USER_VERBS_ABI_VERSION [<rdma/ib_user_verbs.h>]
  for (Device* device : devices) {
    std::string_view rest = path;
    if (!Descend(rest, is_verbs ? device->device.dev_name : device->device.name)) continue;
    if (!is_verbs) return FindInDevice(*device, rest);
    if (rest.empty()) return Directory();
    if (rest == "ibdev") return File(device->info.name);
    return rest == "abi_version" ? File("1") : std::nullopt;
  }
  return std::nullopt;
}

int OpenSysfsNode(const SysfsNode& node, int flags) {
  if (node.kind == Kind::kCharacterDevice) return open("/dev/null", flags);
  if (node.kind == Kind::kDirectory) return MinusOne(EISDIR);  // directories cannot be listed
  if (node.error != 0) return MinusOne(node.error);
  if ((flags & O_ACCMODE) != O_RDONLY) return MinusOne(EACCES);
  if ((flags & O_DIRECTORY) != 0) return MinusOne(ENOTDIR);
  const int fd = memfd_create("vireo-sysfs", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (fd < 0) return -1;
  if (write(fd, node.text.data(), node.text.size()) != static_cast<ssize_t>(node.text.size()) ||
      lseek(fd, 0, SEEK_SET) != 0) {
    close(fd);
    return MinusOne(EIO);
  }
  return fd;
}

}  // namespace vireo::ibverbs
