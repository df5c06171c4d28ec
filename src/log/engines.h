#pragma once

// The table of engines. It is the only place that knows which engines exist and which of them this build has. A new
// engine is a folder in src/log/, a row in engines.cc, and its build option in CMake.
//
// To open a log, use open_log() (open.h).

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenure/defaults.hpp>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "log/finding.h"
#include "log/open.h"

namespace tenure {

// Who can share an engine's logs.
enum class Reach : std::uint8_t {
  process,  // the threads of one process
  host,     // the processes of one host. A log is a file, its URL is SCHEME:PATH[?OPTIONS]
  network,  // every host that reaches the server
};

// One row of the table. The functions are null if the build does not have the engine, or if the engine has nothing to
// do there. All of them take the whole URL.
struct Engine {
  std::string_view name{};
  std::span<const std::string_view> schemes{};
  std::string_view form{};    // how its URLs are written, for people
  std::string_view option{};  // the build option that adds it; empty: every build has it
  Reach reach = Reach::process;
  // The lease of workers for whom nobody chose one: longer than the engine needs to recover from a failure of its own.
  std::chrono::milliseconds lease{kWorkerTtlMsDefault};

  Result<std::unique_ptr<Log>> (*open)(std::string_view url, const LogOptions& options) = nullptr;
  // The file of a pool's log, or where it would be. Nothing if the URL is wrong.
  std::optional<std::string> (*file)(std::string_view url, std::string_view pool, std::uint32_t shard) = nullptr;
  // Looks at the engine's settings. Returns nothing if the engine cannot be reached: opening the log says why.
  std::vector<Finding> (*inspect)(std::string_view url, const LogOptions& options) = nullptr;

  // Measures how long an entry of 64 bytes takes from one process to another through the engine's server, with the
  // least code that can do it. The benchmarks compare a pool with this. Takes `count` measurements, one after the
  // other, or none if the server cannot be reached in this plain way.
  Result<std::vector<Nanos>> (*measure_bare_hops)(std::string_view url, int count) = nullptr;
  std::string_view bare_hop{};  // what is measured, for people
  // The option of a URL by which a log has exactly the pool's name, where that is not so anyway: NAME=VALUE.
  std::string_view own_name{};

  bool built() const { return open != nullptr; }
};

// Every engine that this version knows, also those that this build does not have.
std::span<const Engine> engines();

// The engine that a URL names, by its scheme; null if there is none.
const Engine* engine_of(std::string_view url);
// The same, but it must be an engine of this build. The error lists the engines of this build.
Result<const Engine*> built_engine_of(std::string_view url);
// The engine of this build whose logs are files. Errc::refused if the build has none.
Result<const Engine*> file_engine();
// The URL of a log in this file, without options.
std::string file_url(const Engine& engine, std::string_view path);

// The lease of workers for whom nobody chose one. An unknown URL gets the ordinary one.
std::chrono::milliseconds default_lease(std::string_view url);

// The URL with which a log on the engine has the pool's own name, so that other programs find it. A URL that says
// otherwise stays as it is.
std::string own_name_url(std::string_view url);

// Who can share the log of a URL. An unknown URL counts as a server's: opening it fails with an explanation.
Reach reach_of(std::string_view url);

}  // namespace tenure
