// SPDX-License-Identifier: Apache-2.0
// TCP messages between two guests, for bench.py:
//   tcp PORT                                        serves one connection
//   tcp PORT ADDRESS stream|latency MESSAGES BYTES  one way; or each answered by one of the same size before the next
// A message is one call of send. Exit status 0: all have arrived.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct Order {
  int answers, messages, bytes;
};
static char buffer[1 << 20];

static int Get(int fd, void* to, int bytes) { return recv(fd, to, bytes, MSG_WAITALL) == bytes; }
static int Put(int fd, const void* from, int bytes) { return send(fd, from, bytes, 0) == bytes; }

static int Serve(int fd) {
  struct Order order;
  if (!Get(fd, &order, sizeof order) || order.bytes > (int)sizeof buffer) return 1;
  for (int i = 0; i < order.messages; ++i) {
    if (!Get(fd, buffer, order.bytes) || (order.answers && !Put(fd, buffer, order.bytes))) return 1;
  }
  return !Put(fd, "", 1);
}

static int Send(int fd, struct Order order) {
  if (order.bytes > (int)sizeof buffer || !Put(fd, &order, sizeof order)) return 1;
  for (int i = 0; i < order.messages; ++i) {
    if (!Put(fd, buffer, order.bytes) || (order.answers && !Get(fd, buffer, order.bytes))) return 1;
  }
  return !Get(fd, buffer, 1);
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 6) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  if (argc == 2) {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr*)&address, sizeof address) != 0 || listen(fd, 1) != 0) return perror("tcp"), 1;
    fd = accept(fd, NULL, NULL);
  } else {
    address.sin_addr.s_addr = inet_addr(argv[2]);
    if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) return perror("tcp"), 1;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int is_latency = argc == 6 && strcmp(argv[3], "latency") == 0;
  return argc == 2 ? Serve(fd) : Send(fd, (struct Order){is_latency, atoi(argv[4]), atoi(argv[5])});
}
