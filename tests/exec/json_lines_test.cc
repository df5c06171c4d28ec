// The lines of the json protocol, and bytes that are not text.

#include "exec/json_lines.h"

#include <gtest/gtest.h>

namespace tenure::exec {
namespace {

TEST(JsonLines, ToTheProgram) {
  EXPECT_EQ(json_start("k", 5, "p", std::nullopt),
            R"({"type":"start","key":"k","epoch":5,"payload":"p","checkpoint":null})"
            "\n");
  EXPECT_EQ(json_notify("\xff"), R"({"type":"notify","message_base64":"/w=="})"
                                 "\n");
  EXPECT_EQ(json_stop(120), R"({"type":"stop","deadline_ms":120})"
                            "\n");
}

TEST(JsonLines, FromTheProgram) {
  using Type = JsonLine::Type;
  EXPECT_EQ(read_json_line(R"({"type":"ready"})").type, Type::ready);
  EXPECT_EQ(read_json_line(R"({"type":"result","data":"x"})").data, "x");
  EXPECT_EQ(read_json_line(R"({"type":"result","data":{"n":1}})").data, R"({"n":1})");
  EXPECT_EQ(read_json_line(R"({"type":"checkpoint","data_base64":"/w=="})").data, "\xff");
  EXPECT_EQ(read_json_line(R"({"type":"checkpoint","data_base64":"!"})").type, Type::broken);
  EXPECT_EQ(read_json_line(R"({"type":"fail","error":"e"})").retry, true);
  EXPECT_EQ(read_json_line(R"({"type":"fail","error":"e","retry":false})").retry, false);
  EXPECT_EQ(read_json_line(R"({"type":"fail","retry":"no"})").type, Type::broken);
  EXPECT_EQ(read_json_line(R"({"type":"progress","at":3})").type, Type::other);
  for (const BytesView print : {"", "hello", "[1]", "{", "{\"type\":1}", "\xff\xfe"}) {
    EXPECT_EQ(read_json_line(print).type, Type::nothing) << print;
  }
}

TEST(JsonLines, Emits) {
  using Type = JsonLine::Type;
  const JsonLine line =
      read_json_line(R"({"type":"emit","position":7,"source":"s","tasks":[{"key":"a","payload":"p","position":6},)"
                     R"({"key_base64":"/w==","payload":{"n":1},"job_type":"t","delay_ms":5,"max_attempts":2}]})");
  ASSERT_EQ(line.type, Type::emit);
  EXPECT_EQ(line.emission.source, "s");
  EXPECT_EQ(line.emission.position, 7U);
  ASSERT_EQ(line.emission.tasks.size(), 2U);
  EXPECT_EQ(line.emission.tasks[0].key, "a");
  EXPECT_EQ(line.emission.tasks[0].position, 6U);
  const EmitTask& second = line.emission.tasks[1];
  EXPECT_EQ(second.key, "\xff");
  EXPECT_EQ(second.payload, R"({"n":1})");
  EXPECT_EQ(second.type, "t");
  EXPECT_EQ(second.delay, std::chrono::milliseconds(5));
  EXPECT_EQ(second.max_attempts, 2U);
  EXPECT_EQ(read_json_line(R"({"type":"emitted","source":"s"})").emission.source, "s");
  EXPECT_EQ(read_json_line(R"({"type":"emitted"})").type, Type::emitted);
  EXPECT_TRUE(read_json_line(R"({"type":"emit","position":7})").emission.tasks.empty());
  for (const char* const wrong :
       {R"({"type":"emit","position":"seven"})", R"({"type":"emit","position":-1})",
        R"({"type":"emit","position":1,"tasks":{}})", R"({"type":"emit","position":1,"tasks":["a"]})",
        R"({"type":"emit","position":1,"tasks":[{"key":"a","position":"b"}]})",
        R"({"type":"emit","position":1,"tasks":[{"key_base64":"!"}]})", R"({"type":"emitted","source_base64":"!"})"}) {
    EXPECT_EQ(read_json_line(wrong).type, Type::broken) << wrong;
  }
  EXPECT_EQ(json_emitted("", 7), "{\"type\":\"emitted\",\"accepted\":true,\"position\":7}\n");
  EXPECT_EQ(json_emitted("s", fail(Errc::pool_full, "emit", "max")),
            "{\"type\":\"emitted\",\"source\":\"s\",\"accepted\":false,"
            "\"error\":{\"code\":\"pool_full\",\"message\":\"emit: pool_full (max)\"}}\n");
}

// A program may not make the worker take much memory, or time, for a line; what is within the bounds is read.
TEST(JsonLines, ManyValuesAreTooMany) {
  constexpr std::size_t kLineBytes = 8U << 20;
  const auto line_of = [](const std::string& value, std::size_t bytes) {
    std::string values = value + ",";
    while (values.size() < bytes / 2) values += values;
    values.back() = ']';
    return R"({"type":"result","data":[)" + values + "}";
  };
  for (const char* const value : {"0", "[]", R"("")", R"({"a":0})", "[[]]"}) {
    EXPECT_EQ(read_json_line(line_of(value, kLineBytes)).type, JsonLine::Type::broken) << value;
    EXPECT_EQ(read_json_line(line_of(value, 1U << 20)).type, JsonLine::Type::result) << value;
  }
  const std::string text(6U << 20, 'x');
  EXPECT_EQ(read_json_line(R"({"type":"result","data":")" + text + R"("})").data.size(), text.size());
  EXPECT_EQ(read_json_line(std::string(kLineBytes, '[')).type, JsonLine::Type::nothing);
}

}  // namespace
}  // namespace tenure::exec
