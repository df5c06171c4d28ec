#include "cli/orders_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/connect.h"
#include "exec/find_program.h"
#include "orders/container.h"
#include "orders/words.h"

namespace tenure::cli {
namespace {

constexpr std::array<OrderSetting, 21> kOrderSettings = {{
    {"orders", "ORDERS_TOPIC", "TOPIC", "the topic or stream with the orders (work_orders)"},
    {"pool", "COORDINATION_TOPIC", "TOPIC", "the coordination topic: the pool's name (work_claims)"},
    {"engine", "KAFKA_URL", "URL", "where the topics are: kafka://HOST:9092, redis://HOST, sqlite:PATH"},
    {"instance", "INSTANCE_NUMBER", "N", "unique among the workers; another living one of this number is an error"},
    {"handler", "HANDLER", "CMD",
     "a command line that gets each order on standard input, unless the order has an allowed form"},
    {"allow", "ALLOW", "FORM,…", "forms of orders that are executed: command, container, url (none)"},
    {"allow-hosts", "ALLOW_HOSTS", "HOST,…", "hosts that orders may be fetched from: HOST, HOST:PORT, *.DOMAIN (none)"},
    {"one-order", "ONE_ORDER", "", "exit with 0 after an order, to be restarted"},
    {"concurrency", "CONCURRENCY", "N", "how many orders run at a time (1)"},
    {"dead", "DEAD_TOPIC", "TOPIC", "where orders go that failed for good (they stay in the pool's dead letters)"},
    {"max-attempts", "MAX_ATTEMPTS", "N", "if this creates the pool: attempts of a failing order (10)"},
    {"retry-backoff", "RETRY_BACKOFF", "D",
     "if this creates the pool: the pause before the second attempt, doubling from then on (1s)"},
    {"timeout", "ORDER_TIMEOUT", "D", "how long an order may run before it is ended, and has failed (1h)"},
    {"order-bytes", "ORDER_BYTES", "N", "the size of an order; larger ones are dead at once (262144)"},
    {"output-bytes", "OUTPUT_BYTES", "N", "how much of an order's output is kept (65536)"},
    {"start", "START", "WHERE", "where the topic is begun: oldest, newest, a position, a time, -15m (oldest)"},
    {"lease", "LEASE", "D", "how long the others wait for a silent worker (10s; 30s on Kafka)"},
    {"stop-timeout", "STOP_TIMEOUT", "D",
     "if this creates the pool: how long running orders may go on after a SIGTERM before they are stopped (2m)"},
    {"container-runtime", "CONTAINER_RUNTIME", "PROGRAM", "runs containers (podman or docker, whichever PATH has)"},
    {"container-args", "CONTAINER_ARGS", "WORDS", "further words for its `run`, such as --network=none"},
    {"json", "LOG_FORMAT", "json", "events as JSON lines"},
}};

const OrderSetting& setting_of(std::string_view flag) {
  return *std::find_if(kOrderSettings.begin(), kOrderSettings.end(),
                       [&](const OrderSetting& one) { return one.flag == flag; });
}

std::string variable_of(std::string_view flag) {
  const char* const value = std::getenv(std::string(setting_of(flag).variable).c_str());
  return value == nullptr ? "" : value;
}

// A program and its arguments, as a person writes them.
Result<std::vector<std::string>> program_of(const OrderSettings& settings, std::string_view flag,
                                            const std::string& line) {
  auto words = orders::split_words(line);
  if (!words) return settings.bad(flag, words.error().context);
  if (words->empty()) return settings.bad(flag, "it names no program");
  if (const Status found = exec::find_program(words->front()); !found) {
    return settings.bad(flag, found.error().context);
  }
  return words;
}

Status take_runtime(const OrderSettings& settings, orders::RunOptions& into) {
  const std::string named = settings.text("container-runtime").value_or(orders::find_runtime());
  if (named.empty()) {
    return settings.bad("container-runtime", "neither podman nor docker is in PATH: install one, or name one");
  }
  auto runtime = program_of(settings, "container-runtime", named);
  if (!runtime) return Failure(runtime.error());
  auto more = orders::split_words(settings.text("container-args").value_or(""));
  if (!more) return settings.bad("container-args", more.error().context);
  into.runtime = *std::move(runtime);
  into.runtime.insert(into.runtime.end(), more->begin(), more->end());
  return {};
}

// What is allowed, and what that needs.
Status take_forms(const Call& call, const OrderSettings& settings, orders::RunOptions& into) {
  if (Status read = read_allowed(settings.text("allow").value_or(""), into); !read) {
    return settings.bad("allow", read.error().context);
  }
  if (Status read = read_hosts(settings.text("allow-hosts").value_or(""), into); !read) {
    return settings.bad("allow-hosts", read.error().context);
  }
  if (into.urls && into.hosts.empty()) {
    return settings.bad("allow-hosts", "the form url needs the hosts that orders may be fetched from");
  }
  if (into.containers) {
    if (Status taken = take_runtime(settings, into); !taken) return taken;
  }
  if (!call.rest.empty()) {
    into.handler = call.rest;
    if (const Status found = exec::find_program(into.handler.front()); !found) return Failure(found.error());
  } else if (const auto line = settings.text("handler")) {
    auto words = program_of(settings, "handler", *line);
    if (!words) return Failure(words.error());
    into.handler = *std::move(words);
  }
  const bool runs = into.commands || into.containers || !into.handler.empty();
  if (!runs) {
    return settings.bad("handler", "no order could be done: set it, or allow a form with " + settings.name("allow"));
  }
  return {};
}

}  // namespace

std::span<const OrderSetting> order_settings() { return kOrderSettings; }

std::optional<std::string> OrderSettings::text(std::string_view flag) const {
  if (call_.has(flag)) return call_.value(flag);
  const std::string value = variable_of(flag);
  if (value.empty()) return std::nullopt;
  return value;
}

std::string OrderSettings::name(std::string_view flag) const {
  const bool by_variable = variables_only_ || (!call_.has(flag) && !variable_of(flag).empty());
  return by_variable ? std::string(setting_of(flag).variable) : "--" + std::string(flag);
}

Failure OrderSettings::bad(std::string_view flag, const std::string& why) const {
  return fail(Errc::invalid, "", name(flag) + ": " + why);
}

Result<std::string> OrderSettings::needed(std::string_view flag) const {
  const auto found = text(flag);
  if (found) return *found;
  return bad(flag, "it is not set: " + std::string(setting_of(flag).help));
}

Result<std::uint64_t> OrderSettings::number(std::string_view flag, std::uint64_t otherwise, std::uint64_t min,
                                            std::uint64_t max) const {
  const auto given = text(flag);
  if (!given) return otherwise;
  const Result<std::uint64_t> read = read_number(*given, max);
  if (read && *read >= min) return *read;
  return bad(flag, "'" + *given + "' is no number from " + std::to_string(min) + " to " + std::to_string(max));
}

Result<std::chrono::milliseconds> OrderSettings::duration(std::string_view flag,
                                                          std::chrono::milliseconds otherwise) const {
  const auto given = text(flag);
  if (!given) return otherwise;
  const auto read = read_duration(*given);
  if (read && read->count() > 0) return *read;
  return bad(flag, "'" + *given + "' is no time, such as 500ms, 10s or 2h");
}

Result<bool> OrderSettings::on(std::string_view flag) const {
  if (call_.has(flag)) return true;
  const std::string given = variable_of(flag);
  if (given.empty() || given == "0" || given == "false" || given == "no") return false;
  if (given == "1" || given == "true" || given == "yes") return true;
  return bad(flag, "'" + given + "' is neither 1 nor 0");
}

Result<std::string> orders_engine(const Call& call, const OrderSettings& settings) {
  if (const auto given = settings.text("engine")) return *given;
  return engine_url(call);
}

Result<std::string> orders_topic(const OrderSettings& settings) {
  std::string topic = settings.text("orders").value_or(kOrdersDefault);
  if (topic.size() <= 200 && topic.find('/') == std::string::npos) return topic;
  return settings.bad("orders", "a topic's name has up to 200 bytes and no slash");
}

Result<std::string> coordination_topic(const Call& call, const OrderSettings& settings) {
  std::string name = settings.text("pool").value_or("");
  if (name.empty()) {
    name = pool_name(call);
    if (name == "default") name = kCoordinationDefault;
  }
  const auto orders = orders_topic(settings);
  if (!orders) return Failure(orders.error());
  if (name == *orders) return settings.bad("pool", "the orders and the coordination need a topic each");
  return name;
}

Result<orders::RunOptions> run_options(const Call& call, const OrderSettings& settings) {
  orders::RunOptions options;
  if (Status taken = take_forms(call, settings, options); !taken) return Failure(taken.error());
  const auto time = settings.duration("timeout", options.run_time);
  if (!time) return Failure(time.error());
  const auto order_bytes = settings.number("order-bytes", options.order_bytes, 1, 1U << 20);
  if (!order_bytes) return Failure(order_bytes.error());
  const auto output_bytes = settings.number("output-bytes", options.output_bytes, 0, orders::kOutputBytesMax);
  if (!output_bytes) return Failure(output_bytes.error());
  options.run_time = *time;
  options.order_bytes = *order_bytes;
  options.output_bytes = *output_bytes;
  return options;
}

}  // namespace tenure::cli
