// The calls of the node, and the host's thread. The programs' side is in program_host_io.cc.

#include "exec/program_host.h"

#include <sys/epoll.h>

#include <algorithm>

#include "exec/host_tags.h"

namespace tenure::exec {

Result<std::unique_ptr<ProgramHost>> ProgramHost::create(guard::Guard& guard, ProgramOptions options) {
  if (options.command.empty()) return fail(Errc::invalid, "run programs", "no command was given");
  auto work = WorkFolder::create(options.work_parent);
  if (!work) return Failure(work.error());
  return std::unique_ptr<ProgramHost>(new ProgramHost(guard, std::move(options), std::move(*work)));
}

ProgramHost::ProgramHost(guard::Guard& guard, ProgramOptions options, WorkFolder work)
    : GuardedHost(guard, std::move(options)), work_(std::move(work)) {
  guard_.remove_at_end(work_.path());
  for (FolderLeftBehind& other : work_.take_left_behind())
    remover_.remove(std::move(other.path), std::move(other.lock));
  if (checkpoints_.descriptor() >= 0) poller_.watch(checkpoints_.descriptor(), kCheckpointTag, EPOLLIN);
  begin_serving("tenure-programs");
}

ProgramHost::~ProgramHost() { end_serving(); }

void ProgramHost::message(const Hold& hold, std::uint64_t number, BytesView text) {
  post([this, hold, number, text = Bytes(text)] {
    const auto found = numbers_.find(hold.epoch);
    if (found == numbers_.end()) return;
    Program& program = *programs_.at(found->second);
    program.notify(number, text);
    write_on(program);
  });
}

bool ProgramHost::stop_running(const Hold& hold, Instant deadline) {
  const auto number = numbers_.find(hold.epoch);
  if (number == numbers_.end()) return false;
  stop_program(*programs_.at(number->second), deadline);
  return true;
}

void ProgramHost::happened(std::uint64_t tag) {
  if (tag == kCheckpointTag) {
    for (const std::uint64_t number : checkpoints_.changed()) {
      if (const auto found = programs_.find(number); found != programs_.end()) take_checkpoint(*found->second);
    }
    return;
  }
  if (const auto found = programs_.find(program_of(tag)); found != programs_.end()) exchange(*found->second);
}

int ProgramHost::wait_ms() const {
  std::optional<Instant> first;
  for (const auto& [number, program] : programs_) {
    if (program->patience && (!first || *program->patience < *first)) first = program->patience;
  }
  if (!first) return -1;
  return static_cast<int>(std::max<std::int64_t>(to_ms(*first - BootClock().now()) + 1, 0));
}

void ProgramHost::end_programs() {
  for (const auto& [number, program] : programs_) guard_.end_program(number);
}

void ProgramHost::programs_gone() {
  while (!programs_.empty()) {
    Program& program = *programs_.begin()->second;
    take_checkpoint(program);
    conclude(program, {});
  }
}

}  // namespace tenure::exec
