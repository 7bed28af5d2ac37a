// SPDX-License-Identifier: Apache-2.0
// vireo_board_simulator: a simulated board at a pseudo terminal, for --device board:/dev/pts/N of another program.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/device/board/pty_board.h"
#include "sim/device/board/rtl_board.h"

namespace {

std::atomic<bool> stop = false;
void OnSignal(int) { stop = true; }

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool is_help = std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0;
    std::fprintf(
        is_help ? stdout : stderr,
        "usage: vireo board simulate\n"
        "A board in RTL, with nic1, its control processor and its serial line, at a pseudo terminal. It prints the\n"
        "terminal's path; `--device board:PATH` of another command uses it. It ends with SIGINT or SIGTERM.\n");
    return is_help ? EXIT_SUCCESS : 2;
  }
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  auto opened = vireo::sim::PtyBoard::Open(vireo::sim::MakeSerialRtlBoard(vireo::sim::PtyBoard::kPatience));
  if (opened.board == nullptr) {
    std::fprintf(stderr, "vireo board simulate: %s\n", opened.error.c_str());
    return EXIT_FAILURE;
  }
  std::printf("board:%s\n", opened.board->path().c_str());
  std::fflush(stdout);
  opened.board->Serve(stop);
  return EXIT_SUCCESS;
}
