# SPDX-License-Identifier: Apache-2.0
"""A TOML file whose keys can be found again by line, for messages. Python's tomllib keeps no positions."""

import pathlib
import re
import tomllib
from typing import Any

from errors import StudyError

Path = tuple[str | int, ...]


class TomlSource:
    """A parsed file. `data` is its content."""

    def __init__(self, file: pathlib.Path) -> None:
        self.file = file
        try:
            self.text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file) from error
        try:
            self.data: dict[str, Any] = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            text = str(error)
            at = re.search(r"\(at line (\d+), column \d+\)", text)
            line = int(at[1]) if at else self.text.count("\n") + 1
            raise StudyError(f"not TOML: {re.sub(r' [(]at .*[)]$', '', text)}", file, line) from error
        self._lines = _places(self.text)

    def line(self, path: Path) -> int:
        """Line of a key, or of the closest table around it; 0 if there is none."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return 0

    def has(self, path: Path) -> bool:
        """Whether the key is in the file, at the start of a line or in an inline table there."""
        return path in self._lines

    def error(self, path: Path, text: str) -> StudyError:
        return StudyError(text, self.file, self.line(path))


def _split(key: str) -> list[str]:
    """a."b.c".d -> a, b.c, d"""
    return [part[0] or part[1] or part[2] for part in re.findall(r'"([^"]*)"|\'([^\']*)\'|([\w-]+)', key)]


def _places(text: str) -> dict[Path, int]:
    """The line of every table header and of every key at the start of a line, and of the keys in an inline table there."""
    places: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[(\[?)([^\[\]]+)\]", line):
            table = tuple(_split(header[2]))
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            places.setdefault(table, number)
        elif key := re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""", line):
            path = (*table, *_split(key[1]))
            for end in range(len(table) + 1, len(path) + 1):
                places.setdefault(path[:end], number)
            places[path] = number
    return places
