#include "source/sqlite/sqlite_source.h"

#include <algorithm>
#include <optional>

#include "source/continuity.h"
#include "source/sqlite/file_watch.h"
#include "source/sqlite/stream_file.h"

namespace tenure::source::sqlite {
namespace {

using namespace std::chrono_literals;
using tenure::sqlite::Connection;
using tenure::sqlite::Statement;

// How often to look for a missing stream, and for changes that inotify did not report.
constexpr Nanos kLookForFile = 50ms;
constexpr Nanos kLookAnyway = 500ms;
constexpr Nanos kLookUnwatched = 10ms;
// A write becomes visible when its commit ends. The intervals double between these two.
constexpr Nanos kSettleFirst = 500us;
constexpr Nanos kSettleLast = 64ms;

constexpr std::string_view kSelectRows =
    "SELECT id, time_ms, name, topic, key IS NULL, key, payload FROM events WHERE id > ?1 ORDER BY id LIMIT ?2";
constexpr std::string_view kSelectTime = "SELECT id FROM events WHERE time_ms >= ?1 ORDER BY id LIMIT 1";

Event event_in(const Statement& row) {
  Event event;
  event.position = static_cast<std::uint64_t>(row.integer(0));
  event.time_ms = row.integer(1);
  event.name = row.blob(2);
  event.topic = row.blob(3);
  if (row.integer(4) == 0) event.key = Bytes(row.blob(5));
  event.payload = row.blob(6);
  return event;
}

// A file with the statements that read it, which are destroyed first.
struct ReadFile {
  StreamFile file;
  Statement ends;
  Statement rows;
  Statement time;
};

class SqliteSource final : public Source {
 public:
  explicit SqliteSource(StreamFilePlace place) : place_(std::move(place)) {}

  Result<std::vector<Bytes>> partitions() override {
    if (const Status ready = prepare(); !ready) return Failure(ready.error());
    return std::vector<Bytes>{"0"};
  }

  Result<Ends> ends(BytesView partition) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    if (const Status ready = prepare(); !ready) return Failure(ready.error());
    return select_ends();
  }

  Result<std::uint64_t> find(BytesView partition, const StartAt& at) override {
    const Result<Ends> found = ends(partition);
    if (!found) return Failure(found.error());
    if (const auto known = start_behind(at, *found)) return *known;
    Statement& time = opened_->time;
    time.bind(1, at.time_ms);
    const Result<bool> row = time.step();
    if (!row) return Failure(row.error());
    const std::uint64_t after = *row ? static_cast<std::uint64_t>(time.integer(0)) - 1 : found->last;
    time.reset();
    return after;
  }

  Status open(BytesView partition, std::uint64_t after, std::vector<Mark> marks) override {
    if (Status known = check_only_partition(partition); !known) return known;
    after_ = after;
    marks_ = std::move(marks);
    read_id_ = 0;
    open_ = true;
    return {};
  }

  void close(BytesView /*partition*/) override { open_ = false; }

  Result<Run> read(BytesView partition, const ReadLimits& limits) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    if (!open_) return fail(Errc::invalid, "read source", "the partition is not open");
    if (const Status ready = prepare(); !ready) return Failure(ready.error());
    Connection& connection = opened_->file.connection;
    // One transaction, so that the ends are those of the rows.
    if (const Status begun = connection.exec("BEGIN"); !begun) return Failure(begun.error());
    Result<Run> run = read_rows(limits);
    if (const Status ended = connection.exec("COMMIT"); run && !ended) return Failure(ended.error());
    if (!run && run.error().code == Errc::unavailable) release();  // the next read opens the file again
    return run;
  }

  void wait(Instant until) override {
    Nanos settle{0};
    while (!has_news()) {
      const Nanos left = until - clock_.now();
      if (left <= Nanos(0)) return;
      const Nanos look = !opened_ ? kLookForFile : watch_.works() ? kLookAnyway : kLookUnwatched;
      switch (watch_.wait(std::min(left, settle > Nanos(0) ? settle : look))) {
        case FileWatch::Ended::woken: return;
        case FileWatch::Ended::written: settle = kSettleFirst; break;
        case FileWatch::Ended::time: settle = settle < kSettleLast ? settle * 2 : Nanos(0); break;
      }
    }
  }

  void wake() override { watch_.wake(); }

 private:
  // Opens the file that is at the path.
  Status prepare() {
    if (opened_ && !opened_->file.proof.check()) release();
    if (opened_) return {};
    Result<StreamFile> file = open_stream_file(place_);
    if (!file) {
      look_at_ = clock_.now() + kLookForFile;
      return Failure(file.error());
    }
    auto ends = file->connection.prepare(kSelectEnds);
    auto rows = file->connection.prepare(kSelectRows);
    auto time = file->connection.prepare(kSelectTime);
    for (const auto* const statement : {&ends, &rows, &time}) {
      if (!*statement) return Failure(statement->error());
    }
    opened_.emplace(ReadFile{*std::move(file), *std::move(ends), *std::move(rows), *std::move(time)});
    watch_.follow(place_.path);
    return {};
  }

  void release() {
    watch_.forget();
    opened_.reset();
  }

  bool has_news() {
    if (!opened_) return clock_.now() >= look_at_ && tenure::sqlite::facts_of(place_.path).has_value();
    if (!opened_->file.proof.check()) return true;
    const Result<Ends> now = select_ends();
    return !now || (open_ && (now->last > after_ || read_id_ == 0));
  }

  Result<Ends> select_ends() {
    Statement& ends = opened_->ends;
    const Result<bool> row = ends.step();
    if (!row) return Failure(row.error());
    const Ends found = ends_in(ends);
    ends.reset();
    return found;
  }

  Result<Run> read_rows(const ReadLimits& limits) {
    const Result<Ends> ends = select_ends();
    if (!ends) return Failure(ends.error());
    Result<Run> run = resume(*ends);
    if (!run) return run;
    Statement& rows = opened_->rows;
    rows.bind(1, as_id(after_));
    rows.bind(2, static_cast<std::int64_t>(limits.events));
    std::size_t bytes = 0;
    for (;;) {
      const Result<bool> row = rows.step();
      if (!row) return Failure(row.error());
      if (!*row) break;
      Event event = event_in(rows);
      bytes += event.bytes();
      // SQLite assigns the ids one after the other, so a gap was deleted.
      const bool gap = event.position != after_ + 1;
      if (!run->events.empty() && (gap || bytes > limits.bytes)) break;
      if (gap) run->lost = Loss{after_ + 1, event.position - 1, event.position - 1 - after_};
      run->position = after_ = event.position;
      run->events.push_back(std::move(event));
    }
    rows.reset();
    if (run->events.empty() && ends->last > after_) {
      run->lost = Loss{after_ + 1, ends->last, ends->last - after_};
      run->position = after_ = ends->last;
    }
    return run;
  }

  // Finds out whether this is the stream that was read.
  Result<Run> resume(const Ends& ends) {
    Run run;
    const std::int64_t id = opened_->file.id;
    if (read_id_ == id) return run;
    if (read_id_ != 0) {
      run.change = Change::anew;
      run.resumed = after_ = ends.first - 1;
    } else {
      std::vector<CheckedMark> checked;
      for (const Mark& mark : marks_) {
        const Result<CheckedMark::Now> now = look_at(mark, ends);
        if (!now) return Failure(now.error());
        checked.push_back({mark, *now});
      }
      const Continuity judged = judge_marks(after_, checked, ends);
      run.change = judged.change;
      if (judged.change != Change::none) run.resumed = after_ = judged.resumed;
    }
    marks_.clear();
    read_id_ = id;
    return run;
  }

  Result<CheckedMark::Now> look_at(const Mark& mark, const Ends& ends) {
    if (mark.position > ends.last) return CheckedMark::Now::other;
    Statement& rows = opened_->rows;
    rows.bind(1, as_id(mark.position) - 1);
    rows.bind(2, std::int64_t{1});
    const Result<bool> row = rows.step();
    if (!row) return Failure(row.error());
    CheckedMark::Now now = CheckedMark::Now::gone;
    if (*row) {
      const Event event = event_in(rows);
      const bool same = mark_of(event) == mark;
      if (event.position == mark.position) now = same ? CheckedMark::Now::same : CheckedMark::Now::other;
      rows.reset();
    }
    return now;
  }

  const StreamFilePlace place_;
  const BootClock clock_;
  FileWatch watch_;
  std::optional<ReadFile> opened_;
  Instant look_at_;  // when to look for the file again
  bool open_ = false;
  std::uint64_t after_ = 0;
  std::vector<Mark> marks_;   // to be checked with the next read
  std::int64_t read_id_ = 0;  // of the stream that is read; zero: any
};

}  // namespace

Result<std::unique_ptr<Source>> open_source(std::string_view url) {
  Result<StreamFilePlace> place = place_of(url);
  if (!place) return Failure(place.error());
  return std::make_unique<SqliteSource>(*std::move(place));
}

}  // namespace tenure::source::sqlite
