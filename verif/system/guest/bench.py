#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ways in which a Linux guest can use the NIC: TCP and Soft-RoCE over virtio-net, and RDMA by PVRDMA. Two guests on
two NICs on one wire, the same kernel, perftest for RDMA and tcp.c for TCP. And the same perftest without guests: programs of this
machine, which use the NICs by the overlay. Command: `./vireo bench guests`; documentation: docs/guests-bench.md.

QEMU emulates the guests' processors, so seconds say nothing. QEMU counts instructions instead (-icount): a guest's clock
advances by 2 ns per instruction while it computes, and its kernel knows its idle time. So the instructions that a guest executes
per message are known, and hardly depend on the machine. Those of a program of this machine are counted by valgrind, without the
kernel's; in addition it runs in simulated time. Each measurement runs twice, with few and with many messages; the
difference excludes start-up and connection setup."""

import argparse
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import build_guest
import build_pvrdma
import qemu

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position

FILES = ROOT / "build/guest"
PAGE, PLOT, COMMAND = ROOT / "docs/guests-bench.md", ROOT / "docs/guests-bench.svg", "./vireo bench guests --update"
INITRAMFS = "initramfs-bench"
ICOUNT_SHIFT = 1  # a guest's clock advances by 2 to the power of this, in ns, per instruction
MEMORY_MIB = 400
LINE_GBPS = 100
PER_FRAME_BYTES = 24  # FCS, preamble, gap


@dataclasses.dataclass(frozen=True)
class Way:
    text: str
    has_pvrdma: bool
    prepare: str  # a line for both guests
    colour: str
    is_tcp: bool = False
    has_guests: bool = True


WAYS = {
    "tcp": Way("TCP over virtio-net", False, "", "#888888", is_tcp=True),
    "softroce": Way("RDMA by Soft-RoCE over virtio-net", False,
                    "for module in /modules/softroce/*; do insmod $module; done; rdma link add rxe0 type rxe netdev eth0", "#d08030"),
    "pvrdma": Way("RDMA by PVRDMA", True, "", "#2f7fbf"),
    "overlay": Way("RDMA by the overlay, no guest", False, "", "#50a060", has_guests=False),
}
# name: (what of PROGRAMS, message bytes, few and many messages)
WORKLOADS = {"stream_64b": ("stream", 64, 1000, 61000), "stream_64k": ("stream", 65536, 60, 1060),
             "latency_64b": ("latency", 64, 200, 5200)}
# By Way.is_tcp and WORKLOADS: server and client, which waits for the server. All sleep until there is something to do.
PROGRAMS = {
    (True, "stream"): ("tcp {port}", "tcp {port} {address} stream {n} {size}"),
    (True, "latency"): ("tcp {port}", "tcp {port} {address} latency {n} {size}"),
    (False, "stream"): ("ib_send_bw -F -x 1 -u 18 -e -p {port} -n {n} -s {size}",
                        "ib_send_bw -F -x 1 -u 18 -e -p {port} -n {n} -s {size} {address}"),
    (False, "latency"): ("ib_send_lat -F -x 1 -u 18 -e -p {port} -n {n} -s {size}",
                         "ib_send_lat -F -x 1 -u 18 -e -p {port} -n {n} -s {size} {address}"),
}
PORT = 18515
# In simulated time, where start-up counts little and costs much. By workload.
SIMULATED_MESSAGES = {"stream_64b": 5000, "stream_64k": 500, "latency_64b": 500}
COUNTER = "valgrind --tool=callgrind --callgrind-out-file=/dev/null"


@dataclasses.dataclass
class Sample:
    """Of one run."""

    messages: float
    instructions: list[float]  # by guest: 0 is the client
    frames: list[int]  # sent by NIC
    sent_bytes: list[int]
    busy_ns: float  # simulated time in which the NICs or the network had work


def row_of(way: str, workload: str, few: Sample, many: Sample) -> dict:
    """The figures of a measurement. A round trip of `latency_…` is two messages. Instructions: without those of start-up, by
    difference. Frames: of the longer run with its connection setup, because how often a receiver is not ready differs from
    run to run."""
    _, size, _, _ = WORKLOADS[workload]
    instructions = [(longer - shorter) / (many.messages - few.messages)
                    for longer, shorter in zip(many.instructions, few.instructions, strict=True)]
    device_ns = (many.busy_ns - few.busy_ns) / (many.messages - few.messages)
    line_bytes = max(sent + PER_FRAME_BYTES * frames for sent, frames in zip(many.sent_bytes, many.frames, strict=True)) / many.messages
    row = {"way": way, "workload": workload, "client_instructions": instructions[0], "server_instructions": instructions[1],
           "frames": sum(many.frames) / many.messages, "line_bytes": line_bytes, "few": dataclasses.asdict(few),
           "many": dataclasses.asdict(many)}
    if workload.startswith("stream"):
        # Both guests and the line work at the same time: the slowest decides.
        row["gbps"] = size * 8 / max(*instructions, line_bytes * 8 / LINE_GBPS)
        row["device_gbps"] = size * 8 / device_ns
    else:
        row["cpu_us"] = sum(instructions) / 1000  # one after the other
        row["device_us"] = device_ns / 1000
    return row


def collected(text: str) -> int:
    """The instructions that callgrind counted, by its output."""
    found = re.search(r"^==\d+== Collected : (\d+)$", text, re.M)
    if found is None:
        raise RuntimeError(f"no count of callgrind in\n{text}")
    return int(found[1])


def simulated_of(workload: str, text: str) -> dict:
    """The figures that perftest prints: Gb/s by its message rate, or the time of a round trip, of which it prints half."""
    kind, size, _, _ = WORKLOADS[workload]
    found = re.search(rf"^ *{size} +\d+ +(.+)$", text, re.M)
    if found is None:
        raise RuntimeError(f"no figures of perftest in\n{text}")
    numbers = [float(word) for word in found[1].split()]
    return {"simulated_gbps": numbers[2] * 1e6 * size * 8 / 1e9} if kind == "stream" else {"simulated_us": 2 * numbers[3]}


def rate_of(row: dict, prefix: str, time_name: str) -> str:
    if f"{prefix}gbps" in row:
        return f"{row[f'{prefix}gbps']:.2f} Gb/s"
    return f"{row[time_name]:.1f} µs" if time_name in row else "–"


def table_of(rows: list[dict]) -> str:
    lines = ["| workload | way | instructions per message, sender | receiver | frames per message | bytes on the line per message | at 1 instruction per ns "
             "| by the device's time | in simulated time |", "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for workload in WORKLOADS:
        for row in (row for row in rows if row["workload"] == workload):
            lines.append(f"| `{workload}` | {WAYS[row['way']].text} | {row['client_instructions']:,.0f} | {row['server_instructions']:,.0f} "
                         f"| {row['frames']:.2f} | {row['line_bytes']:,.0f} | {rate_of(row, '', 'cpu_us')} "
                         f"| {rate_of(row, 'device_', 'device_us')} | {rate_of(row, 'simulated_', 'simulated_us')} |")
    return "\n".join(lines)


def plot_of(rows: list[dict]) -> str:
    """Instructions of both ends per message, as bars of logarithmic length."""
    left, top, decade, height = 260, 40, 90, 16
    most = max(row["client_instructions"] + row["server_instructions"] for row in rows)
    decades = max(math.ceil(math.log10(most)) - 1, 1)  # from 10 on
    lines, y = [], top
    for workload in WORKLOADS:
        lines.append(f'<text x="8" y="{y + 12}" font-weight="bold">{workload}</text>')
        y += height + 4
        for row in (row for row in rows if row["workload"] == workload):
            count = max(row["client_instructions"] + row["server_instructions"], 10)
            length = (math.log10(count) - 1) * decade
            lines.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{WAYS[row["way"]].text}</text>'
                         f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{height - 2}" fill="{WAYS[row["way"]].colour}"/>'
                         f'<text x="{left + length + 6:.0f}" y="{y + 12}">{count:,.0f}</text>')
            y += height
        y += 10
    grid = "".join(f'<line x1="{left + i * decade}" y1="{top - 8}" x2="{left + i * decade}" y2="{y}" stroke="#ddd"/>'
                   f'<text x="{left + i * decade}" y="{top - 12}" text-anchor="middle">{10 ** (i + 1):,}</text>' for i in range(decades + 1))
    width = left + decades * decade + 70
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 8}" font-family="sans-serif" font-size="12">'
            f'<rect width="100%" height="100%" fill="white"/><text x="8" y="14">Instructions of both ends per message</text>{grid}\n'
            + "\n".join(lines) + "\n</svg>\n")


class Guest:
    """A guest's shell, by the protocol of init."""

    def __init__(self, words: list[str], console: pathlib.Path):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(console))
        self._listener.listen()
        self._listener.settimeout(300)
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)

    def await_boot(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(900)
        self._stream = connection.makefile("rw", encoding="utf-8", errors="replace")
        self._answer()

    def _answer(self) -> tuple[str, str]:
        text = ""
        for line in self._stream:
            if line.startswith("= "):
                return line[2:].strip(), text
            text += line[1:]
        raise RuntimeError("a guest ended")

    def run(self, line: str) -> str:
        self._stream.write(line + "\n")
        self._stream.flush()
        status, text = self._answer()
        if status != "0":
            raise RuntimeError(f"in a guest: {line}\nfailed with status {status}:\n{text}")
        return text

    def busy_ns(self) -> int:
        """Of its clock, since boot, while it executed instructions. [Linux, kernel/time/timer_list.c]"""
        text = self.run("cat /proc/timer_list")
        now = re.search(r"^now at (\d+) nsecs", text, re.M)
        idle = re.search(r"^ *\.idle_sleeptime *: *(\d+) nsecs", text, re.M)
        if now is None or idle is None:
            raise RuntimeError("a guest's /proc/timer_list has no idle time")
        return int(now[1]) - int(idle[1])

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.close()


def prepare() -> None:
    """FILES/initramfs-bench: the guest of PVRDMA with tcp.c."""
    qemu.prepare(FILES, has_nics=True, has_pvrdma=True)
    source = pathlib.Path(__file__).resolve().parent / "tcp.c"
    target, stamp = FILES / INITRAMFS, FILES / f"{INITRAMFS}.stamp"
    wanted = (FILES / f"{build_pvrdma.INITRAMFS}.stamp").read_text() + source.read_text()
    if target.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    with tempfile.TemporaryDirectory(dir=FILES) as temporary:
        folder = pathlib.Path(temporary)
        (folder / "root/bin").mkdir(parents=True)
        build_guest.run("gcc", "-static", "-O2", "-s", source, "-o", folder / "root/bin/tcp")
        build_guest.pack(folder / "root", folder / "more")
        (folder / "all").write_bytes((FILES / build_pvrdma.INITRAMFS).read_bytes() + (folder / "more").read_bytes())
        stamp.unlink(missing_ok=True)
        os.replace(folder / "all", target)
        stamp.write_text(wanted)


def more(later: list, earlier: list) -> list:
    return [x - y for x, y in zip(later, earlier, strict=True)]


class Simulation:
    """Two NICs."""

    def __init__(self, simulator: pathlib.Path, folder: pathlib.Path, *arguments: str):
        self._folder = folder
        ready, written = os.pipe()
        command = [str(simulator), "--directory", str(folder), "--ready", str(written), "--nics", "2", *arguments]
        self._simulator = subprocess.Popen(command, pass_fds=[written], stdout=subprocess.DEVNULL, start_new_session=True)
        os.close(written)
        is_ready = os.read(ready, 1)
        os.close(ready)
        if not is_ready:
            raise RuntimeError("the simulator did not start")

    def _ask(self, what: str):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
            control.connect(f"{self._folder}/control.sock")
            control.send(json.dumps({what: "list"}).encode())
            return json.loads(control.recv(65536))["answer"]

    def counters(self) -> tuple[list[int], list[int], int]:
        """Sent by each NIC: frames, and their bytes. Nanoseconds of simulated time in which there was work."""
        frames = self._ask("frames")
        return [one["sent"] for one in frames], [one["sent_bytes"] for one in frames], self._ask("time")["busy_ns"]

    def end(self) -> None:
        self._simulator.send_signal(signal.SIGTERM)
        self._simulator.wait()


class Programs(Simulation):
    """A simulation whose NICs programs of this machine use."""

    def __init__(self, simulator: pathlib.Path, folder: pathlib.Path, *arguments: str):
        super().__init__(simulator, folder, *arguments)
        self._run = [str(simulator.parent / "vireo_run"), "exec", "--directory", str(folder)]

    def run(self, workload: str, messages: int, prefix: str) -> tuple[str, str]:
        """What client and server print."""
        kind, size, _, _ = WORKLOADS[workload]
        with socket.socket() as unused:
            unused.bind(("localhost", 0))
            port = unused.getsockname()[1]
        server, client = (f"{prefix} {line}".format(n=messages, size=size, address="localhost", port=port).split() for line in PROGRAMS[False, kind])
        def start(nic, words):
            return subprocess.Popen([*self._run, "--nic", str(nic), "--", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, start_new_session=True)
        with start(1, server) as serving:
            try:
                listens = re.compile(f":{port:04X} [0-9A-F:]+ 0A ")
                while serving.poll() is None and not any(listens.search(pathlib.Path(f"/proc/net/{name}").read_text()) for name in ("tcp", "tcp6")):
                    time.sleep(0.02)
                with start(0, client) as asking:
                    try:
                        texts = [process.communicate(timeout=1800)[0] for process in (asking, serving)]
                    finally:
                        asking.kill()
            finally:
                serving.kill()
        if asking.returncode != 0 or serving.returncode != 0:
            raise RuntimeError(f"{' '.join(client)} failed:\n" + "\n".join(texts))
        return texts[0], texts[1]

    def measure(self, workload: str, messages: int) -> Sample:
        frames, sent_bytes, busy_ns = self.counters()
        texts = self.run(workload, messages, COUNTER)
        after = self.counters()
        return Sample(messages, [collected(text) for text in texts], more(after[0], frames), more(after[1], sent_bytes), after[2] - busy_ns)


def measure_overlay(simulator: pathlib.Path, workloads: list[str]) -> list[dict]:
    if shutil.which(COUNTER.split()[0]) is None:
        raise build_guest.Unavailable(f"{COUNTER.split()[0]} is not installed; it counts the instructions of the way `overlay`")
    rows = []
    for workload in workloads:
        with tempfile.TemporaryDirectory(prefix="vireo-bench-") as folder, contextlib.ExitStack() as stack:
            simulation = Programs(simulator, pathlib.Path(folder))
            stack.callback(simulation.end)
            _, _, few, many = WORKLOADS[workload]
            rows.append(row_of("overlay", workload, simulation.measure(workload, few), simulation.measure(workload, many)))
        with tempfile.TemporaryDirectory(prefix="vireo-bench-") as folder, contextlib.ExitStack() as stack:
            simulation = Programs(simulator, pathlib.Path(folder), "--virtual-time", "--seed", "7")
            stack.callback(simulation.end)
            rows[-1] |= simulated_of(workload, simulation.run(workload, SIMULATED_MESSAGES[workload], "")[0])
        print(json.dumps(rows[-1]), flush=True)
    return rows


class World(Simulation):
    """A simulation with two guests."""

    def __init__(self, way: Way, simulator: pathlib.Path, folder: pathlib.Path):
        self._way = way
        functions = [words for nic in (0, 1) for words in
                     (("--pvrdma", f"guest{nic}={folder}/f{nic},nic={nic}") if way.has_pvrdma else ("--export", f"{nic}={folder}/f{nic}"))]
        super().__init__(simulator, folder, *functions)
        self.guests = [Guest(self._words(nic), folder / f"console{nic}") for nic in (0, 1)]
        for guest in self.guests:
            guest.await_boot()
        self.address = f"10.0.0.{self._host(1)}"
        for guest in self.guests:
            if way.prepare:
                guest.run(way.prepare)
        self.guests[0].run(f"until ping -c 1 -W 1 {self.address} >/run/none; do :; done")

    def _host(self, nic: int) -> int:
        return nic + (101 if self._way.has_pvrdma else 1)

    def _words(self, nic: int) -> list[str]:
        folder = self._folder
        arguments = [str(FILES), "--pvrdma" if self._way.has_pvrdma else "--nic", f"{folder}/f{nic}", "--host", str(self._host(nic)),
                     "--memory", str(MEMORY_MIB), "--serial", f"file:{folder}/log{nic}", "--console", f"{folder}/console{nic}"]
        if self._way.has_pvrdma:
            arguments += ["--link", f"{folder}/link{nic},{folder}/link{1 - nic}"]
        words = qemu.command(FILES, qemu.parse(arguments))
        words[words.index("-initrd") + 1] = str(FILES / INITRAMFS)
        return [*words, "-icount", f"shift={ICOUNT_SHIFT},sleep=on"]

    def _sample(self, messages: float) -> Sample:
        frames, sent_bytes, busy_ns = self.counters()
        return Sample(messages, [guest.busy_ns() / 2**ICOUNT_SHIFT for guest in self.guests], frames, sent_bytes, busy_ns)

    def measure(self, workload: str, messages: int) -> Sample:
        kind, size, _, _ = WORKLOADS[workload]
        server, client = (line.format(n=messages, size=size, address=self.address, port=PORT) for line in PROGRAMS[self._way.is_tcp, kind])
        self.guests[1].run(f"{server} >/run/server 2>&1 & server=$!")
        self.guests[1].run(f"until grep -q ':{PORT:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do usleep 20000; kill -0 $server || break; done")
        before = self._sample(0)
        self.guests[0].run(f"timeout 3000 {client}")
        self.guests[1].run("wait $server")
        after = self._sample(messages)
        return Sample(messages, more(after.instructions, before.instructions), more(after.frames, before.frames),
                      more(after.sent_bytes, before.sent_bytes), after.busy_ns - before.busy_ns)

    def end(self) -> None:
        for guest in getattr(self, "guests", []):
            guest.end()
        super().end()


def main() -> int:
    parser = argparse.ArgumentParser(prog="./vireo bench guests", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", default=",".join(WAYS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--workload", default=",".join(WORKLOADS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    parser.add_argument("--rows", type=pathlib.Path, help="take the figures of the other ways from this file, which --json wrote")
    parser.add_argument("--update", action="store_true", help="write table and plot of docs/guests-bench.md")
    parser.add_argument("--simulator", default=ROOT / "build/bench/sim/simulator/vireo_simulator", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    ways, workloads = options.way.split(","), options.workload.split(",")
    for name, known in [(way, WAYS) for way in ways] + [(workload, WORKLOADS) for workload in workloads]:
        if name not in known:
            parser.error(f"unknown '{name}'; known: {', '.join(known)}")
    earlier = [] if options.rows is None else [row for row in json.loads(options.rows.read_text(encoding="utf-8")) if row["way"] not in ways]
    if options.update and ({*ways, *(row["way"] for row in earlier)}, workloads) != (set(WAYS), list(WORKLOADS)):
        parser.error("--update writes a whole run; leave out --way and --workload, or give the other ways by --rows")
    rows = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the guests
    try:
        if any(WAYS[way].has_guests for way in ways):
            prepare()
        for way in ways:
            if not WAYS[way].has_guests:
                rows += measure_overlay(options.simulator, workloads)
                continue
            with tempfile.TemporaryDirectory(prefix="vireo-bench-") as folder, contextlib.ExitStack() as stack:
                world = World(WAYS[way], options.simulator, pathlib.Path(folder))
                stack.callback(world.end)
                for workload in workloads:
                    _, _, few, many = WORKLOADS[workload]
                    rows.append(row_of(way, workload, world.measure(workload, few), world.measure(workload, many)))
                    print(json.dumps(rows[-1]), flush=True)
    except build_guest.Unavailable as error:
        print(f"vireo bench guests: {error}", file=sys.stderr)
        return build_guest.UNAVAILABLE
    except RuntimeError as error:
        print(f"vireo bench guests: {error}", file=sys.stderr)
        return 1
    rows = sorted(earlier + rows, key=lambda row: list(WAYS).index(row["way"]))
    table = table_of(rows)
    print(table)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.update:
        generated.replace(PAGE, COMMAND, table)
        PLOT.write_text(plot_of(rows), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
