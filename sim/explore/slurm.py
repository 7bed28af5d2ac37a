# SPDX-License-Identifier: Apache-2.0
"""--slurm: a study as a Slurm job array (sim/common/job_array.py) on a folder that all machines see. Each task runs its share
(--index) of the points."""

import pathlib
import shlex
import sys

from bench import Run
from errors import StudyError
import runner
from store import Store
from study import Point

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import job_array  # noqa: E402  pylint: disable=wrong-import-position


def shares_of(points: list[Point], count: int) -> list[list[Run]]:
    """The runs of each share, as --index I/N has them."""
    result: list[list[Run]] = []
    for index in range(count):
        mine = [point for point in points if point.number % count == index]
        result.append(list({run.id(): run for point in mine for group in point.runs.values() for run in group}.values()))
    return result


class Slurm:
    """`command`: of this program with the study and all that decides the points, without --index; `options`: of sbatch."""

    def __init__(self, tasks: int, options: list[str], store: Store, command: list[str], timeout_s: float, retry: bool, quiet: bool) -> None:
        self.store, self.command, self.timeout_s, self.retry, self.quiet = store, command, timeout_s, retry, quiet
        self.array = job_array.JobArray(f"vireo-{store.study}", tasks, options, store.folder.resolve() / "slurm",
                                        **({"say": lambda _: None} if quiet else {}))

    def run(self, points: list[Point]) -> None:
        """Submits, and waits until every run is finished. Continues with an array that a stopped command left."""
        shares = shares_of(points, self.array.tasks)
        every = list({run.id(): run for share in shares for run in share}.values())
        try:
            with self.array.lock(), runner.Progress(len(self._missing(every)), self.quiet) as progress:
                self.array.run({"study": self.store.study, "tasks": self.array.tasks}, self._script,
                               lambda first: [task for task, share in enumerate(shares)
                                              if runner.unfinished(self.store, share, self.timeout_s, self.retry and first)],
                               lambda: progress.set(progress.total - len(self._missing(every))))
        except job_array.Unfinished as error:
            number = sum(len(self._missing(shares[task])) for task in error.tasks)
            raise StudyError(f"{number} runs of {error}", error.file) from error
        except job_array.ArrayError as error:
            raise StudyError(str(error), error.file) from error

    def _missing(self, runs: list[Run]) -> list[Run]:
        return runner.unfinished(self.store, runs, self.timeout_s, False)

    def _script(self, is_first: bool) -> str:
        command = [*self.command, *(["--retry"] if self.retry and is_first else []), "--quiet"]
        return ("#!/bin/sh\n" + shlex.join(command) + f' --jobs "${{SLURM_CPUS_PER_TASK:-1}}" --index "$SLURM_ARRAY_TASK_ID/{self.array.tasks}"\n')


def program() -> list[str]:
    return [sys.executable, str(pathlib.Path(__file__).with_name("explore.py"))]
