#pragma once

// A node on real loops and a real engine, with a host that does everything at once, for tests that need the production
// threads instead of the simulator.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/thread_loop.h"
#include "log/open.h"
#include "node/node.h"

namespace tenure {

// Everything that several nodes of a test saw, waited for by condition and never by sleeping.
class Journal {
 public:
  struct Ended {
    Bytes key;
    std::uint64_t epoch;
    std::string node;
  };

  void change(const std::function<void(Journal&)>& how) {
    std::lock_guard lock(mutex_);
    how(*this);
    changed_.notify_all();
  }
  // True once `reached` holds; false after the deadline.
  bool wait(const std::function<bool(const Journal&)>& reached, std::chrono::seconds limit = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return reached(*this); });
  }

  std::map<Bytes, std::string> holder;   // key -> node, while held
  std::map<Bytes, std::uint64_t> epoch;  // key -> the largest epoch it was started with
  std::map<Bytes, Bytes> checkpoint;     // key -> what the last holder was given
  std::map<std::uint64_t, std::vector<TicketState>> tickets;
  std::map<std::uint64_t, Bytes> texts;
  std::map<std::uint64_t, Errc> refusals;
  std::multimap<Bytes, Bytes> messages;
  std::set<std::string> members;
  std::set<std::string> closed;
  std::vector<std::string> problems;  // whatever must not happen
  int moves = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class LiveNode final : private Host, private NodeEvents {
 public:
  LiveNode(std::string name, const std::string& url, Journal& journal, NodeOptions options = {});
  ~LiveNode() override;

  // Runs on the node's loop and waits for it.
  void with(const std::function<void(Node&)>& what) {
    loop_.run([&] { what(*node_); });
  }
  std::uint64_t dispatch(Bytes key, JobKind kind, Bytes payload = "");
  // The process dies: nothing of the node runs any more, and nothing is reported.
  void crash();

 private:
  void start(HeldJob job) override;
  void stop(const Hold& hold, StopReason reason, Instant deadline) override;
  void message(const Hold& hold, std::uint64_t number, BytesView text) override;
  void fence(std::uint64_t session) override;
  void kill(std::uint64_t session) override;

  void joined(std::uint64_t session) override;
  void settled(const Settlement& settlement) override;
  void closed() override;
  void broken(const Error& error) override;

  void let_go(const Hold& hold);

  std::string name_;
  Journal& journal_;
  BootClock clock_;
  SystemEntropy entropy_;
  std::unique_ptr<Log> log_;
  ThreadLoop heart_loop_;
  ThreadLoop loop_;
  std::mutex mutex_;
  std::map<std::uint64_t, Bytes> held_;  // guarded by mutex_
  std::unique_ptr<Node> node_;
};

}  // namespace tenure
