#include "exec/checkpoint_watch.h"

#include <sys/inotify.h>

#include <array>
#include <cstring>
#include <set>
#include <string_view>

namespace tenure::exec {

CheckpointWatch::CheckpointWatch() : notify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void CheckpointWatch::add(std::uint64_t program, const std::string& folder) {
  const int watch = notify_ ? inotify_add_watch(notify_.get(), folder.c_str(), IN_MOVED_TO | IN_ONLYDIR) : -1;
  if (watch < 0) return;
  programs_[watch] = program;
  watches_[program] = watch;
}

void CheckpointWatch::remove(std::uint64_t program) {
  const auto found = watches_.find(program);
  if (found == watches_.end()) return;
  inotify_rm_watch(notify_.get(), found->second);
  programs_.erase(found->second);
  watches_.erase(found);
}

// Bounded: a program that renames without end would otherwise block the others.
std::vector<std::uint64_t> CheckpointWatch::changed() {
  constexpr int kReadsMax = 4;
  std::set<std::uint64_t> found;
  alignas(inotify_event) std::array<char, 16384> buffer{};
  for (int i = 0; i < kReadsMax; ++i) {
    const ssize_t size = notify_ ? ::read(notify_.get(), buffer.data(), buffer.size()) : -1;
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string_view name(event.len == 0 ? "" : buffer.data() + at + sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {  // events were lost, so any program may have a new one
        for (const auto& [program, watch] : watches_) found.insert(program);
      }
      const auto program = programs_.find(event.wd);
      if (program != programs_.end() && name == "checkpoint") found.insert(program->second);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace tenure::exec
