#pragma once

// A pool's file as this process has it open: its path, the files beside it, and the one writer.
//
// Fork is not supported: SQLite's connections and the threads here do not survive it. Start programs with exec.

#include <memory>
#include <optional>
#include <string>

#include "log/open.h"
#include "log/sqlite/connection.h"
#include "log/sqlite/proof.h"
#include "log/sqlite/recent_commits.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/wake_file.h"
#include "log/sqlite/writer.h"

namespace tenure::sqlite {

// Thread-safe. The writing handles of this process share it. A read-only handle has its own, without a writer.
class PoolFile {
 public:
  // Waits for other openers and writers for up to `patience`, then fails with Errc::unavailable.
  static Result<std::shared_ptr<PoolFile>> open(const SqliteSettings& settings, const LogOptions& options,
                                                TurnPatience patience = WriteTurn::kPatience);

  // Opens a connection for a reader.
  Result<Connection> connect() const { return Connection::open(path_, Connection::Mode::existing); }

  // Errc::lost_history if a newcomer would get other files than these (proof.h).
  Status still_there() const;
  // The same without a look for another file of the pool (whereabouts.h), which costs as much as the rest.
  Status unchanged() const { return proof_.check(); }
  // The same check for a new connection.
  Status has(const Connection& connection) const;

  const std::string& pool() const { return pool_; }
  std::uint32_t shards() const { return shards_; }
  WakeFile& wake() { return *wake_; }
  Writer& writer() { return *writer_; }  // not for a read-only handle
  const RecentCommits& recent() const { return recent_; }

 private:
  static Result<std::shared_ptr<PoolFile>> open_for_reading(const SqliteSettings& settings, const LogOptions& options);
  // The file that this process already has open, or otherwise a new one.
  static Result<std::shared_ptr<PoolFile>> open_known(const SqliteSettings& settings, const LogOptions& options,
                                                      TurnPatience patience);
  static Result<std::shared_ptr<PoolFile>> open_for_writing(const SqliteSettings& settings, const LogOptions& options,
                                                            TurnPatience patience);
  // At settings.path. Nothing if the pool has to be elsewhere.
  static Result<std::shared_ptr<PoolFile>> open_first(const SqliteSettings& settings, const LogOptions& options,
                                                      TurnPatience patience);
  // At settings.own_path. It is created there only if another pool's file is at settings.path, or if it belongs apart.
  static Result<std::shared_ptr<PoolFile>> open_own(const SqliteSettings& settings, const LogOptions& options,
                                                    TurnPatience patience);
  // With the write turn held, which is that of `wake`. A file that is opened takes over `wake`, and the turn is
  // released.
  static Result<std::shared_ptr<PoolFile>> open_here(const SqliteSettings& settings, const std::string& path,
                                                     const LogOptions& options, std::unique_ptr<WakeFile>& wake,
                                                     WriteTurn& turn, bool shared);

  PoolFile(std::string path, std::string other_path, std::string pool, std::uint32_t shards,
           std::unique_ptr<WakeFile> wake, Proof proof)
      : path_(std::move(path)),
        other_path_(std::move(other_path)),
        pool_(std::move(pool)),
        shards_(shards),
        proof_(std::move(proof)),
        wake_(std::move(wake)) {}
  Status start_writer(Connection connection);
  Status prove_for_writing(Connection& connection, bool beats);

  const std::string path_;
  const std::string other_path_;  // a newcomer would open it, if it existed; may be empty
  const std::string pool_;
  const std::uint32_t shards_;
  const Proof proof_;
  const std::unique_ptr<WakeFile> wake_;
  RecentCommits recent_;
  std::optional<Connection> kept_;  // of one without a writer: with it the files stay open that the proof is about
  std::unique_ptr<Writer> writer_;  // after wake_ and recent_, which it uses
};

}  // namespace tenure::sqlite
