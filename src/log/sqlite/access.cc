#include "log/sqlite/access.h"

#include <utility>

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr TurnPatience kReopenPatience{.stuck = 100ms, .total = 100ms};

Failure lost() {
  return fail(Errc::lost_history, "sqlite log", "history was lost, and this handle has not loaded a snapshot since");
}

}  // namespace

Access::Access(SqliteSettings settings, LogOptions options, std::shared_ptr<PoolFile> file)
    : settings_(std::move(settings)), options_(std::move(options)), file_(std::move(file)) {}

void Access::append(Lane lane, Bytes data, Log::AppendDone done) {
  if (options_.read_only) {
    return refuse_append(fail(Errc::refused, "sqlite append", "the log was opened read-only"), std::move(done));
  }
  if (data.size() > kEntryBytesMax) {
    return refuse_append(fail(Errc::invalid, "sqlite append", "the entry is larger than 8 MiB"), std::move(done));
  }
  if (callbacks_->crowded()) {
    return refuse_append(fail(Errc::unavailable, "sqlite append", "too many answers wait for their callbacks"),
                         std::move(done));
  }
  std::lock_guard lock(mutex_);
  if (callbacks_->closed()) return;
  if (lost_) return refuse_append(lost(), std::move(done));
  file_->writer().append(lane, std::move(data), std::move(done), callbacks_);
}

void Access::run(std::unique_ptr<Chore> chore, Done done) {
  std::lock_guard lock(mutex_);
  run_locked(std::move(chore), std::move(done));
}

void Access::run_in(History history, std::unique_ptr<Chore> chore, Done done) {
  std::lock_guard lock(mutex_);
  if (history != history_) return refuse(lost(), std::move(done));
  run_locked(std::move(chore), std::move(done));
}

void Access::run_locked(std::unique_ptr<Chore> chore, Done done) {
  if (options_.read_only) {
    return refuse(fail(Errc::refused, "sqlite log", "the log was opened read-only"), std::move(done));
  }
  if (callbacks_->closed()) return;
  if (lost_) return refuse(lost(), std::move(done));
  file_->writer().run(std::move(chore), std::move(done), callbacks_);
}

void Access::refuse(Status status, Done done) const {
  callbacks_->post(Lane::data, [done = std::move(done), status = std::move(status)] { done(status); });
}

void Access::refuse_append(Result<Position> error, Log::AppendDone done) const {
  callbacks_->post(Lane::data, [done = std::move(done), error = std::move(error)] { done(error); });
}

Access::History Access::history() const {
  std::lock_guard lock(mutex_);
  return history_;
}

// The callbacks end first, without the lock, because the running one may be about to append.
void Access::close() {
  callbacks_->close();
  if (options_.read_only) return;
  std::lock_guard lock(mutex_);
  if (file_) file_->writer().forget(*callbacks_);
}

void Access::lose() {
  std::lock_guard lock(mutex_);
  lost_ = true;
}

Result<std::shared_ptr<PoolFile>> Access::reopen(IfGone if_gone) const {
  LogOptions wanted = options_;
  wanted.create = if_gone == IfGone::create;
  return PoolFile::open(settings_, wanted, kReopenPatience);
}

void Access::let_go() {
  std::shared_ptr<PoolFile> file;
  {
    std::lock_guard lock(mutex_);
    file_.swap(file);
    lost_ = true;
  }
  // No append reaches the writer any more. The last handle also ends the file and its threads, outside the lock.
  if (file && !options_.read_only) file->writer().leave(*callbacks_);
}

void Access::move_to(std::shared_ptr<PoolFile> file) {
  std::lock_guard lock(mutex_);
  file_ = std::move(file);
}

void Access::begin_anew() {
  std::lock_guard lock(mutex_);
  if (!lost_) return;
  lost_ = false;
  ++history_;
}

}  // namespace tenure::sqlite
