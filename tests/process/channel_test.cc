// Frames over a wire that takes and returns any small number of bytes: data arrives complete and in order. Bytes that
// are not frames cause an error, and no crash, wait or large allocation.

#include "process/channel.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tenure::process {

using net::after;
using net::Time;
using net::Wire;

namespace {

constexpr std::chrono::minutes kWhile{5};

// What is sent comes back, in pieces of random sizes.
class Loopback final : public Wire {
 public:
  explicit Loopback(std::uint64_t seed) : dice_(seed) {}

  ssize_t send_some(BytesView some) override {
    if (dice_() % 4 == 0) return kLater;
    const std::size_t size = std::min<std::size_t>(some.size(), 1 + dice_() % 70'000);
    bytes += some.substr(0, size);
    return static_cast<ssize_t>(size);
  }
  ssize_t receive_some(char* into, std::size_t room) override {
    if (taken_ == bytes.size()) return ended ? 0 : kLater;
    if (dice_() % 4 == 0) return kLater;
    const std::size_t size = std::min({room, bytes.size() - taken_, std::size_t{1 + dice_() % 70'000}});
    bytes.copy(into, size, taken_);
    taken_ += size;
    return static_cast<ssize_t>(size);
  }
  unsigned wait(unsigned wanted, Time /*deadline*/) override {
    return taken_ == bytes.size() && !ended && (wanted & kWritable) == 0 ? 0 : wanted;
  }
  int descriptor() const override { return -1; }

  Bytes bytes;
  bool ended = false;

 private:
  std::mt19937_64 dice_;
  std::size_t taken_ = 0;
};

TEST(Channel, FramesArriveWholeAndInOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 dice(seed);
    Loopback wire(seed);
    Channel channel(wire, 300'000);
    std::deque<Bytes> sent;
    for (int i = 0; i < 100; ++i) {
      const std::size_t size = dice() % 10 == 0 ? dice() % 300'001 : dice() % 200;
      sent.emplace_back(size, static_cast<char>('a' + i % 26));
      ASSERT_TRUE(channel.send('M', sent.back(), after(kWhile)));
      if (dice() % 3 != 0) continue;
      ASSERT_TRUE(channel.flush(after(kWhile)));
      while (!sent.empty() && dice() % 5 != 0) {
        const auto frame = channel.receive(after(kWhile));
        ASSERT_TRUE(frame) << frame.error().message();
        ASSERT_EQ(frame->bytes, sent.front());
        sent.pop_front();
      }
    }
    ASSERT_TRUE(channel.flush(after(kWhile)));
    for (const Bytes& expected : sent) ASSERT_EQ(channel.receive(after(kWhile))->bytes, expected);
    EXPECT_EQ(channel.receive(after({})).error().code, Errc::timed_out);
    EXPECT_EQ(channel.take().error().code, Errc::timed_out);
  }
}

TEST(Channel, TooLongIsRefusedOnBothSides) {
  Loopback wire(1);
  Channel channel(wire, 10);
  EXPECT_EQ(channel.send('M', "eleven byte", after(kWhile)).error().code, Errc::invalid);
  EXPECT_FALSE(channel.unsent());
  Channel wide(wire, 11);
  ASSERT_TRUE(wide.send('M', "eleven byte", after(kWhile)));
  ASSERT_TRUE(wide.flush(after(kWhile)));
  EXPECT_EQ(channel.receive(after(kWhile)).error().code, Errc::corrupt);
}

// Random bytes, and sound frames of which one byte is another: an error or a frame, within the bound.
TEST(Channel, BrokenBytesAreAnError) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 dice(seed);
    Loopback wire(seed);
    Channel channel(wire, 1000);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(channel.send('M', Bytes(dice() % 50, 'x'), after(kWhile)));
    ASSERT_TRUE(channel.flush(after(kWhile)));
    if (seed % 2 == 0) {
      for (char& each : wire.bytes) each = static_cast<char>(dice());
    } else {
      wire.bytes[dice() % wire.bytes.size()] = static_cast<char>(dice());
    }
    wire.ended = true;
    for (;;) {
      const auto frame = channel.receive(after(kWhile));
      if (!frame) {
        EXPECT_TRUE(frame.error().code == Errc::corrupt || frame.error().code == Errc::closed);
        break;
      }
      EXPECT_LE(frame->bytes.size(), 1000U);
    }
  }
}

}  // namespace
}  // namespace tenure::process
