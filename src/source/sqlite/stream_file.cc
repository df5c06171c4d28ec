#include "source/sqlite/stream_file.h"

#include <algorithm>

#include "base/entropy.h"
#include "log/sqlite/bus_guard.h"
#include "log/sqlite/file_id.h"
#include "log/sqlite/remove.h"
#include "log/sqlite/side_files.h"
#include "source/stream_url.h"

namespace tenure::source::sqlite {
namespace {

using tenure::sqlite::Connection;
using tenure::sqlite::Proof;

constexpr std::int64_t kStreamFileId = 0x54655372;  // "TeSr", in the file's header
constexpr std::int64_t kStreamFormat = 1;
constexpr const char* kOperation = "open stream";

// A pool's log has a thread for checkpoints. For a stream SQLite does one after every thousand pages.
constexpr const char* kStreamSettings = "PRAGMA wal_autocheckpoint=1000";

constexpr const char* kStreamTables =
    "CREATE TABLE events(id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " time_ms INTEGER DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),"
    " name BLOB, topic BLOB, key BLOB, payload BLOB);"
    "CREATE TABLE stream(id INTEGER NOT NULL, events_max INTEGER NOT NULL, at_bound TEXT NOT NULL);";

Failure no_stream(const StreamFilePlace& place) {
  return fail(Errc::no_such_key, kOperation, place.path + ": there is no stream '" + place.stream + "'");
}

Result<bool> is_new(Connection& connection) {
  const auto tables = connection.query_integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return Failure(tables.error());
  return *tables == 0;
}

Status check_kind(Connection& connection) {
  const auto application = connection.query_integer("PRAGMA application_id");
  if (!application) return Failure(application.error());
  const auto format = connection.query_integer("PRAGMA user_version");
  if (!format) return Failure(format.error());
  if (*application != kStreamFileId) {
    return fail(Errc::refused, kOperation, connection.path() + ": this is a database of another program");
  }
  if (*format != kStreamFormat) {
    return fail(Errc::version, kOperation,
                connection.path() + ": written in format " + std::to_string(*format) + ", this version speaks 1");
  }
  return {};
}

Status create_tables(Connection& connection) {
  if (Status sized = connection.exec("PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL"); !sized) return sized;
  if (Status wal = connection.exec("PRAGMA journal_mode=WAL"); !wal) return wal;
  return transact(connection, [&]() -> Status {
    if (Status made = connection.exec(kStreamTables); !made) return made;
    const auto id = static_cast<std::int64_t>(SystemEntropy().id() >> 1);
    const std::string facts = "INSERT INTO stream VALUES(" + std::to_string(id) + ", 0, 'refuse');" +
                              "PRAGMA application_id=" + std::to_string(kStreamFileId) +
                              "; PRAGMA user_version=" + std::to_string(kStreamFormat);
    return connection.exec(facts.c_str());
  });
}

Result<StreamFile> finish(Connection connection) {
  if (const Status ours = check_kind(connection); !ours) return Failure(ours.error());
  if (const Status set = connection.exec(kStreamSettings); !set) return Failure(set.error());
  const auto id = connection.query_integer("SELECT id FROM stream");
  if (!id) return Failure(id.error());
  Proof proof = Proof::of(connection.path(), connection);
  return StreamFile{std::move(connection), std::move(proof), *id};
}

}  // namespace

Result<StreamFilePlace> place_of(std::string_view url) {
  Result<StreamUrl> parts = split_stream_url(url);
  if (!parts) return Failure(parts.error());
  const std::string_view engine = parts->engine;
  auto settings = tenure::sqlite::parse_settings(engine.substr(engine.find(':') + 1), parts->stream);
  if (!settings) return Failure(settings.error());
  std::string path = settings->path + "-stream-" + tenure::sqlite::short_name_of(parts->stream) + ".db";
  return StreamFilePlace{*std::move(settings), std::move(path), std::move(parts->stream)};
}

Result<StreamFile> open_stream_file(const StreamFilePlace& place) {
  tenure::sqlite::let_bus_errors_through();
  const auto facts = tenure::sqlite::facts_of(place.path);
  if (!facts || facts->bytes == 0) return no_stream(place);
  auto connection = Connection::open(place.path, Connection::Mode::existing);
  if (!connection) return Failure(connection.error());
  const Result<bool> empty = is_new(*connection);
  if (!empty) return Failure(empty.error());
  // Another process is creating or removing it.
  if (*empty) return no_stream(place);
  Result<StreamFile> file = finish(*std::move(connection));
  // Replaced between two steps: the caller looks again.
  if (file && !file->proof.check()) return no_stream(place);
  return file;
}

Result<StreamFile> make_stream_file(const StreamFilePlace& place, tenure::sqlite::WakeFile& wake) {
  tenure::sqlite::let_bus_errors_through();
  const auto map = wake.map();
  if (const Status settled = settle_files(place.path, place.settings.group, *map); !settled) {
    return Failure(settled.error());
  }
  auto connection = Connection::open(place.path, Connection::Mode::create);
  if (!connection) return Failure(connection.error());
  if (connection->read_only()) {
    return fail(Errc::refused, kOperation,
                place.path + ": the file is not writable for this user: let its owner add group=NAME to the URL");
  }
  const Result<bool> empty = is_new(*connection);
  if (!empty) return Failure(empty.error());
  if (*empty) {
    if (const Status made = create_tables(*connection); !made) return Failure(made.error());
  }
  Result<StreamFile> file = finish(*std::move(connection));
  if (!file) return file;
  tenure::sqlite::share_files(place.path);
  tenure::sqlite::note_files(file->proof, place.stream, *map);
  return file;
}

Status remove_stream_file(StreamFile& file) {
  Connection& connection = file.connection;
  const Status dropped = transact(connection, [&] { return connection.exec("DROP TABLE events; DROP TABLE stream"); });
  if (!dropped) return dropped;
  const Result<bool> gone = tenure::sqlite::Remove().step(connection);
  return gone ? Status() : Failure(gone.error());
}

Ends ends_in(const tenure::sqlite::Statement& row) {
  const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(0), 0));
  const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(1), 0));
  return {first == 0 ? last + 1 : first, last};
}

}  // namespace tenure::source::sqlite
