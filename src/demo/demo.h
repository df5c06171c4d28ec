#pragma once

// `tenure demo`: a pool of worker processes that are killed, frozen and replaced under load. Measures the effect on the
// tenants that they hold.
//
//   parent: picture (what the log says) ─┐
//           bookkeeper (what the ledger says) ─┼─▶ figures ─▶ view or JSON
//           director (kills, freezes, replaces) ─▶ crew ─▶ worker processes ─▶ fenced ticks ─▶ ledger
//
// The ledger judges the pool. It is a database that the workers write to, and it knows nothing of the pool but the
// epochs of the writes.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::demo {

struct DemoOptions {
  int workers = 4;
  int tenants = 64;
  std::optional<std::chrono::milliseconds> run_for{};  // nothing: until `q`, or until the script is through
  std::vector<char> script{};                          // of kActs; given, the demo runs by itself
  bool json = false;
  std::string program{};     // what to run workers with, as `PROGRAM demo-worker …`; empty: this program
  std::string engine_url{};  // empty: a temporary SQLite file
};

constexpr int kWorkersMax = 9;
constexpr int kTenantsMax = 512;
// Kill, freeze, rolling restart, bad deploy, add a worker, remove a worker.
constexpr char kActs[] = "kzrb+-";

// Errc::invalid if an option is out of bounds.
Status check(const DemoOptions& options);
// True if no key had two holders and no tick was lost.
Result<bool> run_demo(const DemoOptions& options);

// Runs a worker process of the demo, or the sweeper. The arguments are those after `demo-worker`.
int run_demo_worker(const std::vector<std::string>& arguments);

}  // namespace tenure::demo
