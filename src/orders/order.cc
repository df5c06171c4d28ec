#include "orders/order.h"

#include <algorithm>

#include "orders/words.h"

namespace tenure::orders {
namespace {

constexpr std::string_view kContainerWord = "container:";

Failure bad_order(std::string why) { return fail(Errc::invalid, "read order", std::move(why)); }

BytesView trimmed(BytesView text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == BytesView::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// As POSIX has the names of variables.
bool is_variable(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) && name.size() <= 256 &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

// The characters of an image's name with registry, tag and digest. In front is none that could be an option's.
bool is_image(std::string_view name) {
  constexpr std::string_view kMarks = "._-:/@";
  return !name.empty() && name.size() <= 512 && (is_letter(name.front()) || is_digit(name.front())) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || is_digit(c) || kMarks.find(c) != std::string_view::npos; });
}

bool is_web_address(std::string_view text) { return text.starts_with("https://") || text.starts_with("http://"); }

Result<Order> container_of(std::vector<std::string> words) {
  if (words.empty()) return bad_order("container: needs an image");
  Order order{.form = Form::container};
  order.words.push_back(std::move(words.front()));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos) {
      return bad_order("'" + words[i] + "' is no pair KEY=VALUE; arguments need a JSON document");
    }
    order.environment.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
  }
  return order;
}

Result<Order> parse_line(BytesView line) {
  if (is_web_address(line) && line.find_first_of(" \t\r\n") == BytesView::npos) {
    return Order{.form = Form::url, .url = Bytes(line)};
  }
  const bool contained = line.starts_with(kContainerWord);
  auto words = split_words(contained ? line.substr(kContainerWord.size()) : line);
  if (!words) return Failure(words.error());
  if (contained) return container_of(*std::move(words));
  return Order{.form = Form::command, .words = *std::move(words)};
}

}  // namespace

std::string_view to_string(Form form) {
  switch (form) {
    case Form::command: return "command";
    case Form::container: return "container";
    case Form::url: return "url";
  }
  return "";
}

Status check_order(const Order& order) {
  if (order.form == Form::url) {
    if (!is_web_address(order.url)) return bad_order("a URL begins with https:// or http://");
    if (order.url.size() > kUrlBytesMax) return bad_order("the URL has more than 2048 bytes");
    const bool plain = std::all_of(order.url.begin(), order.url.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!plain) return bad_order("the URL has characters that must be written %XX");
    return {};
  }
  if (order.words.empty() || order.words.front().empty()) return bad_order("it names no program");
  if (order.words.size() > kWordsMax) return bad_order("it has too many words");
  for (const std::string& word : order.words) {
    if (word.find('\0') != std::string::npos) return bad_order("a word has a zero byte");
  }
  if (order.environment.size() > kPairsMax) return bad_order("it has more than 256 pairs for the environment");
  for (const auto& [name, value] : order.environment) {
    if (!is_variable(name)) return bad_order("'" + name + "' cannot be the name of a variable");
    if (value.find('\0') != std::string::npos) return bad_order("the value of " + name + " has a zero byte");
    // They go through a file with a line for each.
    const bool lines = value.find_first_of("\r\n") != std::string::npos;
    if (lines && order.form == Form::container) return bad_order("the value of " + name + " has several lines");
  }
  if (order.form == Form::container && !is_image(order.words.front())) {
    return bad_order("'" + order.words.front() + "' cannot be the name of an image");
  }
  return {};
}

Result<Order> parse_order(BytesView text) {
  const BytesView body = trimmed(text);
  if (body.empty()) return bad_order("it is empty");
  Result<Order> order = body.front() == '{' ? parse_json_order(body) : parse_line(body);
  if (!order) return order;
  if (Status sound = check_order(*order); !sound) return Failure(sound.error());
  return order;
}

}  // namespace tenure::orders
