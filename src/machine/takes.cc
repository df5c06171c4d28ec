#include "machine/takes.h"

#include <algorithm>

#include "base/mutant.h"
#include "machine/limits.h"
#include "machine/own_names.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {
namespace {

constexpr std::array kKinds{JobKind::resident, JobKind::task};

}  // namespace

Takes Takes::nothing() {
  Takes takes;
  for (const JobKind kind : kKinds) takes.of(kind).all = false;
  return takes;
}

void Takes::add_all(JobKind kind) {
  OfKind& taken = of(kind);
  taken.all = true;
  std::erase_if(taken.types, [](BytesView type) { return !is_own_type(type); });
}

void Takes::add_type(JobKind kind, BytesView type) {
  if (of(kind).all && !is_own_type(type)) return;
  std::vector<Bytes>& types = of(kind).types;
  const auto at = std::lower_bound(types.begin(), types.end(), type);
  if (at == types.end() || *at != type) types.insert(at, Bytes(type));
}

bool Takes::has(JobKind kind, BytesView type) const {
  const OfKind& taken = of(kind);
  if (taken.all && (!is_own_type(type) || MUTANT(own_types_taken_by_all))) return true;
  return std::binary_search(taken.types.begin(), taken.types.end(), type);
}

bool Takes::users(JobKind kind) const {
  const OfKind& taken = of(kind);
  return taken.all ||
         std::any_of(taken.types.begin(), taken.types.end(), [](BytesView type) { return !is_own_type(type); });
}

std::size_t Takes::size() const {
  std::size_t named = 0;
  for (const OfKind& taken : kinds_) named += (taken.all ? 1 : 0) + taken.types.size();
  return named;
}

bool Takes::load(const google::protobuf::RepeatedPtrField<v1::Takes>& from) {
  *this = from.empty() ? Takes() : nothing();
  if (static_cast<std::size_t>(from.size()) > kTakesMax) return false;
  for (const v1::Takes& one : from) {
    if (one.kind_plus_one() > kKinds.size() || one.type().size() > kTypeBytesMax) return false;
    for (const JobKind kind : kKinds) {
      if (one.kind_plus_one() != 0 && one.kind_plus_one() != static_cast<std::uint32_t>(kind) + 1) continue;
      one.typed() ? add_type(kind, one.type()) : add_all(kind);
    }
  }
  return size() <= kTakesMax;
}

void Takes::save(google::protobuf::RepeatedPtrField<v1::Takes>& into) const {
  if (everything()) return;
  for (const JobKind kind : kKinds) {
    const auto add = [&]() -> v1::Takes& {
      v1::Takes& one = *into.Add();
      one.set_kind_plus_one(static_cast<std::uint32_t>(kind) + 1);
      return one;
    };
    if (of(kind).all) add();
    for (const Bytes& type : of(kind).types) {
      v1::Takes& one = add();
      one.set_typed(true);
      one.set_type(type);
    }
  }
}

std::vector<Bytes> Takes::texts() const {
  std::vector<Bytes> texts;
  if (everything()) return texts;
  for (const JobKind kind : kKinds) {
    const Bytes name(to_string(kind));
    if (of(kind).all) texts.push_back(name);
    for (const Bytes& type : of(kind).types) texts.push_back(name + ":" + type);
  }
  return texts;
}

}  // namespace tenure
