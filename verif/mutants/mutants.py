#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: injects the faults of mutants.toml into the RTL and checks that the whole-NIC tests detect them.
Command: `./vireo mutants`.

All mutants are in one build. A generated copy of the RTL selects the active one by vireo_mutant_pkg::vireo_mutant(), which
is constant for a program's run (VIREO_MUTANT; 0: none). So a mutant costs a run, not a build."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position

PAGE, COMMAND = ROOT / "docs/lockstep.md", "./vireo mutants --update"  # where the table of all is
LIST = pathlib.Path(__file__).with_name("mutants.toml")
PACKAGE = """// SPDX-License-Identifier: Apache-2.0
package vireo_mutant_pkg;
  import "DPI-C" pure function int vireo_mutant();
endpackage
"""
# (name, GoogleTest filter, environment), in the order in which they run: lockstep on nic1.
STAGES = [
    ("write", "*/Write.*/lockstep_nic1_*", {}),
    ("send", "*/Send.*/lockstep_nic1_*", {}),
    ("read", "*/*Read.*/lockstep_nic1_*", {}),
    ("uc", "*/Uc.*/lockstep_nic1_*", {}),
    ("datagram", "*/Datagram.*/lockstep_nic1_*", {}),
    ("net", "*/Net.*/lockstep_nic1_*", {}),
    ("loss", "*/Loss.*/lockstep_nic1_*", {}),
    ("random", "*/Random.*/lockstep_nic1_*", {"VIREO_RANDOM_ROUNDS": "3"}),
    ("frames", "*/Frames.*/lockstep_nic1", {"VIREO_FRAMES": "1500"}),
    ("errors", "*/Errors.*/lockstep_nic1", {}),
    ("more random", "*/Random.*/lockstep_nic1_*", {"VIREO_RANDOM_ROUNDS": "12", "VIREO_SEED": "2"}),
]


def load():
    mutants = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    for number, mutant in enumerate(mutants, 1):
        mutant["number"] = number
        mutant["block"] = pathlib.Path(mutant["file"]).stem.removeprefix("vireo_")
    return mutants


def locate(mutant, text):
    """Position of its search text, or an error message."""
    start = 0
    if "after" in mutant:
        if text.count(mutant["after"]) != 1:
            return f"`after` occurs {text.count(mutant['after'])} times in {mutant['file']}"
        start = text.index(mutant["after"]) + len(mutant["after"])
    count = text.count(mutant["search"], start)
    return text.index(mutant["search"], start) if count == 1 else f"`search` occurs {count} times in {mutant['file']}"


def stale(mutants):
    """Mutants whose search text is not found in the RTL, with the reason."""
    result = {}
    for mutant in mutants:
        path = ROOT / mutant["file"]
        where = locate(mutant, path.read_text(encoding="utf-8")) if path.exists() else f"no such file: {mutant['file']}"
        if isinstance(where, str):
            result[mutant["name"]] = where
    return result


def mutate(text, mutants):
    """The text with a run-time selection in place of each mutated expression. Mutants of one file must not overlap."""
    edits = sorted(((locate(mutant, text), mutant) for mutant in mutants), key=lambda edit: edit[0], reverse=True)
    for at, mutant in edits:
        original, other = mutant["search"], mutant["replace"]
        chosen = f"vireo_mutant_pkg::vireo_mutant() == 32'd{mutant['number']}"
        if original.endswith(";"):
            choice = f"if ({chosen}) begin {other} end else begin {original} end"
        else:
            choice = f"(({chosen}) ? ({other}) : ({original}))"
        text = text[:at] + choice + text[at + len(original):]
    return text


def generate(directory):
    """Writes every source of rtl/sources.f with its mutants; an unchanged file is not rewritten."""
    mutants = load()
    skipped = stale(mutants)
    for name, why in skipped.items():
        print(f"mutants.toml: {name} skipped: {why}", file=sys.stderr)
    texts = {"vireo_mutant_pkg.sv": PACKAGE}
    for line in (ROOT / "rtl/sources.f").read_text(encoding="utf-8").split("\n"):
        if not line or line.startswith("#"):
            continue
        selected = [mutant for mutant in mutants if mutant["file"] == line and mutant["name"] not in skipped]
        texts[pathlib.Path(line).name] = mutate((ROOT / line).read_text(encoding="utf-8"), selected)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def run(program, number, stage, timeout):
    """(failed, first sign of the failure, seconds)."""
    _, tests, settings = stage
    environment = os.environ | {"VIREO_MUTANT": str(number), "VIREO_WAVEFORM": "off", "VIREO_SEED": "1",
                                "VIREO_STOP_AT_MISMATCH": "1"} | settings
    begin = time.monotonic()
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env=environment,
                              timeout=timeout)
    except subprocess.TimeoutExpired:
        return True, f"timeout after {timeout} s", time.monotonic() - begin  # for instance a hung device
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        if not re.search(r"\[  PASSED  \] [1-9]", done.stdout):
            sys.exit(f"{program} has no tests that match {tests}")
        return False, "", seconds
    mismatch = re.search(r"LOCKSTEP MISMATCH: (.*)", done.stdout)
    if mismatch:
        return True, mismatch.group(1), seconds
    if done.returncode < 0:
        lines = done.stdout.strip().splitlines()
        return True, f"signal {-done.returncode}: {lines[-1] if lines else ''}", seconds
    table = re.search(r"^-?total +(\d+) +(\d+)", done.stdout, re.MULTILINE)
    if table and table.group(1) != table.group(2):
        return True, f"{int(table.group(1)) - int(table.group(2))} of {table.group(1)} events in a different cycle", seconds
    failure = re.search(r"^.*: Failure\n(.*)", done.stdout, re.MULTILINE)
    return True, failure.group(1).strip() if failure else f"exit status {done.returncode}", seconds


def main():
    parser = argparse.ArgumentParser(prog="./vireo mutants", description="Mutation testing of the RTL: runs the "
                                     "whole-NIC lockstep tests on each mutant. Exits with 1 if one survives.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument("--list", action="store_true", help="list names and faults")
    parser.add_argument("--check", action="store_true", help="only check that every mutant still applies to the RTL")
    parser.add_argument("--markdown", action="store_true", help="print the results as Markdown table rows")
    parser.add_argument("--timeout", type=int, default=600, help="seconds per run of the test program (default: %(default)s)")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--update", action="store_true", help="write the table of docs/lockstep.md; needs a run of all")
    parser.add_argument("--generate", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        generate(options.generate)
        return 0
    mutants = load()
    unknown = set(options.names) - {mutant["name"] for mutant in mutants}
    if unknown:
        sys.exit(f"unknown mutant {' '.join(sorted(unknown))}; ./vireo mutants --list shows all")
    chosen = [mutant for mutant in mutants if not options.names or mutant["name"] in options.names]
    if options.update and options.names:
        parser.error("--update writes the table of all mutants; leave out the names")
    if options.list:
        for mutant in chosen:
            print(f"{mutant['name']:24} {mutant['block']:16} {mutant['fault']}")
        return 0
    skipped = stale(chosen)
    for name, why in skipped.items():
        print(f"{name}: {why}")
    if options.check or skipped:
        return 1 if skipped else 0
    rows, total = [], 0.0

    for stage in STAGES if not options.names else STAGES[:1]:
        failed, what, _ = run(options.program, 0, stage, options.timeout)
        if failed:
            sys.exit(f"the unmutated RTL fails in {stage[0]}: {what}")
    survivors = []
    for mutant in chosen:
        failed, what, by, seconds = False, "", "none", 0.0
        for stage in sorted(STAGES, key=lambda stage: stage[0] != mutant.get("first")):
            failed, what, one = run(options.program, mutant["number"], stage, options.timeout)
            seconds += one
            if failed:
                by = stage[0]
                break
        if not failed:
            survivors.append(mutant["name"])
        rows.append(f"| `{mutant['name']}` | {mutant['fault']} | {by} | {what} |")
        total += seconds
        if options.markdown:
            print(rows[-1], flush=True)
        else:
            print(f"{'caught' if failed else 'SURVIVED':9} {mutant['name']:24} by {by:12} {seconds:6.1f} s  {what}", flush=True)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught")
    if options.update:
        generated.replace(PAGE, COMMAND, "\n".join([
            f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught on nic1, in {total / 60:.0f} minutes of one core.", "",
            "| mutant | fault | detected by | first sign |", "|---|---|---|---|", *rows]))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
