#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the memories of rtl/ with their tables in docs/parity.md: each is covered by parity, or has a reason why not;
each that keeps its contents over a reset has a reason why that is harmless.

A memory is an instance of a cell that is one or has one, or an array that a module writes itself. Rows of the table are
`| block | memories | written by | parity |`: the last column is the word `parity`, for instances of
vireo_context_table and no others, or a reason. Fails if a memory is in no row or in two, if a row names something that
is no memory, or if the column is wrong. Rows of the table of what is kept over a reset are `| block | memories | reason |`:
the instances of vireo_ram_1r1w and the arrays, and no others. Each value of context_ram is used exactly once, except by copies in one block.
"""

import argparse
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = ["vireo_ram_1r1w", "vireo_ram_2clk", "vireo_table", "vireo_fifo", "vireo_async_fifo", "vireo_queue_state", "vireo_index_set",
         "vireo_context_table"]
COVERED = "vireo_context_table"
# All others clear themselves after a reset, or show what was pushed since.
KEPT_OVER_RESET = {"vireo_ram_1r1w", "vireo_ram_2clk", "array"}
# The cells themselves, and what contains no memory but those.
CELL_FILES = {f"{cell}.sv" for cell in CELLS}
SHORTEST_REASON = 12

INSTANCE = re.compile(r"^\s*(" + "|".join(CELLS) + r")\s*#\s*\(")
RAM = re.compile(r"\.Ram\(\s*ContextRam(\w+)\s*\)")
ARRAY = re.compile(r"^\s*logic\s+(?:\[[^\]]+\]\s*)*(\w+)\s*\[[^\]]+\]\s*;", re.MULTILINE)
KEPT_ROW = re.compile(r"^\|\s*(\w+)\s*\|\s*([^|]+?)\s*\|\s*([^|]+?)\s*\|$", re.MULTILINE)
ROW = re.compile(r"^\|\s*`?(\w+)`?\s*\|\s*(.+?)\s*\|\s*(.+?)\s*\|\s*(.+?)\s*\|$", re.MULTILINE)


def closing(text, start):
    """Position behind the bracket that closes the one before `start`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[start], 0)
        start += 1
    return start


def memories(sources):
    """(block, instance) -> cell or "array", and (block, context_ram) of each covered one, of files by name."""
    found, rams = {}, []
    for name, text in sources.items():
        if name in CELL_FILES:
            continue
        block = name.removeprefix("vireo_").removesuffix(".sv")
        text = re.sub(r"//.*", "", text)
        for line in re.finditer(r"^.*$", text, re.MULTILINE):
            match = INSTANCE.match(line.group())
            if not match:
                continue
            start = line.start() + match.end()
            end = closing(text, start)
            instance = re.match(r"\s*(\w+)", text[end:]).group(1)
            found[block, instance] = match.group(1)
            if match.group(1) == COVERED:
                ram = RAM.search(text[start:end])
                rams.append((block, ram.group(1) if ram else f"none of {instance}"))
        for array in ARRAY.findall(text):
            if re.search(rf"^\s*(?:if\s*\(.*\)\s*)?{array}\[[^\]]+\]\s*<=", text, re.MULTILINE):
                found[block, array] = "array"
    return found, rams


def rows(document):
    """(block, instance) -> last column, of the table, and errors."""
    table, errors = {}, []
    section = document.partition("\n## Memories\n")[2].partition("\n## ")[0]
    for block, names, writer, parity in ROW.findall(section):
        if block == "block":
            continue
        if not writer.strip("- "):
            if block.strip("- "):
                errors.append(f"{block}: no writer of {names}")
            continue
        for name in re.findall(r"`(\w+)`", names):
            if (block, name) in table:
                errors.append(f"{block}.{name} is in two rows")
            table[block, name] = parity
    return table, errors


def kept_over_reset(document):
    """(block, instance) -> reason."""
    section = document.partition("\n## Kept over a reset\n")[2].partition("\n## ")[0]
    return {(block, name): reason for block, names, reason in KEPT_ROW.findall(section)
            for name in re.findall(r"`(\w+)`", names)}


def compare(sources, document, context_rams):
    """Differences, as texts."""
    found, rams = memories(sources)
    table, errors = rows(document)
    if not found:
        errors.append("no memory was found")
    for (block, name), cell in found.items():
        parity = table.get((block, name))
        if parity is None:
            errors.append(f"{block}.{name} ({cell}) is in no row: give it parity, or a reason")
        elif (parity == "parity") != (cell == COVERED):
            errors.append(f"{block}.{name} is a {cell}, and the table says `{parity}`")
        elif parity != "parity" and len(parity) < SHORTEST_REASON:
            errors.append(f"{block}.{name}: `{parity}` is no reason")
    errors += [f"{block}.{name} is no memory of rtl/" for block, name in table if (block, name) not in found]
    reasons = kept_over_reset(document)
    kept = {memory for memory, cell in found.items() if cell in KEPT_OVER_RESET}
    errors += [f"{block}.{name} keeps its contents over a reset: say in the table why that is harmless"
               for block, name in sorted((kept & table.keys()) - reasons.keys())]
    errors += [f"{block}.{name} of the table keeps nothing over a reset" for block, name in sorted(reasons.keys() - kept)]
    errors += [f"{block}.{name}: `{reason}` is no reason" for (block, name), reason in reasons.items()
               if len(reason) < SHORTEST_REASON]
    names = {"".join(part.capitalize() for part in ram.split("_")) for ram in context_rams}
    used = {ram for _, ram in rams}
    errors += [f"context_ram {ram} has no memory" for ram in sorted(names - used)]
    errors += [f"the memory of {ram} is not in context_ram" for ram in sorted(used - names)]
    for ram in sorted(used):
        if len({block for block, other in rams if other == ram}) > 1:
            errors.append(f"context_ram {ram} has memories in several blocks")
    return errors


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "rtl").rglob("*.sv"))}
    spec = tomllib.loads((ROOT / "spec/csr.toml").read_text(encoding="utf-8"))
    enum = next(one for one in spec["enum"] if one["name"] == "context_ram")
    document = (ROOT / "docs/parity.md").read_text(encoding="utf-8")
    errors = compare(sources, document, [value["name"] for value in enum["values"]])
    for error in errors:
        print(f"docs/parity.md: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
