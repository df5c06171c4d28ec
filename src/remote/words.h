#pragma once

// What a client and a server of a checkout pool say to each other, in frames as of process/channel.h.
//
//   client                                      server
//   'H' "tenure-checkout 1\n" token        ──▶
//                                          ◀──  'H' "tenure-checkout 1", or 'X'
//   'C' milliseconds " " force (0 or 1)    ──▶
//                                          ◀──  'W' process id, or 'X'
//   'M', 'P'  as to a program              ──▶
//                                          ◀──  'M', 'P', 'E'  as from a program; 'X' the worker is gone
//   'B'  the checkin, and the end          ──▶
//   'S'  in place of 'C'                   ──▶
//                                          ◀──  'S' state and counters, JSON; and the end
//
//   'X' := code "\n" context                    after which the server closes
//
// A connection that ends otherwise is a checkin as well, or, where an answer is due, the end of the worker.

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::remote {

constexpr BytesView kGreeting = "tenure-checkout 1";
// Of a frame, until the other side is known.
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
// A code that is not known here is Errc::refused.
Error decode_refusal(BytesView bytes);

}  // namespace tenure::remote
