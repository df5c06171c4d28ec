#pragma once

// Streams in memory as a source. `url` is memory:NAME?stream=NAME.

#include <memory>
#include <string_view>

#include "source/source.h"

namespace tenure::source::memory {

Result<std::unique_ptr<Source>> open_source(std::string_view url);
Result<std::unique_ptr<StreamWriter>> open_writer(std::string_view url, bool create);

}  // namespace tenure::source::memory
