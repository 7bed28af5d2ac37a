// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/control_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "host/driver/unix_socket.h"

namespace vireo::sim {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The packet that has arrived; not an object: none, or not JSON.
ordered_json Receive(int socket) {
  std::vector<char> bytes(ControlSocket::kMaxBytes);
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got <= 0) return {};
  return ordered_json::parse(bytes.begin(), bytes.begin() + got, nullptr, /*allow_exceptions=*/false);
}

bool Send(int socket, const ordered_json& message) {
  const std::string text = message.dump();
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

}  // namespace

host::Result<std::unique_ptr<ControlSocket>> ControlSocket::Listen(service::EventLoop& loop, const std::string& path,
                                                                   Handler handler) {
  host::Result<host::FileDescriptor> listener = host::ListenAt(path, SOCK_SEQPACKET);
  if (!listener.ok()) return listener.error();
  std::unique_ptr<ControlSocket> control(new ControlSocket(loop, path, std::move(handler)));
  control->listener_ = std::move(listener).value();
  loop.Watch(control->listener_.get(), [self = control.get()] { self->Accept(); });
  return control;
}

ControlSocket::~ControlSocket() {
  for (const auto& [socket, owner] : clients_) loop_.Unwatch(socket);
  if (!listener_.is_open()) return;
  loop_.Unwatch(listener_.get());
  ::unlink(path_.c_str());
}

void ControlSocket::Accept() {
  host::FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return;
  const int number = socket.get();
  clients_[number] = std::move(socket);
  loop_.Watch(number, [this, number] { Serve(number); });
}

void ControlSocket::Serve(int socket) {
  const json request = Receive(socket);
  loop_.Unwatch(socket);
  const host::FileDescriptor owner = std::move(clients_.at(socket));
  clients_.erase(socket);
  if (!request.is_object()) {
    Send(socket, {{"error", "a request is a JSON object"}});
    return;
  }
  const host::Result<ordered_json> answer = handler_(request);
  Send(socket, answer.ok() ? ordered_json{{"answer", *answer}} : ordered_json{{"error", answer.error().text}});
}

host::Result<ordered_json> ControlSocket::Ask(const std::string& path, const json& request,
                                              std::chrono::seconds timeout) {
  const host::Result<host::FileDescriptor> socket = host::ConnectTo(path, SOCK_SEQPACKET);
  if (!socket.ok()) return socket.error();
  pollfd answered{.fd = socket->get(), .events = POLLIN, .revents = 0};
  if (!Send(socket->get(), request) ||
      ::poll(&answered, 1, static_cast<int>(std::chrono::milliseconds(timeout).count())) != 1) {
    return host::Error{host::ErrorCode::kLost, "the simulation does not answer"};
  }
  const ordered_json reply = Receive(socket->get());
  if (reply.contains("answer")) return reply["answer"];
  if (!reply.contains("error")) return host::Error{host::ErrorCode::kLost, "the simulation closed the connection"};
  return host::Error{host::ErrorCode::kInvalidArgument, reply["error"].get<std::string>()};
}

}  // namespace vireo::sim
