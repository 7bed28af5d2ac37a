// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/sysfs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

using Kind = SysfsNode::Kind;

constexpr std::string_view kDevices = "/sys/class/infiniband";
constexpr std::string_view kVerbs = "/sys/class/infiniband_verbs";
constexpr std::string_view kNodes = "/dev/infiniband";
// Where the class directories' links lead, as on Linux for a device without a parent: a directory for each device.
constexpr std::string_view kRoot = "/sys/devices/virtual/vireo";

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

std::optional<service::Gid> FindGid(const Device& device, uint32_t index) {
  const std::vector<service::Gid> gids = device.gids->Read();
  const auto gid = std::ranges::find(gids, index, &service::Gid::index);
  return gid == gids.end() ? std::nullopt : std::optional(*gid);
}

SysfsNode File(std::string text) { return {.kind = Kind::kFile, .text = std::move(text) + "\n"}; }
SysfsNode Directory(std::vector<SysfsNode::Entry> entries) {
  return {.kind = Kind::kDirectory, .entries = std::move(entries)};
}

void AddEntry(std::vector<SysfsNode::Entry>& entries, std::string_view name, Kind kind) {
  if (std::ranges::find(entries, name, &SysfsNode::Entry::name) == entries.end())
    entries.push_back({std::string(name), kind});
}

// Removes `head` and a following '/'. False: `path` is neither `head` nor below it.
bool Descend(std::string_view& path, std::string_view head) {
  if (!path.starts_with(head) || (path.size() > head.size() && path[head.size()] != '/')) return false;
  path.remove_prefix(std::min(head.size() + 1, path.size()));
  return true;
}

// Removes the first name of a path and a following '/'.
std::string_view TakeName(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(name.size() + 1, path.size()));
  return name;
}

// An entry of a table: a decimal number below `length`.
std::optional<uint32_t> Index(std::string_view text, uint32_t length) {
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index >= length) return std::nullopt;
  return index;
}

// A file, or with `length` a directory of a table's entries, whose names are the numbers below it.
struct Attribute {
  std::string_view path;
  SysfsNode (*read)(Device&, uint32_t index);
  uint32_t (*length)(Device&) = nullptr;
};

// Of the PCI function. The NUMA node is that of a device whose node is not known.
constexpr Attribute kOfFunction[] = {
    {"numa_node", [](Device&, uint32_t) { return File("-1"); }},
    {"vendor", [](Device&, uint32_t) { return File(Format("0x%04x", kVirtioVendor)); }},
    {"device", [](Device&, uint32_t) { return File(Format("0x%04x", kVirtioNet)); }},
};

SysfsNode ReadGid(Device& device, uint32_t index) {
  constexpr uint8_t kNone[16]{};
  const auto gid = FindGid(device, index);
  return File(GidText(gid.has_value() ? gid->gid : kNone));
}
// What Linux refuses to read for an unused GID.
SysfsNode ReadGidAttribute(const Device& device, uint32_t index, const std::string& text) {
  if (FindGid(device, index).has_value()) return File(text);
  return {.kind = Kind::kFile, .error = EINVAL};
}

constexpr Attribute kOfDevice[] = {
    {"node_type", [](Device&, uint32_t) { return File("1: CA"); }},
    {"node_guid", [](Device& device, uint32_t) { return File(GuidText(device.info.node_guid)); }},
    {"sys_image_guid", [](Device& device, uint32_t) { return File(GuidText(device.info.node_guid)); }},
    {"node_desc", [](Device& device, uint32_t) { return File(device.info.name); }},
    {"fw_ver", [](Device&, uint32_t) { return File("vireo"); }},
    {"hca_type", [](Device&, uint32_t) { return File("vireo"); }},
    {"ports/1/state", [](Device& device, uint32_t) { return File(IsLinkUp(device) ? "4: ACTIVE" : "1: DOWN"); }},
    {"ports/1/phys_state",
     [](Device& device, uint32_t) { return File(IsLinkUp(device) ? "5: LinkUp" : "3: Disabled"); }},
    {"ports/1/rate", [](Device& device, uint32_t) { return File(RateText(device.info.link_mbps)); }},
    {"ports/1/link_layer", [](Device&, uint32_t) { return File("Ethernet"); }},
    {"ports/1/lid", [](Device&, uint32_t) { return File("0x0"); }},
    {"ports/1/sm_lid", [](Device&, uint32_t) { return File("0x0"); }},
    {"ports/1/lid_mask_count", [](Device&, uint32_t) { return File("0"); }},
    {"ports/1/sm_sl", [](Device&, uint32_t) { return File("0"); }},
    {"ports/1/cap_mask", [](Device&, uint32_t) { return File(Format("0x%08x", kPortCapFlags)); }},
    {"ports/1/pkeys", [](Device&, uint32_t) { return File(Format("0x%04x", unsigned{kFullPkey})); },
     [](Device&) { return 1U; }},
    {"ports/1/gids", ReadGid, GidTableLength},
    {"ports/1/gid_attrs/types",
     [](Device& device, uint32_t index) { return ReadGidAttribute(device, index, "RoCE v2"); }, GidTableLength},
    {"ports/1/gid_attrs/ndevs",
     [](Device& device, uint32_t index) { return ReadGidAttribute(device, index, device.info.netdev); },
     GidTableLength},
};
constexpr std::string_view kPort1 = "ports/1";

constexpr Attribute kOfVerbs[] = {
    {"ibdev", [](Device& device, uint32_t) { return File(device.info.name); }},
    {"abi_version", [](Device&, uint32_t) { return File("1"); }},
};

// The node at `path` below the directory of these attributes.
std::optional<SysfsNode> FindAmong(std::span<const Attribute> attributes, Device& device, std::string_view path) {
  std::vector<SysfsNode::Entry> entries;
  for (const Attribute& attribute : attributes) {
    std::string_view rest = path;
    if (Descend(rest, attribute.path)) {
      if (attribute.length == nullptr) return rest.empty() ? std::optional(attribute.read(device, 0)) : std::nullopt;
      const uint32_t length = attribute.length(device);
      if (rest.empty()) {
        for (uint32_t i = 0; i < length; ++i) entries.push_back({std::to_string(i), Kind::kFile});
        return Directory(std::move(entries));
      }
      const std::optional<uint32_t> index = Index(rest, length);
      return index.has_value() ? std::optional(attribute.read(device, *index)) : std::nullopt;
    }
    rest = attribute.path;
    if (!path.empty() && !Descend(rest, path)) continue;
    const std::string_view name = TakeName(rest);
    AddEntry(entries, name, rest.empty() && attribute.length == nullptr ? Kind::kFile : Kind::kDirectory);
  }
  return entries.empty() ? std::nullopt : std::optional(Directory(std::move(entries)));
}

// The port's counters, in directories that the service names.
std::optional<SysfsNode> FindCounter(const Device& device, std::string_view path) {
  const auto shared = service::SharedDevice::Connect(device.socket);
  if (!shared.ok()) return std::nullopt;
  const auto counters = (*shared)->Counters();
  if (!counters.ok()) return std::nullopt;
  std::vector<SysfsNode::Entry> entries;
  for (const service::Counter& counter : *counters) {
    if (counter.name == path) return File(std::to_string(counter.value));
    std::string_view rest = counter.name;
    if (!path.empty() && !Descend(rest, path)) continue;
    const std::string_view name = TakeName(rest);
    AddEntry(entries, name, rest.empty() ? Kind::kFile : Kind::kDirectory);
  }
  return entries.empty() ? std::nullopt : std::optional(Directory(std::move(entries)));
}

// In /sys/class/infiniband/NAME, but for its link to the function.
std::optional<SysfsNode> FindInDevice(Device& device, std::string_view path) {
  std::optional<SysfsNode> found = FindAmong(kOfDevice, device, path);
  std::string_view in_port = path;
  if (!Descend(in_port, kPort1) || (found.has_value() && !in_port.empty())) return found;
  std::optional<SysfsNode> counters = FindCounter(device, in_port);
  if (!found.has_value() || !counters.has_value()) return found.has_value() ? found : counters;
  found->entries.insert(found->entries.end(), counters->entries.begin(), counters->entries.end());
  return found;
}

// Of a path in one of the trees: its device, and where it leads below kRoot/NAME.
struct Place {
  Device* device = nullptr;
  std::string path;
};
std::optional<Place> PlaceOf(std::string_view path) {
  const bool is_verbs = Descend(path, kVerbs);
  const bool is_class = is_verbs || Descend(path, kDevices);
  if ((!is_class && !Descend(path, kRoot)) || path.empty()) return std::nullopt;
  const std::string_view name = TakeName(path);
  for (Device* device : VisibleDevices()) {
    if (name != (is_verbs ? device->device.dev_name : device->device.name)) continue;
    if (!is_class) return Place{device, std::string(path)};
    std::string_view of_function = path;
    if (Descend(of_function, "device")) return Place{device, std::string(of_function)};
    std::string there = (is_verbs ? "infiniband_verbs/" : "infiniband/") + std::string(name);
    if (!path.empty()) there += "/" + std::string(path);
    return Place{device, std::move(there)};
  }
  return std::nullopt;
}

std::optional<SysfsNode> FindAt(const Place& place) {
  Device& device = *place.device;
  std::string_view path = place.path;
  const std::string_view name = device.device.name;
  const std::string_view verbs_name = device.device.dev_name;
  if (path.empty()) {
    std::optional<SysfsNode> function = FindAmong(kOfFunction, device, path);
    for (const char* of_class : {"infiniband", "infiniband_verbs"}) {
      function->entries.push_back({of_class, Kind::kDirectory});
    }
    return function;
  }
  const bool is_verbs = Descend(path, "infiniband_verbs");
  if (!is_verbs && !Descend(path, "infiniband")) return FindAmong(kOfFunction, device, path);
  if (path.empty()) return Directory({{std::string(is_verbs ? verbs_name : name), Kind::kDirectory}});
  if (TakeName(path) != (is_verbs ? verbs_name : name)) return std::nullopt;
  std::string_view of_function = path;
  if (Descend(of_function, "device")) return FindAt({&device, std::string(of_function)});
  std::optional<SysfsNode> found = is_verbs ? FindAmong(kOfVerbs, device, path) : FindInDevice(device, path);
  if (found.has_value() && path.empty()) found->entries.push_back({"device", Kind::kDirectory});
  return found;
}

// A directory whose entries are the devices.
std::optional<SysfsNode> FindClass(std::string_view path, const std::vector<Device*>& devices) {
  std::vector<SysfsNode::Entry> entries;
  const bool is_nodes = path == kNodes;
  if (!is_nodes && path != kVerbs && path != kDevices && path != kRoot) return std::nullopt;
  for (const Device* device : devices) {
    const bool has_verbs_name = is_nodes || path == kVerbs;
    entries.push_back({has_verbs_name ? device->device.dev_name : device->device.name,
                       is_nodes ? Kind::kCharacterDevice : Kind::kDirectory});
  }
  if (is_nodes) entries.push_back({"rdma_cm", Kind::kCharacterDevice});
  if (path == kVerbs) entries.push_back({"abi_version", Kind::kFile});
  return Directory(std::move(entries));
}

std::optional<SysfsNode> FindFromRoot(std::string_view path) {
  const std::vector<Device*> devices = VisibleDevices();
  if (devices.empty()) return std::nullopt;
  if (auto found = FindClass(path, devices)) return found;
  if (std::string_view name = path; Descend(name, kNodes)) {
    const bool is_node = name == "rdma_cm" ||
                         std::ranges::any_of(devices, [&](Device* device) { return name == device->device.dev_name; });
    return is_node ? std::optional(SysfsNode{.kind = Kind::kCharacterDevice}) : std::nullopt;
  }
  // IB_USER_VERBS_ABI_VERSION [<rdma/ib_user_verbs.h>]
  if (std::string_view name = path; Descend(name, kVerbs) && name == "abi_version") return File("6");
  const std::optional<Place> place = PlaceOf(path);
  return place.has_value() ? FindAt(*place) : std::nullopt;
}

constexpr const char* kFileName = "vireo-sysfs";

// Attributes that are open, by descriptor. Never destroyed: programs close descriptors in static destructors.
struct SysfsFiles {
  std::mutex lock;
  struct Open {
    std::string path;
    bool is_fresh = true;  // not read yet
  };
  std::map<int, Open> open;
};
SysfsFiles& TheFiles() {
  static SysfsFiles* const files = new SysfsFiles;
  return *files;
}
// Their number, read without the lock: most programs have none. Apart, because a program's allocator may call read().
constinit std::atomic<size_t> open_files = 0;

bool SetText(int fd, const std::string& text) {
  return ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

struct WorkingDirectory {
  std::mutex lock;
  std::string path;
  std::atomic<bool> is_set = false;  // read without the lock: most programs have none
};
WorkingDirectory& TheWorkingDirectory() {
  static WorkingDirectory* const directory = new WorkingDirectory;
  return *directory;
}

// Of a path relative to the working directory, if that is one of these: from the root, without "." and "..".
std::string FromRoot(std::string_view path) {
  const std::optional<std::string> directory = path.starts_with('/') ? std::nullopt : SysfsWorkingDirectory();
  if (!directory.has_value()) return std::string(path);
  std::string found = *directory;
  while (!path.empty()) {
    const std::string_view name = TakeName(path);
    if (name == "..") found.resize(found.rfind('/') == 0 ? 1 : found.rfind('/'));
    if (name.empty() || name == "." || name == "..") continue;
    if (!found.ends_with('/')) found += '/';
    found += name;
  }
  return found;
}

// Every file that the program opens passes here. Without slashes at the end.
std::optional<std::string> Candidate(std::string_view path) {
  if (!MayBeSysfsPath(path)) return std::nullopt;
  std::string full = FromRoot(path);
  if (!MayBeSysfsPath(full)) return std::nullopt;
  while (full.ends_with('/')) full.pop_back();
  return full;
}

}  // namespace

bool MayBeSysfsPath(std::string_view path) {
  if (!path.starts_with('/')) return TheWorkingDirectory().is_set.load(std::memory_order_acquire);
  return (path.starts_with(kDevices) || path.starts_with(kNodes) || path.starts_with(kRoot)) && IsActive();
}

std::optional<SysfsNode> FindSysfsNodeAt(int folder, const char* path) {
  if (path == nullptr || (folder != AT_FDCWD && *path != '/')) return std::nullopt;
  return FindSysfsNode(path);
}

std::optional<std::string> SysfsWorkingDirectory() {
  WorkingDirectory& directory = TheWorkingDirectory();
  if (!directory.is_set.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard guard(directory.lock);
  return directory.path;
}

std::optional<int> EnterSysfsDirectory(std::string& path) {
  const std::optional<SysfsNode> node = FindSysfsNode(path);
  path = FromRoot(path);
  if (!node.has_value()) return std::nullopt;
  if (node->kind != Kind::kDirectory) return MinusOne(ENOTDIR);
  while (path.ends_with('/')) path.pop_back();
  WorkingDirectory& directory = TheWorkingDirectory();
  const std::lock_guard guard(directory.lock);
  directory.path = path;
  directory.is_set.store(true, std::memory_order_release);
  return 0;
}

void LeaveSysfsDirectory() { TheWorkingDirectory().is_set.store(false, std::memory_order_release); }

std::optional<SysfsNode> FindSysfsNode(std::string_view full_path) {
  std::optional<std::string> path = Candidate(full_path);
  if (!path.has_value()) return std::nullopt;
  std::optional<SysfsNode> found = FindFromRoot(*path);
  if (found.has_value()) found->path = *std::move(path);
  return found;
}

std::optional<std::string> ResolveSysfsPath(std::string_view full_path) {
  const std::optional<std::string> path = Candidate(full_path);
  if (!path.has_value() || !FindSysfsNode(*path).has_value()) return std::nullopt;
  const std::optional<Place> place = PlaceOf(*path);
  if (!place.has_value()) return std::string(*path);
  std::string there = std::string(kRoot) + "/" + place->device->device.name;
  std::string_view rest = place->path;
  // The link of a class directory's target.
  for (const std::string& of_class : {"infiniband/" + std::string(place->device->device.name),
                                      "infiniband_verbs/" + std::string(place->device->device.dev_name)}) {
    std::string_view below = rest;
    if (Descend(below, of_class) && Descend(below, "device")) rest = below;
  }
  return rest.empty() ? there : there + "/" + std::string(rest);
}

int OpenSysfsNode(const SysfsNode& node, int flags) {
  if (node.kind == Kind::kCharacterDevice) return open("/dev/null", flags);
  if (node.kind == Kind::kDirectory) return MinusOne(EISDIR);  // listed by name only
  if (node.error != 0) return MinusOne(node.error);
  if ((flags & O_ACCMODE) != O_RDONLY) return MinusOne(EACCES);
  if ((flags & O_DIRECTORY) != 0) return MinusOne(ENOTDIR);
  const int fd = memfd_create(kFileName, (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (fd < 0) return -1;
  if (!SetText(fd, node.text)) {
    close(fd);
    return MinusOne(EIO);
  }
  SysfsFiles& files = TheFiles();
  const std::lock_guard guard(files.lock);
  files.open[fd] = {.path = node.path};
  open_files.store(files.open.size(), std::memory_order_release);
  return fd;
}

void RereadSysfsFile(int fd, std::optional<off_t> offset) {
  if (open_files.load(std::memory_order_acquire) == 0) return;
  SysfsFiles& files = TheFiles();
  std::string path;
  {
    const std::lock_guard guard(files.lock);
    const auto found = files.open.find(fd);
    if (found == files.open.end() || std::exchange(found->second.is_fresh, false)) return;
    path = found->second.path;
  }
  if (offset.value_or(lseek(fd, 0, SEEK_CUR)) != 0) return;
  // The number may be another file's by now: libc closes without close() what fdopen() took.
  std::array<char, 64> name{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (readlink(link.c_str(), name.data(), name.size() - 1) < 0 ||
      !std::string_view(name.data()).starts_with(std::string("/memfd:") + kFileName)) {
    return;
  }
  if (const auto node = FindSysfsNode(path); node.has_value() && node->kind == Kind::kFile && node->error == 0) {
    static_cast<void>(SetText(fd, node->text));
  }
}

void ForgetSysfsFile(int fd) {
  if (open_files.load(std::memory_order_acquire) == 0) return;
  SysfsFiles& files = TheFiles();
  const std::lock_guard guard(files.lock);
  files.open.erase(fd);
  open_files.store(files.open.size(), std::memory_order_release);
}

}  // namespace vireo::ibverbs
