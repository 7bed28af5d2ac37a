// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/board_device.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "sim/device/board/board_nic.h"
#include "sim/device/board/serial_line.h"
#include "sim/device/devices.h"
#ifdef VIREO_RTL_BOARD
#include "sim/device/board/rtl_board.h"
#endif

namespace vireo::sim {
namespace {

constexpr std::string_view kPrefix = "board:";

struct Line {
  std::unique_ptr<ByteLine> line;
  std::string error;
};

Line OpenLine(std::string_view name) {
  if (name == "simulated" || name == "simulated-serial") {
#ifdef VIREO_RTL_BOARD
    return {name == "simulated" ? MakeRtlBoard() : MakeSerialRtlBoard(), ""};
#else
    return {nullptr, "this build has no simulated board"};
#endif
  }
  unsigned rate = SerialLine::kBitRate;
  const size_t at = name.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view text = name.substr(at + 1);
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), rate);
    if (failed != std::errc{} || end != text.data() + text.size()) {
      return {nullptr, "'" + std::string(text) + "' is no bit rate"};
    }
  }
  SerialLine::Opened opened = SerialLine::Open(std::string(name.substr(0, at)), rate);
  return {std::move(opened.line), std::move(opened.error)};
}

}  // namespace

bool IsBoardName(std::string_view name) { return name.starts_with(kPrefix); }

std::string CheckDeviceName(const std::string& name) {
  const std::vector<std::string>& names = DeviceNames();
  if (IsBoardName(name) || std::ranges::find(names, name) != names.end()) return "";
  std::string text = name + " not in {";
  for (const std::string& known : names) text += known + ",";
  return text + "board:LINE}";
}

std::string DeviceOfNic(const std::string& device, size_t nic) {
  return nic != 0 && IsBoardName(device) ? "model" : device;
}

NicFactory BoardDeviceFactory(std::string_view name) {
  if (!IsBoardName(name)) return {};
  return [name = std::string(name)](const NicContext& context) -> std::unique_ptr<Nic> {
    Line line = OpenLine(std::string_view(name).substr(kPrefix.size()));
    if (line.line != nullptr) {
      auto link = std::make_unique<BoardLink>(std::move(line.line));
      line.error = link->Open(context.config);
      if (line.error.empty()) return std::make_unique<BoardNic>(context, std::move(link));
    }
    std::fprintf(stderr, "%s: %s: %s\n", context.name.c_str(), name.c_str(), line.error.c_str());
    return nullptr;
  };
}

}  // namespace vireo::sim
