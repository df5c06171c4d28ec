#pragma once

// A listing for people, with columns as wide as their cells.

#include <cstdint>
#include <string>
#include <vector>

namespace tenure::render {

class Table {
 public:
  explicit Table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // The lines may have unprintable characters. Printing escapes them.
  std::vector<std::string> lines() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tenure::render
