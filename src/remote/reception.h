#pragma once

// Who is connected to a server, each with a thread: newcomers, who have not said who they are, and clients. Neither
// takes the other's room. Whoever can connect can be a newcomer, so those are bounded by themselves: where there are
// too many, one is closed for the next. It is the oldest of the host that has the most of them, so that one host alone,
// however many connections it makes, keeps no other host from becoming a client.

#include <list>
#include <mutex>
#include <string>
#include <tenure/checkout_remote.hpp>
#include <thread>

#include "base/descriptor.h"
#include "remote/credentials.h"
#include "remote/session.h"

namespace tenure::remote {

class Reception {
 public:
  Reception(Session::Pool pool, ServeOptions options, std::unique_ptr<Credentials> credentials, bool unix_socket);
  // Ends all of them, and waits.
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // By the thread that accepts.
  void welcome(Descriptor socket);
  // Readable: somebody has gone, and forget_gone() is to be called by that thread.
  int bell() const { return bell_.get(); }
  void forget_gone();

  // Any thread.
  std::size_t clients();

 private:
  enum class Standing : std::uint8_t { newcomer, client, leaving };
  struct Guest;

  Status admit(Guest& guest);
  std::size_t count(Standing standing) const;
  void make_room();
  void serve(Guest& guest);

  const Session::Pool pool_;
  const ServeOptions options_;
  const std::unique_ptr<Credentials> credentials_;
  const bool unix_socket_;
  const Descriptor bell_;
  std::mutex mutex_;
  std::list<Guest> guests_;  // guarded by mutex_; oldest first
};

}  // namespace tenure::remote
