// SPDX-License-Identifier: Apache-2.0
// One open file of /dev/infiniband/rdma_cm: multiplexes channels to the connection managers of all NICs
// (host/service/ucma_protocol.h), as Linux' rdma_cm does with its devices:
//
// - An ID is bound to a NIC by an address: the NIC that has the source address (bind, resolve), or else the NIC of the
//   route to the destination. Until then it exists on all NICs.
// - An ID bound to a wildcard or loopback address (0.0.0.0, ::, 127.0.0.1, ::1) listens on all NICs, at the same port.
// - Routing: the NIC that has the destination itself; the NIC of its scope ID; else a NIC that reaches it, preferring
//   one with an address in the same network (/24, /64: GIDs have no prefix length); else the first. There is no
//   failover if the destination does not answer.
//
// ID numbers are local to this process. If a NIC's service closes, its IDs fail with -ENODEV; the file stays usable
// with the other NICs.
//
// Thread-safe; commands of a file are serialized, as in the kernel.
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

  // A descriptor for the program: readable while an event is pending (or, briefly, another thread's answer). Its flags
  // are those of fd(). -1, and errno.
  int Duplicate() const;
  int fd() const { return readable_.get(); }
  // Blocks until it is readable. False: errno.
  bool AwaitEvent() const;

  // Executes a command as the program writes it, followed by the option's bytes for SET_OPTION; for MIGRATE_ID, `from`
  // is the file of its descriptor. 0 or -errno; `response` is what the kernel would write to the program's memory.
  // GET_EVENT does not block: -EAGAIN.
  int Command(std::span<const uint8_t> command, UcmaFile* from, std::vector<uint8_t>& response);

 private:
  using Bytes = std::vector<uint8_t>;
  struct NicId;
  struct Id;
  class Ids;
  static Ids& ProcessIds();

  // Sends a command and waits for its answer; kLost: the NIC does not exist (any more).
  int Exchange(size_t nic, std::span<const uint8_t> command, Bytes& response);
  // The same for an ID of that NIC, whose number replaces the one in the command. -ENODEV: the NIC is lost.
  int Forward(const NicId& place, std::span<const uint8_t> command, Bytes& response);
  int Forward(const NicId& place, std::span<const uint8_t> command);
  void RemoveNic(size_t nic);

  int Create(std::span<const uint8_t> command, Bytes& response);
  int Destroy(uint32_t number, const Id& id, std::span<const uint8_t> command, Bytes& response);
  int SetOption(uint32_t number, Id id, std::span<const uint8_t> command);
  int Bind(uint32_t number, Id id, std::span<const uint8_t> command);
  int BindEverywhere(uint32_t number, Id& id, std::span<const uint8_t> command);
  int Resolve(uint32_t number, Id id, std::span<const uint8_t> command);
  int Listen(uint32_t number, Id id, std::span<const uint8_t> command);
  int Migrate(std::span<const uint8_t> command, const std::map<size_t, uint32_t>& numbers, Bytes& response);
  int GetEvent(std::span<const uint8_t> command, Bytes& response);

  // Binds an ID to one NIC and destroys it on the others.
  void BindToNic(uint32_t number, Id& id, size_t nic);
  // Forwards the command to this NIC and binds the ID to it on success. None: the ID's first NIC, which reports the
  // error.
  int ForwardAndBind(uint32_t number, Id& id, std::optional<size_t> nic, std::span<const uint8_t> command);
  int DestroyAt(const NicId& place);
  // Recreates the ID on its first `count` NICs, as it was before it was bound. 0 or -errno.
  int Recreate(uint32_t number, Id& id, size_t count);
  std::optional<uint16_t> PortAt(const NicId& place);
  std::optional<size_t> NicOf(const service::UcmaAddress& address) const;
  size_t RouteTo(const service::UcmaAddress& destination);
  // This file's numbers on its NICs.
  std::map<size_t, uint32_t> Numbers();

  std::mutex lock_;
  std::map<size_t, UcmaNic> nics_;  // by number
  host::FileDescriptor readable_;   // epoll of all of them
};

}  // namespace vireo::ibverbs
