#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/readme_figures.py must accept the repository, and find a figure that its table has no more."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class ReadmeFigures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(ROOT / "docs", self.root / "docs")
        shutil.copy(ROOT / "README.md", self.root)

    def check(self):
        return subprocess.run([sys.executable, HERE / "readme_figures.py", "--root", self.root], capture_output=True, text=True)

    def change(self, name, old, new):
        page = self.root / name
        text = page.read_text(encoding="utf-8")
        self.assertIn(old, text)
        page.write_text(text.replace(old, new), encoding="utf-8")

    def test_accepts_the_repository(self):
        run = self.check()
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_a_table_has_another_figure(self):
        self.change("docs/bench.md", "| `read_64k_1qp` | 98.0 |", "| `read_64k_1qp` | 97.5 |")
        run = self.check()
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr.count("README.md:"), 1)
        self.assertIn("READ 97.5 Gb/s of payload", run.stderr)

    def test_a_table_has_another_row(self):
        self.change("docs/formal.md", "| `slice` |", "| `one_more` | | | | | | |\n| `slice` |")
        self.assertIn(" proofs](docs/formal.md)", self.check().stderr)

    def test_the_readme_has_another_figure(self):
        self.change("README.md", "in the NIC, ", "in the NIC, about ")
        self.assertIn("it has to say: [", self.check().stderr)

    def test_a_table_lacks_a_row(self):
        self.change("docs/bench.md", "| `net_9014b_1pair` |", "| `net_9k_1pair` |")
        run = self.check()
        self.assertEqual(run.returncode, 1)
        self.assertIn("docs/bench.md has no row '`net_9014b_1pair`'", run.stderr)


if __name__ == "__main__":
    unittest.main()
