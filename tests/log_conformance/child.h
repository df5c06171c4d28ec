#pragma once

// A child process that reports in lines on its standard output. The destructor kills and reaps it.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tenure::conformance {

class Child {
 public:
  // `program` is a path; `arguments` come after its name.
  Child(const std::string& program, const std::vector<std::string>& arguments);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line without its end; nothing when the child has closed its output, or after kDeadline.
  std::optional<std::string> line();
  // The same, if it has been written already.
  std::optional<std::string> line_at_hand();
  void signal(int number) const;
  // Waits for the end: the exit code, or minus the signal that ended it.
  int wait();

  pid_t pid() const { return pid_; }

 private:
  std::optional<std::string> line_within(int patience_ms);

  pid_t pid_ = -1;
  int output_ = -1;
  std::string unread_;
  bool reaped_ = false;
};

}  // namespace tenure::conformance
