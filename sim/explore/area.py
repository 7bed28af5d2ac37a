# SPDX-License-Identifier: Apache-2.0
"""--area: cells of the whole device for a point's configuration, mapped by Yosys block by block as ./vireo synth does. A block
whose netlist is equal to that of another configuration is taken from the cache of ./vireo synth. With them the timing of those
blocks that ./vireo timing has analyzed; nothing is placed here."""

import hashlib
import json
import pathlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from bench import Settings
from errors import StudyError, suggest
import rtl
from store import read_json, write_atomically
from study import AREA as COLUMNS, TIMING

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "fpga"))
import synth  # noqa: E402  pylint: disable=wrong-import-position
import timing  # noqa: E402  pylint: disable=wrong-import-position
import yosys  # noqa: E402  pylint: disable=wrong-import-position

# Family -> the named configuration that ./vireo synth maps for it.
FAMILIES = {"ecp5": "nic1", "xcup": "nic100"}


class Area:
    """`blocks`: of the device, that count; none: all. `wrong` makes the error if one does not exist."""

    def __init__(self, family: str, jobs: int, say: Callable[[str], None], blocks: Sequence[str] = (),
                 wrong: Callable[[str], StudyError] = StudyError) -> None:
        if not yosys.PROGRAM.exists():
            raise StudyError("--area needs Yosys, which is not installed; run ./vireo setup")
        self.family, self.jobs, self.say, self.blocks, self.wrong = family, jobs, say, blocks, wrong
        self.folder = synth.WORK / "devices"
        (synth.WORK / "cache").mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.sources = yosys.sources()
        self.same = hashlib.sha256(b"".join(path.read_bytes() for path in self.sources) + yosys.VERSION.encode()).hexdigest()
        self.lock = threading.Lock()
        self.known: dict[str, dict[str, float | None] | str] = {}

    def of(self, settings: Settings) -> dict[str, float | None] | str:
        """The columns; or why there are none."""
        config = rtl.configuration(settings)
        literal = rtl.parameters.literal(config)
        with self.lock:  # a mapping uses all jobs itself
            if literal not in self.known:
                device = self._device(config, literal)
                self.known[literal] = device if isinstance(device, str) else device["area"] | self._timing(config, device["blocks"])
            return self.known[literal]

    def _timing(self, config: dict[str, int], blocks: list[list[str]]) -> dict[str, float | None]:
        """The slowest of the blocks whose netlist was analyzed here, or that are on the page of this configuration."""
        named = FAMILIES[self.family]
        on_page = timing.documented(named, timing.PAGE.read_text(encoding="utf-8")) if rtl.difference(config) == named else {}
        found = []
        for module, netlist in blocks:
            value = timing.known(named, module, synth.WORK / "cache" / netlist)
            if value is None:
                value = on_page.get(timing.instance(module))
            if value is not None:
                found.append(value)
        column, slowest = ("timing_mhz", min) if named == timing.ROUTED else ("timing_levels", max)
        return dict.fromkeys(TIMING) | {"timing_blocks": len(found), column: slowest(found, default=None)}

    def _device(self, config: dict[str, int], literal: str) -> dict[str, Any] | str:
        """Area, and module and netlist of each block."""
        chosen = f" {sorted(self.blocks)}" if self.blocks else ""
        name = hashlib.sha256(f"blocks {self.same} {self.family} {literal}{chosen}".encode()).hexdigest()[:24]
        file = self.folder / f"{name}.json"
        if file.exists():
            data = read_json(file, "; delete it to map this configuration again")
            if not is_device(data):
                raise StudyError("is not the area of a device; delete it to map this configuration again", file, 1)
            return data
        self.say(f"area of {rtl.difference(config)} on {self.family}: takes minutes for blocks that are not in the cache")
        design, _, error = synth.elaborate(self.sources, synth.WHOLE, {"Config": literal}, True)
        if design is None:
            return " ".join((error or "does not elaborate").splitlines()[:2])
        if self.blocks:
            design = self._chosen(design)
        rows, netlists, errors, spent = synth.map_device(FAMILIES[self.family], design, self.jobs, lambda row, seconds: None)
        if errors:
            return " ".join(errors[0].splitlines()[:2])
        self.say(f"{len(rows)} blocks, {spent:.0f} s")
        total = {column: sum(row[cells] for row in rows) for column, cells in COLUMNS.items()}
        modules = [f"{row['module']}${synth.WHOLE}.u_{row['block']}" if row["block"] != "wiring" else row["module"] for row in rows]
        data = {"area": total, "blocks": [[module, netlist.name] for module, netlist in zip(modules, netlists, strict=True)]}
        write_atomically(file, json.dumps(data) + "\n")
        return data

    def _chosen(self, design: dict[str, str]) -> dict[str, str]:
        """The blocks that count."""
        known = {module.partition(f"${synth.WHOLE}.u_")[2] or "wiring": module for module in design}
        for block in self.blocks:
            if block not in known:
                raise self.wrong(f"there is no block '{block}' in the device{suggest(block, known)}")
        if "wiring" in self.blocks:  # it needs the ports of all others
            raise self.wrong("'wiring' cannot be mapped without all blocks: leave out area_blocks")
        return {known[block]: design[known[block]] for block in self.blocks}


def is_device(data: dict[str, Any]) -> bool:
    area, blocks = data.get("area"), data.get("blocks")
    return (isinstance(area, dict) and set(area) == set(COLUMNS) and all(type(value) is int for value in area.values()) and isinstance(blocks, list)
            and all(isinstance(block, list) and len(block) == 2 and all(isinstance(text, str) for text in block) for block in blocks))
