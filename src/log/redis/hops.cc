#include "log/redis/hops.h"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/entropy.h"
#include "log/redis/keys.h"
#include "log/redis/settings.h"

namespace tenure::redis {
namespace {

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

class Plain {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Answer = std::unique_ptr<redisReply, FreeReply>;

  static Result<Plain> connect(const RedisSettings& settings) {
    redisContext* const context = settings.socket_path.empty()
                                      ? redisConnectWithTimeout(settings.addresses.front().host.c_str(),
                                                                settings.addresses.front().port, kPatience)
                                      : redisConnectUnixWithTimeout(settings.socket_path.c_str(), kPatience);
    Plain plain(context);
    if (context == nullptr || context->err != 0) return plain.broken();
    redisSetTimeout(context, kPatience);
    const Result<Login> login = current_login(settings.login);
    if (!login) return Failure(login.error());
    if (login->given()) {
      const auto in = plain.ask({"AUTH", login->user.empty() ? "default" : login->user, login->password});
      if (!in) return Failure(in.error());
    }
    if (settings.database != 0) {
      const auto chosen = plain.ask({"SELECT", std::to_string(settings.database)});
      if (!chosen) return Failure(chosen.error());
    }
    return plain;
  }

  Result<Answer> ask(const std::vector<std::string>& words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      starts.push_back(word.data());
      sizes.push_back(word.size());
    }
    void* const reply = redisCommandArgv(context_.get(), static_cast<int>(words.size()), starts.data(), sizes.data());
    if (reply == nullptr) return broken();
    Answer answer(static_cast<redisReply*>(reply));
    if (answer->type == REDIS_REPLY_ERROR)
      return fail(Errc::refused, "redis hop", "the server refused a plain command");
    return answer;
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  explicit Plain(redisContext* context) : context_(context) {}
  Failure broken() const {
    return fail(Errc::unavailable, "redis hop", context_ ? &context_->errstr[0] : "no memory for a connection");
  }

  std::unique_ptr<redisContext, Free> context_;
};

using SteadyClock = std::chrono::steady_clock;

// The idle time between an entry and the next. The reader waits, and the server has nothing else to do.
constexpr std::chrono::microseconds kIdle{200};

// The id of the first entry in an answer to XREAD: [[stream, [[id, fields] …]]]. Empty if there is none.
std::string first_id(const redisReply& answer) {
  const redisReply* at = &answer;
  for (const std::size_t index : {0U, 1U, 0U, 0U}) {
    if (at->type != REDIS_REPLY_ARRAY || at->elements <= index) return "";
    at = at->element[index];
  }
  return at->type == REDIS_REPLY_STRING ? std::string(at->str, static_cast<std::size_t>(at->len)) : "";
}

// Reads one entry after the other, waiting on its own thread.
class Follower {
 public:
  Follower(Plain reader, std::string key, int count)
      : reader_(std::move(reader)), key_(std::move(key)), times_(static_cast<std::size_t>(count)), thread_([this] {
          for (SteadyClock::time_point& time : times_) {
            const Result<Plain::Answer> came =
                reader_.ask({"XREAD", "COUNT", "1", "BLOCK", "5000", "STREAMS", key_, after_});
            time = SteadyClock::now();
            after_ = came ? first_id(**came) : "";
            read_ = after_.empty() ? kFailed : read_ + 1;
            read_.notify_one();
            if (after_.empty()) return;
          }
        }) {}
  ~Follower() { thread_.join(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // When the entry came, or nothing if it does not.
  std::optional<SteadyClock::time_point> wait(int number) {
    while (read_ != kFailed && read_ <= number) read_.wait(number);
    if (read_ == kFailed) return std::nullopt;
    return times_[static_cast<std::size_t>(number)];
  }

 private:
  static constexpr int kFailed = -1;

  Plain reader_;
  const std::string key_;
  std::string after_ = "0";
  std::vector<SteadyClock::time_point> times_;
  std::atomic<int> read_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

Result<std::vector<Nanos>> measure_hops(std::string_view url, int count) {
  const Result<RedisSettings> settings = parse_settings(url);
  if (!settings) return Failure(settings.error());
  std::vector<Nanos> hops;
  if (settings->tls.on || !settings->service.empty()) return hops;
  Result<Plain> writer = Plain::connect(*settings);
  if (!writer) return Failure(writer.error());
  Result<Plain> reader = Plain::connect(*settings);
  if (!reader) return Failure(reader.error());
  const std::string key = Keys("bench-hop").log(SystemEntropy().id());
  const std::string data(64, 'x');
  {
    Follower follower(*std::move(reader), key, count);
    for (int i = 0; i < count; ++i) {
      std::this_thread::sleep_for(kIdle);
      const SteadyClock::time_point began = SteadyClock::now();
      const Result<Plain::Answer> sent = writer->ask({"XADD", key, "*", "data", data});
      if (!sent) return Failure(sent.error());
      const std::optional<SteadyClock::time_point> came = follower.wait(i);
      if (!came) return fail(Errc::unavailable, "redis hop", "an entry did not arrive");
      hops.push_back(*came - began);
    }
  }
  if (const Result<Plain::Answer> gone = writer->ask({"UNLINK", key}); !gone) return Failure(gone.error());
  return hops;
}

}  // namespace tenure::redis
