// SPDX-License-Identifier: Apache-2.0
#include "host/service/memory_agent.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <pthread.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "host/service/protocol.h"

namespace vireo::service {

host::Result<std::unique_ptr<MemoryAgent>> MemoryAgent::Start(host::FileDescriptor socket) {
  std::unique_ptr<MemoryAgent> agent(new MemoryAgent(std::move(socket)));
  // Block signals: they are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = true;
  try {  // std::thread reports failure only by exception
    agent->thread_ = std::thread([raw = agent.get()] { raw->Serve(); });
  } catch (const std::system_error&) {
    is_started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_started) return host::Error{host::ErrorCode::kNoMemory, "no thread for the service's memory accesses"};
  return agent;
}

MemoryAgent::~MemoryAgent() {
  if (!thread_.joinable()) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void MemoryAgent::Abandon() {
  // The thread exists only in the parent; destroying a joinable std::thread would terminate the program.
  if (thread_.joinable()) thread_.detach();
}

void MemoryAgent::Serve() {
  for (;;) {
    // Peek the request first, to know the destination of a write's data; then receive the data directly into it.
    std::array<uint8_t, sizeof(AgentRequest)> bytes{};
    const ssize_t peeked = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_PEEK);
    if (peeked < 0 && errno == EINTR) continue;
    if (peeked != static_cast<ssize_t>(bytes.size())) return;
    const auto request = Get<AgentRequest>(bytes);
    void* const memory = reinterpret_cast<void*>(request.address);  // NOLINT(performance-no-int-to-ptr)
    std::array<iovec, 2> parts{{{bytes.data(), bytes.size()}, {memory, request.bytes}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = request.is_write != 0 ? 2 : 1;
    AgentAnswer answer;
    const ssize_t received = ::recvmsg(socket_.get(), &message, 0);
    if (received <= 0 && !(received < 0 && errno == EFAULT)) return;
    if (request.is_write != 0) {
      answer.is_done = received == static_cast<ssize_t>(bytes.size() + request.bytes) ? 1 : 0;
    } else if (received > 0) {
      answer.is_done = 1;
      parts[0] = {&answer, sizeof answer};
      message.msg_iovlen = 2;
      if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) > 0) continue;
      if (errno != EFAULT) return;
      answer.is_done = 0;
    }
    if (::send(socket_.get(), &answer, sizeof answer, MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace vireo::service
