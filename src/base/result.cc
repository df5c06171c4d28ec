#include "base/result.h"

#include <cstdlib>

#include "base/output.h"

namespace tenure {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::invalid: return "invalid";
    case Errc::key_exists: return "key_exists";
    case Errc::no_such_key: return "no_such_key";
    case Errc::pool_full: return "pool_full";
    case Errc::shutting_down: return "shutting_down";
    case Errc::job_failed: return "job_failed";
    case Errc::unavailable: return "unavailable";
    case Errc::unknown: return "unknown";
    case Errc::refused: return "refused";
    case Errc::full: return "full";
    case Errc::corrupt: return "corrupt";
    case Errc::version: return "version";
    case Errc::trimmed: return "trimmed";
    case Errc::lost_history: return "lost_history";
    case Errc::closed: return "closed";
    case Errc::timed_out: return "timed_out";
    case Errc::busy: return "busy";
    case Errc::overloaded: return "overloaded";
    case Errc::pool_down: return "pool_down";
    case Errc::no_such_pool: return "no_such_pool";
    case Errc::worker_died: return "worker_died";
  }
  return "unnamed";
}

std::string Error::message() const {
  std::string text = operation;
  text += ": ";
  text += to_string(code);
  if (!context.empty()) {
    text += " (";
    text += context;
    text += ")";
  }
  return text;
}

void detail::error_of_success() {
  warn_at_once("tenure: Result::error() was called on a Result that holds a value; check it first");
  std::abort();
}

}  // namespace tenure
