// A worker program for the tests: it echoes, or misbehaves as the request says. With --ready it reports so first, with
// --mute it sends nothing, and with --fail it ends at once.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool read_all(char* into, std::size_t size) {
  while (size > 0) {
    const ssize_t part = ::read(STDIN_FILENO, into, size);
    if (part <= 0) return false;
    into += part;
    size -= static_cast<std::size_t>(part);
  }
  return true;
}

void write_all(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t part = ::write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
    if (part <= 0) _exit(0);
    done += static_cast<std::size_t>(part);
  }
}

std::string frame(char kind, const std::string& bytes) {
  const std::uint32_t size = htonl(static_cast<std::uint32_t>(bytes.size() + 1));
  return std::string(reinterpret_cast<const char*>(&size), 4) + kind + bytes;
}

[[noreturn]] void hang() {
  for (;;) pause();
}

std::string grandchild() {
  const pid_t process = fork();
  if (process != 0) return std::to_string(process);
  setsid();
  signal(SIGTERM, SIG_IGN);
  hang();
}

std::string eat(std::size_t bytes) {
  static std::string* const eaten = new std::string;
  eaten->resize(bytes, 'x');
  return "ok";
}

void misbehave(const std::string& word, const std::string& rest) {
  if (word == "garbage") write_all("hello, world, this is no frame\n");
  if (word == "long") write_all(std::string("\x7f\xff\xff\xffM", 5));
  if (word == "zero") write_all(std::string(5, '\0'));
  if (word == "strange") write_all(frame('?', ""));
  if (word == "twice") write_all(frame('M', "one") + frame('M', "two"));
  if (word == "partial") write_all(frame('M', "half of it").substr(0, 9));
  while (word == "babble") write_all(frame('P', rest));
  if (word == "partial" || word == "exit") _exit(std::atoi(rest.c_str()));
  if (word == "close") shutdown(STDIN_FILENO, SHUT_RDWR);
  if (word == "hang" || word == "close") hang();
}

void answer(const std::string& request) {
  const std::string word = request.substr(0, request.find(' '));
  const std::string rest = word.size() < request.size() ? request.substr(word.size() + 1) : "";
  if (word == "pid") return write_all(frame('M', std::to_string(getpid())));
  if (word == "error") return write_all(frame('E', rest));
  if (word == "grandchild") return write_all(frame('M', grandchild()));
  if (word == "eat") return write_all(frame('M', eat(std::strtoul(rest.c_str(), nullptr, 10))));
  if (word == "parts") {
    for (int i = 0; i < std::atoi(rest.c_str()); ++i) write_all(frame('P', std::to_string(i) + " "));
    return write_all(frame('M', "end"));
  }
  if (word == "bytes") return write_all(frame('M', std::string(std::strtoul(rest.c_str(), nullptr, 10), 'b')));
  if (word == "stubborn" || word == "deaf") signal(SIGTERM, SIG_IGN);
  for (const char* bad :
       {"garbage", "long", "zero", "strange", "twice", "partial", "exit", "close", "hang", "babble"}) {
    if (word == bad) return misbehave(word, rest);
  }
  write_all(frame('M', request));
  if (word == "stubborn") hang();
}

// Who ignores SIGTERM ignores the end of its input too.
int end() {
  if (signal(SIGTERM, SIG_DFL) == SIG_IGN) {
    signal(SIGTERM, SIG_IGN);
    hang();
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  if (mode == "--fail") return 3;
  if (mode == "--mute") hang();
  if (mode == "--ready") write_all(frame('R', ""));
  std::string request;
  for (;;) {
    std::uint32_t size = 0;
    char kind = 0;
    if (!read_all(reinterpret_cast<char*>(&size), 4) || !read_all(&kind, 1)) return end();
    std::string bytes(ntohl(size) - 1, '\0');
    if (!read_all(bytes.data(), bytes.size())) return 0;
    request += bytes;
    if (kind == 'P') continue;
    answer(request);
    request.clear();
  }
}
