#pragma once

// The protocol between a client and a server of a checkout pool, in frames (process/channel.h).
//
//   client                                      server
//   'H' "tenure-checkout 1\n" token        ──▶
//                                          ◀──  'H' "tenure-checkout 1", or 'X'
//   'C' milliseconds " " force (0 or 1)    ──▶
//                                          ◀──  'W' process id, or 'X'
//   'M', 'P'  as to a program              ──▶
//                                          ◀──  'M', 'P', 'E'  as from a program; 'X' the worker is gone
//   'B'  the checkin, and the end          ──▶
//   'S'  instead of 'C'                    ──▶
//                                          ◀──  'S' state and counters, JSON; and the end
//
//   'X' := code "\n" context                    after which the server closes
//
// A connection that ends in another way is also a checkin. If an answer is due, it ends the worker.

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::remote {

constexpr BytesView kGreeting = "tenure-checkout 1";
// The limit on a frame until the other side has identified itself.
constexpr std::size_t kHelloBytesMax = 4096;
constexpr std::size_t kTokenBytesMax = 1024;

namespace word {
constexpr char kHello = 'H';
constexpr char kCheckout = 'C';
constexpr char kWorker = 'W';
constexpr char kMessage = 'M';
constexpr char kPart = 'P';
constexpr char kError = 'E';
constexpr char kBye = 'B';
constexpr char kStats = 'S';
constexpr char kRefusal = 'X';
}  // namespace word

Bytes encode_refusal(const Error& error);
// Errc::refused for an unknown code.
Error decode_refusal(BytesView bytes);

}  // namespace tenure::remote
