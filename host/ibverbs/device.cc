// SPDX-License-Identifier: Apache-2.0
// Devices and contexts: discovered by VIREO_SOCKET; one connection to the service per ibv_open_device.
#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "host/driver/error_number.h"
#include "host/ibverbs/objects.h"
#include "host/ibverbs/tsc_trap.h"

namespace vireo::ibverbs {
namespace {

std::atomic<uint32_t> process_generation{0};

// Devices are never freed: programs may keep ibv_device pointers.
struct Registry {
  std::mutex lock;
  std::vector<std::unique_ptr<Device>> devices;
};
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  static const int forks = pthread_atfork([] { TheRegistry().lock.lock(); }, [] { TheRegistry().lock.unlock(); },
                                          [] {
                                            ++process_generation;
                                            TheRegistry().lock.unlock();
                                          });
  static_cast<void>(forks);
  return registry;
}

template <size_t kSize>
void CopyText(char (&to)[kSize], std::string_view text) {
  const size_t count = std::min(text.size(), kSize - 1);
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

// The trailing number of a name.
std::string Ordinal(const std::string& name) {
  const size_t last = name.find_last_not_of("0123456789");
  return last + 1 < name.size() ? name.substr(last + 1) : "0";
}

void Describe(Device& device) {
  const std::string& name = device.info.name;
  device.device.node_type = IBV_NODE_CA;
  device.device.transport_type = IBV_TRANSPORT_IB;
  CopyText(device.device.name, name);
  CopyText(device.device.dev_name, "uverbs" + Ordinal(name));
  CopyText(device.device.dev_path, "/sys/class/infiniband_verbs/uverbs" + Ordinal(name));
  CopyText(device.device.ibdev_path, "/sys/class/infiniband/" + name);
}

// The device behind a socket; null if the connection fails.
Device* Find(Registry& registry, const std::string& socket) {
  for (const auto& device : registry.devices) {
    if (device->socket == socket) return device.get();
  }
  Result<std::unique_ptr<service::SharedDevice>> shared = service::SharedDevice::Connect(socket);
  if (!shared.ok()) {
    Log(socket + ": " + ToString(shared.error()));
    return nullptr;
  }
  auto device = std::make_unique<Device>();
  device->socket = socket;
  device->info = (*shared)->info();
  device->gids = (*shared)->gid_table();
  if (device->info.has_clock) TrapTsc();
  Describe(*device);
  registry.devices.push_back(std::move(device));
  return registry.devices.back().get();
}

Device& Of(ibv_device* device) { return *reinterpret_cast<Device*>(device); }

}  // namespace

std::vector<Device*> VisibleDevices() {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  std::vector<Device*> found;
  for (const std::string& socket : Sockets()) {
    if (Device* device = Find(registry, socket); device != nullptr) found.push_back(device);
  }
  return found;
}

std::vector<std::string> Sockets() {
  std::vector<std::string> sockets;
  const char* variable = std::getenv("VIREO_SOCKET");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) sockets.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return sockets;
}

uint32_t ForkDepth() { return process_generation.load(std::memory_order_relaxed); }

void Log(const std::string& text) {
  static const bool is_wanted = std::getenv("VIREO_LOG") != nullptr;
  if (is_wanted) static_cast<void>(std::fprintf(stderr, "vireo: %s\n", text.c_str()));
}

int ErrnoOf(const host::Error& error) {
  Log(ToString(error));
  return host::ErrorNumber(error);
}

std::nullptr_t Null(int error) {
  errno = error;
  return nullptr;
}

int MinusOne(int error) {
  errno = error;
  return -1;
}

Context& Of(ibv_context* context) {
  return *reinterpret_cast<Context*>(reinterpret_cast<uint8_t*>(context) - offsetof(verbs_context, context));
}

bool Context::IsOwnedByThisProcess() const { return fork_depth == ForkDepth(); }

std::optional<service::Gid> Context::FindGid(uint32_t index) const {
  const std::vector<service::Gid> gids = shared->gids();
  const auto found = std::ranges::find(gids, index, &service::Gid::index);
  return found == gids.end() ? std::nullopt : std::optional(*found);
}

Context::~Context() {
  watcher.reset();
  if (extended.context.cmd_fd >= 0) close(extended.context.cmd_fd);
  pthread_mutex_destroy(&extended.context.mutex);
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_device** ibv_get_device_list(int* count) {
  VIREO_PASS(ibv_get_device_list, count);
  const std::vector<Device*> found = VisibleDevices();
  auto** list = static_cast<ibv_device**>(std::calloc(found.size() + 1, sizeof(void*)));
  if (list == nullptr) return Null(ENOMEM);
  std::ranges::transform(found, list, [](Device* device) { return &device->device; });
  if (count != nullptr) *count = static_cast<int>(found.size());
  return list;
}

VIREO_API void ibv_free_device_list(ibv_device** list) {
  VIREO_PASS(ibv_free_device_list, list);
  std::free(list);
}

VIREO_API const char* ibv_get_device_name(ibv_device* device) {
  VIREO_PASS(ibv_get_device_name, device);
  return device->name;
}

VIREO_API int ibv_get_device_index(ibv_device* device) {
  VIREO_PASS(ibv_get_device_index, device);
  // Any unique number; the service's rdma_cm answers contain the same one.
  return static_cast<int>(Of(device).info.ifindex);
}

VIREO_API __be64 ibv_get_device_guid(ibv_device* device) {
  VIREO_PASS(ibv_get_device_guid, device);
  return htobe64(Of(device).info.node_guid);
}

namespace {

// `context_file`: of a context to join; -1: none.
ibv_context* Open(ibv_device* device, int context_file) {
  // The service accesses this process's memory: where Yama restricts ptrace, it needs this permission. If it is denied,
  // the service uses the client's agent.
  static_cast<void>(prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
  Result<std::unique_ptr<vireo::service::SharedDevice>> shared =
      vireo::service::SharedDevice::Connect(Of(device).socket);
  if (!shared.ok()) return Null(shared.error());
  auto context = std::make_unique<Context>();
  context->shared = shared->get();
  if (context_file >= 0) {
    if (vireo::host::Status joined = context->shared->Join(context_file); !joined.ok()) return Null(joined.error());
  }
  Result<int> own_file = context->shared->OpenContextFile();
  if (!own_file.ok()) return Null(own_file.error());
  context->extended.context.cmd_fd = *own_file;
  if (context->shared->info().has_clock) TrapTsc();
  auto attached = vireo::verbs::Device::Attach(std::move(shared).value());
  if (!attached.ok()) return Null(attached.error());
  context->device = std::move(attached).value();
  context->fork_depth = ForkDepth();
  context->link_up = context->shared->info().link_up;
  if (!context->OpenEvents()) return nullptr;

  verbs_context& extended = context->extended;
  extended.sz = sizeof extended;
  extended.query_port = QueryPort;
  extended.query_device_ex = QueryDeviceEx;
  extended.query_rt_values = QueryRtValues;
  extended.create_cq_ex = CreateCqEx;
  extended.create_qp_ex = CreateQpEx;
  extended.advise_mr = AdviseMr;
  extended.alloc_td = AllocTd;
  extended.dealloc_td = DeallocTd;
  extended.alloc_parent_domain = AllocParentDomain;
  ibv_context& base = extended.context;
  base.device = device;
  base.async_fd = context->async.get();
  base.num_comp_vectors = context->shared->vectors();
  base.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&base.mutex, nullptr);
  base.ops._compat_query_device = ibv_query_device;
  base.ops._compat_query_port = ibv_query_port;
  base.ops.alloc_mw = AllocMw;
  base.ops.dealloc_mw = DeallocMw;
  base.ops.bind_mw = BindMw;
  base.ops.poll_cq = PollCq;
  base.ops.req_notify_cq = ReqNotifyCq;
  base.ops.post_send = PostSend;
  base.ops.post_recv = PostRecv;
  base.ops.post_srq_recv = PostSrqRecv;
  return &context.release()->extended.context;
}

}  // namespace

VIREO_API ibv_context* ibv_open_device(ibv_device* device) {
  VIREO_PASS(ibv_open_device, device);
  return Open(device, -1);
}

// The context is another one, of the same NIC, which may name the protection domains and regions of the first.
VIREO_API ibv_context* ibv_import_device(int cmd_fd) {
  VIREO_PASS(ibv_import_device, cmd_fd);
  char name[sizeof(ibv_device::name)]{};
  const ssize_t bytes = pread(cmd_fd, name, sizeof name - 1, 0);
  if (bytes <= 0) return Null(bytes < 0 && errno == EBADF ? EBADF : EINVAL);
  for (Device* device : VisibleDevices()) {
    // Names are unique in a simulation; there may be several simulations.
    if (device->info.name != name) continue;
    ibv_context* const context = Open(&device->device, cmd_fd);
    if (context == nullptr) continue;
    close(cmd_fd);  // it is the context's now, whose own descriptor does the same
    return context;
  }
  return Null(EINVAL);
}

VIREO_API int ibv_close_device(ibv_context* context) {
  VIREO_PASS(ibv_close_device, context);
  // In a child of fork(), leave it: the parent uses it.
  if (Of(context).IsOwnedByThisProcess()) delete &Of(context);
  return 0;
}
