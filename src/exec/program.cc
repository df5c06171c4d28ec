#include "exec/program.h"

namespace tenure::exec {
namespace {

constexpr std::size_t kUnreadAnswersMax = 1024;

HeldJob without_bytes(const HeldJob& job) {
  return {job.hold, job.session, job.worker, job.kind, job.attempt, job.type, {}, {}};
}

}  // namespace

Program::Program(std::uint64_t own_number, const HeldJob& held, Protocol protocol, JobFolder own_folder, int own_slot)
    : number(own_number),
      job(without_bytes(held)),
      slot(own_slot),
      dialogue(protocol, held),
      folder(std::move(own_folder)) {
  pipes.send(dialogue.opening());
}

std::string Program::input_file() const { return dialogue.input_is_payload() ? folder.path() + "/payload" : ""; }

void Program::notify(std::uint64_t message, BytesView text) {
  pipes.send(dialogue.notify(text));
  pending_.push_back({pipes.sent(), message});
}

bool Program::tell_emitted(BytesView source, const Result<std::uint64_t>& outcome) {
  pipes.send(dialogue.emitted(source, outcome));
  answers_.push_back(pipes.sent());
  return answers_.size() <= kUnreadAnswersMax;
}

void Program::ask_stop(Nanos left) { pipes.send(dialogue.stop(left)); }

std::optional<std::uint64_t> Program::write() {
  pipes.write();
  std::optional<std::uint64_t> handled;
  while (!pending_.empty() && pending_.front().end <= pipes.gone()) {
    handled = pending_.front().message;
    pending_.pop_front();
  }
  while (!answers_.empty() && answers_.front() <= pipes.gone()) answers_.pop_front();
  return handled;
}

bool Program::read(Pipes::Stream stream, std::deque<Said>& said) {
  return pipes.read(stream, [&](BytesView bytes) {
    for (Said& one : stream == Pipes::output ? dialogue.output(bytes) : dialogue.error_output(bytes)) {
      said.push_back(std::move(one));
    }
  });
}

}  // namespace tenure::exec
