#include "cli/bench_engine.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace tenure::cli {

Result<BenchPlace> BenchPlace::of(const Call& call) {
  const std::string engine = call.value("engine").value_or("sqlite:");
  if (engine.starts_with("memory:")) return BenchPlace("memory:", "");
  if (!engine.starts_with("sqlite:")) {
    return fail(Errc::invalid, "bench", "benchmarks run on sqlite: and memory: in this version");
  }
  const std::size_t query = engine.find('?');
  const std::string options = query == std::string::npos ? "" : engine.substr(query);
  const std::string path = engine.substr(7, query == std::string::npos ? query : query - 7);
  const std::filesystem::path parent = path.empty() ? std::filesystem::current_path() : std::filesystem::path(path);
  std::string folder = (parent / "tenure-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return fail(Errc::refused, "make a folder in " + parent.string(),
                "name a folder that can be written: sqlite:FOLDER");
  }
  return BenchPlace("sqlite:" + options, folder);
}

BenchPlace::BenchPlace(BenchPlace&& other) noexcept
    : engine_(std::move(other.engine_)), folder_(std::exchange(other.folder_, "")) {}

BenchPlace::~BenchPlace() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string BenchPlace::url(const std::string& name) const {
  if (folder_.empty()) return "memory:bench-" + std::to_string(getpid()) + "-" + name;
  return "sqlite:" + folder_ + "/" + name + ".db" + engine_.substr(7);
}

}  // namespace tenure::cli
