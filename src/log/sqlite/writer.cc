#include "log/sqlite/writer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/prompt_thread.h"

namespace tenure::sqlite {
namespace {

// A transaction ends at the first of these limits, so that a beat behind it waits for some milliseconds at most. The
// first entry is always taken, however large.
constexpr std::size_t kBatchEntriesMax = 4096;
constexpr std::size_t kBatchBytesMax = 4U << 20;

// Do not delay a commit that takes less than this.
constexpr Nanos kGatherWorth = std::chrono::microseconds(100);

// No writes for this long is a quiet moment.
constexpr Nanos kQuietAfter = std::chrono::milliseconds(200);

Status outcome(const Result<bool>& finished) {
  if (finished) return {};
  return Failure(finished.error());
}

}  // namespace

Writer::Writer(Connection connection, EntryWriter entries, Connection checkpoints, Connection syncs, WakeFile& wake,
               RecentCommits& recent, Prove prove)
    : path_(connection.path()),
      prove_(std::move(prove)),
      wake_(wake),
      recent_(recent),
      turn_(wake),
      connection_(std::move(connection)),
      entries_(std::move(entries)),
      wal_(connection_, std::move(checkpoints), std::move(syncs)) {
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "tenure-writer");
}

Writer::~Writer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  turn_.interrupt();
  thread_.join();
}

void Writer::require(Sync sync) {
  Sync wanted = sync_wanted_.load();
  while (wanted < sync && !sync_wanted_.compare_exchange_weak(wanted, sync)) {
  }
}

void Writer::append(Lane lane, Bytes data, Log::AppendDone done, Callbacks callbacks) {
  std::unique_lock lock(mutex_);
  Queue& queue = lanes_[static_cast<std::size_t>(lane)];
  if (queue.bytes + data.size() <= kLaneBytesMax && queue.appends.size() < kLaneEntriesMax) {
    queue.bytes += data.size();
    queue.appends.push_back({std::move(data), std::move(done), std::move(callbacks)});
    const bool wanted = lane == Lane::beat || waiting() >= wake_at_;
    lock.unlock();
    if (wanted) work_.notify_one();
    return;
  }
  lock.unlock();
  callbacks->post(lane, [done = std::move(done)] {
    done(fail(Errc::unavailable, "sqlite append", "too many appends of this process wait for the disk"));
  });
}

void Writer::run(std::unique_ptr<Chore> chore, ChoreDone done, Callbacks callbacks) {
  {
    std::lock_guard lock(mutex_);
    errands_.push_back({std::move(chore), std::move(done), std::move(callbacks)});
  }
  work_.notify_one();
}

void Writer::forget(const CallbackThread& callbacks) { (void)take_all_of(callbacks); }

void Writer::leave(const CallbackThread& callbacks) {
  Belongings all = take_all_of(callbacks);
  const Error lost{Errc::lost_history, "sqlite log", path_ + ": the file was removed or replaced"};
  const Error unknown{Errc::unknown, "sqlite log", path_ + ": the file was removed or replaced meanwhile"};
  const auto answer = [](auto& item, const Error& error) {
    if (!item.done) return;
    item.callbacks->post(Lane::data, [done = std::move(item.done), error] { done(Failure(error)); });
  };
  for (Append& append : all.in_transaction) answer(append, unknown);
  for (Append& append : all.waiting) answer(append, lost);
  for (Errand& errand : all.errands) answer(errand, &errand == all.errands.data() && all.first_begun ? unknown : lost);
}

// The caller destroys or answers them outside the lock, because a callback may own anything.
Writer::Belongings Writer::take_all_of(const CallbackThread& callbacks) {
  Belongings all;
  std::lock_guard lock(mutex_);
  const auto of_handle = [&](const auto& item) { return item.callbacks.get() == &callbacks; };
  for (Queue& queue : lanes_) {
    for (Append& append : queue.appends) {
      if (!of_handle(append)) continue;
      queue.bytes -= append.data.size();
      all.waiting.push_back(std::exchange(append, {}));
    }
    queue.appends.erase_if([](const Append& append) { return append.callbacks == nullptr; });
  }
  for (Append& append : batch_) {
    if (!of_handle(append)) continue;
    all.in_transaction.push_back({{}, std::exchange(append.done, nullptr), std::exchange(append.callbacks, nullptr)});
  }
  for (Errand& errand : errands_) {
    if (!of_handle(errand)) continue;
    all.first_begun = all.first_begun || &errand == &errands_.front();
    // The thread may be working on the chore. It stays, and is dropped when its turn comes.
    all.errands.push_back({nullptr, std::exchange(errand.done, nullptr), std::exchange(errand.callbacks, nullptr)});
  }
  return all;
}

void Writer::serve() {
  run_promptly();
  let_bus_errors_through();
  for (;;) {
    bool quiet = false;
    {
      std::unique_lock lock(mutex_);
      wake_at_ = 1;
      quiet = !wait_for_work(lock);
      if (!quiet) gather(lock);
      wake_at_ = SIZE_MAX;
      if (stopping_) return;
    }
    // Takes the turn first, then the batch: appends that arrive while others write join the same commit.
    if (const Status turn = turn_.acquire(); !turn) {
      fail_waiting(turn.error());
      continue;
    }
    quiet ? use_quiet_turn() : take_turn();
  }
}

// Returns false if there is no work, and the moment is good for maintenance.
bool Writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto due = [this] { return stopping_ || !idle(); };
  if (wal_.wants_quiet()) return work_.wait_for(lock, kQuietAfter, due);
  work_.wait(lock, due);
  return true;
}

void Writer::use_quiet_turn() {
  wal_.empty(prepare_transaction().has_value());
  turn_.release();
}

bool Writer::idle() const { return waiting() == 0 && errands_.empty(); }

std::size_t Writer::waiting() const { return lanes_[0].appends.size() + lanes_[1].appends.size(); }

// Appenders that were answered by one commit tend to come back together. Without waiting, the first would get a commit
// for itself, and the others would wait for it and then for their own: twice the syncs for the same work. So the writer
// waits for as many appends as the last commit had, while they keep coming, and for at most half the time of that
// commit. A single appender is never delayed, nor is a beat.
void Writer::gather(std::unique_lock<std::mutex>& lock) {
  if (last_batch_ < 2 || last_commit_ < kGatherWorth) return;
  const auto enough = [this] {
    return stopping_ || !lanes_[static_cast<std::size_t>(Lane::beat)].appends.empty() || !errands_.empty() ||
           waiting() >= last_batch_;
  };
  constexpr int kSteps = 8;
  wake_at_ = last_batch_;
  std::size_t seen = 0;
  for (int step = 0; step < kSteps && waiting() > seen; ++step) {
    seen = waiting();
    if (work_.wait_for(lock, last_commit_ / (2 * kSteps), enough)) return;
  }
}

void Writer::take_turn() {
  take_batch();
  const Result<Position> first = write_batch();
  const Result<bool> finished = step_chore();
  wal_.keep(sync_set_ != Sync::off);
  turn_.release();
  answer_batch(first);
  answer_chore(finished);
}

void Writer::fail_waiting(const Error& error) {
  std::array<Queue, 2> lanes;
  std::deque<Errand> errands;
  {
    std::lock_guard lock(mutex_);
    lanes.swap(lanes_);
    errands.swap(errands_);
  }
  for (const Lane lane : {Lane::beat, Lane::data}) {
    for (Append& append : lanes[static_cast<std::size_t>(lane)].appends) {
      append.callbacks->post(lane, [done = std::move(append.done), error] { done(Failure(error)); });
    }
  }
  for (Errand& errand : errands) {
    if (!errand.callbacks) continue;
    errand.callbacks->post(Lane::data, [done = std::move(errand.done), error] { done(Failure(error)); });
  }
}

void Writer::take_batch() {
  std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const Lane lane : {Lane::beat, Lane::data}) {
    Queue& queue = lanes_[static_cast<std::size_t>(lane)];
    while (!queue.appends.empty() && batch_.size() < kBatchEntriesMax) {
      const std::size_t size = queue.appends.front().data.size();
      if (!batch_.empty() && bytes + size > kBatchBytesMax) break;
      bytes += size;
      queue.bytes -= size;
      batch_.push_back(queue.appends.take_front());
    }
    if (lane == Lane::beat) batch_beats_ = batch_.size();
  }
}

// Returns the position of the batch's first entry. The others follow without gaps.
Result<Position> Writer::write_batch() {
  if (batch_.empty()) return 0;
  if (const Status ready = prepare_transaction(); !ready) return Failure(ready.error());
  Position first = 0;
  Instant commit_began;
  const Status written = transact(connection_, [&]() -> Status {
    if (Status started = entries_.start(); !started) return started;
    if (entries_.others_wrote()) recent_.clear();
    for (const Append& append : batch_) {
      const Result<Position> position = entries_.append(append.data);
      if (!position) return Failure(position.error());
      if (first == 0) first = *position;
    }
    if (Status finished = entries_.finish(); !finished) return finished;
    commit_began = BootClock().now();
    return {};
  });
  if (!written) {
    recent_.clear();
    return Failure(written.error());
  }
  last_commit_ = BootClock().now() - commit_began;
  last_batch_ = batch_.size();
  keep_batch(first);
  wake_.announce();
  return first;
}

// Keeps the data for the readers of this process before they are woken. Nothing else needs it any more.
void Writer::keep_batch(Position first) {
  std::vector<Bytes> entries;
  entries.reserve(batch_.size());
  for (Append& append : batch_) entries.push_back(std::move(append.data));
  recent_.put(first, entries_.time_ms(), std::move(entries), wake_.commits() + 1);
}

void Writer::answer_batch(const Result<Position>& first) {
  if (batch_.empty()) return;
  {
    std::lock_guard lock(mutex_);
    const auto answer = [&](Lane lane, std::size_t begin, std::size_t end) {
      first ? post_answers(lane, begin, end, *first) : post_error(lane, begin, end, first.error());
    };
    answer(Lane::beat, 0, batch_beats_);
    answer(Lane::data, batch_beats_, batch_.size());
    batch_.swap(spent_);
  }
  spent_.clear();  // the data is freed outside the lock
}

// Each run of appends of one handle is answered in one call.
void Writer::post_answers(Lane lane, std::size_t begin, std::size_t end, Position first) {
  CallbackThread* receiver = nullptr;
  for (std::size_t i = begin; i < end; ++i) {
    Append& append = batch_[i];
    if (!append.callbacks) continue;
    if (receiver != nullptr && receiver != append.callbacks.get()) receiver->post(lane, answers_);
    receiver = append.callbacks.get();
    answers_.push_back({std::move(append.done), first + i});
  }
  if (receiver != nullptr) receiver->post(lane, answers_);
}

void Writer::post_error(Lane lane, std::size_t begin, std::size_t end, const Error& error) {
  for (std::size_t i = begin; i < end; ++i) {
    Append& append = batch_[i];
    if (!append.callbacks) continue;
    append.callbacks->post(lane, [done = std::move(append.done), error] { done(Failure(error)); });
  }
}

// Returns true when the first chore is finished; false if there is none.
Result<bool> Writer::step_chore() {
  Chore* chore = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (errands_.empty()) return false;
    if (!errands_.front().callbacks) return true;  // its handle is gone
    chore = errands_.front().chore.get();
  }
  if (const Status ready = prepare_transaction(); !ready) return Failure(ready.error());
  const Result<bool> finished = chore->step(connection_);
  // A failed step may come after steps that removed entries.
  if (chore->drops_entries()) recent_.clear();
  // Readers that wait must learn that the log was removed or trimmed.
  if (finished && *finished) wake_.announce();
  return finished;
}

void Writer::answer_chore(const Result<bool>& finished) {
  if (finished && !*finished) return;
  Errand spent;  // a snapshot may be large: it is freed outside the lock
  std::lock_guard lock(mutex_);
  spent = std::move(errands_.front());
  errands_.pop_front();
  if (!spent.callbacks) return;
  spent.callbacks->post(Lane::data, [done = std::move(spent.done), status = outcome(finished)] { done(status); });
}

Status Writer::prepare_transaction() {
  if (Status there = prove_(connection_, batch_beats_ != 0); !there) return there;
  const Sync wanted = sync_wanted_.load();
  if (wanted == sync_set_) return {};
  if (Status set = connection_.set_synchronous(static_cast<int>(wanted)); !set) return set;
  sync_set_ = wanted;
  return {};
}

}  // namespace tenure::sqlite
