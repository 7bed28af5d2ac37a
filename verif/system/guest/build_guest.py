#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the guest of the tests of verif/system from Debian's packages: a kernel that QEMU starts without a boot loader, and an
initramfs with network and RDMA programs of this machine. The kernel's package is downloaded, not installed. It is the one of
this machine's Debian, or of another release (--kernel), in a folder of its own. Exit status 77: not available here (no network,
no such package); the last line is the reason."""

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

KERNELS = ["trixie"]  # of other releases than this machine's
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

# By the role that loads them (init), after the modules that they need. Those that are built into the kernel are skipped.
MODULES = {
    "all": "vmxnet3 virtio_pci virtio_net virtio_console".split(),
    "softroce": "crc32_generic crc32-pclmul rdma_ucm rdma_rxe sch_netem".split(),
    "driver": "8021q button".split(),  # button: the power button ends a suspend
    "vfio": "vfio_iommu_type1 vfio_pci".split(),
    "pvrdma": "ib_uverbs rdma_ucm 9pnet_virtio 9p".split(),  # and vmw_pvrdma: build_pvrdma.py; 9p: qemu.py --root
}

PROGRAMS = """ip tc ethtool rdma ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ib_write_bw
ib_write_lat ib_send_bw ib_send_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat rping ucmatose udaddy""".split()

# Loaded with dlopen, so ldd does not list them.
LIBRARIES = ["libibverbs/librxe-rdmav*.so", "libibverbs/libvmw_pvrdma-rdmav*.so", "libgcc_s.so.1"]
PACKAGES = ["busybox-static", "ethtool", "iproute2", "libibverbs1", "ibverbs-providers", "ibverbs-utils", "perftest",
            "rdmacm-utils"]


class Unavailable(Exception):
    pass


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def debian_mirror():
    """The mirror that this machine's apt uses for Debian itself."""
    formatted = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)").decode()
    for line in formatted.splitlines():
        origin, label, uri = line.split("|", 2)
        if origin == "Debian" and label == "Debian":
            return uri
    raise Unavailable("apt has no package list of Debian; run `apt-get update`")


class Packages:
    """What apt finds: the packages of this machine's Debian, or of another `release`, whose lists are in `folder`."""

    def __init__(self, release="", folder=None):
        self.release, self.options = release, []
        if release:
            sources = folder / "sources.list"
            places = {"State": folder, "State::Lists": folder / "lists", "Cache": folder / "cache", "Etc::SourceList": sources,
                      "Etc::SourceParts": "/dev/null", "Etc::Preferences": "/dev/null", "Etc::PreferencesParts": "/dev/null"}
            self.options = [word for name, place in places.items() for word in ("-o", f"Dir::{name}={place}")]
            (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
            (folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
            # One target: no translations, no list of files.
            sources.write_text(f"deb [signed-by={KEYRING} target=Packages] {debian_mirror()} {release} main\n")

    def apt(self, program, *arguments, **options):
        # apt's sandbox user (_apt) may not be able to write to the folders.
        return run(program, "--quiet=2", "-o", "APT::Sandbox::User=root", *self.options, *arguments,
                   stderr=subprocess.PIPE, **options)

    def update(self):
        """Gets the lists of another release; those of this machine are not touched."""
        if self.release:
            try:
                self.apt("apt-get", "update", "--error-on=any")
            except subprocess.CalledProcessError as error:
                raise Unavailable(f"apt cannot read the package list of {self.release}: {reason_of(error)}") from None

    def kernel(self):
        """Name and version of the newest generic kernel package; the cloud kernel has no rdma_rxe."""
        try:
            depends = self.apt("apt-cache", "depends", "linux-image-amd64").decode()
            name = re.search(r"Depends: (linux-image-\S+)", depends)[1]
            return name, self.version(name)
        except (subprocess.CalledProcessError, FileNotFoundError, TypeError):
            of = f" of {self.release}" if self.release else "; run `apt-get update`"
            raise Unavailable(f"apt has no package linux-image-amd64{of}") from None

    def version(self, name):
        """The newest one in the lists."""
        return re.search(r"^Version: (\S+)", self.shown([name]), re.M)[1]

    def versions(self, names):
        found = dict(re.findall(r"^Package: (\S+)$.*?^Version: (\S+)$", self.shown(names), re.M | re.S))
        return {name: found[name] for name in names}

    def shown(self, names):
        try:
            return self.apt("apt-cache", "show", "--no-all-versions", *names).decode()
        except (subprocess.CalledProcessError, FileNotFoundError):
            raise Unavailable(f"apt has no package {' or '.join(names)}{f' of {self.release}' if self.release else ''}") from None

    def download(self, name, version, folder):
        try:
            self.apt("apt-get", "download", f"{name}={version}", cwd=folder)
        except subprocess.CalledProcessError as error:
            raise Unavailable(f"{name} {version} cannot be downloaded: {reason_of(error)}") from None
        return next(folder.glob("*.deb"))


def reason_of(error):
    if not isinstance(error, subprocess.CalledProcessError):
        return str(error)
    return (error.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"])[0]


def stamp(name, version):
    """A fingerprint of all inputs of the build."""
    installed = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n", *PACKAGES).decode()
    sources = hashlib.sha256(b"".join((HERE / file).read_bytes() for file in ("build_guest.py", "init", "kexec.c"))).hexdigest()
    return f"{name} {version}\n{installed}{sources}\n"


def unzstd(data):
    if shutil.which("zstd") is None:
        raise Unavailable("zstd is not installed; `./vireo setup` installs what docs/dependencies.md lists")
    return run("zstd", "-dcq", input=data)


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
        kernel = unzstd(payload)
    else:
        raise Unavailable("the package's kernel uses an unsupported compression (not xz or zstd)")
    if not kernel.startswith(b"\x7fELF"):
        raise Unavailable("the package's kernel has no ELF file in it")
    return kernel


def unpacked_module(file):
    data = file.read_bytes()
    if file.suffix == ".xz":
        return lzma.decompress(data)
    return unzstd(data) if file.suffix == ".zst" else data


def add_modules(tree, root):
    """Copies the modules to /modules/ROLE, numbered in load order: each after those that its modinfo names."""
    folder = next(folder for usr in ("lib", "usr/lib") for folder in tree.glob(f"{usr}/modules/*"))
    built_in = {pathlib.Path(line).stem.replace("-", "_") for line in (folder / "modules.builtin").read_text().split()}
    files = {file.name.split(".")[0].replace("-", "_"): file for file in folder.rglob("*.ko*")}

    def add(name, role, loaded):
        name = name.replace("-", "_")
        if name in loaded or (name.startswith("crc32") and name not in files):  # a library in some kernels
            return
        if name not in files:
            raise Unavailable(f"the package's kernel has no module {name}")
        data = unpacked_module(files[name])
        for other in filter(None, re.search(rb"\0depends=([^\0]*)\0", data)[1].decode().split(",")):
            add(other, role, loaded)
        loaded.append(name)
        (root / "modules" / role / f"{len(loaded) - len(built_in):02}-{name}.ko").write_bytes(data)

    common = list(built_in)
    for role, names in MODULES.items():
        (root / "modules" / role).mkdir(parents=True)
        loaded = common if role == "all" else list(common)
        for name in names:
            add(name, role, loaded)


def libraries_of(file):
    return re.findall(r"(/\S+) \(0x", run("ldd", file, stderr=subprocess.DEVNULL).decode())


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


def packed_programs(programs):
    """An initramfs with other programs, in /bin, and their libraries. The kernel unpacks one after another. [Linux,
    Documentation/driver-api/early-userspace/buffer-format.rst]"""
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary) / "root"
        (root / "bin").mkdir(parents=True)
        for program in programs:
            if not os.access(program, os.X_OK) or program.is_dir():
                raise Unavailable(f"{program} is no program")
            shutil.copy2(program, root / "bin" / program.name)
            try:
                libraries = libraries_of(program)
            except subprocess.CalledProcessError:  # linked statically, or a script
                continue
            for library in libraries:
                target = root / library.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(library, target)
        pack(root, root.parent / "packed")
        return (root.parent / "packed").read_bytes()


def add_kexec(vmlinuz, root):
    """What starts the kernel again from the guest: kexec.c takes the file that boot loaders take."""
    shutil.copy2(vmlinuz, root / "vmlinuz")
    try:
        run("g++", "-static", "-O1", "-s", "-x", "c", HERE / "kexec.c", "-o", root / "bin/kexec", stderr=subprocess.PIPE)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        raise Unavailable(f"g++ cannot compile kexec.c: {reason_of(error)}") from None


def build(target, packages):
    stamp_file = target / "stamp"
    files = [target / "vmlinux", target / "initramfs"]
    if stamp_file.exists() and all(file.exists() for file in files):
        if stamp_file.read_text() == stamp(*packages.kernel()):
            return
    packages.update()
    name, version = packages.kernel()
    wanted = stamp(name, version)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        folder = pathlib.Path(temporary)
        print(f"== guest: downloading {name} {version}", file=sys.stderr)
        deb = packages.download(name, version, folder)
        print("== guest: unpacking, about 10 s", file=sys.stderr)
        tree, root = folder / "package", folder / "root"
        run("dpkg-deb", "--extract", deb, tree)
        vmlinuz = next((tree / "boot").glob("vmlinuz-*"))
        (folder / "vmlinux").write_bytes(extract_vmlinux(vmlinuz.read_bytes()))
        root.mkdir()
        for mount_point in ("proc", "sys", "dev", "run", "tmp"):
            (root / mount_point).mkdir()
        add_modules(tree, root)
        add_programs(root)
        add_kexec(vmlinuz, root)
        shutil.copy2(HERE / "init", root / "init")
        (root / "init").chmod(0o755)
        pack(root, folder / "initramfs")
        stamp_file.unlink(missing_ok=True)  # whole or not there
        for file in files:
            os.replace(folder / file.name, file)
        stamp_file.write_text(wanted)


def folder_of(target, kernel=""):
    """Where the files of a kernel are."""
    return target / kernel


def prepare(target, kernel=""):
    """Builds the guest into folder_of(target, kernel) if needed, or raises Unavailable. `kernel`: of KERNELS, or this machine's."""
    for tool in ("qemu-system-x86_64", "cpio", "dpkg-deb", "apt-get"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed; `./vireo setup` installs what docs/dependencies.md lists")
    folder = folder_of(target, kernel)
    build(folder, Packages(kernel, folder / "apt") if kernel else Packages())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", default="build/guest", type=pathlib.Path,
                        help="folder of vmlinux and initramfs (default: %(default)s)")
    parser.add_argument("--kernel", default="", choices=KERNELS, help="of this release of Debian, in a folder of this name")
    options = parser.parse_args()
    directory = options.directory.resolve()
    try:
        prepare(directory, options.kernel)
    except Unavailable as error:
        print(f"no Linux guest: {error}", file=sys.stderr)
        return UNAVAILABLE
    print(folder_of(directory, options.kernel))
    return 0


if __name__ == "__main__":
    sys.exit(main())
