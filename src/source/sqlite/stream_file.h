#pragma once

// A stream's file, and how it is opened, made and removed.
//
// Each stream of a URL has a file of its own beside the pools' files: PATH-stream-NAME.db. So a stream shares neither a
// commit nor a lock with a pool, its programs wake no pool, and it can be removed beside them. Other programs may open
// the file with any SQLite and write events with a plain INSERT:
//
//   events(id, time_ms, name, topic, key, payload)   id is the position, which SQLite assigns (AUTOINCREMENT); time_ms
//                                                    has a default; key is NULL for an event without one
//   stream(id, events_max, at_bound)                 one row: a random id, and the bound
//
// A bound is a trigger, so that it holds for other programs, too. Its number of events is last - first + 1.

#include <cstdint>
#include <string>
#include <string_view>

#include "log/sqlite/connection.h"
#include "log/sqlite/proof.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/wake_file.h"
#include "source/source.h"

namespace tenure::source::sqlite {

struct StreamFilePlace {
  tenure::sqlite::SqliteSettings settings;
  std::string path;
  Bytes stream;
};
Result<StreamFilePlace> place_of(std::string_view url);

struct StreamFile {
  tenure::sqlite::Connection connection;
  tenure::sqlite::Proof proof;
  std::int64_t id = 0;
};
// Errc::no_such_key if there is no stream, Errc::refused if the file is something else.
Result<StreamFile> open_stream_file(const StreamFilePlace& place);
// Makes it unless it is there. With the write turn of `wake` held.
Result<StreamFile> make_stream_file(const StreamFilePlace& place, tenure::sqlite::WakeFile& wake);
// With the write turn held. Programs that have the file open find that its tables are gone.
Status remove_stream_file(StreamFile& file);

// The positions of the oldest event and of the newest that there ever was.
constexpr std::string_view kSelectEnds =
    "SELECT (SELECT min(id) FROM events), (SELECT seq FROM sqlite_sequence WHERE name='events')";
Ends ends_in(const tenure::sqlite::Statement& row);

// SQLite's integers have a sign.
constexpr std::int64_t as_id(std::uint64_t position) {
  return position > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(position);
}

}  // namespace tenure::source::sqlite
