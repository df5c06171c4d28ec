// A stream's writer. Programs of ours take turns to write (write_turn.h), because SQLite's own wait is unfair.

#include <mutex>
#include <optional>

#include "base/json_text.h"
#include "log/sqlite/write_turn.h"
#include "source/sqlite/file_watch.h"
#include "source/sqlite/sqlite_source.h"
#include "source/sqlite/stream_file.h"

namespace tenure::source::sqlite {
namespace {

using tenure::sqlite::Connection;
using tenure::sqlite::Statement;
using tenure::sqlite::WakeFile;
using tenure::sqlite::WriteTurn;

constexpr std::string_view kInsert =
    "INSERT INTO events(time_ms, name, topic, key, payload) VALUES(?1, ?2, ?3, CASE ?4 WHEN 1 THEN ?5 END, ?6)";
constexpr std::string_view kSelectBound =
    "SELECT events_max, at_bound = 'refuse', ifnull((SELECT max(id) FROM events), 0),"
    " ifnull((SELECT min(id) FROM events), 1) FROM stream";

// Pages that a trim has freed, and that go back to the disk with it.
constexpr const char* kShrink = "PRAGMA incremental_vacuum(4096)";

struct Bound {
  StreamLimits limits;
  std::uint64_t events = 0;
};

// What holds for every program that writes: the trigger.
std::string bound_trigger(const StreamLimits& limits) {
  const std::string max = std::to_string(limits.events_max);
  if (limits.at_bound == StreamLimits::AtBound::drop_oldest) {
    return "CREATE TRIGGER bound AFTER INSERT ON events BEGIN DELETE FROM events WHERE id <= new.id - " + max + "; END";
  }
  return "CREATE TRIGGER bound BEFORE INSERT ON events WHEN (SELECT max(id) FROM events) - "
         "(SELECT min(id) FROM events) + 1 >= " +
         max + " BEGIN SELECT RAISE(ABORT, 'the stream is at its bound of " + max + " events'); END";
}

class SqliteWriter final : public StreamWriter {
 public:
  SqliteWriter(StreamFilePlace place, std::unique_ptr<WakeFile> wake)
      : place_(std::move(place)), wake_(std::move(wake)), turn_(*wake_) {}

  Status open(bool create) {
    return in_turn([&]() -> Status {
      if (create) {
        Result<StreamFile> made = make_stream_file(place_, *wake_);
        if (!made) return Failure(made.error());
        file_.emplace(*std::move(made));
      }
      return {};
    });
  }

  Result<std::vector<std::uint64_t>> add(const std::vector<Event>& events) override {
    if (const Status fits = check_added(events); !fits) return Failure(fits.error());
    std::vector<std::uint64_t> positions;
    if (events.empty()) return positions;
    const Status added = change([&]() -> Status {
      if (Status room = check_room(events.size()); !room) return room;
      auto insert = file_->connection.prepare(kInsert);
      if (!insert) return Failure(insert.error());
      for (const Event& event : events) {
        if (Status inserted = add_row(*insert, event); !inserted) return inserted;
        positions.push_back(static_cast<std::uint64_t>(sqlite3_last_insert_rowid(file_->connection.raw())));
        if (event.headers.empty()) continue;
        if (Status kept = add_headers(event, positions.back()); !kept) return kept;
      }
      return {};
    });
    if (!added) return Failure(added.error());
    return positions;
  }

  Result<std::uint64_t> trim(std::uint64_t before) override {
    std::uint64_t dropped = 0;
    const Status trimmed = change([&] { return drop_below(before, dropped); });
    if (!trimmed) return Failure(trimmed.error());
    return dropped;
  }

  Result<StreamInfo> info() override {
    StreamInfo info;
    const Status looked = in_turn([&]() -> Status {
      if (Status ready = prepare(); !ready) return ready;
      const Result<Bound> bound = select_bound();
      if (!bound) return Failure(bound.error());
      info.limits = bound->limits;
      info.events = bound->events;
      auto ends = file_->connection.prepare(kSelectEnds);
      if (!ends) return Failure(ends.error());
      const Result<bool> row = ends->step();
      if (!row) return Failure(row.error());
      info.ends = ends_in(*ends);
      const auto bytes = file_->connection.query_integer(
          "SELECT page_count * page_size FROM pragma_page_count(),"
          " pragma_page_size()");
      if (!bytes) return Failure(bytes.error());
      info.bytes = static_cast<std::uint64_t>(*bytes);
      return {};
    });
    if (!looked) return Failure(looked.error());
    return info;
  }

  Status set_limits(const StreamLimits& limits) override {
    const bool drops = limits.at_bound == StreamLimits::AtBound::drop_oldest;
    return change([&]() -> Status {
      Connection& connection = file_->connection;
      std::string sql =
          "DROP TRIGGER IF EXISTS bound; UPDATE stream SET events_max = " + std::to_string(as_id(limits.events_max)) +
          ", at_bound = '" + (drops ? "drop" : "refuse") + "';";
      if (limits.events_max != 0) sql += bound_trigger(limits);
      if (Status set = connection.exec(sql.c_str()); !set) return set;
      const Result<Bound> bound = select_bound();
      if (!bound) return Failure(bound.error());
      if (!drops || limits.events_max == 0 || bound->events <= limits.events_max) return {};
      const auto last = connection.query_integer("SELECT max(id) FROM events");
      if (!last) return Failure(last.error());
      std::uint64_t dropped = 0;
      return drop_below(static_cast<std::uint64_t>(*last) + 1 - limits.events_max, dropped);
    });
  }

  Status remove() override {
    return in_turn([&]() -> Status {
      Status ready = prepare();
      if (!ready) return ready.error().code == Errc::no_such_key ? Status() : ready;
      FileWatch::touch(place_.path);
      Status removed = remove_stream_file(*file_);
      file_.reset();
      return removed;
    });
  }

 private:
  template <class Work>
  Status in_turn(Work work) {
    const std::lock_guard lock(mutex_);
    if (Status taken = turn_.acquire(); !taken) return taken;
    Status done = work();
    turn_.release();
    return done;
  }

  // A transaction in turn.
  template <class Work>
  Status change(Work work) {
    Status changed = in_turn([&]() -> Status {
      if (Status ready = prepare(); !ready) return ready;
      return transact(file_->connection, work);
    });
    if (changed) FileWatch::touch(place_.path);
    return changed;
  }

  // The stream may have been removed, and made again.
  Status prepare() {
    if (file_ && !file_->proof.check()) file_.reset();
    if (!file_) {
      Result<StreamFile> file = open_stream_file(place_);
      if (!file) return Failure(file.error());
      file_.emplace(*std::move(file));
    }
    if (file_->id == synced_id_) return {};
    synced_id_ = file_->id;
    return file_->connection.set_synchronous(static_cast<int>(place_.settings.sync));
  }

  Result<Bound> select_bound() {
    auto select = file_->connection.prepare(kSelectBound);
    if (!select) return Failure(select.error());
    const Result<bool> row = select->step();
    if (!row) return Failure(row.error());
    Bound bound;
    bound.limits.events_max = static_cast<std::uint64_t>(select->integer(0));
    bound.limits.at_bound =
        select->integer(1) != 0 ? StreamLimits::AtBound::refuse : StreamLimits::AtBound::drop_oldest;
    bound.events = static_cast<std::uint64_t>(select->integer(2) - select->integer(3) + 1);
    return bound;
  }

  Status check_room(std::size_t more) {
    const Result<Bound> bound = select_bound();
    if (!bound) return Failure(bound.error());
    const std::uint64_t max = bound->limits.events_max;
    const bool refuses = max != 0 && bound->limits.at_bound == StreamLimits::AtBound::refuse;
    if (!refuses || bound->events + more <= max) return {};
    return fail(Errc::pool_full, "add to stream",
                place_.path + ": the stream is at its bound of " + std::to_string(max) + " events: trim it");
  }

  Status add_row(Statement& insert, const Event& event) const {
    insert.bind(1, clock_.wall_ms());
    insert.bind(2, event.name);
    insert.bind(3, event.topic);
    insert.bind(4, std::int64_t{event.key ? 1 : 0});
    insert.bind(5, event.key ? BytesView(*event.key) : BytesView());
    insert.bind(6, event.payload);
    return insert.run();
  }

  // As a JSON object. Only streams that have such an event have the column.
  Status add_headers(const Event& event, std::uint64_t position) {
    Connection& connection = file_->connection;
    const auto column =
        connection.query_integer("SELECT count(*) FROM pragma_table_info('events') WHERE name = 'headers'");
    if (!column) return Failure(column.error());
    if (*column == 0) {
      if (Status made = connection.exec("ALTER TABLE events ADD COLUMN headers TEXT"); !made) return made;
    }
    std::string json;
    for (const auto& [name, value] : event.headers) {
      json += (json.empty() ? "{" : ",") + json_string(name) + ":" + json_string(value);
    }
    json += "}";
    auto update = connection.prepare("UPDATE events SET headers = ?1 WHERE id = ?2");
    if (!update) return Failure(update.error());
    update->bind_text(1, json);
    update->bind(2, as_id(position));
    return update->run();
  }

  Status drop_below(std::uint64_t position, std::uint64_t& dropped) {
    auto remove = file_->connection.prepare("DELETE FROM events WHERE id < ?1");
    if (!remove) return Failure(remove.error());
    remove->bind(1, as_id(position));
    if (Status done = remove->run(); !done) return done;
    dropped = static_cast<std::uint64_t>(sqlite3_changes64(file_->connection.raw()));
    return dropped == 0 ? Status() : file_->connection.exec(kShrink);
  }

  const StreamFilePlace place_;
  const BootClock clock_;
  std::mutex mutex_;
  // All below is guarded by mutex_.
  const std::unique_ptr<WakeFile> wake_;
  WriteTurn turn_;
  std::optional<StreamFile> file_;
  std::int64_t synced_id_ = 0;  // the stream for which the connection has its durability
};

}  // namespace

Result<std::unique_ptr<StreamWriter>> open_writer(std::string_view url, bool create) {
  Result<StreamFilePlace> place = place_of(url);
  if (!place) return Failure(place.error());
  if (!create) {
    // Without a stream there is no wake file either.
    if (const Result<StreamFile> there = open_stream_file(*place); !there) return Failure(there.error());
  }
  auto wake = WakeFile::open(place->path, false);
  if (!wake) return Failure(wake.error());
  auto writer = std::make_unique<SqliteWriter>(*std::move(place), *std::move(wake));
  if (const Status opened = writer->open(create); !opened) return Failure(opened.error());
  return writer;
}

}  // namespace tenure::source::sqlite
