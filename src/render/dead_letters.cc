#include "render/dead_letters.h"

#include <string>
#include <string_view>
#include <tenure/kinds.hpp>

#include "base/printable.h"
#include "base/show_ms.h"
#include "tenure/v1/record.pb.h"

namespace tenure::render {
namespace {

std::string first_line(const std::string& text) {
  constexpr std::size_t kColumnsMax = 60;
  const std::string line = text.substr(0, text.find('\n'));
  const std::string shown(printable_prefix(line, kColumnsMax));
  return shown.size() == line.size() ? line : shown + "…";
}

std::string_view kind_of(const v1::ListedDead& dead) { return to_string(static_cast<JobKind>(dead.kind())); }
std::string_view state_of(const v1::ListedDead& dead) { return dead.quarantined() ? "quarantined" : "dead"; }

}  // namespace

Json json_of_dead(const std::vector<v1::ListedDead>& dead, std::optional<std::uint64_t> next) {
  Json json;
  json.object().array("dead");
  for (const v1::ListedDead& row : dead) {
    json.object().field("id", row.id()).field("key", row.key()).field("kind", kind_of(row));
    json.field("type", row.type());
    json.field("state", state_of(row)).field("epoch", row.epoch()).field("attempts", row.attempts());
    json.field("age_ms", row.age_ms()).field("error", row.error()).end();
  }
  json.end();
  next ? json.field("next", *next) : json.null("next");
  return json.end();
}

Table table_of_dead(const std::vector<v1::ListedDead>& dead) {
  Table table({"ID", "KEY", "KIND", "STATE", "AGE", "ERROR"});
  for (const v1::ListedDead& row : dead) {
    table.add({std::to_string(row.id()), row.key(), std::string(kind_of(row)), std::string(state_of(row)),
               show_ms(row.age_ms()), first_line(row.error())});
  }
  return table;
}

}  // namespace tenure::render
