#include "log/redis/tail.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "log/redis/command.h"
#include "log/redis/entry_id.h"
#include "log/redis/scripts.h"

namespace tenure::redis {
namespace {

// How long the server holds a read without entries. Then the proof is repeated, so a reader that only waits notices a
// removed pool after this time.
constexpr Nanos kBlock = std::chrono::seconds(1);
constexpr Nanos kIdentityEvery = std::chrono::milliseconds(100);

// The target size of a run. Redis counts entries, so their number follows the sizes seen. It starts small and grows
// slowly, so that a run of large entries after small ones stays bounded.
constexpr std::size_t kRunBytes = 1U << 20;
constexpr std::size_t kCountFirst = 16;
constexpr std::size_t kCountMax = 1024;
constexpr std::size_t kGrowth = 4;

}  // namespace

Tail::Tail(const World& world, const RedisSettings& settings, const Keys& keys, Connection& connection,
           History& history, std::uint32_t wait_replicas, OnLost on_lost)
    : loop_(world.loop),
      settings_(settings),
      keys_(keys),
      connection_(connection),
      history_(history),
      wait_replicas_(wait_replicas),
      on_lost_(std::move(on_lost)),
      count_(kCountFirst) {}

void Tail::read(Cursor after, Log::ReadDone done) {
  ASSERT(!done_);
  done_ = std::move(done);
  if (history_.lost) {
    return finish(
        fail(Errc::lost_history, "redis read", "history was lost, and this handle has not loaded a snapshot since"));
  }
  const bool known = after == after_ && log_ == history_.id && link_known_ != 0;
  after_ = after;
  log_ = history_.id;
  if (!known) {
    link_known_ = 0;
    anchor_ = {after.position, 0};
  }
  ask(anchor_.link != 0 ? Proof::by_link : Proof::by_script);
}

void Tail::lose(const Error& error) {
  if (!done_) return;
  Error said = error;
  if (said.code == Errc::unknown) said.code = Errc::unavailable;  // a read has no effect that could be in doubt
  finish(Failure(std::move(said)));
  connection_.drop(error);
}

// Sends the proof and the read together.
void Tail::ask(Proof proof) {
  ++question_;
  check_identity();
  proof == Proof::by_link ? check() : send_probe();
  send_read();
}

// While meta is missing no newcomer has another log, and a member is about to restore it.
void Tail::check_identity() {
  if (loop_.now() - identity_asked_ < kIdentityEvery) return;
  identity_asked_ = loop_.now();
  connection_.send("read", command({"HGET", keys_.meta, "id"}), [this, log = log_](const Result<Reply>& reply) {
    if (!reply || reply->value().is_nil() || log != history_.id || history_.lost) return;
    if (parse_word(reply->value().text()) == log) return;
    on_lost_({Errc::lost_history, "redis read", settings_.shown + ": the log was replaced by another one"});
  });
}

void Tail::check() {
  const std::string id = id_of(anchor_.position);
  connection_.send("read", command({"XRANGE", history_.stream, id, id}),
                   [this, question = question_](const Result<Reply>& reply) {
                     if (question != question_ || !done_) return;
                     if (!reply) return lose(reply.error());
                     take_check(reply->value());
                   });
}

// An entry that is missing may have been trimmed. The script tells, on a connection that the read does not block.
void Tail::take_check(Value found) {
  if (found.size() == 0) {
    ++question_;
    connection_.drop({Errc::unavailable, "redis read", settings_.shown + ": an entry is not in its place"});
    return ask(Proof::by_script);
  }
  if (link_of(found[0]) != anchor_.link) {
    on_lost_({Errc::lost_history, "redis read", settings_.shown + ": the entries before the last ones changed"});
  }
}

void Tail::send_probe() {
  const std::string id = to_hex(log_);
  const std::string entry = id_of(anchor_.position);
  const std::string link = anchor_.link == 0 ? "" : link_bytes(anchor_.link);
  const std::array<std::string_view, 3> keys = {history_.stream, keys_.meta, keys_.head};
  const std::array<std::string_view, 3> arguments = {id, entry, link};
  connection_.send("read", call(Scripts::get().probe, keys, arguments),
                   [this, question = question_](const Result<Reply>& reply) {
                     if (question != question_ || !done_) return;
                     if (!reply) return lose(reply.error());
                     take_probe(reply->value());
                   });
}

void Tail::take_probe(Value reply) {
  if (reply[0].text() == "trimmed") {
    return lose({Errc::trimmed, "redis read", settings_.shown + ": trimmed up to " + std::string(reply[1].text())});
  }
  if (reply[0].text() != "entry") return;
  const Result<StreamEntry> found = parse_entry(reply[1], settings_.shown);
  if (!found) return lose(found.error());
  if (!after_.matches(found->entry.data, found->entry.time_ms)) {
    return on_lost_({Errc::lost_history, "redis read", settings_.shown + ": the entry at the cursor is another one"});
  }
  link_known_ = found->link;
  history_.see(found->entry.position, found->link);
}

void Tail::send_read() {
  const std::string count = std::to_string(count_);
  const std::string block = std::to_string(to_ms(kBlock));
  const std::string from = id_of(after_.position);
  connection_.send(
      "read", command({"XREAD", "COUNT", count, "BLOCK", block, "STREAMS", history_.stream, from}),
      [this, question = question_](Result<Reply> reply) {
        if (question != question_ || !done_) return;
        if (!reply) return lose(reply.error());
        if (reply->value().is_nil()) {
          anchor_ = {after_.position, link_known_};
          return ask(Proof::by_script);
        }
        take_entries(reply->value()[0][1]);
      },
      kBlock);
}

// Entries before a damaged one are valid, and are delivered first.
void Tail::take_entries(Value entries) {
  std::vector<Entry> run;
  std::uint64_t link = link_known_;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Result<StreamEntry> next = parse_entry(entries[i], settings_.shown);
    if (!next) {
      if (!run.empty()) break;
      return finish(Failure(next.error()));
    }
    link = next->link;
    run.push_back(std::move(next->entry));
  }
  if (run.empty())
    return finish(fail(Errc::unavailable, "redis read", settings_.shown + ": the answer has no entries"));
  if (wait_replicas_ == 0) return hand_over(std::move(run), link);
  wait_for_replicas(std::make_shared<std::vector<Entry>>(std::move(run)), link);
}

// WAIT covers only the writes of its own connection. A write after the read entries covers them, too.
void Tail::wait_for_replicas(const std::shared_ptr<std::vector<Entry>>& run, std::uint64_t link) {
  ++question_;
  const std::string id = to_hex(log_);
  const std::string count = std::to_string(wait_replicas_);
  const std::string patience_ms = std::to_string(to_ms(settings_.timeout));
  const std::array<std::string_view, 2> keys = {history_.stream, keys_.meta};
  const std::array<std::string_view, 1> arguments = {id};
  connection_.send("read", call(Scripts::get().mark, keys, arguments),
                   [this, question = question_](Result<Reply> reply) {
                     if (question == question_ && done_ && !reply) lose(reply.error());
                   });
  connection_.send(
      "read", command({"WAIT", count, patience_ms}),
      [this, run, link, question = question_](Result<Reply> reply) {
        if (question != question_ || !done_) return;
        if (!reply) return lose(reply.error());
        if (reply->value().integer() < std::int64_t{wait_replicas_}) return wait_for_replicas(run, link);
        hand_over(std::move(*run), link);
      },
      settings_.timeout);
}

void Tail::hand_over(std::vector<Entry> run, std::uint64_t link) {
  anchor_ = {after_.position, link_known_};
  after_ = Cursor::at(run.back());
  link_known_ = link;
  if (anchor_.link == 0) anchor_ = {after_.position, link};  // nothing came before the first
  history_.see(after_.position, link);
  adapt(run);
  finish(std::move(run));
}

void Tail::adapt(const std::vector<Entry>& run) {
  std::size_t largest = 256;
  for (const Entry& entry : run) largest = std::max(largest, entry.data.size());
  count_ = std::clamp<std::size_t>(std::min(kRunBytes / largest, count_ * kGrowth), 1, kCountMax);
}

void Tail::finish(Result<std::vector<Entry>> result) {
  ++question_;
  if (!result) {
    after_ = {};
    link_known_ = 0;
    anchor_ = {};
  }
  Log::ReadDone done;
  done.swap(done_);
  done(std::move(result));
}

}  // namespace tenure::redis
