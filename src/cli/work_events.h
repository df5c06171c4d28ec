#pragma once

// The event lines of `tenure work` about its workers and keys, for people or as JSON.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "node/keys/host.h"
#include "node/node.h"

namespace tenure::cli {

// Thread-safe.
class WorkEvents {
 public:
  explicit WorkEvents(bool json) : json_(json) {}
  virtual ~WorkEvents() = default;

  struct Event {
    std::string_view name;  // ready, granted, started, stopped, released, fenced, failed, unfit, fit, restored, left
    std::string_view key = {};
    std::uint64_t epoch = 0;
    std::string_view worker = {};
    std::string_view reason = {};
  };
  virtual void write(const Event& event);
  // Events that any thread writes during the call are printed together after it.
  void together(const std::function<void()>& what);

 protected:
  // Any line.
  void write_line(const Gathered& line);

  const bool json_;

 private:
  std::mutex mutex_;  // of the output
  // Guarded by mutex_.
  int gathering_ = 0;
  Gathered gathered_;
};

// Stands between a host and its node. Prints what the host reports, with the worker that it concerns.
class ToldReports final : public HoldReports {
 public:
  ToldReports(WorkEvents& events, HoldReports& node) : events_(events), node_(node) {}

  void granted(const HeldJob& job);

  void started(const Hold& hold) override;
  void begun(const Hold& hold) override;
  void finished(const Hold& hold, Bytes result) override;
  void failed(const Hold& hold, Next next, Bytes error, Nanos delay) override;
  void released(const Hold& hold) override;
  void released(const Hold& hold, Bytes blob) override;
  void checkpoint(const Hold& hold, Bytes data) override { node_.checkpoint(hold, std::move(data)); }
  void handled(const Hold& hold, std::uint64_t number) override { node_.handled(hold, number); }
  void message_failed(const Hold& hold, std::uint64_t number, Bytes error) override {
    node_.message_failed(hold, number, std::move(error));
  }
  void together(const std::function<void()>& reports) override {
    events_.together([&] { node_.together(reports); });
  }

 private:
  void write(std::string_view name, const Hold& hold, std::string_view reason, bool last);

  WorkEvents& events_;
  HoldReports& node_;
  std::mutex mutex_;
  std::map<std::uint64_t, Bytes> workers_;  // by epoch; guarded by mutex_
};

// Passes everything on to the host. Prints `granted` before it starts a job. With `jobs_max`, further jobs wait here
// until they have to be given back.
class ToldHost final : public Host {
 public:
  explicit ToldHost(Host& host, std::uint64_t jobs_max = 0) : host_(host), jobs_max_(jobs_max) {}
  void attach(ToldReports& reports) { reports_ = &reports; }

  void start(HeldJob job) override;
  void stop(const Hold& hold, StopReason reason, Instant deadline) override {
    if (!release_held([&](const HeldJob& job) { return job.hold.epoch == hold.epoch; })) {
      host_.stop(hold, reason, deadline);
    }
  }
  void message(const Hold& hold, std::uint64_t number, BytesView text) override { host_.message(hold, number, text); }
  void give_back_waiting(std::uint64_t session) override {
    release_of(session);
    host_.give_back_waiting(session);
  }
  void lease_until(std::uint64_t session, Instant until) override { host_.lease_until(session, until); }
  void lease_over(std::uint64_t session) override { host_.lease_over(session); }
  void fence(std::uint64_t session) override {
    release_of(session);
    host_.fence(session);
  }
  void kill(std::uint64_t session) override {
    release_of(session);
    host_.kill(session);
  }

 private:
  void release_of(std::uint64_t session) {
    release_held([&](const HeldJob& job) { return job.session == session; });
  }
  bool release_held(const std::function<bool(const HeldJob&)>& which);

  Host& host_;
  const std::uint64_t jobs_max_;
  ToldReports* reports_ = nullptr;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t begun_ = 0;
  std::vector<HeldJob> held_;
};

}  // namespace tenure::cli
