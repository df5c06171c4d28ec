#include "pool/emitters.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/shard.h"
#include "pool/shards.h"

namespace tenure {
namespace {

constexpr Nanos kLookEvery = std::chrono::milliseconds(500);
// A source that rests for so long tells the shards that do not know it how far it is.
constexpr Nanos kRest = std::chrono::seconds(1);

// So that nothing is sent for answers that nobody waits for.
constexpr std::uint64_t kNobody = 0;

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Failure emit_failed(Errc code, std::string why) { return fail(code, "emit", std::move(why)); }

}  // namespace

void TenureEmitter::ask(Bytes source, SourceReport report, Nanos timeout, Done done) {
  source = name_of(source);
  Due due;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lines_.find(source);
    if (source.size() > kSourceBytesMax) {
      due = {.done = std::move(done), .result = emit_failed(Errc::invalid, "the source's name is too long")};
    } else if (found == lines_.end() && lines_.size() >= kSourcesPerTenureMax) {
      due = {.done = std::move(done), .result = emit_failed(Errc::invalid, "the job emits too many sources")};
    } else {
      Line& line = found != lines_.end() ? found->second : lines_.try_emplace(source, shards_).first->second;
      line.book.doubt();
      due = begin(line, {.done = std::move(done),
                         .deadline = BootClock().now() + timeout,
                         .emission = nullptr,
                         .report = std::move(report)});
    }
  }
  carry_out(source, std::move(due));
}

// Its source needs no line: nothing is known of it, and nothing waits for it.
void TenureEmitter::tell(Bytes source, SourceReport report) {
  send(name_of(source), {.shard = home_}, std::move(report), kNobody);
}

void TenureEmitter::emit(std::shared_ptr<const Emission> emission, Nanos timeout, Done done) {
  const Bytes source = name_of(emission->source);
  if (Status sound = emission->check(); !sound) return done(Failure(sound.error()));
  Due due;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lines_.find(source);
    if (found == lines_.end() || !found->second.asked) {
      due = {.done = std::move(done),
             .result = emit_failed(Errc::invalid, "ask emitted() first: the source may be further, or not so far")};
    } else {
      due = begin(found->second,
                  {.done = std::move(done), .deadline = BootClock().now() + timeout, .emission = std::move(emission)});
    }
  }
  carry_out(source, std::move(due));
}

// With the lock held, like all functions that take a line.
TenureEmitter::Due TenureEmitter::begin(Line& line, Work work) {
  if (line.work) {
    return {.done = std::move(work.done),
            .result = emit_failed(Errc::busy, "the last emit of the source is under way")};
  }
  work.number = ++works_;
  line.work = std::move(work);
  line.rests_since.reset();
  if (line.book.known()) return send_tasks(line);
  Due due{.report = std::exchange(line.work->report, {}), .number = line.work->number};
  for (std::uint32_t shard = 0; shard < shards_; ++shard) due.parts.push_back({.shard = shard});
  line.work->open = due.parts.size();
  return due;
}

TenureEmitter::Due TenureEmitter::send_tasks(Line& line) {
  Work& work = *line.work;
  work.asking = false;
  if (!work.emission) {
    line.asked = true;
    return finish(line, line.book.position());
  }
  if (work.emission->position <= line.book.position()) return finish(line, line.book.position());
  Due due{.report = work.emission->report, .number = work.number};
  due.parts = line.book.plan(
      *work.emission, [this](BytesView key) { return shard_of(key, shards_); },
      work.emission->report.awaited() ? home_ : SourceBook::kNoShard);
  work.open = static_cast<std::size_t>(
      std::count_if(due.parts.begin(), due.parts.end(), [](const auto& part) { return part.awaited; }));
  if (work.open != 0) return due;
  line.book.emitted(work.emission->position);
  Due end = finish(line, line.book.position());
  end.parts = std::move(due.parts);
  end.report = std::move(due.report);
  return end;
}

TenureEmitter::Due TenureEmitter::finish(Line& line, Result<std::uint64_t> result) {
  Work work = std::move(*line.work);
  line.work.reset();
  line.rests_since = BootClock().now();
  return {.done = std::move(work.done), .result = std::move(result)};
}

void TenureEmitter::carry_out(const Bytes& source, Due due) {
  for (SourceBook::Part& part : due.parts) {
    const bool awaited = part.awaited || part.position == 0;
    if (!awaited) {
      const std::lock_guard lock(mutex_);
      ++lines_.at(source).tellings;
    }
    const bool home = part.shard == home_;
    send(source, std::move(part), home ? std::exchange(due.report, {}) : SourceReport(),
         awaited ? due.number : kNobody);
  }
  if (due.done) due.done(std::move(due.result));
}

void TenureEmitter::send(const Bytes& source, SourceBook::Part part, SourceReport report, std::uint64_t number) {
  auto emission = std::make_shared<ShardEmission>();
  emission->source = source;
  emission->key = hold_.key;
  emission->epoch = hold_.epoch;
  emission->after = part.after;
  emission->position = part.position;
  emission->tasks = std::move(part.tasks);
  emission->report = std::move(report);
  Request request;
  request.kind = Request::Kind::emit;
  request.emission = std::move(emission);
  part.tasks.clear();
  const Result<TicketPtr> ticket = submit(part.shard, request);
  if (!ticket) return answered(source, part, number, Failure(ticket.error()));
  PendingTicket::when(*ticket, TicketCallback::on_done([self = shared_from_this(), source, part,
                                                        number](const Result<std::string>& answer) {
    self->answered(source, part, number, answer);
  }));
}

Result<TicketPtr> TenureEmitter::submit(std::uint32_t shard, const Request& request) {
  Emitters* pool = nullptr;
  {
    const std::lock_guard lock(door_->mutex);
    pool = door_->pool;
    if (pool == nullptr) return emit_failed(Errc::closed, "the pool was closed");
    ++door_->inside;
  }
  Result<TicketPtr> ticket = pool->shards().submit_to(shard, request);
  pool->look_soon();
  const std::lock_guard lock(door_->mutex);
  if (--door_->inside == 0) door_->left.notify_all();
  return ticket;
}

void TenureEmitter::answered(const Bytes& source, const SourceBook::Part& part, std::uint64_t number,
                             const Result<std::string>& answer) {
  Due due;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lines_.find(source);
    if (found == lines_.end() || (number == kNobody && part.position == 0)) return;  // of tell()
    Line& line = found->second;
    if (number == kNobody) --line.tellings;
    if (line.work && line.work->number == number) {
      due = note_answer(line, part, answer);
    } else if (part.position != 0) {
      // Of a telling, or of a call that was given up.
      answer ? line.book.taken(part.shard, number_in(*answer)) : line.book.doubt();
    }
  }
  carry_out(source, std::move(due));
}

TenureEmitter::Due TenureEmitter::note_answer(Line& line, const SourceBook::Part& part,
                                              const Result<std::string>& answer) {
  Work& work = *line.work;
  if (!answer) {
    // That the queue is full says most: the same emit will do later. Anything else says that the source is in doubt.
    const Errc code = answer.error().code;
    const bool again = code == Errc::pool_full || code == Errc::busy;
    if (!again) line.book.doubt();
    if (!work.failed || !again) work.failed = answer.error();
  } else if (work.asking) {
    line.book.heard(part.shard, number_in(*answer));
  } else {
    line.book.taken(part.shard, number_in(*answer));
  }
  if (--work.open != 0) return {};
  if (work.failed) {
    const Error why = *work.failed;
    if (why.code == Errc::lost_history) line.asked = false;
    return finish(line, emit_failed(why.code, why.context));
  }
  if (!work.asking) {
    line.book.emitted(work.emission->position);
    return finish(line, line.book.position());
  }
  const bool whole = line.book.all_heard();
  if (!whole && work.emission) {
    line.asked = false;
    return finish(line,
                  emit_failed(Errc::lost_history, "a log has lost what it had taken in, and has the source up to " +
                                                      std::to_string(line.book.position()) +
                                                      ": ask emitted(), and go on from there"));
  }
  return send_tasks(line);
}

bool TenureEmitter::look(Instant now) {
  bool goes_on = false;
  std::vector<std::pair<Bytes, Due>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, line] : lines_) {
      goes_on = goes_on || line.work.has_value();
      if (line.work && line.work->deadline < now) {
        line.book.doubt();
        all.emplace_back(source, finish(line, emit_failed(Errc::timed_out, "no answer in time")));
      }
      if (line.work || !line.rests_since || !line.book.known()) continue;
      std::vector<SourceBook::Part> untold = line.book.untold();
      goes_on = goes_on || !untold.empty();
      if (untold.empty() || line.tellings != 0 || now - *line.rests_since < kRest) continue;
      all.emplace_back(source, Due{.parts = std::move(untold)});
    }
  }
  for (auto& [source, due] : all) carry_out(source, std::move(due));
  return goes_on;
}

Emitters::Emitters(Shards& shards, ThreadLoop& loop) : shards_(shards), loop_(loop) { door_->pool = this; }

Emitters::~Emitters() { close(); }

void Emitters::close() {
  {
    std::unique_lock lock(door_->mutex);
    door_->pool = nullptr;
    door_->left.wait(lock, [this] { return door_->inside == 0; });
  }
  loop_.run([this] { timer_.reset(); });
}

std::shared_ptr<Emitter> Emitters::open(const Hold& hold) {
  auto emitter = std::make_shared<TenureEmitter>(door_, hold, shards_.count());
  const std::lock_guard lock(mutex_);
  if (all_.size() > 2 * swept_ + 16) {
    std::erase_if(all_, [](const auto& one) { return one.expired(); });
    swept_ = all_.size();
  }
  all_.push_back(emitter);
  return emitter;
}

// Every emit calls it, and it usually finds that a look is due already.
void Emitters::look_soon() {
  if (looks_.exchange(true)) return;
  loop_.post([this, door = door_] {
    {
      const std::lock_guard lock(door->mutex);
      if (door->pool == nullptr) return;
    }
    if (!timer_) timer_.emplace(loop_);
    timer_->arm(loop_.now() + kLookEvery, [this] { look(); });
  });
}

void Emitters::look() {
  looks_ = false;
  std::vector<std::shared_ptr<TenureEmitter>> emitters;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : all_) {
      if (auto emitter = one.lock()) emitters.push_back(std::move(emitter));
    }
  }
  bool goes_on = false;
  for (const auto& emitter : emitters) goes_on = emitter->look(loop_.now()) || goes_on;
  if (goes_on) look_soon();
}

}  // namespace tenure
