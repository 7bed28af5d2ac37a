# SPDX-License-Identifier: Apache-2.0
"""Pareto front: the points that no other point dominates."""

from collections.abc import Sequence


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether `one` is at least as good in every objective and better in one. Lower is better."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(a < b for a, b in zip(one, other, strict=True))


def front(costs: Sequence[Sequence[float]]) -> list[bool]:
    """For each row, whether none dominates it. Equal rows are all on the front or all not. Lower is better in every column;
    negate what is to be maximized. In lexicographic order a row can be dominated only by rows before it, and if by any, by
    one of the front."""
    result = [False] * len(costs)
    best: list[Sequence[float]] = []
    for i in sorted(range(len(costs)), key=lambda i: tuple(costs[i])):
        if not any(dominates(row, costs[i]) for row in best):
            best.append(costs[i])
            result[i] = True
    return result
