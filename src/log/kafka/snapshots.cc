#include "log/kafka/snapshots.h"

#include <algorithm>

#include "log/kafka/writer.h"
#include "log/snapshot_buffer.h"

namespace tenure::kafka {
namespace {

// A broker that drops no records leaves all manifests there.
constexpr std::int64_t kManifestsRead = 256;

bool older(const Manifest& a, const Manifest& b) {
  return a.cursor.position != b.cursor.position ? a.cursor.position < b.cursor.position : a.offset < b.offset;
}

}  // namespace

Result<std::vector<Manifest>> Snapshots::stored(std::uint64_t log) {
  std::vector<Manifest> found;
  const Result<int> count = prober_.partitions(names_.snapshots);
  if (!count) return Failure(count.error());
  if (*count < kSnapshotPartitions) return found;
  const auto manifests = prober_.range(names_.snapshots, kManifests);
  if (!manifests) return Failure(manifests.error());
  if (manifests->first == manifests->end) return found;
  const auto chunks = prober_.range(names_.snapshots, kChunks);
  if (!chunks) return Failure(chunks.error());
  const std::int64_t from = std::max(manifests->first, manifests->end - kManifestsRead);
  const Status read = prober_.scan(names_.snapshots, kManifests, from, manifests->end, [&](const Stored& stored) {
    if (!stored.key || stored.key->kind != Kind::manifest || stored.key->log != log) return true;
    auto manifest = decode_manifest(stored.value);
    if (!manifest || manifest->first < chunks->first || manifest->end > chunks->end) return true;
    manifest->log = log;
    manifest->tag = stored.key->link;
    manifest->offset = stored.offset;
    found.push_back(*std::move(manifest));
    return true;
  });
  if (!read) return Failure(read.error());
  std::sort(found.begin(), found.end(), older);
  return found;
}

Result<std::optional<Manifest>> Snapshots::newest(std::uint64_t log) {
  auto all = stored(log);
  if (!all) return Failure(all.error());
  for (auto manifest = all->rbegin(); manifest != all->rend(); ++manifest) {
    const auto entry = prober_.entry_at(names_.log, offset_of(manifest->cursor.position));
    if (!entry) return Failure(entry.error());
    const bool there = *entry && (*entry)->key && (*entry)->key->log == log;
    if (there && manifest->cursor.matches((*entry)->value, manifest->time_ms))
      return std::optional<Manifest>(*manifest);
  }
  return std::optional<Manifest>();
}

Result<std::optional<Snapshot>> Snapshots::load(const Manifest& manifest) {
  auto client = Client::make(settings_, Role::loader, nullptr);
  if (!client) return Failure(client.error());
  Prober loader(settings_, *std::move(client));
  Snapshot snapshot;
  snapshot.cursor = manifest.cursor;
  std::size_t bytes = 0;
  std::uint64_t parts_left = 0;  // of the last chunk
  bool good = true;
  const auto take = [&](const Stored& stored) {
    if (!stored.key || stored.key->kind != Kind::chunk || stored.key->link != manifest.tag) return true;
    if (parts_left == 0) snapshot.chunks.emplace_back();
    good = stored.key->index + 1 == snapshot.chunks.size() && stored.key->first >= 0 &&
           (parts_left == 0 || static_cast<std::uint64_t>(stored.key->first) + 1 == parts_left);
    parts_left = static_cast<std::uint64_t>(stored.key->first);
    snapshot.chunks.back() += stored.value;
    bytes += stored.value.size();
    good = good && bytes <= kSnapshotBytesMax;
    return good;
  };
  const Status read = loader.scan(names_.snapshots, kChunks, manifest.first, manifest.end, take);
  if (!read) return Failure(read.error());
  if (!good || parts_left != 0 || snapshot.chunks.size() != manifest.chunks) return std::optional<Snapshot>();
  return std::optional<Snapshot>(std::move(snapshot));
}

Status Snapshots::store(Manifest manifest, const std::vector<Bytes>& chunks) {
  const auto before = stored(manifest.log);
  if (!before) return Failure(before.error());
  if (!before->empty() && before->back().cursor.position > manifest.cursor.position) return {};
  // Somebody may have deleted the topic.
  if (const Result<int> count = prober_.partitions(names_.snapshots); count && *count == 0) {
    if (Status made = Topics(settings_, prober_.client()).create_snapshots(names_); !made) return made;
  }
  auto writer = Writer::make(settings_);
  if (!writer) return Failure(writer.error());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    for (std::size_t part = 0, parts = pieces_of(chunks[i].size()); part < parts; ++part) {
      const Key key{.kind = Kind::chunk,
                    .log = manifest.log,
                    .link = manifest.tag,
                    .index = static_cast<std::uint32_t>(i),
                    .first = static_cast<std::int64_t>(parts - part - 1)};
      const BytesView value = BytesView(chunks[i]).substr(part * kPieceBytes, kPieceBytes);
      if (Status written = writer->write(names_.snapshots, kChunks, key, value); !written) return written;
    }
  }
  if (Status written = writer->flush(); !written) return written;
  manifest.chunks = static_cast<std::uint32_t>(chunks.size());
  manifest.first = chunks.empty() ? 0 : writer->first();
  manifest.end = writer->end();
  const Key key{.kind = Kind::manifest, .log = manifest.log, .link = manifest.tag};
  if (Status written = writer->write(names_.snapshots, kManifests, key, encode(manifest)); !written) return written;
  if (Status written = writer->flush(); !written) return written;
  if (!before->empty()) drop_older(before->back());
  return {};
}

// Best effort: some brokers drop no records, and the others wait for every replica.
void Snapshots::drop_older(const Manifest& kept) {
  Topics topics(settings_, prober_.client());
  static_cast<void>(topics.drop_before(names_.snapshots, kManifests, kept.offset));
  static_cast<void>(topics.drop_before(names_.snapshots, kChunks, kept.first));
}

}  // namespace tenure::kafka
