#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the checkers: puts deliberate faults (mutants.toml) into the RTL and sees whether the tests of whole NICs
notice. `./vireo mutants` is the command.

All faults are in one build. A generated copy of the RTL asks vireo_mutant_pkg::vireo_mutant(), a number that is the same
for all of a program's run (VIREO_MUTANT), which fault it shall have; 0 is none. So a mutant costs a run, not a build."""

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
# (name, GoogleTest filter, environment), in the order in which they are tried: lockstep on nic1.
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
    ("trouble", "*/Trouble.*/lockstep_nic1", {}),
    ("more random", "*/Random.*/lockstep_nic1_*", {"VIREO_RANDOM_ROUNDS": "12", "VIREO_SEED": "2"}),
]


def load():
    mutants = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    for number, mutant in enumerate(mutants, 1):
        mutant["number"] = number
        mutant["block"] = pathlib.Path(mutant["file"]).stem.removeprefix("vireo_")
    return mutants


def locate(mutant, text):
    """Where its text begins, or an error."""
    start = 0
    if "after" in mutant:
        if text.count(mutant["after"]) != 1:
            return f"`after` is in {mutant['file']} {text.count(mutant['after'])} times"
        start = text.index(mutant["after"]) + len(mutant["after"])
    count = text.count(mutant["search"], start)
    return text.index(mutant["search"], start) if count == 1 else f"`search` is in {mutant['file']} {count} times"


def stale(mutants):
    """Those whose text is not where it should be, with the reason. Nothing else is known to be wrong with them."""
    result = {}
    for mutant in mutants:
        path = ROOT / mutant["file"]
        where = locate(mutant, path.read_text(encoding="utf-8")) if path.exists() else f"there is no {mutant['file']}"
        if isinstance(where, str):
            result[mutant["name"]] = where
    return result


def spoil(text, mutants):
    """The text with a choice in place of what each mutant changes. Mutants of one file do not overlap."""
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
    """Every source of rtl/sources.f with its faults; a file that would stay the same is not touched."""
    mutants = load()
    without = stale(mutants)
    for name, why in without.items():
        print(f"mutants.toml: {name} is left out: {why}", file=sys.stderr)
    texts = {"vireo_mutant_pkg.sv": PACKAGE}
    for line in (ROOT / "rtl/sources.f").read_text(encoding="utf-8").split("\n"):
        if not line or line.startswith("#"):
            continue
        mine = [mutant for mutant in mutants if mutant["file"] == line and mutant["name"] not in without]
        texts[pathlib.Path(line).name] = spoil((ROOT / line).read_text(encoding="utf-8"), mine)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def run(program, number, stage, timeout):
    """(it failed, what it says first about that, seconds)."""
    _, tests, settings = stage
    environment = os.environ | {"VIREO_MUTANT": str(number), "VIREO_WAVEFORM": "off", "VIREO_SEED": "1",
                                "VIREO_STOP_AT_MISMATCH": "1"} | settings
    begin = time.monotonic()
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env=environment,
                              timeout=timeout)
    except subprocess.TimeoutExpired:
        return True, f"does not end within {timeout} s", time.monotonic() - begin  # for instance a dead device
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        if not re.search(r"\[  PASSED  \] [1-9]", done.stdout):
            sys.exit(f"{program} has no tests {tests}")
        return False, "", seconds
    mismatch = re.search(r"LOCKSTEP MISMATCH: (.*)", done.stdout)
    if mismatch:
        return True, mismatch.group(1), seconds
    if done.returncode < 0:
        lines = done.stdout.strip().splitlines()
        return True, f"signal {-done.returncode}: {lines[-1] if lines else ''}", seconds
    table = re.search(r"^-?total +(\d+) +(\d+)", done.stdout, re.MULTILINE)
    if table and table.group(1) != table.group(2):
        return True, f"{int(table.group(1)) - int(table.group(2))} of {table.group(1)} events come in another cycle", seconds
    failure = re.search(r"^.*: Failure\n(.*)", done.stdout, re.MULTILINE)
    return True, failure.group(1).strip() if failure else f"exit status {done.returncode}", seconds


def main():
    parser = argparse.ArgumentParser(prog="./vireo mutants", description="Deliberate faults in the RTL against the tests "
                                     "of whole NICs in lockstep. Ends with 1 if one survives.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--list", action="store_true", help="names and faults, nothing else")
    parser.add_argument("--check", action="store_true", help="only whether every fault still finds its place in the RTL")
    parser.add_argument("--markdown", action="store_true", help="the results as rows of a table")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one run of a program (%(default)s)")
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
        sys.exit(f"there is no mutant {' '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants if not options.names or mutant["name"] in options.names]
    if options.update and options.names:
        parser.error("--update writes the table of all mutants; leave out the names")
    if options.list:
        for mutant in chosen:
            print(f"{mutant['name']:24} {mutant['block']:16} {mutant['fault']}")
        return 0
    without = stale(chosen)
    for name, why in without.items():
        print(f"{name}: {why}")
    if options.check or without:
        return 1 if without else 0
    rows, total = [], 0.0

    for stage in STAGES if not options.names else STAGES[:1]:
        failed, what, _ = run(options.program, 0, stage, options.timeout)
        if failed:
            sys.exit(f"the RTL without a fault fails in {stage[0]}: {what}")
    survivors = []
    for mutant in chosen:
        failed, what, by, seconds = False, "", "nothing", 0.0
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
