#pragma once

// A ProgramHost with a real guard and real programs. The test replaces the node: it starts jobs, renews the lease, and
// receives the reports.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/program_host.h"
#include "exec/warm_host.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::exec {

class HostStage final : private HoldReports {
 public:
  static constexpr std::uint64_t kSession = 77;

  // What the host said of one tenure.
  struct Heard {
    bool started = false;
    std::string end;  // finished, failed or released
    Bytes text;       // the result, or the error
    HoldReports::Next next{};
    Nanos delay{};
    std::vector<Bytes> checkpoints;
    std::uint64_t handled = 0;
    std::vector<Bytes> log;
    int ends = 0;
  };

  explicit HostStage(std::vector<std::string> command, Protocol protocol = Protocol::plain,
                     ProgramOptions options = {});
  // A WarmHost with this many programs.
  static std::unique_ptr<HostStage> warm(std::vector<std::string> command, std::size_t programs,
                                         const guard::WearLimits& limits = {});
  // A shell script instead of a command.
  static std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

  std::uint64_t start(JobKind kind, Bytes payload = "", Bytes key = "key");
  std::uint64_t start(HeldJob job);
  void stop(std::uint64_t epoch, Nanos patience = std::chrono::seconds(10));
  void message(std::uint64_t epoch, std::uint64_t number, BytesView text) { host_->message(hold(epoch), number, text); }

  // Each waits; false, or an empty answer, after the deadline.
  bool wait(std::uint64_t epoch, const std::function<bool(const Heard&)>& reached);
  Heard end_of(std::uint64_t epoch);
  bool started(std::uint64_t epoch);
  // The rest of the first logged line that begins with `word` and a space.
  std::string logged(std::uint64_t epoch, const std::string& word);
  bool guard_was_lost();

  Host& host() { return *host_; }
  guard::Guard& guard() { return *guard_; }
  const std::string& folder() const { return folder_.path(); }
  // Entries left in the worker's folder.
  std::size_t folders() const;
  void renew(Nanos span) { host_->lease_until(kSession, BootClock().now() + span); }

 private:
  void started(const Hold& hold) override;
  void finished(const Hold& hold, Bytes result) override;
  void failed(const Hold& hold, Next next, Bytes error, Nanos delay) override;
  void released(const Hold& hold) override;
  void released(const Hold& hold, Bytes blob) override;
  void checkpoint(const Hold& hold, Bytes data) override;
  void handled(const Hold& hold, std::uint64_t message_number) override;
  void message_failed(const Hold& hold, std::uint64_t message_number, Bytes error) override;

  HostStage(std::vector<std::string> command, Protocol protocol, ProgramOptions options, std::size_t warm,
            const guard::WearLimits& limits);
  Hold hold(std::uint64_t epoch);
  void hear(const Hold& hold, const std::function<void(Heard&)>& how);

  conformance::TemporaryDirectory folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Heard> heard_;
  std::map<std::uint64_t, Bytes> keys_;
  bool guard_lost_ = false;
  std::uint64_t last_epoch_ = 100;
  std::unique_ptr<guard::Guard> guard_;
  std::unique_ptr<Host> host_;
};

}  // namespace tenure::exec
