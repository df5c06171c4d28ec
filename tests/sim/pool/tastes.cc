#include "sim/pool/tastes.h"

namespace tenure::sim {

namespace {

constexpr const char* kOwnType = ".own";

std::string type_name(std::uint64_t number) {
  return number == 0 ? "" : std::string(1, static_cast<char>('a' + number - 1));
}

}  // namespace

std::vector<std::string> taste_of(const Plan& plan, std::uint32_t node, std::uint32_t worker) {
  Dice dice(hash_mix(plan.seed, node * 16 + worker), "taste");
  if (!plan.choosy) return {};
  // In one half of the runs one worker takes everything; in the other two share it, like a library's tasks-only worker
  // beside one that runs residents.
  const bool shared = plan.seed % 2 == 0;
  if (worker == 0 && node == 0) {
    std::vector<std::string> taste = shared ? std::vector<std::string>{"resident"} : std::vector<std::string>{};
    if (!plan.own_types) return taste;
    if (!shared) taste = {"resident", "task"};
    taste.push_back("resident:" + Bytes(kOwnType));
    return taste;
  }
  if (worker == 0 && node == 1 && shared) return {"task"};
  std::vector<std::string> taste;
  for (const char* kind : {"resident", "task"}) {
    const std::uint64_t draw = dice.below(4);
    if (draw == 0) taste.emplace_back(kind);
    for (std::uint32_t type = 0; draw == 1 && type <= plan.types; ++type) {
      if (dice.chance(0.5)) taste.push_back(kind + (":" + type_name(type)));
    }
  }
  return taste;
}

Takes to_takes(const std::vector<std::string>& taste) {
  Takes takes = taste.empty() ? Takes() : Takes::nothing();
  for (const std::string& text : taste) {
    const std::size_t colon = text.find(':');
    const JobKind kind = text.substr(0, colon) == "task" ? JobKind::task : JobKind::resident;
    colon == std::string::npos ? takes.add_all(kind) : takes.add_type(kind, text.substr(colon + 1));
  }
  return takes;
}

std::string some_type(const Plan& plan, Dice& dice, bool resident) {
  if (plan.own_types && resident && dice.chance(0.3)) return kOwnType;
  return type_name(dice.below(plan.types + 1));
}

}  // namespace tenure::sim
