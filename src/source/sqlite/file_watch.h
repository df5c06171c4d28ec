#pragma once

// Notices that a program has written to a database, whichever program it is, without looking at it all the time.
//
// The system reports each write to the database's files (inotify). SQLite makes a commit visible some time after it has
// written it: it may sync the file in between, and reports nothing then. So after a write the caller looks again, at
// growing intervals. A writer of ours touches the file behind its commit, which saves that time.

#include <string>

#include "base/clock.h"
#include "base/descriptor.h"

namespace tenure::source::sqlite {

// wake() is for any thread, the rest for one.
class FileWatch {
 public:
  FileWatch();

  // Watches this database from now on. It must be there.
  void follow(const std::string& database);
  void forget();

  enum class Ended : std::uint8_t { woken, written, time };
  Ended wait(Nanos span);
  void wake() const;

  // False if the system has no watch left for this user. Look often then.
  bool works() const { return watches_ > 0; }

  // For writers, behind a commit.
  static void touch(const std::string& database);

 private:
  Descriptor wake_;
  Descriptor files_;
  int watches_ = 0;
};

}  // namespace tenure::source::sqlite
