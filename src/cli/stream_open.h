#pragma once

// Opens the stream that a command line names.

#include <memory>
#include <tenure/stream.hpp>

#include "cli/call.h"
#include "source/source.h"

namespace tenure::cli {

// To change it.
Result<Stream> named_stream(const Call& call, bool create);
// To read it.
Result<std::unique_ptr<source::Source>> open_stream(const Call& call);

}  // namespace tenure::cli
