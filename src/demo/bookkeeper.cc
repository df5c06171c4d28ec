#include "demo/bookkeeper.h"

#include <utility>

namespace tenure::demo {
namespace {

constexpr Nanos kEvery = std::chrono::milliseconds(100);
// The journal keeps a few seconds, so that a demo can run for long.
constexpr std::int64_t kJournalLinesMax = 4096;

}  // namespace

Bookkeeper::Bookkeeper(std::unique_ptr<Ledger> ledger, Picture& picture)
    : picture_(picture), ledger_(std::move(ledger)), thread_([this] { run(); }) {}

Bookkeeper::~Bookkeeper() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Bookkeeper::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    read();
    picture_.settle();
    stop_.wait_for(lock, kEvery, [this] { return stopping_; });
  }
}

void Bookkeeper::read() {
  const Result<std::vector<JournalLine>> lines = ledger_->journal_after(read_up_to_);
  if (!lines) {
    failure_ = lines.error();
    return;
  }
  for (const JournalLine& line : *lines) {
    audit_.take(line);
    if (line.what == JournalLine::What::tick) books_.ticks_of[line.key] = line.value;
    if (line.what == JournalLine::What::refused) books_.last_refused = line;
    read_up_to_ = line.id;
  }
  books_.ticks = audit_.ticks();
  books_.double_holders = audit_.double_holders();
  books_.lost = audit_.lost();
  books_.refused = audit_.refused();
  if (read_up_to_ - dropped_up_to_ < kJournalLinesMax) return;
  if (Status dropped = ledger_->drop_journal_up_to(read_up_to_); dropped) dropped_up_to_ = read_up_to_;
}

Books Bookkeeper::books() const {
  std::lock_guard lock(mutex_);
  return books_;
}

Books Bookkeeper::close_books() {
  std::lock_guard lock(mutex_);
  read();
  const Result<std::vector<TenantRow>> rows = ledger_->tenants();
  if (!rows) failure_ = rows.error();
  if (rows) {
    for (const TenantRow& row : *rows) {
      // The ledger has a tick that nobody wrote, or lacks one that was written.
      const std::uint64_t written = audit_.last_tick(row.key);
      books_.lost += row.ticks > written ? row.ticks - written : written - row.ticks;
    }
  }
  return books_;
}

std::optional<Error> Bookkeeper::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace tenure::demo
