#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/formal/formal.py must reject false claims, claims that cannot fail, and undecided ones; its list and docs/formal.md
must have the same proofs."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import formal

MUTANT = {"assertion": "claim", "search": "data0_q <= valid1_q ? data1_q : s_data_i", "replace": "data0_q <= 2'd0"}


def entry(claim, **other):
    """A proof of verif/formal/bad/bad_proof.sv, with defaults filled in."""
    mutant = dict(MUTANT, file="rtl/common/vireo_slice.sv", steps=8)
    return {"name": f"bad{claim}", "module": "vireo_slice", "top": "bad_proof", "checkers": ["verif/formal/bad/bad_proof.sv"],
            "sets": [f"Claim={claim}"], "method": "induction", "property": "none", "steps": 10, "free": [], "apart": False, "multiclock": False, "lists": [],
            "mutant": [mutant]} | other


class Refuses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not formal.yosys.PROGRAM.exists():
            raise AssertionError("Yosys is not installed; run ./vireo setup")
        formal.WORK.mkdir(parents=True, exist_ok=True)

    def errors(self, proof):
        return "\n".join(formal.prove(proof)[1])

    def test_a_false_claim_is_refuted_although_it_holds_for_eight_cycles(self):
        self.assertIn("refuted: 9", self.errors(entry(0)))

    def test_a_false_claim_is_undecided_in_fewer_cycles_than_it_takes_to_fail(self):
        self.assertIn("open: undecided after 3 cycles", self.errors(entry(0, steps=3)))

    def test_a_claim_that_no_mutant_refutes_is_rejected(self):
        errors = self.errors(entry(1))
        self.assertIn("mutant not refuted", errors)
        self.assertNotIn("Claim=1", errors)  # the claim itself is proven

    def test_a_claim_without_a_mutant_is_rejected(self):
        self.assertIn("no mutant for assertion `gen_open.claim`", self.errors(entry(2, mutant=[])))

    def test_an_assertion_without_a_name_is_rejected(self):
        self.assertIn("no mutant for assertion", self.errors(entry(3, mutant=[])))

    def test_a_mutant_whose_search_text_is_missing_is_rejected_before_anything_runs(self):
        mutant = dict(MUTANT, file="rtl/common/vireo_slice.sv", steps=8, search="data7_q")
        self.assertIn("0 times", self.errors(entry(2, mutant=[mutant])))

    def test_a_mutant_that_does_not_compile_is_an_error_and_not_a_refutation(self):
        mutant = dict(MUTANT, file="rtl/common/vireo_slice.sv", steps=8, replace="data0_q <= no_such_name")
        self.assertIn("Yosys failed", self.errors(entry(2, mutant=[mutant])))

    def test_only_the_solvers_final_messages_count(self):
        self.assertEqual(formal.verdict("Induction step proven: SUCCESS!")[0], "proven")
        self.assertEqual(formal.verdict("SAT proof finished - model found: FAIL!")[0], "refuted")
        self.assertEqual(formal.verdict("")[0], "open")
        self.assertEqual(formal.verdict("echo SUCCESS!")[0], "open")
        self.assertEqual(formal.verdict("** Trying induction with length 2 **\nInduction step proven: SUCCESS!"), ("proven", 2))
        self.assertEqual(formal.verdict("Interrupted by timeout!\nSUCCESS!")[0], "open")


class List(unittest.TestCase):
    def test_the_page_has_exactly_the_proofs_of_the_list(self):
        page = formal.PAGE.read_text(encoding="utf-8").partition(formal.BEGIN)[2].partition(formal.END)[0]
        rows = [line.split(" | ") for line in page.splitlines()[2:]]
        proofs = formal.load()
        self.assertEqual([(row[0].strip("| `"), row[3]) for row in rows], [(proof["name"], proof["property"]) for proof in proofs])
        self.assertEqual([row[5].partition(" of ")[2] for row in rows], [str(len(proof["mutant"])) for proof in proofs])

    def test_every_entry_of_the_list_is_valid(self):
        for proof in formal.load():
            self.assertEqual(formal.mistakes(proof), [], proof["name"])

    def test_an_unknown_method_and_a_missing_checker_are_named(self):
        wrong = formal.mistakes(entry(0, method="hope", checkers=["verif/formal/none.sv"]))
        self.assertIn("unknown method", wrong[0])
        self.assertIn("no such file: verif/formal/none.sv", wrong[1])

    def test_an_unknown_name_lists_the_known_names(self):
        run = subprocess.run([sys.executable, pathlib.Path(formal.__file__), "sloce"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("unknown proof sloce; known: slice, fifo", run.stderr)

    def test_an_error_names_a_list_that_is_not_toml(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("[[proof]\n")
            file.flush()
            run = subprocess.run([sys.executable, pathlib.Path(formal.__file__), "--list", "--proofs", file.name],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"vireo formal: {file.name}", run.stderr)


if __name__ == "__main__":
    unittest.main()
