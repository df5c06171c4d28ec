#include "net/socket_threads.h"

#include <gtest/gtest.h>

#include <deque>
#include <future>

namespace tenure::net {
namespace {

// Sockets that a test makes ready. The thread that waits there runs the test's function.
class SocketThreadsTest : public testing::Test {
 protected:
  ~SocketThreadsTest() override {
    threads_->close([this] { give(nullptr); });
  }

  void give(std::function<void()> event) {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    came_.notify_one();
  }

  // Runs it on the thread in the seat, and returns what it returns.
  template <class Event>
  auto at_the_seat(Event event) {
    std::promise<decltype(event())> done;
    give([&] { done.set_value(event()); });
    return done.get_future().get();
  }

  std::thread::id seated() {
    return at_the_seat([] { return std::this_thread::get_id(); });
  }

  // Sends the one in the seat on an errand, once there is somebody to take its place.
  void send_away(const std::function<void()>& errand) {
    while (!at_the_seat([&] { return Errands::here()->take(errand); })) std::this_thread::yield();
  }

  const std::shared_ptr<SocketThreads> threads_ = std::make_shared<SocketThreads>([this] { wait(); });

 private:
  void wait() {
    std::function<void()> event;
    {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [this] { return !events_.empty(); });
      event = std::move(events_.front());
      if (!event) return;  // stays: all is over
      events_.pop_front();
    }
    event();
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::function<void()>> events_;  // guarded by mutex_
};

// The errand runs on the thread that took it, which is nobody's errand runner meanwhile.
TEST_F(SocketThreadsTest, TheOneInTheSeatRunsTheErrand) {
  threads_->begin();
  std::promise<std::thread::id> ran;
  std::thread::id taken_by;
  bool on_errand = true;
  const auto errand = [&] {
    on_errand = Errands::here() != nullptr;
    ran.set_value(std::this_thread::get_id());
  };
  while (!at_the_seat([&] {
    taken_by = std::this_thread::get_id();
    return Errands::here()->take(errand);
  })) {
  }
  EXPECT_EQ(ran.get_future().get(), taken_by);
  EXPECT_FALSE(on_errand);
}

// While an errand lasts another sits at the sockets, and when it is over its runner can take the seat again.
TEST_F(SocketThreadsTest, ALongErrandHoldsUpNothing) {
  threads_->begin();
  for (int i = 0; i < 10; ++i) {
    std::promise<void> gate;
    std::promise<std::thread::id> away;
    send_away([&, opened = gate.get_future().share()] {
      away.set_value(std::this_thread::get_id());
      opened.wait();
    });
    EXPECT_NE(seated(), away.get_future().get());
    gate.set_value();
  }
}

// Errands that last do not use up the threads: another is added, up to a bound, beyond which errands are refused.
TEST_F(SocketThreadsTest, ThereIsABoundToThoseWhoAreAway) {
  threads_->begin();
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  std::promise<void> all_back;
  std::atomic<int> back = 0;
  for (int i = 0; i < 3; ++i) {
    send_away([&, opened] {
      opened.wait();
      if (++back == 3) all_back.set_value();
    });
  }
  EXPECT_FALSE(at_the_seat([] { return Errands::here()->take([] {}); }));
  gate.set_value();
  all_back.get_future().wait();
}

// Closing does not wait for a thread on an errand, which returns after the end.
TEST_F(SocketThreadsTest, ClosingDoesNotWaitForAnErrand) {
  threads_->begin();
  std::promise<void> gate;
  std::promise<void> begun;
  auto over = std::make_shared<std::promise<void>>();
  send_away([&begun, over, opened = gate.get_future().share()] {
    begun.set_value();
    opened.wait();
    over->set_value();
  });
  begun.get_future().wait();
  threads_->close([this] { give(nullptr); });
  gate.set_value();
  over->get_future().wait();
}

}  // namespace
}  // namespace tenure::net
