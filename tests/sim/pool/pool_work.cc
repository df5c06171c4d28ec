// The requests of clients to a run's pool.

#include <numeric>

#include "sim/pool/pool_run.h"
#include "sim/pool/tastes.h"

namespace tenure::sim {

void PoolRun::plan_request(std::uint32_t client) {
  world_.after(dice_.between(0, 2 * work_.pace), [this, client] {
    if (healed_) return;
    // Now and then a node that also works asks, as a program that embeds the library would.
    const std::size_t seat = dice_.chance(0.2) ? dice_.below(plan_.nodes) : plan_.nodes + client;
    Caller* caller = seats_[seat]->caller;
    // The options of a pool, and so its queue bound, come with its first member.
    const bool ready = caller != nullptr && !seats_[seat]->leaving && onlooker_.machine().configured();
    if (ready) request(*seats_[seat]);
    plan_request(client);
  });
}

void PoolRun::request(const Seat& seat) {
  const auto& weights = work_.weights;
  auto draw = dice_.below(std::accumulate(weights.begin(), weights.end(), std::uint64_t{1}));
  std::size_t ask = 0;
  while (ask + 1 < weights.size() && draw >= weights[ask]) draw -= weights[ask++];
  send(seat, static_cast<Ask>(ask));
}

Bytes PoolRun::some_key(Ask ask) {
  const bool task = ask == Ask::task || (ask == Ask::stop && dice_.chance(0.2));
  const std::uint64_t number = dice_.below(task ? work_.task_keys : work_.resident_keys);
  return (task ? "task-" : "key-") + std::to_string(number);
}

void PoolRun::send(const Seat& seat, Ask ask) {
  Caller& caller = *seat.caller;
  const std::uint64_t number = recorder_.new_number();
  Bytes key = some_key(ask);
  const Bytes text = Recorder::bytes_with(number, dice_.below(work_.payload_bytes_max));
  const bool delayed = ask == Ask::task && dice_.chance(work_.delayed);
  const Nanos delay(delayed ? dice_.between(kMilli, work_.delay_max) : 0);
  const bool job = ask == Ask::task || ask == Ask::resident;
  const std::string type =
      job && seat.speaks >= kTakesVersion ? some_type(plan_, types_, ask == Ask::resident) : std::string();
  std::uint64_t grave = 0;
  std::uint64_t buried = 0;
  if (ask == Ask::retry_dead || ask == Ask::drop_dead) {
    const auto& dead = onlooker_.machine().dead();
    if (dead.empty()) return;
    const auto at = std::next(dead.begin(), static_cast<std::ptrdiff_t>(dice_.below(dead.size())));
    grave = at->first;
    key = at->second.key;
    buried = onlooker_.buried_ticket(grave);
    if (buried == 0) return;
  }
  const auto asked = [=, this, process = caller.process().number()](std::uint64_t ticket) {
    ++outcome_.tickets;
    recorder_.number_is(number, ticket);
    recorder_.add(Asked{process, ticket, ask, key, delayed, buried, type, delay.count()});
  };
  caller.ask({ask, key, text, delay, grave, type}, asked);
}

}  // namespace tenure::sim
