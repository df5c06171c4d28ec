// Messages can be encoded and decoded, and nothing else counts as a message.

#include "guard/message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace tenure::guard {
namespace {

Message sample() {
  return {MessageKind::start, 7, 8, -9, 2, {"", "sh", std::string(1000, 'x'), std::string("a\0b", 3)}};
}

TEST(Message, ComesBackAsItWas) {
  Message back;
  ASSERT_TRUE(decode(encode(sample()), back));
  EXPECT_EQ(back.kind, MessageKind::start);
  EXPECT_EQ(back.number, 7U);
  EXPECT_EQ(back.session, 8U);
  EXPECT_EQ(back.value, -9);
  EXPECT_EQ(back.aside, 2);
  EXPECT_EQ(back.words, sample().words);
}

TEST(Message, WhatIsCutOrTooLongIsNone) {
  const Bytes bytes = encode(sample());
  Message back;
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.substr(0, size), back)) << size;
  EXPECT_FALSE(decode(bytes + "x", back));
  Bytes unknown = bytes;
  unknown[0] = 99;
  EXPECT_FALSE(decode(unknown, back));
}

TEST(Message, TravelsWithDescriptors) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Descriptor left(ends[0]);
  Descriptor right(ends[1]);
  EXPECT_EQ(receive_message(left.get()).what, Received::What::nothing);
  ASSERT_EQ(send_message(right.get(), sample(), {0, 1, 2}), 0);
  const Received received = receive_message(left.get());
  EXPECT_EQ(received.what, Received::What::message);
  ASSERT_EQ(received.descriptors.size(), 3U);
  EXPECT_EQ(fcntl(received.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  Message large;
  large.kind = MessageKind::log;
  large.words = {std::string(kMessageBytesMax, 'x')};
  EXPECT_EQ(send_message(right.get(), large), EMSGSIZE);
  ASSERT_EQ(::write(right.get(), "nonsense", 8), 8);
  EXPECT_EQ(receive_message(left.get()).what, Received::What::broken);
  right.close();
  EXPECT_EQ(receive_message(left.get()).what, Received::What::closed);
}

}  // namespace
}  // namespace tenure::guard
