#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the guest of the tests of verif/system from Debian's packages: a kernel that QEMU starts without a boot loader, and an
initramfs with network and RDMA programs of this machine. The kernel's package is downloaded, not installed. Exit status 77:
not available here (no network, no such package); the last line is the reason."""

import argparse
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
UNAVAILABLE = 77  # "skipped", by automake's convention

# In load order, by the role that loads them (init); modules that are built into the kernel are skipped.
MODULES = {
    "all": """vmxnet3 virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net
virtio_console""".split(),
    "softroce": """crc32_generic crc32-pclmul udp_tunnel ip6_udp_tunnel configfs ib_core ib_uverbs ib_cm iw_cm rdma_cm rdma_ucm
rdma_rxe sch_netem""".split(),
    "driver": "llc stp mrp garp 8021q".split(),
    "pvrdma": "configfs ib_core ib_uverbs ib_cm iw_cm rdma_cm rdma_ucm".split(),  # and vmw_pvrdma: build_pvrdma.py
}

PROGRAMS = """ip tc ethtool rdma ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ib_write_bw ib_write_lat ib_send_bw
ib_send_lat ib_read_bw ib_read_lat rping ucmatose udaddy""".split()

# Loaded with dlopen, so ldd does not list them.
LIBRARIES = ["libibverbs/librxe-rdmav*.so", "libibverbs/libvmw_pvrdma-rdmav*.so", "libgcc_s.so.1"]
PACKAGES = ["busybox-static", "ethtool", "iproute2", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "perftest",
            "rdmacm-utils"]


class Unavailable(Exception):
    pass


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def kernel_package():
    """Name and version of the newest generic kernel package; the cloud kernel has no rdma_rxe."""
    try:
        depends = run("apt-cache", "depends", "linux-image-amd64", stderr=subprocess.DEVNULL).decode()
        name = re.search(r"Depends: (linux-image-\S+)", depends)[1]
        shown = run("apt-cache", "show", "--no-all-versions", name, stderr=subprocess.DEVNULL).decode()
        return name, re.search(r"^Version: (\S+)", shown, re.M)[1]
    except (subprocess.CalledProcessError, FileNotFoundError, TypeError):
        raise Unavailable("apt has no package linux-image-amd64; run `apt-get update`") from None


def stamp(name, version):
    """A fingerprint of all inputs of the build."""
    installed = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n", *PACKAGES).decode()
    sources = hashlib.sha256(b"".join((HERE / file).read_bytes() for file in ("build_guest.py", "init"))).hexdigest()
    return f"{name} {version}\n{installed}{sources}\n"


def extract_vmlinux(vmlinuz):
    """The ELF file in a bzImage: with its PVH entry QEMU starts it at once. [Linux, Documentation/x86/boot.rst:
    setup_sects, payload_offset, payload_length; the payload's last 4 bytes are the size of what is in it]"""
    if vmlinuz[0x202:0x206] != b"HdrS":
        raise Unavailable("the package's kernel is not a bzImage")
    sectors = vmlinuz[0x1F1] or 4
    offset, length = struct.unpack_from("<II", vmlinuz, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = vmlinuz[start:start + length - 4]
    if payload.startswith(b"\xfd7zXZ"):
        kernel = lzma.decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        kernel = run("zstd", "-dcq", input=payload)
    else:
        raise Unavailable("the package's kernel uses an unsupported compression (not xz or zstd)")
    if not kernel.startswith(b"\x7fELF"):
        raise Unavailable("the package's kernel has no ELF file in it")
    return kernel


def add_modules(tree, root):
    """Copies the modules to /modules/ROLE, numbered in load order."""
    folder = next((tree / "lib/modules").iterdir(), None) or next((tree / "usr/lib/modules").iterdir())
    built_in = {pathlib.Path(line).stem.replace("-", "_") for line in (folder / "modules.builtin").read_text().split()}
    files = {file.name.split(".")[0].replace("-", "_"): file for file in folder.rglob("*.ko*")}
    for number, (role, module) in enumerate((role, module) for role, names in MODULES.items() for module in names):
        (root / "modules" / role).mkdir(parents=True, exist_ok=True)
        name = module.replace("-", "_")
        if name in built_in:
            continue
        if name not in files:
            if name.startswith("crc32"):  # some kernels have them as libraries, which are always there
                continue
            raise Unavailable(f"the package's kernel has no module {module}")
        data = files[name].read_bytes()
        if files[name].suffix == ".xz":
            data = lzma.decompress(data)
        elif files[name].suffix == ".zst":
            data = run("zstd", "-dcq", input=data)
        (root / "modules" / role / f"{number:02}-{name}.ko").write_bytes(data)


def libraries_of(file):
    return re.findall(r"(/\S+) \(0x", run("ldd", file).decode())


def add_programs(root):
    """Copies the programs, and their libraries at their original paths."""
    (root / "bin").mkdir()
    busybox = shutil.which("busybox")
    if busybox is None:
        raise Unavailable("busybox-static is not installed")
    shutil.copy2(busybox, root / "bin/busybox")
    for applet in run(busybox, "--list").decode().split():
        if applet != "busybox" and applet not in PROGRAMS:  # its `ip` and `tc` know less than the real ones
            (root / "bin" / applet).symlink_to("busybox")
    library_folder = pathlib.Path("/usr/lib/x86_64-linux-gnu")
    wanted = [file for pattern in LIBRARIES for file in library_folder.glob(pattern)]
    for program in PROGRAMS:
        path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if path is None:
            raise Unavailable(f"{program} is not installed")
        shutil.copy2(path, root / "bin" / program)
        wanted += libraries_of(path)
    wanted += [library for file in list(wanted) for library in libraries_of(file)]
    for library in {str(file) for file in wanted}:
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, target)
    (root / "etc/libibverbs.d").mkdir(parents=True)
    for provider in ("rxe", "vmw_pvrdma"):
        shutil.copy2(f"/etc/libibverbs.d/{provider}.driver", root / "etc/libibverbs.d")


def pack(root, target):
    names = run("find", ".", "-print0", cwd=root)
    target.write_bytes(run("cpio", "--null", "--create", "--format=newc", "--owner=0:0", "--quiet", cwd=root,
                           input=names))


def download(name, version, folder):
    try:
        # apt's sandbox user (_apt) may not be able to write to the folder.
        run("apt-get", "--quiet=2", "-o", "APT::Sandbox::User=root", "download", f"{name}={version}", cwd=folder,
            stderr=subprocess.PIPE)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode().strip().splitlines()[-1:] or ["no reason given"]
        raise Unavailable(f"{name} {version} cannot be downloaded: {reason[0]}") from None
    return next(folder.glob("*.deb"))


def build(target):
    name, version = kernel_package()
    wanted = stamp(name, version)
    stamp_file = target / "stamp"
    files = [target / "vmlinux", target / "initramfs"]
    if stamp_file.exists() and stamp_file.read_text() == wanted and all(file.exists() for file in files):
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        folder = pathlib.Path(temporary)
        print(f"== guest: downloading {name} {version}", file=sys.stderr)
        deb = download(name, version, folder)
        print("== guest: unpacking, about 10 s", file=sys.stderr)
        tree, root = folder / "package", folder / "root"
        run("dpkg-deb", "--extract", deb, tree)
        (folder / "vmlinux").write_bytes(extract_vmlinux(next((tree / "boot").glob("vmlinuz-*")).read_bytes()))
        root.mkdir()
        for mount_point in ("proc", "sys", "dev", "run", "tmp"):
            (root / mount_point).mkdir()
        add_modules(tree, root)
        add_programs(root)
        shutil.copy2(HERE / "init", root / "init")
        (root / "init").chmod(0o755)
        pack(root, folder / "initramfs")
        stamp_file.unlink(missing_ok=True)  # whole or not there
        for file in files:
            os.replace(folder / file.name, file)
        stamp_file.write_text(wanted)


def prepare(target):
    """Builds the guest into `target` if needed, or raises Unavailable."""
    for tool in ("qemu-system-x86_64", "cpio", "dpkg-deb", "apt-get"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed; `./vireo setup` installs what docs/dependencies.md lists")
    build(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", default="build/guest", type=pathlib.Path,
                        help="folder of vmlinux and initramfs (default: %(default)s)")
    directory = parser.parse_args().directory.resolve()
    try:
        prepare(directory)
    except Unavailable as error:
        print(f"no Linux guest: {error}", file=sys.stderr)
        return UNAVAILABLE
    print(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
