#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of the RTL beside the NIC (beside.toml): its tests by cocotb must detect each. Command: `./vireo mutants --beside`.

As in mutants.py all faults of a simulator are in one build, and VIREO_MUTANT selects one."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import mutants as common  # noqa: E402  pylint: disable=wrong-import-position
from mutants import ROOT, generated  # noqa: E402  pylint: disable=wrong-import-position

LIST = HERE / "beside.toml"
PAGE, COMMAND = ROOT / "docs/coverage.md", "./vireo mutants --beside --update"
COCOTB = [str(ROOT / "build/venv/bin/python"), str(ROOT / "verif/common/run_cocotb.py")]


def tops(build):
    """Name of a test -> (its module, the simulator that it runs in), by what CMake wrote of each."""
    found = {}
    for file in sorted((build / "cocotb").glob("*.json")):
        top = json.loads(file.read_text(encoding="utf-8"))
        for test in top["tests"]:
            found[f"verif.{top['area']}.{test}.{top['config']}"] = (f"{test}_test", top)
    return found


def build_top(build, top, mutants):
    """A simulator with all faults; its folder."""
    name = f"{top['top']}_{top['config']}"
    folder = build / "verif/mutants/beside" / name
    # What it is made of besides RTL: a card's image.
    files = [pathlib.Path(path) for parameter in top["parameters"] for path in re.findall(r"\"(/.*)\"", parameter)]
    if not all(file.exists() for file in files):
        subprocess.run(["cmake", "--build", build, "-j", str(os.cpu_count()), "--target", name], stdout=sys.stderr, check=True)
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / "vireo_mutant_pkg.sv"
    texts, sources = {package: common.PACKAGE}, [package]
    for source in map(pathlib.Path, top["sources"]):
        path = str(source.relative_to(ROOT)) if source.is_relative_to(ROOT) else ""
        if path.startswith("rtl/"):
            sources.append(folder / source.name)
            texts[sources[-1]] = common.mutate(path, mutants, "rtl")
        else:
            sources.append(source)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    done = subprocess.run([*COCOTB, "build", str(folder), top["top"], *top["parameters"], *map(str, sources), str(HERE / "mutant.cc")],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stdout}{done.stderr}")
    return folder


def run(folder, module, top, number, case):
    """(failed, first sign)."""
    environment = os.environ | {"VIREO_MUTANT": str(number), "VIREO_SEED": "1"}
    if case:
        environment["TESTCASE"] = case
    done = subprocess.run([*COCOTB, "test", str(folder), top["top"], top["config"], module, *top["folders"]], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", env=environment, check=False)
    if done.returncode == 0:
        if "passed " not in done.stdout:
            sys.exit(f"{module} has no test {case}")
        return False, ""
    signs = re.findall(r"(?:AssertionError|SimTimeoutError|Exception|Error)\b: ?(.*)|(Assertion failed in .*)|(TimeoutExpired)", done.stdout)
    texts = [text for sign in signs for text in sign if text] + re.findall(r"^ +(assert .*)", done.stdout, re.MULTILINE)
    failed = re.search(r"^FAILED (\w+)", done.stdout, re.MULTILINE)
    return True, (f"{failed[1]}: " if failed else "") + (texts[0][:100] if texts else f"exit status {done.returncode}")


def run_all(build, chosen):
    found, folders, results = tops(build), {}, []
    everything = common.load(LIST)
    for mutant in chosen:
        if mutant["test"] not in found:
            sys.exit(f"{mutant['name']}: there is no test {mutant['test']}; ./vireo setup and ./vireo build")
        module, top = found[mutant["test"]]
        key = f"{top['top']}_{top['config']}"
        if key not in folders:
            folders[key] = build_top(build, top, everything)
        begin = time.monotonic()
        failed, sign = run(folders[key], module, top, mutant["number"], mutant.get("first", ""))
        if not failed and "first" in mutant:
            failed, sign = run(folders[key], module, top, mutant["number"], "")
        seconds = time.monotonic() - begin
        by = mutant["test"] if failed else "none"
        print(f"{'caught' if failed else 'SURVIVED':9} {mutant['name']:20} {seconds:6.1f} s  {by:28} {sign}", flush=True)
        sign = sign.replace("|", "\\|")
        results.append({"name": mutant["name"], "caught": failed, "seconds": seconds,
                        "row": f"| `{mutant['name']}` | {mutant['fault']} | {by} | {sign} |"})
    # A test that fails without a fault detects nothing.
    for key, folder in folders.items():
        for test in sorted({mutant["test"] for mutant in chosen}):
            module, top = found[test]
            if f"{top['top']}_{top['config']}" == key and (sign := run(folder, module, top, 0, "")[1]):
                sys.exit(f"{test} fails without a fault: {sign}")
    return results


def report(results, names, update):
    caught = sum(one["caught"] for one in results)
    print(f"{caught} of {len(results)} mutants caught")
    if update:
        rows = common.rows_of(generated.text_of(PAGE, COMMAND), results, names)
        generated.replace(PAGE, COMMAND, "\n".join([
            f"{sum(common.cells_of(row)[2] != 'none' for row in rows)} of {len(rows)} mutants caught.", "",
            "| mutant | fault | detected by | first sign |", "|---|---|---|---|", *rows]))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if caught == len(results) else 1


def main():
    parser = argparse.ArgumentParser(prog="./vireo mutants --beside", description="Mutation testing of the RTL beside the NIC: runs the tests by "
                                     "cocotb on each mutant. Exits with 1 if one survives.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument("--list", action="store_true", help="list names and faults")
    parser.add_argument("--check", action="store_true", help="only check that every mutant still applies to the RTL")
    parser.add_argument("--update", action="store_true", help="write the table of docs/coverage.md; with names only their rows")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev", help=argparse.SUPPRESS)
    options = parser.parse_args()
    mutants = common.load(LIST)
    if unknown := set(options.names) - {mutant["name"] for mutant in mutants}:
        sys.exit(f"unknown mutant {' '.join(sorted(unknown))}; ./vireo mutants --beside --list shows all")
    chosen = [mutant for mutant in mutants if not options.names or mutant["name"] in options.names]
    if options.list:
        for mutant in chosen:
            print(f"{mutant['name']:20} {mutant['block']:16} {mutant['fault']}")
        return 0
    skipped = common.stale(mutants if options.check else chosen)
    for name, why in skipped.items():
        print(f"{name}: {why}")
    if options.check or skipped:
        return 1 if skipped else 0
    return report(run_all(options.build.resolve(), chosen), [mutant["name"] for mutant in mutants], options.update)


if __name__ == "__main__":
    sys.exit(main())
