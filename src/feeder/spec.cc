#include "feeder/spec.h"

#include <algorithm>
#include <charconv>

#include "machine/limits.h"
#include "machine/own_names.h"
#include "tenure/v1/feeders.pb.h"

namespace tenure::feeder {
namespace {

Failure bad_spec(const std::string& what) { return fail(Errc::invalid, "add source", what); }

void note_difference(std::string& text, const char* what, const std::string& first, const std::string& second) {
  if (first == second) return;
  if (!text.empty()) text += "; ";
  text += std::string(what) + " is '" + first + "', not '" + second + "'";
}

}  // namespace

Status Spec::check() const {
  if (name.empty()) return bad_spec("it has no name");
  if (name.size() > kNameBytesMax)
    return bad_spec("its name is longer than " + std::to_string(kNameBytesMax) + " bytes");
  if (name.find('/') != Bytes::npos) return bad_spec("its name has a slash");
  if (type.size() > kTypeBytesMax) return bad_spec("the type of its tasks is longer than 64 bytes");
  if (is_own_type(type)) return bad_spec("types that begin with a dot belong to the pool itself");
  return {};
}

Bytes Spec::payload() const {
  v1::FeederSpec spec;
  spec.set_name(name);
  spec.set_kind(kind);
  spec.set_stream(stream);
  spec.set_start(start);
  spec.set_by_key(by_key);
  spec.set_type(type);
  spec.set_max_attempts(max_attempts);
  return spec.SerializeAsString();
}

std::optional<Spec> read_spec(BytesView payload) {
  v1::FeederSpec from;
  if (!from.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) return std::nullopt;
  return Spec{.name = from.name(),
              .kind = from.kind(),
              .stream = from.stream(),
              .start = from.start(),
              .by_key = from.by_key(),
              .type = from.type(),
              .max_attempts = from.max_attempts()};
}

std::string difference(const Spec& first, const Spec& second) {
  std::string text;
  note_difference(text, "engine", first.kind, second.kind);
  note_difference(text, "stream", first.stream, second.stream);
  note_difference(text, "start", first.start, second.start);
  note_difference(text, "order", first.by_key ? "key" : "none", second.by_key ? "key" : "none");
  note_difference(text, "type", first.type, second.type);
  note_difference(text, "max_attempts", std::to_string(first.max_attempts), std::to_string(second.max_attempts));
  return text;
}

// A long name is cut. The hash covers the whole name and the options, so types stay different.
Bytes Spec::resident_type() const {
  constexpr BytesView kBegin = ".source:";
  constexpr std::size_t kHashBytes = 16;
  const std::size_t room = kTypeBytesMax - kBegin.size() - kHashBytes - 1;
  return Bytes(kBegin).append(BytesView(name).substr(0, room)) + ":" + to_hex(hash_bytes(payload()));
}

Bytes coordinator_key(BytesView name) { return Bytes(kOwnKeys).append(name); }

Bytes feeder_key(BytesView name, BytesView partition) { return coordinator_key(name).append("/").append(partition); }

std::optional<OwnKey> read_own_key(BytesView key) {
  if (!is_own_key(key)) return std::nullopt;
  key.remove_prefix(kOwnKeys.size());
  const std::size_t slash = key.find('/');
  if (slash == BytesView::npos) return OwnKey{.name = key, .partition = {}, .generation = {}};
  const BytesView rest = key.substr(slash + 1);
  const std::size_t mark = std::min(rest.find('~'), rest.size());
  return OwnKey{.name = key.substr(0, slash),
                .partition = rest.substr(0, mark),
                .generation = mark == rest.size() ? BytesView() : rest.substr(mark + 1)};
}

std::uint32_t number_of(BytesView generation) {
  std::uint32_t number = 0;
  std::from_chars(generation.data(), generation.data() + generation.size(), number);
  return number;
}

}  // namespace tenure::feeder
