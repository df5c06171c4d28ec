// Another program at the brokers: makes topics, says who leads them, writes orders as any producer would, and reads
// back what a topic has in the end. On librdkafka alone, with nothing of Tenure.
//
//   faults_kafka BROKERS make TOPIC PARTITIONS COPIES NAME=VALUE…
//   faults_kafka BROKERS leaders TOPIC     a line for each partition: its leader, and the copies in sync
//   faults_kafka BROKERS ends TOPIC        a line for each partition: where it ends
//   faults_kafka BROKERS produce TOPIC     each line of its input is KEY PAYLOAD; says "ok KEY PAYLOAD" or "lost KEY
//                                          PAYLOAD" for each once it knows, and "end" when the input has ended
//   faults_kafka BROKERS dump TOPIC        PARTITION OFFSET KEY PAYLOAD of each record

#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

using Settings = std::map<std::string, std::string>;

constexpr int kPatienceMs = 30'000;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(1);
}

rd_kafka_t* connect(rd_kafka_type_t type, const std::string& brokers, Settings settings,
                    void (*reported)(rd_kafka_t*, const rd_kafka_message_t*, void*) = nullptr) {
  settings["bootstrap.servers"] = brokers;
  settings["log_level"] = "0";
  settings["reconnect.backoff.max.ms"] = "500";
  std::array<char, 512> why{};
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
      give_up(why.data());
    }
  }
  if (reported != nullptr) rd_kafka_conf_set_dr_msg_cb(conf, reported);
  rd_kafka_t* const handle = rd_kafka_new(type, conf, why.data(), why.size());
  if (handle == nullptr) give_up(why.data());
  return handle;
}

int make(const std::string& brokers, const std::string& name, int partitions, int copies, const Settings& settings) {
  rd_kafka_t* const handle = connect(RD_KAFKA_PRODUCER, brokers, {});
  std::array<char, 512> why{};
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, copies, why.data(), why.size());
  for (const auto& [key, value] : settings) rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str());
  rd_kafka_queue_t* const queue = rd_kafka_queue_new(handle);
  rd_kafka_CreateTopics(handle, &topic, 1, nullptr, queue);
  rd_kafka_event_t* const event = rd_kafka_queue_poll(queue, kPatienceMs);
  if (event == nullptr || rd_kafka_event_error(event) != 0) give_up("the brokers did not make the topic");
  std::size_t count = 0;
  const auto* const results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  if (count != 1 || rd_kafka_topic_result_error(results[0]) != 0) {
    give_up(count != 1 ? "no answer" : rd_kafka_topic_result_error_string(results[0]));
  }
  std::_Exit(0);
}

// Of all partitions; fails if there is no answer.
const rd_kafka_metadata_t* metadata_of(rd_kafka_t* handle, const std::string& topic) {
  const rd_kafka_metadata_t* found = nullptr;
  rd_kafka_topic_t* const asked = rd_kafka_topic_new(handle, topic.c_str(), nullptr);
  const auto code = rd_kafka_metadata(handle, 0, asked, &found, kPatienceMs);
  if (code != 0 || found->topic_cnt != 1) give_up(std::string("no word on the topic: ") + rd_kafka_err2str(code));
  return found;
}

std::int64_t end_of(rd_kafka_t* handle, const std::string& topic, std::int32_t partition) {
  constexpr int kLookMs = 2000;
  std::int64_t low = 0;
  std::int64_t high = -1;
  rd_kafka_query_watermark_offsets(handle, topic.c_str(), partition, &low, &high, kLookMs);
  return high;
}

// `look` says what to print of a partition.
int each_partition(const std::string& brokers, const std::string& topic,
                   std::string (*look)(rd_kafka_t*, const std::string&, const rd_kafka_metadata_partition_t&)) {
  rd_kafka_t* const handle = connect(RD_KAFKA_CONSUMER, brokers, {{"group.id", "none"}});
  const rd_kafka_metadata_t* const found = metadata_of(handle, topic);
  for (int i = 0; i < found->topics[0].partition_cnt; ++i) {
    std::printf("%s\n", look(handle, topic, found->topics[0].partitions[i]).c_str());
  }
  std::fflush(stdout);
  std::_Exit(0);
}

int leaders(const std::string& brokers, const std::string& topic) {
  return each_partition(brokers, topic, [](rd_kafka_t*, const std::string&, const auto& of) {
    return std::to_string(of.leader) + " " + std::to_string(of.isr_cnt);
  });
}

int ends(const std::string& brokers, const std::string& topic) {
  return each_partition(brokers, topic, [](rd_kafka_t* handle, const std::string& name, const auto& of) {
    return std::to_string(end_of(handle, name, of.id));
  });
}

std::string text_of(const rd_kafka_message_t& message) {
  return std::string(static_cast<const char*>(message.key), message.key_len) + " " +
         std::string(static_cast<const char*>(message.payload), message.len);
}

// Idempotent, so that the broker drops what is sent again. What a producer must give up is for the user to send again.
int produce(const std::string& brokers, const std::string& topic) {
  const Settings settings = {
      {"enable.idempotence", "true"}, {"acks", "all"}, {"linger.ms", "5"}, {"message.timeout.ms", "120000"}};
  rd_kafka_t* const handle =
      connect(RD_KAFKA_PRODUCER, brokers, settings, [](rd_kafka_t*, const rd_kafka_message_t* message, void*) {
        std::printf("%s %s\n", message->err == 0 ? "ok" : "lost", text_of(*message).c_str());
        std::fflush(stdout);
      });
  rd_kafka_topic_t* const to = rd_kafka_topic_new(handle, topic.c_str(), nullptr);
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t space = line.find(' ');
    std::string payload = line.substr(space + 1);
    while (rd_kafka_produce(to, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload.data(), payload.size(), line.data(),
                            space, nullptr) != 0) {
      if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        std::printf("lost %s\n", line.c_str());
        break;
      }
      rd_kafka_poll(handle, 100);
    }
    rd_kafka_poll(handle, 0);
  }
  while (rd_kafka_outq_len(handle) > 0) rd_kafka_poll(handle, 100);
  std::printf("end\n");
  std::fflush(stdout);
  std::_Exit(0);
}

int dump(const std::string& brokers, const std::string& topic) {
  rd_kafka_t* const handle =
      connect(RD_KAFKA_CONSUMER, brokers,
              {{"group.id", "none"}, {"enable.partition.eof", "true"}, {"auto.offset.reset", "earliest"}});
  const rd_kafka_metadata_t* const found = metadata_of(handle, topic);
  rd_kafka_topic_partition_list_t* const all = rd_kafka_topic_partition_list_new(found->topics[0].partition_cnt);
  int open = 0;
  for (int i = 0; i < found->topics[0].partition_cnt; ++i, ++open) {
    rd_kafka_topic_partition_list_add(all, topic.c_str(), found->topics[0].partitions[i].id)->offset = 0;
  }
  rd_kafka_assign(handle, all);
  while (open > 0) {
    rd_kafka_message_t* const message = rd_kafka_consumer_poll(handle, kPatienceMs);
    if (message == nullptr) give_up("the topic cannot be read to its end");
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      --open;
    } else if (message->err == 0) {
      std::printf("%d %lld %s\n", message->partition, static_cast<long long>(message->offset),
                  text_of(*message).c_str());
    }
    rd_kafka_message_destroy(message);
  }
  std::fflush(stdout);
  std::_Exit(0);
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 3) return 64;
  const std::string& brokers = words[0];
  const std::string& topic = words[2];
  if (words[1] == "leaders") return leaders(brokers, topic);
  if (words[1] == "ends") return ends(brokers, topic);
  if (words[1] == "produce") return produce(brokers, topic);
  if (words[1] == "dump") return dump(brokers, topic);
  if (words[1] != "make" || words.size() < 5) return 64;
  Settings settings;
  for (std::size_t i = 5; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    settings[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return make(brokers, topic, std::stoi(words[3]), std::stoi(words[4]), settings);
}

}  // namespace

int main(int count, char** words) { return run({words + 1, words + count}); }
