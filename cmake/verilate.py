#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Verilator and joins its output into a fixed list of C++ files.

The names of Verilator's own files are known only after it has run, but CMake needs them earlier; therefore its Verilator
package runs Verilator at configuration time, one class after the other. With fixed names Verilator is an ordinary build step.

Each output is a file of #include lines. The outputs of a kind (fast, slow, trace) are balanced by size, so that those of a
large class compile in parallel. A single output contains everything.
"""

import argparse
import pathlib
import subprocess


def kind_of(name: str) -> str:
    if "__Trace__" in name:
        return "trace"
    return "slow" if name.endswith("__Slow.cpp") else "fast"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, help="name of the class")
    parser.add_argument("--output", action="append", required=True, type=pathlib.Path,
                        help="PREFIX.KIND.N.cc, KIND of fast, slow, trace; or one file of any name for everything")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- VERILATOR …", help="without --prefix and --Mdir")
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command

    directory = arguments.output[0].parent
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob(f"{arguments.prefix}*.cpp"):
        old.unlink()
    subprocess.run([*command, "--prefix", arguments.prefix, "--Mdir", directory], check=True)

    parts: dict[pathlib.Path, list[str]] = {output: [] for output in arguments.output}
    sizes = dict.fromkeys(arguments.output, 0)
    files = sorted(directory.glob(f"{arguments.prefix}*.cpp"), key=lambda file: (-file.stat().st_size, file.name))
    for file in files:
        fitting = [output for output in arguments.output
                   if len(arguments.output) == 1 or f".{kind_of(file.name)}." in output.name]
        output = min(fitting, key=lambda candidate: sizes[candidate])
        sizes[output] += file.stat().st_size
        parts[output].append(file.name)
    for output, names in parts.items():
        output.write_text("".join(f'#include "{name}"\n' for name in sorted(names)), encoding="utf-8")


if __name__ == "__main__":
    main()
