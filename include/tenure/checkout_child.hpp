#pragma once

// The other side of checkout_process.hpp: a worker program in C++.
//
//     int main() {
//       const auto work = [](std::string_view request) -> tenure::Result<std::string> { return answer_to(request); };
//       return tenure::serve_calls(work) ? 0 : 1;
//     }
//
// Any program that speaks the frames will do. This one also looks for the next request for up to 50 us before it goes
// to sleep, where it has measured that this is quicker: to wake a sleeping core takes longer than all else of a short
// call. A program that is not called looks for nothing.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tenure/result.hpp>

namespace tenure {

struct ChildOptions {
  bool says_ready = false;                              // as ProcessOptions has it
  std::size_t frame_bytes_max = std::size_t{16} << 20;  // of a frame, and of a request that came in parts
};

// Calls `work` for each request, on this thread, until the input ends, which is no error. An error that `work` returns,
// or what it throws, is the caller's Errc::job_failed; so is an answer that is too long. Errc::corrupt: what came is no
// request. Errc::invalid: standard input is no stream socket, so that no pool has started this program.
Status serve_calls(const std::function<Result<std::string>(std::string_view request)>& work, ChildOptions options = {});

}  // namespace tenure
