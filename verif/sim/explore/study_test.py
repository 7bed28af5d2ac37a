#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Points of a study, the Pareto front, and every refusal of a study file."""

import pathlib
import random
import sys
import unittest

from common import STUDY, ExploreTest

import pareto
import space
from space import Dimension, Sample
from toml_source import TomlSource


class Points(unittest.TestCase):
    SIZE = Dimension(("size",), ((1,), (2,)))
    PAIR = Dimension(("width", "clock"), ((64, 500), (512, 100)))
    OPEN = Dimension(("delay",), (), 100, 199)

    def test_steps_include_both_ends(self):
        self.assertEqual(space.steps(300, 1500, step=300), [300, 600, 900, 1200, 1500])
        self.assertEqual(space.steps(300, 1499, step=300), [300, 600, 900, 1200])
        self.assertEqual(space.steps(8, 64, factor=2), [8, 16, 32, 64])

    def test_product_keeps_pairs(self):
        self.assertEqual(space.points([self.SIZE, self.PAIR], None),
                         [{"size": 1, "width": 64, "clock": 500}, {"size": 1, "width": 512, "clock": 100},
                          {"size": 2, "width": 64, "clock": 500}, {"size": 2, "width": 512, "clock": 100}])

    def test_latin_hypercube_takes_one_value_of_each_part(self):
        points = space.points([self.OPEN, self.SIZE], Sample(10, 3))
        self.assertEqual(sorted((point["delay"] - 100) // 10 for point in points), list(range(10)))
        self.assertEqual(sum(point["size"] == 1 for point in points), 5)

    def test_sample_depends_on_its_seed_only(self):
        self.assertEqual(space.points([self.OPEN], Sample(10, 3)), space.points([self.OPEN], Sample(10, 3)))
        self.assertNotEqual(space.points([self.OPEN], Sample(10, 3)), space.points([self.OPEN], Sample(10, 4)))


class Front(unittest.TestCase):
    def test_known_fronts(self):
        self.assertEqual(pareto.front([(1, 5), (2, 2), (5, 1), (3, 3), (2, 5)]), [True, True, True, False, False])
        self.assertEqual(pareto.front([(1, 1), (1, 1), (1, 2)]), [True, True, False])
        self.assertEqual(pareto.front([]), [])

    def test_agrees_with_the_definition(self):
        chance = random.Random(7)
        for columns in (1, 2, 3):
            rows = [tuple(chance.randrange(8) for _ in range(columns)) for _ in range(60)]
            self.assertEqual(pareto.front(rows), [not any(pareto.dominates(other, row) for other in rows) for row in rows])


class Places(ExploreTest):
    def test_lines_of_keys(self):
        file = self.folder / "a.toml"
        file.write_text('a = 1\n[t]\nb.c = 2\n"d.e" = 3\n[[w]]\nx = 1\n[[w]]\nx = 2\n', encoding="utf-8")
        source = TomlSource(file)
        for path, line in ((("a",), 1), (("t",), 2), (("t", "b"), 3), (("t", "b", "c"), 3), (("t", "d.e"), 4), (("w", 0, "x"), 6),
                           (("w", 1, "x"), 8), (("w", 1, "y"), 7), (("none",), 0)):
            self.assertEqual(source.line(path), line, path)


class Refusals(ExploreTest):
    """Each with file and line."""

    def test_not_toml(self):
        self.refused("name = 's'\nvary = [\n", "study.toml:", "not TOML")
        self.refused("name = 's'\nname = 't'\n", "study.toml:2:", "not TOML")

    def test_no_such_file(self):
        self.refused(pathlib.Path("/no/such/study.toml"), "/no/such/study.toml: cannot be read")

    def test_unknown_keys(self):
        self.refused(STUDY + "objectivs = {}\n", "study.toml:7:", "'objectivs'", "did you mean 'objectives'?")
        self.refused("nam = 's'\n" + STUDY, "study.toml:1:", "'nam'", "'name'")
        self.refused(STUDY.replace("[[workload]]", "[[workload]]\nbites = 4"), "study.toml:5:", "'bites'", "'bytes'")
        self.refused(STUDY.replace("[1, 2, 3]", "{ from = 1, to = 3, stepp = 1 }"), "study.toml:3:", "'stepp'")

    def test_unknown_setting(self):
        self.refused(STUDY.replace("nic.size", "nic.sise"), "study.toml:3:", "'nic.sise'", "did you mean 'nic.size'?")
        self.refused(STUDY, "--set nic.sise=3", "did you mean", arguments=("--set", "nic.sise=3"))
        self.refused(STUDY, "is not NAME=VALUE", arguments=("--sweep", "nic.size"))

    def test_wrong_values(self):
        self.refused(STUDY.replace("[1, 2, 3]", "[1, 'x']"), "study.toml:3:", "nic.size is an integer from 1 to 1000", "'x'")
        self.refused(STUDY.replace("[1, 2, 3]", "[1, true]"), "study.toml:3:", "True")
        self.refused(STUDY.replace("[1, 2, 3]", "[2, 1, 2]"), "study.toml:3:", "the value 2 twice")
        self.refused(STUDY.replace("[1, 2, 3]", "[]"), "study.toml:3:", "must be a list of values")
        self.refused(STUDY.replace("nic.size = [1, 2, 3]", 'nic.config = ["small", "huge"]'), "study.toml:3:", "small, large", "'huge'")
        self.refused(STUDY, "'1.5'", arguments=("--sweep", "nic.size=1,1.5"))

    def test_texts_are_checked_by_the_program(self):
        texts = STUDY.replace("nic.size = [1, 2, 3]", 'wire.faults = ["", "drop nth=3", VALUE]')
        self.refused(texts.replace("VALUE", '"nonsense nth=1"'), "study.toml:3:", "wire.faults: line 1: no fault is called 'nonsense'")
        self.refused(texts.replace("VALUE", "7"), "study.toml:3:", "wire.faults is a text, not 7")
        self.refused(STUDY.replace("[vary]", '[base]\nwire.faults = "nonsense"\n[vary]'), "study.toml:3:", "no fault")
        self.refused(STUDY.replace("[1, 2, 3]", "[1]\nwire.faults = { from = 1, to = 2, step = 1 }"), "study.toml:4:", "is no number")
        self.refused(STUDY, "--sweep wire.faults=,nonsense: wire.faults: line 1", arguments=("--sweep", "wire.faults=,nonsense"))
        self.explore(STUDY, "--sweep", "wire.faults=,drop nth=3", "--set", "nic.size=2")
        self.assertEqual([row["wire.faults"] for row in self.rows()], ["", "drop nth=3"])

    def test_ranges(self):
        self.refused(STUDY.replace("[1, 2, 3]", "{ from = 1, to = 3 }"), "study.toml:3:", "needs `step` or `factor`", "[sample]")
        self.refused(STUDY.replace("[1, 2, 3]", "{ from = 3, to = 1, step = 1 }"), "study.toml:3:", "below")
        self.refused(STUDY.replace("[1, 2, 3]", "{ from = 0, to = 3, factor = 2 }"), "study.toml:3:", "cannot start from 0")
        self.refused(STUDY.replace("[1, 2, 3]", "{ from = 1, to = 3, step = 0 }"), "study.toml:3:", "at least 1")

    def test_lists_of_different_length(self):
        self.refused(STUDY.replace("[vary]\n", "[[together]]\nnic.clock = [1]\n"), "study.toml:2:", "equal length",
                     "nic.clock with 1, nic.size with 3")

    def test_chosen_twice(self):
        self.refused(STUDY.replace("[vary]", "[base]\nnic.size = 4\n[vary]"), "study.toml:5:", "in [base] and in [vary]")
        self.refused(STUDY.replace("[[workload]]", "workload.bytes = [1, 2]\n[[workload]]\nbytes = 3"), "study.toml:6:",
                     "fixed here and chosen elsewhere")

    def test_unknown_metrics(self):
        self.refused(STUDY.replace("goodput_gbps", "goodput"), "study.toml:6:", "no metric 'goodput'", "'goodput_gbps'")
        self.refused(STUDY + 'metrics = ["nic.size"]\n', "study.toml:7:", "is a setting")
        self.refused(STUDY + 'constraints = ["goodput >= 3"]\n', "study.toml:7:", "no metric 'goodput'")
        for bad in ("goodput_gbps = 3", "goodput_gbps >= 3,00", "goodput_gbps >= 1.2.3", "goodput_gbps >= "):
            self.refused(STUDY + f'constraints = ["{bad}"]\n', "study.toml:7:", "a constraint is like")
        self.refused(STUDY + 'constraints = ["goodput_gbps >= 3 Mb"]\n', "study.toml:7:", "'goodput_gbps' is not in Mb")
        self.refused(STUDY + 'constraints = ["latency_ns_p50 >= 3 h"]\n', "study.toml:7:", "'latency_ns_p50' is not in h")
        self.refused(STUDY + 'constraints = ["goodput_gbps >= 3", "goodput_gbps < 3"]\n', "study.toml:7:",
                     "no value keeps both 'goodput_gbps >= 3' and 'goodput_gbps < 3'")
        self.refused(STUDY.replace('"max"', '"most"'), "study.toml:6:", "'most'")
        self.refused(STUDY.replace("latency_ns_p50", '"nic.clock"'), "study.toml:6:", "'nic.clock' does not vary")
        self.refused(STUDY + 'curves = [{ x = "nic.clock", y = "goodput_gbps" }]\n', "study.toml:7:", "'nic.clock' does not vary")

    def test_surfaces(self):
        def surfaces(text):
            return STUDY.replace("[1, 2, 3]", "[1, 2]\nnic.clock = [1, 2]") + f"surfaces = [{{ {text} }}]\n"
        self.refused(surfaces('x = "nic.size", y = "nic.clock"'), "study.toml:8:", "needs x, y and z")
        self.refused(surfaces('x = "nic.size", y = "pcie.preset", z = "goodput_gbps"'), "study.toml:8:", "'pcie.preset' does not vary")
        self.refused(surfaces('x = "nic.size", y = "nic.clock", z = "goodput"'), "study.toml:8:", "no metric 'goodput'")
        self.refused(surfaces('x = "nic.size", y = "nic.clock", z = "goodput_gbps", by = 3'), "study.toml:8:", "a list of two")
        self.explore(surfaces('x = "nic.size", y = "nic.clock", z = "goodput_gbps", by = "nic.clock"'))
        report = (self.out / "report.html").read_text(encoding="utf-8")
        for text in ("goodput_gbps over nic.size and nic.clock", '"clock = 2"', "heatmap"):
            self.assertTrue(text in report, text)

    def test_no_workload_and_nothing_varied(self):
        self.refused('[vary]\nnic.size = [1]\n', "needs a [[workload]]")
        self.refused('[[workload]]\n', "nothing varies")

    def test_two_workloads(self):
        two = STUDY.replace("[[workload]]", '[[workload]]\nname = "a"\n[[workload]]\nname = "NAME"')
        self.refused(two.replace("NAME", "a"), "study.toml:6:", "two workloads have the name 'a'")
        self.refused(two.replace("NAME", "b"), "study.toml:9:", "no metric 'goodput_gbps'", "goodput_gbps'?")

    def test_too_many_points(self):
        self.refused("most_points = 5\n" + STUDY.replace("[1, 2, 3]", "{ from = 1, to = 6, step = 1 }"), "study.toml:1:", "6 points",
                     "most_points is 5")

    def test_variation_that_no_workload_uses(self):
        study = STUDY.replace("[[workload]]", 'workload.bytes = [1, 2]\n[[workload]]\nbench = "other"').split("[results]", maxsplit=1)[0]
        self.refused(study, "study.toml", "points 0 and 1 are the same", "workload.bytes")

    def test_bad_options(self):
        self.refused(STUDY, "'2/2' is not I/N", arguments=("--index", "2/2"))
        self.refused(STUDY, "'0' is not 1 to", arguments=("--jobs", "0"))


if __name__ == "__main__":
    sys.exit(unittest.main())
