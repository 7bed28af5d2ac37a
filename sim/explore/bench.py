# SPDX-License-Identifier: Apache-2.0
"""The program that simulates: `vireo_nic_bench`. What it can vary and measure, and one run of it."""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from typing import Any

from errors import StudyError
import program as program_module
from program import Settings, Value

ILLEGAL = 3  # its exit code for settings that are not legal together
CUSTOM = "custom"  # its workload whose parameters are settings
CUSTOM_ONLY = ("workload.", "host.call_ns", "wire.switch_")  # settings of it alone
PRESETS = ("nic.config", "pcie.preset")  # settings that give other settings their values



class Stopped(Exception):
    """The run was ended from outside: it has no outcome."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one run. `status`: ok, skipped, illegal, failed, crash or timeout; `reason` says why it is not ok."""

    status: str
    reason: str
    metrics: dict[str, float | None]
    simulated: list[str]  # metrics that depend on nothing but settings and seed
    seconds: float
    bottleneck: str = ""  # in words, if it was asked for


@dataclasses.dataclass(frozen=True)
class Run:
    """One process: a workload with all settings and a seed."""

    workload: str
    settings: tuple[tuple[str, Value], ...]
    seed: int
    model: str  # hash of the program
    bottleneck: bool = False  # asks what limits it
    program: str = ""  # instead of the workload: a pair of these (program.py)

    def id(self) -> str:
        """Of everything that decides the figures."""
        decides = json.dumps([self.model, self.workload, sorted(self.settings), self.seed] + ["bottleneck"] * self.bottleneck
                             + [self.program] * bool(self.program))
        return hashlib.sha256(decides.encode()).hexdigest()[:20]


class Bench:
    """Its catalogue, read once."""

    def __init__(self, program: pathlib.Path, simulator: pathlib.Path | None = None) -> None:
        self.program = program
        self.simulator = program_module.Simulator(simulator) if simulator is not None else None
        self._running: set[subprocess.Popen[str]] = set()
        self._is_stopped = False
        try:
            done = subprocess.run([program, "--list-settings"], capture_output=True, text=True, timeout=60, check=True)
            catalogue = json.loads(done.stdout)
            self.settings: dict[str, dict[str, Any]] = catalogue["settings"]
            self.presets: dict[str, dict[str, Settings]] = catalogue["presets"]
            self.workloads: list[str] = catalogue["workloads"]
            self.metrics: dict[str, str] = {metric["name"]: metric["unit"] for metric in catalogue["metrics"]}
            self.simulated = {metric["name"] for metric in catalogue["metrics"] if metric["is_simulated"]}
            self.rtl: list[str] = catalogue["rtl"]  # named configurations whose RTL is in the program
            self.model = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            raise StudyError(f"--list-settings does not work: {error}", program) from error

    def resolve(self, chosen: Settings) -> Settings:
        """All settings, with those chosen: a preset gives values, others override them."""
        values: Settings = {name: setting["default"] for name, setting in self.settings.items()}
        for preset in PRESETS:
            if preset in chosen:
                values |= self.presets[preset][str(chosen[preset])]
        return values | chosen

    def named(self, settings: Settings) -> str:
        """The named configuration that the settings `nic.` are equal to; empty if there is none."""
        return next((name for name, values in self.presets["nic.config"].items()
                     if all(settings[key] == value for key, value in values.items())), "")

    def why_illegal(self, run: Run) -> str:
        """The first rule that the run breaks; empty if there is none."""
        if run.program:
            return ""
        done = subprocess.run([self.program, "--list-settings", *_assignments(run)], capture_output=True, text=True, timeout=60,
                              check=False)
        if done.returncode not in (0, ILLEGAL):
            return done.stderr.strip()
        return json.loads(done.stdout)["illegal"]

    def wrong(self, name: str, value: Value) -> str:
        """Why a setting cannot have this value, if its syntax is the program's; empty if it can."""
        done = subprocess.run([self.program, "--list-settings", "--set", f"{name}={value}"], capture_output=True, text=True, timeout=60,
                              check=False)
        if done.returncode in (0, ILLEGAL):  # alone it may be illegal: with others it may not be
            return ""
        return _last(done.stderr).removeprefix("vireo bench: --set: ")

    def stop(self) -> None:
        """Ends the processes under way, and starts no more."""
        self._is_stopped = True
        for process in tuple(self._running):
            process.kill()

    def run(self, run: Run, timeout_s: float, folder: pathlib.Path, device: str = "model", library: pathlib.Path | None = None) -> Outcome:
        """Simulates. `folder` gets a temporary file. `library`: the RTL, if it is not in the program. Raises OSError if the program
        cannot be started, Stopped after stop()."""
        if run.program:
            return self._run_programs(run, timeout_s, folder)
        handle, path = tempfile.mkstemp(prefix=".run-", suffix=".json", dir=folder)
        os.close(handle)
        begin = time.monotonic()
        command = [str(self.program), "--device", device, "--workload", run.workload, "--result", path, *_assignments(run)]
        if run.bottleneck and device == "model":  # RTL has no such counters
            command.append("--bottleneck")
        if library is not None:
            command += ["--rtl-library", str(library)]
        try:
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                                  env=os.environ | {"VIREO_SEED": str(run.seed)}) as process:
                self._running.add(process)
                try:
                    if self._is_stopped:
                        raise Stopped
                    _, errors = process.communicate(timeout=timeout_s)
                except subprocess.TimeoutExpired:
                    return _not_ok("timeout", f"not done after {timeout_s:g} s", begin)
                finally:
                    process.kill()
                    self._running.discard(process)
            if self._is_stopped:
                raise Stopped
            if process.returncode < 0:
                return _not_ok("crash", f"{signal.Signals(-process.returncode).name}: {_last(errors)}", begin)
            if process.returncode == ILLEGAL:
                return _not_ok("illegal", _last(errors).removeprefix("vireo bench: illegal settings: "), begin)
            if process.returncode != 0:
                return _not_ok("failed", f"exit code {process.returncode}: {_last(errors)}", begin)
            return self._read(run, pathlib.Path(path), begin)
        finally:
            pathlib.Path(path).unlink(missing_ok=True)

    def _run_programs(self, run: Run, timeout_s: float, folder: pathlib.Path) -> Outcome:
        """Two unmodified programs under virtual time."""
        begin = time.monotonic()
        assert self.simulator is not None
        if reason := self.simulator.missing(run.program):
            return _not_ok("skipped", reason, begin)
        settings = dict(run.settings)
        if settings.get("host.call_ns") == 0:
            return _not_ok("illegal", "host.call_ns: a call of a program under virtual time takes 1 ns or more", begin)
        handle, path = tempfile.mkstemp(prefix=".run-", suffix=".toml", dir=folder)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(program_module.topology(settings))
            with subprocess.Popen(self.simulator.command(run.program, settings, run.seed, pathlib.Path(path)), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace") as process:
                self._running.add(process)
                try:
                    if self._is_stopped:
                        raise Stopped
                    text, _ = process.communicate(timeout=timeout_s)
                except subprocess.TimeoutExpired:
                    process.terminate()  # it ends simulator and programs
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.communicate(timeout=10)
                    return _not_ok("timeout", f"not done after {timeout_s:g} s", begin)
                finally:
                    if process.poll() is None:
                        process.terminate() if self._is_stopped else process.kill()
                    self._running.discard(process)
            if self._is_stopped:
                raise Stopped
            if process.returncode != 0:
                said = text.partition("\n\n  seed: ")[0]  # without the simulator's summary
                return _not_ok("failed", f"exit code {process.returncode}: {_last(said)}", begin)
            figures = program_module.parse(text, run.program)
            if isinstance(figures, str):
                return _not_ok("failed", f"{run.program}: {figures}", begin)
            return Outcome("ok", "", dict(figures), list(figures), time.monotonic() - begin)
        finally:
            pathlib.Path(path).unlink(missing_ok=True)

    def _read(self, run: Run, path: pathlib.Path, begin: float) -> Outcome:
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            used, rows = result["settings"], result["rows"]
            metrics = {metric["name"]: metric["value"] for metric in rows[0]["metrics"]}
            bottleneck = str(rows[0].get("bottleneck", ""))
            simulated = [metric["name"] for metric in rows[0]["metrics"] if metric["is_simulated"]]
        except (OSError, ValueError, KeyError, IndexError) as error:
            return _not_ok("failed", f"wrote no result: {error!r}", begin)
        # An override that is recorded but not applied would make every conclusion wrong.
        for name, value in run.settings:
            if used.get(name) != value:
                return _not_ok("failed", f"{name} is {value} in the study, but the model used {used.get(name)}", begin)
        return Outcome("ok", "", {name: value if value is not None and math.isfinite(value) else None
                                  for name, value in metrics.items()}, simulated, time.monotonic() - begin, bottleneck)


def _assignments(run: Run) -> list[str]:
    return [word for name, value in run.settings for word in ("--set", f"{name}={value}")]


def _last(text: str) -> str:
    """The message: what a program prints before it ends, in one line, without progress."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("vireo bench:")]
    return (errors or lines or ["no message"])[-1][:500]


def _not_ok(status: str, reason: str, begin: float) -> Outcome:
    return Outcome(status, reason, {}, [], time.monotonic() - begin)
