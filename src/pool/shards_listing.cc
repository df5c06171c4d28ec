// Listings of all shards: one shard after the other, each in as many pages as it needs.

#include <algorithm>

#include "node/keys/listing.h"
#include "pool/shards.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// The place to continue is a shard and a place in it.
Result<JobPage> Shards::list_jobs(const v1::ListJobs& query, std::uint64_t from, std::size_t limit, Deadline deadline) {
  JobPage page;
  v1::Ask ask;
  v1::ListJobs& wanted = *ask.mutable_jobs();
  wanted = query;
  auto shard = static_cast<std::uint32_t>(from >> 32);
  wanted.set_from(static_cast<SlotId>(from));
  while (shard < count() && page.jobs.size() < limit) {
    wanted.set_limit(static_cast<std::uint32_t>(std::min(limit - page.jobs.size(), kListedMax)));
    const Result<v1::Told> told = inquire(shard, ask, deadline);
    if (!told) return Failure(told.error());
    page.jobs.insert(page.jobs.end(), told->jobs().begin(), told->jobs().end());
    const bool ends = told->next_plus_one() == 0;
    if (ends || page.jobs.size() >= limit) page.position += told->position();
    if (ends) ++shard;
    wanted.set_from(ends ? 0 : told->next_plus_one() - 1);
  }
  if (shard < count()) page.next = std::uint64_t{shard} << 32 | wanted.from();
  return page;
}

Result<std::vector<v1::ListedDead>> Shards::list_dead(std::uint64_t after, std::size_t limit, bool payloads,
                                                      Deadline deadline) {
  std::vector<v1::ListedDead> dead;
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    v1::Ask ask;
    ask.mutable_dead()->set_after(after);
    ask.mutable_dead()->set_payloads(payloads);
    std::size_t left = limit;
    for (bool more = left != 0; more;) {
      ask.mutable_dead()->set_limit(static_cast<std::uint32_t>(std::min(left, kListedMax)));
      const Result<v1::Told> told = inquire(shard, ask, deadline);
      if (!told) return Failure(told.error());
      dead.insert(dead.end(), told->dead().begin(), told->dead().end());
      left -= static_cast<std::size_t>(told->dead_size());
      more = told->more_dead() && left != 0;
      if (more) ask.mutable_dead()->set_after(dead.back().id());
    }
  }
  std::sort(dead.begin(), dead.end(), [](const v1::ListedDead& a, const v1::ListedDead& b) { return a.id() < b.id(); });
  if (dead.size() > limit) dead.erase(dead.begin() + static_cast<std::ptrdiff_t>(limit), dead.end());
  return dead;
}

Result<std::map<Bytes, std::vector<v1::ListedSource>>> Shards::list_sources(Deadline deadline) {
  std::map<Bytes, std::vector<v1::ListedSource>> all;
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    v1::Ask ask;
    ask.mutable_sources()->set_limit(kListedMax);
    for (bool more = true; more;) {
      const Result<v1::Told> told = inquire(shard, ask, deadline);
      if (!told) return Failure(told.error());
      for (const v1::ListedSource& source : told->sources()) all[source.name()].push_back(source);
      more = told->more_sources() && told->sources_size() != 0;
      if (more) ask.mutable_sources()->set_after(told->sources(told->sources_size() - 1).name());
    }
  }
  return all;
}

// A shard that never heard of the source has nothing to forget.
Status Shards::forget_source(const std::string& source, Deadline deadline, bool own) {
  Request request;
  request.own = own;
  request.kind = Request::Kind::forget_source;
  request.key = source;
  std::vector<TicketPtr> tickets;
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    Result<TicketPtr> ticket = submit_to(shard, request);
    if (!ticket) return Failure(ticket.error());
    tickets.push_back(*std::move(ticket));
  }
  bool known = false;
  for (const TicketPtr& ticket : tickets) {
    if (!ticket->wait(Stage::accepted, deadline)) return Failure(late("forget source"));
    const Status forgotten = ticket->outcome(Stage::accepted);
    if (!forgotten && forgotten.error().code != Errc::no_such_key) return forgotten;
    known = known || forgotten;
  }
  if (known) return {};
  return fail(Errc::no_such_key, "forget source", "the pool has no source '" + source + "'");
}

}  // namespace tenure
