#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/fuzz/fuzz.py: shares that have every target once."""

import pathlib
import subprocess
import sys
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SHARES = 5


class Shares(unittest.TestCase):
    def run_tool(self, *arguments, code=0):
        done = subprocess.run([sys.executable, HERE / "fuzz.py", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done.stdout if code == 0 else done.stderr

    def share(self, *arguments):
        return self.run_tool(*arguments, "--dry-run").split(":")[-1].replace("no target", "").split()

    def test_every_target_in_one_share(self):
        targets = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))["target"]
        for choice, wanted in (("all", [target["name"] for target in targets]),
                               ("--smoke", [target["name"] for target in targets if target.get("smoke")])):
            found = [name for index in range(SHARES) for name in self.share(choice, "--shard", f"{index}/{SHARES}")]
            self.assertEqual(sorted(found), sorted(wanted))

    def test_share_of_chosen_targets(self):
        self.assertEqual(self.share("mad", "packet", "ucma", "--shard", "0/2"), ["mad", "ucma"])
        self.assertEqual(self.share("mad", "--shard", "1/2"), [])

    def test_refuses(self):
        self.assertIn("is not I/N", self.run_tool("all", "--shard", "5/5", code=2))
        self.assertIn("--shard needs targets", self.run_tool("--shard", "0/5", code=2))
        self.assertIn("leave out --shard", self.run_tool("all", "--update", "--shard", "0/5", code=2))
        self.assertIn("--dry-run needs --shard", self.run_tool("all", "--dry-run", code=2))


if __name__ == "__main__":
    unittest.main()
