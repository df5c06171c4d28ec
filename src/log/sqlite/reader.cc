#include "log/sqlite/reader.h"

#include <pthread.h>

#include "base/assert.h"
#include "log/sqlite/snapshot.h"

namespace tenure::sqlite {

Reader::Reader(std::shared_ptr<PoolFile> file, Connection connection, EntryReader entries)
    : file_(std::move(file)),
      connection_(std::move(connection)),
      entries_(std::move(entries)),
      thread_([this] { serve(); }) {
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

void Reader::load_snapshot(SnapshotDone done) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    snapshot_dones_.push_back(std::move(done));
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
    snapshot_dones_.clear();
  });
}

// A changed word ends the wait even if it has not quite begun. Other readers of the file look once in vain; this is
// rare enough not to matter.
void Reader::interrupt_wait() {
  if (waiting_) file_->wake().announce();
}

void Reader::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || read_done_ || !snapshot_dones_.empty(); });
    if (stopping_) return;
    if (!snapshot_dones_.empty())
      serve_snapshot(lock);
    else
      serve_read(lock);
  }
}

void Reader::serve_snapshot(std::unique_lock<std::mutex>& lock) {
  SnapshotDone done = std::move(snapshot_dones_.front());
  snapshot_dones_.pop_front();
  lock.unlock();
  const Status there = file_->still_there();
  if (there)
    done(load_newest_snapshot(connection_));
  else
    done(tl::unexpected(there.error()));
  done = nullptr;
  lock.lock();
}

void Reader::serve_read(std::unique_lock<std::mutex>& lock) {
  const Cursor after = read_after_;
  lock.unlock();
  // Taken before the look: a commit after it changes the word, and the wait below does not begin.
  const std::uint32_t seen = file_->wake().commits();
  Result<std::vector<Entry>> run;
  if (const Status there = file_->still_there(); there)
    run = entries_.after(after);
  else
    run = tl::unexpected(there.error());
  lock.lock();
  if (stopping_) return;

  if (run && run->empty()) {
    if (!snapshot_dones_.empty()) return;
    waiting_ = true;
    lock.unlock();
    file_->wake().wait(seen);
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

}  // namespace tenure::sqlite
