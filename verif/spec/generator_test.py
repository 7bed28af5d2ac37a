#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generator refuses every contradiction, naming file and field, and writes the same outputs each time."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATE = [sys.executable, str(ROOT / "spec/generate.py")]

HEAD = 'title = "T"\ndoc = "D"\nsource = "S"\n'
STRUCT = '[[struct]]\nname = "s"\norder = "{order}"\nbytes = {bytes}\ndoc = "D"\nfields = [\n{fields}\n]\n'


def field(at, bits, name, more=""):
    return f'  {{ at = {at!r}, bits = {bits}, name = "{name}", doc = "D"{more} }},'.replace("'", '"')


def struct(*fields, order="network", size=4):
    return HEAD + STRUCT.format(order=order, bytes=size, fields="\n".join(fields))


def token(fields):
    return HEAD + f'[[token]]\nname = "x"\ndoc = "D"\nfields = [{fields}]\n'


class Refusals(unittest.TestCase):
    def refused(self, toml, *words):
        """The generator fails on this file, names the file and prints every one of `words`."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bad.toml").write_text(toml, encoding="utf-8")
            run = subprocess.run([*GENERATE, "--spec", folder], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)
            for word in ("bad.toml", *words):
                self.assertIn(word, run.stderr)
            self.assertNotIn("Traceback", run.stderr)
            self.assertFalse((pathlib.Path(folder) / "gen").exists(), "a refused contract must write nothing")

    def test_overlap(self):
        self.refused(struct(field(0, 16, "a"), field(1, 24, "b")), "struct s", "field b", "overlaps", "8 bits")

    def test_overlap_of_bits(self):
        self.refused(struct(field("0.7", 3, "a"), field("0.5", 5, "b"), field(1, 24, "c")), "field b", "overlaps", "1 bits")

    def test_gap(self):
        self.refused(struct(field(0, 8, "a"), field(2, 16, "b")), "struct s", "field b", "gap of 8 bits")

    def test_gap_of_bits_in_little_order(self):
        self.refused(struct(field("0.0", 3, "a"), field("0.4", 4, "b"), field(1, 24, "c"), order="little"),
                     "field b", "gap of 1 bits")

    def test_total_too_small(self):
        self.refused(struct(field(0, 16, "a")), "struct s", "fill 2 bytes", "total is 4")

    def test_total_too_large(self):
        self.refused(struct(field(0, 32, "a"), field(4, 8, "b")), "struct s", "fill 5 bytes")

    def test_unknown_enum(self):
        self.refused(struct(field(0, 32, "a", ', enum = "nowhere"')), "field a", "no enum", "nowhere")

    def test_unknown_flags(self):
        self.refused(struct(field(0, 32, "a", ', flags = "nowhere"')), "field a", "no flags", "nowhere")

    def test_unknown_structure(self):
        self.refused(struct('  { at = 0, struct = "nowhere", name = "a", doc = "D" },'), "field a", "no structure", "nowhere")

    def test_structure_of_the_other_byte_order(self):
        inner = STRUCT.format(order="little", bytes=4, fields=field(0, 32, "x")).replace('"s"', '"inner"')
        self.refused(struct('  { at = 0, struct = "inner", name = "a", doc = "D" },') + inner, "field a", "other byte order")

    def test_union_variant_of_the_wrong_size(self):
        inner = STRUCT.format(order="little", bytes=4, fields=field(0, 32, "x")).replace('"s"', '"inner"')
        self.refused(struct('  { at = 0, union = ["inner"], bytes = 8, name = "a", doc = "D" },', size=8) + inner,
                     "field a", "variant inner", "8 bytes")

    def test_enum_wider_than_its_field(self):
        enum = '[[enum]]\nname = "e"\nbits = 9\ndoc = "D"\nvalues = [{ name = "v", value = 1, doc = "D" }]\n'
        self.refused(struct(field(0, 8, "a", ', enum = "e"'), field(1, 24, "b")) + enum, "field a", "needs 9 bits")

    def test_field_name_twice(self):
        self.refused(struct(field(0, 16, "a"), field(2, 16, "a")), "field a", "appears twice")

    def test_token_of_unknown_kind(self):
        self.refused(token('{ token = "t", name = "a", doc = "D" }'), "token x", "field a", "no token of this name")

    def test_token_field_of_two_kinds(self):
        self.refused(token('{ bits = 1, bytes = 1, name = "a", doc = "D" }'), "field a", "exactly one of")

    def test_token_field_too_wide(self):
        self.refused(token('{ bits = 65, name = "a", doc = "D" }'), "field a", "1 to 64")

    def test_token_field_twice(self):
        self.refused(token('{ bits = 1, name = "a", doc = "D" }, { bits = 1, name = "a", doc = "D" }'), "appears twice")

    def test_token_enum_too_wide(self):
        enum = '[[enum]]\nname = "e"\nbits = 8\ndoc = "D"\nvalues = [{ name = "v", value = 9, doc = "D" }]\n'
        self.refused(token('{ bits = 3, name = "a", enum = "e", doc = "D" }') + enum, "enum e does not fit in 3 bits")

    def test_token_with_a_reserved_word(self):
        self.refused(token('{ bits = 3, name = "vector", doc = "D" }'), "field vector", "reserves")

    def test_reserved_word(self):
        self.refused(struct(field(0, 32, "class")), "field class", "reserved word")

    def test_unknown_key(self):
        self.refused(struct(field(0, 32, "a", ", width = 3")), "field a", "unknown key 'width'")

    def test_missing_key(self):
        self.refused(HEAD + '[[const]]\nname = "c"\nvalue = 1\ndoc = "D"\n', "const c", "needs the key 'bits'")

    def test_value_too_wide(self):
        self.refused(HEAD + '[[const]]\nname = "c"\nvalue = 256\nbits = 8\ndoc = "D"\n', "const c", "does not fit in 8 bits")

    def test_name_twice(self):
        const = '[[const]]\nname = "c"\nvalue = 1\nbits = 8\ndoc = "D"\n'
        self.refused(HEAD + const + const, "const c", "taken in bad.toml")

    def test_name_of_two_kinds(self):
        enum = '[[enum]]\nname = "s"\nbits = 2\ndoc = "D"\nvalues = [{ name = "v", value = 1, doc = "D" }]\n'
        self.refused(struct(field(0, 32, "a")) + enum, "struct s", "taken by a enum")

    def test_enum_value_twice(self):
        values = '{ name = "v", value = 1, doc = "D" }, { name = "w", value = 1, doc = "D" }'
        self.refused(HEAD + f'[[enum]]\nname = "e"\nbits = 2\ndoc = "D"\nvalues = [{values}]\n', "enum e", "w", "same number")

    def test_flag_outside_its_width(self):
        self.refused(HEAD + '[[flags]]\nname = "f"\nbits = 2\ndoc = "D"\nvalues = [{ name = "v", bit = 2, doc = "D" }]\n',
                     "flags f", "v", "does not fit in 2 bits")

    def test_profile_value_missing(self):
        profiles = "".join(f'[[profile]]\nname = "{p}"\nvalue = {i}\ndoc = "D"\n' for i, p in enumerate(("rfc-v2", "vireo")))
        self.refused(HEAD + profiles + '[[const]]\nname = "c"\nvalue = { vireo = 1 }\nbits = 8\ndoc = "D"\n',
                     "const c", "one value for each")

    def test_registers_overlap(self):
        block = '[[regblock]]\nname = "m"\nbytes = 16\ndata_bits = 32\ndoc = "D"\n'
        register = '[[register]]\nblock = "m"\nname = "{}"\nat = {}\naccess = "rw"\ncount = {}\ndoc = "D"\n'
        self.refused(HEAD + block + register.format("a", 0, 2) + register.format("b", 4, 1), "register m_b", "overlaps m_a")

    def test_register_outside_its_block(self):
        block = '[[regblock]]\nname = "m"\nbytes = 16\ndata_bits = 32\ndoc = "D"\n'
        self.refused(HEAD + block + '[[register]]\nblock = "m"\nname = "a"\nat = 16\naccess = "rw"\ndoc = "D"\n',
                     "register m_a", "ends after")

    def test_unknown_access(self):
        block = '[[regblock]]\nname = "m"\nbytes = 16\ndata_bits = 32\ndoc = "D"\n'
        self.refused(HEAD + block + '[[register]]\nblock = "m"\nname = "a"\nat = 0\naccess = "wr"\ndoc = "D"\n',
                     "register m_a", "access")

    def test_feature_of_a_parameter(self):
        enum = '[[enum]]\nname = "f"\nbits = 8\ndoc = "D"\nvalues = [{ name = "low", value = 3, doc = "D" }, { name = "high", value = 64, doc = "D" }]\n'
        parameter = '[[parameter]]\nname = "p"\nmin = 0\nmax = {}\nfeatures = ["f.{}"]\ndoc = "D"\n'
        self.refused(HEAD + enum + parameter.format(2, "low"), "parameter p", "features", "0 or 1")
        self.refused(HEAD + enum + parameter.format(1, "none"), "parameter p", "'f.none'", "below 64")
        self.refused(HEAD + enum + parameter.format(1, "high"), "parameter p", "'f.high'", "below 64")

    def test_configuration_without_a_parameter(self):
        parameter = '[[parameter]]\nname = "{}"\nmin = 1\nmax = 8\npow2 = true\ndoc = "D"\n'
        config = '[[config]]\nname = "c"\ndoc = "D"\nvalues.p = {}\n'
        self.refused(HEAD + parameter.format("p") + parameter.format("q") + config.format(4), "config c", "missing", "'q'")
        self.refused(HEAD + parameter.format("p") + config.format(9), "config c", "p", "outside 1 to 8")
        self.refused(HEAD + parameter.format("p") + config.format(3), "config c", "p", "power of two")

    def test_configuration_that_breaks_a_rule(self):
        parameter = '[[parameter]]\nname = "{}"\nmin = 1\nmax = 8\ndoc = "D"\n'
        rule = '[[rule]]\nname = "r"\nrequire = "{}"\ndoc = "D"\n'
        config = '[[config]]\nname = "c"\ndoc = "D"\nvalues.p = 3\nvalues.q = 4\n'
        head = HEAD + parameter.format("p") + parameter.format("q")
        self.refused(head + rule.format("p * 2 >= q + 3") + config, "config c", "breaks rule r", "p * 2 >= q + 3")
        self.refused(head + rule.format("p >= s") + config, "rule r", "'s' is no parameter")
        self.refused(head + rule.format("p + q") + config, "rule r", "is not one comparison")
        self.refused(head + rule.format("p < q < 9") + config, "rule r", "is not one comparison")
        self.refused(head + rule.format("p >= exit()") + config, "rule r", "exit()")
        self.refused(head + rule.format("p >=") + config, "rule r", "is not an expression")
        self.refused(head + rule.format("p < q").replace('"r"', '"p"') + config, "rule p", "taken by a parameter")

    def test_broken_toml(self):
        self.refused("title = \n", "bad.toml")


class RealContract(unittest.TestCase):
    """Mutants of the real files: one edit each, refused where it was made."""

    def edited(self, file, old, new, *words):
        with tempfile.TemporaryDirectory() as folder:
            for path in (ROOT / "spec").glob("*.toml"):
                shutil.copy(path, folder)
            path = pathlib.Path(folder) / file
            text = path.read_text(encoding="utf-8")
            self.assertEqual(text.count(old), 1, f"{file} must hold {old!r} once")
            path.write_text(text.replace(old, new), encoding="utf-8")
            run = subprocess.run([*GENERATE, "--spec", folder], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1, f"{file}: {new!r} was accepted")
            for word in (file, *words):
                self.assertIn(word, run.stderr)

    def test_opcode_of_another_service(self):
        self.edited("opcodes.toml", 'value = 0x64, name = "ud_send_only"', 'value = 0x24, name = "ud_send_only"', "ud_send_only")

    def test_opcode_with_an_unknown_header(self):
        self.edited("opcodes.toml", 'headers = ["feth", "reth"]', 'headers = ["feth", "nope"]', "rc_flush", "nope")

    def test_psn_narrower(self):
        self.edited("wire.toml", '{ at = 9,     bits = 24, name = "psn"', '{ at = 9,     bits = 23, name = "psn"', "struct bth")

    def test_command_with_an_unknown_request(self):
        self.edited("roce.toml", 'request = "rdma_cmd_create_cq"', 'request = "rdma_cmd_create_qc"', "create_cq", "rdma_cmd_create_qc")


class Outputs(unittest.TestCase):
    def test_same_input_same_output(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            for folder in (one, two):
                subprocess.run([*GENERATE, "--out", folder], check=True, capture_output=True)
            for path in pathlib.Path(one).iterdir():
                self.assertEqual(path.read_bytes(), (pathlib.Path(two) / path.name).read_bytes(), path.name)

    def test_check_reports_stale_and_stray_files(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "gen"
            check = lambda: subprocess.run([*GENERATE, "--out", str(out), "--check"], capture_output=True, text=True, check=False)  # noqa: E731
            self.assertEqual(check().returncode, 1)
            subprocess.run([*GENERATE, "--out", str(out)], check=True, capture_output=True)
            self.assertEqual(check().returncode, 0)
            header = out / "vireo_spec.h"
            header.write_text(header.read_text(encoding="utf-8").replace("kUdpPortRocev2 = 4791u", "kUdpPortRocev2 = 4792u"), encoding="utf-8")
            (out / "stray.txt").write_text("", encoding="utf-8")
            run = check()
            self.assertEqual(run.returncode, 1)
            for word in ("vireo_spec.h is out of date", "./vireo spec", "stray.txt"):
                self.assertIn(word, run.stderr)

    def test_where(self):
        run = subprocess.run([*GENERATE, "--where", "ack_req"], capture_output=True, text=True, check=False)
        self.assertRegex(run.stdout, r"(?m)^spec/wire\.toml:\d+: ")
        run = subprocess.run([*GENERATE, "--where", "nosuchname"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("nosuchname", run.stderr)


if __name__ == "__main__":
    unittest.main()
