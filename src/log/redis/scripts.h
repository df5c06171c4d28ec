#pragma once

// What is done to a log in one step on the server, as Lua scripts. A stream alone would give entries an order, but
// not what the port promises beyond it; the scripts add this:
//
//   Position. The id of an entry is POSITION-TIME. Positions are dense from 1, so that a hole shows, and fit into 64
//   bits; Redis' own ids (milliseconds and a counter) do not fit without a limit on the counter, which grows without
//   one while a clock that was set back catches up.
//   Time. The server's clock in milliseconds, held at the last entry's where it went back.
//   Identity. A log has a random id, given when it was created. Who appends says in which log it believes to be, and
//   up to where it knows it: nothing gets into a log that was flushed, removed or rolled back behind the sender's back.
//   Chain. Every entry has a random link and names the link before it; the first one names the log's id. A reader that
//   meets the link it expects has its proof that nothing before it was exchanged, without any further question.
//
//   stream entry   POSITION-TIME  tenure DATA  link HEX  prev HEX
//   meta           format pool id shards shard           the last two only where the pool has several
//   snapshot       position hash chunks tag before          tag names the list of chunks, before the one it replaced
//
// No script makes more than one write. Redis writes several as a transaction to its append-only file, and if a crash
// cuts that file within one (seen with 7.0.15), the rest of it stays there and is carried out with the next transaction
// after it, when the file is read a second time: an entry that nobody was told of would come back under another's
// position. So the end of the log is not noted anywhere, but read from the last entry.
//
// What a script finds wrong it answers with an error whose first word begins with TENURE- (errors.cc).

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tenure::redis {

struct Script {
  std::string source;
  std::string sha;  // of the source: its name on the server

  explicit Script(std::string text);
};

// All of them, made on first use.
struct Scripts {
  Script open;    // log meta head | pool new_id create shard shards  -> id shards last link position hash chunks tag
  Script append;  // log meta      | id link seen data   -> position
  Script probe;   // log meta      | id position link    -> ok; or trimmed first; or, without link, the entry
  Script commit;  // log meta head chunks | id position hash count tag  -> the tag of chunks that nobody needs any more
  Script trim;    // log meta head | id before           -> 1 where nothing is left to trim
  Script remove;  // log meta head | id
  Script mark;    // log meta      | id                  a write after which WAIT speaks for what was read before

  static const Scripts& get();
};

// EVALSHA.
Bytes call(const Script& script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments);
Bytes load(const Script& script);

constexpr std::string_view kEntryField = "tenure";

}  // namespace tenure::redis
