#include "pool/client_core.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "pool/worker_rules.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

// A state that takes longer to load is large.
constexpr std::chrono::milliseconds kLoadPatience(50);

}  // namespace

ClientCore::ClientCore(Parts parts) : PoolCore(std::move(parts)) {
  sender_.set_way({
      .has_room = [this] { return !client_ || client_->has_room(); },
      .send = [this](SealedRequests& requests) -> Status {
        return client_ ? client_->send(requests) : fail(Errc::closed, "append", "the pool was closed");
      },
  });
  loop_.run([this] {
    client_ = std::make_unique<Client>(*log_, loop_, clock_, entropy_, events_);
    if (options_.node.sets_options) client_->set_options(options_.node.config);
  });
}

ClientCore::~ClientCore() {
  looker_.reset();
  stop([this] { client_.reset(); });
}

std::optional<std::uint64_t> ClientCore::answered() const {
  return client_ ? std::optional(client_->answered()) : std::nullopt;
}

void ClientCore::give_up_tickets(const Error& error) {
  if (client_) client_->give_up_tickets(error);
}

// A log handle allows one reader, which is the client. So reading the state needs another handle and a node.
Result<PoolCore*> ClientCore::looker() {
  std::lock_guard lock(looker_mutex_);
  if (over()) return fail(Errc::closed, "look", "the pool was closed");
  if (!looker_) {
    CoreOptions options = options_;
    options.client_only = false;
    Result<std::unique_ptr<PoolCore>> opened =
        open(std::move(options), nullptr, {.node = {&looker_events_}, .pool = listeners_.pool});
    if (!opened) return Failure(opened.error());
    looker_ = *std::move(opened);
  }
  return looker_.get();
}

Status ClientCore::by_looker(const std::function<Status(PoolCore&)>& what) {
  const Result<PoolCore*> inner = looker();
  return inner ? what(**inner) : Status(Failure(inner.error()));
}

void ClientCore::looker_is_ready() {
  hear([this] { looker_ready_ = true; });
}

Status ClientCore::add_worker(NodeWorker worker, Deadline /*deadline*/) {
  if (Status sound = check_worker(worker); !sound) return sound;
  return fail(Errc::refused, "add worker", "the pool was opened as client-only");
}

Status ClientCore::no_such_worker(const std::string& id, const char* operation) const {
  if (const std::optional<Error> why = failure()) return ended_because(*why, operation);
  return fail(Errc::invalid, operation, "no worker '" + id + "' here");
}

Status ClientCore::remove_worker(const std::string& id, Deadline /*deadline*/) {
  return no_such_worker(id, "remove worker");
}

Status ClientCore::serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove,
                         Deadline /*deadline*/) {
  if (Status sound = check_served(add, remove); !sound) return sound;
  return no_such_worker(worker, "serve");
}

Status ClientCore::drain(const std::string& worker, bool until_empty, Deadline deadline) {
  if (Status sound = check_drained(worker); !sound) return sound;
  return by_looker([&](PoolCore& core) { return core.drain(worker, until_empty, deadline); });
}

Status ClientCore::look(const std::function<void(const Machine&)>& what, Deadline deadline) {
  return by_looker([&](PoolCore& core) { return core.look(what, deadline); });
}

Result<v1::Told> ClientCore::inquire(const v1::Ask& ask, Deadline deadline) {
  if (ask.has_remembered()) return told_by_members_alone(ask, deadline);
  const Result<PoolCore*> inner = looker();
  if (!inner) return Failure(inner.error());
  if (std::optional<v1::Told> told = told_by_a_member(ask, deadline)) return *std::move(told);
  return (*inner)->inquire(ask, deadline);
}

// The state does not say what members remember.
Result<v1::Told> ClientCore::told_by_members_alone(const v1::Ask& ask, Deadline deadline) {
  const auto told = std::make_shared<std::optional<v1::Told>>();  // guarded by mutex_
  std::uint64_t question = 0;
  loop_.run([&] {
    if (!client_) return;
    question = client_->inquire(ask, [this, told](v1::Told answer) { hear([&] { *told = std::move(answer); }); });
  });
  wait(deadline, [&] { return *told || failure_; });
  loop_.run([&] {
    if (client_) client_->forget(question);
  });
  std::lock_guard lock(mutex_);
  if (*told) return std::move(**told);
  if (failure_) return Failure(*failure_);
  return fail(Errc::timed_out, "ask members", "no member has answered");
}

// Nothing if the looker has the state, or no member answers.
std::optional<v1::Told> ClientCore::told_by_a_member(const v1::Ask& ask, Deadline deadline) {
  if (wait(std::min(deadline, after(kLoadPatience)), [this] { return looker_ready_; })) return {};
  const auto told = std::make_shared<std::optional<v1::Told>>();  // guarded by mutex_
  std::uint64_t question = 0;
  loop_.run([&] {
    if (!client_) return;
    question = client_->inquire(ask, [this, told](v1::Told answer) { hear([&] { *told = std::move(answer); }); });
  });
  wait(deadline, [&] { return *told || looker_ready_ || failure_; });
  loop_.run([&] {
    if (client_) client_->forget(question);
  });
  std::lock_guard lock(mutex_);
  return std::move(*told);
}

Status ClientCore::close(Deadline deadline) {
  if (over()) return {};
  wait_answered(deadline);
  loop_.run([this] { end({Errc::closed, "wait", "the pool was closed"}); });
  return {};
}

Status ClientCore::expect_end() {
  if (over()) return {};
  return by_looker([](PoolCore& core) { return core.expect_end(); });
}

Status ClientCore::shut_down(Deadline deadline) {
  if (const std::optional<Error> why = failure()) return shut_down_after(*why);
  if (Status ended = by_looker([&](PoolCore& core) { return core.shut_down(deadline); }); !ended) return ended;
  loop_.run([this] { end({Errc::shutting_down, "wait", "the pool was shut down"}); });
  return {};
}

HoldReports& ClientCore::reports() {
  ASSERT(false);  // a client has no host
}

}  // namespace tenure
