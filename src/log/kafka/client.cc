#include "log/kafka/client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "log/kafka/errors.h"
#include "log/kafka/token.h"

namespace tenure::kafka {

// What librdkafka's threads and callbacks use. It is gone after they have ended.
struct Client::Body {
  KafkaSettings settings;
  Warn warn;
  rd_kafka_t* handle = nullptr;
  rd_kafka_queue_t* main_queue = nullptr;
  rd_kafka_queue_t* queue = nullptr;
  std::atomic<std::uint64_t> connections = 0;
  std::atomic<rd_kafka_t*> logs_in = nullptr;  // the handle, once it exists
  std::mutex mutex;
  // All below is guarded by mutex.
  std::string password;  // with which the instance logs in
  std::map<std::string, rd_kafka_topic_t*> topics;
  rd_kafka_resp_err_t last_code = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string last_text;
  std::string topic_errors;  // bounded by kTopicErrorsMax

  void note(rd_kafka_resp_err_t code, const std::string& text);
  // For each connection, on librdkafka's thread.
  void renew_login();

  // In this order: an instance waits for the topics and queues that are still in use.
  ~Body() {
    for (const auto& [name, topic] : topics) rd_kafka_topic_destroy(topic);
    if (main_queue != nullptr) {
      if (queue != main_queue) rd_kafka_queue_forward(main_queue, nullptr);
      if (queue != main_queue) rd_kafka_queue_destroy(queue);
      rd_kafka_queue_destroy(main_queue);
    }
    if (handle == nullptr) return;
    rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
};

namespace {

// The threads that end instances. A process that exits gives them a moment, because the libraries that they use are
// taken down with it.
class Reaper {
 public:
  static Reaper& instance() {
    static Reaper* const reaper = [] {
      std::atexit([] { instance().wait(); });
      return new Reaper;  // never destroyed, because its threads may outlive static destructors
    }();
    return *reaper;
  }

  void run(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    std::thread([this, work = std::move(work)]() mutable {
      work();
      work = nullptr;
      const std::lock_guard lock(mutex_);
      --running_;
      done_.notify_all();
    }).detach();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, std::chrono::seconds(1), [this] { return running_ == 0; });
  }

  std::mutex mutex_;
  std::condition_variable done_;
  int running_ = 0;  // guarded by mutex_
};

constexpr std::size_t kTopicErrorsMax = 4096;

MoreSettings connection_options(const KafkaSettings& settings) {
  const std::string timeout = std::to_string(settings.timeout_ms);
  MoreSettings pairs = {{"bootstrap.servers", settings.brokers},
                        {"client.id", "tenure"},
                        {"allow.auto.create.topics", "false"},
                        {"topic.metadata.propagation.max.ms", "0"},
                        {"topic.metadata.refresh.fast.interval.ms", "100"},
                        {"socket.nagle.disable", "true"},
                        {"socket.timeout.ms", timeout},
                        {"socket.connection.setup.timeout.ms", std::to_string(std::max(settings.timeout_ms, 1000U))},
                        {"reconnect.backoff.ms", "20"},
                        {"reconnect.backoff.max.ms", "500"},
                        {"log_level", "3"}};
  const bool sasl = !settings.sasl.empty();
  const char* const plain = sasl ? "sasl_plaintext" : "plaintext";
  const char* const secure = sasl ? "sasl_ssl" : "ssl";
  pairs.emplace_back("security.protocol", settings.tls.on ? secure : plain);
  if (settings.tls.on) {
    const net::TlsOptions& tls = settings.tls;
    pairs.emplace_back("enable.ssl.certificate.verification", tls.verify ? "true" : "false");
    pairs.emplace_back("ssl.endpoint.identification.algorithm", tls.verify ? "https" : "none");
    if (!tls.ca_file.empty()) pairs.emplace_back("ssl.ca.location", tls.ca_file);
    if (!tls.cert_file.empty()) {
      pairs.emplace_back("ssl.certificate.location", tls.cert_file);
      pairs.emplace_back("ssl.key.location", tls.key_file.empty() ? tls.cert_file : tls.key_file);
    }
  }
  return pairs;
}

// The queue holds a whole lane (append_lane.h). No retries: they would change the order, and only the sender knows
// whether the message is still needed.
MoreSettings producer_options(const KafkaSettings& settings) {
  return {{"acks", "all"},
          {"linger.ms", "0"},
          {"message.send.max.retries", "0"},
          {"request.timeout.ms", std::to_string(settings.timeout_ms)},
          {"message.timeout.ms", std::to_string(settings.timeout_ms + 1000)},
          {"queue.buffering.max.messages", "1000000"},
          {"queue.buffering.max.kbytes", "262144"}};
}

// The prober fetches one record at a time, and must not wait at the broker for the next one. Events at a partition's
// end are off: if the topic was deleted, such an event keeps librdkafka 2.0.2 from ending.
MoreSettings consumer_options(Role role) {
  const bool tail = role == Role::tail;
  return {{"auto.offset.reset", "error"},
          {"enable.partition.eof", "false"},
          {"check.crcs", "true"},
          {"fetch.min.bytes", "1"},
          {"fetch.wait.max.ms", tail ? "500" : "1"},
          {"fetch.error.backoff.ms", tail ? "50" : "10"},
          {"fetch.message.max.bytes", role == Role::prober ? "16384" : "1048576"},
          {"queued.min.messages", "1000000"},
          {"queued.max.messages.kbytes", tail ? "32768" : "16384"}};
}

// While a fetch waits at the broker, librdkafka cannot start another partition. So fetches wait only briefly. The
// owner, who knows the number of partitions, sets how much to fetch ahead.
MoreSettings reader_options() {
  return {{"auto.offset.reset", "error"},
          {"enable.auto.commit", "false"},
          {"enable.auto.offset.store", "false"},
          {"enable.partition.eof", "true"},
          {"check.crcs", "true"},
          {"isolation.level", "read_committed"},
          {"fetch.min.bytes", "1"},
          {"fetch.wait.max.ms", "100"},
          {"fetch.error.backoff.ms", "50"},
          {"topic.metadata.refresh.interval.ms", "10000"}};
}

MoreSettings options_of(Role role, const KafkaSettings& settings) {
  if (role == Role::producer) return producer_options(settings);
  return role == Role::reader ? reader_options() : consumer_options(role);
}

// Not for a missing topic or an unreachable broker: the failing request reports these.
bool concerns_people(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL ||
         code == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE || code == RD_KAFKA_RESP_ERR__FATAL;
}

}  // namespace

Client::Client(std::unique_ptr<Body> body) : body_(std::move(body)) {}

Client::~Client() {
  Reaper::instance().run([body = std::shared_ptr<Body>(std::move(body_))]() mutable { body.reset(); });
}

// A file that cannot be read changes nothing: the brokers refuse the old password if it is not valid any more.
void Client::Body::renew_login() {
  rd_kafka_t* const instance = logs_in.load(std::memory_order_acquire);
  if (instance == nullptr || settings.login.password_file.empty() || !takes_password(settings)) return;
  const Result<Login> login = current_login(settings.login);
  if (!login) return;
  {
    const std::lock_guard lock(mutex);
    if (login->password == password) return;
    password = login->password;
  }
  if (rd_kafka_error_t* const error =
          rd_kafka_sasl_set_credentials(instance, login->user.c_str(), login->password.c_str())) {
    rd_kafka_error_destroy(error);
  }
}

// Warns once for each error, because librdkafka repeats it as long as the cause lasts.
void Client::Body::note(rd_kafka_resp_err_t code, const std::string& text) {
  bool news = false;
  if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION) settings.refusals->note_refused(BootClock().now());
  {
    const std::lock_guard lock(mutex);
    if (names_no_topic(code)) {
      if (topic_errors.size() < kTopicErrorsMax) topic_errors += text + "\n";
      return;
    }
    // The reason why the last broker is down says more than that all are down.
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && last_code != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    news = last_code != code;
    last_code = code;
    last_text = text;
  }
  if (news && warn && concerns_people(code)) warn(error_of(code, "connect", settings.shown, text));
}

Result<std::unique_ptr<Client>> Client::make(const KafkaSettings& settings, Role role, Warn warn,
                                             const MoreSettings& more) {
  auto body = std::make_unique<Body>();
  body->settings = settings;
  body->warn = std::move(warn);
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> why{};
  const auto refused = [&] {
    rd_kafka_conf_destroy(conf);
    return fail(Errc::invalid, "kafka open", settings.shown + ": " + why.data());
  };
  for (const MoreSettings& pairs : {connection_options(settings), options_of(role, settings), more}) {
    for (const auto& [name, value] : pairs) {
      if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) return refused();
    }
  }
  const Result<Login> login = current_login(settings.login);
  const Status set = login ? set_login(conf, settings, *login) : Status(Failure(login.error()));
  if (!set) {
    rd_kafka_conf_destroy(conf);
    return Failure(set.error());
  }
  body->password = login->password;
  // librdkafka calls all of these from its own threads, or from a poll.
  rd_kafka_conf_set_opaque(conf, body.get());
  rd_kafka_conf_set_socket_cb(conf, [](int domain, int type, int protocol, void* opaque) {
    Body& owner = *static_cast<Body*>(opaque);
    owner.connections.fetch_add(1, std::memory_order_release);
    owner.renew_login();
    return ::socket(domain, type | SOCK_CLOEXEC, protocol);
  });
  rd_kafka_conf_set_error_cb(conf, [](rd_kafka_t*, int code, const char* text, void* opaque) {
    static_cast<Body*>(opaque)->note(static_cast<rd_kafka_resp_err_t>(code), text);
  });
  rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});  // the errors say the same
  if (takes_token(settings)) {
    rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, [](rd_kafka_t* handle, const char*, void* opaque) {
      const Body& owner = *static_cast<Body*>(opaque);
      if (const Status given = give_token(handle, owner.settings); !given && owner.warn) owner.warn(given.error());
    });
  }
  if (role == Role::producer) rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR);
  const rd_kafka_type_t type = role == Role::producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER;
  body->handle = rd_kafka_new(type, conf, why.data(), why.size());
  if (body->handle == nullptr) return refused();
  body->logs_in.store(body->handle, std::memory_order_release);
  body->main_queue = rd_kafka_queue_get_main(body->handle);
  body->queue = body->main_queue;
  if (role != Role::producer) {
    body->queue = rd_kafka_queue_new(body->handle);
    rd_kafka_queue_forward(body->main_queue, body->queue);
  }
  if (Status given = give_token(body->handle, settings); !given) return Failure(given.error());
  return std::unique_ptr<Client>(new Client(std::move(body)));
}

rd_kafka_t* Client::get() const { return body_->handle; }

rd_kafka_queue_t* Client::queue() const { return body_->queue; }

rd_kafka_topic_t* Client::topic(const std::string& name) {
  const std::lock_guard lock(body_->mutex);
  rd_kafka_topic_t*& topic = body_->topics[name];
  if (topic == nullptr) topic = rd_kafka_topic_new(body_->handle, name.c_str(), nullptr);
  return topic;
}

Event Client::poll_reports(int timeout_ms) { return Event(rd_kafka_queue_poll(body_->queue, timeout_ms)); }

Message Client::poll_message(int timeout_ms) { return Message(rd_kafka_consume_queue(body_->queue, timeout_ms)); }

void Client::drain() {
  // A poll that runs a callback returns nothing.
  for (std::size_t left = rd_kafka_queue_length(body_->queue); left > 0; --left) poll_message(0);
  const std::lock_guard lock(body_->mutex);
  body_->topic_errors.clear();
}

// The texts begin with "TOPIC [PARTITION]".
bool Client::take_topic_error(const std::string& topic) {
  const std::lock_guard lock(body_->mutex);
  const bool found = body_->topic_errors.find(topic + " [") != std::string::npos;
  body_->topic_errors.clear();
  return found;
}

void Client::wake() const { rd_kafka_queue_yield(body_->queue); }

std::uint64_t Client::connections() const { return body_->connections.load(std::memory_order_acquire); }

Error Client::explain(rd_kafka_resp_err_t code, const std::string& operation) const {
  const bool silent = code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT ||
                      code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
  const KafkaSettings& settings = body_->settings;
  const std::lock_guard lock(body_->mutex);
  const bool explained = silent && body_->last_code != RD_KAFKA_RESP_ERR_NO_ERROR;
  const rd_kafka_resp_err_t cause = explained ? body_->last_code : code;
  Error error = error_of(cause, operation, settings.shown, explained ? body_->last_text : "");
  const bool refused = cause == RD_KAFKA_RESP_ERR__AUTHENTICATION;
  const bool may_pass = refused && !settings.refusals->is_final(BootClock().now(), settings.login_patience);
  if (may_pass) error.code = Errc::unavailable;
  return error;
}

}  // namespace tenure::kafka
