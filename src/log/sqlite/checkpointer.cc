#include "log/sqlite/checkpointer.h"

#include <pthread.h>

#include <utility>

#include "log/sqlite/bus_guard.h"

namespace tenure::sqlite {
namespace {

// A failure is not reported here. Linux reports it once per descriptor, so the checkpoint that lets the WAL start over
// gets it from its own.
void sync_database(Connection& connection) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.raw(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (file != nullptr && file->pMethods != nullptr) file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

}  // namespace

int checkpoint(Connection& connection) {
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection.raw(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, &moved);
  return code == SQLITE_OK ? moved : 0;
}

Checkpointer::Checkpointer(Connection connection, Connection syncs)
    : connection_(std::move(connection)), syncs_(std::move(syncs)), thread_([this] { serve(); }) {
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

void Checkpointer::due(Then then) {
  {
    std::lock_guard lock(mutex_);
    due_ = true;
    then_ = then;
  }
  wake_.notify_one();
}

void Checkpointer::finish(Connection& connection) {
  std::lock_guard alone(running_);
  checkpoint(connection);
  moved_.store(0, std::memory_order_relaxed);
}

bool Checkpointer::empty(Connection& connection) {
  std::lock_guard alone(running_);
  sqlite3* const db = connection.raw();
  sqlite3_busy_timeout(db, 0);
  const int code = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_busy_timeout(db, Connection::kBusyTimeoutMs);
  moved_.store(0, std::memory_order_relaxed);
  return code == SQLITE_OK;
}

void Checkpointer::serve() {
  let_bus_errors_through();
  bool has_read = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || due_; });
    if (stopping_) return;
    due_ = false;
    const Then then = then_;
    lock.unlock();
    // A connection that has never read does not know that the file has a WAL, and its checkpoint would do nothing. If
    // the read fails, the next one may succeed.
    if (!has_read) has_read = connection_.query_integer("PRAGMA schema_version").has_value();
    if (has_read) run(then);
    lock.lock();
  }
}

void Checkpointer::run(Then then) {
  std::lock_guard alone(running_);
  const int moved = checkpoint(connection_);
  if (then == Then::sync && moved > 0) sync_database(syncs_);
  moved_.store(moved, std::memory_order_relaxed);
}

}  // namespace tenure::sqlite
