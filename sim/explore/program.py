# SPDX-License-Identifier: Apache-2.0
"""A pair of unmodified programs under virtual time as a workload: what `./vireo pair --virtual-time` runs, with a point's settings,
and the figures that the client prints. docs/programs.md."""

import dataclasses
import hashlib
import pathlib
import re
import shlex
import shutil
import socket

from errors import StudyError

Value = int | str
Settings = dict[str, Value]

# Settings that ./vireo pair has too. Of the configuration only its name.
USABLE = ("nic.config", "pcie.preset", "wire.rate_mbps", "wire.delay_ns", "wire.lost_per_million", "wire.faults", "wire.faults_forth",
          "wire.faults_back", "host.mtu_bytes", "host.call_ns")
# Of perftest, by kind of program: the columns that it prints after bytes and iterations.
BANDWIDTH = ("peak_gbps", "goodput_gbps", "msgs_per_s")
LATENCY = ("latency_ns_min", "latency_ns_max", "latency_ns_typical", "latency_ns_mean", "latency_ns_stdev", "latency_ns_p99", "latency_ns_p999")
KINDS = {"bw": BANDWIDTH, "lat": LATENCY}
UNITS = {"peak_gbps": "Gb/s", "goodput_gbps": "Gb/s", "msgs_per_s": "1/s"}
GBPS = {"MB": 8 * 2**20 / 1e9, "MiB": 8 * 2**20 / 1e9, "Gb": 1.0}  # of its units; its MB are 2^20 bytes
PLACE = re.compile(r"\{(\w*)\}")


def metrics(command: str) -> dict[str, str]:
    """Name and unit of what is parsed; empty if the program is none of perftest's."""
    match = re.match(r"ib_(?:write|read|send)_(bw|lat)(?=\s|$)", command)
    return {name: UNITS.get(name, "ns") for name in KINDS[match[1]]} if match else {}


def places(command: str) -> list[str]:
    """The settings whose values stand in the command as {bytes}: workload.bytes."""
    return [f"workload.{name}" for name in PLACE.findall(command)]


def filled(command: str, settings: Settings) -> str:
    return PLACE.sub(lambda match: str(settings[f"workload.{match[1]}"]), command)


def topology(settings: Settings) -> str:
    """A file for --topology (docs/topology.md): the two NICs on one wire."""
    link: dict[str, Value] = {}
    if settings.get("wire.rate_mbps"):
        link["rate_mbps"] = settings["wire.rate_mbps"]
    if "wire.delay_ns" in settings:
        link["delay_ns"] = settings["wire.delay_ns"]
    faults = [str(settings.get("wire.faults", ""))]
    if lost := int(settings.get("wire.lost_per_million", 0)):
        faults.append(f"drop rate={lost / 1e6:.6f}")
    for key, script in (("faults", "\n".join(faults).strip()), ("faults_forth", settings.get("wire.faults_forth")),
                        ("faults_back", settings.get("wire.faults_back"))):
        if script:
            link[key] = script
    lines = [f"{key} = {_toml(value)}" for key, value in link.items()]
    return '[[nic]]\nname = "server"\n[[nic]]\nname = "client"\n[[link]]\nends = ["client", "server"]\n' + "\n".join(lines) + "\n"


def _toml(value: Value) -> str:
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(f"\\u{ord(c):04x}" if c in '"\\' or ord(c) < 32 else c for c in value) + '"'


def parse(text: str, command: str) -> dict[str, float] | str:
    """The figures of the client, or why there are none."""
    known = tuple(metrics(command))
    units = re.search(r"^client \|\s+#bytes .*$", text, re.M)
    rows = re.findall(r"^client \|\s+(\d+\s+\d+(?:\s+[\d.]+)+)\s*$", text, re.M)
    if units is None or len(rows) != 1:
        return f"printed {len(rows)} rows of figures instead of one"
    values = [float(word) for word in rows[0].split()][2:]
    if known == BANDWIDTH:
        unit = re.search(r"average\[(\w+)/sec\]", units[0])
        if unit is None or unit[1] not in GBPS or len(values) < 3:
            return f"printed figures of another form: {units[0]}"
        return {"peak_gbps": values[0] * GBPS[unit[1]], "goodput_gbps": values[1] * GBPS[unit[1]], "msgs_per_s": values[2] * 1e6}
    if "t_min[usec]" not in units[0] or len(values) != len(LATENCY):
        return f"printed figures of another form: {units[0]}"
    return {name: value * 1e3 for name, value in zip(LATENCY, values, strict=True)}


@dataclasses.dataclass(frozen=True)
class Simulator:
    """`vireo_run` of a build."""

    path: pathlib.Path

    def key(self, command: str) -> str:
        """Hash of simulator and program, as far as it is there."""
        total = hashlib.sha256()
        if not self.path.exists():
            raise StudyError("is not built, but the study runs programs; ./vireo explore builds it", self.path)
        build = self.path.parents[2]
        found = shutil.which(command.split()[0])
        for file in (self.path, self.path.with_name("vireo_simulator"), *sorted(build.glob("host/ibverbs/*.so*")),
                     *([pathlib.Path(found)] if found else [])):
            if file.exists():
                total.update(file.name.encode() + b"\0" + file.read_bytes())
        return total.hexdigest()[:16]

    def missing(self, command: str) -> str:
        """Why the program cannot run here; empty if it can."""
        program = command.split()[0]
        return "" if shutil.which(program) else f"{program} is not installed; it is in the Debian package perftest"

    def command(self, command: str, settings: Settings, seed: int, topology_file: pathlib.Path) -> list[str]:
        # Of a study the speed counts; the NICs are judged elsewhere.
        words = [str(self.path), "pair", "--no-monitor", "--device", "model", "--seed", str(seed), "--topology", str(topology_file)]
        words += ["--virtual-time" + (f"={settings['host.call_ns']}" if "host.call_ns" in settings else "")]
        for name, option in (("nic.config", "--config"), ("pcie.preset", "--preset"), ("host.mtu_bytes", "--mtu")):
            if settings.get(name):
                words += [option, str(settings[name])]
        # The two exchange addresses over TCP, outside of the simulation: other pairs at the same time need another port.
        with socket.socket() as free:
            free.bind(("", 0))
            command += f" -p {free.getsockname()[1]}"
        return [*words, command, f"{command} localhost"]


def check(command: str) -> str:
    """What is wrong with a command of a study; empty if nothing."""
    if not metrics(command):
        return f"a program is one of perftest's ib_{{write,read,send}}_{{bw,lat}} with its options, not {command!r}"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"{command!r}: {error}"
    if any(word in ("-a", "--all") for word in words):
        return f"{command!r}: one size a run; -a prints many"
    if any(word.startswith("-p") or word.startswith("--port") for word in words):
        return f"{command!r}: each run gets a port of its own; leave out -p"
    return ""
