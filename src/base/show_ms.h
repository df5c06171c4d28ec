#pragma once

// A duration for people: "250 ms", "4.2 s", "3 min 5 s", "2 h 10 min", "4 d".

#include <cstdint>
#include <string>

namespace tenure {

std::string show_ms(std::int64_t ms);

}  // namespace tenure
