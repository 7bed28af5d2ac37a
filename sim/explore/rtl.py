# SPDX-License-Identifier: Apache-2.0
"""The Verilated NIC of any configuration, as a shared library that the benchmark loads (sim/device/library). Built when it is
first needed, and kept under a hash of everything that decides it."""

import contextlib
import fcntl
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

from bench import Settings
from errors import StudyError

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "rtl"))
import parameters  # noqa: E402  pylint: disable=wrong-import-position

CACHE = ROOT / "build/rtl"
PROJECT = ROOT / "sim/device/library"
# Besides the RTL: what the library is compiled from.
SOURCES = ("sim/device/library/*", "sim/device/nic_library.h", "sim/device/nic_devices.h", "sim/device/nic_pins.h", "sim/device/rtl_pins.h",
           "sim/device/rtl_coverage.h", "sim/time/core_clock.h", "spec/gen/vireo_config.h", "cmake/verilate.*", "rtl/sources.f")


def configuration(settings: Settings) -> dict[str, int]:
    """The parameters of the contract among all settings of a point."""
    return {name: int(settings[f"nic.{name}"]) for name in parameters.FIELDS}


def difference(config: dict[str, int]) -> str:
    """For people: the closest named configuration, and what differs from it."""
    texts = [[name, *(f"{key}={config[key]}" for key in parameters.FIELDS if config[key] != values[key])]
             for name, values in parameters.CONFIGS.items()]
    return " ".join(min(texts, key=len))


def sources() -> list[pathlib.Path]:
    rtl = [ROOT / line for line in (ROOT / "rtl/sources.f").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return rtl + [path for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]


def key(config: dict[str, int]) -> str:
    """Of configuration, sources and compilers."""
    total = hashlib.sha256(parameters.literal(config).encode())
    for command in (("verilator", "--version"), ("c++", "--version")):
        try:
            total.update(subprocess.run(command, capture_output=True, check=True).stdout)
        except (OSError, subprocess.SubprocessError) as error:
            raise StudyError(f"{command[0]} is needed for RTL and does not run: {error}; ./vireo setup installs it") from error
    for path in sources():
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:20]


def library(config: dict[str, int], jobs: int, on_build: Callable[[], None]) -> pathlib.Path:
    """Builds it if it is not there, after on_build()."""
    folder = CACHE / key(config)
    result = folder / "libvireo_nic.so"
    if result.exists():
        return result
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(open(folder / ".lock", "w", encoding="utf-8"))
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits for the first one's result
        if result.exists():
            return result
        on_build()
        work = folder / "work"
        log = folder / "log"
        values = ",".join(str(config[name]) for name in parameters.FIELDS)
        commands = (["cmake", "-G", "Ninja", "-S", str(PROJECT), "-B", str(work), f"-DVIREO_PARAMETERS={values}",
                     f"-DVIREO_CONFIG={parameters.literal(config)}"],
                    ["cmake", "--build", str(work), "--parallel", str(jobs)])
        with open(log, "w", encoding="utf-8") as output:
            for command in commands:
                done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
                if done.returncode != 0:
                    errors = re.findall(r"^.*(?:%Error|error:|CMake Error|FAILED:).*", log.read_text(encoding="utf-8", errors="replace"), re.M)
                    raise StudyError(f"the RTL of {difference(config)} cannot be built: {(errors or ['no message'])[0].strip()}", log)
        shutil.move(work / "libvireo_nic.so", result)
        shutil.rmtree(work)
    return result
