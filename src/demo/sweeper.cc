#include "demo/sweeper.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "demo/spawn.h"

namespace tenure::demo {
namespace {

constexpr char kWord[] = "sweep";
// The kernel kills the workers when the demo ends. A worker that is opening a file may need a moment.
constexpr int kSweeps = 20;
constexpr useconds_t kBetweenSweepsUs = 20'000;

Failure failure(const char* what) { return fail(Errc::unavailable, what, std::strerror(errno)); }

}  // namespace

Result<SweptFolder> SweptFolder::create(const std::string& program) {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/tenure-demo-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return failure("make a temporary folder");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure("make a pipe");
  const Result<pid_t> process = spawn({program, "demo-worker", kWord, path}, {ends[0], true, {}});
  ::close(ends[0]);
  if (process) return SweptFolder(path, ends[1], *process);
  ::close(ends[1]);
  ::rmdir(path.c_str());
  return Failure(process.error());
}

SweptFolder::SweptFolder(SweptFolder&& other) noexcept
    : path_(std::move(other.path_)), alive_(std::exchange(other.alive_, -1)), process_(other.process_) {}

SweptFolder::~SweptFolder() {
  if (alive_ < 0) return;
  ::close(alive_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<std::string> sweeper_folder(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 || arguments[0] != kWord) return std::nullopt;
  return arguments[1];
}

int sweep(const std::string& folder) {
  // It must be the last process to end, however the others end.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) != 0) {
    if (errno != EINTR) break;
  }
  for (int round = 0; round < kSweeps; ++round) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    if (!std::filesystem::exists(folder, ignored)) return 0;
    ::usleep(kBetweenSweepsUs);
  }
  return 1;
}

}  // namespace tenure::demo
