#pragma once

// A core with a node: it follows the log, and may have workers.

#include <map>

#include "node/node.h"
#include "pool/pool_core.h"

namespace tenure {

// Thread-safe, like every PoolCore.
class MemberCore final : public PoolCore {
 public:
  // From the parts that open() has made. `deaths` is null if it was passed in, or if deaths cannot be detected.
  // `known_death` may be null; if it is not `own_deaths`, it must outlive the core.
  MemberCore(Parts parts, std::unique_ptr<KnownDeath> own_deaths, KnownDeath* known_death, Host* host);
  ~MemberCore() override;

  Status add_worker(NodeWorker worker, Deadline deadline) override;
  bool has_worker(const std::string& id) const override;
  Status remove_worker(const std::string& id, Deadline deadline) override;
  Status serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove,
               Deadline deadline) override;
  Status drain(const std::string& worker, bool until_empty, Deadline deadline) override;
  std::vector<std::string> workers() const override;
  Status look(const std::function<void(const Machine&)>& what, Deadline deadline) override;
  Result<v1::Told> inquire(const v1::Ask& ask, Deadline deadline) override;
  Status close(Deadline deadline) override;
  Status shut_down(Deadline deadline) override;
  Status expect_end() override;
  void order_shutdown() override;
  void leave_at_shutdown() override;
  void host_lost() override;
  HoldReports& reports() override;

 private:
  struct HeardWorker {
    bool added = false;
    std::optional<Errc> refused;  // why, the last time
  };
  // A caller of look() that waits until the state has reached the log's end.
  struct EndSought {
    enum class Answer : std::uint8_t { none, reached, ask_again };
    Position end = 0;              // owned by the loop
    Answer answer = Answer::none;  // guarded by mutex
  };
  using EndSoughtPtr = std::shared_ptr<EndSought>;

  Status still_running(const char* operation) const;
  Status check_own(const std::string& worker, const char* operation) const;
  void on_loop(std::function<void(Node&)> what);
  Status catch_up(Deadline deadline);
  void end_found(const EndSoughtPtr& sought, const Result<Position>& end);
  void tell_ends(Position reached);
  void answer_end(const EndSoughtPtr& sought, EndSought::Answer answer);
  // Waits until the state is as wanted, as of the last entry or a later one.
  Status wait_for_state(const char* operation, std::function<bool(const Machine&)> wanted, Deadline deadline);
  Deadline patience_with_stops(Deadline deadline);
  std::string held_keys(const std::string* worker);
  RequestSender::Way way_to_node();

  std::optional<std::uint64_t> answered() const override;
  void give_up_tickets(const Error& error) override;

  // NodeEvents.
  void caught_up() override;
  void worker_added(BytesView worker) override;
  void worker_refused(BytesView worker, Errc why) override;
  void worker_removed(BytesView worker) override;
  void applied(const Machine& machine) override;
  void closed() override;
  void pool_gone() override;

  const std::function<void()> shutdown_seen_;  // may be null
  const std::unique_ptr<KnownDeath> own_deaths_;

  // Guarded by mutex_: the state as reported by the node.
  bool caught_up_ = false;
  std::map<std::string, HeardWorker> workers_;

  // Owned by the loop.
  struct Awaited {
    std::function<bool(const Machine&)> wanted;
    bool reached = false;  // guarded by mutex_
  };
  std::vector<std::shared_ptr<Awaited>> awaited_;
  bool shutting_down_ = false;             // this process asked for it
  bool has_members_ = false;               // as of the last entry
  std::vector<EndSoughtPtr> ends_sought_;  // further than the last entry
  bool saw_shutdown_ = false;              // the pool was ending as of the last entry, or has ended since

  ThreadLoop heart_loop_;
  std::unique_ptr<Node> node_;  // owned by the loop
};

}  // namespace tenure
