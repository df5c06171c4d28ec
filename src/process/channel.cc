#include "process/channel.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tenure::process {

using net::after;
using net::Time;
using net::Wire;

namespace {

constexpr std::size_t kReadBytes = 64U << 10;
// A buffer that grew for a long frame keeps at most this.
constexpr std::size_t kKeptBytes = 1U << 20;
// Larger data is sent without waiting for a flush.
constexpr std::size_t kGatherBytes = 64U << 10;

void put_head(Bytes& into, char kind, std::size_t bytes) {
  const std::size_t size = bytes + 1;
  std::array<char, kFrameHead> head{};
  for (std::size_t i = 0; i < 4; ++i) head[i] = static_cast<char>(size >> (24 - 8 * i) & 0xFF);
  head[4] = kind;
  into.append(head.data(), head.size());
}

std::size_t size_at(const char* head) {
  std::size_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(head[i]);
  return size;
}

}  // namespace

Status Channel::send(char kind, BytesView bytes, Time deadline) {
  if (!fits(bytes.size())) {
    return fail(Errc::invalid, "send",
                std::to_string(bytes.size()) + " bytes; at most " + std::to_string(bytes_max_) + " fit into a frame");
  }
  if (out_.size() - sent_ > kGatherBytes) {
    if (Status flushed = flush(deadline); !flushed) return flushed;
  }
  put_head(out_, kind, bytes.size());
  out_ += bytes;
  return {};
}

bool Channel::push() {
  while (unsent()) {
    const ssize_t size = wire_.send_some(BytesView(out_).substr(sent_));
    if (size == Wire::kBroken) return false;
    if (size == Wire::kLater) return true;
    sent_ += static_cast<std::size_t>(size);
  }
  out_.clear();
  sent_ = 0;
  if (out_.capacity() > kKeptBytes) out_.shrink_to_fit();
  return true;
}

Status Channel::flush(Time deadline) {
  for (;;) {
    if (!push()) return fail(Errc::closed, "send", "the other side has closed");
    if (!unsent()) return {};
    // The peer may be waiting for us to read what it sends.
    const bool room = filled_ - taken_ < bytes_max_ + kUnreadBytesMax;
    const unsigned ready =
        room ? wire_.wait(Wire::kWritable | Wire::kReadable, deadline) : wire_.wait(Wire::kWritable, after({}));
    if (ready == 0)
      return room ? fail(Errc::timed_out, "send") : fail(Errc::busy, "send", "answers are waiting to be received");
    if ((ready & Wire::kReadable) != 0 && pull() == Pulled::ended) {
      return fail(Errc::closed, "send", "the other side has closed");
    }
  }
}

Result<Channel::Frame> Channel::receive(Time deadline) {
  for (;;) {
    // Bytes that the peer had sent before it closed can still be read.
    const bool open = push();
    Result<Frame> frame = parse();
    if (!frame || frame->kind != 0) return frame;
    Pulled pulled = Pulled::some;
    if (open && unsent()) {
      const unsigned ready = wire_.wait(Wire::kReadable | Wire::kWritable, deadline);
      if (ready == 0) return fail(Errc::timed_out, "receive");
      if ((ready & Wire::kReadable) != 0) pulled = pull();
    } else {
      pulled = pull(deadline);
      if (pulled == Pulled::nothing && std::chrono::steady_clock::now() >= deadline) {
        return fail(Errc::timed_out, "receive");
      }
    }
    if (pulled == Pulled::ended) return fail(Errc::closed, "receive", "the other side has closed");
  }
}

Result<Channel::Frame> Channel::take() {
  Result<Frame> frame = parse();
  if (!frame || frame->kind != 0) return frame;
  const Pulled pulled = pull();
  if (pulled == Pulled::ended) return fail(Errc::closed, "receive", "the other side has closed");
  frame = parse();
  if (frame && frame->kind == 0) return fail(Errc::timed_out, "receive");
  return frame;
}

bool Channel::stirs() { return taken_ < filled_ || pull() != Pulled::nothing; }

Channel::Pulled Channel::pull(std::optional<Time> deadline) {
  compact();
  // A connection that is limited to short frames has a small buffer, because there may be many of them.
  const std::size_t piece = std::min(kReadBytes, bytes_max_ + kFrameHead);
  if (in_.size() - filled_ < piece) in_.resize(filled_ + piece);
  char* into = in_.data() + filled_;
  const std::size_t room = in_.size() - filled_;
  const ssize_t size = deadline ? wire_.receive_within(into, room, *deadline) : wire_.receive_some(into, room);
  if (size == Wire::kLater) return Pulled::nothing;
  if (size <= 0) return Pulled::ended;
  filled_ += static_cast<std::size_t>(size);
  return Pulled::some;
}

Result<Channel::Frame> Channel::parse() {
  if (filled_ - taken_ < kFrameHead) return Frame{};
  const char* head = in_.data() + taken_;
  const std::size_t size = size_at(head);
  if (size == 0 || !fits(size - 1)) {
    return fail(Errc::corrupt, "receive",
                "a frame of " + std::to_string(size) + " bytes; the limit is " + std::to_string(bytes_max_ + 1));
  }
  // Announced bytes take no memory before they arrive.
  if (filled_ - taken_ < size + kFrameHead - 1) return Frame{};
  const char kind = head[4];
  if (kind == 0) return fail(Errc::corrupt, "receive", "a frame without a kind");
  const BytesView bytes(in_.data() + taken_ + kFrameHead, size - 1);
  taken_ += size + kFrameHead - 1;
  return Frame{kind, bytes};
}

// Moves unread bytes to the front when everything before them has been taken, or when there are few of them.
void Channel::compact() {
  if (taken_ == 0) return;
  const std::size_t open = filled_ - taken_;
  if (open > kReadBytes && taken_ < in_.size() / 2) return;
  if (open > 0) std::memmove(in_.data(), in_.data() + taken_, open);
  filled_ = open;
  taken_ = 0;
  if (in_.size() > kKeptBytes && open < kReadBytes) {
    in_.resize(2 * kReadBytes);
    in_.shrink_to_fit();
  }
}

}  // namespace tenure::process
