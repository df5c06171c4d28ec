#include "net/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>

namespace tenure::net {
namespace {

std::atomic<int> under_way = 0;

Failure failed(const std::string& host, const std::string& why) {
  return fail(Errc::unavailable, "connect", "the host name " + host + " cannot be resolved: " + why);
}

Result<std::vector<std::string>> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) return failed(host, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::vector<std::string> found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      found.emplace_back(text.data());
    }
  }
  if (found.empty()) return failed(host, "it has no address");
  return found;
}

}  // namespace

void look_up(const std::string& host, const LookedUp& done) {
  if (under_way.fetch_add(1) >= kLookupsMax) {
    --under_way;
    return done(failed(host, "too many lookups are under way"));
  }
  try {
    std::thread([host, done] {
      done(resolve(host));
      --under_way;
    }).detach();
  } catch (const std::system_error& error) {
    --under_way;
    done(failed(host, error.what()));
  }
}

}  // namespace tenure::net
