# SPDX-License-Identifier: Apache-2.0
"""--area: cells of the whole device for a point's configuration, mapped by Yosys block by block as ./vireo synth does. A block
whose netlist is equal to that of another configuration is taken from the cache of ./vireo synth."""

import hashlib
import json
import pathlib
import sys
import threading
from collections.abc import Callable

from bench import Settings
from errors import StudyError
import rtl
from store import read_json, write_atomically
from study import AREA as COLUMNS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "fpga"))
import synth  # noqa: E402  pylint: disable=wrong-import-position
import yosys  # noqa: E402  pylint: disable=wrong-import-position

# Family -> the named configuration that ./vireo synth maps for it.
FAMILIES = {"ecp5": "nic1", "xcup": "nic100"}


class Area:
    def __init__(self, family: str, jobs: int, say: Callable[[str], None]) -> None:
        if not yosys.PROGRAM.exists():
            raise StudyError("--area needs Yosys, which is not installed; run ./vireo setup")
        self.family, self.jobs, self.say = family, jobs, say
        self.folder = synth.WORK / "devices"
        (synth.WORK / "cache").mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.sources = yosys.sources()
        self.same = hashlib.sha256(b"".join(path.read_bytes() for path in self.sources) + yosys.VERSION.encode()).hexdigest()
        self.lock = threading.Lock()
        self.known: dict[str, dict[str, int] | str] = {}

    def of(self, settings: Settings) -> dict[str, int] | str:
        """The columns; or why there are none."""
        config = rtl.configuration(settings)
        literal = rtl.parameters.literal(config)
        with self.lock:  # a mapping uses all jobs itself
            if literal not in self.known:
                self.known[literal] = self._device(config, literal)
            return self.known[literal]

    def _device(self, config: dict[str, int], literal: str) -> dict[str, int] | str:
        name = hashlib.sha256(f"{self.same} {self.family} {literal}".encode()).hexdigest()[:24]
        file = self.folder / f"{name}.json"
        if file.exists():
            data = read_json(file, "; delete it to map this configuration again")
            if set(data) != set(COLUMNS) or not all(type(value) is int for value in data.values()):
                raise StudyError("is not the area of a device; delete it to map this configuration again", file, 1)
            return data
        self.say(f"area of {rtl.difference(config)} on {self.family}: takes minutes for blocks that are not in the cache")
        design, _, error = synth.elaborate(self.sources, synth.WHOLE, {"Config": literal}, True)
        if design is None:
            return " ".join((error or "does not elaborate").splitlines()[:2])
        rows, _, errors, spent = synth.map_device(FAMILIES[self.family], design, self.jobs, lambda row, seconds: None)
        if errors:
            return " ".join(errors[0].splitlines()[:2])
        self.say(f"{len(rows)} blocks, {spent:.0f} s")
        total = {column: sum(row[cells] for row in rows) for column, cells in COLUMNS.items()}
        write_atomically(file, json.dumps(total) + "\n")
        return total
