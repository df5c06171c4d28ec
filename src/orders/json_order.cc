// The JSON way of writing an order. Only this file and run_options.cc include the JSON library, because it is slow to
// compile.

#include <boost/json.hpp>

#include "orders/order.h"
#include "orders/words.h"

namespace tenure::orders {
namespace {

namespace json = boost::json;

Failure bad_document(std::string why) { return fail(Errc::invalid, "read order", std::move(why)); }

std::string text_of(const json::value& value) {
  const auto& text = value.get_string();
  return {text.data(), text.size()};
}

bool is_list_of_texts(const json::value& value) {
  if (!value.is_array()) return false;
  for (const json::value& one : value.get_array()) {
    if (!one.is_string()) return false;
  }
  return true;
}

// The document's fields, as far as they were read.
struct Fields {
  std::vector<std::string> command{};
  std::vector<std::string> container{};  // one
  std::vector<std::string> url{};        // one
  std::vector<std::string> arguments{};
  Order order{};
};

Status take_field(std::string_view name, const json::value& value, Fields& into) {
  if (name == "command" && value.is_string()) {
    auto words = split_words(text_of(value));
    if (!words) return Failure(words.error());
    into.command = *std::move(words);
    if (into.command.empty()) return bad_document("\"command\" names no program");
  } else if ((name == "command" || name == "args") && is_list_of_texts(value)) {
    std::vector<std::string>& words = name == "args" ? into.arguments : into.command;
    for (const json::value& one : value.get_array()) words.push_back(text_of(one));
    if (into.command.empty() && name == "command") return bad_document("\"command\" names no program");
  } else if (name == "container" && value.is_string()) {
    into.container = {text_of(value)};
  } else if (name == "url" && value.is_string()) {
    into.url = {text_of(value)};
  } else if (name == "input" && value.is_string()) {
    into.order.input = text_of(value);
  } else if (name == "env" && value.is_object()) {
    for (const auto& member : value.get_object()) {
      if (!member.value().is_string()) return bad_document("the values of \"env\" must be texts");
      into.order.environment.emplace_back(std::string(member.key().data(), member.key().size()),
                                          text_of(member.value()));
    }
  } else {
    return bad_document("field '" + std::string(name) + "' is unknown, or its value has the wrong type");
  }
  return {};
}

}  // namespace

Result<Order> parse_json_order(BytesView text) {
  json::error_code error;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), error);
  if (error) return bad_document("not JSON: " + error.message());
  if (!document.is_object()) return bad_document("not a JSON object");
  Fields fields;
  for (const auto& member : document.get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    if (Status taken = take_field(name, member.value(), fields); !taken) return Failure(taken.error());
  }
  if (static_cast<int>(!fields.command.empty()) + static_cast<int>(!fields.container.empty()) +
          static_cast<int>(!fields.url.empty()) !=
      1) {
    return bad_document("it needs one of \"command\", \"container\" and \"url\"");
  }
  Order order = std::move(fields.order);
  if (!fields.url.empty()) {
    order.form = Form::url;
    order.url = std::move(fields.url.front());
    if (!fields.arguments.empty() || !order.environment.empty() || !order.input.empty()) {
      return bad_document("an order with a \"url\" has no other fields");
    }
    return order;
  }
  order.form = fields.container.empty() ? Form::command : Form::container;
  if (order.form == Form::command && !fields.arguments.empty()) {
    return bad_document("\"args\" are for a container; a \"command\" has its own");
  }
  order.words = order.form == Form::command ? std::move(fields.command) : std::move(fields.container);
  for (std::string& word : fields.arguments) order.words.push_back(std::move(word));
  return order;
}

}  // namespace tenure::orders
