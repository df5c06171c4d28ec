#include "guard/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <thread>

#include "guard/guard_main.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

// A socket is almost never full, because its users bound their starts. A guard that does not read for this long is
// stopped or dead.
constexpr int kSendPatienceMs = 5'000;
constexpr Nanos kEndPatience = 5s;
constexpr Nanos kNetPass = 1ms;

int timeout_ms(Nanos span) {
  return static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(to_ms(span), 0), INT_MAX));
}

// Above the numbers that the guard expects its descriptors at, so that none is overwritten while they are placed.
Descriptor raised(int number) { return Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 64)); }

// The heart may be using the descriptor's number at this moment. The number stays, and refers to the new file at once.
void replace(Descriptor& old, Descriptor with) {
  if (old) {
    dup3(with.get(), old.get(), O_CLOEXEC);
  } else {
    old = std::move(with);
  }
}

std::string beside_this_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (size <= 0) return "tenure-guard";
  std::string found(path.data(), static_cast<std::size_t>(size));
  found = found.substr(0, found.rfind('/') + 1) + "tenure-guard";
  return access(found.c_str(), X_OK) == 0 ? found : "tenure-guard";
}

class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void put(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  // A separate session: a Ctrl-C at the worker's terminal does not reach the guard or the programs.
  void finish() {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kGuardLife + 1);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  int run(pid_t* process, std::vector<std::string> command) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return posix_spawnp(process, arguments[0], &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<std::unique_ptr<Guard>> Guard::start(GuardOptions options) {
  auto page = LeasePage::create();
  if (!page) return Failure(page.error());
  if (options.command.empty()) options.command = {beside_this_program()};
  std::unique_ptr<Guard> guard(new Guard(std::move(options), std::move(*page)));
  if (guard->options_.group != GuardOptions::Group::none) {
    auto group = Cgroup::create(guard->options_.group_parent);
    if (!group && guard->options_.group == GuardOptions::Group::required) return Failure(group.error());
    if (group) guard->group_ = *std::move(group);
  }
  if (const Status begun = guard->begin(); !begun) {
    return Failure(begun.error());
  }
  return guard;
}

Guard::Guard(GuardOptions options, LeasePage page) : options_(std::move(options)), leases_(std::move(page)) {
  if (options_.last_net) net_.emplace();
}

Guard::~Guard() {
  send({.kind = MessageKind::farewell});
  socket_.close();
  reap(kEndPatience);
  if (net_) wait_gone(kEndPatience);
}

Status Guard::begin() {
  reap(0ns);
  std::array<int, 2> sockets{};
  std::array<int, 2> life{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return fail(Errc::unavailable, "start the guard", std::strerror(errno));
  }
  Descriptor own(sockets[0]);
  Descriptor theirs(sockets[1]);
  if (pipe2(life.data(), O_CLOEXEC) != 0) return fail(Errc::unavailable, "start the guard", std::strerror(errno));
  Descriptor own_life(life[0]);
  Descriptor their_life(life[1]);
  const Descriptor worker(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!worker) return fail(Errc::unavailable, "start the guard", std::string("pidfd_open: ") + std::strerror(errno));
  {
    const std::lock_guard lock(net_mutex_);
    ++starts_;
    if (Status spawned = spawn(theirs.get(), worker.get(), their_life.get()); !spawned) return spawned;
    // Before it gets any message, and so before it starts anything.
    if (group_) {
      if (Status admitted = group_->admit(process_); !admitted) {
        if (options_.group == GuardOptions::Group::required) return admitted;
        group_.reset();
      }
    }
  }
  const std::lock_guard lock(mutex_);
  replace(handle_, Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process_.load(), 0))));
  replace(socket_, std::move(own));
  replace(life_, std::move(own_life));
  introduce();
  return {};
}

Status Guard::spawn(int socket, int worker, int life) {
  const std::array<Descriptor, 4> raise{raised(socket), raised(leases_.descriptor()), raised(worker), raised(life)};
  SpawnPlan plan;
  for (std::size_t i = 0; i < raise.size(); ++i) plan.put(raise.at(i).get(), kGuardSocket + static_cast<int>(i));
  plan.finish();
  pid_t started = -1;
  std::vector<std::string> command = options_.command;
  if (options_.apart) command.emplace_back(kApartFlag);
  const int error_number = plan.run(&started, std::move(command));
  process_ = error_number == 0 ? started : -1;
  if (error_number != 0) {
    return fail(Errc::unavailable, "start the guard", options_.command[0] + ": " + std::strerror(error_number));
  }
  if (options_.apart) {
    while (waitpid(started, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = leases_.page_end().guard.exchange(0);
    if (process_ > 0) return {};
    process_ = -1;
    return fail(Errc::unavailable, "start the guard", options_.command[0] + " has ended at once");
  }
  return {};
}

void Guard::introduce() {
  for (const Message& message : introduction_) send(message);
  for (const int descriptor : shared_) send({.kind = MessageKind::alive}, {descriptor});
  send({.kind = MessageKind::shield, .value = shield_until_.since_boot.count()});
  if (group_) send({.kind = MessageKind::cgroup, .words = {group_->path()}}, {group_->lock()});
}

std::uint32_t Guard::add_log(const std::string& url, const std::string& pool) {
  const std::lock_guard lock(mutex_);
  introduction_.push_back({.kind = MessageKind::log, .number = logs_, .words = {url, pool}});
  send(introduction_.back());
  return logs_++;
}

void Guard::remove_at_end(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  introduction_.push_back({.kind = MessageKind::folder, .words = {folder}});
  send(introduction_.back());
}

void Guard::shield_until(Instant moment) {
  const std::lock_guard lock(mutex_);
  shield_until_ = moment;
  send({.kind = MessageKind::shield, .value = moment.since_boot.count()});
}

void Guard::share(int descriptor) {
  const std::lock_guard lock(mutex_);
  shared_.push_back(descriptor);
  send({.kind = MessageKind::alive}, {descriptor});
}

void Guard::fence(std::uint64_t session) {
  leases_.fence(session);
  (void)send_message(socket_.get(), {.kind = MessageKind::stop_all, .session = session});
}

// If this message cannot be sent, the guard is killed, and everything it runs with it.
void Guard::end_all(std::uint64_t session) {
  if (send_message(socket_.get(), {.kind = MessageKind::end_all, .session = session}) == EAGAIN) destroy();
}

int Guard::start_program(const ProgramStart& program, const std::vector<int>& standard) {
  Message message{
      .kind = MessageKind::start, .number = program.number, .session = program.session, .value = program.slot};
  message.aside = static_cast<std::int64_t>(program.arguments.size());
  message.words.push_back(program.folder);
  message.words.insert(message.words.end(), program.arguments.begin(), program.arguments.end());
  message.words.insert(message.words.end(), program.environment.begin(), program.environment.end());
  return send(message, standard);
}

int Guard::stop_program(std::uint64_t number, Instant end_at) {
  return send({.kind = MessageKind::stop, .number = number, .value = end_at.since_boot.count()});
}

int Guard::end_program(std::uint64_t number) { return send({.kind = MessageKind::end, .number = number}); }

int Guard::send(const Message& message, const std::vector<int>& descriptors) {
  for (;;) {
    const int error_number = send_message(socket_.get(), message, descriptors);
    if (error_number != EAGAIN) return error_number;
    pollfd waited{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (poll(&waited, 1, kSendPatienceMs) == 0) {
      destroy();
      return EPIPE;
    }
  }
}

void Guard::destroy() {
  if (handle_) syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
}

void Guard::end_left_behind() const {
  if (group_) group_->end_left_behind();
}

bool Guard::wait_gone(Nanos patience) {
  const Instant deadline = BootClock().now() + patience;
  std::optional<std::uint64_t> starts;
  for (;;) {
    bool swept = true;
    if (net_) {
      const std::lock_guard lock(net_mutex_);
      if (starts.value_or(starts_) != starts_) return true;  // another thread found it gone
      starts = starts_;
      swept = net_->sweep(process_);  // the next pass finds processes that were born during this one
      if (group_) swept = group_->kill() && swept;
    }
    const Nanos left = deadline - BootClock().now();
    pollfd waited{.fd = life_.get(), .events = POLLIN, .revents = 0};
    const bool closed = poll(&waited, 1, timeout_ms(net_ ? std::min(left, kNetPass) : left)) > 0;
    if (closed && swept) return true;
    if (left <= 0ns) return false;
    if (closed) std::this_thread::sleep_for(std::min(left, kNetPass));
  }
}

void Guard::reap(Nanos patience) {
  if (process_ < 0) return;
  pollfd waited{.fd = handle_.get(), .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, timeout_ms(patience)) <= 0) destroy();
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

}  // namespace tenure::guard
