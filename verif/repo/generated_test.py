#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/generated.py writes blocks and nothing else, and finds broken marks and figures outside of blocks."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import generated

BLOCK = "<!-- BEGIN GENERATED: ./vireo bench -->\n| a | b |\n|---|---:|\n| x | 97.41 |\n| y | 16,460 |\n<!-- END GENERATED -->\n"
TABLE = "| a | b |\n|---|---|\n| x | 97.4 |\n| y | 52 times |\n"


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()

    def findings(self, text, page="docs/page.md", **others):
        for name, content in {page: text, **others}.items():
            (self.root / name).write_text(content, encoding="utf-8")
        return generated.check(self.root)

    def refuses(self, text, *parts, page="docs/page.md", **others):
        found = self.findings(text, page, **others)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_block_is_right(self):
        self.assertEqual(self.findings("Text.\n\n" + BLOCK), [])

    def test_a_block_that_does_not_end(self):
        self.refuses("\n<!-- BEGIN GENERATED: ./vireo bench -->\ntext\n", "docs/page.md:2:", "does not end")

    def test_a_block_that_has_not_started(self):
        self.refuses("<!-- END GENERATED -->\n", "docs/page.md:1:", "has not started")

    def test_a_block_in_a_block(self):
        text = BLOCK.replace("| a | b |", "<!-- BEGIN GENERATED: ./vireo synth -->\n| a | b |")
        self.refuses(text, "docs/page.md:2:", "begins inside")

    def test_a_mark_with_an_error(self):
        self.refuses("<!-- BEGIN GENERATED ./vireo bench -->\n", "is no mark")

    def test_a_block_without_text(self):
        self.refuses("<!-- BEGIN GENERATED: ./vireo bench -->\n\n<!-- END GENERATED -->\n", "is empty")

    def test_two_blocks_of_a_command(self):
        self.refuses(BLOCK + "\n" + BLOCK, "two blocks")

    def test_a_table_of_figures_outside_of_a_block(self):
        self.refuses("Text\n\n" + TABLE, "docs/page.md:3:", "outside of a generated block", "MEASURED")

    def test_a_table_of_figures_that_states_how_it_was_measured(self):
        self.assertEqual(self.findings("<!-- MEASURED: valgrind -->\n" + TABLE), [])

    def test_tables_of_sizes_and_words_are_no_figures(self):
        self.assertEqual(self.findings("| workload | messages | qps |\n|---|---|---|\n| `x` | 64 bytes | 16 |\n| `y` | 4096 | 1 |\n"), [])

    def test_the_readme_repeats_no_figure_of_a_block(self):
        self.refuses("It has 16,460 LUT.\n", "README.md:1:", "repeats the figure 16,460", "docs/page.md", page="README.md",
                     **{"docs/page.md": BLOCK})

    def test_short_and_other_figures_of_the_readme_are_its_own(self):
        self.assertEqual(self.findings("100 Gb/s, 97.4, 1,024\n", "README.md", **{"docs/page.md": BLOCK}), [])

    def test_a_block_is_replaced_and_nothing_else(self):
        page = self.root / "docs/page.md"
        page.write_text("before\n" + BLOCK + "after\n", encoding="utf-8")
        generated.replace(page, "./vireo bench", "new\n")
        self.assertEqual(page.read_text(encoding="utf-8"),
                         "before\n<!-- BEGIN GENERATED: ./vireo bench -->\nnew\n<!-- END GENERATED -->\nafter\n")
        generated.replace(page, "./vireo bench", "newer", "./vireo bench --quick")
        self.assertEqual(generated.text_of(page, "./vireo bench --quick"), "newer")

    def test_a_block_that_is_not_there_is_not_written(self):
        page = self.root / "docs/page.md"
        page.write_text(BLOCK, encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "0 blocks"):
            generated.replace(page, "./vireo synth", "new")

    def test_standard_input_is_written_but_not_nothing(self):
        page = self.root / "docs/page.md"
        page.write_text(BLOCK, encoding="utf-8")
        command = [sys.executable, generated.__file__, "--root", self.root, "--write", "docs/page.md", "./vireo bench"]
        subprocess.run(command, input="| new |\n", text=True, check=True)
        self.assertEqual(generated.text_of(page, "./vireo bench"), "| new |")
        self.assertNotEqual(subprocess.run(command, input="", text=True, check=False, stderr=subprocess.DEVNULL).returncode, 0)


if __name__ == "__main__":
    unittest.main()
