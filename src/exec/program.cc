#include "exec/program.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tenure::exec {
namespace {

// For each look, so that a flood of one program does not keep the others waiting.
constexpr int kReadsMax = 4;
constexpr std::size_t kReadBytes = 64U << 10;

HeldJob without_bytes(const HeldJob& job) {
  return {job.hold, job.session, job.worker, job.kind, job.attempt, {}, job.has_checkpoint, {}};
}

}  // namespace

Program::Program(std::uint64_t own_number, const HeldJob& held, Protocol protocol, JobFolder own_folder, int own_slot)
    : number(own_number),
      job(without_bytes(held)),
      slot(own_slot),
      dialogue(protocol, held),
      folder(std::move(own_folder)),
      unwritten_(dialogue.opening()),
      close_when_written_(dialogue.input_ends_after_opening()) {}

Result<std::vector<Descriptor>> Program::open_pipes() {
  std::vector<Descriptor> theirs;
  for (Descriptor* own : {&input_, &output_, &errors_}) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Errc::busy, "make the program's pipes", std::strerror(errno));
    const bool reads = own != &input_;
    *own = Descriptor(ends.at(reads ? 0 : 1));
    theirs.emplace_back(ends.at(reads ? 1 : 0));
    fcntl(own->get(), F_SETFL, O_NONBLOCK);
  }
  return theirs;
}

void Program::notify(std::uint64_t message, BytesView text) {
  if (input_) unwritten_ += dialogue.notify(text);
  pending_.push_back({gone_ + unwritten_.size(), message});
}

void Program::ask_stop(Nanos left) {
  if (input_) unwritten_ += dialogue.stop(left);
}

std::optional<std::uint64_t> Program::write() {
  while (input_ && written_ < unwritten_.size()) {
    const ssize_t size = ::write(input_.get(), unwritten_.data() + written_, unwritten_.size() - written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) input_.close();  // it has closed its standard input, or is gone
    if (size > 0) written_ += static_cast<std::size_t>(size);
  }
  if (!input_) written_ = unwritten_.size();
  if (written_ == unwritten_.size()) {
    gone_ += std::exchange(written_, 0);
    unwritten_.clear();
    if (close_when_written_) input_.close();
  }
  std::optional<std::uint64_t> handled;
  while (!pending_.empty() && pending_.front().end <= gone_ + written_) {
    handled = pending_.front().message;
    pending_.pop_front();
  }
  return handled;
}

bool Program::read(Stream stream, std::deque<Said>& said) {
  Descriptor& from = stream == Stream::output ? output_ : errors_;
  static thread_local std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsMax && from; ++i) {
    const ssize_t size = ::read(from.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size <= 0) {
      from.close();
      break;
    }
    const BytesView bytes(buffer.data(), static_cast<std::size_t>(size));
    for (Said& one : stream == Stream::output ? dialogue.output(bytes) : dialogue.error_output(bytes)) {
      said.push_back(std::move(one));
    }
    if (bytes.size() < buffer.size()) return true;
  }
  return static_cast<bool>(from);
}

int Program::descriptor(Stream stream) const {
  if (stream == Stream::input) return input_.get();
  return stream == Stream::output ? output_.get() : errors_.get();
}

}  // namespace tenure::exec
