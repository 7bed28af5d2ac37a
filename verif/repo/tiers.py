#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if the suite of the test preset `dev` leaves out a case that `all` has: a name without its device, or its RTL.

A test that `dev` leaves out is named CASE/DEVICE, and `dev` has the same CASE on another device; if DEVICE has RTL in it, alone or
in lockstep, so has the other one.
"""

import argparse
import json
import subprocess
import sys


def tests_of(ctest: str, preset: str) -> set[str]:
    """The names of all tests of a test preset."""
    shown = subprocess.run([ctest, "--preset", preset, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout
    return {test["name"] for test in json.loads(shown)["tests"]}


def has_rtl(device: str) -> bool:
    return "rtl" in device or "lockstep" in device


def faults(everything: set[str], suite: set[str]) -> list[str]:
    """What is wrong with a suite, one line each."""
    kept: dict[str, list[str]] = {}
    for name in suite:
        case, _, device = name.rpartition("/")
        kept.setdefault(case, []).append(device)
    found = [f"{name} is in the suite, but not in all tests" for name in sorted(suite - everything)]
    for name in sorted(everything - suite):
        case, _, device = name.rpartition("/")
        others = kept.get(case, [])
        if not others:
            found.append(f"{name} is left out, and its case with it")
        elif has_rtl(device) and not any(has_rtl(other) for other in others):
            found.append(f"{name} is left out, and its case runs on no RTL")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ctest", default="ctest", help="the program ctest")
    arguments = parser.parse_args()
    everything, suite = (tests_of(arguments.ctest, preset) for preset in ("all", "dev"))
    found = faults(everything, suite)
    print(*found, sep="\n")
    print(f"{len(suite)} of {len(everything)} tests are in the suite, {len(found)} faults")
    return bool(found or not suite < everything)


if __name__ == "__main__":
    sys.exit(main())
