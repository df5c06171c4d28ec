#include "pool_log.h"

namespace tenure {

PoolLog::PoolLog() {
  v1::Configure& config = *add().mutable_configure();
  config.set_max_queued_jobs(100'000'000);
  flush();
}

LogEntry PoolLog::flush() {
  batch_.set_format(kBatchFormat);
  batch_.set_sender(1);
  batch_.set_sequence(++sequence_);
  LogEntry entry{++position_, ++time_ms_, batch_.SerializeAsString()};
  batch_.Clear();
  granted_now.clear();
  stopping_now.clear();
  machine_.apply(entry.view(), *this);
  return entry;
}

void PoolLog::add_node(std::uint64_t session) {
  v1::Join& join = *add().mutable_join();
  join.set_session(session);
  join.set_node("node-" + std::to_string(session));
  join.set_lease_ms(10'000);
  join.set_speaks(kMachineVersion);
}

void PoolLog::add_worker(std::uint64_t session, const std::string& id, std::uint32_t window) {
  v1::AddWorker& worker = *add().mutable_add_worker();
  worker.set_session(session);
  worker.set_worker(id);
  worker.set_window(window);
}

void PoolLog::granted(const At& /*at*/, const Grant& grant) {
  granted_now.push_back({Bytes(grant.tenure.key), grant.tenure.epoch, grant.kind});
}

void PoolLog::stop_asked(const At& /*at*/, const TenureRef& tenure, StopReason /*reason*/) {
  stopping_now.push_back({Bytes(tenure.key), tenure.epoch, JobKind::resident});
}

}  // namespace tenure
