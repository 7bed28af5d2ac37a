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
sys.path.append(str(HERE))
import mutants  # noqa: E402  pylint: disable=wrong-import-position

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

    # The RTL of other devices has no faults, so a model with one differs from it.
    def test_every_stage_runs_the_mutated_rtl(self):
        for name, tests, _ in mutants.STAGES + mutants.BOTH_STAGES:
            self.assertRegex(tests, r"/lockstep_nic1(_\*)?$", name)

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

    def test_update_of_names_keeps_the_other_rows(self):
        page = self.folder / "page.md"
        for both, command in ((False, mutants.COMMAND), (True, mutants.BOTH_COMMAND)):
            names = self.names(*(["--both"] if both else []))
            stage = ["write"] if both else []

            def row(name, by, stage=stage):
                return "| " + " | ".join([f"`{name}`", "what \\| else", *stage, by, "sign"]) + " |"

            begin = f"<!-- BEGIN GENERATED: {command} -->\n3 of 3 caught, in 7 minutes.\n\n| a |\n|---|\n"
            kept = [row(names[0], "`dma.inside`"), row(names[2], "`dma.inside`, reference"), row("gone", "reference")]
            page.write_text(begin + "\n".join(kept) + "\n<!-- END GENERATED -->\n", encoding="utf-8")
            results = [{"name": names[1], "row": row(names[1], "reference"), "seconds": 600.0},
                       {"name": names[2], "row": row(names[2], "none"), "seconds": 600.0}]
            rows, minutes = mutants.table_of(page, command, results, names)
            self.assertEqual(rows, [kept[0], results[0]["row"], results[1]["row"]])
            self.assertEqual(minutes, 7)
            whole = [{"name": name, "row": row(name, "reference"), "seconds": 60.0} for name in names]
            self.assertEqual(mutants.table_of(page, command, whole, names), ([one["row"] for one in whole], len(names)))
            if both:
                self.assertEqual(mutants.score_of_both(rows), "2 of 3 faults caught: 1 by the monitor, of these 1 by it alone; 1 by references alone")

    def test_score_is_that_of_the_page(self):
        text = mutants.generated.text_of(mutants.BOTH_PAGE, mutants.BOTH_COMMAND)
        rows = [line for line in text.splitlines() if line.startswith("| `")]
        self.assertTrue(text.startswith(mutants.score_of_both(rows)), (text.splitlines()[0], mutants.score_of_both(rows)))

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
