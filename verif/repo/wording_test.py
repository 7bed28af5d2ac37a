#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verif/repo/wording.py must find each phrase of its list in every form, with file and line, and accept other text."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import wording


class Wording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def findings(self, text, name="docs/page.md"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return wording.check(self.root)[0]

    def test_each_phrase(self):
        for phrase in wording.PHRASES:
            found = self.findings(f"One.\n\nA line with {phrase}, and more.\n")
            self.assertEqual(len(found), 1, phrase)
            self.assertIn(f"docs/page.md:3: '{phrase}'", found[0])

    def test_each_form(self):
        first, *rest = wording.PHRASES[0].split()
        camel = "".join(word.capitalize() for word in wording.PHRASES[0].split())
        for name, text in {
            "docs/page.md": wording.PHRASES[0].upper(),
            "rtl/x.sv": f"  // {first}\n  // {' '.join(rest)}\n",
            "x.py": f"# {first}\n# {' '.join(rest)}\n",
            "x.cc": f'Print("{first} "\n      "{" ".join(rest)}");\n',
            "x_test.cc": f"TEST(Suite, {camel}) {{}}\n",
            "x.sh": wording.PHRASES[0].replace(" ", "_") + "() { :; }\n",
            "page.md": f"> {first}\n> {' '.join(rest)}\n",
        }.items():
            self.assertEqual(len(self.findings(text, name)), 1, name)
            (self.root / name).unlink()

    def test_every_occurrence(self):
        self.assertEqual(len(self.findings(f"{wording.PHRASES[0]}\n{wording.PHRASES[1]}\n{wording.PHRASES[0]}\n")), 3)

    def test_other_text(self):
        self.assertEqual(self.findings("The rest follows. The driver resets the device before it is removed.\n"), [])

    def test_binary_files_and_the_list_itself(self):
        self.assertEqual(self.findings(wording.PHRASES[0].encode() + b"\0", "docs/picture.png"), [])
        self.assertEqual(self.findings(wording.PHRASES[0], wording.ITSELF), [])

    def test_exit_code(self):
        command = [sys.executable, wording.__file__, "--root", str(self.root)]
        self.findings("Plain text.\n")
        self.assertEqual(subprocess.run(command, check=False, capture_output=True).returncode, 0)
        self.findings(f"{wording.PHRASES[0]}\n")
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("docs/page.md:1:", ended.stderr)


if __name__ == "__main__":
    unittest.main()
