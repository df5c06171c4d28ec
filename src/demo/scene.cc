#include "demo/scene.h"

#include <algorithm>

#include "demo/human_ms.h"

namespace tenure::demo {
namespace {

constexpr Nanos kFresh = std::chrono::milliseconds(1200);

const char* state_of(const Member& member, const WorkerLife* life) {
  switch (member.state) {
    case Member::State::up:
      if (life == nullptr) return "joining";
      return life->unfit ? "unfit" : "serving";
    case Member::State::frozen: return "frozen";
    case Member::State::leaving: return "leaving";
    case Member::State::killed: return "killed";
  }
  return "?";
}

Cell cell_of(const std::string& key, const Tenant& tenant, bool holder_down, Instant now) {
  Cell cell;
  cell.key = key;
  cell.slot = slot_of(tenant.worker);
  switch (tenant.phase) {
    case Tenant::Phase::waiting:
      cell.mood = Cell::Mood::orphan;
      cell.alone_ms = ms(now - tenant.gap_from.value_or(tenant.since));
      break;
    case Tenant::Phase::starting:
    case Tenant::Phase::stopping: cell.mood = Cell::Mood::moving; break;
    case Tenant::Phase::running:
      cell.mood = now - tenant.since < kFresh && tenant.history.size() > 1 ? Cell::Mood::fresh : Cell::Mood::ticking;
      break;
  }
  if (holder_down && tenant.phase != Tenant::Phase::waiting) cell.mood = Cell::Mood::stale;
  return cell;
}

}  // namespace

int slot_of(const std::string& worker) {
  return worker.size() > 1 && worker[1] >= '1' && worker[1] <= '9' ? worker[1] - '0' : 0;
}

Scene make_scene(const PoolPicture& picture, const std::vector<Member>& members, const Books& books, Instant now,
                 Nanos lease) {
  Scene scene;
  scene.lease_ms = ms(lease);
  const auto runs = [&](const std::string& worker) {
    return std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.id == worker && member.state != Member::State::frozen && member.state != Member::State::killed;
    });
  };
  for (const auto& [key, tenant] : picture.tenants) {
    Cell cell = cell_of(key, tenant, !runs(tenant.worker), now);
    if (const auto ticks = books.ticks_of.find(key); ticks != books.ticks_of.end()) cell.ticks = ticks->second;
    scene.cells.push_back(std::move(cell));
  }
  for (const Member& member : members) {
    const auto life = picture.workers.find(member.id);
    const bool joined = life != picture.workers.end();
    WorkerLine line{member.slot,
                    member.id,
                    member.process,
                    state_of(member, joined ? &life->second : nullptr),
                    picture.keys_of(member.id),
                    {}};
    if (joined) line.lease_left_ms = std::max(0.0, ms(life->second.last_beat + lease - now));
    scene.workers.push_back(std::move(line));
  }
  return scene;
}

std::optional<Explanation> explain(const PoolPicture& picture, std::size_t which, Instant now) {
  std::vector<const std::pair<const std::string, Tenant>*> by_age;
  by_age.reserve(picture.tenants.size());
  for (const auto& entry : picture.tenants) by_age.push_back(&entry);
  if (by_age.empty()) return std::nullopt;
  // The tenants with the longest history first.
  std::sort(by_age.begin(), by_age.end(), [](const auto* left, const auto* right) {
    if (left->second.history.size() != right->second.history.size()) {
      return left->second.history.size() > right->second.history.size();
    }
    return left->first < right->first;
  });
  const auto& [key, tenant] = *by_age[which % by_age.size()];
  return Explanation{key, {tenant.history.begin(), tenant.history.end()}, now};
}

}  // namespace tenure::demo
