#include "orders/dead_letter_mover.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/entropy.h"

namespace tenure::orders {
namespace {

constexpr std::size_t kMovedAtOnce = 100;
constexpr std::chrono::milliseconds kLookEvery{1000};
constexpr std::chrono::seconds kStep{10};
constexpr std::chrono::seconds kPatience{30};

// The life of the resident: run_handler gives it a thread.
class Mover {
 public:
  Mover(Pool& pool, MoverParts parts) : pool_(pool), parts_(std::move(parts)) {}

  std::string run(Job& job) {
    const std::stop_token stop = job.stop_token();
    std::condition_variable_any woken;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const Status moved = move_all(stop);
      tell(moved);
      woken.wait_for(lock, stop, kLookEvery, [] { return false; });
    }
    return {};
  }

 private:
  // In the order of their ids, so that one that cannot be moved does not hide those behind it.
  Status move_all(const std::stop_token& stop) {
    std::uint64_t after_id = 0;
    std::optional<Error> first;
    while (!stop.stop_requested()) {
      const auto dead = pool_.dead_jobs(after_id, kMovedAtOnce, kStep);
      if (!dead) return Failure(dead.error());
      if (dead->empty()) break;
      for (const DeadJob& one : *dead) {
        after_id = one.id;
        if (one.kind != JobKind::task || one.type != parts_.order_type || stop.stop_requested()) continue;
        const Status moved = move(one);
        if (moved) continue;
        if (!first) first = moved.error();
        if (moved.error().code != Errc::invalid) return moved;  // the others would fare no better
      }
    }
    return first ? Failure(*first) : Status();
  }

  Status move(const DeadJob& dead) {
    if (!writer_) {
      auto opened = source::open_stream_writer(parts_.topic_url, true);
      if (!opened) return Failure(opened.error());
      writer_ = *std::move(opened);
    }
    source::Event event;
    event.key = dead.key;
    event.payload = dead.payload;
    event.headers = headers_of(dead, parts_.pool, BootClock().wall_ms());
    const auto added = writer_->add({event});
    if (!added) {
      // A topic that is gone is made again by opening it.
      if (added.error().code != Errc::unavailable) writer_.reset();
      return Failure(added.error());
    }
    const Result<Ticket> dropped = pool_.drop_dead(dead.id);
    if (!dropped) return Failure(dropped.error());
    const Status settled = dropped->wait_accepted(kStep);
    // Somebody retried or dropped it meanwhile.
    if (!settled && settled.error().code == Errc::no_such_key) return {};
    return settled;
  }

  // Each trouble once, and its end.
  void tell(const Status& moved) {
    const std::string trouble = moved ? "" : moved.error().message();
    if (trouble == trouble_) return;
    trouble_ = trouble;
    parts_.log(trouble.empty() ? "dead orders reach their topic again"
                               : "dead orders stay in the pool until they can be written: " + trouble);
  }

  Pool& pool_;
  const MoverParts parts_;
  std::unique_ptr<source::StreamWriter> writer_;
  std::string trouble_;
};

}  // namespace

std::vector<std::pair<Bytes, Bytes>> headers_of(const DeadJob& dead, std::string_view pool, std::int64_t now_ms) {
  return {
      {"tenure-order", dead.key},
      {"tenure-attempts", std::to_string(dead.attempts)},
      {"tenure-error", dead.error},
      {"tenure-dead-ms", std::to_string(now_ms - dead.age.count())},
      {"tenure-epoch", std::to_string(dead.epoch)},
      {"tenure-pool", Bytes(pool)},
  };
}

std::shared_ptr<Handler> dead_letter_mover(Pool& pool, MoverParts parts) {
  auto mover = std::make_shared<Mover>(pool, std::move(parts));
  return run_handler([mover](Job& job) { return mover->run(job); });
}

Status add_dead_letter_mover(Pool& pool, MoverParts parts) {
  WorkerOptions options;
  options.id = "dead-letters/" + to_hex(SystemEntropy().id());
  options.takes = {{JobKind::resident, kMoverType}};
  const Result<Worker> worker = pool.add_worker(dead_letter_mover(pool, std::move(parts)), options);
  if (!worker) return Failure(worker.error());
  const Result<Ticket> ticket = pool.dispatch(kMoverKey, "", {.type = kMoverType});
  if (!ticket) return Failure(ticket.error());
  const Status accepted = ticket->wait_accepted(kPatience);
  if (!accepted && accepted.error().code == Errc::key_exists) return {};
  return accepted;
}

}  // namespace tenure::orders
