#pragma once

// The connections of a server, each with a thread: newcomers, which have not identified themselves, and clients.
// Neither kind uses the other's places. Anybody who can connect can be a newcomer, so newcomers have their own limit.
// Beyond it one is closed for the next: the oldest newcomer of the host that has the most. So one host with many
// connections keeps no other host from becoming a client.

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
  // Ends all connections, and waits.
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // Called by the thread that accepts.
  void welcome(Descriptor socket);
  // Readable when a connection has ended. The accepting thread then calls forget_gone().
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
