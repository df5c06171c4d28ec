#pragma once

// A loop on a clock that the test moves, and servers that send exactly the test's bytes.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loop.h"
#include "net/transport.h"

namespace tenure::redis {

class ManualLoop final : public Loop {
 public:
  void post(std::function<void()> work) override { queue_.push_back(std::move(work)); }
  TimerId at(Instant when, std::function<void()> work) override {
    timers_.emplace(std::pair(when, ++last_), std::move(work));
    return last_;
  }
  void cancel(TimerId timer) override {
    std::erase_if(timers_, [&](const auto& armed) { return armed.first.second == timer; });
  }
  Instant now() const override { return clock_.now(); }

  void settle() {
    while (!queue_.empty()) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }
  void advance(Nanos by) {
    clock_.advance(by);
    while (!timers_.empty() && timers_.begin()->first.first <= now()) {
      const std::function<void()> work = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      work();
      settle();
    }
  }

 private:
  VirtualClock clock_;
  std::deque<std::function<void()>> queue_;
  std::map<std::pair<Instant, TimerId>, std::function<void()>> timers_;
  TimerId last_ = 0;
};

// One connection as its server sees it.
struct Peer {
  net::Endpoint endpoint;
  net::StreamEvents* events = nullptr;  // null once the client has closed it
  std::string heard;                    // what the client has sent, and take() has not taken

  bool open() const { return events != nullptr; }
  void accept() const { events->opened(); }
  // The client's system has taken all that it sent.
  void swallow() const { events->progressed(heard.size()); }
  void say(std::string_view bytes) const { events->received(bytes); }
  void hang_up() { std::exchange(events, nullptr)->broken({Errc::unavailable, "connect", "hung up"}); }
  std::string take() { return std::exchange(heard, {}); }
};

class ScriptedTransport final : public net::Transport {
 public:
  std::unique_ptr<net::Stream> connect(const net::Endpoint& endpoint, net::StreamEvents& events) override {
    peers.push_back(std::make_shared<Peer>(Peer{endpoint, &events, {}}));
    return std::make_unique<PeerStream>(peers.back());
  }
  Peer& last() { return *peers.back(); }

  std::vector<std::shared_ptr<Peer>> peers;

 private:
  class PeerStream final : public net::Stream {
   public:
    explicit PeerStream(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}
    ~PeerStream() override { peer_->events = nullptr; }
    std::size_t send(Bytes bytes) override {
      peer_->heard += bytes;
      return 0;
    }

   private:
    const std::shared_ptr<Peer> peer_;
  };
};

}  // namespace tenure::redis
