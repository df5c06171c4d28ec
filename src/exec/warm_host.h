#pragma once

// Runs tasks through warm programs, instead of starting a program for each (`tenure work --warm N`). A task is a line
// of the json protocol to a free program, and a line back; docs/handlers.md describes the lines.
//
// Programs belong to the session under which they were started, and get tasks of that session only. So the guard's
// promise is the same as for programs that run once: if the session's lease is not renewed, the guard ends them in
// time, whatever happened to this process. To stop a task, its program is stopped; the next task gets another.
//
// Threads as in GuardedHost.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "exec/guarded_host.h"
#include "exec/warm_ends.h"
#include "exec/warm_program.h"
#include "guard/wear.h"

namespace tenure::exec {

class WarmHost final : public GuardedHost {
 public:
  // The options `protocol`, `work_parent` and `tasks_max` have no effect: programs get no folder, and there are up to
  // `programs` of them, each with one task at a time.
  static Result<std::unique_ptr<WarmHost>> create(guard::Guard& guard, ProgramOptions options, std::size_t programs,
                                                  const guard::WearLimits& limits = {});
  ~WarmHost() override;

  // Messages are for residents, and this host has none.
  void message(const Hold& /*hold*/, std::uint64_t /*number*/, BytesView /*text*/) override {}

 private:
  using Programs = std::map<std::uint64_t, std::unique_ptr<WarmProgram>>;

  WarmHost(guard::Guard& guard, ProgramOptions options, std::size_t programs, const guard::WearLimits& limits);

  // On the host's thread. warm_host.cc:
  bool stop_running(const Hold& hold, Instant deadline) override;
  void session_fenced(std::uint64_t session) override;
  void session_over(std::uint64_t session) override;
  void obey(const guard::Message& message) override;
  void happened(std::uint64_t tag) override;
  int wait_ms() const override;
  void turn_over() override;
  void end_programs() override;
  void programs_gone() override;
  void dismiss(std::uint64_t session);

  // warm_host_care.cc:
  void care(Instant now);
  bool stays(WarmProgram& program, Instant now);
  void retire(WarmProgram& program);
  void kill_one(WarmProgram& program, const std::string& why);

  // warm_host_tasks.cc:
  void begin(HeldJob job) override;
  bool place(const HeldJob& job);  // false: it has to wait
  void make_room(std::uint64_t session);
  bool may_place(const std::set<std::uint64_t>& stuck) const;
  void launch(const HeldJob& job);
  void serve_waiting();
  void exchange(WarmProgram& program, std::uint64_t tag);
  void write_on(WarmProgram& program);
  void tell(WarmProgram& program);
  void tell_started();
  void stop_one(WarmProgram& program, Instant deadline);
  void ended(WarmProgram& program, int status, bool guard_killed);
  void refused(WarmProgram& program, int error_number, guard::StartStep step);
  void forget(WarmProgram& program);
  void conclude(WarmProgram& program, Verdict verdict);
  void tell_ends();

  const std::size_t programs_max_;
  const guard::WearLimits limits_;
  // Owned by the host's thread.
  Programs programs_;                               // by number; each counts as live, like a task
  std::vector<WarmProgram*> free_;                  // the last to come is the first to go: it is the warmest
  std::map<std::uint64_t, std::uint64_t> numbers_;  // epoch -> number of the program that runs it
  WarmEnds ends_;
  Instant next_look_{};
  Instant next_care_{};
  Instant next_weighing_{};
  SystemEntropy entropy_;
};

}  // namespace tenure::exec
