// The formats: what is written is read back, and damaged bytes are nothing.

#include "log/kafka/record.h"

#include <gtest/gtest.h>

#include "base/entropy.h"
#include "log/kafka/clamp.h"
#include "log/kafka/manifest.h"

namespace tenure::kafka {
namespace {

const std::vector<Key> kKeys = {
    {.kind = Kind::birth, .log = 1, .link = 2},
    {.kind = Kind::entry, .log = UINT64_MAX, .link = 0x0102030405060708},
    {.kind = Kind::piece, .log = 1, .link = 2, .index = 3},
    {.kind = Kind::last, .log = 1, .link = 2, .index = 9, .first = 1'000'000'000'000},
    {.kind = Kind::chunk, .log = 1, .link = 2, .index = 4, .first = 5},
    {.kind = Kind::manifest, .log = 1, .link = 2},
};

TEST(KafkaRecords, KeysComeBack) {
  for (const Key& key : kKeys) EXPECT_EQ(decode_key(encode(key)), key);
  EXPECT_EQ(encode(kKeys[0]), std::string("T1B\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 19));
}

TEST(KafkaRecords, AKeyThatIsShorterOrLongerIsNotOurs) {
  for (const Key& key : kKeys) {
    const std::string bytes = encode(key);
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_key(bytes.substr(0, size)));
    EXPECT_FALSE(decode_key(bytes + "x"));
    EXPECT_FALSE(decode_key("X" + bytes.substr(1)));
    EXPECT_FALSE(decode_key(bytes.substr(0, 2) + "?" + bytes.substr(3)));
  }
}

TEST(KafkaRecords, BirthsComeBackAndBadOnesDoNot) {
  const auto birth = decode_birth(encode(Birth{2, 4, "a pool"}));
  ASSERT_TRUE(birth);
  EXPECT_EQ(birth->shard, 2U);
  EXPECT_EQ(birth->shards, 4U);
  EXPECT_EQ(birth->pool, "a pool");
  EXPECT_FALSE(decode_birth(encode(Birth{4, 4, "p"})));
  EXPECT_FALSE(decode_birth(encode(Birth{0, 0, "p"})));
  EXPECT_FALSE(decode_birth(encode(Birth{0, 100'000, "p"})));
  EXPECT_FALSE(decode_birth("short"));
}

TEST(KafkaRecords, ManifestsComeBackAndBadOnesDoNot) {
  Manifest manifest;
  manifest.shard = 1;
  manifest.shards = 3;
  manifest.cursor = {77, 88};
  manifest.time_ms = 99;
  manifest.first = 5;
  manifest.end = 9;
  manifest.chunks = 2;
  manifest.pool = "p";
  const std::string bytes = encode(manifest);
  const auto back = decode_manifest(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_EQ(back->cursor, manifest.cursor);
  for (std::size_t size = 0; size + 1 < bytes.size(); ++size) EXPECT_FALSE(decode_manifest(bytes.substr(0, size)));
  manifest.first = 10;
  EXPECT_FALSE(decode_manifest(encode(manifest)));
  manifest.first = 5;
  manifest.cursor.position = 0;
  EXPECT_FALSE(decode_manifest(encode(manifest)));
}

TEST(KafkaRecords, AnEntryHasAsManyPiecesAsItNeeds) {
  EXPECT_EQ(pieces_of(0), 1U);
  EXPECT_EQ(pieces_of(kPieceBytes), 1U);
  EXPECT_EQ(pieces_of(kPieceBytes + 1), 2U);
  EXPECT_EQ(pieces_of(kEntryBytesMax), 10U);
}

// Whatever the broker's clock does, and wherever a reader that knows an entry's time goes on.
TEST(KafkaClamp, TimesNeverGoBackAndAreTheSameFromAnyEntryOn) {
  const std::uint64_t seed = SystemEntropy().next();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededEntropy entropy(seed);
  std::vector<std::int64_t> broker_ms;
  for (int i = 0; i < 200; ++i) broker_ms.push_back(1000 + i + static_cast<std::int64_t>(entropy.below(100)));
  std::vector<std::int64_t> times;
  Clamp clamp;
  for (const std::int64_t ms : broker_ms) {
    times.push_back(clamp.next(ms));
    EXPECT_GE(times.back(), times[times.size() - std::min<std::size_t>(2, times.size())]);
    EXPECT_GE(times.back(), ms);
  }
  for (std::size_t from = 0; from < times.size(); ++from) {
    Clamp later(times[from]);
    for (std::size_t i = from + 1; i < times.size(); ++i) ASSERT_EQ(later.next(broker_ms[i]), times[i]);
  }
}

}  // namespace
}  // namespace tenure::kafka
