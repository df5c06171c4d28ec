#pragma once

// Who we are at a server, and where the password comes from.

#include <string>

#include "base/result.h"

namespace tenure::redis {

struct Login {
  std::string user;           // empty: Redis' own `default`
  std::string password;       // empty where a file has it
  std::string password_file;  // its first line is the password; read again for each connection

  bool given() const { return !password.empty() || !password_file.empty(); }
};

// Has the login take its password from this file, unless it has one. The file is read here once, so that a mistake
// shows when a log is opened. What is no plain file (a pipe, say) can be read only once: its password is kept.
Status use_password_file(const std::string& path, Login& login);

// With the password as it is now. Errc::refused if the file cannot be read.
Result<Login> current_login(const Login& login);

}  // namespace tenure::redis
