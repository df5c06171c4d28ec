#include "demo/demo.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/output.h"
#include "demo/bookkeeper.h"
#include "demo/chronicle.h"
#include "demo/console.h"
#include "demo/crew.h"
#include "demo/director.h"
#include "demo/figures.h"
#include "demo/human_ms.h"
#include "demo/schedule.h"
#include "demo/sweeper.h"
#include "log/engines.h"
#include "pool/pool_core.h"

namespace tenure::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Short, because the user waits for it after a freeze.
constexpr milliseconds kLease{1000};
constexpr milliseconds kSettling{20'000};

std::vector<std::string> tenant_keys(int count) {
  std::vector<std::string> keys;
  for (int number = 1; number <= count; ++number) {
    char key[32];
    std::snprintf(key, sizeof key, count < 100 ? "tenant-%02d" : "tenant-%03d", number);
    keys.emplace_back(key);
  }
  return keys;
}

// A row of the figures: a name and a value.
std::string row_of(const char* name, const std::string& value) {
  std::string row = name;
  row.resize(23, ' ');
  return row + value;
}

void print(const Happening& happening) {
  char when[32];
  std::snprintf(when, sizeof when, "%7.1f s  ", static_cast<double>(to_ms(happening.at)) / 1000);
  print_line(when + happening.text);
}

void print(const Figures& all) {
  const auto times = [](const char* name, const Distribution& all_ms) {
    print_line(row_of(name, "p50 " + human_ms(all_ms.p50) + ", p99 " + human_ms(all_ms.p99) + ", max " +
                                human_ms(all_ms.max) + " (" + std::to_string(all_ms.n) + ")"));
  };
  const auto count = [](const char* name, std::uint64_t number) { print_line(row_of(name, std::to_string(number))); };
  times("takeover", all.takeover_ms);
  times("gap", all.gap_ms);
  count("moves", all.moves);
  count("moves, minimum", all.moves_minimum);
  count("ticks", all.ticks);
  count("lost ticks", all.lost);
  count("double holders", all.double_holders);
  count("stale writes refused", all.stale_writes_refused);
  const BadDeploys& bad = all.bad_deploys;
  if (bad.workers == 0) return;
  print_line(row_of("bad deploy", std::to_string(bad.unfit) + " of " + std::to_string(bad.workers) +
                                      " new workers unfit, at most " + tenants(bad.without_holder_max) +
                                      " without a holder"));
  times("bad deploy, gap", distribution(bad.gap_ms));
}

// Owns all parts. They are destroyed in reverse order.
class Demo {
 public:
  Demo(const DemoOptions& options, Console& console, Inbox& inbox, const std::string& program,
       const std::string& folder)
      : options_(options),
        console_(console),
        inbox_(inbox),
        live_(Terminal::there() && !options.json && options.script.empty()),
        url_(options.engine_url.empty() ? file_url(**file_engine(), folder + "/pool.db") : options.engine_url),
        pool_("demo-" + std::to_string(::getpid())),
        ledger_path_(folder + "/ledger.db"),
        keys_(tenant_keys(options.tenants)),
        chronicle_(live_ || options.json ? std::function<void(const Happening&)>()
                                         : [](const Happening& one) { print(one); }),
        picture_(keys_),
        crew_({.url = url_, .pool = pool_, .ledger = ledger_path_, .lease = kLease, .parent = ::getpid()}, program,
              folder) {}

  Status run() {
    if (Status ready = set_up(); !ready) return ready;
    console_.start(live_, [this](std::optional<std::size_t> explained) { return gather(explained); });
    Status played = play();
    // From here on workers leave because the demo ends. That is not measured.
    pool_at_end_ = picture_.copy();
    times_at_end_ = picture_.times();
    end_pool();
    console_.stop();
    books_at_end_ = bookkeeper_->close_books();
    if (played && bookkeeper_->failure()) return Failure(*bookkeeper_->failure());
    return played;
  }

  Figures result() const {
    return figures(pool_at_end_, times_at_end_, books_at_end_, director_->rounds(), director_->bad_deploys());
  }

 private:
  Status set_up() {
    Result<std::unique_ptr<Ledger>> ledger = Ledger::create(ledger_path_, keys_);
    if (!ledger) return Failure(ledger.error());
    Result<std::unique_ptr<Ledger>> probe = Ledger::open(ledger_path_);
    if (!probe) return Failure(probe.error());
    probe_ = *std::move(probe);
    bookkeeper_ = std::make_unique<Bookkeeper>(*std::move(ledger), picture_);
    director_ = std::make_unique<Director>(crew_, picture_, *bookkeeper_, chronicle_, inbox_, *probe_, kLease);
    CoreOptions options;
    options.url = url_;
    options.pool = pool_;
    options.node.lease = kLease;
    Result<std::unique_ptr<PoolCore>> core = PoolCore::open(std::move(options), nullptr, {.pool = {&picture_}});
    if (!core) return Failure(core.error());
    core_ = *std::move(core);
    return {};
  }

  Status play() {
    if (Status gathered = director_->gather(options_.workers); !gathered) return gathered;
    for (const std::string& key : keys_) {
      Request request;
      request.key = key;
      const Result<TicketPtr> ticket = core_->submit(request);
      if (!ticket) return Failure(ticket.error());
    }
    if (!director_->wait_settled(kSettling)) {
      if (inbox_.quitting()) return {};
      return fail(Errc::timed_out, "start the tenants", "the pool did not settle");
    }
    chronicle_.add(std::to_string(keys_.size()) + " tenants run on " + std::to_string(options_.workers) + " workers");
    Schedule schedule(options_, live_);
    while (!inbox_.quitting() && !schedule.over()) {
      director_->attend();
      if (const std::optional<char> act = inbox_.take(milliseconds(50))) director_->play(*act);
      const std::optional<char> due = schedule.due();
      if (!due) continue;
      director_->wait_settled(kSettling);
      director_->play(*due);
    }
    if (!live_) director_->wait_settled(kSettling);
    return {};
  }

  void end_pool() {
    for (const Member& member : crew_.members()) {
      if (member.state == Member::State::frozen) crew_.thaw(member.id);
    }
    const Status ended = core_->shut_down(after(seconds(5)));
    for (const Member& member : crew_.members()) crew_.leave(member.id);
    const steady_clock::time_point deadline = after(seconds(ended ? 3 : 1));
    while (!crew_.empty() && steady_clock::now() < deadline) {
      crew_.reap();
      ::usleep(5'000);
    }
    for (const Member& member : crew_.members()) crew_.kill(member.id);
    core_.reset();
  }

  // Called on the console's thread.
  Scene gather(std::optional<std::size_t> explained) {
    const PoolPicture pool = picture_.copy();
    const Books books = bookkeeper_->books();
    const Instant now = clock_.now();
    Scene scene = make_scene(pool, crew_.members(), books, now, kLease);
    scene.engine = url_.substr(0, url_.find(':'));
    scene.age_ms = static_cast<double>(to_ms(chronicle_.age()));
    scene.happenings = chronicle_.last();
    scene.figures = figures(pool, picture_.times(), books, director_->rounds(), director_->bad_deploys());
    if (explained) scene.explanation = explain(pool, *explained, now);
    return scene;
  }

  const DemoOptions& options_;
  Console& console_;
  Inbox& inbox_;
  const bool live_;
  const std::string url_;
  const std::string pool_;
  const std::string ledger_path_;
  const std::vector<std::string> keys_;
  const BootClock clock_;
  Chronicle chronicle_;
  Picture picture_;
  Crew crew_;
  std::unique_ptr<Ledger> probe_;
  std::unique_ptr<Bookkeeper> bookkeeper_;
  std::unique_ptr<Director> director_;
  std::unique_ptr<PoolCore> core_;
  PoolPicture pool_at_end_;
  PictureTimes times_at_end_;
  Books books_at_end_;
};

}  // namespace

Status check(const DemoOptions& options) {
  const bool script = std::all_of(options.script.begin(), options.script.end(),
                                  [](char act) { return act != '\0' && std::strchr(kActs, act) != nullptr; });
  // An engine within one process cannot be shared by several.
  const bool shared = reach_of(options.engine_url) != Reach::process;
  const bool sound = script && shared && options.workers >= 1 && options.workers <= kWorkersMax &&
                     options.tenants >= 1 && options.tenants <= kTenantsMax &&
                     (!options.run_for || options.run_for->count() > 0);
  if (sound) return {};
  return fail(Errc::invalid, "demo",
              "up to " + std::to_string(kWorkersMax) + " workers and " + std::to_string(kTenantsMax) +
                  " tenants; a script has the letters " + kActs + "; not with the memory engine");
}

Result<bool> run_demo(const DemoOptions& options) {
  if (Status sound = check(options); !sound) return Failure(sound.error());
  const std::string program = options.program.empty() ? "/proc/self/exe" : options.program;
  Inbox inbox;
  Console console(inbox);
  const Result<SweptFolder> folder = SweptFolder::create(program);
  if (!folder) return Failure(folder.error());
  Demo demo(options, console, inbox, program, folder->path());
  const Status run = demo.run();
  console.stop();
  if (!run) return Failure(run.error());
  const Figures figures = demo.result();
  if (options.json) {
    print_line(to_json(figures));  // only numbers and our own names
  } else {
    print(figures);
  }
  return figures.sound();
}

}  // namespace tenure::demo
