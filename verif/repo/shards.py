#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares of the test suite for several machines: `./vireo test --shard I/N`, `--merge FILE …` and `--slurm N`.

Every share is computed from the list of tests and the times of an earlier run, so that the machines need not know of each
other; all of them must use the same times. The longest test goes first, always to the share that has least to do."""

import argparse
import collections
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import TypeVar

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "sim/common"))
import job_array  # noqa: E402  pylint: disable=wrong-import-position

Item = TypeVar("Item")

FAILED = ("failure", "error")


class Problem(Exception):
    """For the user, in one line."""


def share_of(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 0 to N - 1")
    return int(match[1]), int(match[2])


def every_nth(items: Sequence[Item], shard: tuple[int, int] | None) -> list[Item]:
    """A share of the cases of a campaign (`./vireo faults`, `fuzz`, `mutants`); all without a share. Neighbours are alike."""
    index, count = shard or (0, 1)
    return list(items[index::count])


def listed(output: str) -> dict[str, int]:
    """Name -> number, from what `ctest -N` prints."""
    return {match[2]: int(match[1]) for match in re.finditer(r"^ *Test +#(\d+): (\S+)", output, re.MULTILINE)}


def read(file: pathlib.Path) -> ET.Element:
    try:
        root = ET.parse(file).getroot()
    except (OSError, ET.ParseError) as error:
        raise Problem(f"{file}: not a JUnit file: {error}") from error
    if root.tag != "testsuite":
        raise Problem(f"{file}: not a JUnit file of ctest: its root is <{root.tag}>")
    return root


def recorded(file: pathlib.Path) -> dict[str, float]:
    """Name -> seconds, from a JUnit file; empty if there is none."""
    if not file.exists():
        return {}
    return {case.get("name", ""): float(case.get("time", "0")) for case in read(file).iter("testcase")}


def program(name: str) -> str:
    """The tests of one program are alike: `verif.rdma.requester` of `verif.rdma.requester.Suite.Case`."""
    return re.split(r"\.(?=[A-Z]|[^.]*/)", name, maxsplit=1)[0]


def expected(names: list[str], times: dict[str, float]) -> dict[str, float]:
    """A time for each: its own, else the mean of its program's, else of all."""
    of_program: dict[str, list[float]] = collections.defaultdict(list)
    for name, seconds in times.items():
        of_program[program(name)].append(seconds)
    mean = {name: statistics.fmean(seconds) for name, seconds in of_program.items()}
    usual = statistics.fmean(times.values()) if times else 1.0
    return {name: times.get(name, mean.get(program(name), usual)) for name in names}


def shares(seconds: dict[str, float], count: int) -> list[list[str]]:
    result: list[list[str]] = [[] for _ in range(count)]
    total = [0.0] * count
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        least = min(range(count), key=lambda i: (total[i], len(result[i]), i))
        result[least].append(name)
        total[least] += seconds[name]
    return result


def merge(files: list[pathlib.Path], names: list[str]) -> ET.Element:
    """One suite of all. Fails if a test is in two files, or one of `names` in none."""
    suite = ET.Element("testsuite", {"name": "vireo"})
    where: dict[str, pathlib.Path] = {}
    for file in files:
        root = read(file)
        suite.set("timestamp", min(filter(None, (suite.get("timestamp"), root.get("timestamp"))), default=""))
        for case in root.iter("testcase"):
            name = case.get("name", "")
            if name in where:
                raise Problem(f"{file}: {name} is in {where[name]} too: these are not the shares of one run")
            where[name] = file
            suite.append(case)
    if missing := [name for name in names if name not in where]:
        raise Problem(f"{len(missing)} tests are in no file, the first one is {missing[0]}: a share is missing")
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(is_failed(case) for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.set("disabled", str(sum(case.get("status") == "disabled" for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
    return suite


def is_failed(case: ET.Element) -> bool:
    return case.get("status") == "fail" or any(case.find(tag) is not None for tag in FAILED)


def ctest_list(command: list[str]) -> dict[str, int]:
    done = subprocess.run(["ctest", *command, "-N"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem(f"ctest -N: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return listed(done.stdout)


def write_share(tests: dict[str, int], mine: list[str], output: pathlib.Path) -> None:
    # Start, end and stride select nothing; numbers follow. Without numbers ctest would take all: one that no test has.
    numbers = sorted(tests[name] for name in mine) or [max(tests.values(), default=0) + 1]
    output.write_text(",".join(["0,0,0", *map(str, numbers)]) + "\n", encoding="utf-8")


def by_slurm(tests: dict[str, int], parts: list[list[str]], ctest: list[str], folder: pathlib.Path, options: list[str]) -> list[pathlib.Path]:
    """Runs the shares as a job array on a folder that all machines see, and returns their JUnit files. A share without one, as when
    its task was preempted, is submitted again."""
    files = [folder / f"junit-{index}-of-{len(parts)}.xml" for index in range(len(parts))]
    wanted = [index for index, mine in enumerate(parts) if mine]
    script = (f'#!/bin/sh\nexec {shlex.join(["ctest", *ctest])} -I "{folder}/share-$SLURM_ARRAY_TASK_ID" '
              f'--output-junit "{folder}/junit-$SLURM_ARRAY_TASK_ID-of-{len(parts)}.xml" -j "${{SLURM_CPUS_PER_TASK:-1}}"\n')
    array = job_array.JobArray("vireo-test", len(parts), options, folder / "slurm", lambda text: print(f"slurm: {text}", flush=True))
    key: dict[str, object] = {"begin": time.time_ns()}  # an array of an earlier command has run another build
    with array.lock():
        array.left(key)
        for index, mine in enumerate(parts):
            files[index].unlink(missing_ok=True)
            write_share(tests, mine, folder / f"share-{index}")
        array.run(key, lambda _: script, lambda _: [index for index in wanted if not files[index].exists()])
    return [files[index] for index in wanted]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", type=share_of, metavar="I/N", help="write the numbers of the I-th of N shares, for ctest -I")
    parser.add_argument("--times", type=pathlib.Path, help="JUnit file of an earlier run")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="FILE", help="join the JUnit files of all shares")
    parser.add_argument("--slurm", type=job_array.tasks_of, metavar="N", help="run N shares as a Slurm job array, wait, and join their JUnit files")
    parser.add_argument("--slurm-options", default="", metavar="TEXT", help="for sbatch")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--ctest", nargs=argparse.REMAINDER, default=[], help="arguments of ctest that select the tests of all shares")
    options = parser.parse_args(arguments)
    try:
        tests = ctest_list(options.ctest)
        times = recorded(options.times) if options.times else {}
        seconds = expected(list(tests), times)
        if options.slurm:
            options.merge = by_slurm(tests, shares(seconds, options.slurm), options.ctest, options.output.resolve().parent,
                                     shlex.split(options.slurm_options))
        if options.merge:
            suite = merge(options.merge, list(tests))
            ET.indent(suite)
            ET.ElementTree(suite).write(options.output, encoding="unicode", xml_declaration=True)
            failed = [case.get("name") for case in suite if is_failed(case)]
            print(f"{options.output}: {suite.get('tests')} tests of {len(options.merge)} shares, {len(failed)} failed, {suite.get('skipped')} skipped")
            for name in failed:
                print(f"  failed: {name}")
            return 1 if failed else 0
        index, count = options.shard
        mine = shares(seconds, count)[index]
        known = sum(name in times for name in tests)
        print(f"share {index}/{count}: {len(mine)} of {len(tests)} tests, {sum(seconds[name] for name in mine):.0f} of "
              f"{sum(seconds.values()):.0f} s by the times of {known} tests")
        write_share(tests, mine, options.output)
        return 0
    except Problem as problem:
        print(f"vireo test: {problem}", file=sys.stderr)
        return 2
    except job_array.ArrayError as error:
        print(f"vireo test: {error.line()}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
