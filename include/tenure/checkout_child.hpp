#pragma once

// Turns a C++ program into a worker of a process pool: the child's side of checkout_process.hpp.
//
//     int main() {
//       const auto work = [](std::string_view request) -> tenure::Result<std::string> { return answer_to(request); };
//       return tenure::serve_calls(work) ? 0 : 1;
//     }
//
// A worker may be any program that speaks the frames. serve_calls() also polls for the next request for up to 50 us
// before it sleeps, if it has measured that polling is faster: waking a sleeping core takes longer than the rest of a
// short call. A program that gets no calls does not poll.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tenure/result.hpp>

namespace tenure {

struct ChildOptions {
  bool says_ready = false;                              // must equal ProcessOptions::says_ready
  std::size_t frame_bytes_max = std::size_t{16} << 20;  // of a frame, and of a whole request that came in parts
};

// Calls `work` for each request, on this thread, and returns success when the input ends. If `work` returns an error or
// throws, or if its answer is too long, the caller gets Errc::job_failed. Errc::corrupt: the input is not a valid
// frame. Errc::invalid: standard input is not a stream socket, so no pool started this program.
Status serve_calls(const std::function<Result<std::string>(std::string_view request)>& work, ChildOptions options = {});

}  // namespace tenure
