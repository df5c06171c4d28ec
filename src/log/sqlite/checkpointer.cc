#include "log/sqlite/checkpointer.h"

#include <pthread.h>

namespace tenure::sqlite {

void checkpoint(Connection& connection) {
  sqlite3_wal_checkpoint_v2(connection.raw(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

Checkpointer::Checkpointer(Connection connection) : connection_(std::move(connection)), thread_([this] { serve(); }) {
  pthread_setname_np(thread_.native_handle(), "tenure-chkpt");
}

Checkpointer::~Checkpointer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Checkpointer::due() {
  {
    std::lock_guard lock(mutex_);
    due_ = true;
  }
  wake_.notify_one();
}

void Checkpointer::finish(Connection& connection) {
  std::lock_guard alone(running_);
  checkpoint(connection);
}

void Checkpointer::serve() {
  bool has_read = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || due_; });
    if (stopping_) return;
    due_ = false;
    lock.unlock();
    // A connection that has never read does not know that the file has a WAL, and its checkpoint would do nothing. If
    // reading fails now, the next one may succeed.
    if (!has_read) has_read = connection_.query_integer("PRAGMA schema_version").has_value();
    if (has_read) finish(connection_);
    lock.lock();
  }
}

}  // namespace tenure::sqlite
