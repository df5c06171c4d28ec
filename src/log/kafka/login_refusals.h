#pragma once

// Whether the brokers refuse the login of a handle. All instances of librdkafka that a handle uses share one object.
//
// A password may be replaced while a log is open: in its file first, or at the brokers first. So if the log was open
// before, a refusal counts as unavailable for `login_patience`. Each new connection reads the file again
// (Client::renew_login).

#include <mutex>

#include "base/clock.h"

namespace tenure::kafka {

// Thread-safe.
class LoginRefusals {
 public:
  // librdkafka repeats the report of a refusal after this time at the latest, as long as the refusal lasts.
  static constexpr Nanos kRepeatedWithin = std::chrono::seconds(45);

  // The brokers have accepted the login.
  void note_opened() {
    const std::lock_guard lock(mutex_);
    opened_ = true;
  }
  // librdkafka reports a refused login.
  void note_refused(Instant now) {
    const std::lock_guard lock(mutex_);
    if (!refused(now)) since_ = now;
    last_ = now;
    reported_ = true;
  }
  // Whether a refusal is final by now, and not a password that is being replaced.
  bool is_final(Instant now, Nanos patience) const {
    const std::lock_guard lock(mutex_);
    return !opened_ || (refused(now) && now - since_ > patience);
  }

 private:
  bool refused(Instant now) const { return reported_ && now - last_ <= kRepeatedWithin; }

  mutable std::mutex mutex_;
  bool opened_ = false;    // guarded by mutex_
  bool reported_ = false;  // guarded by mutex_
  Instant since_;          // guarded by mutex_; the first report of a row
  Instant last_;           // guarded by mutex_
};

}  // namespace tenure::kafka
