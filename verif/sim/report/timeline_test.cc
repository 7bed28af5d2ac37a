// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/report/timeline_template.h"

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

// The content of the script element with the report.
std::string Embedded(const std::string& html) {
  const std::string open = R"(<script type="application/json" id="report">)";
  const size_t begin = html.find(open);
  if (begin == std::string::npos) return "";
  const size_t end = html.find("</script>", begin);
  return html.substr(begin + open.size(), end - begin - open.size());
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Timeline, ContainsReport) {
  const Json report = {{"device", "model"}, {"messages", {{{"number", 0}}, {{"number", 1}}}}};
  EXPECT_EQ(Json::parse(Embedded(TimelineHtml(report))), report);
}

TEST(Timeline, EscapesReport) {
  const Json report = {{"seed", "</script><script>alert(1)</script><!--"}, {"name", "\xff"}, {"place", "@REPORT@"}};
  const std::string html = TimelineHtml(report);
  EXPECT_EQ(Count(html, "</script>"), Count(TimelineHtml(Json::object()), "</script>"));
  EXPECT_EQ(Json::parse(Embedded(html)).at("seed"), report.at("seed"));
}

TEST(Timeline, MakesNoNetworkRequests) {
  const std::string html = TimelineHtml(Json::object());
  for (const char* reference : {"http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "import("}) {
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
  }
}

TEST(Timeline, TemplateHasOnePlaceholderAndClosesTags) {
  const std::string html = kTimelineTemplate;
  EXPECT_EQ(Count(html, "@REPORT@"), 1U);
  for (const std::string element : {"html", "head", "body", "style", "script", "header", "div", "canvas"}) {
    EXPECT_EQ(Count(html, "<" + element + ">") + Count(html, "<" + element + " "), Count(html, "</" + element + ">"))
        << element;
  }
}

}  // namespace
}  // namespace vireo::sim
