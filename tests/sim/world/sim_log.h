#pragma once

// The log port of one simulated process: a connection to the simulated log over the wires. Callbacks run on a loop of
// the process, never inside the call, at most once, and not after close(). After a crash none runs. Callbacks of
// appends may also come during another call, as if on a thread of the engine.

#include <memory>

#include "log/log.h"
#include "sim/world/wires.h"

namespace tenure::sim {

class SimLog final : public Log {
 public:
  SimLog(Wires& wires, Process& process, Link& link);
  ~SimLog() override { close(); }

  void append(Lane lane, Bytes data, AppendDone done) override;
  void read(Cursor after, ReadDone done) override;
  using Log::load_snapshot;
  void load_snapshot(IfGone if_gone, LoadDone done) override;
  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) override;
  void trim(Position before, std::function<void(Status)> done) override;
  void remove(std::function<void(Status)> done) override;
  void close() override;

 private:
  friend class AppendCall;
  friend class LoadCall;
  friend class SimSnapshotWriter;
  friend class ReadCall;

  // What outlives calls that are under way.
  struct State {
    LogServer::LogNumber log = 0;  // the one that was opened, or loaded last
    bool reading = false;
    bool lost = false;  // something was answered with lost_history, and load_snapshot() has not been called since
    Time doubts = 0;    // how long after it was replaced a log is read on
  };

  void send(std::unique_ptr<Call> call, Call::Kind kind, Lane lane = Lane::data);

  Wires& wires_;
  Process& process_;
  Link& link_;
  SimLoop& engine_;
  std::shared_ptr<std::uint64_t> connection_;  // zero once closed; snapshot writers look at it too
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace tenure::sim
