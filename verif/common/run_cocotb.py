#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a simulator of a top in which cocotb runs tests, and runs one module of tests in it.

`run_cocotb.py build DIR TOP -GNAME=VALUE … SOURCE …` and `run_cocotb.py test DIR TOP CONFIG_NAME MODULE FOLDER …`, where MODULE and
what it imports are in FOLDERs, the top in the first one or in rtl/. Verilator returns 0 when a test fails: what cocotb reports decides."""

import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import cocotb

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = pathlib.Path(cocotb.__file__).parent / "libs"
MAIN = pathlib.Path(cocotb.__file__).parent / "share/lib/verilator/verilator.cpp"


def build(folder, top, *arguments):
    # Tests reach the ports of the top and nothing else.
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ports = folder / "ports.vlt"
    ports.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n', encoding="utf-8")
    command = ["verilator", "--cc", "--exe", "--build", "-j", "2", "--vpi", "--assert", "--timescale", "1ns/1ps", "--prefix", "Vtop",
               "-Mdir", str(folder), "--top-module", top, "-Wno-fatal", "-Wno-lint",
               "--output-split", "20000", "-CFLAGS", "-O1 -g0",
               "-LDFLAGS", f"-Wl,-rpath,{LIBRARIES} -L{LIBRARIES} -lcocotbvpi_verilator", "-o", "simulator", str(MAIN), str(ports), *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "OBJCACHE": "ccache"}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout[-4000:] + done.stderr[-8000:])


def test(folder, top, config_name, module, *folders):
    folder = pathlib.Path(folder).resolve()
    results = folder / f"{module}.xml"
    results.unlink(missing_ok=True)
    seed = os.environ.get("VIREO_SEED") or (ROOT / "verif/seed").read_text(encoding="utf-8").strip()
    environment = {
        **os.environ, "MODULE": module, "TOPLEVEL": top, "TOPLEVEL_LANG": "verilog", "VIREO_CONFIG": config_name, "VIREO_TOP_FOLDER": folders[0],
        "RANDOM_SEED": str(int(seed, 0) & 0x7fffffff), "COCOTB_RESULTS_FILE": str(results), "COCOTB_LOG_LEVEL": "INFO",
        "PYTHONPATH": os.pathsep.join([*folders, *sys.path]), "PYTHONDONTWRITEBYTECODE": "1", "COCOTB_REDUCED_LOG_FMT": "1",
        "LD_LIBRARY_PATH": str(LIBRARIES),
    }
    print(f"VIREO_SEED={seed}", flush=True)
    # A simulator that counts what is reached writes it to its folder: one for each module, which may run at the same time.
    counts = os.environ.get("VIREO_COVERAGE_DIR")
    here = folder / module if counts else folder
    here.mkdir(exist_ok=True)
    subprocess.run([str(folder / "simulator")], cwd=here, env=environment, check=True, timeout=540)
    if counts:
        shutil.move(here / "coverage.dat", pathlib.Path(counts) / f"{folder.name}.{module}.dat")
    if not results.exists():
        sys.exit("no results")
    cases = list(xml.etree.ElementTree.parse(results).iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    for case in cases:
        print(f"{'FAILED' if case.get('name') in failed else 'passed'} {case.get('name')}, {float(case.get('time')):.1f} s")
    if failed or not cases:
        sys.exit("no test was run" if not cases else f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    {"build": build, "test": test}[sys.argv[1]](*sys.argv[2:])
