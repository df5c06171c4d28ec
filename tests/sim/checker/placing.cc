#include "sim/checker/placing.h"

#include <algorithm>
#include <string_view>

namespace tenure::sim {

void Placing::apply(const Event& event) {
  if (const auto* ready = std::get_if<WorkerReady>(&event.what)) {
    if (ready->worker.ends_with(kRankedWorker)) return;  // it takes nothing else
    workers_[ready->worker] = ready->process;
    changed_ = event.at;
  } else if (const auto* served = std::get_if<Serves>(&event.what)) {
    auto& servers = servers_[served->key];
    if (served->serves) {
      servers.emplace(served->process, served->worker);
    } else {
      servers.erase({served->process, served->worker});
    }
    changed_ = event.at;
  } else if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) {
    gone(crashed->process, event.at);
  } else if (const auto* left = std::get_if<ProcessLeft>(&event.what)) {
    gone(left->process, event.at);
  }
}

void Placing::gone(ProcessNumber process, Time at) {
  std::erase_if(workers_, [=](const auto& worker) { return worker.second == process; });
  for (auto& [key, servers] : servers_) {
    std::erase_if(servers, [=](const auto& server) { return server.first == process; });
  }
  changed_ = at;
}

bool Placing::fits(const std::string& key, const std::string& worker) const {
  if (is_partition(key)) return true;  // see check_partitions
  const auto found = servers_.find(key);
  if (found != servers_.end() && !found->second.empty()) {
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const auto& server) { return server.second == worker; });
  }
  if (!choice_.decides(key) || workers_.empty()) return true;
  std::vector<std::string_view> ids;
  for (const auto& [id, process] : workers_) ids.push_back(id);
  return ids[choice_.of(key, ids)] == worker;
}

}  // namespace tenure::sim
