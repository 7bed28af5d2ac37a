#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no file of the repository uses a phrase of PHRASES: wording that an engineer cannot search for.

Upper and lower case are equal. Words may be separated by white space, a line break with comment marks, underscores, quotes of a
split string, or nothing (CamelCase). Binary files and this one are not checked.

Every finding is one line, file:line: the phrase; what to do. Ends with 1 if there are findings."""

import argparse
import pathlib
import re
import sys

import doc_names

PHRASES = (
    "tells the rest",
    "what became of",
    "do the tests notice",
    "nobody would think of",
    "minds its own business",
    "said to everybody",
    "what everybody hears",
    "told to nobody",
    "the driver of before",
    "unless it is said",
)
ITSELF = "verif/repo/wording.py"
SEPARATOR = r"""[\s_#*/|>"'\\-]*"""
PATTERN = re.compile("|".join(SEPARATOR.join(phrase.split()) for phrase in PHRASES), re.IGNORECASE)


def check(root: pathlib.Path) -> tuple[list[str], int]:
    """The findings, and the number of files checked."""
    findings = []
    checked = 0
    for name in sorted(doc_names.Files(root).files - {ITSELF}):
        path = root / name
        if not path.is_file() or b"\0" in path.read_bytes():
            continue
        checked += 1
        text = path.read_text(encoding="utf-8", errors="replace")
        for match in PATTERN.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            findings.append(f"{name}:{line}: '{match[0]}'; write what it does, in terms that one can search for")
    return findings, checked


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that no file uses a phrase that this script lists.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    findings, checked = check(parser.parse_args().root)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"{checked} files, {len(findings)} findings")
    return 1 if findings or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
