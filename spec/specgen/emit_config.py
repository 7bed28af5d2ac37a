# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ header of configurations chosen at run time: range of every parameter, and which configurations are legal.
Apart from vireo_spec.h, so that a new rule does not rebuild everything."""

import json

from specgen import expression
from specgen.names import banner, c_constant


def emit(spec):
    homes = sorted({p.home for p in spec.parameters.values()} | {r.home for r in spec.rules.values()})
    out = [banner("//", ", ".join(f"spec/{home}" for home in homes) or "spec/"),
           "// Configurations other than the named ones: what each parameter may be, and which rule a configuration breaks.\n"
           "#pragma once\n\n#include <stdint.h>\n\n#include \"spec/gen/vireo_spec.h\"\n\nnamespace vireo::spec {\n"]
    if spec.parameters:
        _parameters(spec, out)
    out.append("\n}  // namespace vireo::spec\n")
    return "".join(out)


def _text(text):
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def _range(parameter):
    return f"must be {parameter.min} to {parameter.max}{' and a power of two' if parameter.pow2 else ''}"


def _parameters(spec, out):
    out.append("\nstruct ParameterInfo {\n  const char* name;\n  uint32_t Config::*member;\n  uint32_t min, max;  // inclusive\n"
               "  bool is_power_of_two;  // only powers of two are legal\n  const char* unit;\n  const char* doc;\n"
               "  const char* range;  // as text\n};\n"
               f"inline constexpr ParameterInfo kParameterInfo[{len(spec.parameters)}] = {{\n")
    for p in spec.parameters.values():
        out.append(f'    {{"{p.name}", &Config::{p.name}, {p.min}u, {p.max}u, {"true" if p.pow2 else "false"}, {_text(p.unit)},\n'
                   f"     {_text(p.doc)},\n     {_text(_range(p))}}},\n")
    out.append("};\n")
    for p in spec.parameters.values():
        out.append(f"inline constexpr uint32_t {c_constant(p.name)}Max = {p.max}u;\n")
    out.append("\n// The first rule that a configuration breaks, and why it is a rule. `rule` is null if it breaks none.\n"
               "struct ConfigViolation {\n  const char* rule;\n  const char* reason;\n};\n\n"
               "// First the ranges, in the order of the parameters, then the rules between parameters.\n"
               "constexpr ConfigViolation FirstIllegal(const Config& config) {\n"
               "  for (const ParameterInfo& parameter : kParameterInfo) {\n"
               "    const uint32_t value = config.*parameter.member;\n"
               "    if (value < parameter.min || value > parameter.max ||\n"
               "        (parameter.is_power_of_two && (value & (value - 1)) != 0)) {\n"
               "      return {parameter.name, parameter.range};\n    }\n  }\n")
    for rule in spec.rules.values():
        require = expression.parse(rule.require, spec.parameters)
        out.append(f'  if (!({expression.to_cc(require)})) {{\n    return {{"{rule.name}",\n            '
                   f"{_text(rule.require + ': ' + rule.doc)}}};\n  }}\n")
    out.append("  return {nullptr, nullptr};\n}\n")
