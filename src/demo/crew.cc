#include "demo/crew.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>

#include "demo/demo.h"
#include "demo/spawn.h"

namespace tenure::demo {
namespace {

std::string describe(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Crew::Crew(WorkerCommand common, std::string program, std::string folder)
    : common_(std::move(common)),
      program_(std::move(program)),
      folder_(std::move(folder)),
      generations_(kWorkersMax + 1) {}

Crew::~Crew() {
  for (const Member& member : members_) ::kill(member.process, SIGKILL);
  for (const Member& member : members_) {
    while (waitpid(member.process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

Result<Member> Crew::start(int slot, const std::string& replaced, Version version) {
  // A replacement takes the place of the slot's first worker, and so gets the same keys.
  const std::string first = "w" + std::to_string(slot);
  const int generation = ++generations_[static_cast<std::size_t>(slot)];
  WorkerCommand command = common_;
  command.id = generation == 1 ? first : first + "." + std::to_string(generation);
  command.bad = version == Version::bad;
  if (generation > 1) command.replaces = replaced.empty() ? first : replaced;
  std::vector<std::string> arguments = {program_, "demo-worker"};
  for (std::string& argument : to_arguments(command)) arguments.push_back(std::move(argument));
  const Result<pid_t> process =
      spawn(arguments, {-1, false, folder_ + "/" + command.id + ".log", to_environment(command)});
  if (!process) return Failure(process.error());
  Member member{slot, command.id, *process, Member::State::up};
  std::lock_guard lock(mutex_);
  const auto after = std::find_if(members_.begin(), members_.end(), [&](const Member& one) { return one.slot > slot; });
  members_.insert(after, member);
  return member;
}

Instant Crew::kill(const std::string& id) {
  const Instant at = clock_.now();
  signal(id, SIGKILL, Member::State::killed);
  return at;
}

Instant Crew::freeze(const std::string& id) {
  const Instant at = clock_.now();
  signal(id, SIGSTOP, Member::State::frozen);
  const std::optional<Member> member = find(id);
  siginfo_t info{};
  if (!member) return at;
  const auto process = static_cast<id_t>(member->process);
  waitid(P_PID, process, &info, WSTOPPED | WEXITED | WNOWAIT);
  waitid(P_PID, process, &info, WSTOPPED | WNOHANG);  // exits are left to reap(), stops are not
  return at;
}

void Crew::thaw(const std::string& id) { signal(id, SIGCONT, Member::State::up); }

void Crew::leave(const std::string& id) { signal(id, SIGTERM, Member::State::leaving); }

void Crew::signal(const std::string& id, int number, Member::State state) {
  std::lock_guard lock(mutex_);
  for (Member& member : members_) {
    if (member.id != id) continue;
    ::kill(member.process, number);
    member.state = state;
  }
}

std::vector<Departure> Crew::reap() {
  std::vector<Departure> departures;
  std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](const Member& member) {
    int status = 0;
    if (waitpid(member.process, &status, WNOHANG) != member.process) return false;
    const bool expected =
        member.state == Member::State::killed || (member.state == Member::State::leaving && status == 0);
    departures.push_back({member, describe(status), expected});
    return true;
  });
  return departures;
}

std::vector<Member> Crew::members() const {
  std::lock_guard lock(mutex_);
  return members_;
}

std::optional<Member> Crew::find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& one) { return one.id == id; });
  return found == members_.end() ? std::nullopt : std::optional<Member>(*found);
}

std::vector<Member> Crew::standing() const {
  std::vector<Member> up = members();
  std::erase_if(up, [](const Member& member) { return member.state != Member::State::up; });
  return up;
}

bool Crew::empty() const {
  std::lock_guard lock(mutex_);
  return members_.empty();
}

std::string Crew::last_words(const std::string& id) const {
  std::ifstream file(folder_ + "/" + id + ".log");
  std::string line;
  std::string last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace tenure::demo
