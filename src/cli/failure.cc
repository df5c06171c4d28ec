#include "cli/failure.h"

#include "base/mask_login.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "cli/command.h"

namespace tenure::cli {

Exit exit_code(Errc code) {
  switch (code) {
    case Errc::key_exists: return kKeyExists;
    case Errc::no_such_key: return kNoSuchKey;
    case Errc::overloaded:
    case Errc::pool_full: return kPoolFull;
    case Errc::timed_out: return kTimedOut;
    case Errc::worker_died:
    case Errc::job_failed: return kJobFailed;
    case Errc::unavailable:
    case Errc::refused:
    case Errc::full:
    case Errc::corrupt:
    case Errc::version:
    case Errc::lost_history: return kEngine;
    case Errc::shutting_down:
    case Errc::pool_down:
    case Errc::no_such_pool:
    case Errc::closed: return kPoolGone;
    case Errc::invalid: return kRefusedInput;
    default: return kOther;
  }
}

namespace {

// Scripts read the message, so it is always there. If it is not valid UTF-8, the exact bytes are beside it.
void write_message(Json& json, const std::string& message) {
  if (!is_utf8(message)) json.field("message", printable(message));
  json.field("message", message);
}

}  // namespace

void write_error(Json& json, const Error& error, Hint* advice) {
  json.object("error").field("code", to_string(error.code));
  write_message(json, error.message());
  const std::string next = advice(error);
  if (!next.empty()) json.field("hint", next);
  json.end();
}

int report(const Call& call, const Error& error, Hint* advice) {
  if (call.json()) {
    Json json;
    json.object();
    write_error(json, error, advice);
    print(json.end());
  }
  print_note("tenure: " + error.message());
  const std::string next = advice(error);
  if (!next.empty()) print_note("  " + next);
  return exit_code(error.code);
}

// The message repeats what was typed, which may be a URL with a password.
int report_usage(const Call& call, const Error& error) {
  const std::string message = mask_logins(error.context);
  if (call.json()) {
    Json json;
    json.object().object("error").field("code", "usage");
    write_message(json, message);
    print(json.end().end());
  }
  print_note("tenure: " + message);
  print_note("  see tenure help" + (call.command == nullptr ? "" : " " + std::string(call.command->name)));
  return kUsage;
}

}  // namespace tenure::cli
