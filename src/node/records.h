#pragma once

// Records that several parts of a node write.

#include <cstdint>

#include "base/bytes.h"
#include "machine/config.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// A record without content. It moves log time, and its position marks the end of the log.
inline v1::Record tick_record() {
  v1::Record record;
  record.mutable_tick();
  return record;
}

// The options of a dispatcher, for a pool that has none yet.
inline v1::Record options_record(const PoolConfig& config) {
  v1::Record record;
  encode_config(config, *record.mutable_configure());
  record.mutable_configure()->set_unless_configured(true);
  return record;
}

inline v1::Record end_record(std::uint64_t session, v1::End::Reason reason) {
  v1::Record record;
  record.mutable_end()->set_session(session);
  record.mutable_end()->set_reason(reason);
  return record;
}

// `leaving`: the worker's own node is about to remove it.
inline v1::Record drain_record(BytesView worker, bool leaving = false) {
  v1::Record record;
  record.mutable_drain()->set_worker(Bytes(worker));
  record.mutable_drain()->set_leaving(leaving);
  return record;
}

}  // namespace tenure
