#include "node/sources/emission.h"

#include "base/clock.h"
#include "machine/limits.h"
#include "machine/own_names.h"

namespace tenure {
namespace {

Failure bad(std::string what) { return fail(Errc::invalid, "emit", std::move(what)); }

Failure too_long(const std::string& what, std::size_t bytes, std::size_t limit) {
  return bad(what + " has " + std::to_string(bytes) + " bytes; at most " + std::to_string(limit) + " are allowed");
}

Status check_task(const EmitTask& task) {
  if (task.key.empty()) return bad("the key of a task is empty");
  if (task.key.size() > kKeyBytesMax) return too_long("the key of a task", task.key.size(), kKeyBytesMax);
  if (task.payload.size() > kPayloadBytesMax) {
    return too_long("the payload of '" + task.key + "'", task.payload.size(), kPayloadBytesMax);
  }
  if (task.type.size() > kTypeBytesMax) return too_long("the type of a task", task.type.size(), kTypeBytesMax);
  if (task.error.size() > kErrorBytesMax) return too_long("the error of a task", task.error.size(), kErrorBytesMax);
  if (task.delay.count() < 0 || static_cast<std::uint64_t>(task.delay.count()) > kDelayMsMax) {
    return bad("the delay of '" + task.key + "' is negative, or longer than a year");
  }
  return {};
}

Status check_tasks(std::uint64_t position, const std::vector<EmitTask>& tasks) {
  if (tasks.size() > kEmitTasksMax) {
    return bad("it has " + std::to_string(tasks.size()) + " tasks; at most " + std::to_string(kEmitTasksMax) +
               " are allowed");
  }
  std::size_t bytes = 0;
  std::uint64_t last = 0;
  for (const EmitTask& task : tasks) {
    if (Status sound = check_task(task); !sound) return sound;
    const std::uint64_t at = task.position == 0 ? position : task.position;
    if (at > position) return bad("a task has a position behind that of the emit");
    if (at < last) return bad("the tasks are not in the order of their positions");
    last = at;
    bytes += task.key.size() + task.payload.size() + task.type.size();
  }
  if (bytes > kEmitBytesMax) return too_long("it", bytes, kEmitBytesMax);
  return {};
}

}  // namespace

Status check_users_source(BytesView source) {
  if (!is_own_key(source)) return {};
  return bad("sources that begin with '" + Bytes(kOwnKeys) + "' belong to the pool's own feeders");
}

Status check_users_tasks(const std::vector<EmitTask>& tasks) {
  for (const EmitTask& task : tasks) {
    if (is_own_key(task.key)) return bad("keys that begin with '" + Bytes(kOwnKeys) + "' belong to the pool itself");
    if (is_own_type(task.type)) return bad("types that begin with a dot belong to the pool itself");
  }
  return {};
}

Status Emission::check() const {
  if (source.size() > kSourceBytesMax) return too_long("the source's name", source.size(), kSourceBytesMax);
  if (position == 0 || position > kEmitPositionMax) return bad("positions are 1 to 2^62 - 1");
  return check_tasks(position, tasks);
}

Status ShardEmission::check() const {
  if (source.empty() || source.size() > kSourceBytesMax) return bad("the source's name is empty, or too long");
  if (position > kEmitPositionMax || (position == 0 && !tasks.empty())) return bad("positions are 1 to 2^62 - 1");
  return check_tasks(position, tasks);
}

}  // namespace tenure
