#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./vireo explore with the real model: the studies of examples/ at reduced size, equal figures however it is run, and the
contract's rules. usage: model_test.py BENCH SIMULATOR [unittest options]"""

import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
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
VARIED = """name = "varied"
[base]
pcie.preset = "gen4x16"
[vary]
VARY
[[workload]]
bytes = 4096
messages = 150
"""
# Arguments that make a study small, besides fewer messages; each study must be here.
REDUCED = {
    "smallest": ("--sweep", "nic.dma_tags=8"),  # and AREA_BLOCKS
    "loss": ("--sweep", "wire.lost_per_million=0,10000", "--sweep", "wire.delay_ns=500", "--set", "workload.outstanding=8"),
    "data_path": ("--sweep", "pcie.preset=gen3x8"),
    "messages": ("--set", "workload.queue_pairs=1", "--set", "workload.outstanding=4"),
    "dma_tags": ("--sweep", "nic.dma_tags=8,64", "--sweep", "nic.dma_read_buffer_bytes=8192,131072", "--sweep", "pcie.read_ns=80,1280"),
}
# Of the device: those that take seconds. Yosys elaborates the whole device, and maps these.
AREA_BLOCKS = ("interrupt_arb", "qp_sweep", "retry_timer")


class Model(ExploreTest):
    small: pathlib.Path

    @classmethod
    def setUpClass(cls):
        """Results of the study SMALL, four runs at a time, for all tests that look at them."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.small = pathlib.Path(folder.name) / "small"
        run = cls()
        run.setUp()
        run.explore(SMALL, "--jobs", "4", out=cls.small, code=1)
        run.doCleanups()

    def figures(self, out):
        """The rows without what depends on the machine."""
        return [{key: value for key, value in row.items() if key not in ("run_s", "host", "finished")} for row in self.rows(out)]

    def test_same_figures_however_many_at_a_time(self):
        one = self.folder / "one"
        self.explore(SMALL, "--jobs", "1", out=one, code=1)
        self.assertEqual(self.figures(one), self.figures(self.small))
        good = [row for row in self.figures(one) if row["status"] == "ok"]
        self.assertEqual(len(good), 8)
        self.assertNotEqual(good[0]["latency_ns_p99"], good[1]["latency_ns_p99"])  # two seeds

    def test_rules_of_the_contract_are_the_reason(self):
        rows = self.rows(self.small)
        self.assertEqual({row["reason"] for row in rows if row["status"] == "illegal"}, {"nic.dma_tags: must be 8 to 1024 and a power of two"})
        self.assertEqual({row["nic.dma_tags"] for row in rows if row["status"] == "illegal"}, {"24"})
        self.explore(SMALL, "--set", "nic.core_clock_khz=100000", out=self.folder / "two", code=1)
        self.assertTrue(all("nic.data_path_carries_line_rate" in row["reason"] or row["nic.dma_tags"] == "24"
                            for row in self.rows(self.folder / "two")))
        self.explore(SMALL, "--set", "nic.extensible_requests=0", out=self.folder / "three", code=1)
        self.assertTrue(all("nic.pushed_is_extensible" in row["reason"] or row["nic.dma_tags"] == "24"
                            for row in self.rows(self.folder / "three")))

    def test_tags_limit_goodput_as_little_s_law_says(self):
        for row in self.rows(self.small):
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

        text = pandas.read_csv(self.small / "results.csv", keep_default_na=False, na_values={"goodput_gbps": ""})
        columns = pandas.read_parquet(self.small / "results.parquet")
        self.assertEqual(list(text.columns), list(columns.columns))
        for name in ("point", "status", "reason", "nic.dma_tags", "goodput_gbps", "pareto"):
            pandas.testing.assert_series_equal(text[name], columns[name], check_dtype=False)

    def test_report_is_complete_and_needs_no_network(self):
        shutil.copytree(self.small, self.out)
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
        new = ON_RTL.replace("pcie.read_ns = [100, 700]", 'workload.operation = ["send read:2", "net"]\nhost.call_ns = [40]')
        self.out = self.folder / "new"
        self.confirm(new.replace("bytes = 4096", 'sizes = "60-900"\ntopology = "incast"\nnics = 3'))

    @unittest.skipUnless(os.environ.get("VIREO_SYSTEM") == "full", "takes minutes to build RTL of another configuration; VIREO_SYSTEM=full does")
    def test_confirmed_on_rtl_built_on_demand(self):
        self.confirm(ON_RTL.replace('nic.config = "nic1"', 'nic.config = "nic1"\nnic.dma_tags = 8'))

    def values(self, study, name):
        """A column by the values of what varies; each study runs once."""
        out = self.folder / hashlib.sha256(study.encode()).hexdigest()[:12]
        if not out.exists():
            self.explore(study, out=out)
        return [float(row[name]) for row in self.rows(out)]

    def test_faults_of_the_wire(self):
        study = VARIED.replace("VARY", 'wire.faults = ["", "drop nth=30 count=3\\ndelay 700 nth=80"]\nwire.faults_back = ["", "duplicate 2 nth=7"]')
        self.assertEqual(self.values(study, "faults"), [0, 1, 8, 9])  # both ways
        self.assertEqual(self.values(study, "frames_lost"), [0, 0, 6, 6])
        frames = self.values(study, "frames_per_msg")
        self.assertGreater(min(frames[2:]), frames[0])  # sent again

    def test_a_host_s_calls_take_time(self):
        study = VARIED.replace("VARY", "host.call_ns = [0, 200, 1000]").replace("bytes = 4096", "bytes = 64\noutstanding = 32")
        free, fast, slow = self.values(study, "msgs_per_s")
        # A post for each message, and a poll for 1 to 16 CQEs.
        for rate, call_ns in ((fast, 200), (slow, 1000)):
            self.assertLess(rate, 1e9 / call_ns)
        self.assertGreater(slow, 0.98 * 1e9 / 2000)
        self.assertGreater(free, slow)
        self.explore(study.replace('bytes = 64', 'operation = "send"\nbytes = 64').replace("signal_every = 1", ""), out=self.folder / "send")

    def test_features_that_the_driver_accepts(self):
        study = VARIED.replace("VARY", 'host.features = ["", "-ring_event_idx"]\nhost.rings = ["split", "packed"]')
        split, packed, no_events, _ = self.values(study.replace("bytes = 4096", "bytes = 64"), "bar_writes_per_msg")
        self.assertLess(split, 0.5)  # the device says from which buffer on it wants a doorbell
        self.assertGreater(no_events, 0.9)
        self.assertNotEqual(split, packed)

    def test_operations_and_sizes_are_those_of_the_mix(self):
        study = VARIED.replace("VARY", 'workload.operation = ["write", "read", "write:1 read:1"]').replace("messages = 150", "messages = 600")
        ratio = [back / forth for forth, back in zip(self.values(study, "wire_gbps"), self.values(study, "wire_back_gbps"), strict=True)]
        self.assertLess(ratio[0], 0.1)
        self.assertGreater(ratio[1], 10)
        self.assertLess(0.7, ratio[2])
        self.assertLess(ratio[2], 1.4)
        study = VARIED.replace("VARY", 'workload.sizes = ["500", "100:9 2100-6100:1"]').replace("bytes = 4096", "").replace("messages = 150", "messages = 2000")
        rates, goodputs = self.values(study, "msgs_per_s"), self.values(study, "goodput_gbps")
        means = [goodput * 1e9 / 8 / rate for rate, goodput in zip(rates, goodputs, strict=True)]
        self.assertAlmostEqual(means[0], 500, delta=0.01)
        self.assertAlmostEqual(means[1], 0.9 * 100 + 0.1 * 4100, delta=80)

    def test_net_frames(self):
        study = VARIED.replace("VARY", 'workload.bytes = [60, 1514]\nworkload.operation = ["net"]\nwire.lost_per_million = [0, 50000]')
        study = study.replace("bytes = 4096", "queue_pairs = 4\noutstanding = 16").replace("messages = 150", "messages = 1000")
        self.assertGreater(self.values(study, "goodput_gbps")[2], 80)
        lost, frames = self.values(study, "msgs_lost"), self.values(study, "frames_lost")
        self.assertEqual((lost[0], lost[2]), (0, 0))
        self.explore(study.replace("outstanding = 16", "outstanding = 1"), "--bottleneck", out=self.folder / "limits")
        for row in self.rows(self.folder / "limits"):
            self.assertRegex(row["bottleneck"], r"latency: 4 outstanding x [1-9]\d+ ns")
        for i in (1, 3):
            self.assertGreater(lost[i], 20)
            self.assertLessEqual(lost[i], frames[i])

    def test_several_nics(self):
        study = VARIED.replace("VARY", 'workload.topology = ["incast", "ring"]\nworkload.nics = [2, 4]').replace("bytes = 4096", "bytes = 65_536")
        two, incast, both_ways, ring = self.values(study, "goodput_gbps")
        for one in (two, incast):
            self.assertGreater(one, 80)
            self.assertLess(one, 99)
        self.assertGreater(both_ways, 150)
        self.assertGreater(ring, 300)
        self.assertLess(ring, 396)
        slowest = self.values(study, "slowest_gbps")
        self.assertLessEqual(slowest[1], incast / 3)
        self.assertLessEqual(slowest[3], ring / 4)
        self.assertGreater(slowest[3], 60)
        # What does not fit into the switch's queue is dropped, and RDMA sends it again.
        drops = self.values(VARIED.replace("VARY", 'workload.topology = ["incast"]\nwire.switch_queue_bytes = [50_000, 150_000]')
                            .replace("bytes = 4096", "bytes = 4096\nnics = 4").replace("messages = 150", "messages = 300"), "switch_drops")
        self.assertGreater(drops[0], 0)
        self.assertEqual(drops[1], 0)
        drops = self.values(VARIED.replace("VARY", 'workload.operation = ["net"]\nworkload.topology = ["incast"]\nwire.switch_queue_bytes = [8000, 1_000_000]')
                            .replace("bytes = 4096", "bytes = 1514\nnics = 5"), "switch_drops")
        self.assertGreater(drops[0], 0)
        self.assertEqual(drops[1], 0)

    def test_new_kinds_have_the_same_figures_however_many_at_a_time(self):
        study = VARIED.replace("VARY", 'workload.operation = ["write:2 send read", "net"]\nworkload.topology = ["incast", "ring"]\nhost.call_ns = [0, 70]\n'
                               'wire.faults = ["", "drop rate=0.01"]').replace("bytes = 4096", 'sizes = "100-1500:3 60"\nnics = 3').replace("messages = 150", "messages = 100")
        one, four = self.folder / "one", self.folder / "four"
        self.explore(study, "--jobs", "1", out=one)
        self.explore(study, "--jobs", "4", out=four)
        self.assertEqual(self.figures(one), self.figures(four))

    @unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not installed")
    def test_unmodified_programs(self):
        study = """name = "programs"
[base]
pcie.preset = "gen3x16"
[vary]
workload.bytes = [65_536, 131_072]
wire.rate_mbps = [0, 25_000]
[[workload]]
name = "bw"
program = "ib_write_bw -F -s {bytes} -n 60"
[[workload]]
name = "lat"
program = "ib_read_lat -F -s 64 -n 30"
"""
        self.explore(study, "--simulator", str(self.simulator), "--jobs", "2")
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["ok"] * 4)
        for row in rows:
            line = 100 if row["wire.rate_mbps"] == "0" else 25
            self.assertGreater(float(row["bw.goodput_gbps"]), 0.9 * line)
            self.assertLess(float(row["bw.goodput_gbps"]), line)
        self.assertLess(float(rows[0]["lat.latency_ns_typical"]), float(rows[1]["lat.latency_ns_typical"]))

    def test_every_example_at_reduced_size(self):
        studies = sorted(STUDIES.glob("*.toml"))
        self.assertEqual([study.stem for study in studies], sorted(REDUCED))
        for study in studies:
            with self.subTest(study=study.stem):
                out = self.folder / study.stem
                text = re.sub(r"^messages = .*", "messages = 60", study.read_text(encoding="utf-8"), flags=re.M)
                if has_area := "\narea = " in text:
                    text = text.replace("\narea = ", f"\narea_blocks = {list(AREA_BLOCKS)}\narea = ")
                self.explore(text, *REDUCED[study.stem], out=out)
                rows = self.rows(out)
                self.assertGreaterEqual(len(rows), 2 if has_area else 4)
                self.assertIn("True", {row["pareto"] for row in rows})
                if has_area:
                    self.check_area(rows)

    def check_area(self, rows):
        """What Yosys counts for these blocks, which do not depend on rate and clock."""
        self.assertEqual(len({(row["area_lut"], row["area_ff"], row["area_bram"]) for row in rows}), 1)
        for row in rows:
            for column in ("area_lut", "area_ff"):
                self.assertGreater(float(row[column]), 300)
                self.assertLess(float(row[column]), 4000)
            self.assertEqual((float(row["area_dsp"]), row["feasible"]), (0, "True"))


if __name__ == "__main__":
    Model.bench = pathlib.Path(sys.argv.pop(1)).resolve()
    Model.simulator = pathlib.Path(sys.argv.pop(1)).resolve()
    os.umask(0o022)
    sys.exit(unittest.main())
