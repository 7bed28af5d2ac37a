#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./vireo explore with the real model: the studies of examples/ at reduced size, equal figures however it is run, and the
contract's rules. usage: model_test.py BENCH [unittest options]"""

import os
import pathlib
import re
import sys
import unittest

from common import ROOT, ExploreTest

from bench import Bench

STUDIES = ROOT / "examples/studies"
SMALL = """name = "small"
seeds = 2
[base]
nic.dma_read_buffer_bytes = 131_072
[vary]
nic.dma_tags = [8, 24, 32]
pcie.read_ns = [100, 1000]
[[workload]]
messages = 30
[results]
objectives = { goodput_gbps = "max", "nic.dma_tags" = "min" }
"""
ON_RTL = """name = "on_rtl"
[base]
nic.config = "nic1"
pcie.preset = "gen3x8"
[vary]
pcie.read_ns = [100, 700]
[[workload]]
bytes = 4096
outstanding = 2
messages = 4
"""
# Arguments that make a study small; each study must be here.
REDUCED = {
    "smallest": ("--dry-run",),  # synthesis takes minutes
    "loss": ("--sweep", "wire.lost_per_million=0,10000", "--sweep", "wire.delay_ns=500", "--set", "workload.outstanding=8"),
    "data_path": ("--sweep", "pcie.preset=gen3x8"),
    "messages": ("--sweep", "workload.bytes=64,4096", "--sweep", "workload.queue_pairs=1,4", "--sweep", "workload.outstanding=4"),
    "dma_tags": ("--sweep", "nic.dma_tags=8,64", "--sweep", "pcie.read_ns=80,1280"),
}


class Model(ExploreTest):
    def figures(self, out):
        """The rows without what depends on the machine."""
        return [{key: value for key, value in row.items() if key not in ("run_s", "host", "finished")} for row in self.rows(out)]

    def test_same_figures_however_many_at_a_time(self):
        one, four = self.folder / "one", self.folder / "four"
        self.explore(SMALL, "--jobs", "1", out=one, code=1)
        self.explore(SMALL, "--jobs", "4", out=four, code=1)
        self.assertEqual(self.figures(one), self.figures(four))
        good = [row for row in self.figures(one) if row["status"] == "ok"]
        self.assertEqual(len(good), 8)
        self.assertNotEqual(good[0]["latency_ns_p99"], good[1]["latency_ns_p99"])  # two seeds

    def test_rules_of_the_contract_are_the_reason(self):
        self.explore(SMALL, code=1)
        rows = self.rows()
        self.assertEqual({row["reason"] for row in rows if row["status"] == "illegal"}, {"nic.dma_tags: must be 8 to 1024 and a power of two"})
        self.assertEqual({row["nic.dma_tags"] for row in rows if row["status"] == "illegal"}, {"24"})
        self.explore(SMALL, "--set", "nic.core_clock_khz=100000", out=self.folder / "two", code=1)
        self.assertTrue(all("nic.data_path_carries_line_rate" in row["reason"] or row["nic.dma_tags"] == "24"
                            for row in self.rows(self.folder / "two")))

    def test_tags_limit_goodput_as_little_s_law_says(self):
        self.explore(SMALL, code=1)
        for row in self.rows():
            if row["nic.dma_tags"] == "8" and row["pcie.read_ns"] == "1000":
                # 8 reads of 512 bytes each (130 + 1000 + 130) ns or more: 26 Gb/s at most.
                self.assertLess(float(row["goodput_gbps"]), 8 * 512 * 8 / 1260)
                self.assertGreater(float(row["goodput_gbps"]), 0.7 * 8 * 512 * 8 / 1260)
            elif row["nic.dma_tags"] == "32" and row["pcie.read_ns"] == "100":
                self.assertGreater(float(row["goodput_gbps"]), 90)

    def test_profile_is_a_setting(self):
        study = SMALL.replace("[8, 24, 32]", "[32]").replace("[100, 1000]", '[100]\nhost.profile = ["vireo", "rfc-v2"]')
        self.explore(study)
        self.assertEqual([(row["host.profile"], row["status"]) for row in self.rows()],
                         [("vireo", "ok")] * 2 + [("rfc-v2", "ok")] * 2)
        self.explore(study, "--profile", "rfc-v2", out=self.folder / "rfc")
        self.assertEqual({(row["host.profile"], row["status"]) for row in self.rows(self.folder / "rfc")}, {("rfc-v2", "ok")})

    def test_parquet_equals_csv(self):
        import pandas

        self.explore(SMALL, code=1)
        text = pandas.read_csv(self.out / "results.csv", keep_default_na=False, na_values={"goodput_gbps": ""})
        columns = pandas.read_parquet(self.out / "results.parquet")
        self.assertEqual(list(text.columns), list(columns.columns))
        for name in ("point", "status", "reason", "nic.dma_tags", "goodput_gbps", "pareto"):
            pandas.testing.assert_series_equal(text[name], columns[name], check_dtype=False)

    def test_report_is_complete_and_needs_no_network(self):
        self.explore(SMALL + "stages = true\n", code=1)
        report = (self.out / "report.html").read_text(encoding="utf-8")
        for title in ("Pareto front", "goodput_gbps over nic.dma_tags", "Main effects on goodput_gbps", "Parallel coordinates", "Points",
                      "Latency by stage over pcie.read_ns",
                      "must be 8 to 1024 and a power of two"):
            self.assertTrue(title in report, title)
        self.assertEqual(re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=|<link\b", re.sub(r"<script[^>]*>.*?</script>", "", report, flags=re.S)), [])
        self.assertGreater(len(report), 1_000_000)  # Plotly is inside
        self.assertGreaterEqual(report.count('<div class="figure"'), 5)

    def test_bottleneck_is_what_helps(self):
        """What is named as the limit raises goodput if there is more of it, and another thing does not."""
        study = SMALL.replace("8, 24, 32", "8, 32").replace("seeds = 2", "seeds = 1").replace("[100, 1000]", '[100, 1000]\npcie.preset = ["gen3x16", "gen4x16"]')
        self.explore(study, "--bottleneck")
        rows = {(row["nic.dma_tags"], row["pcie.read_ns"], row["pcie.preset"]): (float(row["goodput_gbps"]), row["bottleneck"]) for row in self.rows()}
        slow, limit = rows["8", "1000", "gen3x16"]
        self.assertRegex(limit, r"^DMA tags of the sender, [78]\.\d of 8 in use: (9[5-9]|100) %$")
        self.assertGreater(rows["32", "1000", "gen3x16"][0], 1.5 * slow)
        self.assertLess(rows["8", "1000", "gen4x16"][0], 1.05 * slow)
        fast, limit = rows["32", "100", "gen4x16"]
        self.assertRegex(limit, r"^the wire, sent by the NIC of the sender: (9[5-9]|100) %$")
        self.assertGreater(fast, 95)
        self.assertTrue('"bottleneck"' in (self.out / "report.html").read_text(encoding="utf-8"))
        # Counting changes no figure.
        self.explore(study, out=self.folder / "off")
        self.assertEqual([(row["goodput_gbps"], row["latency_ns_p99"]) for row in self.rows()],
                         [(row["goodput_gbps"], row["latency_ns_p99"]) for row in self.rows(self.folder / "off")])
        self.assertEqual({row["bottleneck"] for row in self.rows(self.folder / "off")}, {""})

    def confirm(self, study):
        done = self.explore(study, "--confirm", "rtl", "--confirm-points", "all", "--rtl-bench", str(self.bench))
        self.assertRegex(done.stdout, r"2 of 2 points confirmed on RTL: \d\d+ figures, [\d,]{4,} events compared, 0 in different cycles")

    def test_confirmed_on_rtl_of_the_build(self):
        if "nic1" not in Bench(self.bench).rtl:
            self.skipTest("a build of the model alone")
        self.confirm(ON_RTL)

    @unittest.skipUnless(os.environ.get("VIREO_SYSTEM") == "full", "takes minutes to build RTL of another configuration; VIREO_SYSTEM=full does")
    def test_confirmed_on_rtl_built_on_demand(self):
        self.confirm(ON_RTL.replace('nic.config = "nic1"', 'nic.config = "nic1"\nnic.dma_tags = 8'))

    def test_every_example_at_reduced_size(self):
        studies = sorted(STUDIES.glob("*.toml"))
        self.assertEqual([study.stem for study in studies], sorted(REDUCED))
        for study in studies:
            with self.subTest(study=study.stem):
                out = self.folder / study.stem
                done = self.explore(study, *REDUCED[study.stem], out=out)
                if "--dry-run" in REDUCED[study.stem]:
                    self.assertIn("4 points, 8 runs", done.stdout)
                    continue
                rows = self.rows(out)
                self.assertGreaterEqual(len(rows), 4)
                self.assertIn("True", {row["pareto"] for row in rows})


if __name__ == "__main__":
    Model.bench = pathlib.Path(sys.argv.pop(1)).resolve()
    os.umask(0o022)
    sys.exit(unittest.main())
