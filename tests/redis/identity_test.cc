// A beat proves the log (log.h, promise 7). Each key of a pool is deleted, renamed away, evicted, or replaced by an
// older copy, by another pool's or by something else, under members that wait, beat, or are busy. Afterwards there is
// one log: either the member's beats are refused, or newcomers get the member's log. tests/e2e/identity_test.py shows
// with whole programs that this holds with any lease.

#include <array>
#include <atomic>
#include <vector>

#include "log_conformance/member.h"
#include "redis/place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHeadKey = "tenure:{default}:snapshot";

enum class Key : std::uint8_t { meta, head, chunks, stream, meta_and_head };
enum class Deed : std::uint8_t { removed, renamed_away, evicted, older_copy, another_pools, other_type };

struct Case {
  Key key;
  Deed deed;
  Life life;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  static constexpr std::array<const char*, 5> kKeys{"meta", "head", "chunks", "stream", "meta_and_head"};
  static constexpr std::array<const char*, 6> kDeeds{"removed",    "renamed_away",  "evicted",
                                                     "older_copy", "another_pools", "other_type"};
  return std::string(kKeys[static_cast<std::size_t>(info.param.key)]) + "_" +
         kDeeds[static_cast<std::size_t>(info.param.deed)] + "_under_" + name_of(info.param.life);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Key key : {Key::meta, Key::head, Key::chunks, Key::stream, Key::meta_and_head}) {
    for (const Deed deed :
         {Deed::removed, Deed::renamed_away, Deed::evicted, Deed::older_copy, Deed::another_pools, Deed::other_type}) {
      for (const Life life : {Life::idle, Life::beating, Life::busy}) {
        // Newcomers wait for a snapshot that may still come. Ten seconds each are enough once.
        if (deed == Deed::another_pools && key != Key::meta && life != Life::beating) continue;
        cases.push_back({key, deed, life});
      }
    }
  }
  return cases;
}

class RedisIdentity : public testing::TestWithParam<Case> {
 protected:
  std::string command(const std::vector<std::string>& words) const { return server_.command(words); }

  std::vector<std::string> keys(const std::string& pool = "default") const {
    const std::string meta = "tenure:{" + pool + "}:meta";
    const std::string head = "tenure:{" + pool + "}:snapshot";
    switch (GetParam().key) {
      case Key::meta: return {meta};
      case Key::head: return {head};
      case Key::chunks: return {head + ":" + command({"HGET", head, "tag"})};
      case Key::stream: return {log_key(server_, pool)};
      case Key::meta_and_head: return {meta, head};
    }
    return {};
  }

  // As they are now, and those of another pool.
  void copy_for_later() const {
    const auto other = try_open(server_.url(), "other");
    ASSERT_TRUE(other) << other.error().message();
    ASSERT_TRUE(store_snapshot(**other, Cursor::at(put(**other, "theirs")), {"theirs"}));
    const std::vector<std::string> theirs = keys("other");
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      command({"COPY", keys()[i], "copy:" + keys()[i]});
      command({"COPY", theirs[i], "another:" + keys()[i]});
    }
  }

  // A server that is full drops keys that it may drop, and here it may drop no others.
  void evict() const {
    command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
    for (const std::string& key : names_) command({"EXPIRE", key, "1000"});
    command({"CONFIG", "SET", "maxmemory", "1"});
    for (const std::string& key : names_) {
      EXPECT_TRUE(soon(5s, [&] {
        command({"SET", "ballast", "x"});  // refused: it makes room first
        return command({"EXISTS", key}) == "0";
      })) << key;
    }
    command({"CONFIG", "SET", "maxmemory", "0"});
  }

  void tamper() {
    names_ = keys();
    if (GetParam().deed == Deed::evicted) return evict();
    for (const std::string& key : names_) {
      switch (GetParam().deed) {
        case Deed::removed: command({"DEL", key}); break;
        case Deed::renamed_away: command({"RENAME", key, "away:" + key}); break;
        case Deed::evicted: break;
        case Deed::older_copy: command({"COPY", "copy:" + key, key, "REPLACE"}); break;
        case Deed::another_pools: command({"COPY", "another:" + key, key, "REPLACE"}); break;
        case Deed::other_type: command({"SET", key, "theirs"}); break;
      }
    }
  }

  const RedisServer server_;
  std::vector<std::string> names_;  // what was tampered with
};

// True if a process that opens the log now, and starts from its snapshot, finds the entry.
bool newcomers_find(const std::string& url, const Bytes& data) {
  const auto log = try_open(url);
  if (!log) return false;
  const auto snapshot = load_snapshot(**log);
  if (!snapshot) return false;
  Member reader(open_at(url), snapshot->cursor, Life::idle);
  return soon(1s, [&] { return reader.has_read(data); });
}

TEST_P(RedisIdentity, LeavesOneLog) {
  auto log = open_at(server_.url());
  const Entry first = put(*log, "first");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  copy_for_later();
  const Entry last = put(*log, "last", Cursor::at(first));
  Member member(std::move(log), Cursor::at(last), GetParam().life);
  ASSERT_TRUE(GetParam().life == Life::idle || soon(5s, [&] { return member.has_read("beat 2"); }));
  tamper();

  // A newcomer gets a log, or is refused.
  const auto newcomer = try_open(server_.url());
  if (newcomer) {
    int marks = 0;
    EXPECT_TRUE(soon(3s, [&] {
      const Bytes mark = "mark " + std::to_string(++marks);
      return member.lost() || (append(**newcomer, mark) && soon(100ms, [&] { return member.has_read(mark); }));
    })) << "the newcomer got another log, and the member lives on in its own";
  }
  if (GetParam().key == Key::chunks) return;  // below
  // As long as the member's beats are taken, newcomers get its log, or none.
  const bool beats = append(member.log(), "proof", Lane::beat).has_value();
  const bool opens = try_open(server_.url()).has_value();
  const bool loads = opens && load_snapshot(*open_at(server_.url())).has_value();
  EXPECT_TRUE(!beats || !loads || newcomers_find(server_.url(), "proof"));
}

// A member alone restores what it can, without a newcomer.
TEST_P(RedisIdentity, IsMendedByABeatWhereTheStreamIsThere) {
  if (GetParam().key == Key::stream || GetParam().key == Key::chunks || GetParam().deed == Deed::other_type ||
      GetParam().deed == Deed::another_pools) {
    return;
  }
  const auto log = open_at(server_.url());
  const Entry first = put(*log, "first");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  copy_for_later();
  const std::string meta = command({"HGETALL", kMetaKey});
  tamper();
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  EXPECT_EQ(command({"HGETALL", kMetaKey}).size(), meta.size()) << command({"HGETALL", kMetaKey});
  EXPECT_EQ(command({"HGET", kHeadKey, "id"}), command({"HGET", kMetaKey, "id"}));
  const auto other = open_at(server_.url());
  ASSERT_TRUE(append(*other, "by another", Lane::beat));
}

// The member learns of it, so that it can write another snapshot; meanwhile the newcomer tries again.
TEST(RedisSnapshot, AMemberIsToldOfASnapshotThatIsGone) {
  const RedisServer server;
  const auto log = open_at(server.url());
  std::atomic<Position> seen = UINT64_MAX;
  log->watch_snapshot([&](Position stored) { seen = stored; });
  const Entry first = put(*log, "first");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  EXPECT_TRUE(soon(5s, [&] { return seen == first.position; }));
  server.command({"DEL", std::string(kHeadKey) + ":" + server.command({"HGET", kHeadKey, "tag"})});
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  EXPECT_TRUE(soon(5s, [&] { return seen == 0; }));

  const auto other = open_at(server.url());
  Answer<Result<Snapshot>> loading;
  other->load_snapshot(loading.callback());
  EXPECT_FALSE(loading.ready_within(300ms));
  const Entry last = put(*log, "last", Cursor::at(first));
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(last), {"state"}));
  const auto snapshot = loading.get();
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->cursor, Cursor::at(last));
  log->close();
}

INSTANTIATE_TEST_SUITE_P(Keys, RedisIdentity, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace tenure::conformance
