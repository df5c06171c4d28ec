#include "log/sqlite/log_clock.h"

#include <fstream>
#include <string>

#include "base/entropy.h"
#include "log/engine_time.h"

namespace tenure::sqlite {
namespace {

// If the kernel does not report a boot id, every opening counts as a new boot. Times then follow the wall clock at each
// opening, and still never go back.
std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id) && !id.empty()) return id;
  return "unknown-" + to_hex(SystemEntropy().id());
}

Status store(Connection& connection, const std::string& boot_id, std::int64_t offset_ms) {
  auto put = connection.prepare("INSERT OR REPLACE INTO meta VALUES('boot_id', ?1), ('time_offset_ms', ?2)");
  if (!put) return Failure(put.error());
  put->bind_text(1, boot_id);
  put->bind(2, offset_ms);
  return put->run();
}

}  // namespace

Result<std::int64_t> boot_offset_ms(Connection& connection, const Clock& clock) {
  const std::string boot_id = read_boot_id();
  auto known = connection.prepare(
      "SELECT a.value, b.value FROM meta a, meta b WHERE a.name='boot_id' AND b.name='time_offset_ms'");
  if (!known) return Failure(known.error());
  const Result<bool> row = known->step();
  if (!row) return Failure(row.error());
  if (*row && known->text(0) == boot_id) return known->integer(1);
  known->reset();

  const auto last_ms = connection.query_integer("SELECT time_ms FROM runs ORDER BY first DESC LIMIT 1");
  if (!last_ms) return Failure(last_ms.error());
  const std::int64_t offset_ms = engine_time_offset_ms(*last_ms, clock.wall_ms(), to_ms(clock.now().since_boot));
  const Status stored = transact(connection, [&] { return store(connection, boot_id, offset_ms); });
  if (!stored) return Failure(stored.error());
  return offset_ms;
}

}  // namespace tenure::sqlite
