#include "node/heart_line.h"

#include <utility>

namespace tenure {

// Belongs to the heart's loop.
class HeartLine::HeartSide final : private HeartEvents {
 public:
  HeartSide(const Parts& parts, NodeSide node)
      : loop_(parts.loop),
        events_(parts.events),
        node_(std::move(node)),
        heart_(parts.log, parts.heart_loop, parts.clock, parts.entropy, parts.holder, *this) {}

  Heart& heart() { return heart_; }

 private:
  void lease_until(std::uint64_t session, Instant until) override {
    events_.lease_until(session, until);
    if (std::exchange(armed_, session) != session) loop_.post([armed = node_.armed, session] { armed(session); });
  }

  void lease_lost(std::uint64_t session) override {
    loop_.post([lost = node_.lost, session] { lost(session); });
  }

  Loop& loop_;
  NodeEvents& events_;
  NodeSide node_;
  std::uint64_t armed_ = 0;
  Heart heart_;
};

HeartLine::HeartLine(const Parts& parts, NodeSide node)
    : heart_loop_(parts.heart_loop), side_(std::make_shared<HeartSide>(parts, std::move(node))) {}

HeartLine::~HeartLine() {
  heart_loop_.post([side = std::move(side_)]() mutable { side.reset(); });
}

void HeartLine::post(std::function<void(Heart&)> work) {
  heart_loop_.post([side = std::weak_ptr<HeartSide>(side_), work = std::move(work)] {
    if (const auto alive = side.lock()) work(alive->heart());
  });
}

void HeartLine::note_read(Position position) { side_->heart().note_read(position); }

std::int64_t HeartLine::until() const { return side_->heart().until(); }

}  // namespace tenure
