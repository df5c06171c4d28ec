#include "base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tenure {
namespace {

std::string first_line(int file) {
  std::string line;
  std::array<char, kSecretBytesMax> piece{};
  while (line.find('\n') == std::string::npos && line.size() <= kSecretBytesMax) {
    const ssize_t size = ::read(file, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return "";
    if (size == 0) break;
    line.append(piece.data(), static_cast<std::size_t>(size));
  }
  line.resize(std::min(line.find('\n'), line.size()));
  if (line.size() > kSecretBytesMax) return "";
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

std::optional<SecretFile> read_secret_file(const std::string& path, PipeSecret pipe) {
  const int flags = pipe == PipeSecret::wait ? 0 : O_NONBLOCK;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (file < 0) return std::nullopt;
  struct stat facts{};
  const bool plain = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  SecretFile found{.secret = first_line(file), .plain = plain};
  ::close(file);
  if (found.secret.empty()) return std::nullopt;
  return found;
}

}  // namespace tenure
