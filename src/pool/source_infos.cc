#include "pool/source_infos.h"

#include <algorithm>

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

}  // namespace

// A partition that was made anew goes on under another name. The last one shows where it is; the counts are those of
// all.
std::vector<SourceInfo> source_infos(const std::map<Bytes, std::vector<v1::ListedSource>>& listed,
                                     std::uint32_t shards) {
  std::vector<SourceInfo> infos;
  std::uint32_t last = 0;  // the generation of the last entry
  for (const auto& [name, parts] : listed) {
    SourceInfo info = info_of(name, parts, shards);
    const auto own = feeder::read_own_key(name);
    if (!own) {
      infos.push_back(std::move(info));
      continue;
    }
    info.fed = true;
    info.name = Bytes(own->name);
    info.partition = Bytes(own->partition);
    const std::uint32_t generation = feeder::number_of(own->generation);
    const bool again = !infos.empty() && infos.back().fed && infos.back().name == info.name &&
                       infos.back().partition == info.partition;
    if (!again) {
      infos.push_back(std::move(info));
      last = generation;
      continue;
    }
    SourceInfo& known = infos.back();
    if (generation < last) std::swap(known, info);
    info.tasks += known.tasks;
    info.buried += known.buried;
    if (info.lost == 0) {
      info.lost_first = known.lost_first;
      info.lost_last = known.lost_last;
      info.lost_age = known.lost_age;
    }
    info.lost += known.lost;
    known = std::move(info);
    last = std::max(last, generation);
  }
  return infos;
}

}  // namespace tenure
