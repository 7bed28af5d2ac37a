#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the guest of build_guest.py in QEMU, in place of this process. With --nic the guest has exported NICs of a simulator
(vireo_simulator --export) as PCI functions, with --vfio also an IOMMU, with --pvrdma a PVRDMA function (vireo_simulator --pvrdma)
and its partner, a vmxnet3 function. All need QEMU 10.1 or later (vfio-user-pci): the one of Debian 13's backports, which mmdebstrap unpacks beside the
guest's files without installing it. Exit status 77: not available here; the last line is the reason."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import build_guest
import build_peer
import build_pvrdma

SUITE = "trixie"
PACKAGE = "qemu-system-x86"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Neither is used by a QEMU that is not installed.
UNUSED = ["var", "usr/share/doc", "usr/share/locale", "usr/share/man"]
STAMP = f"{PACKAGE} of {SUITE}-backports, unpacked 1\n"
MIB = 1024 * 1024
# sockaddr_un.sun_path with its final 0 [unix(7)].
MOST_SOCKET_BYTES = 107
# The default of 5 s is less than an RTL NIC takes for some register accesses on a busy machine.
MESSAGE_TIMEOUT_MS = 600_000


def unpack_qemu(target: pathlib.Path) -> None:
    """Unpacks QEMU and its libraries into `target`, whole or not at all; nothing if they are there."""
    stamp = target / "stamp"
    if stamp.exists() and stamp.read_text() == STAMP:
        return
    if shutil.which("mmdebstrap") is None:
        raise build_guest.Unavailable("mmdebstrap is not installed; `./vireo setup` installs what docs/dependencies.md lists")
    mirror = build_guest.debian_mirror()
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"== guest: unpacking {PACKAGE} of {SUITE}-backports, about 30 s", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        root = pathlib.Path(temporary) / "root"
        # Variant extract runs nothing of the packages, so it needs no privileges.
        made = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=extract", f"--mode={'root' if os.geteuid() == 0 else 'chrootless'}",
             "--architectures=amd64", f'--aptopt=APT::Default-Release "{SUITE}-backports"', f"--include={PACKAGE}", SUITE, root,
             f"deb {mirror} {SUITE} main", f"deb {mirror} {SUITE}-backports main"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if made.returncode != 0:
            reason = made.stdout.decode(errors="replace").strip().splitlines()[-3:]
            raise build_guest.Unavailable(f"mmdebstrap cannot unpack {PACKAGE}: {' / '.join(reason)}")
        for name in UNUSED:
            shutil.rmtree(root / name, ignore_errors=True)
        (root / "stamp").write_text(STAMP)
        if target.exists():
            target.rename(pathlib.Path(temporary) / "old")
        root.rename(target)


def qemu_program(unpacked: pathlib.Path) -> list[str]:
    """The unpacked QEMU, started by its own dynamic loader with its own libraries: no chroot, so sockets have the same path on
    both sides."""
    libraries = unpacked / LIBRARIES
    return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries),
            str(unpacked / "usr/bin/qemu-system-x86_64"), "-L", str(unpacked / "usr/share/qemu"),
            "-L", str(unpacked / "usr/share/seabios")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpus", type=int, default=1, help="processors of a guest; virtio_net uses a queue pair for each "
                                                            "(default: %(default)s)")
    parser.add_argument("--kernel", default="", choices=build_guest.KERNELS,
                        help="Linux of this release of Debian (default: of this machine's)")
    parser.add_argument("--memory", type=int, default=256, help="MiB of a guest (default: 256 for Soft-RoCE; with NICs enough to fill their "
                                                                "receive queues)")


def prepare(files: pathlib.Path, has_nics: bool, has_pvrdma: bool = False, kernel: str = "", has_peer: bool = False) -> None:
    """Builds what is missing, or raises Unavailable."""
    if has_pvrdma:
        build_pvrdma.prepare(files)
    elif has_peer:
        build_peer.prepare(files)
    else:
        build_guest.prepare(files, kernel)
    if has_nics or has_pvrdma:
        unpack_qemu(files / "qemu")


def vfio_user(socket: str, **more: str | bool) -> list[str]:
    return ["-device", json.dumps({"driver": "vfio-user-pci", "socket": {"type": "unix", "path": socket},
                                   "x-msg-timeout": MESSAGE_TIMEOUT_MS, **more})]


def vfio_devices(sockets: list[str]) -> list[str]:
    """An IOMMU that also remaps interrupts, without which Linux gives no function to a program, and each NIC behind a root port
    of its own, in an IOMMU group of its own: 0000:01:00.0, 0000:02:00.0 ... A reset of the port's bus is how Linux resets the
    NIC, which has no function-level reset."""
    # caching-mode: the driver tells the IOMMU of new mappings, too, so QEMU can pass them on.
    words = ["-device", "intel-iommu,intremap=on,caching-mode=on"]
    for number, socket in enumerate(sockets, 1):
        # x-speed: at 8 GT/s and more Linux waits after a reset until the port reports an active link, which QEMU does not set.
        words += ["-device", f"pcie-root-port,id=port{number},chassis={number},addr={16 + number:x}.0,x-speed=5",
                  *vfio_user(socket, bus=f"port{number}")]
    return words


def initramfs_with(initramfs: pathlib.Path, programs: list[pathlib.Path]) -> str:
    """A file without a name, which QEMU inherits."""
    file = os.memfd_create("initramfs", 0)
    with os.fdopen(os.dup(file), "wb") as stream:
        stream.write(initramfs.read_bytes() + build_guest.packed_programs(programs))
    return f"/proc/self/fd/{file}"


def pvrdma_devices(options: argparse.Namespace) -> list[str]:
    """Linux' driver of the PVRDMA function demands a vmxnet3 function as function 0 of the same slot."""
    local, remote = options.link.split(",")
    words = ["-netdev", f"dgram,id=link,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}",
             "-device", f"vmxnet3,netdev=link,mac=02:56:49:52:fe:{options.host:02x},romfile=,multifunction=on,addr=5.0",
             # The driver reads its capabilities right after the register write that makes the device write them.
             *vfio_user(options.pvrdma, **{"addr": "5.1", "x-no-posted-writes": True})]
    if options.root:
        # The guest can read what this machine's user can.
        words += ["-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"]
    forward = f",hostfwd=tcp:127.0.0.1:{options.tcp_port}-:{options.tcp_port}" if options.tcp_port else ""
    return words + ["-netdev", f"user,id=user{forward}", "-device", "virtio-net-pci,netdev=user,romfile="]


def command(files: pathlib.Path, options: argparse.Namespace) -> list[str]:
    """QEMU's command line. `options`: those of main()."""
    has_functions = bool(options.nic or options.vfio or options.pvrdma)
    for socket in [*options.nic, *options.vfio, *([options.pvrdma] if options.pvrdma else [])]:
        if len(os.fsencode(socket)) > MOST_SOCKET_BYTES:
            raise build_guest.Unavailable(f"the path of the socket {socket} is too long: {MOST_SOCKET_BYTES} bytes at most")
    role = "driver" if options.nic else "vfio" if options.vfio else "pvrdma" if options.pvrdma else "softroce"
    own = build_guest.folder_of(files, options.kernel)
    initramfs = str(own / (build_pvrdma.INITRAMFS if options.pvrdma else build_peer.INITRAMFS if options.peer else "initramfs"))
    if options.program:
        initramfs = initramfs_with(pathlib.Path(initramfs), options.program)
    # hpet: on a busy machine the kernel measures a wrong rate of the processor's counter, up to twice the true one, and its
    # time-outs are too short. no_timer_check: there the kernel's timer interrupt check fails on a late interrupt and panics. A
    # kernel with a PVH entry needs no BIOS. TCG needs no privileges and no hardware support; -cpu max has SSE 4.2, for
    # checksums.
    words = qemu_program(files / "qemu") if has_functions else ["qemu-system-x86_64"]
    words += ["-accel", "tcg", "-cpu", "max", "-smp", str(options.cpus), "-m", str(options.memory), "-nodefaults",
              "-no-user-config", "-display", "none", "-kernel", str(own / "vmlinux"), "-initrd", initramfs,
              "-append", "console=ttyS0 quiet panic=-1 no_timer_check net.ifnames=0 random.trust_cpu=on "
                         f"tsc=unstable clocksource=hpet mitigations=off vireo.role={role} vireo.host={options.host}"
                         + (" intel_iommu=on" if options.vfio else "") + ("" if options.console else " vireo.shell=1")]
    if not options.reboots:
        words += ["-no-reboot"]
    words += ["-serial", options.serial]
    if options.monitor:
        words += ["-monitor", f"unix:{options.monitor},server=on,wait=off"]
    if options.console:
        words += ["-chardev", f"socket,id=console,path={options.console}", "-device", "virtio-serial-pci",
                  "-device", "virtserialport,chardev=console"]
    if not has_functions:
        wire, port = options.wire, options.tcp_port
        return words + [
            "-M", "q35",
            "-netdev", f"dgram,id=wire,local.type=unix,local.path={wire}.peer,remote.type=unix,remote.path={wire}",
            "-device", "virtio-net-pci,netdev=wire,mac=02:56:49:52:ff:01,romfile=",
            "-netdev", f"user,id=user,hostfwd=tcp:127.0.0.1:{port}-:{port}",
            "-device", "virtio-net-pci,netdev=user,romfile="]
    # The NIC reads and writes the guest's memory, which is therefore in a file that can be shared.
    words += ["-M", "q35,memory-backend=memory",
              "-object", f"memory-backend-memfd,id=memory,size={options.memory * MIB},share=on"]
    if options.vfio:
        words += vfio_devices(options.vfio)
    for socket in options.nic:
        words += vfio_user(socket)
    return words + (pvrdma_devices(options) if options.pvrdma else [])


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path, help="folder of the guest's files, and of QEMU")
    parser.add_argument("--only-build", choices=["softroce", "driver", "vfio", "pvrdma", "peer"], help="build what a guest of this role needs, and exit")
    parser.add_argument("--nic", action="append", default=[], metavar="SOCKET", help="an exported NIC; can be repeated")
    parser.add_argument("--vfio", action="append", default=[], metavar="SOCKET",
                        help="an exported NIC behind an IOMMU, for programs in the guest (Linux' VFIO); can be repeated")
    parser.add_argument("--program", action="append", default=[], type=pathlib.Path, metavar="FILE",
                        help="a program, which the guest has in /bin, with its libraries; can be repeated")
    parser.add_argument("--pvrdma", metavar="SOCKET", help="a PVRDMA function; with --link")
    parser.add_argument("--link", metavar="OWN,PEER", help="with --pvrdma: datagram sockets of the Ethernet link to another guest")
    parser.add_argument("--root", action="store_true", help="with --pvrdma: this machine's files, for reading, as 9p file system `root`")
    parser.add_argument("--wire", metavar="SOCKET", help="the simulator's wire, for Soft-RoCE; with --tcp-port")
    parser.add_argument("--peer", action="store_true", help="with --wire and --kernel trixie: the guest has verbs_peer")
    parser.add_argument("--tcp-port", type=int, help="with --wire and --pvrdma: the guest's TCP port that is also 127.0.0.1's")
    parser.add_argument("--host", type=int, default=200, help="the guest's address is 10.0.0.HOST (default: %(default)s)")
    parser.add_argument("--serial", default="mon:stdio", help="QEMU's -serial, for the kernel's log (default: %(default)s)")
    parser.add_argument("--console", metavar="SOCKET", help="the test's shell; without: a shell for people on the serial port")
    parser.add_argument("--monitor", metavar="SOCKET", help="QEMU's monitor")
    parser.add_argument("--reboots", action="store_true", help="a guest that resets itself starts again; default: QEMU exits")
    add_arguments(parser)
    options = parser.parse_args(arguments)
    if options.kernel and (options.pvrdma or options.only_build == "pvrdma"):
        parser.error("PVRDMA needs this machine's kernel: its driver is compiled for no other")
    if not options.only_build and sum(map(bool, (options.nic, options.vfio, options.pvrdma, options.wire))) != 1:
        parser.error("either --nic, --vfio, --pvrdma or --wire")
    if options.pvrdma and (options.link or "").count(",") != 1:
        parser.error("--pvrdma needs --link OWN,PEER")
    if options.root and not options.pvrdma:
        parser.error("--root needs --pvrdma")
    if (options.peer or options.only_build == "peer") and options.kernel != build_peer.RELEASE:
        parser.error(f"verbs_peer needs --kernel {build_peer.RELEASE}")
    if options.wire and options.tcp_port is None:
        parser.error("--wire needs --tcp-port")
    return options


def main() -> int:
    options = parse()
    files = options.directory.resolve()
    try:
        if options.only_build:
            prepare(files, options.only_build in ("driver", "vfio"), options.only_build == "pvrdma", options.kernel,
                    options.only_build == "peer")
            return 0
        words = command(files, options)
    except build_guest.Unavailable as error:
        print(f"no Linux guest: {error}", file=sys.stderr)
        return build_guest.UNAVAILABLE
    os.execvp(words[0], words)


if __name__ == "__main__":
    sys.exit(main())
