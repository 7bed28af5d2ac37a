// SPDX-License-Identifier: Apache-2.0
// Commands to a running simulation: a Unix socket in its directory. One packet is a request, one the answer, both JSON;
// a connection has one request.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"
#include "host/service/event_loop.h"

namespace vireo::sim {

class ControlSocket {
 public:
  // The answer to a request. An error is sent as its text.
  using Handler = std::function<host::Result<nlohmann::ordered_json>(const nlohmann::json&)>;
  static constexpr size_t kMaxBytes = 64 * 1024;  // of a request or answer

  // Serves requests from the loop. Errors as host::ListenAt.
  static host::Result<std::unique_ptr<ControlSocket>> Listen(service::EventLoop& loop, const std::string& path,
                                                             Handler handler);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Sends a request to the socket at `path` and waits for the answer. kLost: nobody answers in time; kInvalidArgument:
  // refused, with the reason.
  static host::Result<nlohmann::ordered_json> Ask(const std::string& path, const nlohmann::json& request,
                                                  std::chrono::seconds timeout = std::chrono::seconds(10));

 private:
  ControlSocket(service::EventLoop& loop, std::string path, Handler handler)
      : loop_(loop), path_(std::move(path)), handler_(std::move(handler)) {}
  void Accept();
  void Serve(int socket);

  service::EventLoop& loop_;
  const std::string path_;
  const Handler handler_;
  host::FileDescriptor listener_;
  std::map<int, host::FileDescriptor> clients_;
};

}  // namespace vireo::sim
