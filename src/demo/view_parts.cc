#include "demo/view_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/printable.h"
#include "demo/human_ms.h"

namespace tenure::demo {
namespace {

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return used >= width ? text : text + std::string(width - used, ' ');
}

std::string right_aligned(const std::string& text, std::size_t width) {
  const std::size_t used = columns_of(text);
  return used >= width ? text : std::string(width - used, ' ') + text;
}

std::string repeated(const char* glyph, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += glyph;
  return text;
}

std::string clock_text(double ms) {
  const auto seconds = static_cast<long>(ms / 1000);
  char text[32];
  std::snprintf(text, sizeof text, "%02ld:%02ld", seconds / 60, seconds % 60);
  return text;
}

Style state_style(const std::string& state) {
  if (state == "serving") return kPlain;
  if (state == "killed" || state == "frozen" || state == "unfit") return kBad;
  return kQuiet;
}

void put_times(Row& row, const Distribution& times) {
  if (times.n == 0) {
    row.put("–", kQuiet);
    return;
  }
  row.put("p50 ", kQuiet).put(human_ms(times.p50), kLoud).put(" max ", kQuiet).put(human_ms(times.max), kLoud);
}

}  // namespace

int slot_colour(int slot) {
  // Soft colours, distinguishable on dark and light backgrounds, with readable dark text.
  constexpr std::array<int, 10> kColours = {244, 75, 114, 215, 176, 80, 221, 210, 147, 151};
  return kColours[static_cast<std::size_t>(slot) % kColours.size()];
}

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, " ");
  }
  return text;
}

std::vector<std::string> draw_title(const Scene& scene, std::size_t width, bool colour) {
  Row row(width, colour);
  row.to(kMargin).put("tenure", kLoud).put("  every key has exactly one live holder", kQuiet);
  row.right(scene.engine + "  " + clock_text(scene.age_ms) + "  ", kQuiet);
  return {std::move(row).finish(), {}};
}

std::vector<std::string> draw_workers(const Scene& scene, std::size_t width, bool colour) {
  constexpr std::size_t kLease = 10;
  constexpr std::size_t kKeys = 16;
  // A mark for each tenant, or fewer if there are too many.
  std::size_t most = kKeys;
  for (const WorkerLine& worker : scene.workers) most = std::max(most, worker.keys);
  std::vector<std::string> drawn;
  for (const WorkerLine& worker : scene.workers) {
    Row row(width, colour);
    const Style own{slot_colour(worker.slot), -1, true};
    row.to(kMargin).put("██ ", own).put(padded(worker.id, 6), kLoud);
    row.put(right_aligned(std::to_string(worker.process), 8), kQuiet).put("  ");
    row.put(padded(worker.state, 8), state_style(worker.state));
    row.put(right_aligned(std::to_string(worker.keys), 3) + " ")
        .put(repeated("▪", (worker.keys * kKeys + most - 1) / most), own);
    row.to(51);
    if (worker.lease_left_ms) {
      const double share = std::clamp(*worker.lease_left_ms / std::max(scene.lease_ms, 1.0), 0.0, 1.0);
      const auto full = static_cast<std::size_t>(std::lround(share * kLease));
      const Style bar = share < 0.3 ? kBad : own;
      row.put("lease ", kQuiet).put(repeated("━", full), bar).put(repeated("─", kLease - full), {238, -1, false});
      row.put(right_aligned(human_ms(*worker.lease_left_ms), 8), share < 0.3 ? kBad : kQuiet);
    }
    drawn.push_back(std::move(row).finish());
  }
  return drawn;
}

std::vector<std::string> draw_happenings(const Scene& scene, std::size_t width, std::size_t rows, bool colour) {
  const std::size_t shown = std::min(rows, scene.happenings.size());
  std::vector<std::string> drawn;
  for (std::size_t at = scene.happenings.size() - shown; at < scene.happenings.size(); ++at) {
    const Happening& happening = scene.happenings[at];
    const bool newest = at + 1 == scene.happenings.size();
    Row row(width, colour);
    row.to(kMargin).put(clock_text(static_cast<double>(to_ms(happening.at))) + "  ", kQuiet);
    row.put(happening.text, happening.good ? (newest ? kLoud : kPlain) : kBad);
    drawn.push_back(std::move(row).finish());
  }
  return drawn;
}

std::vector<std::string> draw_footer(const Scene& scene, std::size_t width, bool colour) {
  const Figures& all = scene.figures;
  const auto verdict = [](std::uint64_t count) { return count == 0 ? kGood : kBad; };
  Row rule(width, colour);
  rule.to(kMargin).put(repeated("─", width - 2 * kMargin), {238, -1, false});

  Row times(width, colour);
  times.to(kMargin).put("takeover ", kQuiet);
  put_times(times, all.takeover_ms);
  times.to(34).put("gap ", kQuiet);
  put_times(times, all.gap_ms);
  times.to(60).put("moves ", kQuiet).put(grouped(all.moves), kLoud);
  times.put(" min ", kQuiet).put(grouped(all.moves_minimum), kLoud);

  Row counts(width, colour);
  counts.to(kMargin).put("double holders ", kQuiet).put(grouped(all.double_holders), verdict(all.double_holders));
  counts.to(22).put("lost ticks ", kQuiet).put(grouped(all.lost), verdict(all.lost));
  counts.to(37).put("of ", kQuiet).put(grouped(all.ticks), kLoud);
  counts.to(52).put("stale writes refused ", kQuiet).put(grouped(all.stale_writes_refused), kLoud);

  Row keys(width, colour);
  keys.to(kMargin);
  constexpr std::array<std::pair<const char*, const char*>, 7> kKeys = {{{"k", "kill"},
                                                                         {"z", "freeze"},
                                                                         {"r", "restart"},
                                                                         {"b", "bad deploy"},
                                                                         {"+ -", "workers"},
                                                                         {"e", "why"},
                                                                         {"q", "quit"}}};
  for (const auto& [key, what] : kKeys) {
    keys.put(" " + std::string(key) + " ", {234, 250, true}).put(" " + std::string(what) + " ", kQuiet);
  }
  return {std::move(rule).finish(), std::move(times).finish(), std::move(counts).finish(), std::move(keys).finish()};
}

}  // namespace tenure::demo
