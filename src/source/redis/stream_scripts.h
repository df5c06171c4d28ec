#pragma once

// The atomic operations on a stream, as Lua scripts. The stream is a key of its own with exactly the name that its user
// gave it, so that any client can use it. A bound is in a second key beside it, in the same slot of a cluster:
//
//   tenure:stream:{KEY}   a hash: events_max, at_bound
//
// A batch is added by one script, although a crash of the server can cut its file of commands within it: XADD is
// written with its id, so that an entry which is read twice from the file is refused the second time.

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "log/redis/scripts.h"

namespace tenure::source::redis {

struct StreamScripts {
  // stream | -> added length first last deleted; nil if there is no stream
  tenure::redis::Script look;
  // stream | after count marks… -> look, entries behind `after`, the entry at each mark, entries ahead (-1: not
  // counted) With a count of zero, entries are counted instead of returned.
  tenure::redis::Script fetch;
  tenure::redis::Script create;      // stream limits |
  tenure::redis::Script add;         // stream limits | count, then for each event: number of words, words
                                     // -> ids; 'gone'; or 'full' and the bound
  tenure::redis::Script set_limits;  // stream limits | events_max at_bound -> nil if there is no stream

  static const StreamScripts& get();
};

// The name of the second key.
std::string limits_key(BytesView stream);

}  // namespace tenure::source::redis
