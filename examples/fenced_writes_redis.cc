// Redis itself rejects a writer whose tenure has ended. Every write goes through a small script, which compares the
// epoch of its hold with the highest one that has written (tenure/redis_fence.hpp). Pool and data may be on one server,
// as here, or on two.
//
//   fenced_writes_redis redis://127.0.0.1:6379

#include <hiredis/hiredis.h>

#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/tenure.hpp>

using namespace std::chrono_literals;

namespace {

class Accounts {
 public:
  explicit Accounts(const std::string& url) {
    const std::string address = url.substr(url.find("://") + 3);
    const std::size_t colon = address.find(':');
    redis_.reset(redisConnect(address.substr(0, colon).c_str(), std::stoi(address.substr(colon + 1))));
  }

  // False if a later holder has written already.
  bool write(const std::string& id, int balance, std::uint64_t epoch) {
    const Reply reply = send(tenure::fenced_redis_command("{account:" + id + "}:fence", "{account:" + id + "}:balance",
                                                          epoch, {"SET", std::to_string(balance)}));
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->element[0]->integer == 1;
  }

  std::string balance(const std::string& id) {
    const Reply reply = send({"GET", "{account:" + id + "}:balance"});
    return reply && reply->str != nullptr ? reply->str : "none";
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  Reply send(const std::vector<std::string>& words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      starts.push_back(word.data());
      sizes.push_back(word.size());
    }
    const int count = static_cast<int>(words.size());
    return Reply(static_cast<redisReply*>(redisCommandArgv(redis_.get(), count, starts.data(), sizes.data())));
  }

  std::unique_ptr<redisContext, Free> redis_;
};

// Remembers each job it was given, as a process does that was paused in the middle of one.
class Writer final : public tenure::Handler {
 public:
  tenure::Outcome start(tenure::Job& job) override {
    std::lock_guard lock(mutex_);
    job_ = job;
    changed_.notify_all();
    return {};
  }
  tenure::Job job() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return job_.has_value(); });
    return *job_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<tenure::Job> job_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
  tenure::Pool pool("accounts", url);
  Accounts accounts(url);
  const auto before = std::make_shared<Writer>();
  const auto after = std::make_shared<Writer>();
  tenure::Worker old_worker = pool.add_worker(before).value();
  pool.dispatch("anna").value().wait_started(10s).value();
  const tenure::Job stale = before->job();
  if (!accounts.write("anna", 100, stale.epoch())) return 1;

  pool.add_worker(after).value();
  old_worker.remove().value();
  const tenure::Job fresh = after->job();
  if (!accounts.write("anna", 200, fresh.epoch())) return 1;

  const bool refused = !accounts.write("anna", 101, stale.epoch());
  std::cout << "epoch " << stale.epoch() << " after " << fresh.epoch() << ": " << (refused ? "refused" : "WRITTEN")
            << ", the balance is " << accounts.balance("anna") << '\n';
  return refused && accounts.balance("anna") == "200" ? 0 : 1;
}
