#pragma once

// A file whose first line is a secret: a password, or a token.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tenure {

constexpr std::size_t kSecretBytesMax = 4096;

struct SecretFile {
  std::string secret;  // without the line end
  bool plain = false;  // a plain file can be read again, a pipe cannot
};

// Whether to wait for a pipe's content.
enum class PipeSecret : std::uint8_t { wait, skip };

// Nothing if the file cannot be read, or if its first line is empty or longer than kSecretBytesMax.
std::optional<SecretFile> read_secret_file(const std::string& path, PipeSecret pipe);

}  // namespace tenure
