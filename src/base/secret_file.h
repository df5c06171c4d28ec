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
  bool plain = false;  // it can be read again; a pipe cannot
};

// Whether what is no plain file may be waited for.
enum class PipeSecret : std::uint8_t { wait, skip };

// Nothing where the file cannot be read, or its first line is empty or longer than kSecretBytesMax.
std::optional<SecretFile> read_secret_file(const std::string& path, PipeSecret pipe);

}  // namespace tenure
