# SPDX-License-Identifier: Apache-2.0
"""Errors of a study's user: printed as one line, without a traceback; exit code 2."""

import difflib
import pathlib
from collections.abc import Iterable


class StudyError(Exception):
    """Something that the user can correct. `file` and `line` (from 1; 0: the whole file) say where."""

    def __init__(self, text: str, file: pathlib.Path | str | None = None, line: int = 0) -> None:
        place = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        super().__init__(place + text)


def suggest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known name is close, else the known names if they are few."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(names)}" if len(names) <= 30 else ""
