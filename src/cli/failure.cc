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
    case Errc::closed: return kPoolGone;
    case Errc::invalid: return kRefusedInput;
    default: return kOther;
  }
}

std::string hint(Errc code) {
  switch (code) {
    case Errc::key_exists: return "'tenure explain KEY' says who holds it; 'tenure stop KEY' ends it";
    case Errc::no_such_key: return "'tenure jobs' lists the keys there are";
    case Errc::pool_full: return "start more workers, or try again when some of what waits has been started";
    case Errc::timed_out:
      return "what was sent may still happen; wait longer with --timeout, or look with 'tenure jobs'";
    case Errc::job_failed: return "'tenure dead list' shows what is out of attempts";
    case Errc::unavailable: return "check --engine and that the engine is up; 'tenure doctor' looks closer";
    case Errc::refused: return "check --engine, --pool and the permissions; 'tenure doctor' looks closer";
    case Errc::full: return "make room on the disk; nothing was half-written";
    case Errc::corrupt: return "the data is damaged: restore a copy, or begin anew under another path";
    case Errc::version: return "use the version of tenure that wrote it, or a newer one";
    case Errc::shutting_down: return "the pool takes nothing new; when it is gone, the name can be used again";
    case Errc::overloaded: return "wait with --force-enqueue, or serve more with --workers and --max-queue";
    case Errc::busy: return "try again shortly";
    default: return "";
  }
}

namespace {

// Scripts look for the message: it is there in any case, and exact beside it where it is no text.
void write_message(Json& json, const std::string& message) {
  if (!is_utf8(message)) json.field("message", printable(message));
  json.field("message", message);
}

}  // namespace

void write_error(Json& json, const Error& error, Hint* advice) {
  json.object("error").field("code", to_string(error.code));
  write_message(json, error.message());
  const std::string next = advice(error.code);
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
  const std::string next = advice(error.code);
  if (!next.empty()) print_note("  " + next);
  return exit_code(error.code);
}

// What was typed is repeated in it, and may have been a URL.
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
