// The commands about checkout pools, as a part of the table of commands.

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {

std::vector<Command> checkout_commands() {
  const Flag connect{"connect", "ADDRESS", "the address of the server: unix:PATH or tcp:HOST:PORT"};
  const Flag token{"token-file", "FILE",
                   "a file whose first line is the token; read for each connection (TENURE_CHECKOUT_TOKEN)"};
  const Flag tls{"tls", "", "use TLS, and trust the system's authorities"};
  const Flag tls_ca{"tls-ca", "FILE", "use TLS, and trust the authorities in this file"};
  return {
      {"checkout serve",
       "",
       0,
       0,
       "keep programs warm, and lend them to clients",
       "Keeps a pool of workers. Each is a process of the command after --exec, and exchanges frames on its standard "
       "input and output (docs/checkout.md). A client checks out a worker; its connection is the lease. When the "
       "connection ends, the worker goes back. If it still owes an answer, it is killed and replaced.\n"
       "TCP addresses that other hosts can reach need TLS and a token. Only its owner can use a unix socket. On "
       "SIGTERM or SIGINT the server ends, with its leases and its programs.",
       {{"listen", "ADDRESS", "unix:PATH or tcp:HOST:PORT; port 0 chooses a free port and prints it"},
        {"workers", "N", "programs to keep running (2)"},
        {"max-workers", "N", "limit on programs, which start on demand (as --workers)"},
        {"max-queue", "N", "how many clients may wait for a worker (no limit)"},
        {"says-ready", "", "a program counts as started when it has sent an R frame"},
        {"max-calls", "N", "replace a free program after N calls"},
        {"max-age", "D", "replace a free program of this age"},
        {"idle-timeout", "D", "end a program that was free for this long"},
        {"memory-bytes", "B", "replace a free program that uses more memory"},
        {"memory-bytes-hard", "B", "kill a program that uses more memory"},
        {"call-time", "D", "kill a program that takes longer for an answer"},
        {"max-hold", "D", "end a lease that lasts longer"},
        {"max-idle", "D", "end a lease whose client sends no request for this long"},
        {"max-connections", "N", "limit on clients (1024); a connection without a token is not counted yet"},
        token,
        {"tls-cert", "FILE", "certificate chain for TCP connections, PEM"},
        {"tls-key", "FILE", "its key, PEM"},
        {"exec", "CMD…", "the program and its arguments: the rest of the line", {}, false, true}},
       {{"tenure checkout serve --listen unix:/run/py.sock --workers 4 --says-ready --exec python3 python_worker.py",
         ""},
        {"tenure checkout serve --listen tcp:0.0.0.0:7070 --tls-cert c.pem --tls-key k.pem --token-file t --exec ./w",
         ""}},
       run_checkout_serve},
      {"checkout run",
       "[REQUEST|-]",
       0,
       1,
       "check out a worker, send it a request and print the answer",
       "The request is an argument, or standard input. With --lines each line of standard input is a request to the "
       "same worker, and each answer is printed as a line.",
       {connect,
        {"wait", "D", "how long to wait for a free worker (5s)"},
        {"timeout", "D", "how long to wait for an answer (30s); then the worker is killed"},
        {"force-enqueue", "", "wait even if the queue is full"},
        {"lines", "", "each line of standard input is a request"},
        token,
        tls,
        tls_ca},
       {{"tenure checkout run --connect unix:/run/py.sock '6 * 7'", ""}},
       run_checkout_run},
      {"checkout stats",
       "",
       0,
       0,
       "print the state and the counters of a served pool, as JSON",
       "",
       {connect, token, tls, tls_ca},
       {{"tenure checkout stats --connect unix:/run/py.sock | jq .held", ""}},
       run_checkout_stats},
  };
}

}  // namespace tenure::cli
