#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Timing of every block of the two named configurations, each block alone.

nic1: placed and routed with nextpnr for ECP5, between registers. nic100: logic depth of the netlist mapped for UltraScale+, with
a constant delay per net (no open tool places it). Without arguments: all blocks, more than an hour. `--update` writes the rows of
the blocks that ran into docs/timing.md. Blocks that have not changed are taken from the cache. Neither figure says what a whole
device reaches: it is slower than its slowest block."""

import argparse
import concurrent.futures
import json
import re
import sys

import levels
import netlist as netlist_names
import place
import synth
import yosys
from yosys import ROOT

sys.path.append(str(ROOT / "rtl"))
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position
import parameters  # noqa: E402  pylint: disable=wrong-import-position

PAGE = ROOT / "docs/timing.md"
COMMAND = "./vireo timing --update"
ROUTED, ESTIMATED = "nic1", "nic100"
SPEED, SEED = 8, 1  # of the page: speed grade of the ECP5, placement
HEAD = {
    ROUTED: ("block", "MHz", "inside", "inputs", "outputs", "through", "COMB", "FF", "DP16KD", "worst path"),
    ESTIMATED: ("block", "LUT levels", "carry chains", "inside", "inputs", "outputs", "through", "late ends", "worst path"),
}


def period_ns(config: str) -> float:
    return 1e6 / parameters.CONFIGS[config]["core_clock_khz"]


def instance(module: str) -> str:
    return module.partition(f"${synth.WHOLE}.u_")[2]


def routed(block: str, netlist, speed: int, seed: int):
    timing, seconds, error = place.place(block, netlist, 1000 / period_ns(ROUTED), speed, seed)
    if error:
        return None, seconds, error
    ns = (f"{value:.1f}" if value else "–" for value in (timing.inside, timing.into, timing.out, timing.through))
    row = (instance(block), f"{timing.mhz:.1f}" if timing.mhz else "–", *ns, f"{timing.comb:,}", f"{timing.ff:,}", f"{timing.ram:,}", timing.path)
    return row, seconds, ""


def estimated(block: str, netlist, _speed: int, _seed: int):
    """The depth of one block; its JSON is made by Yosys from the cached netlist."""
    design = netlist.with_suffix(".json_netlist")
    seconds = 0.0
    if not design.exists():
        partial = synth.WORK / f"levels.{instance(block)}.json"  # a run that is stopped leaves no half of a result
        seconds, error = yosys.run(synth.WORK, f"levels.{instance(block)}", [
            f"read_verilog -lib {synth.TARGETS[ESTIMATED][2]}", f"read_rtlil {netlist.relative_to(ROOT)}", f"hierarchy -check -purge_lib -top {block}",
            "blackbox =A:whitebox", f"write_json {partial.relative_to(ROOT)}"])
        if error:
            return None, seconds, f"{block}: {error}"
        partial.replace(design)
    module = json.loads(design.read_text(encoding="utf-8"))["modules"][block]
    try:
        depth = levels.Netlist(module).depth(period_ns(ESTIMATED))
    except ValueError as error:
        return None, seconds, f"{block}: {error}"

    labels = netlist_names.labels(module)
    ns = (f"{value:.1f}" if value > 0 else "–" for value in (depth.path.ns, depth.in_ns, depth.out_ns, depth.through_ns))
    path = f"{labels[depth.path.start]} → {labels[depth.end]}" if depth.path.ns > 0 else ""
    return (instance(block), str(depth.path.luts), str(depth.path.chains), *ns, f"{depth.late:,}", path), seconds, ""


def known(config: str, block: str, netlist) -> float | None:
    """MHz of a routed block, LUT levels of an estimated one, if a netlist like this was analyzed before."""
    if not netlist.exists():
        return None
    if config == ROUTED:
        timing = place.known(block, netlist, 1000 / period_ns(ROUTED), SPEED, SEED)
        return round(timing.mhz, 1) if timing and timing.mhz else None
    design = netlist.with_suffix(".json_netlist")
    if not design.exists():
        return None
    module = json.loads(design.read_text(encoding="utf-8"))["modules"][block]
    return float(levels.Netlist(module).depth(period_ns(ESTIMATED)).path.luts)


def documented(config: str, page: str) -> dict[str, float]:
    """The same of the blocks of a named configuration that the page has, by instance."""
    section = page.partition(f"## {config}\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in re.findall(r"^\| (.+) \|$", section, re.MULTILINE)]
    return {row[0]: float(row[1]) for row in rows if len(row) == len(HEAD[config]) and re.fullmatch(r"[\d.]+", row[1])}


def slowest_first(row) -> float:
    return -float(row[HEAD[ROUTED if len(row) == len(HEAD[ROUTED]) else ESTIMATED].index("inside")].replace("–", "0"))


def analyze(config: str, wanted: list[str], options) -> tuple[list, list[str]]:
    """Rows of the table of a configuration, and errors."""
    print(f"{config}: elaborating {synth.WHOLE} ...", flush=True)
    design, _, error = synth.elaborate(yosys.sources(), synth.WHOLE, parameters.alone(synth.WHOLE, config), True)
    if not error:
        design, _, error = synth.across(config, design)
    if error:
        return [], [error]
    blocks = sorted((name for name in design if name != synth.WHOLE and (not wanted or instance(name) in wanted)), key=lambda name: len(design[name]))
    unknown = set(wanted) - {instance(name) for name in design}
    if unknown:
        known = ", ".join(sorted(instance(name) for name in design if instance(name)))
        return [], [f"{config} has no block {', '.join(sorted(unknown))}; known: {known}"]
    analysis = routed if config == ROUTED else estimated

    def one(block: str):
        _, netlist, mapped, failed = synth.map_module(config, block, design[block])
        if failed:
            return None, mapped, failed
        row, seconds, failed = analysis(block, netlist, options.speed, options.seed)
        return row, mapped + seconds, failed

    rows, errors = [], []
    print("  ".join(HEAD[config]), flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for run in concurrent.futures.as_completed([pool.submit(one, block) for block in blocks]):
            row, seconds, error = run.result()
            if error:
                errors.append(error)
                print(f"FAILED: {error.splitlines()[0]}", flush=True)
                continue
            rows.append(row)
            print(f"[{len(rows)}/{len(blocks)}] {'  '.join(row)}  ({f'{seconds:.0f} s' if seconds >= 1 else 'cached'})", flush=True)
    return rows, errors


def table(config: str, rows, page: str) -> str:
    """The rows and those of other blocks on the page, slowest block first."""
    head = HEAD[config]
    names = {row[0] for row in rows}
    section = page.partition(f"## {config}\n")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| (.+) \|$", section, re.MULTILINE):
        cells = tuple(line.split(" | "))
        if len(cells) == len(head) and cells != head and cells[0] not in names:
            rows.append(cells)
    rows.sort(key=slowest_first)
    aligned = "|---|" + "---:|" * (len(head) - 2) + "---|"
    return "\n".join([f"| {' | '.join(head)} |", aligned, *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="./vireo timing", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("blocks", nargs="*", metavar="BLOCK", help="only these blocks, for example csr (default: all)")
    parser.add_argument("--config", choices=(ROUTED, ESTIMATED), help="only this configuration (default: both)")
    parser.add_argument("--speed", type=int, choices=(6, 7, 8), default=SPEED, help="speed grade of the ECP5 (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="of placement (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="runs in parallel (default: %(default)s; each needs up to 4 GB)")
    parser.add_argument("--update", action="store_true", help="write the rows into docs/timing.md; only with speed grade 8 and seed 1")
    options = parser.parse_args()
    if options.update and (options.speed, options.seed) != (SPEED, SEED):
        parser.error("--update: docs/timing.md is for speed grade 8 and seed 1")
    if not yosys.PROGRAM.exists() or not place.PROGRAM.exists():
        sys.exit("Yosys or nextpnr is not installed; run ./vireo setup")
    (synth.WORK / "cache").mkdir(parents=True, exist_ok=True)
    errors, results = [], {}
    for config in [options.config] if options.config else HEAD:
        results[config], failed = analyze(config, options.blocks, options)
        errors += failed
    if options.update and not errors:
        page = PAGE.read_text(encoding="utf-8")
        parts = [f"## {config}\n\n{table(config, results.get(config, []), page)}" for config in HEAD]
        generated.replace(PAGE, COMMAND, "\n\n".join(parts))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return synth.report("timing", errors)


if __name__ == "__main__":
    sys.exit(main())
