#include "cli/takes.h"

#include <algorithm>
#include <string>

#include "machine/limits.h"
#include "machine/own_names.h"

namespace tenure::cli {
namespace {

Failure bad(std::string_view part, const char* why) {
  return fail(Errc::invalid, "read --takes", "'" + std::string(part) + "' " + why);
}

Status add(std::string_view part, Takes& takes) {
  const std::size_t colon = part.find(':');
  const std::string_view kind = part.substr(0, colon);
  if (kind != "resident" && kind != "task" && kind != "any") return bad(part, "is not resident, task or any");
  if (colon != std::string_view::npos && part.size() - colon - 1 > kTypeBytesMax) {
    return bad(part, "names a type of more than 64 bytes");
  }
  if (colon != std::string_view::npos && is_own_type(part.substr(colon + 1))) {
    return bad(part, "names a type of the pool itself: it begins with a dot");
  }
  for (const JobKind of : {JobKind::resident, JobKind::task}) {
    if (kind != "any" && kind != to_string(of)) continue;
    colon == std::string_view::npos ? takes.add_all(of) : takes.add_type(of, part.substr(colon + 1));
  }
  return {};
}

}  // namespace

Result<Takes> read_takes(std::string_view text) {
  Takes takes = Takes::nothing();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (Status added = add(text.substr(at, end - at), takes); !added) return Failure(added.error());
    at = end + 1;
  }
  if (takes.size() > kTakesMax) return bad(text, "names more than 256 kinds and types");
  return takes;
}

}  // namespace tenure::cli
