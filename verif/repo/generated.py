#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated blocks of Markdown pages: a figure stands in one place, and the command that measures it writes it there.

  <!-- BEGIN GENERATED: ./vireo synth -->
  ... what the command wrote; not to be edited
  <!-- END GENERATED -->

A generator in Python calls `replace(page, key, text)`; others write between the same marks, or print the text:
`./vireo faults --markdown | python3 verif/repo/generated.py --write docs/faults.md './vireo faults --markdown'`. Without
--write this program checks all pages:

  - marks pair up, a block has text, and no two blocks of a page have the same command;
  - a table of measured figures lies in a block. One that no command can write has a line in front of it that says how it was
    measured: <!-- MEASURED: command or method -->;
  - README.md and docs/microarchitecture.md repeat no figure of a block. Only figures of four digits or more, three of them
    significant, count: shorter and round ones are equal by chance.

A table counts as one of figures if at least a third of its cells, without the first column, are numbers with a decimal point, a
thousands separator or a unit of measurement. Pages of blocks, decisions and spec/ state cycles and sizes of the design, which
tests check; they are not checked here.

Every finding is one line, file:line: what is wrong; what to do. Ends with 1 if there are findings."""

import argparse
import pathlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = re.compile(r"<!-- BEGIN GENERATED: (.+?) -->")
END = "<!-- END GENERATED -->"
MEASURED = re.compile(r"<!-- MEASURED: (.+?) -->")
REPEATS_NOTHING = ("README.md", "docs/microarchitecture.md")
UNITS = r"(?:%|times|cycles|million|[GMk]?(?:i?B|b)(?:/s)?|[nµm]?s|round trips|rounds|MHz)"
NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"


@dataclass(frozen=True)
class Block:
    command: str
    first: int  # lines between the marks, from 1
    last: int
    text: str


def blocks(text: str) -> tuple[list[Block], list[tuple[int, str]]]:
    """The blocks of a page, and what is wrong with its marks."""
    found: list[Block] = []
    errors: list[tuple[int, str]] = []
    start, command = 0, ""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if begin := BEGIN.fullmatch(line.strip()):
            if command:
                errors.append((number, f"a block begins inside of that of '{command}'; end that one first: {END}"))
            start, command = number, begin[1]
        elif line.strip() == END:
            if not command:
                errors.append((number, "a block ends that has not started; remove the mark"))
                continue
            inner = lines[start:number - 1]
            if not "".join(inner).strip():
                errors.append((start, f"the block of '{command}' is empty; run the command"))
            if any(block.command == command for block in found):
                errors.append((start, f"two blocks of '{command}' are in this page; keep one"))
            found.append(Block(command, start + 1, number - 1, "\n".join(inner)))
            command = ""
        elif "GENERATED" in line and line.lstrip().startswith("<!--"):
            errors.append((number, "is no mark; write <!-- BEGIN GENERATED: command --> or " + END))
    if command:
        errors.append((start, f"the block of '{command}' does not end; add {END}"))
    return found, errors


def one(page: pathlib.Path, key: str) -> Block:
    """The block whose command starts with `key`."""
    found = [block for block in blocks(page.read_text(encoding="utf-8"))[0] if block.command.startswith(key)]
    if len(found) != 1:
        raise ValueError(f"{page} has {len(found)} blocks '<!-- BEGIN GENERATED: {key} … -->'; it needs one")
    return found[0]


def text_of(page: pathlib.Path, key: str) -> str:
    return one(page, key).text


def replace(page: pathlib.Path, key: str, text: str, command: str = "") -> None:
    """Writes `text` into the block whose command starts with `key`. `command`: the new command in its mark."""
    block = one(page, key)
    lines = page.read_text(encoding="utf-8").splitlines()
    if command:
        lines[block.first - 2] = f"<!-- BEGIN GENERATED: {command} -->"
    lines[block.first - 1:block.last] = text.strip("\n").splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tables(text: str) -> Iterator[tuple[int, int, list[list[str]]]]:
    """(first line, last line, cells of the body) of each table."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if not lines[number].startswith("|"):
            number += 1
            continue
        end = number
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines[number:end]]
        yield number + 1, end, rows[2:]
        number = end


def is_figure(cell: str) -> bool:
    """A measured value: `97.4`, `16,460`, `52 times`, `226 of 226`; not `64`."""
    if not re.match(rf"[~≈<>]?(?:{NUMBER})(?:$| ?{UNITS}|[/, ])", cell):
        return False
    return bool(re.search(rf"\d\.\d|\d,\d{{3}}|\d ?{UNITS}(?!\w)|\d of \d", cell))


def is_table_of_figures(body: list[list[str]]) -> bool:
    cells = [cell for row in body for cell in row[1:] if cell]
    return bool(cells) and 3 * sum(map(is_figure, cells)) >= len(cells)


def figures(text: str) -> set[str]:
    """Numbers of four digits or more that look measured."""
    return {match for match in re.findall(rf"(?<![\w.,])(?:{NUMBER})(?![\w,.]*\d)", text)
            if len(re.sub(r"\D", "", match)) >= 4 and len(re.sub(r"\D", "", match).strip("0")) >= 3 and re.search(r"[.,]", match)}


def check(root: pathlib.Path) -> list[str]:
    findings: list[str] = []
    measured: dict[str, str] = {}
    pages = ["README.md", *sorted(f"docs/{path.name}" for path in (root / "docs").glob("*.md"))]
    for page in pages:
        if not (root / page).exists():
            continue
        text = (root / page).read_text(encoding="utf-8")
        found, errors = blocks(text)
        findings += [f"{page}:{line}: {error}" for line, error in errors]
        lines = text.splitlines()
        for block in found:
            measured |= {figure: f"{page}, `{block.command}`" for figure in figures(block.text)}
        for first, last, body in tables(text):
            if any(block.first <= first and last <= block.last for block in found) or not is_table_of_figures(body):
                continue
            before = [line for line in lines[max(0, first - 3):first - 1] if line.strip()]
            if not any(MEASURED.fullmatch(line.strip()) for line in before):
                findings.append(f"{page}:{first}: a table of figures outside of a generated block; let the command that measures "
                                "them write it (verif/repo/generated.py), or state how: <!-- MEASURED: command or method -->")
    for page in REPEATS_NOTHING:
        if not (root / page).exists():
            continue
        text = (root / page).read_text(encoding="utf-8")
        own = {number for block in blocks(text)[0] for number in range(block.first, block.last + 1)}
        for number, line in enumerate(text.splitlines(), 1):
            for figure in sorted(figures(line)):
                if figure in measured and number not in own:
                    findings.append(f"{page}:{number}: repeats the figure {figure} of {measured[figure]}; link to it instead")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks the generated blocks and tables of figures of README.md and docs/*.md.")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--write", nargs=2, metavar=("PAGE", "COMMAND"), help="write standard input into that block instead")
    options = parser.parse_args()
    if options.write:
        try:
            text = sys.stdin.read()
            if not text.strip():
                raise ValueError("there is nothing on standard input")
            replace(options.root / options.write[0], options.write[1], text)
        except (OSError, ValueError) as error:
            sys.exit(f"generated.py: {error}")
        return 0
    findings = check(options.root)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
