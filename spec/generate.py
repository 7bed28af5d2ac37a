#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the contract's outputs from spec/*.toml. `./vireo spec` calls it. Needs Python 3.11, nothing else."""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from specgen import emit_cc, emit_codec, emit_config, emit_md, emit_sv  # noqa: E402
from specgen.model import Spec, SpecError  # noqa: E402

OUTPUTS = {
    "vireo_spec_pkg.sv": emit_sv.emit,
    "vireo_spec.h": emit_cc.emit,
    "vireo_config.h": emit_config.emit,
    "vireo_spec_codec.sv": emit_codec.emit_sv,
    "vireo_spec_codec.h": emit_codec.emit_cc,
    "reference.md": emit_md.emit,
}


def where(folder, name):
    """Prints file:line of every entry, field or value of this name."""
    found = 0
    for path in sorted(folder.glob("*.toml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(rf'\bname = "{re.escape(name)}"', line):
                print(f"spec/{path.name}:{number}: {line.strip()}")
                found += 1
    if not found:
        print(f"nothing in the contract is called {name!r}; names are snake_case, for example ack_req", file=sys.stderr)
    return 0 if found else 1


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(prog="vireo spec", description="Regenerates spec/gen from spec/*.toml.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if anything in spec/gen is out of date")
    parser.add_argument("--where", metavar="NAME", help="print where a constant, field, value or structure is defined")
    parser.add_argument("--spec", type=pathlib.Path, default=here, help="folder of the TOML files (default: spec/)")
    parser.add_argument("--out", type=pathlib.Path, help="output folder (default: gen/ in the folder of the TOML files)")
    options = parser.parse_args()
    if options.where:
        return where(options.spec, options.where)
    out = options.out or options.spec / "gen"
    try:
        spec = Spec(options.spec)
        texts = {name: emit(spec) for name, emit in OUTPUTS.items()}
    except SpecError as error:
        print(f"vireo spec: {error}", file=sys.stderr)
        return 1
    if options.check:
        stale = [name for name, text in texts.items() if not (out / name).is_file() or (out / name).read_text(encoding="utf-8") != text]
        stray = [path.name for path in out.glob("*") if path.name not in texts]
        for name in stale:
            print(f"vireo spec: {out.name}/{name} is out of date; run ./vireo spec", file=sys.stderr)
        for name in stray:
            print(f"vireo spec: {out.name}/{name} is not generated; move it elsewhere", file=sys.stderr)
        return 1 if stale or stray else 0
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = out / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(options.spec.parent) if path.is_relative_to(options.spec.parent) else path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
