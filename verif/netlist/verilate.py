#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verilates a netlist at build time, to a single C++ file; CMake's own support runs at configuration."""

import pathlib
import subprocess
import sys

verilator, prefix, top, output, *sources = sys.argv[1:]
directory = pathlib.Path(output).parent
for old in directory.glob(f"{prefix}*"):
    old.unlink()
# Yosys' assignment order does not follow the style rules: only the netlist's function matters here.
subprocess.run([verilator, "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style",
                "--prefix", prefix, "--top-module", top, "--Mdir", directory, *sources], check=True)
parts = sorted(path.name for path in directory.glob(f"{prefix}*.cpp"))
pathlib.Path(output).write_text("".join(f'#include "{part}"\n' for part in parts), encoding="utf-8")
