#include "machine/decode.h"

#include <google/protobuf/arena.h>

#include <limits>

#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr std::size_t kFirstBlockBytes = 1U << 20;  // for an entry of 256 KiB; unused memory is not touched
constexpr std::size_t kBlockBytes = 64U << 10;      // for entries that need more

}  // namespace

Decoder::Decoder() : first_block_(std::make_unique_for_overwrite<char[]>(kFirstBlockBytes)) {
  google::protobuf::ArenaOptions options;
  options.initial_block = first_block_.get();
  options.initial_block_size = kFirstBlockBytes;
  options.start_block_size = kBlockBytes;
  options.max_block_size = kBlockBytes;
  arena_ = std::make_unique<google::protobuf::Arena>(options);
}

Decoder::~Decoder() = default;

const v1::Batch* Decoder::decode(BytesView data) {
  arena_->Reset();
  return decode_next(data);
}

const v1::Batch* Decoder::decode_next(BytesView data) {
  if (data.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return nullptr;
  auto* batch = google::protobuf::Arena::CreateMessage<v1::Batch>(arena_.get());
  if (!batch->ParseFromArray(data.data(), static_cast<int>(data.size()))) return nullptr;
  if (batch->format() != kBatchFormat || batch->sender() == 0 || batch->sequence() == 0) return nullptr;
  return batch;
}

}  // namespace tenure
