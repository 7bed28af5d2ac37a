# SPDX-License-Identifier: Apache-2.0
"""Runs what is not finished, some at a time, and shows progress."""

import concurrent.futures
import datetime
import socket
import sys
import time
from collections.abc import Iterable

from bench import Bench, Outcome, Run
from store import Record, Store


def unfinished(store: Store, runs: Iterable[Run], timeout_s: float, retry: bool, resume: bool = True) -> list[Run]:
    """Without those that are finished; with `retry`, those that did not end well count as unfinished, without `resume` all."""
    if not resume:
        return list(runs)

    def is_done(run: Run) -> bool:
        record = store.load(run)
        return record is not None and record.is_final(timeout_s) and not (retry and record.outcome.status != "ok")
    return [run for run in runs if not is_done(run)]


def execute(bench: Bench, store: Store, runs: list[Run], timeout_s: float, jobs: int, progress: "Progress") -> None:
    """Runs all, `jobs` processes at a time. The result of each is in the store when it ends. Interrupted, it stops the
    processes under way and raises KeyboardInterrupt."""
    host = socket.gethostname()

    def one(run: Run) -> Outcome:
        outcome = bench.run(run, timeout_s, store.runs)
        finished = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        store.save(run, Record(outcome, host, finished, timeout_s))
        return outcome

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        futures = [pool.submit(one, run) for run in runs]
        for future in concurrent.futures.as_completed(futures):
            outcome = future.result()
            progress.worked += outcome.seconds
            progress.add(outcome.status)
    except BaseException:
        bench.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class Progress:
    """A line on stderr: in place on a terminal, else now and then."""

    def __init__(self, total: int, quiet: bool, where: str = "") -> None:
        self.total, self.quiet, self.where = total, quiet, where
        self.done = self.bad = 0
        self.worked = 0.0  # seconds, of all processes
        self.own = time.process_time()
        self.begin = time.monotonic()
        self.is_terminal = sys.stderr.isatty()
        self.next = self.begin

    def add(self, status: str) -> None:
        self.done += 1
        self.bad += status != "ok"
        now = time.monotonic()
        if self.quiet or (now < self.next and self.done != self.total):
            return
        self.next = now + (0.2 if self.is_terminal else 5)
        rate = self.done / max(now - self.begin, 1e-9)
        text = (f"{self.done} of {self.total} runs{self.where}, {rate:.3g} per second, {duration((self.total - self.done) / rate)} left"
                + (f", {self.bad} not ok" if self.bad else ""))
        print(f"\r\033[K{text}" if self.is_terminal else text, end="" if self.is_terminal else "\n", file=sys.stderr, flush=True)

    def set(self, done: int) -> None:
        """How many are done; those that end elsewhere."""
        self.done = max(done - 1, 0)
        if done > 0:
            self.add("ok")

    def skip(self, number: int) -> None:
        """That were finished before."""
        self.total -= number

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_terminal and self.done and not self.quiet:
            print(file=sys.stderr)

    def figures(self) -> str:
        """How fast it was; empty if nothing ran here."""
        if self.worked == 0:
            return ""
        rate = self.done / max(time.monotonic() - self.begin, 1e-9) * 60
        return (f"{self.done} runs here, {rate:.0f} per minute; the explorer's own processor time is "
                f"{100 * (time.process_time() - self.own) / self.worked:.1f} % of theirs")


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
