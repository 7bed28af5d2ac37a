// SPDX-License-Identifier: Apache-2.0
// Unmodified rdma-core programs that query simulated NICs. Pairs of programs are in pairs_test.cc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {
namespace {

class Programs : public testing::Test {
 protected:
  static void SetUpTestSuite() { simulator_ = std::make_unique<SimulatorProcess>(); }
  static void TearDownTestSuite() {
    EXPECT_EQ(simulator_->Stop(), 0);
    simulator_.reset();
  }
  void SetUp() override { ASSERT_TRUE(simulator_->is_ready()); }

  static std::unique_ptr<SimulatorProcess> simulator_;
};
std::unique_ptr<SimulatorProcess> Programs::simulator_;

TEST_F(Programs, EverySocketIsADevice) {
  Program devices({"ibv_devices"}, Seeing(simulator_->socket(1) + "::/nonexistent:" + simulator_->socket(0)));
  ASSERT_EQ(devices.Wait(), 0);
  const std::string output = devices.Output();
  EXPECT_NE(output.find("vireo0"), std::string::npos) << output;
  EXPECT_LT(output.find("vireo1"), output.find("vireo0")) << output;
  EXPECT_EQ(std::ranges::count(output, '\n'), 4) << output;  // 2 lines of headings
}

TEST_F(Programs, OverlayIsInactiveWithoutASocket) {
  Program plain({"ibv_devices"}, {{"VIREO_SOCKET", ""}});
  Program preloaded({"ibv_devices"}, Seeing(""));
  EXPECT_EQ(plain.Wait(), preloaded.Wait());
  EXPECT_EQ(plain.Output(), preloaded.Output());
}

// As NCCL and others load it: a handle of libibverbs, of librdmacm, or of the whole program; with a version and
// without.
TEST_F(Programs, LibrariesLoadedAtRunTimeHaveTheDevices) {
  constexpr const char* kScript =
      "import ctypes, os\n"
      "c = ctypes.CDLL(None)\n"
      "for f in c.dlsym, c.dlvsym, c.dlopen: f.restype = ctypes.c_void_p\n"
      "c.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]; c.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]\n"
      "c.dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]\n"
      "def count(address):\n"
      "  n = ctypes.c_int(-1)\n"
      "  assert ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)(ctypes.addressof(n))\n"
      "  return n.value\n"
      "name, old, new = b'ibv_get_device_list', b'IBVERBS_1.0', b'IBVERBS_1.1'\n"
      "verbs = c.dlopen(b'libibverbs.so.1', os.RTLD_NOW); assert verbs\n"
      "cm = c.dlopen(b'librdmacm.so.1', os.RTLD_NOW); assert cm\n"
      "self = c.dlopen(None, os.RTLD_NOW); assert self\n"
      "print('by handle', [count(c.dlsym(h, name)) for h in (verbs, cm, self)])\n"
      "print('by version', [count(c.dlvsym(h, name, new)) for h in (verbs, cm)])\n"
      // Other structures: not the overlay's. Functions that it does not define are the library's.
      "assert c.dlvsym(verbs, name, old) not in (None, c.dlvsym(verbs, name, new))\n"
      "assert c.dlsym(verbs, b'ibv_wc_status_str') and not c.dlsym(verbs, b'ibv_no_such_function')\n"
      "assert c.dlsym(cm, b'rdma_create_event_channel') and not c.dlvsym(verbs, name, b'NO_SUCH_VERSION')\n"
      "channel = ctypes.CFUNCTYPE(ctypes.c_void_p)(c.dlsym(cm, b'rdma_create_event_channel'))()\n"
      "print('rdma_cm', channel is not None)\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator_->socket(0) + ":" + simulator_->socket(1)),
                 /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_EQ(python.Output(), "by handle [2, 2, 2]\nby version [2, 2]\nrdma_cm True\n");
  // Without a socket, libibverbs' own.
  Program inactive({"python3", "-c",
                    "import ctypes; h = ctypes.CDLL('libibverbs.so.1'); c = ctypes.CDLL(None)\n"
                    "class Info(ctypes.Structure): _fields_ = [('file', ctypes.c_char_p)] + [(n, ctypes.c_void_p) "
                    "for n in 'abc']\n"
                    "i = Info(); assert c.dladdr(h.ibv_get_device_list, ctypes.byref(i)); print(i.file.decode())\n"},
                   Seeing(""), /*yields=*/false);
  EXPECT_EQ(inactive.Wait(), 0) << inactive.Output();
  EXPECT_NE(inactive.Output().find("libibverbs.so.1"), std::string::npos) << inactive.Output();
}

// Files that programs read beside the verbs: UCX, NCCL, Open MPI and libibumad take the device and its GIDs from there.
TEST_F(Programs, FilesOfDevicesAreThere) {
  constexpr const char* kScript =
      "import os, stat\n"
      "d = '/sys/class/infiniband/vireo1/'\n"
      "def read(name):\n"
      "  try: return open(d + name).read()\n"
      "  except OSError as error: return error.strerror\n"
      "for name in ('node_type', 'device/numa_node', 'device/vendor', 'ports/1/state', 'ports/1/phys_state',\n"
      "             'ports/1/rate', 'ports/1/link_layer', 'ports/1/gids/1', 'ports/1/gids/7', 'ports/1/pkeys/0',\n"
      "             'ports/1/gid_attrs/types/0', 'ports/1/gid_attrs/ndevs/1', 'ports/1/gid_attrs/types/7',\n"
      "             'ports/1/gids/4096', 'ports/1/gids/', 'ports/2/state', 'ports/1/stat'):\n"
      "  print(name, read(name).strip(), sep=': ')\n"
      "node = '/dev/infiniband/uverbs1'\n"
      "assert stat.S_ISCHR(os.stat(node).st_mode) and stat.S_ISCHR(os.stat('/dev/infiniband/rdma_cm').st_mode)\n"
      "assert os.access(node, os.R_OK | os.W_OK) and not os.access(node, os.X_OK)\n"
      "os.close(os.open(node, os.O_RDWR))\n"
      "assert stat.S_ISDIR(os.stat(d + 'ports/1/gids').st_mode) and stat.S_ISREG(os.stat(d + 'node_guid').st_mode)\n"
      "assert os.access(d + 'fw_ver', os.R_OK) and not os.access(d + 'fw_ver', os.W_OK)\n"
      "for name in (d + 'fw_ver', d + 'none', d + 'ports/1/gids', '/dev/infiniband/uverbs01'):\n"
      "  try: os.open(name, os.O_WRONLY); print('opened', name)\n"
      "  except OSError: pass\n"
      // Only this process's devices.
      "assert not os.path.exists('/dev/infiniband/uverbs0') and not os.path.exists('/sys/class/infiniband/vireo0')\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator_->socket(1)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_EQ(python.Output(),
            "node_type: 1: CA\ndevice/numa_node: -1\ndevice/vendor: 0x1af4\nports/1/state: 4: ACTIVE\n"
            "ports/1/phys_state: 5: LinkUp\nports/1/rate: 100 Gb/sec (4X EDR)\nports/1/link_layer: Ethernet\n"
            "ports/1/gids/1: 0000:0000:0000:0000:0000:ffff:0a00:0002\n"
            "ports/1/gids/7: 0000:0000:0000:0000:0000:0000:0000:0000\nports/1/pkeys/0: 0xffff\n"
            "ports/1/gid_attrs/types/0: RoCE v2\nports/1/gid_attrs/ndevs/1: vnet1\n"
            "ports/1/gid_attrs/types/7: Invalid argument\nports/1/gids/4096: No such file or directory\n"
            "ports/1/gids/: Is a directory\nports/2/state: No such file or directory\n"
            "ports/1/stat: No such file or directory\n");
  Program cat(
      {"sh", "-c", "cat /sys/class/infiniband_verbs/uverbs1/ibdev; test -c /dev/infiniband/uverbs1 && echo node"},
      Seeing(simulator_->socket(1)));
  EXPECT_EQ(cat.Wait(), 0);
  EXPECT_EQ(cat.Output(), "vireo1\nnode\n");
  Program inactive({"sh", "-c", "cat /sys/class/infiniband/vireo1/node_type"}, Seeing(""));
  EXPECT_NE(inactive.Wait(), 0);
}

// By opendir and scandir; links of the class directories by realpath.
TEST_F(Programs, DirectoriesOfDevicesCanBeListed) {
  constexpr const char* kScript =
      "import ctypes, os\n"
      "d = '/sys/class/infiniband/vireo1'\n"
      "for name in ('/sys/class/infiniband', '/sys/class/infiniband_verbs', '/dev/infiniband', d, d + '/ports/1/',\n"
      "             d + '/ports/1/gid_attrs', d + '/ports/1/pkeys', d + '/ports/1/counters'):\n"
      "  print(*sorted(os.listdir(name)))\n"
      "assert len(os.listdir(d + '/ports/1/gids')) == 128\n"
      "kinds = {e.name: (e.is_dir(), e.is_file()) for e in os.scandir(d)}\n"
      "assert kinds['ports'] == (True, False) and kinds['node_guid'] == (False, True)\n"
      "for name in (d + '/ports/2', '/sys/class/infiniband/vireo0', d + '/node_guid'):\n"
      "  try: os.listdir(name); print('listed', name)\n"
      "  except OSError: pass\n"
      "assert os.path.isdir('/sys/class/net') == ('lo' in os.listdir('/sys/class/net'))\n"
      // The entry that a directory of libc's own has, and nothing of a closed one.
      "c = ctypes.CDLL(None); c.realpath.restype = ctypes.c_char_p\n"
      "def real(path): out = ctypes.create_string_buffer(4096); return c.realpath(path.encode(), out)\n"
      "function = real(d + '/device')\n"
      "assert real(d) == function + b'/infiniband/vireo1' and real('/sys/class/infiniband/none') is None\n"
      "assert real(d + '/device/') == function == real(function.decode() + '/infiniband/vireo1/device')\n"
      "assert real('/sys/class/infiniband_verbs/uverbs1') == function + b'/infiniband_verbs/uverbs1'\n"
      "assert real('/usr/../usr') == b'/usr' and real(d + "
      "'/ports/1/state').endswith(b'/infiniband/vireo1/ports/1/state')\n"
      // As UCX, from the path without links.
      "print(open(function + b'/vendor').read(), open(function + b'/device').read(), sep='', end='')\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator_->socket(1)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_EQ(python.Output(),
            "vireo1\nabi_version uverbs1\nrdma_cm uverbs1\n"
            "device fw_ver hca_type node_desc node_guid node_type ports sys_image_guid\n"
            "cap_mask counters gid_attrs gids hw_counters lid lid_mask_count link_layer phys_state pkeys rate sm_lid "
            "sm_sl state\n"
            "ndevs types\n0\nport_rcv_data port_rcv_packets port_xmit_data port_xmit_packets\n0x1af4\n0x1041\n");
  // A shell's patterns, and programs that list with scandir (libibumad).
  Program shell(
      {"sh", "-c", "cd / && echo /sys/class/infiniband/*/ports/*/st* && ls /sys/class/infiniband/vireo1/ports"},
      Seeing(simulator_->socket(1)));
  EXPECT_EQ(shell.Wait(), 0);
  EXPECT_EQ(shell.Output(), "/sys/class/infiniband/vireo1/ports/1/state\n1\n");
}

TEST_F(Programs, Ibstat) {
  if (!IsInstalled("ibstat")) GTEST_SKIP() << "ibstat is not installed (docs/dependencies.md)";
  Program ibstat({"ibstat"}, Seeing(simulator_->socket(0) + ":" + simulator_->socket(1)));
  ASSERT_EQ(ibstat.Wait(), 0) << ibstat.Output();
  const std::string output = ibstat.Output();
  for (const char* line :
       {"CA 'vireo0'", "CA 'vireo1'", "CA type: vireo", "Number of ports: 1", "State: Active", "Physical state: LinkUp",
        "Rate: 100", "Capability mask: 0x04010000", "Link layer: Ethernet"}) {
    EXPECT_NE(output.find(line), std::string::npos) << line << " is not in\n" << output;
  }
}

// A script that changes its directory, and lists by patterns of names there.
TEST_F(Programs, Ibstatus) {
  if (!IsInstalled("ibstatus")) GTEST_SKIP() << "ibstatus is not installed (docs/dependencies.md)";
  Program ibstatus({"ibstatus"}, Seeing(simulator_->socket(0) + ":" + simulator_->socket(1)), /*yields=*/false);
  ASSERT_EQ(ibstatus.Wait(), 0) << ibstatus.Output();
  const std::string output = ibstatus.Output();
  for (const char* line : {"Infiniband device 'vireo0' port 1 status:", "Infiniband device 'vireo1' port 1 status:",
                           "state:\t\t 4: ACTIVE", "phys state:\t 5: LinkUp", "link_layer:\t Ethernet"}) {
    EXPECT_NE(output.find(line), std::string::npos) << line << " is not in\n" << output;
  }
  EXPECT_EQ(output.find("unknown"), std::string::npos) << output;
}

TEST_F(Programs, DirectoriesOfDevicesCanBeEntered) {
  Program shell(
      {"sh", "-c",
       "cd /sys/class/infiniband && for device in *; do echo $device; done; cd ./vireo1/ports/../ports/1/ && "
       "read state < state && echo $state && test -d gids && test ! -e node_guid && cd .. && echo * && pwd && "
       "cd ../../../../../usr && pwd && test ! -e 1 && cd /sys/class/infiniband/vireo1/none"},
      Seeing(simulator_->socket(1)));
  EXPECT_EQ(shell.Wait(), 2) << shell.Output();
  EXPECT_EQ(shell.Output().find("vireo1\n4: ACTIVE\n1\n/sys/class/infiniband/vireo1/ports\n/usr\n"), 0U)
      << shell.Output();
  constexpr const char* kScript =
      "import ctypes, os\n"
      "here = os.getcwd()\n"
      "os.chdir('/sys/class/infiniband/vireo1')\n"
      "print(os.getcwd(), os.listdir('ports'), open('ports/1/link_layer').read().strip())\n"
      "try: os.chdir('node_guid')\n"
      "except NotADirectoryError: print('no directory')\n"
      "class Glob(ctypes.Structure):\n"
      "  _fields_ = [('n', ctypes.c_size_t), ('paths', ctypes.POINTER(ctypes.c_char_p)), ('more', ctypes.c_long * "
      "16)]\n"
      "def glob(pattern):\n"
      "  g = Glob(); assert ctypes.CDLL(None).glob(pattern.encode(), 0, None, ctypes.byref(g)) in (0, 3)\n"
      "  return [g.paths[i].decode() for i in range(g.n)]\n"
      "print(*glob('/sys/class/infiniband/*/ports/[0-9]/st*'), *glob('ports/*/ra*'), *glob('/us[r]'))\n"
      // A directory's descriptor: not below the working directory. What a program starts is where it was before.
      "folder = os.open('/', os.O_RDONLY); assert not os.access('ports', os.F_OK, dir_fd=folder)\n"
      "os.chdir('../../../..'); assert os.getcwd() == '/' and not os.path.exists('node_guid')\n"
      "os.chdir(here)\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator_->socket(1)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_EQ(python.Output(),
            "/sys/class/infiniband/vireo1 ['1'] Ethernet\nno directory\n"
            "/sys/class/infiniband/vireo1/ports/1/state ports/1/rate /usr\n");
}

// iproute2's `rdma`, by netlink.
class RdmaTool : public Programs {
 protected:
  void SetUp() override {
    if (!IsInstalled("rdma")) GTEST_SKIP() << "iproute2 is not installed (docs/dependencies.md)";
    Programs::SetUp();
  }
  std::string Output(const std::string& arguments) {
    Program rdma(WordsOf("rdma " + arguments), Seeing(simulator_->socket(0) + ":" + simulator_->socket(1)),
                 /*yields=*/false);
    EXPECT_EQ(rdma.Wait(), 0) << rdma.Output();
    return rdma.Output();
  }
};

TEST_F(RdmaTool, DevicesAndLinks) {
  const std::string devices = Output("dev");
  EXPECT_NE(devices.find("10000: vireo0: node_type ca fw vireo node_guid "), std::string::npos) << devices;
  EXPECT_NE(devices.find("10001: vireo1: node_type ca "), std::string::npos) << devices;
  EXPECT_NE(Output("link").find("link vireo1/1 state ACTIVE physical_state LINK_UP netdev vnet1"), std::string::npos);
  EXPECT_EQ(Output("link show vireo0/1").find("vireo1"), std::string::npos);
  EXPECT_NE(Output("system").find("netns shared copy-on-fork on"), std::string::npos);
}

// Of another program: who has them, and their state, as of now.
TEST_F(RdmaTool, ObjectsOfPrograms) {
  const std::string none = Output("resource show vireo0");
  EXPECT_NE(none.find("10000: vireo0: pd 0 cq 0 qp 0 mr 0 ctx 0 srq 0"), std::string::npos) << none;
  const unsigned port = FreePort();
  Program server({"ibv_srq_pingpong", "-g", "1", "-q", "3", "-p", std::to_string(port)}, Seeing(simulator_->socket(0)));
  ASSERT_TRUE(AwaitListener(port, server)) << server.Output();
  const std::string summary = Output("resource show");
  EXPECT_NE(summary.find("10000: vireo0: pd 1 cq 1 qp 3 mr 1 ctx 1 srq 1"), std::string::npos) << summary;
  EXPECT_NE(summary.find("10001: vireo1: pd 0 "), std::string::npos) << summary;
  const std::string owner = "pid " + std::to_string(server.pid()) + " comm ibv_srq_pingpon";  // cut by the kernel

  const std::string qps = Output("resource show qp");
  EXPECT_EQ(std::ranges::count(qps, '\n'), 3) << qps;
  EXPECT_NE(qps.find("link vireo0/1 lqpn "), std::string::npos) << qps;
  EXPECT_NE(qps.find("type RC state INIT"), std::string::npos) << qps;
  EXPECT_NE(qps.find(owner), std::string::npos) << qps;
  const std::string first = qps.substr(qps.find("lqpn "), qps.find(" rqpn") - qps.find("lqpn "));
  EXPECT_NE(Output("resource show qp link vireo0/1 " + first).find(owner), std::string::npos);
  // Its protection domain: of a region, a shared receive queue and three queue pairs; its CQ: of both queues of each.
  const std::string pds = Output("resource show pd");
  EXPECT_NE(pds.find("users 5 "), std::string::npos) << pds;
  const std::string cqs = Output("resource show cq");
  EXPECT_NE(cqs.find("users 6 "), std::string::npos) << cqs;
  const std::string regions = Output("resource show mr");
  EXPECT_NE(regions.find("mrlen 4096 "), std::string::npos) << regions;
  EXPECT_NE(Output("resource show ctx").find(owner), std::string::npos);
  const std::string srqs = Output("resource show srq");
  EXPECT_NE(srqs.find("type BASIC lqpn "), std::string::npos) << srqs;
  EXPECT_NE(srqs.find(" pid " + std::to_string(server.pid())), std::string::npos) << srqs;
  server.Kill();
  server.Wait();
  for (int i = 0; i < 100 && Output("resource show vireo0") != none; ++i) usleep(20'000);
  EXPECT_EQ(Output("resource show vireo0"), none);
}

TEST_F(RdmaTool, Statistic) {
  TcpPair(*simulator_, "ibv_rc_pingpong -g 1 -n 3").ExpectGoodEnd();
  const std::string counters = Output("statistic show link vireo0/1");
  EXPECT_NE(counters.find("link vireo0/1 port_xmit_data "), std::string::npos) << counters;
  EXPECT_NE(counters.find(" icrc 0"), std::string::npos) << counters;
  EXPECT_EQ(counters.find("port_rcv_packets 0 "), std::string::npos) << counters;
}

// What Linux answers to a request that it cannot serve, and the kernel's address.
TEST_F(Programs, NetlinkRequestsThatCannotBeServed) {
  constexpr const char* kScript =
      "import errno, os, socket, struct\n"
      "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20); s.bind((0, 0))\n"
      "assert s.getsockname() == (os.getpid(), 0)\n"
      "def attribute(kind, value): return struct.pack('=HHI', 8, kind, value)\n"
      "def ask(command, *attributes, flags=5, client=5):\n"
      "  body = b''.join(attributes)\n"
      "  s.sendto(struct.pack('=IHHII', 16 + len(body), client << 10 | command, flags, 7, 0) + body, (0, 0))\n"
      "  data, _, _, sender = s.recvmsg(4096); assert sender == (0, 0)\n"
      "  length, kind, _, number, port = struct.unpack_from('=IHHII', data)\n"
      "  assert length == len(data) and number == 7 and port == os.getpid()\n"
      "  error = -struct.unpack_from('=i', data, 16)[0]\n"
      "  names = {errno.EINVAL: 'EINVAL', errno.ENOENT: 'ENOENT', errno.EOPNOTSUPP: 'EOPNOTSUPP'}\n"
      "  return names.get(error, error) if kind == 2 else kind & 1023\n"
      "device, other, port, no_port = attribute(1, 10001), attribute(1, 77), attribute(3, 1), attribute(3, 2)\n"
      "print(ask(1), ask(1, other), ask(5, device), ask(5, device, no_port), ask(10, device), ask(10, flags=0x301))\n"
      "print(ask(10, device, attribute(21, 999)), ask(17, device), ask(17, device, port, attribute(75, 21)))\n"
      "print(ask(2, device), ask(3), ask(15), ask(99), ask(1, client=4), ask(1, b'\\x03\\0\\1\\0'))\n"
      "print(ask(1, device, flags=1), ask(5, device, port, flags=1), ask(10, device, flags=0x301))\n"
      "s.close()\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator_->socket(1)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_EQ(python.Output(),
            "EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL\nENOENT EINVAL EOPNOTSUPP\n"
            "EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EINVAL EINVAL EINVAL\n1 5 3\n");
}

// What a NIC has sent, the other one has received; drops are counted by reason.
TEST_F(Programs, CountersOfThePortCount) {
  const auto read = [](size_t nic) {
    const std::string port = "/sys/class/infiniband/vireo" + std::to_string(nic) + "/ports/1/";
    Program cat({"sh", "-c",
                 "cd / && for c in port_xmit_packets port_xmit_data port_rcv_packets port_rcv_data; do cat " + port +
                     "counters/$c; done && cat " + port + "hw_counters/icrc"},
                Seeing(simulator_->socket(nic)));
    EXPECT_EQ(cat.Wait(), 0) << cat.Output();
    std::array<uint64_t, 5> values{};
    std::istringstream text(cat.Output());
    for (uint64_t& value : values) text >> value;
    EXPECT_FALSE(text.fail()) << cat.Output();
    return values;
  };
  const auto before = read(0);
  TcpPair(*simulator_, "ibv_rc_pingpong -g 1 -n 10 -s 4000").ExpectGoodEnd();
  const auto after = read(0);
  const auto peer = read(1);
  constexpr uint64_t kMessages = 10, kPackets = 4;  // of 1024 bytes per message
  EXPECT_GE(after[0] - before[0], kMessages * kPackets);
  EXPECT_GE(after[2] - before[2], kMessages * kPackets);
  EXPECT_GE(after[1] - before[1], kMessages * 4000 / 4);
  EXPECT_LT(after[1] - before[1], kMessages * 5000 / 4);
  EXPECT_EQ(after[0], peer[2]);
  EXPECT_EQ(after[2], peer[0]);
  EXPECT_EQ(after[4], 0U);
}

// Programs look for the addresses of RDMA devices among the system's interfaces (libfabric).
TEST_F(Programs, AddressesOfTheNicsAreInterfaces) {
  constexpr const char* kScript =
      "import ctypes, socket\n"
      "class I(ctypes.Structure): pass\n"
      "I._fields_ = [('next', ctypes.POINTER(I)), ('name', ctypes.c_char_p), ('flags', ctypes.c_uint)] + \\\n"
      "  [(n, ctypes.c_void_p) for n in ('address', 'mask', 'other', 'data')]\n"
      "c = ctypes.CDLL(None)\n"
      "for _ in range(3):\n"
      "  first = ctypes.POINTER(I)(); assert c.getifaddrs(ctypes.byref(first)) == 0\n"
      "  node, found = first, []\n"
      "  while node:\n"
      "    e = node.contents\n"
      "    family = ctypes.cast(e.address, ctypes.POINTER(ctypes.c_ushort))[0] if e.address else 0\n"
      "    if e.name.startswith(b'vnet') and family == socket.AF_INET:\n"
      "      found.append(e.name.decode() + ' ' + ' '.join(socket.inet_ntoa(ctypes.string_at(p + 4, 4)) for p in\n"
      "        (e.address, e.mask)))\n"
      "    if e.name.startswith(b'vnet') and family == socket.AF_INET6:\n"
      "      found.append(e.name.decode() + ' ' + ctypes.string_at(e.address + 8, 2).hex())\n"
      "    if e.name == b'lo': lo = True\n"
      "    node = e.next\n"
      "  c.freeifaddrs(first)\n"
      "assert lo; print(*found, sep=', ')\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator_->socket(0) + ":" + simulator_->socket(1)),
                 /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_EQ(python.Output(), "vnet0 fe80, vnet0 10.0.0.1 255.255.255.0, vnet1 fe80, vnet1 10.0.0.2 255.255.255.0\n");
}

// The server sees NIC 0 only, the client NIC 1.
TEST_F(Programs, TcpReachesTheAddressesOfNics) {
  const unsigned port = FreePort();
  const std::string number = std::to_string(port);
  constexpr const char* kServer =
      "import socket, sys\n"
      "s = socket.create_server(('10.0.0.1', int(sys.argv[1])))\n"
      "for address in ('10.0.0.2', '10.0.0.77'):\n"
      "  try: socket.create_server((address, 0)); print('bound', address)\n"
      "  except OSError: pass\n"
      "s.accept()[0].sendall(b'hello')\n";
  constexpr const char* kClient =
      "import errno, socket, sys\n"
      "print(socket.create_connection(('10.0.0.1', int(sys.argv[1]))).recv(9).decode())\n"
      // No other address, and no datagrams.
      "s = socket.socket(); s.setblocking(False); print(s.connect_ex(('198.51.100.9', 9)) == 0)\n"
      "u = socket.socket(type=socket.SOCK_DGRAM)\n"
      "try: u.connect(('10.0.0.1', 9)); print(u.getpeername()[0])\n"
      "except OSError as error: print('10.0.0.1')\n";
  Program server({"python3", "-c", kServer, number}, Seeing(simulator_->socket(0)), /*yields=*/false);
  ASSERT_TRUE(AwaitListener(port, server)) << server.Output();
  Program client({"python3", "-c", kClient, number}, Seeing(simulator_->socket(1)), /*yields=*/false);
  EXPECT_EQ(client.Wait(), 0) << client.Output();
  EXPECT_EQ(client.Output(), "hello\nFalse\n10.0.0.1\n");
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_EQ(server.Output(), "");
}

TEST_F(Programs, AllocatorMayReadClocksAndSearchFromItself) {
  Environment environment = Seeing(simulator_->socket(0));
  environment["LD_PRELOAD"] += std::string(":") + VIREO_CLOCK_ALLOCATOR;
  Program devices({"ibv_devices"}, environment);
  EXPECT_EQ(devices.Wait(), 0);
  EXPECT_NE(devices.Output().find("vireo0"), std::string::npos) << devices.Output();
}

TEST_F(Programs, IbvDevinfo) {
  Program devinfo({"ibv_devinfo", "-v"}, Seeing(simulator_->socket(0), {{"VIREO_VENDOR_PART_ID", "4119"}}));
  ASSERT_EQ(devinfo.Wait(), 0) << devinfo.Output();
  const std::string output = devinfo.Output();
  for (const char* line :
       {"PORT_ACTIVE (4)", "link_layer:\t\tEthernet", "active_width:\t\t4X (2)", "active_speed:\t\t25.0 Gbps (32)",
        "vendor_part_id:\t\t\t4119", "::ffff:10.0.0.1, RoCE v2", "GID[  0]:\t\tfe80::"}) {
    EXPECT_NE(output.find(line), std::string::npos) << line << " is not in\n" << output;
  }
}

// Runs until it is stopped; prints only that it watches a device.
TEST_F(Programs, IbvAsyncwatch) {
  Program watch({"stdbuf", "-oL", "ibv_asyncwatch"}, Seeing(simulator_->socket(0)));
  EXPECT_TRUE(AwaitOutput("vireo0: async event FD", watch)) << watch.Output();
  EXPECT_FALSE(watch.HasEnded(0)) << watch.Output();
}

// Link down and up during a connection: ibv_asyncwatch reports both, and the connection continues.
TEST(Link, IbvAsyncwatchReportsLinkDownAndUp) {
  std::string path = testing::TempDir() + "vireo_link_XXXXXX";
  host::FileDescriptor file(mkstemp(path.data()));
  const std::string text =
      "[[nic]]\n[[nic]]\n[[link]]\nends = ['vireo0', 'vireo1']\nfaults_forth = 'link_down 3000000 nth=100 count=1'\n";
  ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  {
    SimulatorProcess simulator({"--topology", path});
    ASSERT_TRUE(simulator.is_ready()) << simulator.error();
    std::array<std::unique_ptr<Program>, 2> watches;
    for (size_t nic = 0; nic < 2; ++nic) {
      watches.at(nic) = std::make_unique<Program>(std::vector<std::string>{"stdbuf", "-oL", "ibv_asyncwatch"},
                                                  Seeing(simulator.socket(nic)));
      ASSERT_TRUE(AwaitOutput("async event FD", *watches.at(nic))) << watches.at(nic)->Output();
    }
    TcpPair(simulator, "ibv_rc_pingpong -g 1 -n 300").ExpectGoodEnd();
    for (const auto& watch : watches) {
      ASSERT_TRUE(AwaitOutput("IBV_EVENT_PORT_ACTIVE", *watch)) << watch->Output();
      const std::string output = watch->Output();
      EXPECT_LT(output.find("IBV_EVENT_PORT_ERR"), output.find("IBV_EVENT_PORT_ACTIVE")) << output;
    }
  }
  unlink(path.c_str());
}

// RoCE requires a GID: without one, programs fail, as on any RoCE device.
TEST_F(Programs, ConnectionWithoutAGidFails) {
  const unsigned port = FreePort();
  const std::vector<std::string> command = {"ibv_rc_pingpong", "-p", std::to_string(port)};
  Program server(command, Seeing(simulator_->socket(0)));
  ASSERT_TRUE(AwaitListener(port, server)) << server.Output();
  std::vector<std::string> client_command = command;
  client_command.emplace_back("127.0.0.1");
  Program client(client_command, Seeing(simulator_->socket(1)));
  EXPECT_EQ(client.Wait(), 1);
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_NE(server.Output().find("Failed to modify QP to RTR"), std::string::npos) << server.Output();
}

// A server on NICs 0 and 1, bound to the wildcard address or to the second NIC's; clients on any of three NICs.
TEST(ProgramsOnSeveralNics, RdmaCmChoosesTheNicByAddress) {
  SimulatorProcess simulator({"--nics", "3"});
  ASSERT_TRUE(simulator.is_ready());
  const std::string first_two = simulator.socket(0) + ":" + simulator.socket(1);
  struct Run {
    const char* bound;
    const char* to;
    std::string client_sees;
    const char* from;  // an option of the client
  };
  for (const Run& run :
       {Run{"0.0.0.0", "10.0.0.1", simulator.socket(2), ""}, Run{"0.0.0.0", "10.0.0.2", simulator.socket(2), ""},
        Run{"10.0.0.2", "10.0.0.2", simulator.socket(2) + ":" + simulator.socket(0), ""},
        Run{"10.0.0.2", "10.0.0.2", simulator.socket(0) + ":" + simulator.socket(2), " -I 10.0.0.3"},
        Run{"0.0.0.0", "10.0.0.2", first_two, " -I 10.0.0.1"}}) {
    SCOPED_TRACE(std::string(run.bound) + ", " + run.to + run.from);
    const std::string port = " -v -C 3 -p " + std::to_string(FreePort());
    Program server(WordsOf("rping -s -a " + std::string(run.bound) + port), Seeing(first_two, {{"VIREO_LOG", "1"}}));
    ASSERT_TRUE(AwaitOutput("rdma_cm listens", server)) << server.Output();
    Program client(WordsOf("rping -c -a " + std::string(run.to) + run.from + port), Seeing(run.client_sees));
    EXPECT_EQ(client.Wait(), 0) << client.Output() << "server:\n" << server.Output();
    EXPECT_EQ(server.Wait(), 0) << server.Output();
    EXPECT_NE(client.Output().find("ping data: rdma-ping-2:"), std::string::npos) << client.Output();
  }
  // No listener on the first NIC.
  const std::string port = " -C 1 -p " + std::to_string(FreePort());
  Program server(WordsOf("rping -s -a 10.0.0.2" + port), Seeing(first_two, {{"VIREO_LOG", "1"}}));
  ASSERT_TRUE(AwaitOutput("rdma_cm listens", server)) << server.Output();
  Program refused(WordsOf("rping -c -a 10.0.0.1" + port), Seeing(simulator.socket(2)));
  EXPECT_GT(refused.Wait(), 0) << refused.Output();
  Program client(WordsOf("rping -c -a 10.0.0.2" + port), Seeing(simulator.socket(2)));
  EXPECT_EQ(client.Wait(), 0) << client.Output();
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_EQ(simulator.Stop(), 0);
}

}  // namespace
}  // namespace vireo::sim
