#pragma once

// Reads the ledger while the workers write it, and audits it on its own thread. Thread-safe.

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
  // From time to time it also calls picture.settle().
  Bookkeeper(std::unique_ptr<Ledger> ledger, Picture& picture);
  ~Bookkeeper();
  Bookkeeper(const Bookkeeper&) = delete;
  Bookkeeper& operator=(const Bookkeeper&) = delete;

  Books books() const;
  // The state now, with the ledger's rows checked against its journal. For the end, when nobody writes any more.
  Books close_books();
  // An error of the ledger itself, if there was one.
  std::optional<Error> failure() const;

 private:
  void run();
  void read();  // with the lock held

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
