// Streams in SQLite files, for the suite of all kinds of sources.

#include "log_conformance/temporary_directory.h"
#include "source/stream_url.h"
#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

class SqliteStreamPlace final : public StreamPlace {
 public:
  std::string url(const std::string& stream) override {
    return source::with_stream("sqlite:" + directory_.path() + "/pool.db", stream);
  }

 private:
  const TemporaryDirectory directory_;
};

const RegisteredSource kSqliteSource({.name = "sqlite",
                                      .across_processes = true,
                                      .dense = true,
                                      .limits = true,
                                      .make_place = make_stream_place<SqliteStreamPlace>});

}  // namespace
}  // namespace tenure::conformance
