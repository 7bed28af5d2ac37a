#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Area of the features that a configuration can be without: nic1 whole, and without each in turn. Writes the table of
docs/area.md. Run by `./vireo synth --switches`; blocks that a switch does not change come from the cache."""

import argparse
import re
import sys

import synth
import yosys
from synth import parameters

BASE = "nic1"
BEGIN, END = "<!-- BEGIN GENERATED: ./vireo synth --switches -->\n", "<!-- END GENERATED -->\n"


def switches():
    """Parameters of BASE that remove a feature when they are 0 -> what must be 0 with them, by the rules of
    spec/configs.toml."""
    rows = [row for row in parameters.SPEC["parameter"] if parameters.CONFIGS[BASE][row["name"]]]
    names = [row["name"] for row in rows if row["min"] == 0 and (row["max"] == 1 or row["doc"].endswith("without their logic"))]
    found = {name: [name] for name in names}
    for rule in parameters.SPEC["rule"]:
        if (match := re.fullmatch(r"(\w+) <= (\w+)", rule["require"])) and set(match.groups()) <= set(names):
            found[match[2]].append(match[1])
    return found


def area(sources, off, jobs, on_row):
    """Cells of the whole device without these features, and the error, if any."""
    config = {**parameters.CONFIGS[BASE], **dict.fromkeys(off, 0)}
    design, _, error = synth.elaborate(sources, synth.WHOLE, {"Config": parameters.literal(config)}, True)
    if error:
        return None, error
    rows, _, errors, _ = synth.map_device(BASE, design, jobs, on_row)
    return {name: sum(row[name] for row in rows) for name in synth.COLUMNS}, errors[0] if errors else None


def page(whole, found):
    """Writes the table to docs/area.md."""
    text = synth.AREA.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return f"{synth.AREA.relative_to(synth.ROOT)} has no block {BEGIN.strip()} to write to"
    lines = [f"| {BASE} without | {' | '.join(synth.COLUMNS)} |", "|---|" + "---:|" * len(synth.COLUMNS)]
    lines += [f"| {', '.join(f'`{name}`' for name in off)} | " + " | ".join(f"{cells[c] - whole[c]:+,}" for c in synth.COLUMNS) + " |"
              for off, cells in sorted(found, key=lambda row: row[1]["LUT"])]
    synth.AREA.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")
    return None


def measure(sources, jobs):
    """Measures every switch and writes the table. Returns errors."""
    whole, error = area(sources, [], jobs, synth.show_row)
    if error:
        return [error]
    found = []
    for off in switches().values():
        print(f"{BASE} without {', '.join(off)} ...", flush=True)
        cells, error = area(sources, off, jobs, lambda row, seconds: seconds and synth.show_row(row, seconds))
        if error:
            return [error]
        print(", ".join(f"{cells[c] - whole[c]:+,} {c}" for c in synth.COLUMNS), flush=True)
        found.append((off, cells))
    error = page(whole, found)
    return [error] if error else []


def main():
    parser = argparse.ArgumentParser(prog="./vireo synth --switches", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="Yosys runs in parallel (default: %(default)s; each needs up to 4 GB)")
    options = parser.parse_args()
    (synth.WORK / "cache").mkdir(parents=True, exist_ok=True)
    synth.show("block", "module", "config", *synth.COLUMNS, "s")
    return synth.report("synth --switches", measure(yosys.sources(), options.jobs))


if __name__ == "__main__":
    sys.exit(main())
