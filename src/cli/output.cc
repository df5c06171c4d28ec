#include "cli/output.h"

#include <unistd.h>

#include "base/output.h"
#include "base/printable.h"

namespace tenure::cli {
namespace {

std::string page_of(std::string_view page) {
  std::string lines = printable_page(page);
  if (!lines.ends_with('\n')) lines += '\n';
  return lines;
}

}  // namespace

void print(std::string_view line) { print_line(line); }

void print(const Json& document) { write_exact(STDOUT_FILENO, document.text() + '\n'); }

void print(const render::Table& table) {
  Gathered lines;
  for (const std::string& line : table.lines()) lines.line(line);
  lines.write();
}

void print_note(std::string_view line) { warn_line(line); }

void print_page(std::string_view page) { write_exact(STDOUT_FILENO, page_of(page)); }

void print_note_page(std::string_view page) { write_exact(STDERR_FILENO, page_of(page)); }

void print_data(std::string_view bytes) {
  const bool seen = ::isatty(STDOUT_FILENO) == 1;
  write_exact(STDOUT_FILENO, (seen ? printable_page(bytes) : std::string(bytes)) + '\n');
}

void Gathered::line(std::string_view text) { bytes_ += one_line(text) + '\n'; }

void Gathered::document(const Json& json) { bytes_ += json.text() + '\n'; }

void Gathered::write() {
  write_exact(STDOUT_FILENO, bytes_);
  bytes_.clear();
}

}  // namespace tenure::cli
