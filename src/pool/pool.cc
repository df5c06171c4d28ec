#include <tenure/pool.hpp>

#include "pool/pool_impl.h"

namespace tenure {
namespace {

Result<Ticket> submit(PoolImpl& pool, const Request& request) {
  Result<TicketPtr> ticket = pool.shards().submit(request);
  if (!ticket) return Failure(ticket.error());
  return Ticket(*std::move(ticket));
}

Request job_request(JobKind kind, std::string key, std::string payload, const DispatchOptions& options) {
  Request request;
  request.job = kind;
  request.key = std::move(key);
  request.text = std::move(payload);
  request.type = options.type;
  request.delay = options.delay;
  request.max_attempts = options.max_attempts;
  return request;
}

}  // namespace

Result<Pool> Pool::open(std::string name, std::string url, PoolOptions options) {
  Result<std::shared_ptr<PoolImpl>> impl = PoolImpl::open(std::move(name), std::move(url), std::move(options));
  if (!impl) return Failure(impl.error());
  return Pool(*std::move(impl));
}

Pool::Pool(std::string name, std::string url, PoolOptions options)
    : Pool(PoolImpl::open(std::move(name), std::move(url), std::move(options)).value()) {}

Pool::Pool(std::shared_ptr<PoolImpl> impl) : impl_(std::move(impl)) {}
Pool::~Pool() = default;
Pool::Pool(Pool&&) noexcept = default;
Pool& Pool::operator=(Pool&&) noexcept = default;

Result<Worker> Pool::add_worker(std::shared_ptr<Handler> handler, WorkerOptions options) {
  Result<std::string> id = impl_->add_worker(std::move(handler), std::move(options));
  if (!id) return Failure(id.error());
  return Worker(impl_, *std::move(id));
}

Result<Worker> Pool::add_worker(const Handlers& handlers, WorkerOptions options) {
  std::shared_ptr<Handler> handler = handler_by_type(handlers);
  if (!handler) return fail(Errc::invalid, "add worker", "a type has two handlers, or none, or there is no type");
  return add_worker(std::move(handler), std::move(options));
}

Status Pool::remove_worker(const Worker& worker, Timeout timeout) {
  return impl_->remove_worker(worker.id(), after(timeout));
}

Result<Ticket> Pool::dispatch(std::string key, std::string payload, const DispatchOptions& options) {
  return submit(*impl_, job_request(JobKind::resident, std::move(key), std::move(payload), options));
}

Result<Ticket> Pool::dispatch_task(std::string key, std::string payload, const DispatchOptions& options) {
  return submit(*impl_, job_request(JobKind::task, std::move(key), std::move(payload), options));
}

Result<Ticket> Pool::notify(std::string key, std::string message) {
  Request request;
  request.kind = Request::Kind::notify;
  request.key = std::move(key);
  request.text = std::move(message);
  return submit(*impl_, request);
}

Result<Ticket> Pool::stop(std::string key) {
  Request request;
  request.kind = Request::Kind::stop;
  request.key = std::move(key);
  return submit(*impl_, request);
}

Result<Ticket> Pool::retry_dead(std::uint64_t id) {
  Request request;
  request.kind = Request::Kind::retry_dead;
  request.dead_id = id;
  return submit(*impl_, request);
}

Result<Ticket> Pool::drop_dead(std::uint64_t id) {
  Request request;
  request.kind = Request::Kind::drop_dead;
  request.dead_id = id;
  return submit(*impl_, request);
}

Status Pool::forget_source(const std::string& source, Timeout timeout) {
  return impl_->shards().forget_source(source, after(timeout));
}

Status Pool::drain(const std::string& worker, DrainUntil until, Timeout timeout) {
  return impl_->shards().drain(worker, until == DrainUntil::empty, after(timeout));
}

Status Pool::close() { return impl_->close(impl_->close_deadline()); }
Status Pool::close(Timeout timeout) { return impl_->close(after(timeout)); }
Status Pool::shutdown(Timeout timeout) { return impl_->shutdown(after(timeout)); }

Worker::Worker(std::weak_ptr<PoolImpl> pool, std::string id) : pool_(std::move(pool)), id_(std::move(id)) {}

Status Worker::remove(std::chrono::nanoseconds timeout) {
  const std::shared_ptr<PoolImpl> pool = pool_.lock();
  if (!pool) return fail(Errc::closed, "remove worker", "the pool was closed");
  return pool->remove_worker(id_, after(timeout));
}

Status Worker::serve(const std::vector<std::string>& keys, std::chrono::nanoseconds timeout) {
  const std::shared_ptr<PoolImpl> pool = pool_.lock();
  if (!pool) return fail(Errc::closed, "serve", "the pool was closed");
  return pool->shards().serve(id_, keys, {}, after(timeout));
}

Status Worker::stop_serving(const std::vector<std::string>& keys, std::chrono::nanoseconds timeout) {
  const std::shared_ptr<PoolImpl> pool = pool_.lock();
  if (!pool) return fail(Errc::closed, "serve", "the pool was closed");
  return pool->shards().serve(id_, {}, keys, after(timeout));
}

}  // namespace tenure
