// SPDX-License-Identifier: Apache-2.0
#include "sim/common/coverage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace vireo::sim {
namespace {

class Coverage : public testing::Test {
 protected:
  Coverage() : directory_(std::filesystem::temp_directory_path() / ("vireo_coverage." + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~Coverage() override { std::filesystem::remove_all(directory_); }
  std::string Path(const std::string& name) const { return directory_ / name; }
  std::string File(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  static std::string Read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  const std::filesystem::path directory_;
};

TEST_F(Coverage, CountsOfTheSamePointAreAdded) {
  CoverageSums sums;
  ASSERT_TRUE(sums.Add(File("a", "# SystemC::Coverage-3\nC 'one' 1\nC 'it's two' 20\n")));
  ASSERT_TRUE(sums.Add(File("b", "# SystemC::Coverage-3\nC 'it's two' 5000000000\nC 'three' 0\n")));
  EXPECT_EQ(sums.counts(), (std::map<std::string, uint64_t>{{"one", 1}, {"it's two", 5'000'000'020}, {"three", 0}}));
  ASSERT_TRUE(sums.Write(Path("sum")));
  EXPECT_EQ(Read(Path("sum")), "# SystemC::Coverage-3\nC 'it's two' 5000000020\nC 'one' 1\nC 'three' 0\n");
}

TEST_F(Coverage, InvalidFileAddsNothing) {
  CoverageSums sums;
  EXPECT_FALSE(sums.Add(Path("nowhere")));
  EXPECT_FALSE(sums.Add(File("empty", "")));
  EXPECT_FALSE(sums.Add(File("other", "C 'one' 1\n")));
  EXPECT_FALSE(sums.Add(File("torn", "# SystemC::Coverage-3\nC 'one' 1\nC 'two\n")));
  EXPECT_FALSE(sums.Add(File("count", "# SystemC::Coverage-3\nC 'one' 1x\n")));
  EXPECT_TRUE(sums.counts().empty());
}

TEST_F(Coverage, NoCountWritesNoFileAndWriteErrorsAreReported) {
  CoverageSums sums;
  EXPECT_TRUE(sums.Write(Path("sum")));
  EXPECT_FALSE(std::filesystem::exists(Path("sum")));
  ASSERT_TRUE(sums.Add(File("a", "# SystemC::Coverage-3\nC 'one' 1\n")));
  EXPECT_FALSE(sums.Write(Path("no/such/directory")));
}

}  // namespace
}  // namespace vireo::sim
