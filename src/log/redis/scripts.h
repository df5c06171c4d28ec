#pragma once

// The layout of a log in Redis, and its atomic operations as Lua scripts. Appending and reading have to be fast and use
// plain XADD and XREAD. The promises of the log port beyond order:
//
//   Position and time. The id of an entry, given by the server: its clock in milliseconds, never going back, and a
//   count (entry_id.h).
//
//   Identity. A log gets a random id when it is created, and the name of its stream contains it. Appends do not create
//   the stream (NOMKSTREAM), so nothing gets into a log that was flushed or removed in the meantime.
//
//   Link. Every entry has a random one, which identifies it. A connection starts with the proof that the last entry its
//   process knows is in its place. So a rollback of the log that broke the connection is detected before anything is
//   read or appended. Every read also proves the entry that the previous run ended with. So if somebody replaced the
//   stream by an older copy under a living connection, or trimmed it during a read, the next run detects it.
//
//   Beats. A script appends a beat. First it checks that a newcomer would get this log: meta must name it, and the
//   sender's last beat (or, if that was trimmed, the last entry it has seen) must be in its place. Both hashes, meta
//   and snapshot, contain the log's id. If one of them was deleted or evicted, the next process that finds the right
//   stream restores it. So neither is lost while the other, or a member, exists. Plain XADDs and XREADs use the
//   stream's name alone. A reader asks meta for the id from time to time, so that processes that do not beat also
//   soon detect a replaced log.
//
//   stream entry   tenure LINK+DATA                         the link is 8 bytes
//   meta           format pool id born shards shard         born is the id once there is a stream; shards if several
//   snapshot       id pool shards shard                     as in meta
//                  position hash chunks tag before          tag names the list of chunks, before the one it replaced
//
// A chain of links, with each entry naming the previous one, would prove more. But only the server knows the last entry
// when it appends the next, so this needs a script. That took ten times as long as an XADD, and a second for each 256
// MB that Lua has to read.
//
// No script makes more than one write. Redis writes several as a transaction to its append-only file. If a crash cuts
// the file within one (seen with 7.0.15), the rest stays in the file, and is executed with the transaction after it
// when the file is read a second time.
//
// If a script finds an error, its reply starts with a word that begins with TENURE- (errors.cc).

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tenure::redis {

struct Script {
  std::string source;
  std::string sha;  // hash of the source: its name on the server

  explicit Script(std::string text);
};

// All scripts, created on first use. Positions are written as the ids of their entries.
struct Scripts {
  Script create;  // meta head     | pool id shard shards  -> 1; or 0 where there is a log
  // log meta head | id  -> 1 once the stream and both hashes are there; 0: call again
  Script create_stream;
  Script renew;   // log meta head | id new_id             gives a log whose stream is gone, and nothing else, a new id
  Script look;    // log meta head | id -> last link position hash chunks tag; or 'gone' where the stream is,
                  //                 or 'torn' where entries are gone that no snapshot covers
  Script probe;   // log meta head | id entry link -> ok; or, without link, the entry; or trimmed, and up to where
  Script beat;    // log meta head | id entry link beat its_link new_id value pool shard shards
                  //               -> position, and that of the snapshot a newcomer would load; or, mended: call again
  Script commit;  // log meta head chunks | id position hash count tag  -> the tag of chunks that nobody needs any more
  Script trim;    // log meta head | id before             -> 1 where nothing is left to trim
  Script remove;  // log meta head | id
  Script mark;    // log meta      | id                    a write after which WAIT speaks for what was read before

  Script end;  // log                                   -> the id of the last entry; nil where the stream is gone

  static const Scripts& get();
};

// EVALSHA.
Bytes call(const Script& script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments);
Bytes load(const Script& script);

// The version of the layout above.
constexpr std::string_view kFormat = "3";

}  // namespace tenure::redis
