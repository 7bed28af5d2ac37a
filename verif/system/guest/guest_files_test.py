#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the scripts of this folder, without network and without QEMU: what they refuse, and how they report what is not
available."""

import json
import math
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

import bench
import build_guest
import build_peer
import build_pvrdma
import qemu

HERE = pathlib.Path(__file__).resolve().parent
INDEXES = "Debian|Debian-Security|http://mirror.invalid/security/\\nDebian|Debian|http://mirror.invalid/debian/\\n"


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


class Scripts(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.target = pathlib.Path(self.folder.name) / "files/qemu"
        # The folder's `bin` is all of PATH, with fakes of the programs.
        self.bin = pathlib.Path(self.folder.name) / "bin"
        self.bin.mkdir()
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = str(self.bin)

    def fake(self, name: str, script: str) -> None:
        file = self.bin / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def fake_kernel(self, release: str, version: str) -> None:
        self.fake("apt-cache", f'case " $* " in *" depends "*) echo "Depends: linux-image-{release}" ;; *) echo "Version: {version}" ;; '
                               "esac")

    def kernel_refusal(self, apt_get: str) -> str:
        """Why there is no trixie kernel with this apt-get."""
        for tool in ("qemu-system-x86_64", "cpio", "dpkg-deb", "dpkg-query"):
            self.fake(tool, "exit 0")
        self.fake("apt-get", f'case " $* " in *" indextargets "*) printf "{INDEXES}" ;; {apt_get} esac')
        with self.assertRaises(build_guest.Unavailable) as raised:
            build_guest.prepare(self.target.parent, "trixie")
        self.assertEqual(list(self.target.parent.rglob("vmlinux")), [])
        return str(raised.exception)

    def refusal(self) -> str:
        with self.assertRaises(build_guest.Unavailable) as raised:
            qemu.unpack_qemu(self.target)
        self.assertFalse(self.target.exists())
        return str(raised.exception)

    def test_missing_mmdebstrap_is_named(self) -> None:
        self.assertIn("mmdebstrap is not installed", self.refusal())

    def test_missing_package_lists_are_named(self) -> None:
        self.fake("mmdebstrap", "exit 0")
        self.fake("apt-get", "printf 'Other|Other|http://mirror.invalid/\\n'")
        self.assertIn("apt-get update", self.refusal())

    def test_unreachable_mirror_gives_the_reason_and_leaves_nothing(self) -> None:
        self.fake("apt-get", f"printf '{INDEXES}'")
        self.fake("mmdebstrap", "echo 'E: cannot reach mirror.invalid' >&2; exit 1")
        self.assertIn("E: cannot reach mirror.invalid", self.refusal())
        self.assertEqual(list(self.target.parent.iterdir()), [])

    def test_qemu_is_unpacked_once_from_the_mirror_of_apt(self) -> None:
        self.fake("apt-get", f"printf '{INDEXES}'")
        # Its arguments are kept; the root's folder is the one before the two sources.
        self.fake("mmdebstrap", 'for word; do case $word in */root) root=$word ;; esac; done; /bin/mkdir -p "$root/var/lib" '
                                '"$root/usr/bin"; echo "$@" >"$root/usr/bin/arguments"')
        qemu.unpack_qemu(self.target)
        arguments = (self.target / "usr/bin/arguments").read_text()
        self.assertIn("deb http://mirror.invalid/debian/ trixie-backports main", arguments)
        self.assertFalse((self.target / "var").exists())
        self.fake("mmdebstrap", "exit 1")
        qemu.unpack_qemu(self.target)  # does not unpack again
        (self.target / "stamp").write_text("another version")
        with self.assertRaises(build_guest.Unavailable):
            qemu.unpack_qemu(self.target)

    def test_long_socket_path_is_refused(self) -> None:
        options = qemu.parse([self.folder.name, "--nic", "/" + "n" * 107])
        with self.assertRaisesRegex(build_guest.Unavailable, "too long: 107 bytes at most"):
            qemu.command(pathlib.Path(self.folder.name), options)

    def test_each_nic_is_a_device_of_its_own(self) -> None:
        options = qemu.parse([self.folder.name, "--nic", "/tmp/a", "--nic", "/tmp/b", "--cpus", "2", "--memory", "512"])
        words = qemu.command(pathlib.Path(self.folder.name), options)
        self.assertEqual(sum('"vfio-user-pci"' in word for word in words), 2)
        self.assertIn("memory-backend-memfd,id=memory,size=536870912,share=on", words)
        self.assertNotIn("-netdev", words)

    def test_vfio_nics_are_behind_an_iommu_and_a_port_each(self) -> None:
        words = qemu.command(pathlib.Path(self.folder.name), qemu.parse([self.folder.name, "--vfio", "/tmp/a", "--vfio", "/tmp/b"]))
        self.assertIn("intel-iommu,intremap=on,caching-mode=on", words)
        functions = [json.loads(word) for word in words if '"vfio-user-pci"' in word]
        self.assertEqual([function["bus"] for function in functions], ["port1", "port2"])
        for port in ("port1", "port2"):
            self.assertEqual(sum(word.startswith(f"pcie-root-port,id={port},") for word in words), 1)
        kernel = words[words.index("-append") + 1].split()
        self.assertIn("intel_iommu=on", kernel)
        self.assertIn("vireo.role=vfio", kernel)
        plain = qemu.command(pathlib.Path(self.folder.name), qemu.parse([self.folder.name, "--nic", "/tmp/a"]))
        self.assertFalse(any("iommu" in word for word in plain))

    def test_programs_go_into_the_guest_with_their_libraries(self) -> None:
        files = pathlib.Path(self.folder.name) / "files"
        files.mkdir()
        (files / "initramfs").write_bytes(b"first")
        self.fake("own", "exit 0")
        self.fake("find", "printf './bin/own\\0./lib/libown.so\\0'")
        self.fake("cpio", "for file in bin/own .$LIBRARY; do test -e $file || exit 1; done; echo packed")
        library = files / "libown.so"
        library.write_text("library")
        os.environ["LIBRARY"] = str(library)
        self.addCleanup(os.environ.pop, "LIBRARY")
        self.fake("ldd", f"echo 'libown.so => {library} (0x0001)'")
        words = qemu.command(files, qemu.parse([str(files), "--vfio", "/tmp/a", "--program", str(self.bin / "own")]))
        self.assertEqual(pathlib.Path(words[words.index("-initrd") + 1]).read_bytes(), b"firstpacked\n")
        with self.assertRaisesRegex(build_guest.Unavailable, "none is no program"):
            build_guest.packed_programs([files / "none"])

    def test_pvrdma_function_has_its_partner_in_the_same_slot(self) -> None:
        options = qemu.parse([self.folder.name, "--pvrdma", "/tmp/a", "--link", "/tmp/own,/tmp/peer", "--tcp-port", "7000"])
        words = qemu.command(pathlib.Path(self.folder.name), options)
        self.assertTrue(any(word.startswith("vmxnet3,") and word.endswith("multifunction=on,addr=5.0") for word in words))
        function = next(json.loads(word) for word in words if '"vfio-user-pci"' in word)
        self.assertEqual((function["addr"], function["socket"]["path"]), ("5.1", "/tmp/a"))
        self.assertIn(f"{self.folder.name}/initramfs-pvrdma", words)
        self.assertNotIn("-virtfs", words)

    def test_this_machine_s_files_are_for_reading_and_on_request(self) -> None:
        options = qemu.parse([self.folder.name, "--pvrdma", "/tmp/a", "--link", "/tmp/own,/tmp/peer", "--root"])
        words = qemu.command(pathlib.Path(self.folder.name), options)
        self.assertIn("readonly=on", words[words.index("-virtfs") + 1].split(","))
        refused = run("qemu.py", self.folder.name, "--nic", "/tmp/a", "--root")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--root needs --pvrdma", refused.stderr)

    def test_driver_that_cannot_be_had_is_named(self) -> None:
        files = pathlib.Path(self.folder.name) / "files"
        files.mkdir()
        self.fake_kernel("6.1.0-9-amd64", "6.1.2-3")
        for tool in ("make", "gcc", "strip", "tar", "xz"):
            with self.assertRaisesRegex(build_guest.Unavailable, f"{tool} is not installed"):
                build_pvrdma.prepare_module(files)
            self.fake(tool, "exit 1")
        self.fake("apt-get", "echo 'E: no such version' >&2; exit 1")
        with self.assertRaisesRegex(build_guest.Unavailable, "linux-headers-6.1.0-9-amd64 6.1.2-3 cannot be downloaded: E: no"):
            build_pvrdma.prepare_module(files)
        self.assertEqual(list(files.iterdir()), [])

    def test_tools_of_the_kernel_may_be_newer_than_it(self) -> None:
        folder = pathlib.Path(self.folder.name) / "files"
        folder.mkdir()
        self.fake("apt-get", f'for last; do :; done; echo "$last" >>{folder}/asked; [ "$last" != linux-kbuild-6.1=6.1.2-3 ] && : >"${{last%%=*}}.deb"')
        self.fake("dpkg-deb", "exit 0")
        self.fake("apt-cache", 'echo "Version: 6.1.2-3"')
        with self.assertRaisesRegex(build_guest.Unavailable, "linux-kbuild-6.1 6.1.2-3 cannot be downloaded"):
            build_pvrdma.unpack_tools("linux-kbuild-6.1", "6.1.2-3", folder, folder / "tree")
        (folder / "linux-kbuild-6.1").rmdir()
        self.fake("apt-cache", 'echo "Version: 6.1.2-4"')
        build_pvrdma.unpack_tools("linux-kbuild-6.1", "6.1.2-3", folder, folder / "tree")
        asked = ["linux-kbuild-6.1=6.1.2-3"] * 2 + ["linux-kbuild-6.1=6.1.2-4"]
        self.assertEqual((folder / "asked").read_text().split(), asked)

    def test_kernel_of_another_release_has_lists_of_its_own(self) -> None:
        self.fake_kernel("6.12.1-amd64", "6.12.1-1")
        folder, updates = self.target.parent / "trixie/apt", self.target.parent / "updates"
        refusal = self.kernel_refusal(f'*" update "*) echo "$@" >>{updates}; : >{folder}/lists/mirror_Packages ;; '
                                      "*) echo 'E: no such version' >&2; exit 1 ;;")
        self.assertEqual(refusal, "linux-image-6.12.1-amd64 6.12.1-1 cannot be downloaded: E: no such version")
        self.assertIn(" http://mirror.invalid/debian/ trixie main\n", (folder / "sources.list").read_text())
        for option in (f"Dir::State={folder}", f"Dir::Etc::SourceList={folder}/sources.list", "Dir::Etc::SourceParts=/dev/null"):
            self.assertIn(option, updates.read_text())
        self.assertEqual(len(updates.read_text().splitlines()), 1)

    def test_release_that_cannot_be_had_is_named(self) -> None:
        self.fake_kernel("6.12.1-amd64", "6.12.1-1")
        self.assertEqual(self.kernel_refusal("*) echo 'E: cannot reach mirror.invalid' >&2; exit 1 ;;"),
                         "apt cannot read the package list of trixie: E: cannot reach mirror.invalid")
        self.fake("apt-cache", "exit 1")
        self.assertEqual(self.kernel_refusal("*) exit 0 ;;"), "apt has no package linux-image-amd64 of trixie")

    def module(self, tree: pathlib.Path, name: str, depends: str) -> None:
        file = tree / "lib/modules/6.1/kernel" / f"{name}.ko"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"license=GPL\0depends=" + depends.encode() + b"\0name=x\0")

    def test_modules_follow_those_that_they_need(self) -> None:
        tree, root = pathlib.Path(self.folder.name) / "tree", pathlib.Path(self.folder.name) / "root"
        self.module(tree, "virtio_net", "net_failover,virtio")
        self.module(tree, "net_failover", "failover")
        self.module(tree, "failover", "")
        for name in {name for names in build_guest.MODULES.values() for name in names} - {"virtio_net", "crc32_generic"}:
            self.module(tree, name, "virtio")
        (tree / "lib/modules/6.1/modules.builtin").write_text("kernel/drivers/virtio/virtio.ko\n")
        build_guest.add_modules(tree, root)
        order = [file.stem.split("-", 1)[1] for file in sorted((root / "modules/all").iterdir())]
        self.assertEqual(order, ["vmxnet3", "virtio_pci", "failover", "net_failover", "virtio_net", "virtio_console"])
        (tree / "lib/modules/6.1/kernel/failover.ko").unlink()
        with self.assertRaisesRegex(build_guest.Unavailable, "no module failover"):
            build_guest.add_modules(tree, root / "again")

    def test_compiler_that_fails_is_named(self) -> None:
        root = pathlib.Path(self.folder.name) / "root"
        (root / "bin").mkdir(parents=True)
        with self.assertRaisesRegex(build_guest.Unavailable, "g\\+\\+ cannot compile kexec.c"):
            build_guest.add_kexec(HERE / "kexec.c", root)
        self.fake("g++", "echo 'cannot find -lc' >&2; exit 1")
        with self.assertRaisesRegex(build_guest.Unavailable, "g\\+\\+ cannot compile kexec.c: cannot find -lc"):
            build_guest.add_kexec(HERE / "kexec.c", root)

    def test_kernel_of_another_release_has_files_of_its_own(self) -> None:
        options = qemu.parse([self.folder.name, "--nic", "/tmp/a", "--kernel", "trixie", "--monitor", "/tmp/monitor"])
        words = qemu.command(pathlib.Path(self.folder.name), options)
        self.assertIn(f"{self.folder.name}/trixie/vmlinux", words)
        self.assertIn(f"{self.folder.name}/trixie/initramfs", words)
        self.assertIn("unix:/tmp/monitor,server=on,wait=off", words)

    def test_guest_with_the_peer_has_files_of_its_own(self) -> None:
        options = qemu.parse([self.folder.name, "--wire", "/tmp/a", "--tcp-port", "1", "--kernel", "trixie", "--peer"])
        self.assertIn(f"{self.folder.name}/trixie/{build_peer.INITRAMFS}", qemu.command(pathlib.Path(self.folder.name), options))

    def test_peer_that_cannot_be_compiled_is_named(self) -> None:
        self.fake("g++", "echo 'fatal error: infiniband/verbs.h: none' >&2; exit 1")
        with self.assertRaisesRegex(build_guest.Unavailable, "g\\+\\+ cannot compile verbs_peer.cc: fatal error: infiniband/verbs.h: none"):
            build_peer.compile_program(self.target.parent, self.target)

    def test_package_of_the_peer_that_is_missing_is_named(self) -> None:
        self.fake("apt-cache", "printf 'Package: libc6\\nVersion: 1\\n'")
        with self.assertRaisesRegex(build_guest.Unavailable, "apt has no package libibverbs-dev of trixie"):
            build_peer.newest(build_guest.Packages())

    def test_library_of_the_peer_that_is_missing_is_named(self) -> None:
        with self.assertRaisesRegex(build_guest.Unavailable, "the packages of trixie have no ld-linux-x86-64.so.2"):
            build_peer.add_root(self.target.parent, self.target.parent / "root")

    def test_invalid_options_are_refused(self) -> None:
        for script, arguments, message in (
                ("qemu.py", ["x"], "either --nic, --vfio, --pvrdma or --wire"),
                ("qemu.py", ["x", "--nic", "a", "--wire", "b"], "either --nic, --vfio, --pvrdma or --wire"),
                ("qemu.py", ["x", "--nic", "a", "--pvrdma", "b"], "either --nic, --vfio, --pvrdma or --wire"),
                ("qemu.py", ["x", "--wire", "b"], "--wire needs --tcp-port"),
                ("qemu.py", ["x", "--wire", "b", "--tcp-port", "1", "--peer"], "verbs_peer needs --kernel trixie"),
                ("qemu.py", ["x", "--only-build", "peer"], "verbs_peer needs --kernel trixie"),
                ("qemu.py", ["x", "--pvrdma", "a"], "--pvrdma needs --link OWN,PEER"),
                ("qemu.py", ["x", "--pvrdma", "a", "--link", "b,c", "--kernel", "trixie"], "PVRDMA needs this machine's kernel"),
                ("qemu.py", ["x", "--only-build", "pvrdma", "--kernel", "trixie"], "PVRDMA needs this machine's kernel"),
                ("qemu.py", ["x", "--nic", "a", "--kernel", "none"], "invalid choice: 'none'"),
                ("people.py", ["--pvrdma", "--kernel", "trixie"], "PVRDMA needs this machine's kernel"),
                ("people.py", ["--pvrdma", "--nics", "3"], "--nics 3: 1 to 2"),
                ("people.py", ["--nics", "0"], "--nics 0: 1 to 8"),
                ("people.py", ["--vfio", "--pvrdma"], "either --pvrdma or --vfio"),
                ("people.py", ["--nics", "9"], "--nics 9: 1 to 8"),
                ("people.py", ["--cpus", "0"], "--cpus 1"),
                ("bench.py", ["--way", "tcp,x"], "unknown 'x'; known: tcp, softroce, pvrdma"),
                ("bench.py", ["--workload", "y"], "unknown 'y'; known: stream_64b"),
                ("bench.py", ["--way", "tcp", "--update"], "--update writes a whole run")):
            with self.subTest(script=script, arguments=arguments):
                ended = run(script, *arguments)
                self.assertEqual(ended.returncode, 2)
                self.assertIn(message, ended.stderr)

    def test_figures_of_the_bench(self) -> None:
        few = bench.Sample(60, [9e6, 8e6], [70, 10], [600_000, 600], 400_000)
        many = bench.Sample(1060, [29e6, 18e6], [17_000, 1060], [70_000_000, 70_000], 8_400_000)
        stream = bench.row_of("pvrdma", "stream_64k", few, many)
        self.assertEqual((stream["client_instructions"], stream["server_instructions"]), (20_000, 10_000))  # of 1,000 messages
        self.assertAlmostEqual(stream["frames"], 18_060 / 1060)
        self.assertAlmostEqual(stream["line_bytes"], (70_000_000 + 17_000 * 24) / 1060)
        self.assertAlmostEqual(stream["gbps"], 65536 * 8 / 20_000)  # the sender is the slowest part
        self.assertAlmostEqual(stream["device_gbps"], 65536 * 8 / 8_000)
        idle = bench.Sample(1060, few.instructions, many.frames, many.sent_bytes, 8_400_000)
        self.assertAlmostEqual(bench.row_of("pvrdma", "stream_64k", few, idle)["gbps"], 65536 / stream["line_bytes"] * 100)
        few, many = bench.Sample(200, [1e6, 1e6], [0, 0], [0, 0], 0), bench.Sample(1200, [11e6, 21e6], [0, 0], [0, 0], 7e6)
        latency = bench.row_of("tcp", "latency_64b", few, many)
        self.assertAlmostEqual(latency["cpu_us"], 30)
        table = bench.table_of([stream, latency])
        self.assertIn("| `stream_64k` | RDMA by PVRDMA | 20,000 | 10,000 | 17.04 |", table)
        self.assertTrue(table.splitlines()[2].endswith(f"| {stream['gbps']:.2f} Gb/s | 65.54 Gb/s | – |"), table)
        self.assertIn("| `latency_64b` | TCP over virtio-net | 10,000 | 20,000 | 0.00 | 0 | 30.0 µs | 7.0 µs | – |", table)
        # From 10 on, 90 units for each factor of 10.
        self.assertIn(f'width="{90 * (math.log10(30_000) - 1):.0f}" height="14" fill="#2f7fbf"/>', bench.plot_of([stream, latency]))

    def test_figures_of_programs_without_guests(self) -> None:
        self.assertEqual(bench.collected("==7== \n==7== Events    : Ir\n==7== Collected : 22419371\n"), 22_419_371)
        with self.assertRaisesRegex(RuntimeError, "no count of callgrind in\nnothing"):
            bench.collected("nothing")
        # perftest's lines: sizes, messages, MB/s at most and on average, millions of messages per s; times in us.
        stream = " #bytes #iterations\n 65536      200              11584.87            11584.70\t\t   0.185355\n"
        self.assertAlmostEqual(bench.simulated_of("stream_64k", stream)["simulated_gbps"], 0.185355e6 * 65536 * 8 / 1e9)
        latency = " 64      500          5.10           5.50         5.20     \t       5.25        \t0.03  \t\t5.40   5.50\n"
        row = bench.simulated_of("latency_64b", latency)
        self.assertEqual(row, {"simulated_us": 10.5})  # twice the average
        with self.assertRaisesRegex(RuntimeError, "no figures of perftest"):
            bench.simulated_of("stream_64b", stream)
        few, many = bench.Sample(200, [1e6, 1e6], [0, 0], [0, 0], 0), bench.Sample(1200, [11e6, 21e6], [4800, 0], [0, 0], 8e6)
        table = bench.table_of([bench.row_of("overlay", "latency_64b", few, many) | row])
        self.assertIn("| `latency_64b` | RDMA by the overlay, no guest | 10,000 | 20,000 | 4.00 | 96 | 30.0 µs | 8.0 µs | 10.5 µs |", table)

    def test_rows_of_an_earlier_bench_do_not_make_a_whole_one(self) -> None:
        rows = pathlib.Path(self.folder.name) / "rows.json"
        rows.write_text('[{"way": "tcp"}, {"way": "softroce"}]')
        ended = run("bench.py", "--way", "overlay", "--rows", rows, "--update")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("or give the other ways by --rows", ended.stderr)

    def test_attaching_to_no_guest_says_so(self) -> None:
        ended = run("people.py", "--attach", f"{self.folder.name}/none")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("is `vireo guest` with this guest running?", ended.stderr)


if __name__ == "__main__":
    unittest.main()
