#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tiers.py."""

import unittest

import tiers

ALL = {"a.Case/model_nic1", "a.Case/rtl_nic1", "a.Case/lockstep_nic1", "a.Other", "b.Case/rtl_nic1"}


class Faults(unittest.TestCase):
    def test_a_case_on_another_device_with_rtl_is_enough(self):
        self.assertEqual(tiers.faults(ALL, ALL - {"a.Case/rtl_nic1", "a.Case/model_nic1"}), [])

    def test_a_case_without_rtl_is_a_fault(self):
        found = tiers.faults(ALL, ALL - {"a.Case/rtl_nic1", "a.Case/lockstep_nic1"})
        self.assertEqual([line.split(",")[-1] for line in found], [" and its case runs on no RTL"] * 2)

    def test_a_case_that_is_missing_is_a_fault(self):
        self.assertEqual(tiers.faults(ALL, ALL - {"b.Case/rtl_nic1"}), ["b.Case/rtl_nic1 is left out, and its case with it"])
        self.assertEqual(tiers.faults(ALL, ALL - {"a.Other"}), ["a.Other is left out, and its case with it"])

    def test_an_unknown_test_is_a_fault(self):
        self.assertEqual(tiers.faults(ALL, ALL | {"c.New"}), ["c.New is in the suite, but not in all tests"])


if __name__ == "__main__":
    unittest.main()
