#pragma once

// How a log lies in Redis, and what is done to it in one step on the server, as Lua scripts. Appending and reading,
// which have to be quick, need none: they are plain XADD and XREAD. What the port promises beyond order comes of this:
//
//   Position and time. The id of an entry, which the server gives: its clock in milliseconds, never going back, and a
//   count (entry_id.h).
//
//   Identity. A log has a random id, given when it was created, and its stream bears it in its name. Appends do not
//   create the stream (NOMKSTREAM): nothing gets into a log that was flushed or removed behind the sender's back.
//
//   Link. Every entry has a random one, by which it is known again. A connection begins with the proof that the last
//   entry its process knows is in its place, so that a log that was rolled back is noticed before anything is read or
//   appended if the connection broke over it. And with every read goes the proof of the entry that the last run was
//   read behind: if somebody put an older copy of the stream in its place under a living connection, or trimmed it
//   while the run was read, that is noticed one run later.
//
//   Beats. A beat is appended by a script, which first checks that a newcomer would be given this log: that meta names
//   it, and that the sender's last beat (or, where that was trimmed, the last entry it has seen) is in its place. Of
//   the two hashes, meta and snapshot, each says which log it belongs to. Whoever finds that one of them was deleted or
//   evicted, and that the stream is the right one, writes it again; so neither is lost as long as the other, or a
//   member, is there. Plain XADDs and XREADs go by the stream's name alone. A reader asks meta for the id now and then,
//   so that a log that was replaced is noticed within a moment by those who do not beat, too.
//
//   stream entry   tenure LINK+DATA                         the link is 8 bytes
//   meta           format pool id born shards shard         born is the id once there is a stream; shards if several
//   snapshot       id pool shards shard                     as in meta
//                  position hash chunks tag before          tag names the list of chunks, before the one it replaced
//
// A chain of links, each entry naming the one before it, would prove more, but only the server knows the last entry
// when it takes the next: that is a script, which took ten times as long as an XADD, and a second for each 256 MB that
// Lua has to look at.
//
// No script makes more than one write. Redis writes several as a transaction to its append-only file, and if a crash
// cuts that file within one (seen with 7.0.15), the rest of it stays there and is carried out with the next transaction
// after it, when the file is read a second time.
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

// All of them, made on first use. Positions are written as the ids of their entries.
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

  static const Scripts& get();
};

// EVALSHA.
Bytes call(const Script& script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments);
Bytes load(const Script& script);

// Of the layout above.
constexpr std::string_view kFormat = "3";

}  // namespace tenure::redis
