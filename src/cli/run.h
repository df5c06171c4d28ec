#pragma once

// The commands, each in a file of its own.

#include "cli/call.h"

namespace tenure::cli {

int run_work(const Call& call);
int run_dispatch(const Call& call);
int run_notify(const Call& call);
int run_stop(const Call& call);
int run_jobs(const Call& call);
int run_workers(const Call& call);
int run_explain(const Call& call);
int run_dead_list(const Call& call);
int run_dead_retry(const Call& call);
int run_dead_drop(const Call& call);
int run_source_list(const Call& call);
int run_source_remove(const Call& call);
int run_orders_send(const Call& call);
int run_orders_work(const Call& call);
int run_orders_list(const Call& call);
int run_orders_explain(const Call& call);
// What pool_worker does: the settings come from the environment alone.
int run_pool_worker(const Call& call);
int run_partition(const Call& call);
int run_partition_status(const Call& call);
int run_partition_resize(const Call& call);
int run_turns(const Call& call);
int run_probe(const Call& call);
int run_restore(const Call& call);
int run_drain(const Call& call);
int run_shutdown(const Call& call);
int run_doctor(const Call& call);
int run_demo_command(const Call& call);
int run_bench_throughput(const Call& call);
int run_bench_takeover(const Call& call);
int run_bench_handoff(const Call& call);
int run_bench_orders(const Call& call);
int run_stream_add(const Call& call);
int run_stream_read(const Call& call);
int run_stream_tail(const Call& call);
int run_stream_info(const Call& call);
int run_stream_trim(const Call& call);
int run_stream_limit(const Call& call);
int run_stream_remove(const Call& call);
int run_checkout_serve(const Call& call);
int run_checkout_run(const Call& call);
int run_checkout_stats(const Call& call);
int run_completion(const Call& call);
int run_man(const Call& call);
int run_guard_main(const Call& call);

}  // namespace tenure::cli
