// SPDX-License-Identifier: Apache-2.0
// Which folder may see which: spec <- {rtl, model, firmware, host} <- sim <- verif, fpga = rtl + firmware, platform =
// what of sim/ is installed; examples see what is installed. Inside host/ and sim/ the order of the sub-folders counts
// too.
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

// One message for each include, import or quoted path that points where it may not; in the order of the files.
std::vector<std::string> FindLayeringErrors(const std::vector<SourceFile>& sources);

}  // namespace vireo::verif
