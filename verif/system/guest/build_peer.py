# SPDX-License-Identifier: Apache-2.0
"""Adds verbs_peer.cc to the guest of build_guest.py with Debian 13's kernel: RDMA verbs by text over TCP, of Debian 13's libibverbs, whose
header has FLUSH. It is compiled by this machine's g++ against that header, and has in the guest a root folder of its own with
Debian 13's libraries. Nothing is installed."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import build_guest

RELEASE = "trixie"
INITRAMFS = "initramfs-peer"
HEADERS = "libibverbs-dev"
LIBRARIES = ["libc6", "libibverbs1", "ibverbs-providers", "libnl-3-200", "libnl-route-3-200"]
FOLDER = "usr/lib/x86_64-linux-gnu"
# What the program loads.
FILES = ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libibverbs.so.1", "libnl-3.so.200", "libnl-route-3.so.200",
         "libibverbs/librxe-rdmav*.so"]
ROOT = "peer"  # in the guest
START = f"""#!/bin/sh
for folder in sys dev; do mount --bind /$folder /{ROOT}/$folder; done
exec chroot /{ROOT} /bin/verbs_peer "$@"
"""


def stamp(target: pathlib.Path, versions: dict[str, str]) -> str:
    """A fingerprint of all inputs of the build."""
    here = pathlib.Path(__file__).resolve()
    sources = hashlib.sha256(here.read_bytes() + (here.parent / "verbs_peer.cc").read_bytes()).hexdigest()
    return (target / "stamp").read_text() + "".join(f"{name} {version}\n" for name, version in versions.items()) + f"{sources}\n"


def newest(packages: build_guest.Packages) -> dict[str, str]:
    """Versions of the packages."""
    try:
        return packages.versions([HEADERS, *LIBRARIES])
    except KeyError as missing:
        raise build_guest.Unavailable(f"apt has no package {missing.args[0]} of {RELEASE}") from None


def compile_program(tree: pathlib.Path, program: pathlib.Path) -> None:
    source = pathlib.Path(__file__).resolve().parent / "verbs_peer.cc"
    try:
        # The guest has libibverbs' own libraries, of another release than this machine's.
        build_guest.run("g++", "-std=c++20", "-O1", "-static-libstdc++", "-static-libgcc", "-isystem", tree / "usr/include", source,
                        "-o", program, tree / FOLDER / "libibverbs.so.1", "-Wl,--allow-shlib-undefined", stderr=subprocess.PIPE)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        raise build_guest.Unavailable(f"g++ cannot compile verbs_peer.cc: {build_guest.reason_of(error)}") from None


def add_root(tree: pathlib.Path, root: pathlib.Path) -> None:
    """The root folder of the program, with its libraries at the places where their packages have them."""
    (root / "bin").mkdir(parents=True)
    for folder in ("sys", "dev", "lib64", f"{FOLDER}/libibverbs", "etc/libibverbs.d"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for pattern in FILES:
        found = list((tree / FOLDER).glob(pattern))
        if not found:
            raise build_guest.Unavailable(f"the packages of {RELEASE} have no {pattern}")
        for file in found:
            shutil.copy2(file, root / FOLDER / file.relative_to(tree / FOLDER))  # what a link points to
    (root / "lib64/ld-linux-x86-64.so.2").symlink_to(f"/{FOLDER}/ld-linux-x86-64.so.2")
    shutil.copy2(tree / "etc/libibverbs.d/rxe.driver", root / "etc/libibverbs.d")


def prepare(target: pathlib.Path) -> None:
    """Builds initramfs-peer in build_guest.folder_of(target, RELEASE) if needed, or raises build_guest.Unavailable."""
    build_guest.prepare(target, RELEASE)
    folder = build_guest.folder_of(target, RELEASE)
    packages = build_guest.Packages(RELEASE, folder / "apt")
    stamp_file = folder / f"{INITRAMFS}.stamp"
    if (folder / INITRAMFS).exists() and stamp_file.exists() and stamp_file.read_text() == stamp(folder, newest(packages)):
        return
    packages.update()
    versions = newest(packages)
    wanted = stamp(folder, versions)
    print(f"== guest: compiling verbs_peer for libibverbs of {RELEASE} (6 MB), about 10 s", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        place = pathlib.Path(temporary)
        for name, version in versions.items():
            (place / name).mkdir()
            build_guest.run("dpkg-deb", "--extract", packages.download(name, version, place / name), place / "tree")
        root = place / "root"
        add_root(place / "tree", root / ROOT)
        compile_program(place / "tree", root / ROOT / "bin/verbs_peer")
        (root / "bin").mkdir()
        (root / "bin/verbs_peer").write_text(START)
        (root / "bin/verbs_peer").chmod(0o755)
        build_guest.pack(root, place / "more")
        # Archives may follow one another. [Linux, Documentation/driver-api/early-userspace/buffer-format.rst]
        (place / "all").write_bytes((folder / "initramfs").read_bytes() + (place / "more").read_bytes())
        stamp_file.unlink(missing_ok=True)  # whole or not there
        os.replace(place / "all", folder / INITRAMFS)
        stamp_file.write_text(wanted)
