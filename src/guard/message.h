#pragma once

// What a worker and its guard send each other, over a SOCK_SEQPACKET socket pair: one message is one packet, so that
// a message is whole or not there, and descriptors travel with the message they belong to.
//
//   message := kind:u8  number:u64  session:u64  value:i64  aside:i64  count:u32  word*count
//   word    := size:u32  byte*size
//
// Integers are in the host's byte order: both ends are always on one host, and of one build. A message is at most
// kMessageBytesMax and carries at most kMessageDescriptorsMax descriptors; what is longer is refused by the sender, and
// what does not decode makes the receiver give up on its peer.

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"

namespace tenure::guard {

// Below the kernel's default for a socket's buffer (208 KiB), so that any message can be sent.
constexpr std::size_t kMessageBytesMax = 128U << 10;
constexpr std::size_t kMessageDescriptorsMax = 3;

enum class MessageKind : std::uint8_t {
  // From the worker. `number` names a program; it is the worker's to give, and is never used again.
  start = 1,  // session; value: its slot in the lease page; aside: how many words are arguments; words: the folder to
              // run in (empty: the guard's own), arguments, then NAME=VALUE each; descriptors: 0, 1 and 2
  stop,       // SIGTERM to the program's group now; value: when its tree is to be ended (CLOCK_BOOTTIME, ns)
  end,        // its tree is to be ended now
  stop_all,   // every program of the session: as stop, without a moment of its own
  end_all,    // every program of the session: as end
  log,        // number: as in the lease page; words: URL and pool. For its sessions' ends
  folder,     // words: a folder to be removed when the guard ends
  alive,      // descriptor: to be held open until the worker and all programs are gone
  cgroup,     // words: the control group to be left and removed in the end; descriptor: its lock
  shield,     // value: programs that are started before this moment (CLOCK_BOOTTIME, ns) get a shield (shield.h)
  farewell,   // the worker is done: when the socket closes there is nothing to be said for it
  // From the guard.
  started = 64,  // value: the process id
  refused,       // value: errno; aside: a StartStep
  ended,         // value: as from waitpid; aside: 1 if the process that watched the program was killed, and not by the
                 // guard. Nothing of the program's tree is left
};

// Where the start of a program failed.
enum class StartStep : std::uint8_t { lease, fork, folder, program };

struct Message {
  MessageKind kind{};
  std::uint64_t number = 0;
  std::uint64_t session = 0;
  std::int64_t value = 0;
  std::int64_t aside = 0;
  std::vector<std::string> words{};
};

Bytes encode(const Message& message);
// False if the bytes are no message.
bool decode(BytesView bytes, Message& into);

// Zero, or an errno: EMSGSIZE for one over the bound, EAGAIN where the socket takes no more now.
int send_message(int socket, const Message& message, const std::vector<int>& descriptors = {});

struct Received {
  enum class What : std::uint8_t { message, nothing, closed, broken };
  What what = What::nothing;
  Message message;
  std::vector<Descriptor> descriptors;
};
// Does not wait.
Received receive_message(int socket);

}  // namespace tenure::guard
