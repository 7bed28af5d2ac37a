#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vireo_faults --shard: shares that have every fault and transport once, and a share that runs what it lists. Argument: the
program."""

import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
SHARES = 7


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def listed(*arguments):
    """Fault and transport of every case that --list prints."""
    code, output, _ = run("--list", *arguments)
    assert code == 0, output
    cases, fault = [], ""
    for line in output.splitlines():
        if match := re.match(r"(\w+)  ", line):
            fault = match[1]
        elif match := re.match(r"    (rc|uc|ud|net) ", line):
            cases.append((fault, match[1]))
    return cases


class Shares(unittest.TestCase):
    def test_every_case_in_one_share(self):
        for choice in ([], ["drop", "index_jump"], ["--transport", "net"]):
            everything = listed(*choice)
            shares = [listed(*choice, "--shard", f"{index}/{SHARES}") for index in range(SHARES)]
            self.assertEqual(sorted(case for share in shares for case in share), sorted(everything))
            self.assertLessEqual(max(map(len, shares)) - min(map(len, shares)), 1)

    def test_a_share_runs_its_cases(self):
        share = ["drop", "--shard", "1/2", "--device", "model"]
        code, output, errors = run(*share)
        self.assertEqual(code, 0, output + errors)
        self.assertEqual(re.findall(r"^(drop) +(\w+) +model ", output, re.MULTILINE), listed("drop", "--shard", "1/2"))

    def test_a_share_without_cases(self):
        code, output, _ = run("drop", "--transport", "rc", "--shard", "1/2", "--device", "model")
        self.assertEqual(code, 0)
        self.assertIn("\n0 cases: ", output)

    def test_refuses(self):
        for bad in ("2/2", "0/0", "1", "a/2", "0/2x", "-1/2", ""):
            code, _, errors = run("--list", f"--shard={bad}")
            self.assertEqual(code, 2, (bad, errors))


if __name__ == "__main__":
    unittest.main()
