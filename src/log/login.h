#pragma once

// The user and password for a server, and where the password comes from.

#include <string>

#include "base/result.h"

namespace tenure {

struct Login {
  std::string user;           // may be empty where the engine has a default user
  std::string password;       // empty if it is in a file
  std::string password_file;  // its first line is the password; read again for each connection

  bool given() const { return !password.empty() || !password_file.empty(); }
};

// Takes the password from this file, unless the login has one. Reads the file once, so that a mistake shows when a log
// is opened. A file that is not plain (a pipe) can be read only once, so its password is kept.
Status use_password_file(const std::string& path, Login& login);

// With the current password. Errc::refused if the file cannot be read.
Result<Login> current_login(const Login& login);

}  // namespace tenure
