# SPDX-License-Identifier: Apache-2.0
"""Expressions of the contract's rules: comparisons of integers, parameters and their sums, differences and products."""

import ast
import operator

COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
ARITHMETIC = {ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul)}
DECIDE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}


class ExpressionError(Exception):
    pass


def parse(text, names):
    """The syntax tree of one comparison. Fails on anything else, and on a name that is not in `names`."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"{text!r} is not an expression") from error
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in COMPARE:
        raise ExpressionError(f"{text!r} is not one comparison")
    for side in (tree.left, tree.comparators[0]):
        _check(text, side, names)
    return tree


def _check(text, node, names):
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        _check(text, node.left, names)
        _check(text, node.right, names)
    elif isinstance(node, ast.Name):
        if node.id not in names:
            raise ExpressionError(f"{text!r}: {node.id!r} is no parameter")
    elif not isinstance(node, ast.Constant) or type(node.value) is not int:
        raise ExpressionError(f"{text!r}: {ast.unparse(node)!r} is neither a number, a parameter, nor a sum, difference or product")


def holds(tree, values):
    """Whether the comparison is true for these values of the parameters."""
    def value(node):
        if isinstance(node, ast.BinOp):
            return ARITHMETIC[type(node.op)][1](value(node.left), value(node.right))
        return values[node.id] if isinstance(node, ast.Name) else node.value
    return DECIDE[COMPARE[type(tree.ops[0])]](value(tree.left), value(tree.comparators[0]))


def to_cc(tree):
    """As C++, with every parameter as a signed 64-bit number, so that a difference may be negative."""
    def text(node):
        if isinstance(node, ast.BinOp):
            return f"({text(node.left)} {ARITHMETIC[type(node.op)][0]} {text(node.right)})"
        return f"int64_t{{config.{node.id}}}" if isinstance(node, ast.Name) else f"int64_t{{{node.value}}}"
    return f"{text(tree.left)} {COMPARE[type(tree.ops[0])]} {text(tree.comparators[0])}"
