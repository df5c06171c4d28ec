#pragma once

// All output of the commands. Text for people is made printable line by line. JSON is written as it is, because its
// strings escape unprintable characters themselves.

#include <string>
#include <string_view>

#include "render/json.h"
#include "render/table.h"

namespace tenure::cli {

using render::Json;

// Prints a line on standard output at once.
void print(std::string_view line);
void print(const Json& document);
void print(const render::Table& table);
// Prints a line for people on standard error.
void print_note(std::string_view line);

// Several lines of the program's own text, as in the manual. The last line end may be missing.
void print_page(std::string_view page);
void print_note_page(std::string_view page);

// Data that the user asked for, such as the result of a task, and a line end. Unchanged in a pipe or a file; made
// printable on a terminal.
void print_data(std::string_view bytes);

// Collects lines for standard output and writes them together.
class Gathered {
 public:
  void line(std::string_view text);
  void document(const Json& json);
  void add(const Gathered& more) { bytes_ += more.bytes_; }
  void write();  // and clears them

 private:
  std::string bytes_;
};

}  // namespace tenure::cli
