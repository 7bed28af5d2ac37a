#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./vireo faults --slurm N`: the fault campaign as a Slurm job array, and its output as of one run. First argument: the
program; the others are its own."""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "sim/common"))
import job_array  # noqa: E402  pylint: disable=wrong-import-position

CASE = 27  # columns of fault and transport
SUMMARY = re.compile(r"(\d+) cases: (\d+) not as defined, (\d+) differ between devices, (\d+) messages lost, (\d+) hung")
RUNS_NOTHING = ("--list", "--markdown", "--help", "-h")


def cases_of(output: str) -> tuple[str, list[str], list[int]]:
    """(heading, lines of each fault and transport, numbers of the last line) of what the program prints."""
    heading, *lines = output.splitlines()
    numbers = SUMMARY.fullmatch(lines[-1]) if lines else None
    if numbers is None:
        raise job_array.ArrayError("a share has printed no summary")
    if lines[0].startswith("seed: "):  # of the first case; a share without cases has none
        heading += "\n" + lines.pop(0)
    cases: list[list[str]] = []
    case = ""
    for line in lines[:-1]:
        if not line.startswith("    ") and line[:CASE] != case:
            case = line[:CASE]
            cases.append([])
        cases[-1].append(line)
    return heading, ["\n".join(one) for one in cases], [int(number) for number in numbers.groups()]


def merge(outputs: list[str]) -> str:
    """The output of one run: share I has every N-th case, from the I-th on."""
    shares = [cases_of(output) for output in outputs]
    lines = [max((heading for heading, _, _ in shares), key=len), *job_array.interleaved([cases for _, cases, _ in shares])]
    total = [sum(numbers) for numbers in zip(*(numbers for _, _, numbers in shares), strict=True)]
    lines.append("{} cases: {} not as defined, {} differ between devices, {} messages lost, {} hung".format(*total))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="vireo faults", description=__doc__, allow_abbrev=False, add_help=False)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--slurm", type=job_array.tasks_of, required=True, metavar="N")
    parser.add_argument("--slurm-options", default="", metavar="TEXT")
    parser.add_argument("--slurm-folder", type=pathlib.Path, default=ROOT / "build/slurm/faults", help=argparse.SUPPRESS)
    options, others = parser.parse_known_args()
    for word in others:
        if word in RUNS_NOTHING or word.partition("=")[0] in ("--shard", "--capture"):
            parser.error(f"--slurm runs all shares of the campaign: leave out {word}")
    program = options.program.resolve()
    checked = subprocess.run([program, *others, "--list"], capture_output=True, text=True, check=False)
    if checked.returncode != 0:
        print(checked.stderr, end="", file=sys.stderr)
        return checked.returncode
    array = job_array.JobArray("vireo-faults", options.slurm, shlex.split(options.slurm_options), options.slurm_folder.resolve())

    def run() -> int:
        shares = job_array.run_shares(array, [str(program), *others], [program])
        job_array.check(shares)
        print(merge([share.output for share in shares]))
        return max(share.code for share in shares)

    return job_array.run_command("vireo faults", run)


if __name__ == "__main__":
    sys.exit(main())
