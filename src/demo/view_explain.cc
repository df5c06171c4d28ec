// Draws who held a tenant and why it moved, like `tenure explain`.

#include <algorithm>

#include "demo/human_ms.h"
#include "demo/view_parts.h"

namespace tenure::demo {
namespace {

std::string ago(Instant from, Instant now) {
  return human_ms(std::chrono::duration<double, std::milli>(now - from).count());
}

std::string draw_hold(const PastHold& hold, Instant now, std::size_t width, bool colour) {
  Row row(width, colour);
  row.to(kMargin).put("██ ", {slot_colour(slot_of(hold.worker)), -1, true}).put(hold.worker, kLoud);
  row.to(13).put(std::to_string(hold.epoch), kQuiet);
  row.to(32).put(hold.gap_ms ? human_ms(*hold.gap_ms) : (hold.started ? "–" : "not started"));
  row.to(45).put(ago(hold.granted, hold.ended.value_or(now)));
  row.to(56);
  if (!hold.ended) row.put("holds it", kGood);
  if (hold.ended) row.put(hold.reason);
  return std::move(row).finish();
}

}  // namespace

std::vector<std::string> draw_explanation(const Explanation& explanation, std::size_t width, std::size_t rows,
                                          bool colour) {
  Row title(width, colour);
  title.to(kMargin).put(explanation.key, kLoud).put("  who held it, and why it moved", kQuiet);
  title.right("← → another  e back  ", kQuiet);
  Row heads(width, colour);
  heads.to(kMargin).put("holder", kQuiet).to(13).put("epoch", kQuiet).to(32).put("gap before", kQuiet);
  heads.to(45).put("held", kQuiet).to(56).put("ended by", kQuiet);
  std::vector<std::string> drawn = {std::move(title).finish(), std::move(heads).finish()};
  const std::size_t room = rows > drawn.size() ? rows - drawn.size() : 0;
  const std::size_t shown = std::min(room, explanation.holds.size());
  for (std::size_t at = explanation.holds.size() - shown; at < explanation.holds.size(); ++at) {
    drawn.push_back(draw_hold(explanation.holds[at], explanation.now, width, colour));
  }
  drawn.resize(rows);
  return drawn;
}

}  // namespace tenure::demo
