#pragma once

// The demo's files lie in a folder of their own below TMPDIR. A process of its own, the sweeper, removes it when the
// demo is gone, however it went: it waits for the other end of its standard input to close.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::demo {

// Belongs to one thread.
class SweptFolder {
 public:
  // `program` is what to run the sweeper with.
  static Result<SweptFolder> create(const std::string& program);
  // Waits for the sweeper, and so for the folder to be gone.
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

// The sweeper's own side: its folder if these are the arguments of one, and its main function.
std::optional<std::string> sweeper_folder(const std::vector<std::string>& arguments);
int sweep(const std::string& folder);

}  // namespace tenure::demo
