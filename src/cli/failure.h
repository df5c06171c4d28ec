#pragma once

// How a command reports a failure: a line for people or a JSON object, a hint (hints.h), and an exit code that
// scripts can rely on.

#include <string>

#include "base/result.h"
#include "cli/call.h"
#include "cli/hints.h"
#include "cli/output.h"

namespace tenure::cli {

// These numbers do not change.
using Exit = int;
constexpr Exit kDone = 0;
constexpr Exit kOther = 1;
constexpr Exit kUsage = 2;
constexpr Exit kKeyExists = 3;
constexpr Exit kNoSuchKey = 4;
constexpr Exit kPoolFull = 5;
constexpr Exit kTimedOut = 6;
constexpr Exit kJobFailed = 7;
constexpr Exit kEngine = 8;
constexpr Exit kPoolGone = 9;
constexpr Exit kRefusedInput = 10;

Exit exit_code(Errc code);
using Hint = std::string(const Error&);
// Writes "error":{"code","message","hint"} into the open object.
void write_error(Json& json, const Error& error, Hint* advice = hint);

// Prints the error and returns its exit code.
int report(const Call& call, const Error& error, Hint* advice = hint);
// The same for a command line that was not understood.
int report_usage(const Call& call, const Error& error);

}  // namespace tenure::cli
