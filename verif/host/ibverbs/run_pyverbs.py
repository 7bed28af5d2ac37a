#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs rdma-core's own test suite, from python3-pyverbs, on one device, and compares the passed tests with a list. A
skipped test does not count as passed: the suite skips what a device does not support, and the list has each of them,
with the reason, marked `skips`.

Exit status: 0: all tests on the list passed, no others failed but those marked `fails`, and none passed that are marked
`skips`; with --complete, all tests are on the list; else 1. Run it with the Python that pyverbs is built for.
"""

import argparse
import gzip
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

# Path on Debian 12 and later.
SUITE = pathlib.Path("/usr/share/doc/rdma-core/tests")


def copy_suite(suite, to):
    """Documentation is compressed, file by file."""
    to.mkdir()
    for path in suite.iterdir():
        if path.suffix == ".gz":
            (to / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.is_file():
            shutil.copy(path, to)


class Result(unittest.TextTestResult):
    """Records passed tests; a test passes only if all its subtests pass."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.passed = set()
        self.run_tests = set()

    def startTest(self, test):
        super().startTest(test)
        self.run_tests.add(test.id())

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.add(test.id())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=pathlib.Path, default=SUITE)
    parser.add_argument("--list", type=pathlib.Path, required=True, help="tests that must pass, one per line; `fails NAME`: may fail; `skips NAME`: do not pass, all of a class or module; # comment")
    parser.add_argument("--complete", action="store_true", help="every test is on the list")
    parser.add_argument("--device", required=True)
    parser.add_argument("--gid", required=True, help="index of the GID of the address")
    parser.add_argument("--address", required=True, help="of the device, for rdma_cm")
    parser.add_argument("names", nargs="*", help="modules, classes or tests; default: all")
    args = parser.parse_args()
    lines = (line.split("#")[0].strip() for line in args.list.read_text().splitlines())
    entries = [line.split() for line in lines if line]
    wanted = {words[0] for words in entries if len(words) == 1}
    may_fail = {words[1] for words in entries if words[0] == "fails"}
    skips = [words[1] for words in entries if words[0] == "skips"]
    if args.names:
        wanted = {test for test in wanted if any(test == n or test.startswith(n + ".") for n in args.names)}
    if not args.suite.is_dir():
        print(f"{args.suite} not found: python3-pyverbs is not installed, or without its documentation")
        return 1

    with tempfile.TemporaryDirectory() as scratch:
        copy_suite(args.suite, pathlib.Path(scratch) / "tests")
        # As in the suite's run_tests.py.
        sys.path[:0] = [scratch, f"{scratch}/tests"]
        sys.argv[1:] = ["--dev", args.device, "--gid", args.gid]
        from args_parser import parser as suite_parser

        suite_parser.parse_args()
        import tests
        import tests.base

        # The suite reads the device's network interface from sysfs and its address from `ip`. This device has no kernel
        # interface: the address is set here.
        def get_ip_mac(self, dev, port, index):
            self.args.append([dev, port, index, args.address, None])

        tests.base.RDMATestCase._get_ip_mac = get_ip_mac
        loader = unittest.defaultTestLoader
        if args.names:
            suite = loader.loadTestsFromNames(args.names)
        else:
            suite = unittest.TestSuite(loader.loadTestsFromModule(module) for module in tests.__test_modules__)
        result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=Result).run(suite)

    def is_skipped(test):
        return any(test == name or test.startswith(name + ".") for name in skips)

    for test in sorted(result.passed - wanted):
        print("passes, is not on the list:", test)
    wrong_reason = {test for test in result.passed - wanted if is_skipped(test)}
    for test in sorted(wrong_reason):
        print("passes, is on the list as skipped:", test)
    unknown = {test for test in result.run_tests - wanted - may_fail if not is_skipped(test)} if args.complete else set()
    for test in sorted(unknown):
        print("neither passes nor has a reason:", test)
    for test in sorted(wanted - result.passed):
        print("on the list, did not pass:", test)
    failed = {test.id() for test, _ in result.failures + result.errors}
    print(f"{len(result.passed)} passed, {len(result.skipped)} skipped, {len(failed)} failed")
    return 0 if failed <= may_fail and wanted and wanted <= result.passed and not wrong_reason and not unknown else 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # skip finalization: pyverbs closes open objects in random order
