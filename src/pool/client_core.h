#pragma once

// A core without a state. It dispatches, and follows the log only as far as its tickets need. When a caller reads the
// state, it loads the state in a separate core.

#include "node/client/client.h"
#include "pool/member_core.h"

namespace tenure {

// Thread-safe, like every PoolCore.
class ClientCore final : public PoolCore {
 public:
  explicit ClientCore(Parts parts);
  ~ClientCore() override;

  Status add_worker(NodeWorker worker, Deadline deadline) override;
  bool has_worker(const std::string& /*id*/) const override { return false; }
  Status remove_worker(const std::string& id, Deadline deadline) override;
  Status serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove,
               Deadline deadline) override;
  Status drain(const std::string& worker, bool until_empty, Deadline deadline) override;
  std::vector<std::string> workers() const override { return {}; }
  Status look(const std::function<void(const Machine&)>& what, Deadline deadline) override;
  Result<v1::Told> inquire(const v1::Ask& ask, Deadline deadline) override;
  Status close(Deadline deadline) override;
  Status shut_down(Deadline deadline) override;
  Status expect_end() override;
  HoldReports& reports() override;

 private:
  // On the loop of the looker: it has loaded the state, or never will.
  class LookerEvents final : public NodeEvents {
   public:
    explicit LookerEvents(ClientCore& core) : core_(core) {}
    void caught_up() override { core_.looker_is_ready(); }
    void closed() override { core_.looker_is_ready(); }
    void broken(const Error& /*error*/) override { core_.looker_is_ready(); }
    void pool_gone() override { core_.looker_is_ready(); }

   private:
    ClientCore& core_;
  };

  Result<PoolCore*> looker();
  Status by_looker(const std::function<Status(PoolCore&)>& what);
  void looker_is_ready();
  Result<v1::Told> told_by_members_alone(const v1::Ask& ask, Deadline deadline);
  std::optional<v1::Told> told_by_a_member(const v1::Ask& ask, Deadline deadline);
  Status no_such_worker(const std::string& id, const char* operation) const;

  std::optional<std::uint64_t> answered() const override;
  void give_up_tickets(const Error& error) override;

  bool looker_ready_ = false;  // guarded by mutex_
  LookerEvents looker_events_{*this};
  std::mutex looker_mutex_;
  std::unique_ptr<PoolCore> looker_;  // guarded by looker_mutex_; null until the state was needed
  std::unique_ptr<Client> client_;    // owned by the loop
};

}  // namespace tenure
