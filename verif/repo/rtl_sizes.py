#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No module of rtl/ has more than 600 lines, no always block more than 120, so that a reader can hold it.

What was larger when this rule began is in verif/repo/rtl_sizes.toml with its size, which may only shrink: fails if
something is larger than its limit or its entry, or is in the list without need. Counted are all lines of a file, which
has one module or package, and those from `always` to the end of its statement.
"""

import argparse
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "verif/repo/rtl_sizes.toml"
LIMITS = {"module": 600, "always": 120}

# What does not count as a keyword: strings and comments keep their line ends.
HIDDEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
ALWAYS = re.compile(r"\balways(?:_comb|_ff|_latch)?\b")
WORD = re.compile(r"[A-Za-z_]\w*|[();@*]")
OPENS = {"begin": "end", "case": "endcase", "casez": "endcase", "casex": "endcase", "fork": "join"}
CLOSES = set(OPENS.values()) | {"join_any", "join_none"}


def visible(text):
    return HIDDEN.sub(lambda match: "\n" * match.group().count("\n"), text)


def always_blocks(text):
    """(first line, lines) of each always block, of text without comments."""
    blocks = []
    for start in ALWAYS.finditer(text):
        depth = brackets = 0
        conditional = False  # the last statement belongs to an `if`, so an `else` continues it
        end = None
        for word in WORD.finditer(text, start.end()):
            token = word.group()
            if token in "()":
                brackets += 1 if token == "(" else -1
            elif brackets:
                continue
            elif end is not None and token != "else":
                break
            elif token == "else":
                end = None
            elif token == "if":
                conditional = True
            elif token in OPENS:
                depth += 1
            elif token in CLOSES:
                depth -= 1
            if depth == 0 and not brackets and (token in CLOSES or token == ";"):
                end = word.end()
                if not conditional:
                    break
        end = len(text) if end is None else end
        first = text.count("\n", 0, start.start()) + 1
        blocks.append((first, text.count("\n", start.start(), end) + 1))
    return blocks


def sizes(files):
    """(kind, module, which) -> lines, of texts by module: `which` is the always block's number among those above the limit."""
    found = {}
    for name, text in files.items():
        found["module", name, 1] = (1, len(text.splitlines()))
        large = [block for block in always_blocks(visible(text)) if block[1] > LIMITS["always"]]
        for index, block in enumerate(sorted(large, key=lambda block: -block[1])):
            found["always", name, index + 1] = block
    return found


def compare(files, listed):
    """Differences, as texts. `listed` has kind -> module -> size, or sizes of always blocks, largest first."""
    found = sizes(files)
    errors = [] if files else ["no module was found"]
    allowed = {}
    for kind, entries in listed.items():
        if kind not in LIMITS:
            errors.append(f"{LIST}: `{kind}` is neither module nor always")
            continue
        for name, entry in entries.items():
            for index, lines in enumerate(entry if isinstance(entry, list) else [entry]):
                allowed[kind, name, index + 1] = lines
    for (kind, name, index), (line, lines) in found.items():
        limit = LIMITS[kind]
        what = f"{name}.sv" if kind == "module" else f"{name}.sv:{line}: an always block"
        known = allowed.pop((kind, name, index), None)
        if known is None:
            if lines > limit:
                errors.append(f"{what} has {lines} lines, more than {limit}: split it by meaning")
        elif lines <= limit:
            errors.append(f"{what} has {lines} lines, which need no exception: remove it from {LIST}")
        elif lines > known:
            errors.append(f"{what} has {lines} lines, {known} before: what is too large already may only shrink")
    errors += [f"{LIST}: {name} has no such {kind}: remove the exception of {lines} lines"
               for (kind, name, _), lines in allowed.items()]
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print what is above the limits, as the list of exceptions has it")
    options = parser.parse_args()
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "rtl").rglob("*.sv"))}
    if options.list:
        for kind, limit in LIMITS.items():
            print(f"[{kind}]")
            large = {}
            for (of, name, _), (_, lines) in sizes(files).items():
                if of == kind and lines > limit:
                    large.setdefault(name, []).append(lines)
            for name, lines in sorted(large.items()):
                print(f"{name} = {lines if kind == 'always' else lines[0]}")
        return 0
    errors = compare(files, tomllib.loads((ROOT / LIST).read_text(encoding="utf-8")))
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
