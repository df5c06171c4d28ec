#include "node/node.h"

#include "base/assert.h"
#include "node/heart_side.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
Node::Node(const NodeWorld& world, NodeOptions options, NodeEvents& events)
    : world_(world),
      options_(std::move(options)),
      events_(events),
      appender_(world.log, world.loop, world.clock, world.entropy, *this),
      replica_(world.log, world.loop, world.entropy, options_.replica, *this),
      tickets_(appender_, events_),
      runtime_(world.host == nullptr
                   ? nullptr
                   : std::make_unique<Runtime>(world.loop, *world.host, appender_, options.look_every)),
      heart_side_(std::make_shared<HeartSide>(world, events,
                                              HeartSide::NodeSide{
                                                  token_.guard([this](std::uint64_t session) { lease_armed(session); }),
                                                  token_.guard([this](std::uint64_t session) {
                                                    if (session == session_) fence(FenceReason::lease_lost);
                                                  }),
                                              })),
      observer_(world.loop, replica_, *this),
      steward_(world.loop, appender_, observer_, options_.choose),
      close_deadline_(world.loop),
      retry_workers_(world.loop) {
  if (world_.known_death == nullptr) return;
  world_.known_death->tell([loop = &world_.loop, known = token_.guard([this](std::uint64_t session) {
    observer_.known_dead(session);
  })](std::uint64_t session) mutable { loop->post([known, session]() mutable { known(session); }); });
}

// The heart belongs to its own loop, and ends there.
Node::~Node() {
  if (world_.known_death != nullptr) world_.known_death->tell(nullptr);
  world_.heart_loop.post([side = std::move(heart_side_)]() mutable { side.reset(); });
}

std::int64_t Node::lease_until() const { return heart_side_->heart().until(); }

void Node::post_to_heart(std::function<void(Heart&)> work) {
  world_.heart_loop.post([side = std::weak_ptr<HeartSide>(heart_side_), work = std::move(work)] {
    if (const auto alive = side.lock()) work(alive->heart());
  });
}

void Node::start() {
  replica_.start();
  seek_end();
}

void Node::add_worker(NodeWorker options) {
  ASSERT(runtime_ != nullptr);
  const Bytes id = options.id;
  workers_[id] = {std::move(options)};
  if (phase_ == Phase::outside) join();
  if (phase_ == Phase::member) offer_worker(workers_[id]);
}

void Node::remove_worker(BytesView id) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  found->second.removing = true;
  if (phase_ == Phase::member && found->second.added) drain(id);
}

void Node::serve(BytesView worker, std::vector<Bytes> add, std::vector<Bytes> remove) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  std::vector<Bytes>& serves = found->second.options.serves;
  for (const Bytes& key : remove) std::erase(serves, key);
  serves.insert(serves.end(), add.begin(), add.end());
  if (!found->second.added) return;
  v1::Record record;
  record.mutable_serve()->set_session(session_);
  record.mutable_serve()->set_worker(Bytes(worker));
  for (Bytes& key : add) record.mutable_serve()->add_add(std::move(key));
  for (Bytes& key : remove) record.mutable_serve()->add_remove(std::move(key));
  appender_.offer(record);
}

Result<std::uint64_t> Node::ask(const Request& request) {
  if (Status sound = request.check(); !sound) return Failure(sound.error());
  const std::uint64_t ticket = world_.entropy.id();
  Bytes record;
  request.encode(ticket, false, record);
  if (Status sent = send({ticket, request.single(), record}, nullptr); !sent) return Failure(sent.error());
  return ticket;
}

Status Node::send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket) {
  SealedRequests alone;
  alone.add(request, std::move(ticket));
  return send(alone);
}

Status Node::send(SealedRequests& requests) {
  if (phase_ == Phase::over || failure_) return fail(Errc::closed, "append", "the node has stopped");
  if (Status room = appender_.has_room(); !room) return room;
  appender_.offer_requests(requests.records);
  // Nobody asks a node since when its eldest ticket waits, and to read the clock for each would be a tenth of this.
  tickets_.add(requests.asked, Instant{});
  return {};
}

void Node::drain(BytesView worker) {
  v1::Record record;
  record.mutable_drain()->set_worker(Bytes(worker));
  appender_.offer(record);
}

void Node::shut_down() {
  v1::Record record;
  record.mutable_shutdown();
  appender_.offer_behind_requests(record);
}

void Node::leave_at_shutdown() {
  options_.leaves_at_shutdown = true;
  if (runtime_ && machine().drained()) close();
}

void Node::append_gave_up() { tickets_.append_gave_up(); }

void Node::append_refused(const Error& error) { break_down(error); }

// Whichever way it shows first that the log is away: it is said once, and taken back once all is well.
void Node::delayed(bool& what, const Error& error) {
  if (!appends_delayed_ && !reads_delayed_) events_.log_delayed(error);
  what = true;
}

void Node::resumed(bool& what) {
  what = false;
  if (!appends_delayed_ && !reads_delayed_) events_.log_resumed();
}

}  // namespace tenure
