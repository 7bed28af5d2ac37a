// SPDX-License-Identifier: Apache-2.0
// A pair of unmodified programs, a server on NIC 0 and a client on NIC 1, from a table row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {

struct ProgramRow {
  enum class Meet : uint8_t { kTcp, kRdmaCm };
  enum class Server : uint8_t { kEnds, kStays };  // exits with its client, or waits for another one

  const char* name;
  Meet meet;
  // $PORT: an unused port; $FILE, $COPY: a file, and the name of a file to create. No quoting.
  const char* server;
  const char* client;
  const char* output;  // substring of the client's output
  // Devices by first letter: model, rtl, lockstep. R: on RTL only with VIREO_PROGRAMS_ALL=1, because it takes most of a
  // minute.
  const char* devices = "mr";
  bool wr_api = false;  // perftest posts with ibv_wr_* on devices with known part numbers
  Server end = Server::kEnds;
};

// Rows with the same command line for both, plus the server's address for the client.
#define VIREO_TCP(command) ProgramRow::Meet::kTcp, command " -p $PORT", command " -p $PORT 127.0.0.1"
#define VIREO_CM(command) ProgramRow::Meet::kRdmaCm, command " -p $PORT", command " -p $PORT 10.0.0.1"
#define VIREO_CM_S(server, client) ProgramRow::Meet::kRdmaCm, server " -p $PORT", client " -p $PORT -s 10.0.0.1"

// Runs a row on a simulator that is shared by several runs.
class ProgramPair {
 public:
  // Starts the server, and the client when the server listens.
  ProgramPair(const ProgramRow& row, const SimulatorProcess& simulator, const Environment& more = {});
  ~ProgramPair();
  ProgramPair(const ProgramPair&) = delete;
  ProgramPair& operator=(const ProgramPair&) = delete;

  // Expects both to exit successfully and the client to print `output`; else the test fails with their output.
  void ExpectGoodEnd();

 private:
  std::vector<std::string> Words(const char* command) const;
  Environment On(size_t nic, const Environment& more) const;

  const ProgramRow& row_;
  const SimulatorProcess& simulator_;
  const unsigned port_ = FreePort();
  std::filesystem::path directory_;
  std::string content_;                       // of $FILE
  std::unique_ptr<Program> server_, client_;  // null: the test has failed
};

}  // namespace vireo::sim
