// SPDX-License-Identifier: Apache-2.0
// Allowed dependencies between folders: spec <- {rtl, model, firmware, host} <- verif, fpga = rtl + firmware, platform
// = model + firmware; examples use installed headers.
#pragma once

#include <string>
#include <vector>

namespace vireo::verif {

struct SourceFile {
  std::string path;  // from the repository's root
  std::string text;
};

// All C++ and SystemVerilog sources under `root` that belong to the project (not build/).
std::vector<SourceFile> ReadSources(const std::string& root);

// One message per forbidden include, import or quoted path, in the order of the files.
std::vector<std::string> FindLayeringErrors(const std::vector<SourceFile>& sources);

}  // namespace vireo::verif
