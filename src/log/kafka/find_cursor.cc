#include "log/kafka/find_cursor.h"

namespace tenure::kafka {

Result<FoundCursor> FindCursor::find(Cursor after, KnownTime known) {
  const auto range = prober_.range(history_.topic(), 0);
  if (!range) return Failure(range.error());
  if (after.position == 0) {
    if (range->first > birth_.offset) return refuse(Errc::trimmed, "the log's beginning was trimmed");
    return FoundCursor{birth_, Clamp()};
  }
  const std::int64_t offset = offset_of(after.position);
  if (offset < range->first) return refuse(Errc::trimmed, "trimmed up to " + std::to_string(range->first));
  if (offset >= range->end) return refuse(Errc::lost_history, "the log ends before the cursor");
  const Result<Stored> entry = entry_at(offset, *range);
  if (!entry) return Failure(entry.error());
  const Result<std::int64_t> time_ms = time_of(after, *entry, known, *range);
  if (!time_ms) return Failure(time_ms.error());
  return FoundCursor{{offset, entry->key->link}, Clamp(*time_ms)};
}

bool FindCursor::is_entry(const Stored& stored) const {
  return stored.key && stored.key->log == history_.log() &&
         (stored.key->kind == Kind::entry || stored.key->kind == Kind::last);
}

Result<Stored> FindCursor::entry_at(std::int64_t offset, const Range& range) {
  auto record = prober_.record_at(history_.topic(), 0, offset);
  if (!record) return Failure(record.error());
  if (!*record || !is_entry(**record)) return refuse(Errc::lost_history, "there is no entry at the cursor");
  if ((*record)->key->kind == Kind::entry) return **std::move(record);
  if ((*record)->key->first < range.first) {
    return refuse(Errc::trimmed, "the first pieces of the entry at the cursor were trimmed");
  }
  auto whole = prober_.entry_at(history_.topic(), offset);
  if (!whole) return Failure(whole.error());
  if (!*whole) return refuse(Errc::lost_history, "the entry at the cursor is not whole");
  return **std::move(whole);
}

// The time with which the entry has the cursor's content.
Result<std::int64_t> FindCursor::time_of(Cursor after, const Stored& stored, KnownTime known, const Range& range) {
  if (known.position == after.position && after.matches(stored.value, known.time_ms)) return known.time_ms;
  if (after.matches(stored.value, stored.time_ms)) return stored.time_ms;
  return count_up(after, stored, known, range);
}

// The entry's time was raised, or the cursor is about another entry.
Result<std::int64_t> FindCursor::count_up(Cursor after, const Stored& stored, KnownTime known, const Range& range) {
  std::int64_t from = birth_.offset + 1;
  Clamp clamp;
  if (known.position != 0 && known.position <= after.position && offset_of(known.position) >= range.first) {
    from = offset_of(known.position) + 1;
    clamp = Clamp(known.time_ms);
  } else if (range.first > birth_.offset) {
    return refuse(Errc::trimmed, "the entries that determine the time of the cursor's entry were trimmed");
  }
  const Status read = prober_.scan(history_.topic(), 0, from, stored.offset, [&](const Stored& next) {
    if (is_entry(next)) clamp.next(next.time_ms);
    return !stopping_();
  });
  if (!read) return Failure(read.error());
  const std::int64_t time_ms = clamp.next(stored.time_ms);
  if (after.matches(stored.value, time_ms)) return time_ms;
  return refuse(Errc::lost_history, "the entry at the cursor is another one");
}

Failure FindCursor::refuse(Errc code, const std::string& what) const {
  return fail(code, "kafka read", history_.shown() + ": " + what);
}

}  // namespace tenure::kafka
