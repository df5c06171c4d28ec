// The part of the table of commands that is about checkout pools.

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {

std::vector<Command> checkout_commands() {
  const Flag connect{"connect", "ADDRESS", "where it is served: unix:PATH or tcp:HOST:PORT"};
  const Flag token{"token-file", "FILE",
                   "the token is its first line, read for each connection (TENURE_CHECKOUT_TOKEN)"};
  const Flag tls{"tls", "", "speak TLS, and trust the system's authorities"};
  const Flag tls_ca{"tls-ca", "FILE", "speak TLS, and trust these"};
  return {
      {"checkout serve",
       "",
       0,
       0,
       "keep programs warm, and lend them to whoever connects",
       "Keeps a pool of workers, each a process of the command after --exec that speaks frames on its standard input "
       "and "
       "output (docs/checkout.md). Whoever connects may check one out; the lease is the connection. When that ends, "
       "the "
       "worker goes back, or, if it owes an answer, is killed and replaced.\n"
       "On TCP addresses that others than this host can reach, TLS and a token are required. A unix socket is for its "
       "owner alone. SIGTERM or SIGINT end the server, its leases and its programs.",
       {{"listen", "ADDRESS", "unix:PATH or tcp:HOST:PORT; a port of 0 is chosen, and said"},
        {"workers", "N", "programs that are kept (2)"},
        {"max-workers", "N", "programs at most, started on demand (as --workers)"},
        {"max-queue", "N", "who may wait for a worker (any number)"},
        {"says-ready", "", "a program counts as started when it has sent an R frame"},
        {"max-calls", "N", "a program is replaced after so many, when it is free"},
        {"max-age", "D", "a program is replaced after so long, when it is free"},
        {"idle-timeout", "D", "a program that is free for so long ends"},
        {"memory-bytes", "B", "a program that uses more is replaced, when it is free"},
        {"memory-bytes-hard", "B", "a program that uses more is killed"},
        {"call-time", "D", "a program that takes longer for an answer is killed"},
        {"max-hold", "D", "a lease that lasts longer is ended"},
        {"max-idle", "D", "a lease whose client asks nothing for so long is ended"},
        {"max-connections", "N", "clients at a time (1024); who has not given the token yet is none"},
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
       "check a worker out, ask it something and print its answer",
       "The request is a word, or standard input. With --lines each line of standard input is a request to the same "
       "worker, and each answer a line.",
       {connect,
        {"wait", "D", "for a worker to be free (5s)"},
        {"timeout", "D", "for an answer (30s); after that the worker is killed"},
        {"force-enqueue", "", "wait although the queue is full"},
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
       "print the state and the counters of a pool that is served, as JSON",
       "",
       {connect, token, tls, tls_ca},
       {{"tenure checkout stats --connect unix:/run/py.sock | jq .held", ""}},
       run_checkout_stats},
  };
}

}  // namespace tenure::cli
