// SPDX-License-Identifier: Apache-2.0
// /dev/infiniband/rdma_cm as one program has it open: one file for it, behind it a channel to the connection manager of
// each NIC that it sees (host/service/ucma_protocol.h). Joins them as Linux' rdma_cm joins its devices:
//
// - An ID is on no NIC until an address says on which: the one that has the source address (bind, resolve), or else the
//   one that the route to the destination leaves by. Until then it lives on every one of them.
// - One that is bound to no address in particular (0.0.0.0, ::) listens on every NIC, at the same port.
// - The route: a NIC that has the destination itself; the one that its scope names; else one that reaches it, if there
//   are several one whose own address lies in the same network (/24, /64: GIDs have no prefix length), else the first.
//   A NIC is not left again if nobody answers there.
//
// IDs have numbers of this process's own. A NIC whose service goes takes its IDs along (-ENODEV); the file stays as
// long as there is another one.
//
// Any thread; commands of a file go one at a time, as in the kernel.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/ibverbs/ucma_overlay.h"
#include "host/service/cm/ucma_address.h"

namespace vireo::ibverbs {

class UcmaFile {
 public:
  explicit UcmaFile(std::vector<UcmaNic> nics);
  UcmaFile(const UcmaFile&) = delete;
  UcmaFile& operator=(const UcmaFile&) = delete;

  // What the program gets: readable while an event waits (or, for a moment, another thread's answer). Its flags are
  // those of fd(). -1, and errno.
  int Duplicate() const;
  int fd() const { return readable_.get(); }
  // Until it is readable. False: errno.
  bool AwaitEvent() const;

  // A command as the program writes it, behind SET_OPTION's the option's bytes; for MIGRATE_ID, `from` is the file that
  // its descriptor means. 0 or -errno; `response` is what the kernel would write to the program's memory. GET_EVENT
  // does not wait: -EAGAIN.
  int Command(std::span<const uint8_t> command, UcmaFile* from, std::vector<uint8_t>& response);

 private:
  using Bytes = std::vector<uint8_t>;
  struct Place;
  struct Id;
  class Ids;
  static Ids& TheIds();

  // Sends a command and waits for its answer; kLost: there is no such NIC (any more).
  int Exchange(size_t nic, std::span<const uint8_t> command, Bytes& response);
  // The same for an ID of that NIC, whose number replaces the one in the command.
  int At(const Place& place, std::span<const uint8_t> command, Bytes& response);
  int At(const Place& place, std::span<const uint8_t> command);
  void Lose(size_t nic);

  int Create(std::span<const uint8_t> command, Bytes& response);
  int Destroy(uint32_t number, const Id& id, std::span<const uint8_t> command, Bytes& response);
  int SetOption(uint32_t number, Id id, std::span<const uint8_t> command);
  int Bind(uint32_t number, Id id, std::span<const uint8_t> command);
  int BindEverywhere(uint32_t number, Id& id, std::span<const uint8_t> command);
  int Resolve(uint32_t number, Id id, std::span<const uint8_t> command);
  int Listen(uint32_t number, Id id, std::span<const uint8_t> command);
  int Migrate(std::span<const uint8_t> command, const std::map<size_t, uint32_t>& numbers, Bytes& response);
  int GetEvent(std::span<const uint8_t> command, Bytes& response);

  // From now on it is on this NIC only.
  void Settle(uint32_t number, Id& id, size_t nic);
  // Likewise, if this NIC takes the command. Nothing: the first one that the ID is on is asked; it says what is wrong.
  int SettleBy(uint32_t number, Id& id, std::optional<size_t> nic, std::span<const uint8_t> command);
  int DestroyAt(const Place& place);
  // Makes the first `count` places anew, as they were before the ID was bound. 0 or -errno.
  int Renew(uint32_t number, Id& id, size_t count);
  std::optional<uint16_t> PortAt(const Place& place);
  std::optional<size_t> Having(const service::UcmaAddress& address) const;
  size_t RouteTo(const service::UcmaAddress& destination);
  // This file's numbers at its NICs.
  std::map<size_t, uint32_t> Numbers();

  std::mutex lock_;
  std::map<size_t, UcmaNic> nics_;  // by number
  host::FileDescriptor readable_;   // epoll of all of them
};

}  // namespace vireo::ibverbs
