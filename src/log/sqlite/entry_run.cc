#include "log/sqlite/entry_run.h"

namespace tenure::sqlite {
namespace {

// Memory that a very large entry needed is freed.
constexpr std::size_t kKeptBytes = 2 * kRunBytesMax;

}  // namespace

void RunPacker::add(BytesView entry) {
  entries_.push_back(entry);
  bytes_ += entry.size();
}

BytesView RunPacker::pack() {
  packed_.clear();
  if (packed_.capacity() > kKeptBytes) packed_.shrink_to_fit();
  packed_.reserve(4 * entries_.size() + bytes_);
  for (const BytesView entry : entries_) {
    const auto size = static_cast<std::uint32_t>(entry.size());
    char little_endian[4];
    for (int i = 0; i < 4; ++i) little_endian[i] = static_cast<char>(size >> (8 * i) & 0xFF);
    packed_.append(little_endian, sizeof little_endian);
  }
  for (const BytesView entry : entries_) packed_.append(entry);
  clear();
  return packed_;
}

void RunPacker::clear() {
  entries_.clear();
  bytes_ = 0;
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
