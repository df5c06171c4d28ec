#include "log/redis/command.h"

#include <hiredis/hiredis.h>

#include <new>
#include <vector>

namespace tenure::redis {

Bytes command(std::span<const std::string_view> words) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : words) {
    starts.push_back(word.data() == nullptr ? "" : word.data());
    sizes.push_back(word.size());
  }
  char* formatted = nullptr;
  const int size = redisFormatCommandArgv(&formatted, static_cast<int>(words.size()), starts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  Bytes bytes(formatted, static_cast<std::size_t>(size));
  redisFreeCommand(formatted);
  return bytes;
}

}  // namespace tenure::redis
