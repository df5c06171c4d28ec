#include "sim/pool/crash_reports.h"

#include "base/bytes.h"
#include "node/batch_head.h"
#include "tenure/v1/record.pb.h"

namespace tenure::sim {
namespace {

constexpr Time kRetry = 100 * kMilli;

}  // namespace

CrashReports::CrashReports(World& world, Wires& wires, const Onlooker& onlooker, const Plan& plan)
    : world_(world), wires_(wires), onlooker_(onlooker), plan_(plan), dice_(world.fork("guards")) {}

void CrashReports::died(const Process& process, std::uint64_t session, const Link& link) {
  if (session == 0 || !dice_.chance(plan_.guards)) return;
  Report report{.session = session, .culprits = {}};
  if (process.culprit != 0 && dice_.chance(plan_.evidence)) report.culprits.push_back(process.culprit);
  if (dice_.chance(plan_.false_evidence)) {
    if (const std::uint64_t other = other_tenure(session); other != 0) report.culprits.push_back(other);
  }
  world_.after(dice_.magnitude(kMilli, 100 * kMilli), [this, report, &link] { say(report, link); });
}

void CrashReports::say(const Report& report, const Link& link) {
  if (link.to_server_cut || wires_.down()) return world_.after(kRetry, [this, report, &link] { say(report, link); });
  v1::Batch batch = empty_batch(dice_.id(), 1, 0);
  v1::End& end = *batch.add_records()->mutable_end();
  end.set_session(report.session);
  end.set_reason(v1::End::CRASHED);
  for (const std::uint64_t epoch : report.culprits) end.add_culprits(epoch);
  if (!report.culprits.empty()) end.set_evidence("SIGSEGV");
  wires_.server().append(batch.SerializeAsString());
  wires_.poke();
}

// Some tenure that another process has at this moment.
std::uint64_t CrashReports::other_tenure(std::uint64_t session) {
  std::vector<std::uint64_t> epochs;
  onlooker_.machine().each_job(0, [&](const JobInfo& job) {
    if (job.session != 0 && job.session != session) epochs.push_back(job.epoch);
    return true;
  });
  return epochs.empty() ? 0 : epochs[dice_.below(epochs.size())];
}

}  // namespace tenure::sim
