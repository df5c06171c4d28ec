#pragma once

// Runs users' programs as handlers: one for each tenure of a resident job, and one for each attempt of a task
// (docs/handlers.md). The guard starts and ends the programs; this host communicates with them.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/checkpoint_watch.h"
#include "exec/folder_remover.h"
#include "exec/guarded_host.h"
#include "exec/job_folder.h"
#include "exec/program.h"

namespace tenure::exec {

class ProgramHost final : public GuardedHost {
 public:
  static Result<std::unique_ptr<ProgramHost>> create(guard::Guard& guard, ProgramOptions options);
  ~ProgramHost() override;

  void message(const Hold& hold, std::uint64_t number, BytesView text) override;

 private:
  using Programs = std::map<std::uint64_t, std::unique_ptr<Program>>;

  ProgramHost(guard::Guard& guard, ProgramOptions options, WorkFolder work);

  // On the host's thread:
  void begin(HeldJob job) override;
  bool stop_running(const Hold& hold, Instant deadline) override;
  void session_fenced(std::uint64_t session) override;
  void obey(const guard::Message& message) override;
  void happened(std::uint64_t tag) override;
  int wait_ms() const override;
  void turn_over() override;
  void end_programs() override;
  void programs_gone() override;

  bool may_launch(const HeldJob& job) const;
  void launch(const HeldJob& job);
  Result<std::unique_ptr<Program>> prepare(const HeldJob& job, int slot, std::vector<Descriptor>& theirs);
  std::vector<std::string> environment_of(const HeldJob& job, const std::string& folder) const;
  void launch_waiting();
  void start_settled(Program& program);
  void stop_program(Program& program, Instant deadline);

  void exchange(Program& program);  // reads and writes as much as possible, and reports to the node
  void tell(Program& program, std::deque<Said>& said);
  void take_emission(Program& program, Emission emission, bool asks);
  void tell_emitted(std::uint64_t number, const Bytes& source, const Result<std::uint64_t>& outcome);
  void take_checkpoint(Program& program);
  void write_on(Program& program);
  void ended(Program& program, int status, bool guard_killed);
  void refused(Program& program, int error_number, guard::StartStep step);
  void conclude(Program& program, const Verdict& verdict);

  WorkFolder work_;
  FolderRemover remover_;
  // Owned by the host's thread.
  CheckpointWatch checkpoints_;
  Programs programs_;                               // by number
  std::map<std::uint64_t, std::uint64_t> numbers_;  // epoch -> number
  std::size_t tasks_ = 0;
  std::size_t starting_ = 0;
};

}  // namespace tenure::exec
