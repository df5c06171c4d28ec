#include "exec/pipes.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace tenure::exec {
namespace {

// For each look, so that a flood from one program does not block the others.
constexpr int kReadsMax = 4;
constexpr std::size_t kReadBytes = 64U << 10;

}  // namespace

Result<std::vector<Descriptor>> Pipes::open(const std::string& input_file) {
  std::vector<Descriptor> theirs;
  for (const Stream stream : {input, output, errors}) {
    if (stream == input && !input_file.empty()) {
      theirs.emplace_back(::open(input_file.c_str(), O_RDONLY | O_CLOEXEC));
      if (!theirs.back()) return fail(Errc::busy, "open the program's input", std::strerror(errno));
      continue;
    }
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Errc::busy, "make the program's pipes", std::strerror(errno));
    const bool reads = stream != input;
    own_.at(stream) = Descriptor(ends.at(reads ? 0 : 1));
    theirs.emplace_back(ends.at(reads ? 1 : 0));
    fcntl(descriptor(stream), F_SETFL, O_NONBLOCK);
  }
  return theirs;
}

void Pipes::send(Bytes bytes) {
  if (unwritten_.empty()) {
    unwritten_ = std::move(bytes);
  } else {
    unwritten_ += bytes;
  }
}

void Pipes::write() {
  Descriptor& into = own_.at(input);
  while (into && written_ < unwritten_.size()) {
    const ssize_t size = ::write(into.get(), unwritten_.data() + written_, unwritten_.size() - written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0) into.close();
    if (size > 0) written_ += static_cast<std::size_t>(size);
  }
  gone_ += unwritten_.size();
  written_ = 0;
  unwritten_.clear();
  if (ends_) into.close();
}

bool Pipes::read(Stream stream, const std::function<void(BytesView)>& take) {
  Descriptor& from = own_.at(stream);
  // Allocated by reading threads only (see guard/message.cc).
  static thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  for (int i = 0; i < kReadsMax && from; ++i) {
    const ssize_t size = ::read(from.get(), buffer.get(), kReadBytes);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return false;
    if (size <= 0) {
      from.close();
      return false;
    }
    take(BytesView(buffer.get(), static_cast<std::size_t>(size)));
    if (static_cast<std::size_t>(size) < kReadBytes) return false;
  }
  return static_cast<bool>(from);
}

}  // namespace tenure::exec
