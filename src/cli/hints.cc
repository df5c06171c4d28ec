#include "cli/hints.h"

#include <algorithm>
#include <array>

namespace tenure::cli {
namespace {

constexpr std::array kPool = {
    Advice{Errc::key_exists, "add worker", "name it with another --id, or stop the worker that has this one"},
    Advice{Errc::key_exists, "add source",
           "use the source's options, or another name=, or 'tenure source remove NAME', which forgets how far it was "
           "read"},
    Advice{Errc::key_exists, "", "'tenure explain KEY' shows who holds it; 'tenure stop KEY' ends it"},
    Advice{Errc::no_such_key, "drain", "'tenure workers' lists the workers"},
    Advice{Errc::no_such_key, "retry dead job", "'tenure dead list' lists the dead letters with their ids"},
    Advice{Errc::no_such_key, "drop dead job", "'tenure dead list' lists the dead letters with their ids"},
    Advice{Errc::no_such_key, "remove source", "'tenure source list' lists the sources"},
    Advice{Errc::no_such_key, "resize partitions",
           "the first 'tenure partition --partitions N --exec CMD' gives the pool its partitions"},
    Advice{Errc::no_such_key, "", "'tenure jobs' lists the keys"},
    Advice{Errc::pool_full, "add worker", "the pool has as many workers as it may have; stop one first"},
    Advice{Errc::pool_full, "",
           "the message names the limit; start more workers, or try again when some of these jobs have begun"},
    Advice{Errc::shutting_down, "", "the pool accepts no jobs; when it is gone, the name can be used again"},
    Advice{Errc::job_failed, "", "'tenure dead list' shows the jobs that are out of attempts"},
    Advice{Errc::unavailable, "make the worker's folder",
           "TMPDIR has to be a folder that exists, and in which this user may write"},
    Advice{Errc::unavailable, "lock the worker's folder", "TMPDIR has to be a folder on a file system with locks"},
    Advice{Errc::unavailable, "", "check --engine and that the engine is up; 'tenure doctor' tells more"},
    Advice{Errc::unknown, "", "the request may have taken effect; check with 'tenure jobs'"},
    Advice{Errc::refused, "", "check --engine, --pool and the permissions; 'tenure doctor' tells more"},
    Advice{Errc::full, "", "free some space; nothing was half-written"},
    Advice{Errc::corrupt, "", "the data is damaged: restore a backup, or start a new pool under another path"},
    Advice{Errc::version, "", "use the version of tenure that wrote the data, or a newer one"},
    Advice{Errc::trimmed, "", "try again: the log was shortened while it was read"},
    Advice{Errc::lost_history, "restore",
           "'tenure jobs' shows what the pool has; what no member remembers, only a backup of the engine has"},
    Advice{Errc::lost_history, "", "the log was replaced, perhaps by a backup; 'tenure jobs' shows what there is now"},
    Advice{Errc::closed, "", "try again; if the pool has ended, the next dispatch creates it again"},
    Advice{Errc::timed_out, "add worker", "see 'tenure workers'; the engine may be slow: 'tenure doctor' tells more"},
    Advice{Errc::timed_out, "drain", "the worker goes on handing over; 'tenure workers' shows how many keys it has"},
    Advice{Errc::timed_out, "look", "nothing was changed; use a longer --timeout"},
    Advice{Errc::timed_out, "restore", "the members go on; run the command again to see what is still missing"},
    Advice{Errc::timed_out, "shut down", "the pool goes on ending; run the command again to wait for it"},
    Advice{Errc::timed_out, "",
           "the request may still take effect; use a longer --timeout, or check with 'tenure jobs'"},
    Advice{Errc::busy, "", "try again shortly"},
    Advice{Errc::no_such_pool, "",
           "check --pool and --engine (TENURE_POOL, TENURE_ENGINE); the first 'tenure work', 'tenure partition' "
           "or 'tenure dispatch' creates a pool"},
};

constexpr std::array kCheckout = {
    Advice{Errc::unavailable, "", "check the address, and that 'tenure checkout serve' runs there"},
    Advice{Errc::unknown, "", "the request may have reached a worker; send it again if that does no harm"},
    Advice{Errc::refused, "", "check --token-file, --tls and --tls-ca"},
    Advice{Errc::timed_out, "", "use a longer --wait for a worker, or a longer --timeout for its answer"},
    Advice{Errc::busy, "", "try again shortly"},
    Advice{Errc::overloaded, "", "wait with --force-enqueue, or serve more with --max-workers and --max-queue"},
    Advice{Errc::pool_down, "", "see the output of 'tenure checkout serve', and 'tenure checkout stats'"},
    Advice{Errc::worker_died, "", "see the program's messages in the output of 'tenure checkout serve'"},
};

constexpr std::array kStream = {
    Advice{Errc::no_such_key, "trim stream", "'tenure source list' lists what feeds the pool; --pool names the pool"},
    Advice{Errc::no_such_key, "", "check the name and --engine; 'tenure stream add' creates a stream"},
    Advice{Errc::pool_full, "", "'tenure stream trim' makes room, 'tenure stream limit' changes the bound"},
    Advice{Errc::unavailable, "", "check --engine and that the engine is up; 'tenure doctor' tells more"},
    Advice{Errc::unknown, "", "it may have taken effect; check with 'tenure stream info'"},
    Advice{Errc::refused, "", "check --engine and the permissions; 'tenure doctor' tells more"},
    Advice{Errc::full, "", "free some space; nothing was half-written"},
    Advice{Errc::corrupt, "", "the data is damaged: restore a backup, or remove the stream"},
    Advice{Errc::version, "", "use the version of tenure that wrote the data, or a newer one"},
};

std::string find(std::span<const Advice> table, const Error& error) {
  const auto fits = [&](const Advice& row) {
    return row.code == error.code && (row.operation.empty() || row.operation == error.operation);
  };
  const auto found = std::find_if(table.begin(), table.end(), fits);
  return found == table.end() ? std::string() : std::string(found->hint);
}

}  // namespace

std::span<const Advice> pool_advice() { return kPool; }
std::span<const Advice> checkout_advice() { return kCheckout; }

std::span<const Advice> stream_advice() { return kStream; }

std::string hint(const Error& error) { return find(kPool, error); }
std::string stream_hint(const Error& error) {
  std::string own = find(kStream, error);
  return own.empty() ? hint(error) : own;
}
std::string checkout_hint(const Error& error) { return find(kCheckout, error); }

}  // namespace tenure::cli
