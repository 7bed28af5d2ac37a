# SPDX-License-Identifier: Apache-2.0
"""The points of a study: dimensions, and their product or a Latin-hypercube sample of it."""

import dataclasses
import itertools
import math
import random

from bench import Settings, Value


@dataclasses.dataclass(frozen=True)
class Dimension:
    """What varies independently of the rest: one setting, or several together. Either `values`, one per step, or the bounds
    `low` and `high` of an integer (inclusive) that only a sample can take values from."""

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    low: int = 0
    high: int = 0

    @property
    def is_open(self) -> bool:
        return not self.values

    def at(self, fraction: float) -> tuple[Value, ...]:
        """The value at 0 <= fraction < 1."""
        if self.is_open:
            return (self.low + math.floor(fraction * (self.high - self.low + 1)),)
        return self.values[math.floor(fraction * len(self.values))]


@dataclasses.dataclass(frozen=True)
class Sample:
    """`method`: one of SAMPLES."""

    points: int
    seed: int
    method: str = "latin-hypercube"


@dataclasses.dataclass(frozen=True)
class Search:
    """By an optimizer, which proposes so many points. `method`: one of SEARCHES."""

    points: int
    seed: int
    method: str = "tpe"


SAMPLES = ("latin-hypercube", "random")
SEARCHES = ("tpe", "nsga2")  # of Optuna


def steps(low: int, high: int, step: int = 0, factor: int = 0) -> list[int]:
    """low, low + step, … or low, low * factor, … up to high, inclusive."""
    values = []
    while low <= high:
        values.append(low)
        low = low * factor if factor else low + step
    return values


def count(dimensions: list[Dimension], sample: Sample | Search | None) -> int:
    return sample.points if sample else math.prod(len(dimension.values) for dimension in dimensions)


def points(dimensions: list[Dimension], sample: Sample | None) -> list[Settings]:
    """Each point's settings. A product is in the order of the dimensions, the last one fastest. A sample takes one value
    from each of as many equal parts of every dimension as it has points (McKay, Beckman, Conover 1979), or any values; it depends
    on its seed only, and equal points of it are one."""
    if sample is None:
        rows = [list(row) for row in itertools.product(*(dimension.values for dimension in dimensions))]
    else:
        chance = random.Random(sample.seed)
        columns = []
        for dimension in dimensions:
            if sample.method == "random":
                columns.append([dimension.at(chance.random()) for _ in range(sample.points)])
                continue
            parts = list(range(sample.points))
            chance.shuffle(parts)
            columns.append([dimension.at((part + chance.random()) / sample.points) for part in parts])
        rows = [list(row) for row in dict.fromkeys(zip(*columns, strict=True))]
    return [{name: value for dimension, values in zip(dimensions, row, strict=True)
             for name, value in zip(dimension.names, values, strict=True)} for row in rows]
