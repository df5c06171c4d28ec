#pragma once

// Streams in SQLite files (stream_file.h) as a source. `url` is sqlite:PATH?stream=NAME, with the options of the
// engine.

#include <memory>
#include <string_view>

#include "source/source.h"

namespace tenure::source::sqlite {

Result<std::unique_ptr<Source>> open_source(std::string_view url);
Result<std::unique_ptr<StreamWriter>> open_writer(std::string_view url, bool create);

}  // namespace tenure::source::sqlite
