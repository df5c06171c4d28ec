#pragma once

// Emits of the residents of this process: splits each among the shards, and puts the answers together.
//
//   handler ─ emit ─▶ TenureEmitter ─ a request for each shard with tasks ─▶ Shards ─▶ logs
//           ◀─ done ─      │        ◀──────────── tickets ───────────────────┘
//                    SourceBook: what each shard has
//
// Emitters belongs to the Shards of a pool. A TenureEmitter belongs to a job of a host, and may outlive the pool.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/shard.h"
#include "base/thread_loop.h"
#include "node/keys/emitter.h"
#include "node/request.h"
#include "node/sources/source_book.h"
#include "pool/pending_ticket.h"

namespace tenure {

class Emitters;
class Shards;

// Sources of one tenure. With more the handler gets Errc::invalid.
constexpr std::size_t kSourcesPerTenureMax = 1024;

// Thread-safe. No callback runs with the lock held.
class TenureEmitter final : public Emitter, public std::enable_shared_from_this<TenureEmitter> {
 public:
  // Through the door emitters find the pool, or learn that it is gone. The pool waits for those that are inside. They
  // hold no lock there: to send, a thread may become the loop for a moment.
  struct Door {
    std::mutex mutex;
    std::condition_variable left;
    Emitters* pool = nullptr;  // guarded by mutex, as is the number of threads inside; null once it is gone
    std::size_t inside = 0;
  };

  TenureEmitter(std::shared_ptr<Door> door, Hold hold, std::uint32_t shards)
      : door_(std::move(door)), hold_(std::move(hold)), shards_(shards), home_(shard_of(hold_.key, shards)) {}

  void emit(std::shared_ptr<const Emission> emission, Nanos timeout, Done done) override;
  void ask(Bytes source, SourceReport report, Nanos timeout, Done done) override;
  void tell(Bytes source, SourceReport report) override;

  // From time to time: gives up what takes too long, and tells shards how far the sources are. False if there is
  // nothing to look after.
  bool look(Instant now);

 private:
  // One call under way.
  struct Work {
    std::uint64_t number = 0;
    Done done;
    Instant deadline;
    std::shared_ptr<const Emission> emission{};  // null: it asks
    SourceReport report{};                       // of a question
    bool asking = true;                          // the shards how far they are, first
    std::size_t open = 0;                        // answers
    std::optional<Error> failed{};
  };
  struct Line {
    explicit Line(std::uint32_t shards) : book(shards) {}
    SourceBook book;
    std::optional<Work> work;
    bool asked = false;        // by the handler, since the last loss
    std::size_t tellings = 0;  // on their way
    std::optional<Instant> rests_since;
  };
  // What is to be sent, and to be called, once the lock is released.
  struct Due {
    std::vector<SourceBook::Part> parts{};
    SourceReport report{};  // for the part of the key's shard
    std::uint64_t number = 0;
    Done done{};
    Result<std::uint64_t> result{0};
  };

  Bytes name_of(const Bytes& source) const { return source.empty() ? hold_.key : source; }
  Due begin(Line& line, Work work);
  Due send_tasks(Line& line);
  Due finish(Line& line, Result<std::uint64_t> result);
  void carry_out(const Bytes& source, Due due);
  void send(const Bytes& source, SourceBook::Part part, SourceReport report, std::uint64_t number);
  Result<TicketPtr> submit(std::uint32_t shard, const Request& request);
  void answered(const Bytes& source, const SourceBook::Part& part, std::uint64_t number,
                const Result<std::string>& answer);
  Due note_answer(Line& line, const SourceBook::Part& part, const Result<std::string>& answer);

  const std::shared_ptr<Door> door_;
  const Hold hold_;
  const std::uint32_t shards_;
  const std::uint32_t home_;  // the shard of the key
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<Bytes, Line> lines_;
  std::uint64_t works_ = 0;
};

// Thread-safe.
class Emitters {
 public:
  // The loop is that of the first shard.
  Emitters(Shards& shards, ThreadLoop& loop);
  ~Emitters();
  Emitters(const Emitters&) = delete;
  Emitters& operator=(const Emitters&) = delete;

  std::shared_ptr<Emitter> open(const Hold& hold);
  // Nothing is sent any more. Not on the loop.
  void close();

  // For TenureEmitter, from inside the door.
  Shards& shards() { return shards_; }
  void look_soon();

 private:
  void look();

  Shards& shards_;
  ThreadLoop& loop_;
  const std::shared_ptr<TenureEmitter::Door> door_ = std::make_shared<TenureEmitter::Door>();
  std::mutex mutex_;
  std::vector<std::weak_ptr<TenureEmitter>> all_;  // guarded by mutex_
  std::size_t swept_ = 0;                          // guarded by mutex_: how many were left by the last sweep
  std::atomic<bool> looks_ = false;                // a look is due
  std::optional<Timer> timer_;                     // owned by the loop
};

}  // namespace tenure
