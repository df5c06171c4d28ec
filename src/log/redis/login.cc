#include "log/redis/login.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tenure::redis {
namespace {

constexpr std::size_t kPasswordBytesMax = 4096;

struct Found {
  std::string password;
  bool plain = false;  // a file that can be read again
};

Failure unreadable(const std::string& path) {
  return fail(Errc::refused, "redis login", path + ": no password can be read from this file");
}

// Up to the first line end. Nothing where there is none within the bound, or nothing before it.
std::string first_line(int file) {
  std::string line;
  std::array<char, kPasswordBytesMax> piece{};
  while (line.find('\n') == std::string::npos && line.size() <= kPasswordBytesMax) {
    const ssize_t size = ::read(file, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return "";
    if (size == 0) break;
    line.append(piece.data(), static_cast<std::size_t>(size));
  }
  line.resize(std::min(line.find('\n'), line.size()));
  if (line.size() > kPasswordBytesMax) return "";
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

Result<Found> read_file(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (file < 0) return unreadable(path);
  struct stat facts{};
  Found found;
  found.plain = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  found.password = first_line(file);
  ::close(file);
  if (found.password.empty()) return unreadable(path);
  return found;
}

}  // namespace

Status use_password_file(const std::string& path, Login& login) {
  auto found = read_file(path, 0);
  if (!found) return Failure(found.error());
  if (login.given()) return {};
  if (found->plain) {
    login.password_file = path;
  } else {
    login.password = std::move(found->password);
  }
  return {};
}

Result<Login> current_login(const Login& login) {
  if (login.password_file.empty()) return login;
  // It may have been replaced by a pipe that nobody writes to.
  auto found = read_file(login.password_file, O_NONBLOCK);
  if (!found) return Failure(found.error());
  return Login{.user = login.user, .password = std::move(found->password), .password_file = ""};
}

}  // namespace tenure::redis
