#pragma once

// Renders a distribution of measured times as JSON and as text.

#include <string>
#include <string_view>

#include "base/distribution.h"
#include "render/json.h"

namespace tenure::render {

// "name":{"p50","p99","max","n"}
void write(Json& json, std::string_view name, const Distribution& times);
// "p50 1.234 ms, p99 2.345 ms, max 3.456 ms (n 100)"
std::string text_of(const Distribution& times);

}  // namespace tenure::render
