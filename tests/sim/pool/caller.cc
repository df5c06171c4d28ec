#include "sim/pool/caller.h"

#include "base/assert.h"
#include "sim/pool/onlooker.h"

namespace tenure::sim {
namespace {

tenure::Request::Kind kind_of(Ask ask) {
  switch (ask) {
    case Ask::resident:
    case Ask::task: return tenure::Request::Kind::dispatch;
    case Ask::notify: return tenure::Request::Kind::notify;
    case Ask::stop: return tenure::Request::Kind::stop;
    case Ask::retry_dead: return tenure::Request::Kind::retry_dead;
    case Ask::drop_dead: return tenure::Request::Kind::drop_dead;
    case Ask::emit: break;  // residents do
  }
  ASSERT(false);
}

}  // namespace

tenure::Request Request::asked() const {
  return {.kind = kind_of(ask),
          .job = ask == Ask::task ? JobKind::task : JobKind::resident,
          .key = key,
          .text = text,
          .type = type,
          .delay = delay,
          .dead_id = grave,
          .own = type.starts_with('.')};
}

void Caller::write_settled(Recorder& recorder, const Settlement& settlement) const {
  recorder.add(process_, Answered{process_.number(), settlement.ticket, step_of(settlement.state), settlement.code});
}

// Members that have switched already refuse a member that joins; all others read the switch.
bool Caller::is_too_old(const Error& error, std::uint32_t speaks, const Onlooker& onlooker) {
  return (error.code == Errc::version || error.code == Errc::refused) && onlooker.newest_version() > speaks;
}

}  // namespace tenure::sim
