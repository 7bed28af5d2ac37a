# SPDX-License-Identifier: Apache-2.0
"""The folder of a study's results: one file per finished run, named by the run's hash, so that any number of processes and
machines can share it, and a killed one loses only what was in flight."""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import socket
from collections.abc import Iterator
from typing import Any

from bench import Outcome, Run
from errors import StudyError
from study import Study

FORMAT = 1  # of the folder
STATUS = ("ok", "skipped", "illegal", "failed", "crash", "timeout")


@dataclasses.dataclass(frozen=True)
class Record:
    """A finished run, where and when it ran."""

    outcome: Outcome
    host: str
    finished: str  # UTC
    timeout_s: float

    def figures(self) -> dict[str, float | None]:
        """That depend on nothing but the run."""
        return {name: self.outcome.metrics[name] for name in self.outcome.simulated}

    def is_final(self, timeout_s: float) -> bool:
        """False: with more time, or with the program installed, it may end differently."""
        return self.outcome.status != "skipped" and (self.outcome.status != "timeout" or timeout_s <= self.timeout_s)


class Store:
    def __init__(self, folder: pathlib.Path, study: Study) -> None:
        """Makes the folder, or opens it if it is this study's."""
        self.folder = folder
        self.study = study.name
        self.runs = folder / "runs"
        self.manifest = folder / "manifest.json"
        if folder.exists():
            self._check(study)
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            if not self.manifest.exists():
                self.write_manifest({"format": FORMAT, "study": study.name, "file": str(study.file)})
        except OSError as error:
            raise StudyError(f"cannot be written: {error.strerror}", folder) from error

    def _check(self, study: Study) -> None:
        if not self.manifest.exists():
            if self.folder.is_dir() and not any(self.folder.iterdir()):
                return
            raise StudyError("is no folder of results, and not empty; choose another --out", self.folder)
        manifest = read_json(self.manifest)
        if manifest.get("format") != FORMAT:
            raise StudyError(f"has format {manifest.get('format')!r}, not {FORMAT}; choose another --out", self.manifest, 1)
        if manifest.get("study") != study.name:
            raise StudyError(f"has the results of the study '{manifest.get('study')}', not of '{study.name}'; choose another --out",
                             self.folder)

    @contextlib.contextmanager
    def lock(self, share: tuple[int, int] | None) -> Iterator[None]:
        """Held while running. Alone in the folder without a share; with a share, the only process of this share."""
        with contextlib.ExitStack() as stack:
            whole = stack.enter_context(open(self.folder / ".lock", "w", encoding="utf-8"))
            self._take(whole, fcntl.LOCK_EX if share is None else fcntl.LOCK_SH)
            if share is not None:
                part = stack.enter_context(open(self.folder / f".lock-{share[0]}-of-{share[1]}", "w", encoding="utf-8"))
                self._take(part, fcntl.LOCK_EX)
            yield

    def _take(self, file: Any, kind: int) -> None:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except OSError as error:
            raise StudyError("another ./vireo explore is running in this folder; wait for it, or choose another --out",
                             self.folder) from error

    def load(self, run: Run) -> Record | None:
        """None: not finished. A file that is no record is an error: deleting it runs the point again."""
        path = self._path(run)
        if not path.exists():
            return None
        return read_record(path, run.id())

    def take(self, other: pathlib.Path) -> int:
        """Copies the records that a share on another machine made. Returns how many were new. All are checked before the first
        one is copied."""
        if not (other / "manifest.json").exists():
            raise StudyError("is no folder of results", other)
        name = read_json(other / "manifest.json").get("study")
        if name != read_json(self.manifest).get("study"):
            raise StudyError(f"has the results of the study '{name}'; --merge needs shares of one study", other)
        new = []
        for path in sorted((other / "runs").glob("[0-9a-f]*.json")):
            theirs = read_record(path, path.stem)
            mine = self.runs / path.name
            if not mine.exists():
                new.append(path)
            elif theirs.figures() != read_record(mine, path.stem).figures():
                raise StudyError(f"has other figures than {mine}, although both are of the same run", path)
        for path in new:
            write_atomically(self.runs / path.name, path.read_bytes())
        return len(new)

    def save(self, run: Run, record: Record) -> None:
        """Complete or not at all, also if this process is killed."""
        data = {"run": run.id(), "workload": run.workload, "seed": run.seed, "model": run.model, "settings": dict(run.settings),
                **dataclasses.asdict(record)}
        write_atomically(self._path(run), json.dumps(data, indent=1) + "\n")

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        write_atomically(self.manifest, json.dumps(manifest, indent=1) + "\n")

    def _path(self, run: Run) -> pathlib.Path:
        return self.runs / f"{run.id()}.json"


def read_record(path: pathlib.Path, run: str) -> Record:
    data = read_json(path, "; delete it to simulate this point again")
    try:
        outcome = Outcome(**data["outcome"])
        record = Record(outcome, data["host"], data["finished"], data["timeout_s"])
        is_good = (data["run"] == run and outcome.status in STATUS and isinstance(outcome.seconds, (int, float))
                   and all(value is None or isinstance(value, (int, float)) for value in outcome.metrics.values()))
    except (KeyError, TypeError, AttributeError):
        is_good = False
    if not is_good:
        raise StudyError("is not the record of a run; delete it to simulate this point again", path, 1)
    return record


def read_json(path: pathlib.Path, advice: str = "") -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise StudyError(f"not JSON: {error.msg}{advice}", path, error.lineno) from error
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"cannot be read: {error}{advice}", path) from error
    if not isinstance(data, dict):
        raise StudyError(f"not a JSON object{advice}", path, 1)
    return data


def write_atomically(path: pathlib.Path, content: str | bytes) -> None:
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")
    try:
        try:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error  # a write has no name of its file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
