// The thread of the callbacks.

#include "pool/callbacks.h"

#include <gtest/gtest.h>

#include <future>

namespace tenure {
namespace {

// Calls run in the order in which they came, whether or not somebody was woken for them, and what is there at the end
// runs before it.
TEST(Callbacks, RunInOrder) {
  Callbacks callbacks;
  std::string said;
  const auto word = [](void* subject) { static_cast<std::string*>(subject)->append("b"); };
  std::promise<void> gate;
  callbacks.post([&] { gate.get_future().wait(); });
  callbacks.post([&] { said += "a"; });
  Callbacks::Call call{std::shared_ptr<void>(&said, [](void*) {}), word};
  EXPECT_TRUE(callbacks.take_asleep(call));
  callbacks.post([&] { said += "c"; });
  gate.set_value();
  callbacks.close();
  EXPECT_EQ(said, "abc");
}

// What was put asleep runs when somebody wakes it.
TEST(Callbacks, AreWoken) {
  Callbacks callbacks;
  const auto ran = std::make_shared<std::promise<void>>();
  Callbacks::Call call{ran, [](void* subject) { static_cast<std::promise<void>*>(subject)->set_value(); }};
  EXPECT_TRUE(callbacks.take_asleep(call));
  callbacks.wake();
  ran->get_future().wait();
}

// What a call captured is released before the next one runs.
TEST(Callbacks, ReleaseWhatTheyCaptured) {
  Callbacks callbacks;
  std::promise<void> gate;
  callbacks.post([&] { gate.get_future().wait(); });
  auto captured = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = captured;
  callbacks.post([captured = std::move(captured)] {});
  bool released = false;
  callbacks.post([&] { released = watched.expired(); });
  gate.set_value();
  callbacks.close();
  EXPECT_TRUE(released);
}

// After the end a closure runs where it is posted, and a call stays with its owner.
TEST(Callbacks, AfterTheEnd) {
  Callbacks callbacks;
  callbacks.close();
  std::thread::id ran;
  callbacks.post([&] { ran = std::this_thread::get_id(); });
  EXPECT_EQ(ran, std::this_thread::get_id());
  Callbacks::Call call{std::make_shared<int>(1), [](void*) {}};
  EXPECT_FALSE(callbacks.take_asleep(call));
  EXPECT_NE(call.subject, nullptr);
}

}  // namespace
}  // namespace tenure
