#include "pool/worker_rules.h"

#include <algorithm>

#include "machine/limits.h"
#include "machine/own_names.h"

namespace tenure {
namespace {

bool are_keys(const std::vector<Bytes>& keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [](const Bytes& key) { return !key.empty() && key.size() <= kKeyBytesMax; });
}

}  // namespace

Status check_worker(const NodeWorker& worker) {
  const auto bad = [](const char* what) { return fail(Errc::invalid, "add worker", what); };
  if (worker.id.empty() || worker.id.size() > kIdBytesMax) return bad("the id is empty, or longer than 256 bytes");
  if (worker.replaces.size() > kIdBytesMax) return bad("the id of the one it replaces is longer than 256 bytes");
  if (worker.weight > kWeightMax) return bad("the weight is over 10000");
  if (worker.window == 0 || worker.window > kWindowMax) return bad("the window is zero, or over 2^20");
  if (worker.ring.partitions != 0) {
    if (Status sound = check_ring(worker.ring, "add worker"); !sound) return sound;
    if (worker.ordinal >= worker.ring.partitions && (worker.ordinal != kNoOrdinal || worker.replaces.empty())) {
      return fail(Errc::invalid, "add worker",
                  "the ordinal must be below the number of partitions: from 0 to " +
                      std::to_string(worker.ring.partitions - 1));
    }
  }
  if (worker.serves.size() > kServedPerWorkerMax) return bad("it serves more than 2^20 keys");
  if (!are_keys(worker.serves)) return bad("a key that it serves is empty, or over 1024 bytes");
  return {};
}

Error refusal_of(const Machine& machine, const NodeWorker& worker, Errc why) {
  const auto error = [&](std::string text) { return Error{why, "add worker", std::move(text)}; };
  const Ring& ring = machine.config().ring;
  const WorkerTable& workers = machine.workers();
  if (why == Errc::version) {
    return {Errc::timed_out, "add worker",
            "'" + worker.id + "' takes only some jobs, which members of an older version do not know of; they have " +
                "not left"};
  }
  if (worker.ring.partitions != 0 && ring.partitions != 0 && worker.ring != ring) {
    return error("the pool has " + to_text(ring) + ", and '" + worker.id + "' was started for " + to_text(worker.ring) +
                 ": start it with the same, or change the pool's with `tenure partition resize`");
  }
  if (worker.ring.partitions != 0 && machine.config().shard.count != 1) {
    return error("a pool with shards has no partitions: create it with one shard");
  }
  if (worker.ring.partitions != 0 && workers.find(worker.id) == kNone) {
    for (const WorkerIx ix : workers.by_age) {
      const PoolWorker& other = workers[ix];
      if (other.ordinal != worker.ordinal || other.draining) continue;
      return error("worker '" + other.id + "' has the ordinal " + std::to_string(worker.ordinal) +
                   "; two living workers cannot have the same");
    }
    if (ring.partitions == 0 && why == Errc::key_exists) {
      return error("the pool has jobs whose keys begin with 'partition/', which are the keys of partitions");
    }
  }
  if (why == Errc::invalid) return error("the pool refuses '" + worker.id + "': its options are not valid there");
  if (why == Errc::pool_full) return error("the pool has as many workers as it can have");
  return error("another living worker has the id '" + worker.id + "'");
}

Result<Takes> takes_of(const std::vector<JobMatch>& matches) {
  Takes takes = matches.empty() ? Takes() : Takes::nothing();
  for (const JobMatch& match : matches) {
    if (match.type && match.type->size() > kTypeBytesMax) {
      return fail(Errc::invalid, "add worker", "a type that it takes is longer than 64 bytes");
    }
    if (match.type && is_own_type(*match.type)) {
      return fail(Errc::invalid, "add worker", "types that begin with a dot belong to the pool itself");
    }
    for (const JobKind kind : {JobKind::resident, JobKind::task}) {
      if (match.kind && *match.kind != kind) continue;
      match.type ? takes.add_type(kind, *match.type) : takes.add_all(kind);
    }
  }
  if (takes.size() > kTakesMax) return fail(Errc::invalid, "add worker", "it takes more than 256 kinds and types");
  return takes;
}

Status check_served(const std::vector<Bytes>& add, const std::vector<Bytes>& remove) {
  if (are_keys(add) && are_keys(remove)) return {};
  return fail(Errc::invalid, "serve", "a key is empty, or over 1024 bytes");
}

Status check_drained(const std::string& id) {
  if (!id.empty() && id.size() <= kIdBytesMax) return {};
  return fail(Errc::invalid, "drain", "the id is empty, or longer than 256 bytes");
}

}  // namespace tenure
