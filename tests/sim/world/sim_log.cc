#include "sim/world/sim_log.h"

#include <optional>
#include <utility>

#include "base/assert.h"

namespace tenure::sim {

// What an answer brings, kept until it is delivered.
template <class T>
class AnsweredCall : public Call {
 public:
  explicit AnsweredCall(std::function<void(Result<T>)> done) : done_(std::move(done)) {}

  void fail(Error error) override { answer_ = Failure(std::move(error)); }
  void deliver() override {
    if (done_) done_(std::move(*answer_));
  }

 protected:
  std::optional<Result<T>> answer_;

 private:
  std::function<void(Result<T>)> done_;
};

namespace {}  // namespace

// A beat gets only into the log that newcomers would get; other entries also into a ghost.
class AppendCall final : public AnsweredCall<Position> {
 public:
  AppendCall(Wires& wires, std::shared_ptr<SimLog::State> state, Bytes data, Log::AppendDone done)
      : AnsweredCall(std::move(done)),
        wires_(wires),
        state_(std::move(state)),
        log_(state_->log),
        data_(std::move(data)) {}

  void serve(LogServer& server) override {
    if (data_.size() > kEntryBytesMax) return fail({Errc::invalid, "sim append", "too large"});
    if (server.is_gone(log_)) return fail({Errc::lost_history, "sim append", {}});
    if (server.is_ghost(log_) && lane == Lane::beat && wires_.options().beats_prove) {
      return fail({Errc::lost_history, "sim append", {}});
    }
    answer_ = server.append(data_, log_);
  }
  void deliver() override {
    if (!*answer_ && answer_->error().code == Errc::lost_history && state_->log == log_) {
      state_->lost = true;
      wires_.poke();  // the waiting read gets an answer, too
    }
    AnsweredCall::deliver();
  }
  std::unique_ptr<Call> duplicate() const override {
    auto copy = std::make_unique<AppendCall>(wires_, state_, data_, nullptr);
    copy->log_ = log_;
    return copy;
  }

 private:
  Wires& wires_;
  std::shared_ptr<SimLog::State> state_;
  LogServer::LogNumber log_;
  Bytes data_;
};

class LoadCall final : public AnsweredCall<Snapshot> {
 public:
  LoadCall(Wires& wires, std::shared_ptr<SimLog::State> state, IfGone if_gone, Log::LoadDone done)
      : AnsweredCall(std::move(done)), wires_(wires), state_(std::move(state)), if_gone_(if_gone) {}

  void serve(LogServer& server) override {
    if (wires_.snapshot_fails(true)) return fail({Errc::unavailable, "sim load snapshot", {}});
    if (if_gone_ == IfGone::report && server.empty()) return fail({Errc::no_such_pool, "sim load snapshot", {}});
    answer_ = *server.snapshot();
    (*answer_)->removed_ms = server.removed_ms();
    log_ = server.current();
  }
  void deliver() override {
    if (*answer_) {
      state_->log = log_;
      state_->lost = false;
    }
    AnsweredCall::deliver();
  }

 private:
  Wires& wires_;
  std::shared_ptr<SimLog::State> state_;
  const IfGone if_gone_;
  LogServer::LogNumber log_ = 0;
};

class CommitCall final : public AnsweredCall<void> {
 public:
  CommitCall(Wires& wires, LogServer::LogNumber log, std::shared_ptr<const Snapshot> snapshot,
             std::function<void(Status)> done)
      : AnsweredCall(std::move(done)), wires_(wires), log_(log), snapshot_(std::move(snapshot)) {}

  void serve(LogServer& server) override {
    if (wires_.snapshot_fails(false)) return fail({Errc::unavailable, "sim commit snapshot", {}});
    if (server.is_ghost(log_)) return fail({Errc::lost_history, "sim commit snapshot", {}});
    answer_ = server.commit(snapshot_);
  }

 private:
  Wires& wires_;
  LogServer::LogNumber log_;
  std::shared_ptr<const Snapshot> snapshot_;
};

// A trim, or the removal: only of the log that newcomers get.
class ServerCall final : public AnsweredCall<void> {
 public:
  ServerCall(LogServer::LogNumber log, std::function<void(LogServer&)> act, std::function<void(Status)> done)
      : AnsweredCall(std::move(done)), log_(log), act_(std::move(act)) {}

  void serve(LogServer& server) override {
    if (!server.is_ghost(log_)) act_(server);
    answer_ = Status();
  }

 private:
  LogServer::LogNumber log_;
  std::function<void(LogServer&)> act_;
};

class ReadCall final : public AnsweredCall<std::vector<Entry>> {
 public:
  ReadCall(Wires& wires, Cursor after, std::shared_ptr<SimLog::State> state, Log::ReadDone done)
      : AnsweredCall(std::move(done)), wires_(wires), after_(after), state_(std::move(state)) {}

  void serve(LogServer& server) override {
    if (state_->lost || noticed(server)) return fail({Errc::lost_history, "sim read", {}});
    answer_ = server.read(after_, wires_.entries_per_read(), state_->log);
  }
  bool waits() const override { return answer_ && answer_->has_value() && (*answer_)->empty(); }
  void deliver() override {
    state_->reading = false;
    if (!*answer_ && answer_->error().code == Errc::lost_history) state_->lost = true;
    AnsweredCall::deliver();
  }

 private:
  // A reader of a ghost notices after a while. With the bug, a log that returns entries counts as the right one.
  bool noticed(const LogServer& server) {
    if (server.is_gone(state_->log)) return true;
    if (!server.is_ghost(state_->log)) return false;
    if (state_->doubts == 0) state_->doubts = wires_.doubt();
    const auto next = server.read(after_, 1, state_->log);
    if (!wires_.options().beats_prove && next && !next->empty()) return false;
    return wires_.now() >= server.replaced_at(state_->log) + state_->doubts;
  }

  Wires& wires_;
  Cursor after_;
  std::shared_ptr<SimLog::State> state_;
};

// The writer may outlive its log; what it commits then goes nowhere.
class SimSnapshotWriter final : public SnapshotWriter {
 public:
  SimSnapshotWriter(SimLog& log, Cursor at)
      : wires_(log.wires_),
        process_(log.process_),
        link_(log.link_),
        engine_(log.engine_),
        connection_(log.connection_),
        log_(log.state_->log),
        snapshot_(std::make_shared<Snapshot>()) {
    snapshot_->cursor = at;
  }

  void add(Bytes chunk) override { snapshot_->chunks.push_back(std::move(chunk)); }
  void commit(std::function<void(Status)> done) override {
    if (*connection_ == 0) return;
    auto call = std::make_unique<CommitCall>(wires_, log_, std::move(snapshot_), std::move(done));
    call->kind = Call::Kind::commit;
    call->connection = *connection_;
    call->process = &process_;
    call->link = &link_;
    call->engine = &engine_;
    wires_.send(std::move(call));
  }

 private:
  Wires& wires_;
  Process& process_;
  Link& link_;
  SimLoop& engine_;
  std::shared_ptr<std::uint64_t> connection_;
  LogServer::LogNumber log_;
  std::shared_ptr<Snapshot> snapshot_;
};

std::unique_ptr<Log> Wires::connect(Process& process, Link& link) {
  return std::make_unique<SimLog>(*this, process, link);
}

SimLog::SimLog(Wires& wires, Process& process, Link& link)
    : wires_(wires),
      process_(process),
      link_(link),
      engine_(process.add_loop("engine")),
      connection_(std::make_shared<std::uint64_t>(wires.open())) {
  state_->log = wires.server().current();
}

void SimLog::send(std::unique_ptr<Call> call, Call::Kind kind, Lane lane) {
  if (*connection_ == 0) return;
  call->kind = kind;
  call->lane = lane;
  call->connection = *connection_;
  call->process = &process_;
  call->link = &link_;
  call->engine = &engine_;
  wires_.send(std::move(call));
}

void SimLog::append(Lane lane, Bytes data, AppendDone done) {
  if (state_->lost) {
    engine_.post([connection = connection_, done = std::move(done)] {
      if (*connection != 0) done(fail(Errc::lost_history, "sim append"));
    });
    return;
  }
  send(std::make_unique<AppendCall>(wires_, state_, std::move(data), std::move(done)), Call::Kind::append, lane);
}

void SimLog::read(Cursor after, ReadDone done) {
  ASSERT(!state_->reading);
  state_->reading = true;
  wires_.answer_meanwhile(*connection_);
  send(std::make_unique<ReadCall>(wires_, after, state_, std::move(done)), Call::Kind::read);
}

void SimLog::load_snapshot(IfGone if_gone, LoadDone done) {
  send(std::make_unique<LoadCall>(wires_, state_, if_gone, std::move(done)), Call::Kind::load);
}

std::unique_ptr<SnapshotWriter> SimLog::begin_snapshot(Cursor at) {
  return std::make_unique<SimSnapshotWriter>(*this, at);
}

void SimLog::trim(Position before, std::function<void(Status)> done) {
  send(std::make_unique<ServerCall>(
           state_->log, [before](LogServer& server) { server.trim(before); }, std::move(done)),
       Call::Kind::other);
}

void SimLog::remove(std::function<void(Status)> done) {
  send(std::make_unique<ServerCall>(
           state_->log, [](LogServer& server) { server.remove(); }, std::move(done)),
       Call::Kind::other);
}

void SimLog::close() {
  if (*connection_ == 0) return;
  wires_.forget(std::exchange(*connection_, 0));
}

}  // namespace tenure::sim
