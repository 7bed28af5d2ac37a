#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boots stock Linux guests, each with one simulated NIC as its only network device, driven by the kernel's own virtio_net, and
gives a shell in the first one on this terminal.

Guest n has NIC n and the address 10.0.0.(n+1). The shell's `exit` stops all of it; Ctrl-A X ends QEMU at once. The first call
downloads a kernel and unpacks QEMU into build/guest (a minute). With --pvrdma guest n has a PVRDMA function on NIC n and the
address 10.0.0.(n+101), and the first call also compiles its driver (another minute). With --vfio one guest has all NICs, behind an
IOMMU, for programs that drive them without the kernel. Unknown options are those of vireo_simulator, for example --config nic1 or
--capture FILE."""

import argparse
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import termios
import tty

import build_guest
import qemu

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ROOT / "build/guest"
DETACH = b"\x1d"  # Ctrl-]
TERMINAL = "mon:stdio"  # with QEMU's Ctrl-A
MOST_NICS = 8  # guests of one machine
MOST_PVRDMA = 2  # on one Ethernet link
VFIO_PROGRAM = ROOT / "build/dev/examples/vfio/vireo_vfio_pair"


def parse() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="vireo guest", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--nics", type=int, metavar="N", help="NICs, with a guest each (default: 1)")
    parser.add_argument("--device", default="model", choices=["model", "rtl", "lockstep"],
                        help="model, rtl, or lockstep: both, compared in every cycle (default: %(default)s)")
    parser.add_argument("--pvrdma", action="store_true", help="the guests' device is PVRDMA, for Linux' vmw_pvrdma (docs/pvrdma.md)")
    parser.add_argument("--vfio", action="store_true", help="one guest with all NICs, behind an IOMMU, and with the program "
                                                            "vireo_vfio_pair, which drives two of them by Linux' VFIO (default: 2 NICs)")
    parser.add_argument("--program", action="append", default=[], type=pathlib.Path, metavar="FILE",
                        help="a program that the guests have in /bin, with its libraries; can be repeated")
    qemu.add_arguments(parser)
    # Linux fills all receive queues, one for each processor: as in verif/system/driver_test.cc.
    parser.set_defaults(memory=0)
    parser.add_argument("--run", metavar="COMMAND", help="run this in the first guest's shell instead, print its output, and exit "
                                                         "with its status")
    parser.add_argument("--attach", metavar="SOCKET", help="the shell of another guest of a running `vireo guest`, which prints its "
                                                           "socket; Ctrl-] leaves it")
    parser.add_argument("--simulator", default=ROOT / "build/dev/sim/simulator/vireo_simulator", type=pathlib.Path,
                        help=argparse.SUPPRESS)
    options, more = parser.parse_known_args()
    if options.nics is None:
        options.nics = 2 if options.vfio else 1
    most = MOST_PVRDMA if options.pvrdma else MOST_NICS
    if not 1 <= options.nics <= most:
        parser.error(f"--nics {options.nics}: 1 to {most}")
    if options.pvrdma and options.kernel:
        parser.error("PVRDMA needs this machine's kernel: its driver is compiled for no other")
    if options.pvrdma and options.vfio:
        parser.error("either --pvrdma or --vfio")
    if options.vfio:
        options.program.insert(0, VFIO_PROGRAM)
    options.memory = options.memory or 384 + 28 * options.cpus
    if options.cpus < 1 or options.memory < 128:
        parser.error("a guest needs --cpus 1 and --memory 128 at least")
    return options, more


def attach(path: str) -> int:
    """Connects this terminal with a guest's serial port."""
    with socket.socket(socket.AF_UNIX) as port:
        try:
            port.connect(path)
        except OSError as error:
            print(f"vireo guest: {path}: {error.strerror}; is `vireo guest` with this guest running?", file=sys.stderr)
            return 1
        print("connected; Ctrl-] leaves", file=sys.stderr)
        keys = sys.stdin.fileno()
        before = termios.tcgetattr(keys) if os.isatty(keys) else None
        if before:
            tty.setraw(keys)
        try:
            port.sendall(b"\n")  # shows the prompt
            while True:
                ready, _, _ = select.select([port, keys], [], [])
                if port in ready:
                    data = port.recv(4096)
                    if not data:
                        return 0
                    os.write(sys.stdout.fileno(), data)
                if keys in ready:
                    data = os.read(keys, 4096)
                    if not data or DETACH in data:
                        return 0
                    port.sendall(data)
        finally:
            if before:
                termios.tcsetattr(keys, termios.TCSADRAIN, before)


def run_line(listener: socket.socket, line: str) -> int:
    """Runs `line` in a guest by the protocol of init."""
    listener.settimeout(180)
    try:
        with listener.accept()[0] as console, console.makefile("rw", encoding="utf-8", errors="replace") as stream:
            while stream.readline() != "= ready\n":
                pass
            stream.write(line.replace("\n", ";") + "\n")
            stream.flush()
            for answer in stream:
                if answer.startswith("= "):
                    return int(answer[2:])
                print(answer[1:], end="", flush=True)
    except TimeoutError:
        print("vireo guest: the guest did not boot within 180 s", file=sys.stderr)
        return 1
    print("vireo guest: the guest ended during the command", file=sys.stderr)
    return 1


def start_simulator(options: argparse.Namespace, more: list[str], folder: pathlib.Path) -> subprocess.Popen:
    """Returns when its NICs are ready, or it has ended."""
    ready, written = os.pipe()
    command = [str(options.simulator), "--directory", str(folder), "--ready", str(written), "--device", options.device,
               "--nics", str(options.nics), *more]
    for nic in range(options.nics):
        command += ["--pvrdma", f"guest{nic}={folder}/nic{nic},nic={nic}"] if options.pvrdma else ["--export", f"{nic}={folder}/nic{nic}"]
    simulator = subprocess.Popen(command, pass_fds=[written], start_new_session=True)  # Ctrl-C is the guest's
    os.close(written)
    os.read(ready, 1)
    os.close(ready)
    return simulator


def host_of(options: argparse.Namespace, nic: int) -> int:
    """A PVRDMA guest shares its NIC, which has an address of its own."""
    return nic + (101 if options.pvrdma else 1)


def boot(options: argparse.Namespace, nic: int, folder: pathlib.Path, serial: str, console: str = "") -> subprocess.Popen:
    way = "--pvrdma" if options.pvrdma else "--vfio" if options.vfio else "--nic"
    own_nics = range(options.nics) if options.vfio else [nic]
    arguments = [str(FILES), *(word for own in own_nics for word in (way, f"{folder}/nic{own}")),
                 "--host", str(host_of(options, nic)), "--cpus", str(options.cpus), "--memory", str(options.memory), "--serial", serial]
    if options.kernel:
        arguments += ["--kernel", options.kernel]
    if options.pvrdma:
        arguments += ["--link", f"{folder}/link{nic},{folder}/link{1 - nic}"]
    if console:
        arguments += ["--console", console]
    for program in options.program:
        arguments += ["--program", str(program)]
    words = qemu.command(FILES, qemu.parse(arguments))
    # The first guest has the terminal; the others must not take its keys.
    own = serial == TERMINAL
    return subprocess.Popen(words, stdin=None if own else subprocess.DEVNULL, start_new_session=not own, close_fds=False)


def end(process: subprocess.Popen, seconds: float) -> int:
    process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def main() -> int:
    options, more = parse()
    if options.attach:
        return attach(options.attach)
    status = 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vireo-guest-"))
    processes: list[subprocess.Popen] = []
    terminal = termios.tcgetattr(0) if os.isatty(0) else None
    try:
        qemu.prepare(FILES, has_nics=True, has_pvrdma=options.pvrdma, kernel=options.kernel)
        simulator = start_simulator(options, more, folder)
        if simulator.poll() is not None:
            return simulator.returncode or 1
        try:
            for nic in range(1, 1 if options.vfio else options.nics):
                serial = folder / f"guest{nic}"
                processes.append(boot(options, nic, folder, f"unix:{serial},server=on,wait=off"))
                print(f"guest {nic}: 10.0.0.{host_of(options, nic)}; its shell: ./vireo guest --attach {serial}", file=sys.stderr)
            if options.run:
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(f"{folder}/console")
                    listener.listen()
                    processes.append(boot(options, 0, folder, f"file:{folder}/log", f"{folder}/console"))
                    status = run_line(listener, options.run)
            else:
                processes.append(boot(options, 0, folder, TERMINAL))
                status = processes[-1].wait()
        finally:
            for process in processes:
                end(process, 5)
            simulation = end(simulator, 60)
            if simulation != 0:
                print(f"vireo guest: the simulation failed with status {simulation}: see above", file=sys.stderr)
                status = status or 1
    except build_guest.Unavailable as error:
        print(f"vireo guest: {error}", file=sys.stderr)
        status = build_guest.UNAVAILABLE
    except KeyboardInterrupt:
        status = 130
    finally:
        if terminal:
            termios.tcsetattr(0, termios.TCSADRAIN, terminal)
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
