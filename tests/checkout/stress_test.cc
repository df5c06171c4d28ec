// A pool under many simultaneous operations, judged by an oracle that counts.
//
// Threads check workers out in all ways, hold them for no time or some time, discard them, kill them through their
// alarms, and cancel and drop requests at random moments. Another thread suspends, resumes and resizes the pool, and
// the factory sometimes fails. The oracle checks:
//
//   - a worker has at most one holder, and is never destroyed while it has one;
//   - there are never more workers alive than the highest max_workers, and none at the end;
//   - every caller gets an answer; nobody waits at the end;
//   - callers are served in the order in which they joined the queue.
//
// Runs for two seconds, or for TENURE_STRESS_SECONDS. Prints its seed, and takes it from TENURE_STRESS_SEED. Because
// threads race, a seed repeats the choices but not the run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "stage.h"

namespace tenure {
namespace {

constexpr int kMaxWorkers = 6;
constexpr int kCallsMin = 500;  // of each thread

struct Judge {
  std::atomic<int> alive{0};
  std::atomic<int> starts{0};
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<int> violations{0};
  std::atomic<bool> failing{false};

  void must(bool holds, const char* what) {
    if (holds) return;
    if (violations++ < 10) ADD_FAILURE() << what;
  }
};

class Tool {
 public:
  Tool(Judge& judge, const WorkerAlarm& alarm) : judge_(judge), alarm_(alarm) {
    judge_.must(++judge_.alive <= kMaxWorkers, "more workers than max_workers");
  }
  ~Tool() {
    judge_.must(holders_ == 0, "destroyed while it is held");
    --judge_.alive;
  }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  void begin_use() { judge_.must(++holders_ == 1, "held twice"); }
  void end_use() { judge_.must(--holders_ == 0, "held twice"); }
  void kill() const { alarm_.died("killed"); }
  const WorkerAlarm& alarm() const { return alarm_; }

 private:
  Judge& judge_;
  WorkerAlarm alarm_;
  std::atomic<int> holders_{0};
};

double seconds_to_run() {
  const char* text = std::getenv("TENURE_STRESS_SECONDS");
  return text != nullptr ? std::atof(text) : 2.0;
}

std::uint64_t seed_to_use() {
  const char* text = std::getenv("TENURE_STRESS_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
}

// One thread's choices.
class Actor {
 public:
  Actor(CheckoutRef<Tool> pool, Judge& judge, std::uint64_t seed)
      : pool_(std::move(pool)), judge_(judge), dice_(seed) {}

  void run(SteadyTime end) {
    // On a machine that is busy with other things it may get no time before the end.
    for (int done = 0; done < kCallsMin || std::chrono::steady_clock::now() < end; ++done) {
      switch (below(8)) {
        case 0: ask(); break;
        case 1: block(Nanos(below(200'000)), below(4) == 0); break;
        case 2:
          if (alarm_) alarm_->died("killed late");
          break;
        default:
          requests_.clear();  // they may have workers on offer, which nobody would give back while this waits
          block(1min, below(4) == 0);
          break;
      }
    }
    requests_.clear();
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return dice_() % bound; }

  void block(Nanos timeout, bool force) {
    auto lease = pool_.checkout(timeout, force);
    if (lease) {
      use(*lease);
      return;
    }
    ++judge_.refused;
    const Errc code = lease.error().code;
    judge_.must(code == Errc::overloaded || code == Errc::timed_out || code == Errc::pool_down, "an odd refusal");
    judge_.must(code != Errc::timed_out || timeout < 1min, "a waiter was forgotten");
  }

  void use(CheckoutLease<Tool>& lease) {
    lease->begin_use();
    ++judge_.served;
    const std::uint64_t choice = below(64);
    if (choice == 0) lease->kill();
    if (choice == 1) alarm_.emplace(lease->alarm());
    if (choice < 8) std::this_thread::yield();
    lease->end_use();
    if (choice == 2) lease.discard("stress");
  }

  void ask() {
    const std::size_t place = below(4);
    if (requests_.size() <= place) requests_.resize(place + 1);
    const std::uint64_t choice = below(4);
    requests_[place] = pool_.checkout_async(
        [this, choice](const CheckoutNews<Tool>& news) {
          if (news.kind() != CheckoutNewsKind::worker) return;
          if (choice == 0) return;  // is dropped, some time, without having been confirmed
          if (choice == 1) return news.cancel();
          auto lease = news.confirm();
          if (!lease) return;
          (*lease)->begin_use();
          ++judge_.served;
          (*lease)->end_use();
        },
        {.force_enqueue = choice == 3});
  }

  CheckoutRef<Tool> pool_;
  Judge& judge_;
  std::mt19937_64 dice_;
  std::optional<WorkerAlarm> alarm_;  // of some worker it once had
  std::vector<CheckoutRequest<Tool>> requests_;
};

CheckoutOptions stress_options() {
  CheckoutOptions options = sized(3, 5, 4);
  options.shrink_timeout = 3ms;
  options.start_backoff = 1ms;
  options.start_backoff_max = 2ms;
  options.max_lifetime = 20ms;
  options.lifetime_jitter = 0.5;
  options.idle_timeout = 5ms;
  options.min_idle = 1;
  options.leak_after = 50ms;
  return options;
}

void disturb(CheckoutPool<Tool>& pool, Judge& judge, std::uint64_t seed, SteadyTime end) {
  std::mt19937_64 dice(seed);
  while (std::chrono::steady_clock::now() < end) {
    switch (dice() % 6) {
      case 0:
        pool.suspend();
        std::this_thread::yield();
        pool.resume();
        break;
      case 1:
        EXPECT_TRUE(pool.resize(static_cast<std::uint32_t>(dice() % 4), 1 + dice() % kMaxWorkers > 3 ? 6 : 4));
        break;
      case 2: judge.failing = dice() % 8 == 0; break;
      case 3:
        (void)pool.drain(0s);
        pool.resume();
        break;
      default:
        for (int i = 0; i < 100; ++i) std::this_thread::yield();
    }
  }
  judge.failing = false;
  pool.resume();
  EXPECT_TRUE(pool.resize(3, 5));
}

TEST(CheckoutStress, everything_at_once) {
  const std::uint64_t seed = seed_to_use();
  RecordProperty("seed", std::to_string(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Judge judge;
  const auto factory = [&judge](const WorkerAlarm& alarm) -> Result<std::unique_ptr<Tool>> {
    if (judge.failing && judge.starts++ % 2 == 0) return Failure(Error{Errc::unavailable, "start", "stress"});
    return std::make_unique<Tool>(judge, alarm);
  };
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds_to_run() * 0.5));
  {
    CheckoutPool<Tool> pool(factory, stress_options(), [](Tool&) { return true; });
    std::vector<std::thread> threads;
    for (std::uint64_t i = 1; i <= 6; ++i) {
      threads.emplace_back([&, i] { Actor(pool.ref(), judge, seed + i).run(end); });
    }
    threads.emplace_back([&] { disturb(pool, judge, seed, end); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(pool.state().waiting, 0U);
    EXPECT_EQ(pool.state().in_transit, 0U);
    EXPECT_EQ(pool.state().held, 0U);
    // It is still good for something.
    auto last = pool.checkout(1min, true);
    EXPECT_TRUE(last) << last.error().message();
  }
  EXPECT_EQ(judge.alive, 0);
  EXPECT_GT(judge.served, 100U);
  std::printf("%llu served, %llu refused\n", static_cast<unsigned long long>(judge.served),
              static_cast<unsigned long long>(judge.refused));
}

// Pools that end while threads are at every step of a checkout and a checkin. The last lease to go takes the pool's
// memory with it, while another thread may just be done with its own.
TEST(CheckoutStress, pools_that_end_at_any_moment) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds_to_run() * 0.3));
  Judge judge;
  std::mt19937_64 dice(seed_to_use());
  do {
    const auto factory = [&judge](const WorkerAlarm& alarm) { return std::make_unique<Tool>(judge, alarm); };
    auto pool = std::make_unique<CheckoutPool<Tool>>(factory, sized(3, 4, -1));
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([ref = std::optional(pool->ref())]() mutable {
        std::vector<CheckoutLease<Tool>> kept;
        for (;;) {
          auto lease = ref->checkout(1min);
          if (!lease) break;
          if (kept.empty()) {
            kept.push_back(*std::move(lease));
          } else {
            kept.clear();
          }
        }
        ref.reset();  // from here on the lease alone keeps the memory
        kept.clear();
      });
    }
    const auto then = std::chrono::steady_clock::now() + std::chrono::microseconds(dice() % 3000);
    while (std::chrono::steady_clock::now() < then) {
    }
    pool.reset();
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(judge.alive, 0);
  } while (std::chrono::steady_clock::now() < end);
}

// Callers in the queue are served before later ones. With one worker the order of service is exact: its holder records
// it. A counter records the order in which callers came and learnt that they were in the queue.
class Order {
 public:
  static constexpr std::uint64_t kNotQueued = ~std::uint64_t{0};

  struct Caller {
    std::uint64_t asked = 0;
    std::atomic<std::uint64_t> queued{kNotQueued};
  };

  std::uint64_t tick() { return clock_.fetch_add(1); }
  // By who holds the worker.
  void serve(const std::shared_ptr<Caller>& caller) { served_.push_back(caller); }
  std::size_t served() const { return served_.size(); }
  // How many were served before a caller that was already in the queue when they came.
  std::size_t overtakers() const {
    std::size_t count = 0;
    std::uint64_t earliest = kNotQueued;  // to be queued, of those served later
    for (auto each = served_.rbegin(); each != served_.rend(); ++each) {
      if ((*each)->asked > earliest) ++count;
      earliest = std::min(earliest, (*each)->queued.load());
    }
    return count;
  }

 private:
  std::atomic<std::uint64_t> clock_{0};
  std::vector<std::shared_ptr<Caller>> served_;  // belongs to who holds the worker
};

void block_in_order(const CheckoutRef<int>& pool, Order& order) {
  const auto caller = std::make_shared<Order::Caller>();
  caller->asked = order.tick();
  const auto lease = pool.checkout(1min);
  ASSERT_TRUE(lease) << lease.error().message();
  order.serve(caller);
}

CheckoutRequest<int> ask_in_order(const CheckoutRef<int>& pool, Order& order) {
  const auto caller = std::make_shared<Order::Caller>();
  caller->asked = order.tick();
  return pool.checkout_async([caller, &order](const CheckoutNews<int>& news) {
    if (news.kind() == CheckoutNewsKind::enqueued) caller->queued = order.tick();
    if (news.kind() != CheckoutNewsKind::worker) return;
    const auto lease = news.confirm();
    ASSERT_TRUE(lease);
    order.serve(caller);
  });
}

TEST(CheckoutStress, first_in_first_out) {
  constexpr int kThreads = 4;
  constexpr int kCallsEach = 500;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds_to_run() * 0.2));
  do {
    CheckoutPool<int> pool([] { return 1; }, sized(1, 1, -1));
    Order order;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::vector<CheckoutRequest<int>> requests;
        for (int call = 0; call < kCallsEach; ++call) {
          if ((call + i) % 3 == 0) {
            block_in_order(pool, order);
          } else {
            requests.push_back(ask_in_order(pool, order));
          }
        }
        // Requests are served in their order, so that this thread's are once it has been served after them.
        block_in_order(pool, order);
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(order.served(), static_cast<std::size_t>(kThreads * (kCallsEach + 1)));
    ASSERT_EQ(order.overtakers(), 0U);
    ASSERT_EQ(pool.state().waiting, 0U);
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace
}  // namespace tenure
