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
  if (worker.serves.size() > kServedPerWorkerMax) return bad("it serves more than 2^20 keys");
  if (!are_keys(worker.serves)) return bad("a key that it serves is empty, or over 1024 bytes");
  return {};
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
