#include "exec/append_ends.h"

#include <deque>
#include <future>
#include <map>
#include <memory>
#include <thread>

#include "base/entropy.h"
#include "log/open.h"
#include "node/batch_head.h"

namespace tenure::exec {
namespace {

constexpr Nanos kRetry = std::chrono::milliseconds(100);

// One batch for all sessions of a log. It is sent again under the same number, so it counts once.
Bytes batch_of(const std::vector<guard::Ending>& endings) {
  v1::Batch batch = empty_batch(SystemEntropy().id(), 1, BootClock().wall_ms());
  for (const guard::Ending& ending : endings) {
    v1::End& end = *batch.add_records()->mutable_end();
    end.set_session(ending.session);
    end.set_reason(v1::End::CRASHED);
    for (const std::uint64_t epoch : ending.culprits) end.add_culprits(epoch);
    end.set_evidence(ending.evidence);
  }
  return batch.SerializeAsString();
}

bool append(Log& log, const Bytes& batch, Instant deadline) {
  const auto promise = std::make_shared<std::promise<bool>>();
  std::future<bool> done = promise->get_future();
  log.append(Lane::beat, batch, [promise](const Result<Position>& answer) { promise->set_value(answer.has_value()); });
  const Nanos left = deadline - BootClock().now();
  return done.wait_for(left) == std::future_status::ready && done.get();
}

// Appends to one log, and returns the number of shards.
Result<std::uint32_t> append_to(const std::string& url, const LogOptions& options, const Bytes& batch,
                                Instant deadline) {
  const auto log = open_log(url, options);
  if (!log) return Failure(log.error());
  const bool appended = append(**log, batch, deadline);
  (*log)->close();
  if (!appended) return fail(Errc::unavailable, "append", "no answer in time");
  return (*log)->shards();
}

// Appends to the log of every shard. A session is in one of them, and the others skip the unknown session. The first
// shard returns the number of shards. A shard that cannot be reached does not delay the others.
bool append_to_all(const std::string& url, const std::string& pool, const Bytes& batch, Instant deadline) {
  std::deque<Shard> left{{0, 0}};
  bool all = true;
  for (std::size_t in_vain = 0; !left.empty();) {
    const Shard shard = left.front();
    left.pop_front();
    const auto count = append_to(url, {.pool = pool, .create = false, .shard = shard}, batch, deadline);
    if (count) {
      in_vain = 0;
      for (std::uint32_t i = 1; shard.index == 0 && i < *count; ++i) left.push_back({i, *count});
      continue;
    }
    if (count.error().code == Errc::no_such_pool) continue;  // it has ended, and so have its sessions
    all = all && count.error().code != Errc::refused;
    if (count.error().code == Errc::refused) continue;  // a log that cannot be opened now cannot be opened later
    left.push_back(shard);
    if (BootClock().now() >= deadline) return false;
    if (++in_vain % left.size() == 0) std::this_thread::sleep_for(kRetry);
  }
  return all;
}

}  // namespace

bool append_ends(const std::vector<guard::Ending>& endings, Nanos patience) {
  const Instant deadline = BootClock().now() + patience;
  std::map<std::pair<std::string, std::string>, std::vector<guard::Ending>> by_log;
  for (const guard::Ending& ending : endings) by_log[{ending.url, ending.pool}].push_back(ending);
  bool all = true;
  for (const auto& [log, ended] : by_log) {
    all = append_to_all(log.first, log.second, batch_of(ended), deadline) && all;
  }
  return all;
}

}  // namespace tenure::exec
