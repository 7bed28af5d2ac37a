#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of coverage.py: counts added up per module over instances and parameterizations; error messages."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import coverage  # noqa: E402

COMMAND = [sys.executable, str(pathlib.Path(__file__).with_name("coverage.py"))]
RTL = pathlib.Path("/rtl")


def point(page, line, comment, count, hierarchy, covers="", file="/rtl/rdma/vireo_x.sv", column=3):
    keys = {"f": file, "l": line, "n": column, "page": page, "o": comment, "S": covers, "h": hierarchy}
    text = "".join(f"\x01{key}\x02{value}" for key, value in keys.items() if value != "")
    return f"C '{text}' {count}\n"


def figures(text):
    return {source.stem: module.figures() for source, module in
            coverage.analyse(coverage.read_points("# SystemC::Coverage-3\n" + text), RTL).items()}


class Page(unittest.TestCase):
    def test_names_every_module_of_a_block_and_no_other(self):
        """The table is of an earlier run, so a module that was renamed, added or removed needs another."""
        text = coverage.generated.text_of(coverage.PAGE, "./vireo coverage")
        listed = set(re.findall(r"^\| (\w+) \| (?:\d+/\d+|-) ", text, re.MULTILINE)) - {"total"}
        modules = {path.stem.removeprefix("vireo_") for path in (coverage.ROOT / "rtl").glob("*/vireo_*.sv")
                   if not path.stem.endswith("_pkg")}
        self.assertEqual(listed, modules, f"run the command of {coverage.PAGE.name}")


class Counts(unittest.TestCase):
    def test_instances_and_parameterizations_of_a_module_add_up(self):
        text = (point("v_line/vireo_x__W3", 10, "case", 0, "TOP.vireo_x", "10-12") +
                point("v_line/vireo_x__W4_D8", 10, "case", 5, "TOP.vireo_nic.u_x", "10-12"))
        self.assertEqual(figures(text), {"vireo_x": ((3, 3), (0, 0), (0, 0))})

    def test_a_line_is_covered_by_any_of_its_branches_and_each_branch_counts(self):
        text = (point("v_branch/vireo_x", 10, "if", 7, "TOP.vireo_x", "10") +
                point("v_branch/vireo_x", 10, "else", 0, "TOP.vireo_x", "10-11", column=4))
        self.assertEqual(figures(text), {"vireo_x": ((1, 2), (1, 2), (0, 0))})

    def test_a_source_outside_rtl_does_not_count(self):
        self.assertEqual(figures(point("v_line/t", 1, "block", 1, "TOP.t", "1", file="/verif/t.sv")), {})

    def test_a_broken_data_file_is_rejected_with_its_line(self):
        with self.assertRaisesRegex(SystemExit, "line 2"):
            figures("C 'torn\n")


class UserPoints(unittest.TestCase):
    LINES = (point("v_line/vireo_x", 1, "block", 1, "TOP.vireo_nic.u_x", "1") +
             point("v_line/vireo_x", 1, "block", 1, "TOP.vireo_x", "1") +
             point("v_line/vireo_nic", 1, "block", 1, "TOP.vireo_nic", "1", file="/rtl/vireo_nic.sv") +
             point("v_line/vireo_slice__W9", 1, "block", 1, "TOP.vireo_x.u_ack", "1", file="/rtl/common/vireo_slice.sv") +
             point("v_line/vireo_slice__W9", 1, "block", 1, "TOP.vireo_nic.u_x.u_ack", "1",
                   file="/rtl/common/vireo_slice.sv"))

    def named(self, *points):
        text = "".join(point("v_user/" + module, 9, "x", count, hierarchy, file="/verif/cov.sv")
                       for module, count, hierarchy in points)
        result = coverage.analyse(coverage.read_points(self.LINES + text), RTL)
        return {source.stem: module.user for source, module in result.items() if module.user}

    def test_a_point_counts_for_its_block_wherever_that_is_instantiated(self):
        self.assertEqual(self.named(("vireo_point_cov", 0, "TOP.vireo_x.u_cov_timer.point"),
                                    ("vireo_point_cov", 4, "TOP.vireo_nic.u_x.u_cov_timer.point")),
                         {"vireo_x": {"timer": 4}})

    def test_a_stage_counts_for_the_module_that_instantiates_it(self):
        self.assertEqual(self.named(("vireo_stream_cov__W9", 0, "TOP.vireo_x.u_ack.u_stream_cov.full"),
                                    ("vireo_stream_cov__W9", 2, "TOP.vireo_nic.u_x.u_ack.u_stream_cov.full"),
                                    ("vireo_stream_cov__W9", 0, "TOP.vireo_x.u_ack.u_stream_cov.stalls")),
                         {"vireo_x": {"ack: full": 2, "ack: stalls": 0}})

    def test_a_stage_as_top_counts_for_itself(self):
        lines = point("v_line/vireo_slice", 1, "block", 1, "TOP.vireo_slice", "1", file="/rtl/common/vireo_slice.sv")
        user = point("v_user/vireo_stream_cov", 9, "x", 1, "TOP.vireo_slice.u_stream_cov.moves", file="/verif/cov.sv")
        result = coverage.analyse(coverage.read_points(lines + user), RTL)
        self.assertEqual([module.user for module in result.values()], [{"moves": 1}])


class Report(unittest.TestCase):
    def test_the_page_shows_each_line_and_uncovered_points(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "vireo_x.sv"
            source.write_text("module x;\n  a < b;\n  never;\nendmodule\n", encoding="utf-8")
            text = (point("v_line/vireo_x", 2, "block", 3, "TOP.vireo_x", "2", file=str(source)) +
                    point("v_line/vireo_x", 3, "else", 0, "TOP.vireo_x", "3", file=str(source)) +
                    point("v_user/vireo_point_cov", 9, "x", 0, "TOP.vireo_x.u_cov_hold.point", file="/verif/cov.sv"))
            result = coverage.analyse(coverage.read_points(text), pathlib.Path(folder))
            page = coverage.page(result, "T")
            self.assertIn("a &lt; b;", page)
            self.assertRegex(page, r"<span class='none'>[^\n]*never;")
            self.assertRegex(page, r"<span class='all'>[^\n]*a &lt; b;")
            self.assertIn("<li class='none'>hold 0</li>", page)
            self.assertNotRegex(page, r"(src|href)='http")
            self.assertEqual(coverage.missing(result), "x: hold")
            self.assertRegex(coverage.table(result), r"total +1/2 +50.0 % +- +- +0/1 +0.0 %")


class Rows(unittest.TestCase):
    def test_rows_of_a_run_replace_those_of_the_same_modules_and_the_total_is_of_all(self):
        before = ("| module | lines | | branches | | user points | |\n|---|---:|---:|---:|---:|---:|---:|\n"
                  "| a | 1/2 | 50.0 % | - | - | 1/1 | 100.0 % |\n| b | - | - | - | - | - | - |\n| total | 1/2 | 50.0 % | - | - | 1/1 | 100.0 % |")
        rows = [["b", "3/3", "100.0 %", "1/2", "50.0 %", "-", "-"], ["c", "1/1", "100.0 %", "-", "-", "-", "-"]]
        self.assertEqual(coverage.joined(before, rows), [
            ["a", "1/2", "50.0 %", "-", "-", "1/1", "100.0 %"], rows[0], rows[1], ["total", "5/6", "83.3 %", "1/2", "50.0 %", "1/1", "100.0 %"]])

    def test_modules_of_tests_by_cocotb_are_programs_of_their_simulator(self):
        with tempfile.TemporaryDirectory() as folder:
            top = {"top": "vireo_x", "config": "small", "area": "mac", "folder": "/f", "tests": ["x", "y"], "folders": ["/t"]}
            (pathlib.Path(folder) / "cocotb").mkdir()
            (pathlib.Path(folder) / "cocotb/vireo_x_small.json").write_text(json.dumps(top), encoding="utf-8")
            found = coverage.cocotb_programs(folder)
        self.assertEqual(list(found), ["verif.mac.x.small", "verif.mac.y.small"])
        self.assertEqual({program.target for program in found.values()}, {"vireo_x_small"})
        self.assertEqual(found["verif.mac.y.small"].command[2:], ["test", "/f", "vireo_x", "small", "y_test", "/t"])


class Refusals(unittest.TestCase):
    def refused(self, word, *arguments):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(word, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_errors_state_the_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("cmake --preset coverage", "--build", folder)
            self.refused("not a regular expression", "--build", folder, "(")
            self.refused("without --no-run", "--no-run", "--output", folder)
            (pathlib.Path(folder) / "data").mkdir()
            self.refused("no test wrote coverage data", "--no-run", "--output", folder)

    def test_help_explains_every_option(self):
        done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
        for word in ("REGEX", "--list", "--missing", "--no-run", "--output"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
