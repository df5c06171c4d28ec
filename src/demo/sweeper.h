#pragma once

// The demo's files are in a temporary folder below TMPDIR. A separate process, the sweeper, removes the folder when the
// demo is gone, however it ended. It waits for the other end of its standard input to close.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::demo {

// Belongs to one thread.
class SweptFolder {
 public:
  // `program` is the program that runs as the sweeper.
  static Result<SweptFolder> create(const std::string& program);
  // Waits for the sweeper to remove the folder.
  ~SweptFolder();
  SweptFolder(SweptFolder&& other) noexcept;
  SweptFolder& operator=(SweptFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  SweptFolder(std::string path, int alive, int process) : path_(std::move(path)), alive_(alive), process_(process) {}

  std::string path_;
  int alive_;
  int process_;
};

// The folder, if these are the arguments of a sweeper, and the sweeper's main function.
std::optional<std::string> sweeper_folder(const std::vector<std::string>& arguments);
int sweep(const std::string& folder);

}  // namespace tenure::demo
