#include "log/memory/memory_log.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "base/assert.h"
#include "log/callback_thread.h"
#include "log/memory/store.h"

namespace tenure {
namespace memory {
namespace {

// The stores by name and pool. A store lives as long as a handle holds it, or until it is removed.
class Registry {
 public:
  static Registry& instance() {
    static Registry* const registry = new Registry;  // never destroyed, because handles may outlive static destructors
    return *registry;
  }

  Result<std::shared_ptr<Store>> find(std::string_view name, const LogOptions& options) {
    std::lock_guard lock(mutex_);
    std::erase_if(stores_, [](const auto& named) { return named.second.expired(); });
    std::weak_ptr<Store>& known = stores_[{std::string(name), options.pool, options.shard.index}];
    std::shared_ptr<Store> store = known.lock();
    if (store && !store->removed()) {
      if (options.shard.count != 0 && store->shards() != options.shard.count) {
        return fail(Errc::refused, "memory open", other_count(store->shards(), options.shard.count));
      }
      return store;
    }
    if (options.read_only) {
      return fail(Errc::refused, "memory open", "no log has this name, and a read-only opener does not create it");
    }
    if (!options.create) {
      return fail(Errc::no_such_pool, "memory open", std::string(name) + ": there is no pool '" + options.pool + "'");
    }
    store = std::make_shared<Store>(std::max(1U, options.shard.count));
    known = store;
    return store;
  }

 private:
  std::mutex mutex_;
  using Key = std::tuple<std::string, std::string, std::uint32_t>;  // name, pool, shard
  std::map<Key, std::weak_ptr<Store>> stores_;                      // guarded by mutex_
};

using Done = std::function<void(Status)>;

class MemorySnapshotWriter final : public SnapshotWriter {
 public:
  MemorySnapshotWriter(Cursor at, bool read_only, std::shared_ptr<Store> store,
                       std::shared_ptr<CallbackThread> callbacks)
      : read_only_(read_only), store_(std::move(store)), callbacks_(std::move(callbacks)) {
    snapshot_.cursor = at;
  }

  void add(Bytes chunk) override {
    oversized_ = oversized_ || chunk.size() > kEntryBytesMax;
    snapshot_.chunks.push_back(std::move(chunk));
  }

  void commit(Done done) override {
    if (callbacks_->closed()) return;
    callbacks_->post(Lane::data, [done = std::move(done), status = store()] { done(status); });
  }

 private:
  Status store() {
    if (read_only_) return fail(Errc::refused, "memory snapshot", "the log was opened read-only");
    if (oversized_) return fail(Errc::invalid, "memory snapshot", "a chunk is larger than the limit for an entry");
    return store_->store_snapshot(std::move(snapshot_));
  }

  const bool read_only_;
  const std::shared_ptr<Store> store_;
  const std::shared_ptr<CallbackThread> callbacks_;
  Snapshot snapshot_;
  bool oversized_ = false;
};

// An append takes effect within the call, so beats never wait behind data. Only its answer goes to the callback thread.
// read() and the callback thread use the pending read in turn, never at the same time. If the store was removed,
// load_snapshot() moves the handle to the store that has the name now.
class MemoryLog final : public Log, private Store::Waiter {
 public:
  MemoryLog(std::string name, LogOptions options, std::shared_ptr<Store> store)
      : name_(std::move(name)), options_(std::move(options)), store_(std::move(store)) {}
  ~MemoryLog() override { close(); }

  void append(Lane lane, Bytes data, AppendDone done) override {
    callbacks_->post(lane, [done = std::move(done), result = try_append(std::move(data))] { done(result); });
  }

  void read(Cursor after, ReadDone done) override {
    std::lock_guard lock(mutex_);
    if (callbacks_->closed()) return;
    ASSERT(!read_done_);
    read_after_ = after;
    read_done_ = std::move(done);
    entries_ready();
  }

  void find_end(EndDone done) override {
    callbacks_->post(Lane::data, [done = std::move(done), end = end()] { done(end); });
  }

  void load_snapshot(IfGone if_gone, LoadDone done) override {
    callbacks_->post(Lane::data, [this, if_gone, done = std::move(done)] { done(load_newest(if_gone)); });
  }

  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) override {
    std::lock_guard lock(mutex_);
    return std::make_unique<MemorySnapshotWriter>(at, options_.read_only, store_, callbacks_);
  }

  void trim(Position before, Done done) override {
    answer(std::move(done), [&](Store& store) { return store.trim(before); });
  }

  void remove(Done done) override {
    answer(std::move(done), [](Store& store) {
      store.remove();
      return Status();
    });
  }

  std::uint32_t shards() const override { return options_.shard.count; }

  void close() override {
    callbacks_->close();
    ReadDone unrun;  // destroyed without the lock
    std::lock_guard lock(mutex_);
    store_->forget(*this);
    unrun.swap(read_done_);
  }

 private:
  Result<Position> try_append(Bytes data) {
    if (options_.read_only) return fail(Errc::refused, "memory append", "the log was opened read-only");
    if (data.size() > kEntryBytesMax) return fail(Errc::invalid, "memory append", "the entry is larger than 8 MiB");
    if (callbacks_->closed()) return fail(Errc::closed, "memory append");
    if (callbacks_->crowded())
      return fail(Errc::unavailable, "memory append", "too many answers wait for their callbacks");
    std::lock_guard lock(mutex_);
    if (lost_) return lost();
    return store_->append(std::move(data));
  }

  template <class Act>
  void answer(Done done, Act act) {
    if (callbacks_->closed()) return;
    callbacks_->post(Lane::data, [done = std::move(done), status = try_act(act)] { done(status); });
  }

  template <class Act>
  Status try_act(Act& act) {
    if (options_.read_only) return fail(Errc::refused, "memory log", "the log was opened read-only");
    std::lock_guard lock(mutex_);
    if (lost_) return lost();
    return act(*store_);
  }

  Result<Position> end() {
    std::lock_guard lock(mutex_);
    if (lost_) return lost();
    return store_->end();
  }

  static Failure lost() {
    return fail(Errc::lost_history, "memory log", "history was lost, and this handle has not loaded a snapshot since");
  }

  Result<Snapshot> load_newest(IfGone if_gone) {
    std::lock_guard lock(mutex_);
    if (store_->removed()) {
      LogOptions wanted = options_;
      wanted.create = if_gone == IfGone::create;
      auto store = Registry::instance().find(name_, wanted);
      if (!store) return Failure(std::move(store.error()));
      store_ = std::move(*store);
    }
    Result<Snapshot> snapshot = store_->snapshot();
    if (snapshot) lost_ = false;
    return snapshot;
  }

  // Entries overtake waiting answers: through them a node sees its own beats.
  void entries_ready() override {
    callbacks_->post(Lane::beat, [this] { serve_read(); });
  }

  void serve_read() {
    ReadDone done;
    Result<std::vector<Entry>> run;
    {
      std::lock_guard lock(mutex_);
      run = store_->read(read_after_, *this);
      if (run && run->empty()) return;  // entries_ready will be called
      if (!run && run.error().code == Errc::lost_history) lost_ = true;
      done.swap(read_done_);
    }
    done(std::move(run));
  }

  const std::string name_;
  const LogOptions options_;
  const std::shared_ptr<CallbackThread> callbacks_ = std::make_shared<CallbackThread>();

  std::mutex mutex_;
  // All below is guarded by mutex_.
  std::shared_ptr<Store> store_;
  bool lost_ = false;  // a read failed with lost_history, and no snapshot was loaded since
  Cursor read_after_;
  ReadDone read_done_;  // set while a read is outstanding
};

}  // namespace
}  // namespace memory

Result<std::unique_ptr<Log>> open_memory_log(std::string_view name, const LogOptions& options) {
  if (name.empty()) return fail(Errc::invalid, "memory open", "the URL has no name; write memory:NAME");
  auto store = memory::Registry::instance().find(name, options);
  if (!store) return Failure(std::move(store.error()));
  LogOptions known = options;
  known.shard.count = (*store)->shards();
  return std::make_unique<memory::MemoryLog>(std::string(name), std::move(known), std::move(*store));
}

std::vector<Finding> inspect_memory_log() {
  return {{"durability", false, "memory: keeps nothing, and only one process sees it",
           "use another engine, except for tests"}};
}

}  // namespace tenure
