#pragma once

// What a command prints. Text for people is made printable on its way out, line by line; JSON is exact, since its
// strings escape what is not printable themselves.

#include <string>
#include <string_view>

#include "render/json.h"
#include "render/table.h"

namespace tenure::cli {

using render::Json;

// A line on standard output, at once.
void print(std::string_view line);
void print(const Json& document);
void print(const render::Table& table);
// A line for people on standard error.
void print_note(std::string_view line);

// Several lines of the program's own, as of the manual. The last one's end may be left out.
void print_page(std::string_view page);
void print_note_page(std::string_view page);

// What a user has asked to have: the result of a task, the answer of a worker, and a line end. Byte for byte into a
// pipe or a file; on a terminal its lines, made printable.
void print_data(std::string_view bytes);

// Lines for standard output that are gathered, and written together.
class Gathered {
 public:
  void line(std::string_view text);
  void document(const Json& json);
  void add(const Gathered& more) { bytes_ += more.bytes_; }
  void write();  // and has none any more

 private:
  std::string bytes_;
};

}  // namespace tenure::cli
