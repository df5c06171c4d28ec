#include "node/request.h"

#include "machine/config.h"
#include "machine/encode.h"
#include "machine/limits.h"
#include "machine/own_names.h"
#include "machine/rules.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

Status over(const char* operation, const char* what, std::size_t bytes, std::size_t limit) {
  return fail(Errc::invalid, operation,
              std::string(what) + " has " + std::to_string(bytes) + " bytes; at most " + std::to_string(limit) +
                  " are allowed");
}

template <class Asked>
Asked& begun(Asked& asked, std::uint64_t ticket, bool answer_in_log) {
  asked.Clear();
  asked.set_ticket(ticket);
  asked.set_answer_in_log(answer_in_log);
  return asked;
}

void encode_report(const SourceReport& from, v1::Emit& into) {
  if (from.lost) {
    into.mutable_lost()->set_first(from.lost->first);
    into.mutable_lost()->set_last(from.lost->last);
    into.mutable_lost()->set_count(from.lost->count);
  }
  into.set_end(from.end);
  if (from.trouble) into.set_trouble(*from.trouble);
  if (from.checkpoint) into.set_checkpoint(*from.checkpoint);
}

void encode_emission(const ShardEmission& from, std::uint64_t ticket, v1::Emit& into) {
  into.Clear();
  into.set_ticket(ticket);
  into.set_source(from.source);
  into.set_key(from.key);
  into.set_epoch(from.epoch);
  into.set_after(from.after);
  into.set_position(from.position);
  encode_report(from.report, into);
  for (std::size_t i = 0; i < from.tasks.size(); ++i) {
    const EmitTask& task = from.tasks[i];
    v1::EmittedTask& emitted = *into.add_tasks();
    emitted.set_position(task.position);
    if (!task.error.empty()) emitted.set_error(task.error);
    v1::Dispatch& dispatch = *emitted.mutable_task();
    dispatch.set_ticket(Request::task_ticket(ticket, i));
    dispatch.set_kind(v1::TASK);
    dispatch.set_key(task.key);
    dispatch.set_payload(task.payload);
    dispatch.set_delay_ms(static_cast<std::uint64_t>(task.delay.count()));
    dispatch.set_max_attempts(task.max_attempts);
    dispatch.set_type(task.type);
  }
}

}  // namespace

const char* Request::operation() const {
  switch (kind) {
    case Kind::dispatch: return "dispatch";
    case Kind::notify: return "notify";
    case Kind::stop: return "stop";
    case Kind::retry_dead: return "retry dead job";
    case Kind::drop_dead: return "drop dead job";
    case Kind::emit: return "emit";
    case Kind::forget_source: return "forget source";
    case Kind::set_partitions: return "set partitions";
  }
  return "request";
}

Status Request::check_names() const {
  if (own) return {};
  if (kind == Kind::forget_source) return check_users_source(key);
  if (is_own_key(key)) {
    return fail(Errc::invalid, operation(), "keys that begin with '" + Bytes(kOwnKeys) + "' belong to the pool itself");
  }
  if (is_own_type(type)) {
    return fail(Errc::invalid, operation(), "types that begin with a dot belong to the pool itself");
  }
  return {};
}

std::uint32_t Request::version() const {
  if (kind == Kind::emit || kind == Kind::forget_source) return version_of(Rule::sources);
  if (kind == Kind::set_partitions) return version_of(Rule::ranks);
  return own ? version_of(Rule::takes) : 1;
}

Status Request::check() const {
  if (kind == Kind::retry_dead || kind == Kind::drop_dead) return {};
  if (kind == Kind::set_partitions) return check_ring(ring, operation());
  if (kind == Kind::emit) return emission->check();
  if (key.empty()) return fail(Errc::invalid, operation(), "the key is empty");
  if (Status users = check_names(); !users) return users;
  if (key.size() > kKeyBytesMax) return over(operation(), "the key", key.size(), kKeyBytesMax);
  if (kind == Kind::notify && text.size() > kMessageBytesMax) {
    return over(operation(), "the message", text.size(), kMessageBytesMax);
  }
  if (text.size() > kPayloadBytesMax) return over(operation(), "the payload", text.size(), kPayloadBytesMax);
  if (type.size() > kTypeBytesMax) return over(operation(), "the type", type.size(), kTypeBytesMax);
  if (delay < Nanos(0) || static_cast<std::uint64_t>(to_ms(delay)) > kDelayMsMax) {
    return fail(Errc::invalid, operation(), "the delay is negative, or longer than a year");
  }
  return {};
}

void Request::encode(std::uint64_t ticket, bool answer_in_log, Bytes& into) const {
  // A thread's requests are mostly of one kind, so the message's memory is reused.
  static thread_local v1::Record record;
  switch (kind) {
    case Kind::dispatch: {
      v1::Dispatch& dispatch = begun(*record.mutable_dispatch(), ticket, answer_in_log);
      dispatch.set_kind(job == JobKind::task ? v1::TASK : v1::RESIDENT);
      dispatch.set_key(key);
      dispatch.set_payload(text);
      dispatch.set_delay_ms(static_cast<std::uint64_t>(to_ms(delay)));
      dispatch.set_max_attempts(max_attempts);
      if (!type.empty()) dispatch.set_type(type);
      break;
    }
    case Kind::notify: {
      v1::Notify& notify = begun(*record.mutable_notify(), ticket, answer_in_log);
      notify.set_key(key);
      notify.set_message(text);
      break;
    }
    case Kind::stop: begun(*record.mutable_stop(), ticket, answer_in_log).set_key(key); break;
    case Kind::retry_dead: begun(*record.mutable_retry_dead(), ticket, answer_in_log).set_id(dead_id); break;
    case Kind::drop_dead: begun(*record.mutable_drop_dead(), ticket, answer_in_log).set_id(dead_id); break;
    case Kind::forget_source: begun(*record.mutable_forget_source(), ticket, answer_in_log).set_source(key); break;
    case Kind::set_partitions:
      encode_ring(ring, *begun(*record.mutable_set_partitions(), ticket, answer_in_log).mutable_ring());
      break;
    case Kind::emit: encode_emission(*emission, ticket, *record.mutable_emit()); break;
  }
  append_record(record, into);
}

}  // namespace tenure
