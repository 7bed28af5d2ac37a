// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include <string_view>

#include "sim/report/timeline_template.h"

namespace vireo::sim {

std::string TimelineHtml(const nlohmann::ordered_json& report) {
  constexpr std::string_view kPlace = "@REPORT@";
  const std::string_view html = kTimelineTemplate;
  const size_t at = html.find(kPlace);
  std::string text(html.substr(0, at));
  // Nothing that a string of the report holds may end the script element that it lies in, or begin a comment.
  for (const char c : report.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  text += html.substr(at + kPlace.size());
  return text;
}

}  // namespace vireo::sim
