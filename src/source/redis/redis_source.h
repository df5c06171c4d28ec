#pragma once

// Redis streams as a source: keys to which any client may XADD. `url` is any form of the engine's URLs with
// ?stream=KEY.

#include <memory>
#include <string_view>

#include "source/source.h"

namespace tenure::source::redis {

Result<std::unique_ptr<Source>> open_source(std::string_view url);
Result<std::unique_ptr<StreamWriter>> open_writer(std::string_view url, bool create);

}  // namespace tenure::source::redis
