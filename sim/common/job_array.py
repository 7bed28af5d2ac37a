# SPDX-License-Identifier: Apache-2.0
"""--slurm of every command: a job array on a folder that all machines see. Slurm places and queues the tasks. What a task
leaves unfinished, because it failed, was preempted or exceeded its time, is submitted again."""

import argparse
import contextlib
import dataclasses
import fcntl
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

SUBMISSIONS = 3  # most of a task
POLL_S = 1.0
UNKNOWN_POLLS = 30  # so many queries in a row may fail: the controller may be restarting
TASKS_MAX = 10_000
RECORD = "job.json"


class ArrayError(Exception):
    """For the user, in one line. `file`: where it is, or what helps."""

    def __init__(self, text: str, file: pathlib.Path | None = None) -> None:
        super().__init__(text)
        self.file = file

    def line(self) -> str:
        return str(self) if self.file is None else f"{self.file}: {self}"


class Unfinished(ArrayError):
    """Tasks that did not finish in all their submissions."""

    def __init__(self, tasks: list[int], folder: pathlib.Path) -> None:
        super().__init__(f"the shares {', '.join(map(str, tasks))} are not finished after {SUBMISSIONS} submissions; the logs are here", folder)
        self.tasks = tasks


def tasks_of(text: str) -> int:
    """The value of --slurm."""
    if not text.isdigit() or not 1 <= int(text) <= TASKS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 to {TASKS_MAX}")
    return int(text)


@dataclasses.dataclass(frozen=True)
class JobArray:
    name: str
    tasks: int
    options: list[str]  # of sbatch
    folder: pathlib.Path  # of logs and of the record of a job that is not waited for; is made
    say: Callable[[str], None] = lambda text: print(f"slurm: {text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """The folder, for one command at a time. Needs Slurm's programs."""
        for program in ("sbatch", "squeue"):
            if shutil.which(program) is None:
                raise ArrayError(f"--slurm: there is no {program} here; run it where jobs are submitted, or run the shares one by one")
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "w", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ArrayError("another command waits for a job array in this folder", self.folder) from error
            yield

    def run(self, key: dict[str, object], script: Callable[[bool], str], missing: Callable[[bool], list[int]],
            watch: Callable[[], None] = lambda: None) -> None:
        """Submits `missing`, waits, and so on until there is none. First it waits for the job of an earlier command that was
        stopped, if there is one with the same key; one with another key is refused. Arguments of script and missing: whether no
        task has been submitted yet. `watch` is called while waiting."""
        submissions = [0] * self.tasks
        job = self.left(key)
        if job:
            self.say(f"continues with job {job}")
        while True:
            if job:
                self._wait(job, watch)
            is_first = not any(submissions)
            tasks = missing(is_first)
            if not tasks:
                break
            if spent := [task for task in tasks if submissions[task] >= SUBMISSIONS]:
                self.record.unlink(missing_ok=True)
                raise Unfinished(spent, self.folder)
            for task in tasks:
                submissions[task] += 1
            job = self._submit(tasks, script(is_first), key)
        self.record.unlink(missing_ok=True)

    @property
    def record(self) -> pathlib.Path:
        return self.folder / RECORD

    def left(self, key: dict[str, object]) -> str:
        """The job that an earlier command submitted and did not see end; empty if there is none."""
        if not self.record.exists():
            return ""
        try:
            data = json.loads(self.record.read_text(encoding="utf-8"))
            job, its = str(data["job"]), data["key"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ArrayError("is no record of a job; delete it if none is under way", self.record) from error
        if its != json.loads(json.dumps(key)):
            if not self._states(job)[1]:  # it has ended, and nobody wants it
                self.record.unlink()
                return ""
            raise ArrayError(f"the job {job} of another command, or of programs that have changed since, is under way; wait until it has ended, or "
                             f"scancel {job}", self.record)
        return job

    def _submit(self, tasks: list[int], script: str, key: dict[str, object]) -> str:
        done = subprocess.run(["sbatch", "--parsable", f"--array={','.join(map(str, tasks))}", f"--job-name={self.name}",
                               f"--output={self.folder}/%A_%a.log", f"--chdir={pathlib.Path.cwd()}", *self.options],
                              input=script, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ArrayError(f"sbatch refuses: {first_line(done.stderr) or first_line(done.stdout) or 'no message'}")
        job = done.stdout.strip().split(";")[0]
        part = self.record.with_name(f".{RECORD}")
        part.write_text(json.dumps({"job": job, "key": key, "tasks": tasks}) + "\n", encoding="utf-8")
        part.replace(self.record)
        self.say(f"job {job}: {len(tasks)} tasks")
        return job

    def _wait(self, job: str, watch: Callable[[], None]) -> None:
        """Until no task of the job is in Slurm's queue."""
        failed = 0
        while True:
            error, states = self._states(job)
            watch()
            if error:
                failed += 1
                if failed > UNKNOWN_POLLS:
                    raise ArrayError(f"squeue does not answer: {error}; the job {job} goes on, and the same command waits for it")
            else:
                failed = 0
                if held := [state for state in states if "held" in state]:
                    raise ArrayError(f"the job {job} is held: {held[0]}; after scontrol release the same command waits for it")
                if not states:
                    return
            time.sleep(POLL_S)

    @staticmethod
    def _states(job: str) -> tuple[str, list[str]]:
        """(why it is not known, a line per task in the queue)."""
        done = subprocess.run(["squeue", "--noheader", "--array", "--jobs", job, "--format=%T %r"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return "", done.stdout.split("\n")[:-1]
        return ("", []) if "Invalid job id" in done.stderr else (first_line(done.stderr) or "no message", ["?"])


def first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


# --- Campaigns ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Share:
    """What a task has printed, and its exit code."""

    code: int
    output: str
    errors: str


def run_shares(array: JobArray, command: list[str], programs: list[pathlib.Path], more: str = "") -> list[Share]:
    """Runs `command` with --shard I/N in task I of the array, with `more` as shell words, in which $share is a path of the share's own.
    Returns all shares. A share is finished when the command has ended by itself: a signal, as that of preemption, does not count.
    `programs` decide the results with the command: if one has changed, an array of an earlier command is not continued."""
    key: dict[str, object] = {"command": [*command, more], "tasks": array.tasks,
                              "programs": [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in programs]}
    script = ('#!/bin/sh\n'
              f'share={shlex.quote(str(array.folder))}/share-$SLURM_ARRAY_TASK_ID\n'
              f'{shlex.join(command)} --shard "$SLURM_ARRAY_TASK_ID/{array.tasks}" {more} >"$share.out" 2>"$share.err"\n'
              'code=$?\n'
              'if [ "$code" -ge 128 ]; then tail -n 5 "$share.err"; exit "$code"; fi\n'  # shells add 128 to a signal
              'echo "$code" >"$share.part" && mv "$share.part" "$share.code"\n')
    finished = [array.folder / f"share-{task}.code" for task in range(array.tasks)]
    seen = 0

    def watch() -> None:
        nonlocal seen
        if (now := sum(file.exists() for file in finished)) != seen:
            seen = now
            array.say(f"{now} of {array.tasks} shares")

    with array.lock():
        if not array.left(key):
            for file in array.folder.glob("share-*"):
                file.unlink()
        array.run(key, lambda _: script, lambda _: [task for task, file in enumerate(finished) if not file.exists()], watch)
        return [Share(int(file.read_text(encoding="utf-8")), *(file.with_suffix(suffix).read_text(encoding="utf-8", errors="replace")
                                                              for suffix in (".out", ".err"))) for file in finished]


def check(shares: list[Share]) -> None:
    """Raises ArrayError if a share could not run, as for an option that the program refuses."""
    for task, share in enumerate(shares):
        if share.code > 1:
            raise ArrayError(f"share {task}: {last_line(share.errors) or f'exit code {share.code}'}")


def run_command(name: str, command: Callable[[], int]) -> int:
    """The exit code of a command that waits for an array; errors and an interrupt are one line each."""
    try:
        return command()
    except ArrayError as error:
        print(f"{name}: {error.line()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted; the job array goes on, and the same command waits for it", file=sys.stderr)
        return 130


def interleaved(shares: list[list[str]]) -> list[str]:
    """What of every share I is of every N-th case, from the I-th on, in the order of the cases."""
    return [share[i] for i in range(max(map(len, shares))) for share in shares if i < len(share)]
