#pragma once

// A handle's time with one log: from the moment it has found it until it continues in another one. Its connections end
// with it, so nothing that librdkafka remembers of a topic reaches the topic that comes after it.

#include <memory>

#include "log/kafka/append_lane.h"
#include "log/kafka/find_log.h"
#include "log/kafka/history.h"
#include "log/kafka/tail.h"

namespace tenure::kafka {

// Thread-safe, except that one thread ends or closes it.
class Session {
 public:
  Session(const KafkaSettings& settings, const TopicNames& names, const FoundLog& found, std::unique_ptr<Prober> prober,
          const Client::Warn& warn)
      : prober_(std::move(prober)),
        history_(*prober_, names.log, settings.shown, found.id, found.anchor, [this](const Error&) { tail_.lose(); }),
        birth_(found.birth),
        tail_(settings, history_, *prober_, found.birth, warn),
        data_(settings, Lane::data, history_, warn),
        beats_(settings, Lane::beat, history_, warn) {}
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Prober& prober() { return *prober_; }
  History& history() { return history_; }
  Tail& tail() { return tail_; }
  AppendLane& lane(Lane lane) { return lane == Lane::beat ? beats_ : data_; }
  // The position of the record with which the log begins, if it was not trimmed.
  Position birth() const { return birth_.offset < 0 ? 0 : position_of(birth_.offset); }

  // Answers everything that is outstanding.
  void end() {
    tail_.end();
    data_.end();
    beats_.end();
  }
  // Destroys everything that is outstanding.
  void close() {
    prober_->close();
    tail_.close();
    beats_.close();
    data_.close();
  }

 private:
  const std::unique_ptr<Prober> prober_;
  History history_;
  const Mark birth_;
  Tail tail_;
  AppendLane data_;
  AppendLane beats_;
};

}  // namespace tenure::kafka
