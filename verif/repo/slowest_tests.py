#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the slowest tests of a run, from the JUnit file that ctest wrote."""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as ET


def slowest(junit: pathlib.Path, count: int) -> list[tuple[float, str]]:
    """The `count` longest tests, longest first, as (seconds, name)."""
    cases = ET.parse(junit).getroot().iter("testcase")
    rows = [(float(case.get("time", "0")), case.get("name", "")) for case in cases]
    return sorted(rows, key=lambda row: (-row[0], row[1]))[:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("junit", type=pathlib.Path, help="file of `ctest --output-junit`")
    parser.add_argument("--count", type=int, default=10, help="number of rows (default: 10)")
    arguments = parser.parse_args()
    try:
        rows = slowest(arguments.junit, arguments.count)
    except (OSError, ET.ParseError) as error:
        print(f"slowest_tests.py: cannot read {arguments.junit}: {error}", file=sys.stderr)
        return 1
    print(f"the {len(rows)} slowest tests:")
    for seconds, name in rows:
        print(f"  {seconds:7.2f} s  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
