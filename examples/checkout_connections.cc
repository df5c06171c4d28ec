// A pool of database connections, which are expensive to open, serve one caller at a time, and sometimes die. First
// threads that block use it, then an event loop that must not block: it requests a connection, gets it on its own
// thread, confirms, works and gives it back, or gives up after a while. Exits with code 0 if every query was answered.

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tenure/checkout.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// As a client library would give it.
class Connection {
 public:
  static tenure::Result<Connection> open(const std::string& host) {
    if (host.empty()) return tenure::Failure({tenure::Errc::unavailable, "connect", "no host"});
    return Connection();
  }
  std::string query(const std::string& text) { return ++queries_, "result of " + text; }
  bool ping() const { return queries_ < 100; }  // this one wears out

 private:
  int queries_ = 0;
};

// A minimal event loop: what is posted runs on the thread that calls run().
class EventLoop {
 public:
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    wake_.notify_one();
  }
  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
};

// Takes orders, and has as many under way as there are; none of them blocks the loop. All of it runs on the loop.
class Desk {
 public:
  Desk(tenure::CheckoutRef<Connection> pool, EventLoop& loop) : pool_(std::move(pool)), loop_(loop) {}

  void start_work(int id, std::string query) {
    orders_[id].query = std::move(query);
    tenure::AsyncCheckoutOptions options;
    options.force_enqueue = true;
    options.executor = [this](std::function<void()> work) { loop_.post(std::move(work)); };
    orders_[id].request = pool_.checkout_async([this, id](const auto& news) { on_news(id, news); }, options);
  }
  // A timer of the loop's would call this. The place in the queue, or the connection on its way, is given back.
  void give_up(int id) { orders_.erase(id); }

  std::size_t open() const { return orders_.size(); }
  int answered() const { return answered_; }

 private:
  struct Order {
    std::string query;
    tenure::CheckoutRequest<Connection> request;
  };

  void on_news(int id, const tenure::CheckoutNews<Connection>& news) {
    switch (news.kind()) {
      case tenure::CheckoutNewsKind::enqueued: return;  // its turn will come
      case tenure::CheckoutNewsKind::worker: return work(id, news);
      case tenure::CheckoutNewsKind::overloaded:
      case tenure::CheckoutNewsKind::pool_down: orders_.erase(id);
    }
  }
  void work(int id, const tenure::CheckoutNews<Connection>& news) {
    auto connection = news.confirm();
    if (!connection) return;  // it died on the way: another will be offered
    if (!(*connection)->query(orders_.at(id).query).empty()) ++answered_;
    orders_.erase(id);
  }

  tenure::CheckoutRef<Connection> pool_;
  EventLoop& loop_;
  std::map<int, Order> orders_;
  int answered_ = 0;
};

int query_from_threads(const tenure::CheckoutRef<Connection>& pool) {
  std::atomic<int> answered{0};
  std::vector<std::thread> threads(8);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int query = 0; query < 200; ++query) {
        auto connection = pool.checkout(10s);
        if (connection && !(*connection)->query("select 1").empty()) ++answered;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return answered;
}

int query_from_a_loop(const tenure::CheckoutRef<Connection>& pool) {
  EventLoop loop;
  Desk desk(pool, loop);
  for (int id = 0; id < 1000; ++id) desk.start_work(id, "select " + std::to_string(id));
  desk.give_up(999);
  loop.run_until([&] { return desk.open() == 0; });
  return desk.answered();
}

}  // namespace

int main() {
  tenure::CheckoutOptions options;
  options.name = "database";
  options.default_workers = 4;
  options.max_workers = 6;
  options.max_queue = -1;
  options.max_lifetime = 30min;
  tenure::CheckoutPool<Connection> pool([] { return Connection::open("db.internal"); }, options,
                                        [](Connection& connection) { return connection.ping(); });

  const int by_threads = query_from_threads(pool);
  const int by_loop = query_from_a_loop(*tenure::CheckoutRef<Connection>::find("database"));
  const tenure::CheckoutMetrics metrics = pool.metrics();
  std::printf("threads: %d answered; loop: %d answered; %llu connections opened, %llu worn out\n", by_threads, by_loop,
              static_cast<unsigned long long>(metrics.starts), static_cast<unsigned long long>(metrics.invalid));
  return by_threads == 1600 && by_loop == 999 ? 0 : 1;
}
