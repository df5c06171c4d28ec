#include "sim/pool/sim_emits.h"

#include <algorithm>

namespace tenure::sim {

namespace {

// An emit has fewer events than a block, so the lost ones among them are in a row.
std::optional<SourceReport::Lost> lost_between(const std::string& source, std::uint64_t first, std::uint64_t last) {
  std::optional<SourceReport::Lost> lost;
  for (std::uint64_t event = first; event <= last; ++event) {
    if (!is_lost_event(source, event)) continue;
    if (!lost) lost = {.first = event, .last = event, .count = 0};
    lost->last = event;
    ++lost->count;
  }
  return lost;
}

}  // namespace

void SimEmits::step(const tenure::Hold& hold, SimLoop& thread) {
  Line& line = lines_[hold.epoch];
  if (line.open != 0 || !send_) return;
  line.key = hold.key;
  line.thread = &thread;
  line.failed = false;
  line.asking = !line.book.known();
  if (line.asking) {
    line.last.clear();
    line.open = kSourceParts;
    for (std::uint32_t part = 0; part < kSourceParts; ++part) send(line, hold.epoch, {.shard = part}, 0);
    return;
  }
  if (dice_.chance(0.1)) {
    for (SourceBook::Part& part : line.book.untold()) send(line, hold.epoch, std::move(part), 0);
  }
  // Now and then the last emit once more, as after an answer that was lost.
  if (line.last.empty() || !dice_.chance(0.1)) line.last = next(line);
  emit(line, hold.epoch);
}

std::vector<SourceBook::Part> SimEmits::next(Line& line) {
  line.position = line.book.position() + static_cast<std::uint64_t>(dice_.between(1, 4));
  Emission emission{.source = line.key, .position = line.position};
  for (std::uint64_t event = line.book.position() + 1; event <= line.position; ++event) {
    for (const SequenceTask& task : tasks_of_event(line.key, event)) {
      // The index travels as the number of attempts, which has no other meaning here.
      emission.tasks.push_back({.key = task.key, .position = event, .max_attempts = task.index + 1});
    }
  }
  line.lost = lost_between(line.key, line.book.position() + 1, line.position);
  return line.book.plan(
      emission, [](BytesView key) { return static_cast<std::uint32_t>(hash_bytes(key) % kSourceParts); },
      line.lost ? part_of_losses(line.key) : SourceBook::kNoShard);
}

void SimEmits::emit(Line& line, std::uint64_t epoch) {
  line.open = static_cast<std::size_t>(
      std::count_if(line.last.begin(), line.last.end(), [](const auto& part) { return part.awaited; }));
  if (line.open == 0) line.book.emitted(line.position);
  Time after = 0;
  for (const SourceBook::Part& part : line.last) {
    send(line, epoch, part, after, true);
    after += dice_.chance(0.5) ? dice_.magnitude(kMilli, kSecond) : 0;
  }
}

void SimEmits::send(Line& line, std::uint64_t epoch, SourceBook::Part part, Time after, bool emits) {
  ShardEmission emission{.source = name_of_part(line.key, part.shard),
                         .key = line.key,
                         .epoch = epoch,
                         .after = part.after,
                         .position = part.position,
                         .tasks = part.tasks};
  if (emits && part.shard == part_of_losses(line.key)) emission.report.lost = line.lost;
  std::vector<SequenceTask> tasks;
  for (EmitTask& task : emission.tasks) {
    tasks.push_back({task.position, task.max_attempts - 1, task.key, part.shard});
    task.max_attempts = 0;
  }
  part.tasks.clear();
  line.thread->at(line.thread->now() + Nanos(after), [this, emission, tasks, part, epoch, thread = line.thread] {
    send_(emission, tasks, [this, epoch, part, thread](const Result<std::string>& answer) {
      thread->post([this, epoch, part, answer] { answered(epoch, part, answer); });
    });
  });
}

// As the library's TenureEmitter does it.
void SimEmits::answered(std::uint64_t epoch, const SourceBook::Part& part, const Result<std::string>& answer) {
  const auto found = lines_.find(epoch);
  if (found == lines_.end()) return;
  Line& line = found->second;
  const std::uint64_t number = answer ? std::stoull(*answer) : 0;
  const bool asked = part.position == 0;
  if (!answer) {
    line.failed = true;
    if (answer.error().code != Errc::pool_full) line.book.doubt();
  } else if (asked) {
    line.book.heard(part.shard, number);
  } else {
    line.book.taken(part.shard, number);
  }
  if (!asked && !part.awaited) return;
  if (--line.open != 0 || line.failed) return;
  if (line.asking) {
    line.book.all_heard();
  } else {
    line.book.emitted(line.position);
  }
}

}  // namespace tenure::sim
