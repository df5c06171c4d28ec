#include "log/redis/errors.h"

#include <algorithm>
#include <array>

namespace tenure::redis {
namespace {

struct Meaning {
  std::string_view word;
  Errc code;
  bool reconnect;
  std::string_view advice;
};

// First Redis' own errors, then those of scripts.cc.
constexpr std::array<Meaning, 23> kMeanings = {{
    {"OOM", Errc::full, false, "raise maxmemory, or free memory; nothing was written"},
    {"MISCONF", Errc::full, false, "the server cannot write to its disk, and refuses writes until it can"},
    {"NOREPLICAS", Errc::unavailable, false, "fewer replicas are in step than min-replicas-to-write asks for"},
    {"READONLY", Errc::unavailable, true, "it is a replica; looking for the master"},
    {"LOADING", Errc::unavailable, true, "it is loading its data from the disk; it is tried again"},
    {"MASTERDOWN", Errc::unavailable, true, "it is a replica without its master; it is tried again"},
    {"UNBLOCKED", Errc::unavailable, true, "it has become a replica; looking for the master"},
    {"NOSCRIPT", Errc::unavailable, true, "its scripts were flushed; they are loaded again"},
    {"BUSY", Errc::unavailable, false, "a script of another program is running there for a long time"},
    {"TRYAGAIN", Errc::unavailable, false, "it is tried again"},
    {"CLUSTERDOWN", Errc::unavailable, true, "the cluster has lost slots; it is tried again"},
    {"MOVED", Errc::unavailable, true, "the cluster has this pool on another server; looking for it"},
    {"ASK", Errc::unavailable, true, "the cluster is moving this pool to another server; it is tried again"},
    {"NOAUTH", Errc::refused, true, "the server needs a password: redis://USER:PASSWORD@HOST, or password_file"},
    {"WRONGPASS", Errc::refused, false, "user and password do not match, or the user is disabled"},
    {"NOPERM", Errc::refused, false, "the user lacks a right; docs/redis.md has the rule that a pool needs"},
    {"DENIED", Errc::refused, false, "the server is in protected mode: give it a password, or bind it to this host"},
    {"WRONGTYPE", Errc::refused, false, "another program uses a key of this pool: choose another name or database"},
    {"TENURE-LOST", Errc::lost_history, false, ""},
    {"TENURE-FOREIGN", Errc::refused, false, "choose another name or database"},
    {"TENURE-CORRUPT", Errc::corrupt, false, "restore a backup, or delete the pool's keys"},
    {"TENURE-AGAIN", Errc::unavailable, false, ""},
    {"EXECABORT", Errc::unavailable, false, ""},
}};

constexpr Meaning kOther = {"ERR", Errc::refused, false, ""};

Meaning meaning_of(std::string_view reply) {
  if (reply.starts_with("ERR max number of clients")) {
    return {"", Errc::unavailable, true, "raise maxclients, or close some connections"};
  }
  if (reply.starts_with("ERR The ID specified in XADD")) {
    return {"", Errc::unavailable, false, "it will be tried again"};  // the clock has come past what was named
  }
  const std::string_view word = reply.substr(0, reply.find(' '));
  const auto* const found =
      std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) { return meaning.word == word; });
  return found == kMeanings.end() ? kOther : *found;
}

// Our errors without the first word, Redis' errors without the place in the script. Truncated to what a message needs.
std::string_view text_of(std::string_view reply) {
  constexpr std::size_t kTextBytesMax = 500;
  reply = reply.substr(0, kTextBytesMax);
  if (reply.starts_with("TENURE-")) return reply.substr(std::min(reply.find(' ') + 1, reply.size()));
  return reply.substr(0, reply.find(" script: "));
}

}  // namespace

Verdict judge(std::string_view reply, std::string_view operation, const std::string& place) {
  const Meaning meaning = meaning_of(reply);
  std::string context = place;
  context.append(": ").append(text_of(reply));
  if (!meaning.advice.empty()) context.append("; ").append(meaning.advice);
  return {{meaning.code, "redis " + std::string(operation), std::move(context)}, meaning.reconnect};
}

}  // namespace tenure::redis
