// SPDX-License-Identifier: Apache-2.0
#include "verif/host/ibverbs/program_pair.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

namespace vireo::sim {
namespace {

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

ProgramPair::ProgramPair(const ProgramRow& row, const SimulatorProcess& simulator, const Environment& more)
    : row_(row), simulator_(simulator) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_pair_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    ADD_FAILURE() << "no temporary directory";
    return;
  }
  directory_ = pattern;
  if (std::string_view(row_.client).find("$FILE") != std::string_view::npos) {
    content_.resize(200'000);
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>(i * 7 + i / 251);
    std::ofstream(directory_ / "file", std::ios::binary) << content_;
  }
  // perftest connects twice: its server must listen again before the service rejects its client.
  const bool by_tcp = row_.meet == ProgramRow::Meet::kTcp;
  server_ = std::make_unique<Program>(Words(row_.server), On(0, more), /*yields=*/by_tcp);
  if (!(by_tcp ? AwaitListener(port_, *server_) : AwaitOutput("rdma_cm listens", *server_))) {
    ADD_FAILURE() << row_.server << " does not listen\n" << server_->Output();
    return;
  }
  client_ = std::make_unique<Program>(Words(row_.client), On(1, more));
}

ProgramPair::~ProgramPair() {
  server_.reset();
  client_.reset();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

void ProgramPair::ExpectGoodEnd() {
  if (client_ == nullptr) return;
  EXPECT_EQ(client_->Wait(), 0) << row_.client << "\n" << client_->Output() << "server:\n" << server_->Output();
  if (row_.end == ProgramRow::Server::kEnds) {
    EXPECT_EQ(server_->Wait(), 0) << row_.server << "\n" << server_->Output();
  }
  EXPECT_NE(client_->Output().find(row_.output), std::string::npos) << row_.output << " is not in\n"
                                                                    << client_->Output();
  if (!content_.empty()) {
    EXPECT_TRUE(ContentOf(directory_ / "copy") == content_);
  }
}

std::vector<std::string> ProgramPair::Words(const char* command) const {
  const std::map<std::string, std::string> values = {
      {"$PORT", std::to_string(port_)}, {"$FILE", directory_ / "file"}, {"$COPY", directory_ / "copy"}};
  std::vector<std::string> words = WordsOf(command);
  for (std::string& word : words) {
    for (const auto& [name, value] : values) {
      if (const size_t at = word.find(name); at != std::string::npos) word.replace(at, name.size(), value);
    }
  }
  return words;
}

Environment ProgramPair::On(size_t nic, const Environment& more) const {
  Environment environment = Seeing(simulator_.socket(nic), more);
  if (row_.wr_api) environment["VIREO_VENDOR_PART_ID"] = "4119";
  if (row_.meet == ProgramRow::Meet::kRdmaCm) environment["VIREO_LOG"] = "1";
  return environment;
}

}  // namespace vireo::sim
