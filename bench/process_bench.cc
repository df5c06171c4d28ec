// How many round trips a second a child process gives, and how long one takes, beside the bare socket pair: the same
// program on the other end, with blocking reads and writes of the same bytes and no frames, deadlines or pool.
//
//     process_bench [--repetitions N] [--ms N]
//
// The other end is this program itself, started with --echo. Medians are printed with their range over the repetitions;
// the bare measure is taken in turn with ours, since the machine may be busy with other things.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tenure/checkout_process.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPayload = 100;
constexpr std::size_t kFrame = kPayload + 5;
constexpr int kWindow = 64;

int repetitions = 9;
std::chrono::milliseconds span = 300ms;

// Frames that are read are what is written back, as many at a time as have come.
int echo() {
  std::vector<char> buffer(64U << 10);
  std::size_t filled = 0;
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, buffer.data() + filled, buffer.size() - filled);
    if (size <= 0) return 0;
    filled += static_cast<std::size_t>(size);
    const std::size_t whole = filled - filled % kFrame;
    for (std::size_t done = 0; done < whole;) {
      const ssize_t part = ::write(STDOUT_FILENO, buffer.data() + done, whole - done);
      if (part <= 0) return 0;
      done += static_cast<std::size_t>(part);
    }
    std::memmove(buffer.data(), buffer.data() + whole, filled - whole);
    filled -= whole;
  }
}

struct Figures {
  std::vector<double> p50_us;
  std::vector<double> p99_us;
  std::vector<double> per_s;
};

template <class RoundTrip>
void time_each(Figures& figures, const RoundTrip& round_trip) {
  std::vector<double> taken;
  const auto end = Clock::now() + span;
  while (Clock::now() < end) {
    const auto begun = Clock::now();
    round_trip();
    taken.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
  }
  std::sort(taken.begin(), taken.end());
  figures.p50_us.push_back(taken[taken.size() / 2]);
  figures.p99_us.push_back(taken[taken.size() * 99 / 100]);
}

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "process_bench: %s\n", what);
  std::exit(1);
}

// It is the guard that starts programs, and its /proc/self/exe is another.
std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  must(size > 0, "no path");
  return {path.data(), static_cast<std::size_t>(size)};
}

void measure_ours(Figures& figures) {
  const auto worker = tenure::ProcessWorker::start({.command = {own_path(), "--echo"}});
  must(worker.has_value(), worker ? "" : worker.error().message().c_str());
  const std::string request(kPayload, 'r');
  tenure::ProcessWorker& child = **worker;
  time_each(figures, [&] { must(child.call(request).value().size() == kPayload, "no answer"); });
  const auto begun = Clock::now();
  std::uint64_t done = 0;
  for (int i = 0; i < kWindow; ++i) must(child.send(request).has_value(), "not sent");
  while (Clock::now() < begun + span) {
    // Half a window at a time, as a caller does that has several things to ask.
    for (int i = 0; i < kWindow / 2; ++i) must(child.receive().value().bytes.size() == kPayload, "no answer");
    for (int i = 0; i < kWindow / 2; ++i) must(child.send(request).has_value(), "not sent");
    done += kWindow / 2;
  }
  figures.per_s.push_back(static_cast<double>(done) / std::chrono::duration<double>(Clock::now() - begun).count());
}

void measure_bare(Figures& figures) {
  std::array<int, 2> ends{};
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "no socket pair");
  const pid_t process = fork();
  if (process == 0) {
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    execl("/proc/self/exe", "process_bench", "--echo", nullptr);
    _exit(127);
  }
  close(ends[1]);
  const std::string request(kFrame, 'r');
  std::string answer(kFrame, ' ');
  time_each(figures, [&] {
    must(::write(ends[0], request.data(), kFrame) == static_cast<ssize_t>(kFrame), "not written");
    for (std::size_t got = 0; got < kFrame;) {
      const ssize_t part = ::read(ends[0], answer.data() + got, kFrame - got);
      must(part > 0, "no answer");
      got += static_cast<std::size_t>(part);
    }
  });
  close(ends[0]);
  waitpid(process, nullptr, 0);
}

std::string with_range(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f (%.1f-%.1f)", values[values.size() / 2], values.front(), values.back());
  return text.data();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--echo") == 0) return echo();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--repetitions") == 0) repetitions = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--ms") == 0) span = std::chrono::milliseconds(std::max(1, std::atoi(argv[i + 1])));
  }
  Figures ours;
  Figures bare;
  for (int i = 0; i < repetitions; ++i) {
    measure_bare(bare);
    measure_ours(ours);
  }
  for (double& rate : ours.per_s) rate /= 1000;
  std::printf("one at a time, p50 us: %s, bare %s\n", with_range(ours.p50_us).c_str(), with_range(bare.p50_us).c_str());
  std::printf("one at a time, p99 us: %s, bare %s\n", with_range(ours.p99_us).c_str(), with_range(bare.p99_us).c_str());
  std::printf("%d under way, thousands a second: %s\n", kWindow, with_range(ours.per_s).c_str());
}
