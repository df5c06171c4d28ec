#pragma once

// Opens the stream that a command line names, to read it.

#include <memory>

#include "cli/call.h"
#include "source/source.h"

namespace tenure::cli {

Result<std::unique_ptr<source::Source>> open_stream(const Call& call);

}  // namespace tenure::cli
