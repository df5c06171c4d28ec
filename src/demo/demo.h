#pragma once

// `tenure demo`: a pool of worker processes that are killed, frozen and replaced under load, and what that did to the
// tenants they hold, measured.
//
//   parent: picture (what the log says) ─┐
//           bookkeeper (what the ledger says) ─┼─▶ figures ─▶ view or JSON
//           director (kills, freezes, replaces) ─▶ crew ─▶ worker processes ─▶ fenced ticks ─▶ ledger
//
// The pool is judged by the ledger, a database that the workers write to: it knows nothing of the pool but the epochs
// that come with each write.

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
// Kill, freeze, rolling restart, one worker more, one less.
constexpr char kActs[] = "kzr+-";

// Errc::invalid for options out of bounds.
Status check(const DemoOptions& options);
// Whether no key had two holders and no tick was lost.
Result<bool> run_demo(const DemoOptions& options);

// A worker process of the demo, or the sweeper that cleans up behind it. The arguments are those after `demo-worker`.
int run_demo_worker(const std::vector<std::string>& arguments);

}  // namespace tenure::demo
