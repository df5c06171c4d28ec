// The files of a pool are deleted under its members, as when a volume is lost: the pool puts itself back.

#include <filesystem>

#include "log_conformance/temporary_directory.h"
#include "pool_conformance/healing_pool.h"

namespace tenure::conformance {
namespace {

TEST(SqliteHeal, PutsThePoolBackIntoNewFiles) {
  const TemporaryDirectory folder;
  HealingPool pool("sqlite:" + folder.path() + "/pool.db");
  pool.fill();
  const auto before = pool.ledger.epochs();
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) std::filesystem::remove(file.path());
  pool.expect_back(before);
  pool.close();
}

}  // namespace
}  // namespace tenure::conformance
