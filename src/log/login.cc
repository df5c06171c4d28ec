#include "log/login.h"

#include "base/secret_file.h"

namespace tenure {
namespace {

Failure unreadable(const std::string& path) {
  return fail(Errc::refused, "log login", path + ": cannot read a password from this file");
}

}  // namespace

Status use_password_file(const std::string& path, Login& login) {
  auto found = read_secret_file(path, PipeSecret::wait);
  if (!found) return unreadable(path);
  if (login.given()) return {};
  if (found->plain) {
    login.password_file = path;
  } else {
    login.password = std::move(found->secret);
  }
  return {};
}

Result<Login> current_login(const Login& login) {
  if (login.password_file.empty()) return login;
  auto found = read_secret_file(login.password_file, PipeSecret::skip);
  if (!found) return unreadable(login.password_file);
  return Login{.user = login.user, .password = std::move(found->secret), .password_file = ""};
}

}  // namespace tenure
