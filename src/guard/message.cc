#include "guard/message.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace tenure::guard {
namespace {

constexpr std::size_t kWordsMax = 16384;

template <class Integer>
void put(Bytes& into, Integer value) {
  std::array<char, sizeof(Integer)> raw{};
  std::memcpy(raw.data(), &value, sizeof(Integer));
  into.append(raw.data(), raw.size());
}

template <class Integer>
bool take(BytesView& from, Integer& value) {
  if (from.size() < sizeof(Integer)) return false;
  from.copy(reinterpret_cast<char*>(&value), sizeof(Integer));
  from.remove_prefix(sizeof(Integer));
  return true;
}

bool known(std::uint8_t kind) {
  return (kind >= static_cast<std::uint8_t>(MessageKind::start) &&
          kind <= static_cast<std::uint8_t>(MessageKind::farewell)) ||
         (kind >= static_cast<std::uint8_t>(MessageKind::started) &&
          kind <= static_cast<std::uint8_t>(MessageKind::ended));
}

union Control {
  cmsghdr head;
  std::array<char, CMSG_SPACE(sizeof(int) * kMessageDescriptorsMax)> room;
};

std::vector<Descriptor> take_descriptors(msghdr& header) {
  std::vector<Descriptor> taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      taken.emplace_back(number);
    }
  }
  return taken;
}

}  // namespace

std::string describe_refusal(const std::string& program, const std::string& folder, int error_number, StartStep step) {
  const std::string why = std::strerror(error_number);
  if (step == StartStep::folder) return "cannot run programs in '" + folder + "': " + why;
  if (step == StartStep::program) return "cannot run '" + program + "': " + why;
  return "cannot start a process for '" + program + "': " + why;
}

Bytes encode(const Message& message) {
  Bytes bytes;
  put(bytes, static_cast<std::uint8_t>(message.kind));
  put(bytes, message.number);
  put(bytes, message.session);
  put(bytes, message.value);
  put(bytes, message.aside);
  put(bytes, static_cast<std::uint32_t>(message.words.size()));
  for (const std::string& word : message.words) {
    put(bytes, static_cast<std::uint32_t>(word.size()));
    bytes += word;
  }
  return bytes;
}

bool decode(BytesView bytes, Message& into) {
  std::uint8_t kind = 0;
  std::uint32_t count = 0;
  if (bytes.size() > kMessageBytesMax || !take(bytes, kind) || !known(kind)) return false;
  into = {};
  into.kind = static_cast<MessageKind>(kind);
  if (!take(bytes, into.number) || !take(bytes, into.session) || !take(bytes, into.value) || !take(bytes, into.aside) ||
      !take(bytes, count) || count > kWordsMax) {
    return false;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t size = 0;
    if (!take(bytes, size) || size > bytes.size()) return false;
    into.words.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return bytes.empty();
}

int send_message(int socket, const Message& message, const std::vector<int>& descriptors) {
  Bytes bytes = encode(message);
  if (bytes.size() > kMessageBytesMax || message.words.size() > kWordsMax ||
      descriptors.size() > kMessageDescriptorsMax) {
    return EMSGSIZE;
  }
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = sizeof(int) * descriptors.size();
    header.msg_control = control.room.data();
    header.msg_controllen = CMSG_SPACE(size);
    cmsghdr* head = CMSG_FIRSTHDR(&header);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(head), descriptors.data(), size);
  }
  for (;;) {
    if (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

Received receive_message(int socket) {
  // Allocated by receiving threads only. A thread-local array would be cleared, and so use memory, in every thread.
  static thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(kMessageBytesMax);
  Received received;
  iovec part{.iov_base = buffer.get(), .iov_len = kMessageBytesMax};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.room.data();
  header.msg_controllen = control.room.size();
  ssize_t size = -1;
  do {
    size = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // If a peer closed without having read everything, this error comes before its last messages, which can still be
    // read.
  } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
  if (size < 0) {
    const bool none = errno == EAGAIN || errno == EWOULDBLOCK;
    received.what = none ? Received::What::nothing : Received::What::closed;
    return received;
  }
  received.descriptors = take_descriptors(header);
  if (size == 0) {  // there are no empty messages
    received.what = Received::What::closed;
    return received;
  }
  const bool whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const bool sound = whole && decode({buffer.get(), static_cast<std::size_t>(size)}, received.message);
  received.what = sound ? Received::What::message : Received::What::broken;
  return received;
}

}  // namespace tenure::guard
