// The program's JSON output, and the JSON lines that it reads.

#include "render/json.h"

#include <gtest/gtest.h>

#include "cli/json_in.h"

namespace tenure::cli {

using render::Json;

namespace {

TEST(Json, ValuesAreSeparatedAndQuoted) {
  Json json;
  json.object().field("a", "x\"\\\n\x01").field("n", 7U).array("list").object().end().object().end().end();
  json.field("d", 1.25).field("t", true).null("z").end();
  EXPECT_EQ(json.text(), R"({"a":"x\"\\\n\u0001","n":7,"list":[{},{}],"d":1.250,"t":true,"z":null})");
}

TEST(Json, WhatIsNotTextTravelsAsBase64) {
  Json json;
  json.object().field("payload", std::string_view("\xff\x00", 2)).end();
  EXPECT_EQ(json.text(), R"({"payload_base64":"/wA="})");
}

TEST(Json, EscapesWhatSteersATerminalAndKeepsItsValue) {
  Json json;
  json.object().field("key", "\x7f\xc2\x9b\xe2\x80\xae").end();
  EXPECT_EQ(json.text(), R"({"key":"\u007f\u009b\u202e"})");
}

TEST(JobLine, FillsInWhatItSays) {
  Request request;
  request.delay = std::chrono::seconds(3);
  ASSERT_TRUE(read_job_line(R"({"key":"k","payload_base64":"/wA=","task":true,"max_attempts":2})", request));
  EXPECT_EQ(request.key, "k");
  EXPECT_EQ(request.text, Bytes("\xff\x00", 2));
  EXPECT_EQ(request.job, JobKind::task);
  EXPECT_EQ(request.delay, std::chrono::seconds(3));
  EXPECT_EQ(request.max_attempts, 2U);
}

TEST(JobLine, RefusesWhatItDoesNotKnow) {
  Request request;
  for (const char* bad : {"", "7", "[]", "{", R"({"key":7})", R"({"kee":"k"})", R"({"delay_ms":-1})",
                          R"({"payload_base64":"!"})", R"({"key":"k"} {"key":"l"})"}) {
    EXPECT_FALSE(read_job_line(bad, request)) << bad;
  }
}

}  // namespace
}  // namespace tenure::cli
