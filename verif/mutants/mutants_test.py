#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/mutants/mutants.py: shares that have every mutant once, and the joined results of all, with a program in which a mutant
fails or not by its number."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SHARES = 5
# Each seventh mutant survives.
PROGRAM = """#!/bin/sh
echo '[==========] Running 1 test'
if [ "$VIREO_MUTANT" = 0 ] || [ $((VIREO_MUTANT % 7)) = 0 ]; then echo '[  PASSED  ] 1 test'; exit 0; fi
echo '[ RUN      ] All/Write.Test/lockstep_nic1_split'
echo 'LOCKSTEP MISMATCH: as expected'
echo '[  FAILED  ] All/Write.Test/lockstep_nic1_split, where'
exit 1
"""


class Shares(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.program.chmod(0o755)

    def run_tool(self, *arguments, code=0):
        done = subprocess.run([sys.executable, HERE / "mutants.py", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done.stdout if code != 2 else done.stderr

    def names(self, *arguments):
        return [line.split()[0] for line in self.run_tool("--list", *arguments).splitlines()]

    def test_every_mutant_in_one_share(self):
        for kind in ([], ["--both"]):
            everything = self.names(*kind)
            found = [name for index in range(SHARES) for name in self.names(*kind, "--shard", f"{index}/{SHARES}")]
            self.assertEqual(sorted(found), sorted(everything))
            self.assertEqual(len(set(found)), len(found))

    def test_merged_results_are_those_of_one_run(self):
        for kind in ([], ["--both", "--model-only"]):
            run = [*kind, "--program", self.program]
            whole = self.folder / "whole.json"
            score = self.run_tool(*run, "--results", whole, code=1).splitlines()[-1]
            files = [self.folder / f"{index}.json" for index in range(SHARES)]
            for index, file in enumerate(files):
                self.assertIn(" caught", self.run_tool(*run, "--shard", f"{index}/{SHARES}", "--results", file, code=1))
            self.assertEqual(self.run_tool(*kind, "--merge", *files, code=1).splitlines()[-1], score)
            names = [one["name"] for one in json.loads(whole.read_text(encoding="utf-8"))["results"]]
            self.assertEqual(names, self.names(*kind))
            self.assertRegex(score, rf"^\d+ of {len(names)} ")

    def test_refuses(self):
        files = [self.folder / f"{index}.json" for index in range(2)]
        for index, file in enumerate(files):
            self.run_tool("--program", self.program, "--shard", f"{index}/2", "--results", file, code=1)
        self.assertIn("a share is missing", self.run_tool("--merge", files[0], code=2))
        self.assertIn("these are not the shares of one run", self.run_tool("--merge", files[0], files[0], code=2))
        self.assertIn("is no mutant of this run", self.run_tool("--both", "--merge", *files, code=2))
        self.assertIn("no results of --results", self.run_tool("--merge", self.program, code=2))
        self.assertIn("is not I/N", self.run_tool("--shard", "2/2", code=2))
        self.assertIn("--merge joins the shares", self.run_tool("--update", "--shard", "0/2", code=2))


if __name__ == "__main__":
    unittest.main()
