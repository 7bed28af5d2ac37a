#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/doc_names.py must find each kind of name that does not exist, with file and line, and accept what exists. Every
test writes a small repository with one page."""

import json
import pathlib
import tempfile
import unittest

import doc_names

LAUNCHER = """#!/usr/bin/env bash
usage() {
  cat <<'HELP'
usage: ./vireo VERB [options]

  make      makes it   [--fast]
  test      runs the tests   [-R REGEX]
HELP
}
case $verb in
  make)
    case " $* " in
      *" --list "*) exec python3 tools/make.py "$@" ;;
    esac
    exec python3 tools/make.py "$@"
    ;;
  up | down)
    exec build/dev/sim/vireo_run "$verb" "$@"
    ;;
  test)
    exec ctest --preset dev "$@"
    ;;
  help | --help | -h) usage ;;
esac
"""
SCRIPT = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--fast", action="store_true")
parser.parse_args()
"""
FILES = {
    "vireo": LAUNCHER,
    "tools/make.py": SCRIPT,
    "CMakePresets.json": json.dumps({"configurePresets": [{"name": "base", "hidden": True}, {"name": "dev"}]}),
    "CMakeLists.txt": "add_executable(vireo_run run.cc)\n",
    "rtl/common/vireo_fifo.sv": "",
    "model/common/fifo.h": "",
    "model/common/fifo.cc": "",
    "docs/other.md": "# Other page\n\n## A `heading`, with marks\n\n## Twice\n\n## Twice\n",
    "docs/decisions/0003-some-reason.md": "",
}
TESTS = ["verif.cosim.write.Devices/Write.GoesOverIpv6/model_nic1", "verif.repo.testplan", "verif.late_NOT_BUILT",
         "verif.system.softroce"]


class DocNames(unittest.TestCase):
    def findings(self, text, page="docs/page.md", tests=TESTS, **files):
        listing = {"tests": [{"name": name} for name in tests]}
        listing["tests"][-1]["properties"] = [{"name": "LABELS", "value": ["system"]}]
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {**FILES, page: text, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            known = doc_names.Files(root)
            result = doc_names.check(known, doc_names.Tests.from_json([json.dumps(listing)]),
                                     doc_names.Commands(known, "vireo", {}), [page], "vireo")
        return [str(finding) for finding in result.findings]

    def refuses(self, text, *parts, page="docs/page.md", **other):
        found = self.findings(text, page, **other)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def accepts(self, text, page="docs/page.md", **other):
        self.assertEqual(self.findings(text, page, **other), [])

    # Files.
    def test_a_file_that_does_not_exist(self):
        self.refuses("One.\n\n`rtl/common/vireo_gone.sv` is here.\n", "docs/page.md:3:", "'rtl/common/vireo_gone.sv'")

    def test_a_file_that_moved_is_suggested(self):
        self.refuses("`rtl/vireo_fifo.sv`\n", "is it rtl/common/vireo_fifo.sv?")

    def test_a_name_without_a_folder(self):
        self.refuses("| `fifo.h` | `fofi.h` |\n", "'fofi.h'")

    def test_one_of_several_extensions(self):
        self.refuses("`model/common/fifo.{h,cc,sv}`\n", "'model/common/fifo.sv'")

    def test_a_file_in_a_code_block(self):
        self.refuses("```\ncat rtl/common/gone.sv\n```\n", "docs/page.md:2:", "'rtl/common/gone.sv'")

    def test_files_that_exist_by_every_convention(self):
        self.accepts("`rtl/common/vireo_fifo.sv` `common/fifo.{h,cc}` `fifo.h` `model/common` `model/common/fifo` `other.md` "
                     "`rtl/common/vireo_<block>.sv` `rtl/*/vireo_x.sv` `rtl/common/vireo_NAME.sv` `build/any/thing.sv` "
                     "`linux/virtio_net.h` `/dev/null.h` `page.md:12`\n")

    # Links.
    def test_a_link_to_no_file(self):
        self.refuses("[text](gone.md)\n", "docs/page.md:1:", "there is no docs/gone.md")

    def test_a_link_to_no_heading(self):
        self.refuses("[text](other.md#a-headin)\n", "no heading with that anchor", "#a-heading-with-marks")

    def test_a_link_within_the_page(self):
        self.refuses("# Here\n\n[text](#there)\n", "docs/page.md:3:", "#there")

    def test_links_that_exist(self):
        self.accepts("# Here\n[a](other.md) [b](other.md#a-heading-with-marks) [c](other.md#twice-1) [d](#here)\n"
                     "[e](../rtl/common) [f](https://example.com/x#y) `[g](gone.md)`\n")

    # Tests.
    def test_a_test_that_does_not_exist(self):
        self.refuses("See\n`verif.cosim.wrote`.\n", "docs/page.md:2:", "'verif.cosim.wrote'")

    def test_a_name_is_not_the_beginning_of_a_word(self):
        self.refuses("`verif.cosim.wri`\n", "'verif.cosim.wri'")

    def test_a_pattern_that_matches_no_test(self):
        self.refuses("`ctest -R 'verif.cosim.(read|send)'`\n", "'verif.cosim.(read|send)' matches no test",
                     tests=[name for name in TESTS if "NOT_BUILT" not in name])

    def test_a_pattern_in_a_table(self):
        self.accepts("| `ctest -R 'verif.cosim.(read\\|write)'` | `ctest -R softroce` |\n")

    def test_a_pattern_that_is_none(self):
        self.refuses("`ctest -R 'verif.(cosim'`\n", "no regular expression")

    def test_a_label_that_no_test_has(self):
        self.refuses("`./vireo test -L slow`\n", "-L slow matches no label", "labels: system")

    def test_tests_that_exist(self):
        self.accepts("`verif.cosim.write` `verif.cosim.write.Devices/Write.GoesOverIpv6` `verif.cosim` `verif.repo.TARGET` "
                     "`verif.{repo,cosim}` `verif.cosim.*` `build/dev/verif/verif.cosim.write` `./vireo test -L system`\n")

    def test_of_a_program_that_is_not_built_nothing_is_known(self):
        self.accepts("`verif.late.Suite.Case` `verif.late`\n")

    # Commands.
    def test_an_unknown_verb(self):
        self.refuses("```\n./vireo mek --fast\n```\n", "docs/page.md:2:", "no verb 'mek'", "make")

    def test_an_unknown_option_of_a_verb(self):
        self.refuses("Run `./vireo make --slow`.\n", "./vireo make has no option '--slow'")

    def test_an_option_in_the_middle_of_a_line(self):
        self.refuses("```\nA=1 ./vireo make --fast; ./vireo make --slow | less\n```\n", "'--slow'")

    def test_an_option_alone_that_nothing_has(self):
        self.refuses("`--gone`\n", "'--gone'", vireo=LAUNCHER.replace("vireo_run", "other"))

    def test_an_unknown_option_of_a_script(self):
        self.refuses("`python3 tools/make.py --slow`\n", "tools/make.py has no option '--slow'")

    def test_a_program_that_nobody_builds(self):
        self.refuses("`vireo_walk --fast`\n", "'vireo_walk'")

    def test_the_launchers_own_list(self):
        text = LAUNCHER.replace("[--fast]", "[--slow]")
        self.refuses(text, "vireo:6:", "./vireo make has no option '--slow'", page="vireo")
        self.refuses(LAUNCHER.replace("  make      ", "  fake      "), "vireo:6:", "'fake'", page="vireo")

    def test_commands_that_exist(self):
        self.accepts("`./vireo make --fast` `./vireo make --list [--fast]` `./vireo VERB --help` `--fast` `./vireo up --nics 2`\n"
                     "```\n./vireo make --fast   # --slow is a comment\n./vireo exec-is-prose\n```\n".replace(
                         "./vireo exec-is-prose\n", "./vireo up -- other --slow\n"))

    def test_a_command_of_a_generated_block(self):
        self.refuses("a\n<!-- BEGIN GENERATED: ./vireo make --slow -->\nb\n<!-- END GENERATED -->\n", "docs/page.md:2:", "'--slow'")

    # Presets and targets.
    def test_an_unknown_preset(self):
        self.refuses("`cmake --preset fast`\n", "'fast'", "dev")

    def test_a_hidden_preset(self):
        self.refuses("`ctest --preset base`\n", "'base'")

    def test_an_unknown_target(self):
        self.refuses("`cmake --build --preset dev --target vireo_walk`\n", "'vireo_walk'")

    # The contract and the test plan.
    def test_a_file_in_the_contract(self):
        self.refuses("a = 1\n# See docs/gone.md.\n", "spec/x.toml:2:", "'docs/gone.md'", page="spec/x.toml")

    def test_a_test_in_the_contract(self):
        self.refuses("doc = \"shown by verif.cosim.wrote\"\n", "'verif.cosim.wrote'", page="spec/x.toml")

    def test_a_command_in_the_test_plan(self):
        self.refuses("text = \"`./vireo make --slow` ends\"\n", "'--slow'", page="docs/testplan.toml")

    def test_what_exists_in_the_contract(self):
        self.accepts("# docs/decisions/0003, docs/other.md, other.md, errno.h, linux/virtio_net.h (RFC v2), verif.cosim.write\n",
                     page="spec/x.toml")


if __name__ == "__main__":
    unittest.main()
