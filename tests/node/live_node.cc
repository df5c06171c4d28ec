#include "node/live_node.h"

#include <gtest/gtest.h>

namespace tenure {

LiveNode::LiveNode(std::string name, const std::string& url, Journal& journal, NodeOptions options)
    : name_(std::move(name)), journal_(journal), heart_loop_("heart"), loop_("node") {
  Result<std::unique_ptr<Log>> log = open_log(url, {});
  if (!log) throw std::runtime_error(log.error().message());
  log_ = std::move(*log);
  options.name = name_;
  loop_.run([&] {
    node_ = std::make_unique<Node>(NodeWorld{*log_, loop_, heart_loop_, clock_, entropy_, this}, std::move(options),
                                   static_cast<NodeEvents&>(*this));
    node_->start();
  });
}

LiveNode::~LiveNode() { crash(); }

void LiveNode::crash() {
  if (!node_) return;
  log_->close();
  loop_.run([&] { node_.reset(); });
  heart_loop_.run([] {});
  std::lock_guard lock(mutex_);
  for (const auto& [epoch, key] : held_) {
    journal_.change([&, held = key](Journal& journal) {
      if (journal.holder.contains(held) && journal.holder[held] == name_) journal.holder.erase(held);
    });
  }
  held_.clear();
}

std::uint64_t LiveNode::dispatch(Bytes key, JobKind kind, Bytes payload) {
  std::uint64_t ticket = 0;
  with([&](Node& node) {
    const Result<std::uint64_t> given = node.ask({.job = kind, .key = std::move(key), .text = std::move(payload)});
    ASSERT_TRUE(given) << given.error().message();
    ticket = *given;
  });
  return ticket;
}

void LiveNode::start(HeldJob job) {  // NOLINT(performance-unnecessary-value-param)
  journal_.change([&](Journal& journal) {
    if (journal.holder.contains(job.hold.key)) {
      journal.problems.push_back("two holders of " + job.hold.key + ": " + journal.holder[job.hold.key] + " and " +
                                 name_);
    }
    if (job.hold.epoch <= journal.epoch[job.hold.key]) journal.problems.push_back("epoch of " + job.hold.key);
    journal.epoch[job.hold.key] = job.hold.epoch;
    journal.holder[job.hold.key] = name_;
    journal.checkpoint[job.hold.key] = job.checkpoint.value_or("none");
    ++journal.moves;
  });
  {
    std::lock_guard lock(mutex_);
    held_[job.hold.epoch] = job.hold.key;
  }
  if (job.kind == JobKind::resident) return node_->reports().started(job.hold);
  let_go(job.hold);
  if (job.payload == "fail") {
    return node_->reports().failed(job.hold, HoldReports::Next::retry, "it failed", {});
  }
  node_->reports().finished(job.hold, "done by " + name_);
}

void LiveNode::stop(const Hold& hold, StopReason /*reason*/, Instant /*deadline*/) {
  let_go(hold);
  node_->reports().released(hold, "from " + name_);
}

void LiveNode::message(const Hold& hold, std::uint64_t number, BytesView text) {
  journal_.change([&](Journal& journal) { journal.messages.emplace(hold.key, text); });
  node_->reports().handled(hold, number);
}

void LiveNode::fence(std::uint64_t /*session*/) {
  std::map<std::uint64_t, Bytes> held;
  {
    std::lock_guard lock(mutex_);
    held = held_;
  }
  for (const auto& [epoch, key] : held) {
    let_go({key, epoch});
    node_->reports().released({key, epoch});
  }
}

void LiveNode::kill(std::uint64_t /*session*/) {
  std::lock_guard lock(mutex_);
  if (!held_.empty()) journal_.change([](Journal& journal) { journal.problems.emplace_back("had to be killed"); });
}

void LiveNode::let_go(const Hold& hold) {
  {
    std::lock_guard lock(mutex_);
    if (held_.erase(hold.epoch) == 0) return;
  }
  journal_.change([&](Journal& journal) { journal.holder.erase(hold.key); });
}

void LiveNode::joined(std::uint64_t /*session*/) {
  journal_.change([&](Journal& journal) { journal.members.insert(name_); });
}

void LiveNode::settled(const Settlement& settlement) {
  journal_.change([&](Journal& journal) {
    journal.tickets[settlement.ticket].push_back(settlement.state);
    journal.texts[settlement.ticket] = settlement.text;
    journal.refusals[settlement.ticket] = settlement.code;
  });
}

void LiveNode::closed() {
  journal_.change([&](Journal& journal) { journal.closed.insert(name_); });
}

void LiveNode::broken(const Error& error) {
  journal_.change([&](Journal& journal) { journal.problems.push_back(name_ + ": " + error.message()); });
}

}  // namespace tenure
