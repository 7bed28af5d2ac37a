# SPDX-License-Identifier: Apache-2.0
"""Common part of the tests of ./vireo explore."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPLORE = ROOT / "sim/explore"
sys.path.append(str(EXPLORE))
FAKE = pathlib.Path(__file__).with_name("fake_bench.py")

STUDY = """name = "s"
[vary]
nic.size = [1, 2, 3]
[[workload]]
[results]
objectives = { goodput_gbps = "max", latency_ns_p50 = "min" }
"""


class ExploreTest(unittest.TestCase):
    """Runs the command in a folder of the test."""

    bench = FAKE

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.log = self.folder / "log"

    def command(self, study, *arguments, out=None):
        file = study
        if not isinstance(study, pathlib.Path):
            file = self.folder / "study.toml"
            file.write_text(study, encoding="utf-8")
        return [sys.executable, str(EXPLORE / "explore.py"), str(file), "--bench", str(self.bench), "--out", str(out or self.out), "--quiet", *arguments]

    def environment(self, **more):
        return os.environ | {"FAKE_LOG": str(self.log)} | more

    def explore(self, study, *arguments, code=0, out=None, **environment):
        done = subprocess.run(self.command(study, *arguments, out=out), capture_output=True, text=True, check=False, timeout=300,
                              env=self.environment(**environment))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def refused(self, study, *words, arguments=()):
        """Exit code 2, with every word in the message, and nothing simulated."""
        done = self.explore(study, *arguments, code=2)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.runs(), 0)

    def runs(self):
        """How many simulations there were."""
        return len(self.log.read_text(encoding="utf-8").splitlines()) if self.log.exists() else 0

    def rows(self, out=None):
        with open((out or self.out) / "results.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
