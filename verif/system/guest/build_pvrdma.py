# SPDX-License-Identifier: Apache-2.0
"""Adds Linux' driver of the PVRDMA device, vmw_pvrdma, to the guest of build_guest.py. Debian's kernels do not have it: it is
compiled, unchanged, from Debian's source package of the same kernel, against Debian's headers. Nothing is installed."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import build_guest

FOLDER = "drivers/infiniband/hw/vmw_pvrdma"
SWITCH = "CONFIG_INFINIBAND_VMWARE_PVRDMA=m"
INITRAMFS = "initramfs-pvrdma"


def unpack(name: str, version: str, folder: pathlib.Path, tree: pathlib.Path) -> None:
    own = folder / name
    own.mkdir()
    deb = build_guest.Packages().download(name, version, own)
    build_guest.run("dpkg-deb", "--extract", deb, tree)
    deb.unlink()


def unpack_tools(name: str, version: str, folder: pathlib.Path, tree: pathlib.Path) -> None:
    """linux-kbuild: programs that the kernel's makefiles call. Debian keeps one version of a series, which may be newer than that of
    the newest kernel; it compiles the same module."""
    try:
        unpack(name, version, folder, tree)
    except build_guest.Unavailable:
        shown = build_guest.Packages().apt("apt-cache", "show", "--no-all-versions", name).decode()
        newest = re.search(r"^Version: (\S+)", shown, re.M)
        if newest is None or newest[1] == version:
            raise
        shutil.rmtree(folder / name)
        unpack(name, newest[1], folder, tree)


def compile_module(image: str, version: str, folder: pathlib.Path) -> pathlib.Path:
    """The module for the kernel of the package `image`."""
    for tool in ("make", "gcc", "strip", "tar", "xz"):
        if shutil.which(tool) is None:
            raise build_guest.Unavailable(f"{tool} is not installed; `./vireo setup` installs what docs/dependencies.md lists")
    release = image.removeprefix("linux-image-")
    series = re.match(r"\d+\.\d+", release)[0]
    common = re.sub(r"[^-]+$", "common", release)
    source = f"linux-source-{series}"
    tree = folder / "tree"
    print(f"== guest: compiling vmw_pvrdma from {source} {version} (140 MB), about a minute", file=sys.stderr)
    for name in (f"linux-headers-{release}", f"linux-headers-{common}", source):
        unpack(name, version, folder, tree)
    unpack_tools(f"linux-kbuild-{series}", version, folder, tree)
    build_guest.run("tar", "--extract", "--file", tree / f"usr/src/{source}.tar.xz", "--directory", folder, f"{source}/{FOLDER}")
    headers = tree / f"usr/src/linux-headers-{release}"
    makefile = headers / "Makefile"  # names the other headers' folder as it is when installed
    makefile.write_text(makefile.read_text().replace("/usr/src", str(tree / "usr/src")))
    driver = folder / source / FOLDER
    made = subprocess.run(["make", "-C", headers, f"M={driver}", SWITCH, "modules"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if made.returncode != 0:
        reason = made.stdout.decode(errors="replace").strip().splitlines()[-3:]
        raise build_guest.Unavailable(f"vmw_pvrdma cannot be compiled: {' / '.join(reason)}")
    module = driver / "vmw_pvrdma.ko"
    build_guest.run("strip", "--strip-debug", module)
    return module


def prepare_module(target: pathlib.Path) -> pathlib.Path:
    """target/vmw_pvrdma.ko, compiled if it is not there or for another kernel."""
    image, version = build_guest.Packages().kernel()
    script = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()
    wanted = f"{image} {version}\n{script}\n"
    module, stamp = target / "vmw_pvrdma.ko", target / "vmw_pvrdma.stamp"
    if not (module.exists() and stamp.exists() and stamp.read_text() == wanted):
        with tempfile.TemporaryDirectory(dir=target) as temporary:
            made = compile_module(image, version, pathlib.Path(temporary))
            stamp.unlink(missing_ok=True)  # whole or not there
            os.replace(made, module)
        stamp.write_text(wanted)
    return module


def prepare(target: pathlib.Path) -> None:
    """Builds the guest and target/initramfs-pvrdma if needed, or raises build_guest.Unavailable."""
    build_guest.prepare(target)
    module = prepare_module(target)
    stamp = target / f"{INITRAMFS}.stamp"
    wanted = (target / "stamp").read_text() + (target / "vmw_pvrdma.stamp").read_text()
    if (target / INITRAMFS).exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        folder = pathlib.Path(temporary)
        modules = folder / "root/modules/pvrdma"
        modules.mkdir(parents=True)
        shutil.copy2(module, modules / "99-vmw_pvrdma.ko")  # after the modules that it uses
        build_guest.pack(folder / "root", folder / "more")
        # Archives may follow one another. [Linux, Documentation/driver-api/early-userspace/buffer-format.rst]
        (folder / "all").write_bytes((target / "initramfs").read_bytes() + (folder / "more").read_bytes())
        stamp.unlink(missing_ok=True)
        os.replace(folder / "all", target / INITRAMFS)
        stamp.write_text(wanted)
