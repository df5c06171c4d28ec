#pragma once

// Reads the ledger as the workers write it, and audits it. A thread of its own; thread-safe.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "demo/audit.h"
#include "demo/ledger.h"
#include "demo/picture.h"

namespace tenure::demo {

struct Books {
  std::uint64_t ticks = 0;
  std::uint64_t double_holders = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::optional<JournalLine> last_refused{};
  std::map<std::string, std::uint64_t> ticks_of{};
};

class Bookkeeper {
 public:
  // Also tells the picture, now and then, to look whether the pool has settled.
  Bookkeeper(std::unique_ptr<Ledger> ledger, Picture& picture);
  ~Bookkeeper();
  Bookkeeper(const Bookkeeper&) = delete;
  Bookkeeper& operator=(const Bookkeeper&) = delete;

  Books books() const;
  // As of now, and what the ledger's rows say next to its journal: for the end, when nobody writes any more.
  Books close_books();
  // What went wrong with the ledger itself, if anything did.
  std::optional<Error> failure() const;

 private:
  void run();
  void read();  // under the lock

  Picture& picture_;
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  std::unique_ptr<Ledger> ledger_;  // guarded by mutex_, as all below
  Audit audit_;
  Books books_;
  std::int64_t read_up_to_ = 0;
  std::int64_t dropped_up_to_ = 0;
  std::optional<Error> failure_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tenure::demo
