#include "log/sqlite/reader.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/prompt_thread.h"
#include "log/sqlite/bus_guard.h"
#include "log/sqlite/snapshot.h"

namespace tenure::sqlite {
namespace {

constexpr double kLooksAtOnce = 8;

}  // namespace

Result<ReaderFile> ReaderFile::open(std::shared_ptr<PoolFile> file) {
  auto connection = file->connect();
  if (!connection) return Failure(connection.error());
  auto entries = EntryReader::prepare(*connection);
  if (!entries) return Failure(entries.error());
  // Preparing reads from the database, so all files are open now.
  if (const Status same = file->has(*connection); !same) return Failure(same.error());
  return ReaderFile{std::move(file), std::move(*connection), std::move(*entries)};
}

Reader::Reader(std::shared_ptr<Access> access, ReaderFile file)
    : access_(std::move(access)), now_(std::make_unique<ReaderFile>(std::move(file))), thread_([this] { serve(); }) {
  pthread_setname_np(thread_.native_handle(), "tenure-reader");
}

Reader::~Reader() { close(); }

void Reader::read(Cursor after, Log::ReadDone done) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    ASSERT(!read_done_);
    read_after_ = after;
    read_done_ = std::move(done);
  }
  work_.notify_one();
}

void Reader::load_snapshot(IfGone if_gone, Log::LoadDone done) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    loads_.push_back({if_gone, std::move(done)});
    interrupt_wait();
  }
  work_.notify_one();
}

void Reader::find_end(Log::EndDone done) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    end_dones_.push_back(std::move(done));
    interrupt_wait();
  }
  work_.notify_one();
}

void Reader::close() {
  ASSERT(std::this_thread::get_id() != thread_.get_id());
  std::call_once(closing_, [this] {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      interrupt_wait();
    }
    work_.notify_one();
    thread_.join();
    read_done_ = nullptr;
    loads_.clear();
    end_dones_.clear();
  });
}

// Changing the word ends the wait even if it has not quite begun. Other readers of the file look once for nothing,
// which is rare.
void Reader::interrupt_wait() {
  if (waiting_) now_->file->wake().announce();
}

void Reader::serve() {
  run_promptly();
  let_bus_errors_through();
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || read_done_ || asked(); });
    if (stopping_) return;
    // Others follow in the same turn, so that callers who ask again and again do not keep the entries from coming.
    if (!end_dones_.empty()) serve_ends(lock);
    if (stopping_) return;
    if (!read_done_ && loads_.empty()) continue;
    // A read that waits in a lost history gets its answer before the handle starts over.
    if (loads_.empty() || (read_done_ && (!now_ || !now_->file->still_there())))
      serve_read(lock);
    else
      serve_snapshot(lock);
  }
}

void Reader::serve_snapshot(std::unique_lock<std::mutex>& lock) {
  Load load = std::move(loads_.front());
  loads_.pop_front();
  lock.unlock();
  load.done(load_newest(load.if_gone));
  load.done = nullptr;
  lock.lock();
}

void Reader::serve_ends(std::unique_lock<std::mutex>& lock) {
  std::vector<Log::EndDone> dones = std::exchange(end_dones_, {});
  lock.unlock();
  const Result<Position> found = end();
  for (const Log::EndDone& done : dones) done(found);
  dones.clear();
  lock.lock();
}

Result<Position> Reader::end() {
  if (!now_) return fail(Errc::lost_history, "sqlite log", "history was lost, and no snapshot was loaded since");
  if (const Status there = now_->file->unchanged(); !there) return Failure(there.error());
  return now_->entries.end();
}

Result<Snapshot> Reader::load_newest(IfGone if_gone) {
  if (const Status followed = follow_path(if_gone); !followed) return Failure(followed.error());
  Result<Snapshot> snapshot = load_newest_snapshot(now_->connection);
  if (snapshot) access_->begin_anew();
  return snapshot;
}

// Moves the handle to the file at the path. After a failure the handle has no file, and the next load_snapshot() tries
// again.
Status Reader::follow_path(IfGone if_gone) {
  if (now_ && now_->file->still_there()) return {};
  std::unique_ptr<ReaderFile> before;
  {
    std::lock_guard lock(mutex_);
    before.swap(now_);
  }
  access_->let_go();
  before.reset();
  auto file = access_->reopen(if_gone);
  if (!file) return Failure(file.error());
  auto opened = ReaderFile::open(*file);
  if (!opened) return Failure(opened.error());
  auto other = std::make_unique<ReaderFile>(std::move(*opened));
  {
    std::lock_guard lock(mutex_);
    now_.swap(other);
  }
  access_->move_to(std::move(*file));
  return {};
}

// A few looks may follow each other at once, as many as a job needs in a pool that does little else. Returns false if
// there is something else to do first.
bool Reader::keep_gap(std::unique_lock<std::mutex>& lock) {
  const Nanos gap = now_ ? now_->file->wake().gap() : Nanos::zero();
  if (gap > Nanos::zero()) {
    const Instant now = BootClock().now();
    looks_left_ = std::min(kLooksAtOnce, looks_left_ + std::chrono::duration<double>(now - looked_at_) / gap);
    looked_at_ = now;
    if (looks_left_ < 1 && !asked()) {
      work_.wait_for(lock, gap, [this] { return stopping_ || asked(); });
      return false;  // the elapsed time counts for the next attempt
    }
    looks_left_ = std::max(0.0, looks_left_ - 1);
  }
  return true;
}

void Reader::serve_read(std::unique_lock<std::mutex>& lock) {
  if (!keep_gap(lock)) return;
  const Cursor after = read_after_;
  const bool starts_over = !loads_.empty();
  lock.unlock();
  // Taken before the look: a later commit changes the word, and then the wait below returns at once.
  const std::uint32_t seen = now_ ? now_->file->wake().commits() : 0;
  Result<std::vector<Entry>> run = look(after, seen, starts_over);
  if (!run && run.error().code == Errc::lost_history) access_->lose();
  lock.lock();
  if (stopping_) return;

  if (run && run->empty()) {
    if (asked()) return;
    waiting_ = true;
    lock.unlock();
    now_->file->wake().wait(seen);
    polling_ = now_->file->wake().commits() == seen;
    // A removed wake file wakes nobody. If no other can be created, the slow polls go on. If the pool itself was
    // removed, a new wake file would stay behind.
    if (polling_ && now_->file->unchanged()) (void)now_->file->wake().renew();
    lock.lock();
    waiting_ = false;
    return;
  }
  Log::ReadDone done;
  done.swap(read_done_);
  lock.unlock();
  done(std::move(run));
  done = nullptr;
  lock.lock();
}

// The memory knows only announced commits, and no changes by foreign programs. The slow poll finds the rest.
Result<std::vector<Entry>> Reader::look(const Cursor& after, std::uint32_t commits, bool starts_over) {
  if (!now_) return fail(Errc::lost_history, "sqlite log", "history was lost, and no snapshot was loaded since");
  const bool polls = std::exchange(polling_, false);
  if (const Status there = polls || starts_over ? now_->file->still_there() : now_->file->unchanged(); !there) {
    return Failure(there.error());
  }
  if (!polls) {
    if (auto recent = now_->file->recent().after(after, commits)) return *std::move(recent);
  }
  return now_->entries.after(after);
}

}  // namespace tenure::sqlite
