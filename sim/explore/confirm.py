# SPDX-License-Identifier: Apache-2.0
"""--confirm rtl: runs points again, with the Verilated NIC in lockstep with the model, and compares. Every figure must be equal,
and every event at the boundary of both NICs in the same cycle."""

import concurrent.futures
import dataclasses
import json
import math
import pathlib
import sys
import time
from collections.abc import Callable

from bench import Bench, Run
from errors import StudyError
import rtl
from runner import Progress
from store import Store, read_json, write_atomically
from study import Point, Study

# Figures are quotients of integers, so that they are equal; but compilers may contract a product and a sum into one rounding.
TOLERANCE = 1e-12
SLOWER = 100  # most times that RTL in lockstep takes longer than the model


@dataclasses.dataclass(frozen=True)
class Confirmation:
    """Of one run. `reason` is empty if RTL and model agree."""

    rtl: str  # hash of the Verilated NIC
    reason: str
    figures: int  # that were compared
    events: int
    different: int  # events in different cycles
    seconds: float


@dataclasses.dataclass(frozen=True)
class Confirmed:
    """Of one point: the sums over its runs."""

    point: int
    settings: str
    reason: str
    figures: int
    events: int
    different: int

    def text(self) -> str:
        verdict = "all equal" if not self.reason else f"NOT CONFIRMED: {self.reason}"
        return (f"point {self.point} ({self.settings}): {self.figures} figures, {self.events:,} events compared, "
                f"{self.different} in different cycles, {verdict}")


def chosen(study: Study, points: list[Point], table: list[dict[str, object]], which: str) -> list[Point]:
    """`which`: front, all, or how many, evenly over those that ended well."""
    good = {row["point"] for row in table} - {row["point"] for row in table if row["status"] != "ok"}
    if which == "front":
        if not study.objectives:
            raise StudyError("--confirm front needs [results] objectives", study.file)
        good = {row["point"] for row in table if row["pareto"]}
    if all(workload.program for workload in study.workloads):
        raise StudyError("--confirm: unmodified programs run on the model only; ./vireo pair --virtual-time --device lockstep compares one "
                         "of them with RTL", study.file)
    result = [point for point in points if point.number in good]
    if not which.isdigit() or int(which) >= len(result):
        return result
    count = int(which)
    return [result[i * len(result) // count] for i in range(count)]


class Confirmer:
    """`verilated`: a benchmark that has RTL of named configurations; None: there is none, and each is built."""

    def __init__(self, bench: Bench, verilated: Bench | None, store: Store, study: Study, jobs: int, say: Callable[[str], None],
                 quiet: bool = True) -> None:
        self.quiet = quiet  # no progress
        self.bench, self.verilated, self.store, self.study, self.jobs, self.say = bench, verilated, store, study, jobs, say
        self.folder = store.folder / "confirmed"

    def points(self, points: list[Point]) -> list[Confirmed]:
        runs = list({run.id(): run for point in points for run in _confirmed(point)}.values())
        if any(workload.program for workload in self.study.workloads):
            self.say("--confirm leaves out unmodified programs, which run on the model only")
        self.folder.mkdir(exist_ok=True)
        devices = {}
        for run in runs:  # one library after the other: each build uses all jobs
            devices[run.id()] = self._device(run)
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        try:
            futures = {run.id(): pool.submit(self._run, run, *devices[run.id()]) for run in runs}
            with Progress(len(runs), self.quiet, " on RTL") as progress:
                for future in concurrent.futures.as_completed(futures.values()):
                    progress.add("failed" if future.result().reason else "ok")
            results = {name: future.result() for name, future in futures.items()}
        except BaseException:
            self.bench.stop()
            if self.verilated is not None:
                self.verilated.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return [self._point(point, [results[run.id()] for run in _confirmed(point)]) for point in points]

    def _point(self, point: Point, results: list[Confirmation]) -> Confirmed:
        return Confirmed(point.number, ", ".join(f"{name}={value}" for name, value in point.varied.items()),
                         next((result.reason for result in results if result.reason), ""), sum(result.figures for result in results),
                         sum(result.events for result in results), sum(result.different for result in results))

    def _device(self, run: Run) -> tuple[Bench, pathlib.Path | None, str]:
        """The program, the library that it needs, and the hash of the RTL."""
        settings = dict(run.settings)
        if self.verilated is not None and self.verilated.named(settings) in self.verilated.rtl:
            return self.verilated, None, self.verilated.model
        config = rtl.configuration(settings)
        begin = time.monotonic()
        built = rtl.library(config, self.jobs, lambda: self.say(f"Verilating {rtl.difference(config)}: takes minutes, once"))
        if (seconds := time.monotonic() - begin) > 5:
            self.say(f"built in {seconds:.0f} s: {built}")
        return self.bench, built, rtl.key(config)

    def _run(self, run: Run, program: Bench, library: pathlib.Path | None, key: str) -> Confirmation:
        path = self.folder / f"{run.id()}.json"
        if path.exists():
            data = read_json(path, "; delete it to confirm this point again")
            try:
                old = Confirmation(**data)
            except TypeError as error:
                raise StudyError("is not the record of a confirmation; delete it to confirm this point again", path, 1) from error
            if old.rtl == key and not old.reason:
                return old
        record = self.store.load(run)
        assert record is not None  # of a point that ended well
        outcome = program.run(run, self.study.timeout_s * SLOWER, self.folder, "lockstep", library)
        reason, compared = outcome.reason, 0
        events = different = 0
        if outcome.status == "ok":
            expected = {name: record.outcome.metrics[name] for name in record.outcome.simulated if not name.endswith("_used")}
            compared = len(expected)
            unequal = [f"{name} is {outcome.metrics.get(name)} on RTL and {value} on the model" for name, value in expected.items()
                       if not _equal(outcome.metrics.get(name), value)]
            events = int(outcome.metrics.get("lockstep_events") or 0)
            different = int(outcome.metrics.get("lockstep_different") or 0)
            reason = (unequal[0] if unequal else f"{different} events in different cycles" if different
                      else "" if events else "no events were compared")
        result = Confirmation(key, reason, compared, events, different, round(outcome.seconds, 1))
        write_atomically(path, json.dumps(dataclasses.asdict(result), indent=1) + "\n")
        return result


def _confirmed(point: Point) -> list[Run]:
    return [run for group in point.runs.values() for run in group if not run.program]


def _equal(one: float | None, other: float | None) -> bool:
    return one is other or (one is not None and other is not None and math.isclose(one, other, rel_tol=TOLERANCE))


def verilated(program: pathlib.Path | None) -> Bench | None:
    """The benchmark with RTL, if it was built."""
    return Bench(program) if program is not None and program.exists() else None


def summary(results: list[Confirmed]) -> str:
    good = sum(not result.reason for result in results)
    return (f"{good} of {len(results)} points confirmed on RTL: {sum(result.figures for result in results)} figures, "
            f"{sum(result.events for result in results):,} events compared, {sum(result.different for result in results)} in different cycles")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
