// The embedded engine, for the suite. Its shards are tested in pool_conformance/shards_test.cc, because here their
// commits would take most of the time.

#include <filesystem>

#include "log_conformance/engine.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::conformance {
namespace {

class SqlitePlace final : public Place {
 public:
  std::string url() const override { return "sqlite:" + directory_.path() + "/pool.db"; }
  std::vector<std::string> leftovers() const override {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  const TemporaryDirectory directory_;
};

const RegisteredEngine kSqlite(
    {.name = "sqlite", .across_processes = true, .many_pools = true, .make_place = make<SqlitePlace>});

}  // namespace
}  // namespace tenure::conformance
