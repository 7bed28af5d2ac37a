#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches of ./vireo explore, random samples, and confirmation on RTL, with a benchmark that does what it is told."""

import json
import sys
import unittest
from unittest import mock

from common import FAKE, STUDY, ExploreTest, in_fork

import confirm
import rtl
import space
import study as study_file
from bench import Bench
from space import Dimension, Sample
from store import Store

SEARCH = STUDY.replace("[1, 2, 3]", '{ from = 14, to = 300 }\nnic.clock = { from = 1, to = 64, factor = 2 }\nnic.config = ["small", "large"]\n'
                       '[search]\npoints = 24\nseed = 3')


class Search(ExploreTest):
    def figures(self, out=None):
        return [[row[key] for key in ("point", "nic.size", "nic.clock", "nic.config", "goodput_gbps", "feasible", "pareto")] for row in self.rows(out)]

    def test_same_points_however_many_at_a_time_and_after_a_stop(self):
        study = SEARCH + 'constraints = ["latency_ns_p50 <= 300"]\n'
        self.explore(study, "--jobs", "1")
        rows = self.figures()
        self.assertEqual(len({tuple(row[1:4]) for row in rows}), 24)
        self.assertEqual(self.runs(), 24)
        # As after a kill: some of the runs are lost, and only those are simulated again.
        for record in sorted((self.out / "runs").glob("*.json"))[::3]:
            record.unlink()
        self.explore(study, "--jobs", "5")
        self.assertEqual(self.figures(), rows)
        self.assertEqual(self.runs(), 32)
        self.explore(study.replace("seed = 3", "seed = 4"), out=self.folder / "other")
        self.assertNotEqual(self.figures(self.folder / "other"), rows)

    def test_it_learns(self):
        # goodput = size x clock: the best of 2,009 combinations is 19,200; points at random have a mean of 2,850.
        study = SEARCH.replace('nic.config = ["small", "large"]\n', "").replace("points = 24", "points = 48").replace(', latency_ns_p50 = "min"', "")
        self.explore(study, "--jobs", "4")
        goodput = [float(row["goodput_gbps"]) for row in self.rows()]
        self.assertGreater(max(goodput), 16_000)
        self.assertGreater(sum(goodput[-16:]) / 16, 6_000)

    def test_points_that_end_badly_and_a_small_space(self):
        done = self.explore(SEARCH.replace("{ from = 14, to = 300 }", "[1, 13, 666]").replace("{ from = 1, to = 64, factor = 2 }", "[1, 2]"), code=1)
        self.assertRegex(done.stdout, r"s: 1[0-2] rows: .*\b4 illegal")  # there are 12
        self.assertIn("nsga2", self.explore(SEARCH.replace("seed = 3", 'method = "nsga2"'), "--dry-run", out=self.folder / "dry").stdout)
        self.assertFalse((self.folder / "dry").exists())

    def test_refusals(self):
        self.refused(SEARCH, "a search has no shares", arguments=("--index", "0/2"))
        self.refused(SEARCH.replace("seed = 3", 'method = "luck"'), "study.toml:8:", "method is one of tpe, nsga2, not 'luck'")
        self.refused(SEARCH.replace("seed = 3", "seed = 3\n[sample]\npoints = 3"), "study.toml:6:", "[sample] or [search], not both")
        self.refused(SEARCH.replace("points = 24\n", ""), "study.toml:6:", "points must be an integer")
        self.refused(SEARCH.split("[results]", maxsplit=1)[0], "study.toml:6:", "needs [results] objectives")
        self.refused("most_points = 20\n" + SEARCH, "study.toml:1:", "24 points")

    def test_random_sample(self):
        dimensions = [Dimension(("a",), (), 0, 999), Dimension(("b",), ((1,), (2,)))]
        one = space.points(dimensions, Sample(20, 3, "random"))
        self.assertEqual(one, space.points(dimensions, Sample(20, 3, "random")))
        self.assertNotEqual(one, space.points(dimensions, Sample(20, 4, "random")))
        # Not one of each twentieth, as in a Latin hypercube.
        self.assertLess(len({point["a"] // 50 for point in one}), 20)
        self.refused(STUDY.replace("[[workload]]", '[sample]\npoints = 4\nmethod = "grid"\n[[workload]]'), "study.toml:6:", "latin-hypercube, random")


class Confirm(ExploreTest):
    """The points with size 1 and clock 10 are those of the named configuration, whose RTL the fake benchmark has."""

    STUDY = STUDY.replace("nic.size = [1, 2, 3]", "workload.bytes = [4, 5, 6]")

    def confirm(self, *arguments, study=STUDY, **options):
        return self.explore(study, "--confirm", "rtl", "--rtl-bench", str(FAKE), *arguments, **options)

    def test_equal(self):
        done = self.confirm("--confirm-points", "all", study=self.STUDY)
        self.assertIn("point 1 (workload.bytes=5): 2 figures, 1,000 events compared, 0 in different cycles, all equal", done.stdout)
        self.assertIn("3 of 3 points confirmed on RTL: 6 figures, 3,000 events compared, 0 in different cycles", done.stdout)
        self.assertTrue("3 of 3 points confirmed on RTL" in (self.out / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(self.runs(), 6)
        command = [word for word in self.command(self.STUDY, "--confirm", "rtl", "--rtl-bench", str(FAKE), "--confirm-points", "2") if word != "--quiet"]
        done = in_fork(command, self.environment(), self.folder, 300)  # kept
        self.assertRegex(done.stderr, r"2 of 2 runs on RTL, [\d.e+]+ per second, 0 s left\n")
        self.assertEqual(self.runs(), 6)

    def test_differences_are_found(self):
        for fault, text in (("figure", "NOT CONFIRMED: goodput_gbps is 11.1 on RTL and 10.1 on the model"),
                            ("cycle", "3 in different cycles, NOT CONFIRMED: 3 events in different cycles")):
            done = self.confirm("--confirm-points", "1", study=self.STUDY, out=self.folder / fault, code=1, FAKE_RTL=fault)
            self.assertIn(text, done.stdout)
            self.assertIn("0 of 1 points confirmed", done.stdout)
        self.assertIn("1 of 1 points", self.confirm("--confirm-points", "1", study=self.STUDY, out=self.folder / "cycle").stdout)  # not kept

    def test_other_configurations_are_built(self):
        bench = Bench(FAKE)
        file = self.folder / "study.toml"
        self.explore(STUDY)
        study = study_file.read(file, bench, [], [])
        said: list[str] = []
        with mock.patch.multiple(rtl, configuration=lambda settings: settings["nic.size"], difference=str, key=str,
                                 library=lambda size, jobs, on_build: (on_build(), self.folder / f"{size}.so")[1]):
            results = confirm.Confirmer(bench, bench, Store(self.out, study), study, 1, said.append).points(study.points(bench))
        self.assertEqual([result.reason for result in results], ["", "", ""])
        self.assertEqual([text.partition(":")[0] for text in said], ["Verilating 2", "Verilating 3"])  # size 1 has a name
        kept = {json.loads(path.read_text(encoding="utf-8"))["rtl"] for path in (self.out / "confirmed").glob("*.json")}
        self.assertEqual(kept, {bench.model, "2", "3"})

    def test_names_and_hashes(self):
        nic1 = dict(rtl.parameters.CONFIGS["nic1"])
        self.assertEqual(rtl.difference(nic1), "nic1")
        other = nic1 | {"dma_tags": 8}
        self.assertEqual(rtl.difference(other), "nic1 dma_tags=8")
        with mock.patch("rtl.subprocess.run", return_value=mock.Mock(stdout=b"1")):
            self.assertNotEqual(rtl.key(nic1), rtl.key(other))
        with mock.patch("rtl.subprocess.run", side_effect=OSError("no such file")), self.assertRaisesRegex(Exception, "verilator is needed for RTL"):
            rtl.key(nic1)
        for path in rtl.sources():
            self.assertTrue(path.is_file(), path)

    def test_refusals(self):
        self.refused(self.STUDY, "'some' is not front, all or a number of points", arguments=("--confirm", "rtl", "--confirm-points", "some"))
        self.refused(self.STUDY, "leave out --index", arguments=("--confirm", "rtl", "--index", "0/2"))
        done = self.confirm(study=self.STUDY.split("[results]", maxsplit=1)[0], code=2)
        self.assertIn("--confirm front needs [results] objectives", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
