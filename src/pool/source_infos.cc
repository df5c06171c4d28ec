#include "pool/source_infos.h"

#include <algorithm>
#include <tuple>

#include "feeder/spec.h"
#include "tenure/v1/listings.pb.h"

namespace tenure {
namespace {

SourceInfo info_of(const Bytes& name, const std::vector<v1::ListedSource>& parts, std::uint32_t shards) {
  SourceInfo info;
  info.name = name;
  // A shard that does not have it has taken in nothing.
  info.position = parts.size() < shards ? 0 : UINT64_MAX;
  for (const v1::ListedSource& part : parts) {
    info.position = std::min<std::uint64_t>(info.position, part.position());
    info.tasks += part.tasks();
    info.buried += part.buried();
    info.lost += part.lost();
    info.end = std::max<std::uint64_t>(info.end, part.end());
    if (!part.trouble().empty()) info.trouble = part.trouble();
    if (part.lost() != 0) {
      info.lost_first = part.lost_first();
      info.lost_last = part.lost_last();
      info.lost_age = std::chrono::milliseconds(part.lost_age_ms());
    }
    if (part.epoch() < info.epoch) continue;
    info.epoch = part.epoch();
    info.key = part.key();
  }
  return info;
}

void add_counts(const SourceInfo& earlier, SourceInfo& to) {
  to.tasks += earlier.tasks;
  to.buried += earlier.buried;
  if (to.lost == 0) {
    to.lost_first = earlier.lost_first;
    to.lost_last = earlier.lost_last;
    to.lost_age = earlier.lost_age;
  }
  to.lost += earlier.lost;
}

}  // namespace

// A partition that was made anew goes on under another name. The last one shows where it is; the counts are those of
// all.
std::vector<SourceInfo> source_infos(const std::map<Bytes, std::vector<v1::ListedSource>>& listed,
                                     std::uint32_t shards) {
  struct Known {
    std::uint32_t generation = 0;
    SourceInfo info{};
  };
  // Partition 10 comes behind partition 9.
  std::map<std::tuple<bool, std::string, std::size_t, std::string>, Known> known;
  for (const auto& [name, parts] : listed) {
    SourceInfo info = info_of(name, parts, shards);
    std::uint32_t generation = 0;
    if (const auto own = feeder::read_own_key(name)) {
      info.fed = true;
      info.name = Bytes(own->name);
      info.partition = Bytes(own->partition);
      generation = feeder::number_of(own->generation);
    }
    const auto [entry, added] =
        known.try_emplace({info.fed, info.name, info.partition.size(), info.partition}, Known{generation, info});
    if (added) continue;
    Known& other = entry->second;
    if (generation < other.generation) {
      add_counts(info, other.info);
    } else {
      add_counts(other.info, info);
      other = {generation, std::move(info)};
    }
  }
  std::vector<SourceInfo> infos;
  for (auto& [key, one] : known) infos.push_back(std::move(one.info));
  return infos;
}

}  // namespace tenure
