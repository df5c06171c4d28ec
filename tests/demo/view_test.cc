// The screen, drawn without a terminal: no row is wider, and no frame higher, than requested, and the important parts
// are visible.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/printable.h"
#include "demo/row.h"
#include "demo/view.h"

namespace tenure::demo {
namespace {

// Without the escape sequences.
std::string plain(const std::string& row) {
  std::string text;
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (row[at] == '\x1b') {
      at = row.find('m', at);
    } else {
      text += row[at];
    }
  }
  return text;
}

// As a terminal shows it: a column for each character.
std::size_t width_of(const std::string& row) {
  const std::string text = plain(row);
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string joined(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows) text += plain(row) + "\n";
  return text;
}

Scene scene_of(int tenants, int workers) {
  Scene scene;
  scene.engine = "sqlite";
  scene.lease_ms = 1000;
  for (int number = 1; number <= tenants; ++number) {
    const auto mood = static_cast<Cell::Mood>(number % 5);
    scene.cells.push_back({"tenant-" + std::to_string(number), number % (workers + 1), mood, 123456789, 98765});
  }
  for (int slot = 1; slot <= workers; ++slot) {
    scene.workers.push_back({slot, "w" + std::to_string(slot) + ".123", 4194304, "serving", 512, 1e6});
  }
  for (int number = 0; number < 20; ++number) {
    scene.happenings.push_back({std::chrono::hours(30), "w1 killed (-9): " + std::string(200, 'x'), number % 2 == 0});
  }
  scene.figures.takeover_ms = {1234567, 1234567, 1234567, 99};
  scene.figures.gap_ms = scene.figures.takeover_ms;
  scene.figures.stale_writes_refused = 17;
  return scene;
}

TEST(View, FitsEverySize) {
  for (const bool colour : {true, false}) {
    for (const int tenants : {1, 7, 64, 65, 512}) {
      for (const int workers : {0, 1, 4, 9}) {
        Scene scene = scene_of(tenants, workers);
        for (const bool explained : {false, true}) {
          if (explained) scene.explanation = Explanation{"tenant-1", std::vector<PastHold>(12), {}};
          for (const std::size_t width : {1U, 2U, 27U, 53U, 79U, 80U, 81U, 118U, 196U}) {
            for (const std::size_t height : {1U, 2U, 6U, 11U, 23U, 24U, 25U, 66U}) {
              const std::vector<std::string> rows = draw(scene, {width, height}, colour);
              ASSERT_LE(rows.size(), height);
              for (const std::string& row : rows) ASSERT_LE(width_of(row), width);
            }
          }
        }
      }
    }
  }
}

TEST(View, ShowsNothingThatSteersTheTerminal) {
  const std::string nasty = "-\x1b[2J\x1b]0;t\x07\r\n\t\x9b\xc2\x9b\xe2\x80\xae\xef\xbb\xbf\xff\\";
  Scene scene = scene_of(64, 4);
  scene.engine = nasty;
  for (Cell& cell : scene.cells) cell.key = nasty;
  for (WorkerLine& worker : scene.workers) worker.id = worker.state = nasty;
  scene.happenings.push_back({{}, nasty, true});
  const std::vector<PastHold> holds(3, {.worker = nasty, .reason = "crash"});
  for (const bool colour : {true, false}) {
    for (const std::optional<Explanation>& shown : {std::optional<Explanation>(), {Explanation{nasty, holds, {}}}}) {
      scene.explanation = shown;
      for (const std::string& row : draw(scene, {80, 24}, colour)) {
        const std::string text = plain(row);  // without the row's own sequences
        EXPECT_EQ(printable_page(text), text);
        EXPECT_EQ(text.find_first_of("\n\t"), std::string::npos);
        EXPECT_LE(width_of(row), 80U);
      }
    }
  }
  EXPECT_NE(joined(draw(scene, {118, 40}, true)).find("\\x1b[2J"), std::string::npos);
}

TEST(View, ShowsEveryTenantAndFigureOnAnOrdinaryScreen) {
  Scene scene = scene_of(64, 4);
  for (Cell& cell : scene.cells) cell = {cell.key, cell.slot, Cell::Mood::ticking, 42, 0};
  const std::string text = joined(draw(scene, {80, 24}, true));
  for (const char* part : {" 1 ", " 64 ", "w4.123", "4194304", "takeover", "gap", "moves", "double holders",
                           "lost ticks", "stale writes refused 17", " kill ", "bad deploy", "quit"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(View, NamesTheHolderWhereThereIsNoColour) {
  Scene scene = scene_of(1, 4);
  scene.cells[0] = {"tenant-07", 3, Cell::Mood::ticking, 42, 0};
  const std::vector<std::string> rows = draw(scene, {80, 24}, false);
  EXPECT_NE(joined(rows).find("07:3"), std::string::npos);
  for (const std::string& row : rows) EXPECT_EQ(row.find(";5;"), std::string::npos) << "a colour in " << plain(row);
}

TEST(View, ExplainsATenant) {
  Scene scene = scene_of(64, 4);
  scene.explanation = Explanation{"tenant-07", {{41, "w1", {}, Instant{}, Instant{}, "process died", {}}}, {}};
  scene.explanation->holds.push_back({42, "w2.2", {}, Instant{}, {}, {}, 23.0});
  const std::string text = joined(draw(scene, {80, 24}, true));
  for (const char* part : {"tenant-07", "w1", "41", "process died", "w2.2", "42", "23 ms", "holds it"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Row, IsCutBetweenCharacters) {
  Row row(4, false);
  row.put("a–b–c");
  EXPECT_EQ(plain(std::move(row).finish()), "a–b–");
}

}  // namespace
}  // namespace tenure::demo
