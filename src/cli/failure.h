#pragma once

// How a command says that it could not do what was asked: a line for people or a JSON object, a hint at what to do
// next, and an exit code that scripts can rely on.

#include <string>

#include "base/result.h"
#include "cli/call.h"
#include "cli/json.h"

namespace tenure::cli {

// What scripts may rely on.
enum Exit : int {
  kDone = 0,
  kOther = 1,
  kUsage = 2,
  kKeyExists = 3,
  kNoSuchKey = 4,
  kPoolFull = 5,
  kTimedOut = 6,
  kJobFailed = 7,
  kEngine = 8,
  kPoolGone = 9,
  kRefusedInput = 10,
};

Exit exit_code(Errc code);
// What to do about it, in a sentence; empty where there is nothing to say.
std::string hint(Errc code);
// "error":{"code","message","hint"}, as a member of the object that is open.
void write_error(Json& json, const Error& error);

// Says it, and gives the exit code.
int report(const Call& call, const Error& error);
// For a command line that was not understood.
int report_usage(const Call& call, const Error& error);

// A line on standard output, at once.
void print(std::string_view line);
// A line for people on standard error.
void say(std::string_view line);

}  // namespace tenure::cli
