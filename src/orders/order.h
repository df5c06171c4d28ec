#pragma once

// An order, in one of the forms that are executed here. It is a line,
//
//   convert in.png 'a b.jpg'                   a command line (words.h)
//   container: IMAGE [KEY=VALUE…]              an image, and pairs for its environment
//   https://orders.example/17                  where the order itself is
//
// or a JSON document:
//
//   {"command":["convert","in.png"],"env":{"A":"1"},"input":"…"}    "command" may also be a command line
//   {"container":"IMAGE","args":["…"],"env":{"A":"1"},"input":"…"}
//   {"url":"https://orders.example/17"}
//
// Pure: nothing is executed, and no name is looked up.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::orders {

enum class Form : std::uint8_t { command, container, url };
// "command", "container", "url".
std::string_view to_string(Form form);

struct Order {
  Form form = Form::command;
  std::vector<std::string> words{};  // the program and its arguments; or the image and those of its program
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string url{};
  std::string input{};  // for standard input
};

constexpr std::size_t kPairsMax = 256;
constexpr std::size_t kUrlBytesMax = 2048;

// Errc::invalid says what is wrong.
Result<Order> parse_order(BytesView text);
// Checks what both ways of writing an order have in common.
Status check_order(const Order& order);
// The JSON way. `text` begins with a brace.
Result<Order> parse_json_order(BytesView text);

}  // namespace tenure::orders
