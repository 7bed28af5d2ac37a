#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/shards.py: shares of equal length that have every test once, and one JUnit file of all; with a real ctest."""

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ET

import shards

JUNIT = '<testsuite timestamp="{at}">{cases}</testsuite>'
CASE = '<testcase name="{}" time="{}" status="{}">{}</testcase>'


class Shares(unittest.TestCase):
    def test_every_test_once_and_equal_times(self):
        seconds = {f"test{i}": float(i) for i in range(1, 101)}
        for count in (1, 2, 3, 7):
            result = shards.shares(seconds, count)
            self.assertEqual(sorted(name for share in result for name in share), sorted(seconds))
            times = [sum(seconds[name] for name in share) for share in result]
            self.assertLess(max(times) - min(times), 3)
            self.assertEqual(shards.shares(dict(reversed(seconds.items())), count), result)

    def test_shares_of_a_campaign(self):
        cases = list("abcdefgh")
        for count in (1, 3, 8, 9):
            result = [shards.every_nth(cases, (index, count)) for index in range(count)]
            self.assertEqual(sorted(case for share in result for case in share), cases)
        self.assertEqual(shards.every_nth(cases, (1, 3)), ["b", "e", "h"])
        self.assertEqual(shards.every_nth(cases, None), cases)

    def test_more_shares_than_tests(self):
        self.assertEqual(shards.shares({"a": 1, "b": 2}, 3), [["b"], ["a"], []])

    def test_times_of_new_tests(self):
        times = {"verif.x.y.Suite.One": 4.0, "verif.x.y.Suite.Two": 6.0, "verif.z": 2.0}
        self.assertEqual(shards.expected(["verif.x.y.Suite.One", "verif.x.y.Other.New", "verif.new"], times),
                         {"verif.x.y.Suite.One": 4.0, "verif.x.y.Other.New": 5.0, "verif.new": 4.0})
        self.assertEqual(shards.program("verif.cosim.write.All/Write.Case/model_nic1"), "verif.cosim.write")
        self.assertEqual(shards.expected(["a"], {}), {"a": 1.0})


class Seed(unittest.TestCase):
    def test_refused_before_the_build(self):
        launcher = pathlib.Path(__file__).resolve().parents[2] / "vireo"
        for seed in ("-1", "0x", "12ab", "0x10000000000000000"):
            environment = {name: value for name, value in os.environ.items() if name != "VIREO_SEED"}
            done = subprocess.run([launcher, "test", "--seed", seed], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, seed)
            self.assertIn("--seed needs a number or random", done.stderr)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, *cases, at="2026-01-02"):
        path = self.folder / name
        path.write_text(JUNIT.format(at=at, cases="".join(CASE.format(*case) for case in cases)), encoding="utf-8")
        return path

    def run_main(self, *arguments, code=0):
        with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(shards.main([str(argument) for argument in arguments]), code, (output.getvalue(), errors.getvalue()))
        return output.getvalue() + errors.getvalue()

    def build(self):
        """A build folder with four tests, of which `bad` fails and `left` is skipped."""
        (self.folder / "CTestTestfile.cmake").write_text(
            'add_test(good "true")\nadd_test(bad "false")\nadd_test(left "sh" "-c" "exit 77")\nset_tests_properties(left PROPERTIES SKIP_RETURN_CODE 77)\n'
            'add_test(other "true")\n', encoding="utf-8")

    def test_with_ctest(self):
        self.build()
        times = self.file("old.xml", ("good", 9, "run", ""), ("bad", 5, "run", ""), ("left", 5, "run", ""))
        done, files = [], []
        for index in range(2):
            files.append(self.folder / f"{index}.xml")
            text = self.run_main("--shard", f"{index}/2", "--times", times, "--output", self.folder / "share", "--ctest", "--test-dir", self.folder)
            self.assertRegex(text, rf"share {index}/2: 2 of 4 tests, \d+ of 25 s by the times of 3 tests")
            subprocess.run(["ctest", "--test-dir", self.folder, "-I", self.folder / "share", "--output-junit", files[-1]], capture_output=True, check=False)
            done += [case.get("name") for case in ET.parse(files[-1]).getroot().iter("testcase")]
        self.assertEqual(sorted(done), ["bad", "good", "left", "other"])
        text = self.run_main("--merge", *files, "--output", self.folder / "all.xml", "--ctest", "--test-dir", self.folder, code=1)
        self.assertIn("4 tests of 2 shares, 1 failed, 1 skipped\n  failed: bad\n", text)
        merged = ET.parse(self.folder / "all.xml").getroot()
        self.assertEqual((merged.get("tests"), merged.get("failures"), merged.get("skipped"), len(merged)), ("4", "1", "1", 4))
        self.assertIn("2 tests are in no file", self.run_main("--merge", files[0], "--output", self.folder / "x.xml", "--ctest", "--test-dir", self.folder,
                                                              code=2))

    def test_a_share_without_tests_runs_none(self):
        self.build()
        self.run_main("--shard", "4/5", "--output", self.folder / "share", "--ctest", "--test-dir", self.folder)
        done = subprocess.run(["ctest", "--test-dir", self.folder, "-I", self.folder / "share"], capture_output=True, text=True, check=False)
        self.assertIn("No tests were found", done.stdout + done.stderr)

    def test_refusals(self):
        self.build()
        one = self.file("one.xml", ("a", 1, "run", ""))
        self.assertIn("a is in", self.run_main("--merge", one, one, "--output", self.folder / "x", "--ctest", "--test-dir", self.folder, code=2))
        bad = self.folder / "bad.xml"
        for text in ("no xml", "<html/>"):
            bad.write_text(text, encoding="utf-8")
            self.assertIn("bad.xml: not a JUnit file", self.run_main("--merge", bad, "--output", self.folder / "x", "--ctest", "--test-dir", self.folder,
                                                                     code=2))
        self.assertFalse((self.folder / "x").exists())
        for text in ("2/2", "1", "-1/2", "0/0"):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                shards.main([f"--shard={text}", "--output", "x"])


if __name__ == "__main__":
    unittest.main()
