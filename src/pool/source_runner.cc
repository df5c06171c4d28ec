#include "pool/source_runner.h"

#include <atomic>
#include <utility>

namespace tenure {

Request source_request(const feeder::Spec& spec, BytesView partition) {
  Request request;
  request.own = true;
  request.job = JobKind::resident;
  request.key = partition.empty() ? feeder::coordinator_key(spec.name) : feeder::feeder_key(spec.name, partition);
  request.text = spec.payload();
  request.type = spec.resident_type();
  return request;
}

SourceRunner::SourceRunner(feeder::Spec spec, std::unique_ptr<source::Source> source, Shards& shards,
                           feeder::QueueRoom& room, WriteLog log)
    : spec_(std::move(spec)),
      shards_(shards),
      room_(room),
      log_(std::move(log)),
      pump_(std::make_shared<feeder::Pump>(spec_, std::move(source), *this)) {}

SourceRunner::~SourceRunner() { end(); }

void SourceRunner::end() {
  std::shared_ptr<feeder::Pump> pump;
  {
    const std::lock_guard lock(mutex_);
    pump = std::exchange(pump_, nullptr);
  }
  if (pump) pump->end();
}

Outcome SourceRunner::start(Job& job) {
  const std::shared_ptr<feeder::Pump> pump = this->pump();
  const std::optional<feeder::OwnKey> key = feeder::read_own_key(job.key());
  if (!pump || !key) return Requeue{};
  const std::optional<feeder::Spec> spec = feeder::read_spec(job.payload());
  if (!spec) return Outcome::failed("the payload of a source's resident is malformed");
  if (*spec != spec_) {
    return Outcome::failed("this process has the source '" + spec_.name +
                           "' with other options: " + feeder::difference(*spec, spec_));
  }
  pump->add({.key = job.key(), .epoch = job.epoch()}, Bytes(key->partition), job.last_checkpoint());
  return {};
}

std::optional<std::string> SourceRunner::stop(Job& job) {
  const std::shared_ptr<feeder::Pump> pump = this->pump();
  return pump ? pump->remove(job.epoch()) : std::nullopt;
}

void SourceRunner::dispatch(const Bytes& partition, std::function<void(Errc)> done) {
  const Result<TicketPtr> ticket = shards_.submit(source_request(spec_, partition));
  if (!ticket) return done(ticket.error().code);
  PendingTicket::when(*ticket, TicketCallback::on_accepted([done = std::move(done)](const Status& accepted) {
    done(accepted ? Errc{} : accepted.error().code);
  }));
}

// In all shards. One that never heard of it has nothing to forget.
void SourceRunner::forget(const Bytes& sequence, std::function<void(bool)> done) {
  struct Forgetting {
    std::atomic<std::uint32_t> open;
    std::atomic<bool> failed = false;
    std::function<void(bool)> done;
    void answered(const Status& forgotten) {
      if (!forgotten && forgotten.error().code != Errc::no_such_key) failed = true;
      if (--open == 0) done(!failed);
    }
  };
  const auto answers = std::make_shared<Forgetting>();
  answers->open = shards_.count();
  answers->done = std::move(done);
  Request request;
  request.own = true;
  request.kind = Request::Kind::forget_source;
  request.key = sequence;
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    const Result<TicketPtr> ticket = shards_.submit_to(shard, request);
    if (!ticket) {
      answers->answered(Failure(ticket.error()));
      continue;
    }
    PendingTicket::when(
        *ticket, TicketCallback::on_accepted([answers](const Status& forgotten) { answers->answered(forgotten); }));
  }
}

std::uint64_t SourceRunner::random() { return SystemEntropy().id(); }

}  // namespace tenure
