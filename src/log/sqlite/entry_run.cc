#include "log/sqlite/entry_run.h"

#include <utility>

namespace tenure::sqlite {

void RunPacker::add(BytesView entry) {
  const auto size = static_cast<std::uint32_t>(entry.size());
  for (int shift = 0; shift < 32; shift += 8) sizes_ += static_cast<char>(size >> shift & 0xFF);
  entries_.append(entry);
}

Bytes RunPacker::take() {
  Bytes data = std::exchange(sizes_, {});
  data.append(entries_);
  entries_.clear();
  return data;
}

std::optional<std::vector<BytesView>> unpack_run(BytesView data, std::int64_t count) {
  if (count < 1 || static_cast<std::size_t>(count) > data.size() / 4) return std::nullopt;
  const BytesView sizes = data.substr(0, static_cast<std::size_t>(count) * 4);
  data.remove_prefix(sizes.size());
  std::vector<BytesView> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < sizes.size(); at += 4) {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size |= std::uint32_t{static_cast<unsigned char>(sizes[at + i])} << (8 * i);
    if (size > data.size()) return std::nullopt;
    entries.push_back(data.substr(0, size));
    data.remove_prefix(size);
  }
  if (!data.empty()) return std::nullopt;
  return entries;
}

}  // namespace tenure::sqlite
