#pragma once

// A file in which a worker says how it is, for probes such as those of Kubernetes (`tenure probe`). It is one line:
//
//     STATE WRITTEN_MS LEASE_UNTIL_MS      joining 81723500 0
//
// Times are milliseconds of CLOCK_BOOTTIME. The file is written every second, so an old one shows that the process does
// not run. A probe reads nothing but the file: an engine that is away must not make anybody restart healthy workers.
// The file is replaced by renaming and removed when the worker has left.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "node/node_events.h"

namespace tenure::cli {

enum class Health : std::uint8_t {
  joining,     // not in the pool yet
  ready,       // in the pool, under a lease that it renews
  lease_lost,  // in the pool, but it could not renew its lease, so it holds nothing
  unfit,       // the pool gives it no keys, since its starts fail
  leaving,     // it hands its keys over
};
std::string_view to_string(Health health);

struct HealthReport {
  Health health = Health::joining;
  Nanos written{};      // since boot
  Nanos lease_until{};  // the earliest of all shards; zero if there is none
};

constexpr Nanos kHealthEvery = std::chrono::seconds(1);
// A report that is older was written by a process that is stuck.
constexpr Nanos kHealthOldest = std::chrono::seconds(10);

Result<HealthReport> read_health(const std::string& path);

// Thread-safe.
class HealthFile {
 public:
  static Result<std::unique_ptr<HealthFile>> create(const std::string& path);
  ~HealthFile();
  HealthFile(const HealthFile&) = delete;
  HealthFile& operator=(const HealthFile&) = delete;

  // For the node of this shard. Lives as long as this object.
  NodeEvents& of(std::uint32_t shard);
  void joined() { enter(Health::ready); }
  void leaving() { enter(Health::leaving); }

 private:
  // What a node says of its lease, and of its workers.
  class Listener final : public NodeEvents {
   public:
    explicit Listener(HealthFile& file) : file_(file) {}
    void lease_until(std::uint64_t session, Instant until) override;
    void fenced(std::uint64_t session, FenceReason reason) override;
    void worker_unfit(BytesView worker, BytesView error) override;
    void worker_fit(BytesView worker) override;

    // Guarded by the file's mutex.
    Nanos until{};
    std::uint64_t ended = 0;  // the last session that was fenced

   private:
    HealthFile& file_;
  };

  explicit HealthFile(std::string path) : path_(std::move(path)) {}
  void enter(Health phase);
  HealthReport report();
  Status write(const HealthReport& report);
  void run();

  const std::string path_;
  const BootClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  Health phase_ = Health::joining;  // joining, ready or leaving
  std::map<std::uint32_t, std::unique_ptr<Listener>> shards_;
  std::set<Bytes> unfit_;
  bool due_ = false;
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace tenure::cli
