#include "base/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenure {

std::uint64_t hash_bytes(BytesView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string to_hex(std::uint64_t word) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; word >>= 4) text[i] = kDigits[word & 15];
  return text;
}

}  // namespace tenure
