// Measures how many round trips a second a child process makes, and how long one takes, compared with a bare socket
// pair: the same program on the other end, with blocking reads and writes of the same bytes, without frames, deadlines
// or a pool.
//
//     process_bench [--repetitions N] [--ms N] [--pairs yes]
//
// It calls two programs: one that reads and writes like any program in any language, and one that uses the library
// (serve_calls), which spins for requests before it sleeps. The bare pair uses the first.
//
// With --pairs it measures only the bare pair: on which cores its two sides run, and whether the caller spins for the
// answer before it sleeps.
//
// The other end is this program itself, started with --echo or --serve. It prints medians with their range over the
// repetitions. Measurements to be compared alternate, because the machine may be busy with other things. CPU time is
// that of the calling thread and of the child, per round trip.

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <numeric>
#include <string>
#include <tenure/checkout_child.hpp>
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

// The same by the library's own loop.
int serve() {
  const auto work = [](std::string_view request) -> tenure::Result<std::string> { return std::string(request); };
  return tenure::serve_calls(work) ? 0 : 1;
}

struct Figures {
  std::vector<double> p50_us;
  std::vector<double> mean_us;
  std::vector<double> p99_us;
  std::vector<double> cpu_us;
  std::vector<double> per_s;
};

double cpu_us(std::int64_t child) {
  timespec own{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
  double ns = 0;
  std::ifstream("/proc/" + std::to_string(child) + "/schedstat") >> ns;
  return static_cast<double>(own.tv_sec) * 1e6 + static_cast<double>(own.tv_nsec) / 1e3 + ns / 1e3;
}

template <class RoundTrip>
void time_each(Figures& figures, std::int64_t child, const RoundTrip& round_trip) {
  std::vector<double> taken;
  const double cpu_before = cpu_us(child);
  const auto end = Clock::now() + span;
  while (Clock::now() < end) {
    const auto begun = Clock::now();
    round_trip();
    taken.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
  }
  const auto count = static_cast<double>(taken.size());
  figures.cpu_us.push_back((cpu_us(child) - cpu_before) / count);
  figures.mean_us.push_back(std::accumulate(taken.begin(), taken.end(), 0.0) / count);
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

void measure_ours(Figures& figures, const char* mode) {
  const auto worker = tenure::ProcessWorker::start({.command = {own_path(), mode}});
  must(worker.has_value(), worker ? "" : worker.error().message().c_str());
  const std::string request(kPayload, 'r');
  tenure::ProcessWorker& child = **worker;
  time_each(figures, child.process_id(), [&] { must(child.call(request).value().size() == kPayload, "no answer"); });
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

enum class Place : std::uint8_t { anywhere, one_core, two_cores };

// How a bare pair is measured. The caller looks for up to `look` before it sleeps.
struct Pair {
  const char* name;
  Place place = Place::anywhere;
  std::chrono::microseconds look{0};
  bool pipes = false;
};

void run_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(core), &cores);
  must(sched_setaffinity(0, sizeof cores, &cores) == 0, "no such core");
}

struct Ends {
  int out = -1;
  int in = -1;
  pid_t process = -1;
};

Ends start_bare(const Pair& pair) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  if (pair.pipes) {
    must(pipe2(there.data(), O_CLOEXEC) == 0 && pipe2(back.data(), O_CLOEXEC) == 0, "no pipes");
  } else {
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, there.data()) == 0, "no socket pair");
    back = {there[1], there[0]};  // each end both reads and writes
  }
  // What is written to there[1] is read from there[0], by the child, and the other way round for back.
  const pid_t process = fork();
  must(process >= 0, "no process");
  if (process == 0) {
    if (pair.place != Place::anywhere) run_on(pair.place == Place::one_core ? 0 : 1);
    dup2(there[0], STDIN_FILENO);
    dup2(back[1], STDOUT_FILENO);
    execl("/proc/self/exe", "process_bench", "--echo", nullptr);
    _exit(127);
  }
  close(there[0]);
  if (pair.pipes) close(back[1]);
  return {there[1], back[0], process};
}

void read_whole(const Ends& ends, std::string& answer, std::chrono::microseconds look) {
  const auto until = look.count() == 0 ? Clock::time_point() : Clock::now() + look;
  for (std::size_t got = 0; got < kFrame;) {
    const bool looks = look.count() != 0 && Clock::now() < until;
    const ssize_t part = looks ? recv(ends.in, answer.data() + got, kFrame - got, MSG_DONTWAIT)
                               : ::read(ends.in, answer.data() + got, kFrame - got);
    if (looks && part < 0 && errno == EAGAIN) continue;
    must(part > 0, "no answer");
    got += static_cast<std::size_t>(part);
  }
}

void measure_bare(Figures& figures, const Pair& pair) {
  cpu_set_t before;
  must(sched_getaffinity(0, sizeof before, &before) == 0, "no affinity");
  const Ends ends = start_bare(pair);
  if (pair.place != Place::anywhere) run_on(0);
  const std::string request(kFrame, 'r');
  std::string answer(kFrame, ' ');
  time_each(figures, ends.process, [&] {
    must(::write(ends.out, request.data(), kFrame) == static_cast<ssize_t>(kFrame), "not written");
    read_whole(ends, answer, pair.look);
  });
  close(ends.out);
  if (pair.pipes) close(ends.in);
  waitpid(ends.process, nullptr, 0);
  must(sched_setaffinity(0, sizeof before, &before) == 0, "no affinity");
}

std::string with_range(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f (%.1f-%.1f)", values[values.size() / 2], values.front(), values.back());
  return text.data();
}

void measure_pairs() {
  constexpr std::array kPairs{
      Pair{"wherever the scheduler puts them"},
      Pair{"wherever, looking for up to 50 us", Place::anywhere, 50us},
      Pair{"on one core", Place::one_core},
      Pair{"on one core, looking for up to 50 us", Place::one_core, 50us},
      Pair{"on different cores", Place::two_cores},
      Pair{"on different cores, looking for up to 50 us", Place::two_cores, 50us},
      Pair{"pipes, wherever", Place::anywhere, 0us, true},
  };
  std::array<Figures, kPairs.size()> figures;
  for (int i = 0; i < repetitions; ++i) {
    for (std::size_t k = 0; k < kPairs.size(); ++k) measure_bare(figures[k], kPairs[k]);
  }
  for (std::size_t k = 0; k < kPairs.size(); ++k) {
    std::printf("%-44s p50 %s us, processor time %s us\n", kPairs[k].name, with_range(figures[k].p50_us).c_str(),
                with_range(figures[k].cpu_us).c_str());
  }
}

void measure_all() {
  Figures plain;
  Figures library;
  Figures bare;
  for (int i = 0; i < repetitions; ++i) {
    measure_bare(bare, {"bare"});
    measure_ours(plain, "--echo");
    measure_ours(library, "--serve");
  }
  const auto print = [&](const char* what, std::vector<double> Figures::* each) {
    std::printf("one at a time, %s us: plain program %s, library's loop %s, bare %s\n", what,
                with_range(plain.*each).c_str(), with_range(library.*each).c_str(), with_range(bare.*each).c_str());
  };
  print("p50", &Figures::p50_us);
  print("mean", &Figures::mean_us);
  print("p99", &Figures::p99_us);
  print("processor time", &Figures::cpu_us);
  for (Figures* figures : {&plain, &library}) {
    for (double& rate : figures->per_s) rate /= 1000;
  }
  std::printf("%d under way, thousands a second: plain program %s, library's loop %s\n", kWindow,
              with_range(plain.per_s).c_str(), with_range(library.per_s).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--echo") == 0) return echo();
  if (argc > 1 && std::strcmp(argv[1], "--serve") == 0) return serve();
  bool pairs = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--pairs") == 0) pairs = true;
    if (std::strcmp(argv[i], "--repetitions") == 0) repetitions = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--ms") == 0) span = std::chrono::milliseconds(std::max(1, std::atoi(argv[i + 1])));
  }
  if (pairs) {
    measure_pairs();
  } else {
    measure_all();
  }
}
