#include "exec/json_lines.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <new>
#include <string>

#include "base/base64.h"
#include "base/utf8.h"
#include "machine/limits.h"

namespace tenure::exec {
namespace {

namespace json = boost::json;

// The limit on the memory for parsing a line. A value of two bytes needs some fifty. A line of 8 MiB full of them would
// need 200 MiB, and a second of a thread that other programs wait for. Lines within the limits of results and
// checkpoints need far less.
constexpr std::size_t kLineMemoryMax = 32U << 20;

class BoundedMemory final : public json::memory_resource {
 private:
  // Ignores the alignment, because the library does not pass the same one when it frees.
  void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
    if (bytes > left_) throw std::bad_alloc();
    void* const memory = ::operator new(bytes);
    left_ -= bytes;
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) override {
    left_ += bytes;
    ::operator delete(memory);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::size_t left_ = kLineMemoryMax;
};

void put(json::object& into, const std::string& name, BytesView bytes) {
  if (is_utf8(bytes)) {
    into[name] = json::string(bytes.data(), bytes.size());
  } else {
    into[name + "_base64"] = to_base64(bytes);
  }
}

Bytes line_of(const json::object& object) { return json::serialize(object) + "\n"; }

json::object start_object(BytesView key, std::uint64_t epoch, BytesView payload,
                          const std::optional<Bytes>& checkpoint) {
  json::object object;
  object["type"] = "start";
  put(object, "key", key);
  object["epoch"] = epoch;
  put(object, "payload", payload);
  if (checkpoint) {
    put(object, "checkpoint", *checkpoint);
  } else {
    object["checkpoint"] = nullptr;
  }
  return object;
}

// The bytes of a string; for any other value its JSON text, so that a result may be an object.
std::optional<Bytes> bytes_of(const json::object& object, const std::string& name) {
  if (const json::value* text = object.if_contains(name)) {
    if (const json::string* plain = text->if_string()) return Bytes(plain->data(), plain->size());
    return json::serialize(*text);
  }
  if (const json::value* coded = object.if_contains(name + "_base64")) {
    const json::string* text = coded->if_string();
    return text == nullptr ? std::nullopt : from_base64({text->data(), text->size()});
  }
  return Bytes();
}

JsonLine read_fail(const json::object& object) {
  JsonLine line{.type = JsonLine::Type::fail, .data = bytes_of(object, "error").value_or("")};
  if (const json::value* retry = object.if_contains("retry")) {
    if (!retry->is_bool()) return {.type = JsonLine::Type::broken, .data = "\"retry\" is neither true nor false"};
    line.retry = retry->as_bool();
  }
  return line;
}

JsonLine read_data(const json::object& object, JsonLine::Type type) {
  const auto data = bytes_of(object, "data");
  if (!data) return {.type = JsonLine::Type::broken, .data = "\"data_base64\" is not base64"};
  return {.type = type, .data = *data};
}

// The field as a whole number; `otherwise` without the field.
std::optional<std::uint64_t> number_of(const json::object& object, const char* name, std::uint64_t otherwise) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return otherwise;
  boost::system::error_code wrong;
  const auto number = value->to_number<std::uint64_t>(wrong);
  return wrong ? std::nullopt : std::optional(number);
}

JsonLine broken_emit(Bytes why) { return {.type = JsonLine::Type::broken, .data = std::move(why)}; }

// False if a field is not of its type. What is out of range, the pool refuses.
bool read_task(const json::value& value, EmitTask& task) {
  const json::object* object = value.if_object();
  if (object == nullptr) return false;
  const auto key = bytes_of(*object, "key");
  const auto payload = bytes_of(*object, "payload");
  const auto job_type = bytes_of(*object, "job_type");
  const auto position = number_of(*object, "position", 0);
  const auto delay = number_of(*object, "delay_ms", 0);
  const auto attempts = number_of(*object, "max_attempts", 0);
  if (!key || !payload || !job_type || !position || !delay || !attempts || *delay > kDelayMsMax) return false;
  task.key = *key;
  task.payload = *payload;
  task.type = *job_type;
  task.position = *position;
  task.delay = std::chrono::milliseconds(*delay);
  task.max_attempts = static_cast<std::uint32_t>(std::min<std::uint64_t>(*attempts, UINT32_MAX));
  return true;
}

JsonLine read_emit(const json::object& object, JsonLine::Type type) {
  JsonLine line{.type = type};
  const auto source = bytes_of(object, "source");
  if (!source) return broken_emit("\"source_base64\" is not base64");
  line.emission.source = *source;
  if (type == JsonLine::Type::emitted) return line;
  const auto position = number_of(object, "position", 0);
  if (!position) return broken_emit("\"position\" is not a whole number");
  line.emission.position = *position;
  const json::value* tasks = object.if_contains("tasks");
  if (tasks == nullptr) return line;
  if (!tasks->is_array()) return broken_emit("\"tasks\" is not an array");
  for (const json::value& one : tasks->as_array()) {
    if (!read_task(one, line.emission.tasks.emplace_back())) return broken_emit("a task of an emit is malformed");
  }
  return line;
}

JsonLine read_typed(const json::object& object, std::string_view type) {
  if (type == "ready") return {.type = JsonLine::Type::ready};
  if (type == "checkpoint") return read_data(object, JsonLine::Type::checkpoint);
  if (type == "result") return read_data(object, JsonLine::Type::result);
  if (type == "fail") return read_fail(object);
  if (type == "emit") return read_emit(object, JsonLine::Type::emit);
  if (type == "emitted") return read_emit(object, JsonLine::Type::emitted);
  return {.type = JsonLine::Type::other};
}

JsonLine read_value(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  const json::string* name = type == nullptr ? nullptr : type->if_string();
  if (name == nullptr) return {};
  JsonLine read = read_typed(*object, {name->data(), name->size()});
  if (const json::value* epoch = object->if_contains("epoch")) {
    boost::system::error_code not_one;
    const auto number = epoch->to_number<std::uint64_t>(not_one);
    if (!not_one) read.epoch = number;
  }
  return read;
}

}  // namespace

Bytes json_start(BytesView key, std::uint64_t epoch, BytesView payload, const std::optional<Bytes>& checkpoint) {
  return line_of(start_object(key, epoch, payload, checkpoint));
}

Bytes json_task(BytesView key, std::uint64_t epoch, BytesView job_type, std::uint32_t attempt, BytesView payload,
                const std::optional<Bytes>& checkpoint) {
  json::object object = start_object(key, epoch, payload, checkpoint);
  object["attempt"] = attempt;
  if (!job_type.empty()) put(object, "job_type", job_type);
  return line_of(object);
}

Bytes json_notify(BytesView message) {
  json::object object;
  object["type"] = "notify";
  put(object, "message", message);
  return line_of(object);
}

Bytes json_stop(std::int64_t deadline_ms) {
  json::object object;
  object["type"] = "stop";
  object["deadline_ms"] = deadline_ms;
  return line_of(object);
}

Bytes json_emitted(BytesView source, const Result<std::uint64_t>& outcome) {
  json::object object;
  object["type"] = "emitted";
  if (!source.empty()) put(object, "source", source);
  object["accepted"] = outcome.has_value();
  if (outcome) {
    object["position"] = *outcome;
  } else {
    json::object error;
    error["code"] = to_string(outcome.error().code);
    put(error, "message", outcome.error().message());
    object["error"] = std::move(error);
  }
  return line_of(object);
}

JsonLine read_json_line(BytesView line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == BytesView::npos || line[first] != '{') return {};
  BoundedMemory memory;
  try {
    boost::system::error_code error;
    json::parser parser{json::storage_ptr(&memory)};
    parser.reset(&memory);
    parser.write(line.data(), line.size(), error);
    if (error) return {};
    return read_value(parser.release());
  } catch (const std::bad_alloc&) {
    return {.type = JsonLine::Type::broken, .data = "it has too many values"};
  }
}

}  // namespace tenure::exec
