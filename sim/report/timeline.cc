// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include <string_view>

#include "sim/report/timeline_template.h"

namespace vireo::sim {

std::string TimelineHtml(const nlohmann::ordered_json& report) {
  constexpr std::string_view kPlaceholder = "@REPORT@";
  const std::string_view html = kTimelineTemplate;
  const size_t at = html.find(kPlaceholder);
  std::string text(html.substr(0, at));
  // Escape '<': no string of the report may end the enclosing script element or start a comment.
  for (const char c : report.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  text += html.substr(at + kPlaceholder.size());
  return text;
}

}  // namespace vireo::sim
