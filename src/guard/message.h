#pragma once

// The messages between a worker and its guard, over a SOCK_SEQPACKET socket pair. One message is one packet, so a
// message is complete or absent, and descriptors travel with their message.
//
//   message := kind:u8  number:u64  session:u64  value:i64  aside:i64  count:u32  word*count
//   word    := size:u32  byte*size
//
// Integers are in the host's byte order, because both ends are on one host and of one build. A message has at most
// kMessageBytesMax bytes and kMessageDescriptorsMax descriptors. The sender refuses a longer one. A receiver gives up
// on a peer whose message does not decode.

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"

namespace tenure::guard {

// Less than the kernel's default for a socket's buffer (208 KiB), so that every message can be sent.
constexpr std::size_t kMessageBytesMax = 128U << 10;
constexpr std::size_t kMessageDescriptorsMax = 3;

enum class MessageKind : std::uint8_t {
  // From the worker. `number` identifies a program. The worker chooses it and never reuses it.
  start = 1,  // session; value: its slot in the lease page; aside: how many words are arguments; words: the folder to
              // run in (empty: the guard's own), arguments, then NAME=VALUE each; descriptors: 0, 1 and 2
  stop,       // SIGTERM to the program's group now; value: when to end its tree (CLOCK_BOOTTIME, ns)
  end,        // end its tree now
  stop_all,   // every program of the session: like stop, without a time
  end_all,    // every program of the session: like end
  log,        // number: as in the lease page; words: URL and pool. For its sessions' ends
  folder,     // words: a folder to remove when the guard ends
  alive,      // descriptor: to hold open until the worker and all programs are gone
  cgroup,     // words: the control group to leave and remove at the end; descriptor: its lock
  shield,     // value: programs that are started before this moment (CLOCK_BOOTTIME, ns) get a shield (shield.h)
  farewell,   // the worker is done: when the socket closes, there is nothing to report
  // From the guard.
  started = 64,  // value: the process id
  refused,       // value: errno; aside: a StartStep
  ended,         // value: as from waitpid; aside: 1 if the process that watched the program was killed, and not by the
                 // guard. Nothing of the program's tree is left
};

// The step at which the start of a program failed.
enum class StartStep : std::uint8_t { lease, fork, folder, program };
// For people. `folder`: where the program was to run.
std::string describe_refusal(const std::string& program, const std::string& folder, int error_number, StartStep step);

struct Message {
  MessageKind kind{};
  std::uint64_t number = 0;
  std::uint64_t session = 0;
  std::int64_t value = 0;
  std::int64_t aside = 0;
  std::vector<std::string> words{};
};

Bytes encode(const Message& message);
// False if the bytes are not a message.
bool decode(BytesView bytes, Message& into);

// Zero, or an errno: EMSGSIZE above the limit, EAGAIN if the socket is full.
int send_message(int socket, const Message& message, const std::vector<int>& descriptors = {});

struct Received {
  enum class What : std::uint8_t { message, nothing, closed, broken };
  What what = What::nothing;
  Message message;
  std::vector<Descriptor> descriptors;
};
// Does not block.
Received receive_message(int socket);

}  // namespace tenure::guard
