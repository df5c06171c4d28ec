// What an order is, and what is refused: the forms, the quoting, hosts and URLs. No process is started.

#include "orders/order.h"

#include <gtest/gtest.h>

#include "orders/run_options.h"
#include "orders/run_result.h"
#include "orders/web_address.h"
#include "orders/words.h"

namespace tenure::orders {
namespace {

using Words = std::vector<std::string>;

std::string why_not(BytesView text) {
  const Result<Order> order = parse_order(text);
  return order ? "" : order.error().context;
}

TEST(OrderWords, FollowTheQuotingRules) {
  const std::vector<std::pair<std::string, Words>> cases = {
      {"", {}},
      {"  \t ", {}},
      {"a", {"a"}},
      {" a  b\tc ", {"a", "b", "c"}},
      {"'a b' \"c d\" e\\ f", {"a b", "c d", "e f"}},
      {"a'b c'd", {"ab cd"}},
      {"'' \"\"", {"", ""}},
      {R"("a\"b\\c\d" 'a\b')", {R"(a"b\c\d)", R"(a\b)"}},
      {"$HOME `id` $(id) * | > & ; #x", {"$HOME", "`id`", "$(id)", "*", "|", ">", "&", ";", "#x"}},
  };
  for (const auto& [line, words] : cases) {
    const auto split = split_words(line);
    ASSERT_TRUE(split) << line;
    EXPECT_EQ(*split, words) << line;
  }
  for (const char* line : {"'a", "\"a", "a\\", "a\nb", "a\rb"}) EXPECT_FALSE(split_words(line)) << line;
  EXPECT_FALSE(split_words(Bytes("a\0b", 3)));
  EXPECT_TRUE(split_words(std::string(2 * kWordsMax - 1, 'x').replace(1, 1, " ")));
  std::string many;
  for (std::size_t i = 0; i <= kWordsMax; ++i) many += "x ";
  EXPECT_FALSE(split_words(many));
}

TEST(OrderLine, IsACommandAContainerOrAUrl) {
  auto order = parse_order("convert 'a b.png' out\n");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->form, Form::command);
  EXPECT_EQ(order->words, (Words{"convert", "a b.png", "out"}));
  order = parse_order("container: registry:5000/a/b:1@sha256:0f A=1 B='x y' C=");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->form, Form::container);
  EXPECT_EQ(order->words, Words{"registry:5000/a/b:1@sha256:0f"});
  EXPECT_EQ(order->environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "x y"}, {"C", ""}}));
  order = parse_order("\r\n https://x.example/a?b \n");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->form, Form::url);
  EXPECT_EQ(order->url, "https://x.example/a?b");
  EXPECT_EQ(parse_order("https://x.example/a b")->form, Form::command) << "several words";
  for (const char* text : {"", " \n", "''", "container:", "container: -v", "container: --privileged x=1",
                           "container: a b", "container: a 1A=x", "container: a =x", "container: ../x", "a\nb"}) {
    EXPECT_NE(why_not(text), "") << text;
  }
}

TEST(OrderDocument, HasOneOfTheForms) {
  auto order = parse_order(R"({"command":["a","b c"],"env":{"X":"1\n2"},"input":"in"})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->words, (Words{"a", "b c"}));
  EXPECT_EQ(order->environment.at(0).second, "1\n2");
  EXPECT_EQ(order->input, "in");
  order = parse_order(R"({"command":"a 'b c'"})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->words, (Words{"a", "b c"}));
  order = parse_order(R"({"container":"i","args":["-x","y"]})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->words, (Words{"i", "-x", "y"}));
  EXPECT_EQ(parse_order(R"({"url":"http://h/"})")->form, Form::url);
  for (const char* text : {"{",
                           "{}",
                           R"({"command":"a","url":"http://h/"})",
                           R"({"command":[]})",
                           R"({"command":""})",
                           R"({"command":[""]})",
                           R"({"command":[1]})",
                           R"({"command":"a","args":["b"]})",
                           R"({"container":["a"]})",
                           R"({"container":"-v"})",
                           R"({"container":"a","env":{"A":"1\n2"}})",
                           R"({"container":"a","env":{"A=B":"1"}})",
                           R"({"command":"a","env":{"A":1}})",
                           R"({"command":["a\u0000b"]})",
                           R"({"command":"a","env":{"A":"\u0000"}})",
                           R"({"command":"a","cwd":"/"})",
                           R"({"url":"file:///etc/passwd"})",
                           R"({"url":"http://h/","env":{}} x)",
                           R"({"url":"http://h/","input":"x"})",
                           R"({"url":"http://h/ä"})"}) {
    EXPECT_NE(why_not(text), "") << text;
  }
  const std::string deep = std::string(100'000, '[');
  EXPECT_NE(why_not("{\"command\":" + deep), "");
}

TEST(OrderUrl, NamesAHostAndNoLogin) {
  auto address = parse_web_address("https://Host.example:8443/a/b?c=d#e");
  ASSERT_TRUE(address);
  EXPECT_TRUE(address->tls);
  EXPECT_EQ(address->authority(), "Host.example:8443");
  EXPECT_EQ(address->target, "/a/b?c=d");
  address = parse_web_address("http://[::1]:80?x");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->authority(), "[::1]");
  EXPECT_EQ(address->target, "/?x");
  for (const char* url :
       {"ftp://h/", "http://", "http:///x", "http://u:p@h/", "http://h:0/", "http://h:99999/", "http://h:x/",
        "http://h/a b", "http://h/\r\nX: y", "http://[::1/", "http://[x]/", "http://h\\@evil/", "HTTP://h/"}) {
    EXPECT_FALSE(parse_web_address(url)) << url;
  }
  const auto from = parse_web_address("https://h/a");
  EXPECT_EQ(follow(*from, "/b?c")->target, "/b?c");
  EXPECT_EQ(follow(*from, "http://other/")->host, "other");
  for (const char* to : {"", "b", "//evil/", "file:///x", "/a\r\nb"}) EXPECT_FALSE(follow(*from, to)) << to;
}

TEST(OrderHosts, AreComparedWholeAndWithTheirPort) {
  RunOptions options;
  ASSERT_TRUE(read_hosts("Orders.example, *.inside.example:8443,10.0.0.1:81", options));
  const auto allowed = [&](const char* host, std::uint16_t port, bool tls) {
    return host_allowed(options.hosts, host, port, tls);
  };
  EXPECT_TRUE(allowed("orders.EXAMPLE", 443, true));
  EXPECT_TRUE(allowed("orders.example", 80, false));
  EXPECT_FALSE(allowed("orders.example", 443, false));
  EXPECT_FALSE(allowed("orders.example", 8080, false));
  EXPECT_FALSE(allowed("xorders.example", 443, true));
  EXPECT_FALSE(allowed("orders.example.evil", 443, true));
  EXPECT_TRUE(allowed("a.inside.example", 8443, true));
  EXPECT_FALSE(allowed("inside.example", 8443, true));
  EXPECT_FALSE(allowed("a.inside.example", 443, true));
  EXPECT_TRUE(allowed("10.0.0.1", 81, false));
  for (const char* hosts : {"http://x", "*", "*.", "a/b", "u@h"}) EXPECT_FALSE(read_hosts(hosts, options)) << hosts;
}

TEST(OrderOptions, TravelAsAnArgument) {
  RunOptions options{.commands = true,
                     .urls = true,
                     .hosts = {"a", "b:1"},
                     .handler = {"x", "y \"z\""},
                     .run_time = std::chrono::milliseconds(5),
                     .order_bytes = 7,
                     .output_bytes = 9};
  const auto read = read_run_options(to_json(options));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(options));
  EXPECT_TRUE(read->allows(Form::command));
  EXPECT_FALSE(read->allows(Form::container));
  for (const char* text : {"", "{}", "[]", "{\"commands\":1}"}) EXPECT_FALSE(read_run_options(text)) << text;
  RunOptions none;
  EXPECT_TRUE(read_allowed("", none));
  EXPECT_FALSE(none.commands || none.containers || none.urls);
  EXPECT_FALSE(read_allowed("command,everything", none));
}

TEST(OrderResult, KeepsAnyOutput) {
  RunResult result{.form = "command", .exit_code = 0, .duration_ms = 12, .output = "a\xff", .output_bytes = 2};
  auto read = read_run_result(to_json(result));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->output, "a\xff");
  // Cut within a character.
  result.output = "a\xc3";
  result.output_bytes = 3;
  read = read_run_result(to_json(result));
  EXPECT_EQ(read->output, "a");
  EXPECT_EQ(read->output_bytes, 3U);
  for (const char* text : {"", "done", "[]", "{}", "{\"form\":1}"}) EXPECT_FALSE(read_run_result(text)) << text;
}

}  // namespace
}  // namespace tenure::orders
