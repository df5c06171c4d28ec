#pragma once

// The program that runs one order. A worker starts it for each attempt, as it starts any program for a task
// (docs/handlers.md): the order comes on standard input, its key and epoch in the environment.
//
//   worker ─ guard ─ keeper ─ `order-run OPTIONS` ─┬─ `order-fetch OPTIONS URL`
//                                                  └─ the order's command, the container's runtime, or the handler
//
// It decides what is allowed, bounds time and output, and prints what becomes the task's result:
//
//   {"form":"command","exit_code":0,"duration_ms":12,"output":"…","output_bytes":3}
//
// It is a process of its own, so that a worker never parses what a stranger has written, and so that whatever an order
// does ends with its tenure.

#include <string>
#include <vector>

namespace tenure::orders {

// Both are given the words behind their name. The exit code is that of the order's program: 0 done, 75 try again later,
// 65 never try again, anything else failed.
int run_order_main(const std::vector<std::string>& words);
int fetch_order_main(const std::vector<std::string>& words);

// How a worker calls it.
inline constexpr const char* kRunWord = "order-run";
inline constexpr const char* kFetchWord = "order-fetch";

}  // namespace tenure::orders
