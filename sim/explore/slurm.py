# SPDX-License-Identifier: Apache-2.0
"""--slurm: a study as a Slurm job array on a folder that all machines see. Slurm places and queues; each task runs its share
(--index) of the points. What a task leaves unfinished, because it failed, was preempted or exceeded its time, is submitted
again."""

import dataclasses
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

from bench import Run
from errors import StudyError
import runner
from store import Store, read_json, write_atomically
from study import Point

SUBMISSIONS = 3  # most of a share
POLL_S = 1.0
UNKNOWN_POLLS = 30  # so many queries in a row may fail: the controller may be restarting


@dataclasses.dataclass(frozen=True)
class Array:
    tasks: int  # shares
    options: list[str]  # of sbatch


def shares_of(points: list[Point], count: int) -> list[list[Run]]:
    """The runs of each share, as --index I/N has them."""
    result: list[list[Run]] = []
    for index in range(count):
        mine = [point for point in points if point.number % count == index]
        result.append(list({run.id(): run for point in mine for group in point.runs.values() for run in group}.values()))
    return result


class Slurm:
    """`command`: of this program with the study and all that decides the points, without --index."""

    def __init__(self, array: Array, store: Store, command: list[str], timeout_s: float, retry: bool, quiet: bool) -> None:
        self.array, self.store, self.command, self.timeout_s, self.retry, self.quiet = array, store, command, timeout_s, retry, quiet
        self.folder = store.folder / "slurm"
        self.record = self.folder / "job.json"
        for program in ("sbatch", "squeue"):
            if shutil.which(program) is None:
                raise StudyError(f"--slurm: there is no {program} here; run it where jobs are submitted, or use --index")

    def run(self, points: list[Point]) -> None:
        """Submits, and waits until every run is finished. Continues with an array that a stopped command left."""
        shares = shares_of(points, self.array.tasks)
        self.folder.mkdir(exist_ok=True)
        every = list({run.id(): run for share in shares for run in share}.values())
        with runner.Progress(len(self._missing(every)), self.quiet) as progress:
            submissions = [0] * self.array.tasks
            job = self._left()
            while True:
                if job:
                    self._wait(job, every, progress)
                retry = self.retry and not any(submissions)
                missing = [index for index, share in enumerate(shares) if runner.unfinished(self.store, share, self.timeout_s, retry)]
                if not missing:
                    break
                if spent := [index for index in missing if submissions[index] >= SUBMISSIONS]:
                    number = sum(len(self._missing(shares[index])) for index in spent)
                    raise StudyError(f"{number} runs of the shares {', '.join(map(str, spent))} are not finished after {SUBMISSIONS} submissions; "
                                     "the logs are here", self.folder)
                for index in missing:
                    submissions[index] += 1
                job = self._submit(missing, retry)
            self.record.unlink(missing_ok=True)

    def _missing(self, runs: list[Run]) -> list[Run]:
        return runner.unfinished(self.store, runs, self.timeout_s, False)

    def _left(self) -> str:
        """The array that an earlier command submitted and did not see end; empty if there is none."""
        if not self.record.exists():
            return ""
        data = read_json(self.record)
        if data.get("tasks") != self.array.tasks:
            raise StudyError(f"the job {data.get('job')} with {data.get('tasks')} tasks was not waited for; the same --slurm continues it, "
                             f"or scancel it and delete this file", self.record)
        self._say(f"continues with job {data['job']}")
        return str(data["job"])

    def _submit(self, shares: list[int], retry: bool) -> str:
        command = [*self.command, *(["--retry"] if retry else []), "--quiet"]
        script = ("#!/bin/sh\n" + shlex.join(command) + f' --jobs "${{SLURM_CPUS_PER_TASK:-1}}" --index "$SLURM_ARRAY_TASK_ID/{self.array.tasks}"\n')
        done = subprocess.run(["sbatch", "--parsable", f"--array={','.join(map(str, shares))}", f"--job-name=vireo-{self.store.study}",
                               f"--output={self.folder}/%A_%a.log", f"--chdir={pathlib.Path.cwd()}", *self.array.options],
                              input=script, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StudyError(f"sbatch refuses: {(done.stderr.strip() or done.stdout.strip() or 'no message').splitlines()[0]}")
        job = done.stdout.strip().split(";")[0]
        write_atomically(self.record, json.dumps({"job": job, "tasks": self.array.tasks, "shares": shares}) + "\n")
        self._say(f"job {job}: {len(shares)} tasks")
        return job

    def _wait(self, job: str, runs: list[Run], progress: runner.Progress) -> None:
        """Until no task of the job is in Slurm's queue."""
        failed = 0
        while True:
            done = subprocess.run(["squeue", "--noheader", "--array", "--jobs", job, "--format=%T %r"], capture_output=True, text=True, check=False)
            missing = {run.id() for run in self._missing(runs)}
            progress.set(progress.total - len(missing))
            if done.returncode != 0 and "Invalid job id" not in done.stderr:
                failed += 1
                if failed > UNKNOWN_POLLS:
                    raise StudyError(f"squeue does not answer: {(done.stderr.strip() or 'no message').splitlines()[0]}; the job {job} goes on, "
                                     "and the same command waits for it")
            else:
                failed = 0
                states = done.stdout.split("\n")[:-1] if done.returncode == 0 else []
                if held := [state for state in states if "held" in state]:
                    raise StudyError(f"the job {job} is held: {held[0]}; after scontrol release the same command waits for it")
                if not states:
                    return
            time.sleep(POLL_S)

    def _say(self, text: str) -> None:
        if not self.quiet:
            print(f"slurm: {text}", file=sys.stderr, flush=True)


def program() -> list[str]:
    return [sys.executable, str(pathlib.Path(__file__).with_name("explore.py"))]

