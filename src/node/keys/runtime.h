#pragma once

// Turns the machine's decisions for this node's session into calls of the host, and the host's reports into records. It
// knows which tenures this node holds, and when the last of them has ended.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/loop.h"
#include "machine/machine.h"
#include "node/appender.h"
#include "node/keys/host.h"
#include "node/token.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

// Belongs to the node's loop, but reports may come from any thread. Reports that come while the loop is busy wait, and
// one turn of the loop takes them all.
class Runtime final : public HoldReports, public KeyEffects {
 public:
  // `stop_patience`: how long a job has to stop. `look_every`: how many tenures an entry may grant before the runtime
  // looks for reports.
  Runtime(Loop& loop, Host& host, Appender& appender, std::function<Nanos()> stop_patience, std::uint32_t look_every);
  ~Runtime() override;

  // Sets the session whose tenures to hold, and the end of its lease (nanoseconds since boot).
  void begin(std::uint64_t session, std::function<std::int64_t()> lease_until);
  // From now on nothing of the session is reported, and everything that still runs is ended. Calls `stopped` once
  // nothing runs.
  void fence(std::function<void()> stopped);
  bool fenced() const { return session_ == 0; }
  // Tenures that the host has not finished.
  std::size_t running() const;

  // The machine's decisions about this session's tenures.
  void granted(const At& at, const Grant& grant) override;
  void started(const At& /*at*/, const TenureRef& /*tenure*/) override {}  // the host has reported it
  void stop_asked(const At& at, const TenureRef& tenure, StopReason reason) override;
  void message(const At& at, const TenureRef& tenure, std::uint64_t number, BytesView text) override;
  void ended(const At& at, const TenureRef& tenure, TenureEnd why) override;

  // The node is closing: everything that has not ended by then is stopped.
  void stop_all(Instant deadline) {
    stop_all(deadline, [](const Hold&) { return true; });
  }
  // The same of those that `wanted` names.
  void stop_all(Instant deadline, const std::function<bool(const Hold&)>& wanted);
  void give_back_waiting(std::uint64_t session) { host_.give_back_waiting(session); }

  void started(const Hold& hold) override;
  void begun(const Hold& hold) override;
  void finished(const Hold& hold, Bytes result) override;
  void failed(const Hold& hold, Next next, Bytes error, Nanos delay) override;
  void released(const Hold& hold) override;
  void released(const Hold& hold, Bytes blob) override;
  void checkpoint(const Hold& hold, Bytes data) override;
  void handled(const Hold& hold, std::uint64_t message_number) override;
  void message_failed(const Hold& hold, std::uint64_t message_number, Bytes error) override;
  void together(const std::function<void()>& reports) override;

 private:
  struct Held {
    Bytes key;
    std::uint64_t session = 0;
    std::uint64_t ticket = 0;         // for records, if the dispatcher needs it in the log
    std::unique_ptr<Bytes> worker{};  // the same
    std::uint64_t last_message = 0;
    bool stopping = false;
    bool over = false;                 // the machine has ended the tenure; the host has not finished it
    bool concluded = false;            // the host has finished it; the machine does not know yet
    bool saving = false;               // a checkpoint is on its way to the log
    std::unique_ptr<Bytes> unsaved{};  // the newest checkpoint that came meanwhile, if any
  };

  struct Report {
    enum class Kind : std::uint8_t { started, finished, failed, released, checkpoint, handled, message_failed };

    Kind kind;
    std::uint64_t epoch;
    Bytes text{};  // the result, the error, the blob or the checkpoint
    bool has_blob = false;
    bool tentative = false;
    Next next = Next::retry;
    Nanos delay{};
    std::uint64_t message_number = 0;

    // The host has finished the tenure.
    bool last() const { return kind == Kind::finished || kind == Kind::failed || kind == Kind::released; }
  };

  void report(Report report);
  void call_loop(bool last);
  // The functions below run on the loop.
  void take_reports();
  void take(Report& report);
  void append(const Report& report, const Held& held);
  void save(std::uint64_t epoch, Held& held, Bytes checkpoint);
  void saved(std::uint64_t epoch);
  void append_started(const Report& report, const Held& held);
  void append_finished(const Report& report, const Held& held);
  void append_failed(const Report& report, const Held& held);
  void append_released(const Report& report, const Held& held);
  void check_stopped();
  void look_meanwhile();

  Loop& loop_;
  Host& host_;
  Appender& appender_;
  const std::function<Nanos()> stop_patience_;
  const std::uint32_t look_every_;
  std::uint64_t session_ = 0;
  std::function<std::int64_t()> lease_until_;
  IdMap<Held> holds_;  // by epoch; until both the host and the machine have finished with it
  std::function<void()> stopped_;
  std::uint32_t granted_since_look_ = 0;
  std::unique_ptr<v1::Record> record_;  // reused for each record, because most are of one kind
  std::vector<Report> taken_;           // empty between turns, with its capacity

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Report> reported_;
  bool turn_due_ = false;    // a turn of the loop will take them
  int gathering_ = 0;        // calls of together()
  bool end_of_job_ = false;  // one of the gathered reports ends a job

  Token token_;
};

}  // namespace tenure
