#include "exec/poller.h"

#include <sys/epoll.h>

#include <array>

#include "base/assert.h"
#include "exec/host_tags.h"

namespace tenure::exec {

Poller::Poller() : poll_(epoll_create1(EPOLL_CLOEXEC)) { ASSERT(poll_); }

void Poller::watch(int descriptor, std::uint64_t tag, std::uint32_t events) const {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  epoll_ctl(poll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void Poller::unwatch(int descriptor) const { epoll_ctl(poll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

void Poller::watch_outputs(std::uint64_t program, const Pipes& pipes) const {
  for (const Pipes::Stream stream : {Pipes::output, Pipes::errors}) {
    watch(pipes.descriptor(stream), tag_of(program, stream), EPOLLIN);
  }
}

void Poller::watch_input(std::uint64_t program, Pipes& pipes) const {
  const int input = pipes.descriptor(Pipes::input);
  if (input < 0 || pipes.wants_to_write() == pipes.input_watched) return;
  pipes.input_watched = pipes.wants_to_write();
  if (pipes.input_watched) return watch(input, tag_of(program, Pipes::input), EPOLLOUT);
  unwatch(input);
}

const std::vector<std::uint64_t>& Poller::wait(int wait_ms) {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events.at(static_cast<std::size_t>(i)).data.u64;  // a copy: epoll_event is packed
    ready_.push_back(tag);
  }
  return ready_;
}

}  // namespace tenure::exec
