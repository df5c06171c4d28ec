#include "log/redis/reply.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <new>
#include <utility>

namespace tenure::redis {

struct ReplyNode {
  int type = REDIS_REPLY_NIL;
  std::int64_t integer = 0;
  std::string_view text{};
  const ReplyNode** elements = nullptr;
  std::size_t size = 0;  // how many
};

// Memory that is freed together. It is asked for by hiredis' callbacks, through which nothing may be thrown.
class ReplyMemory {
 public:
  ReplyMemory() = default;
  ~ReplyMemory() {
    while (more_ != nullptr) ::operator delete(std::exchange(more_, more_->next));
  }
  ReplyMemory(const ReplyMemory&) = delete;
  ReplyMemory& operator=(const ReplyMemory&) = delete;

  // Null where there is none left. What is large gets a block of its own, and the rest of the last one stays in use.
  void* take(std::size_t bytes) noexcept {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > left_) {
      if (bytes > kBlockBytes / 4) return add_block(bytes);
      char* const block = add_block(kBlockBytes);
      if (block == nullptr) return nullptr;
      free_ = block;
      left_ = kBlockBytes;
    }
    left_ -= bytes;
    return std::exchange(free_, free_ + bytes);
  }

 private:
  struct Block {
    Block* next;
  };
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);
  static constexpr std::size_t kFirstBytes = 960;  // with the rest of this about 1 KiB: an entry of some hundred bytes
  static constexpr std::size_t kBlockBytes = 32U << 10;
  static constexpr std::size_t kBlockHead = (sizeof(Block) + kAlignment - 1) / kAlignment * kAlignment;

  char* add_block(std::size_t bytes) noexcept {
    void* const memory = ::operator new(kBlockHead + bytes, std::nothrow);
    if (memory == nullptr) return nullptr;
    more_ = new (memory) Block{more_};
    return static_cast<char*>(memory) + kBlockHead;
  }

  Block* more_ = nullptr;
  alignas(kAlignment) std::array<char, kFirstBytes> first_;
  char* free_ = first_.data();
  std::size_t left_ = kFirstBytes;
};

namespace {

// Puts the value into its place in the array that it belongs to. Null where there is no memory, which hiredis reports.
ReplyNode* add(const redisReadTask* task, const ReplyNode& value) {
  void* memory = static_cast<ReplyMemory*>(task->privdata)->take(sizeof(ReplyNode));
  if (memory == nullptr) return nullptr;
  auto* node = new (memory) ReplyNode(value);
  if (task->parent != nullptr) static_cast<ReplyNode*>(task->parent->obj)->elements[task->idx] = node;
  return node;
}

void* create_string(const redisReadTask* task, char* text, std::size_t size) {
  auto* copy = static_cast<char*>(static_cast<ReplyMemory*>(task->privdata)->take(size));
  if (copy == nullptr) return nullptr;
  std::copy_n(text, size, copy);
  return add(task, {.type = task->type, .text = {copy, size}});
}

constexpr std::size_t kValueBytesMin = 4;  // ":1\r\n"

// hiredis 0.14 counts in int, later ones in size_t.
template <class Count>
void* create_array(const redisReadTask* task, Count count) {
  const auto size = static_cast<std::size_t>(count);
  if (size > ReplyParser::kReplyBytesMax / kValueBytesMin) return nullptr;  // it could never become whole
  auto** elements =
      static_cast<const ReplyNode**>(static_cast<ReplyMemory*>(task->privdata)->take(size * sizeof(ReplyNode*)));
  if (elements == nullptr) return nullptr;
  std::fill_n(elements, size, nullptr);
  return add(task, {.type = task->type, .elements = elements, .size = size});
}

void* create_integer(const redisReadTask* task, long long value) {
  return add(task, {.type = task->type, .integer = value});
}

void* create_nil(const redisReadTask* task) { return add(task, {}); }

void free_nothing(void* /*node*/) {}

redisReplyObjectFunctions* functions() {
  static redisReplyObjectFunctions all = [] {
    redisReplyObjectFunctions made{};
    made.createString = create_string;
    made.createArray = create_array;
    made.createInteger = create_integer;
    made.createNil = create_nil;
    made.freeObject = free_nothing;
    return made;
  }();
  return &all;
}

}  // namespace

bool Value::is_error() const { return value_ != nullptr && value_->type == REDIS_REPLY_ERROR; }
bool Value::is_nil() const { return value_ == nullptr || value_->type == REDIS_REPLY_NIL; }
bool Value::is_integer() const { return value_ != nullptr && value_->type == REDIS_REPLY_INTEGER; }
bool Value::is_array() const { return value_ != nullptr && value_->type == REDIS_REPLY_ARRAY; }
std::string_view Value::text() const { return value_ == nullptr ? std::string_view() : value_->text; }
std::int64_t Value::integer() const { return value_ == nullptr ? 0 : value_->integer; }
std::size_t Value::size() const { return value_ == nullptr ? 0 : value_->size; }
Value Value::operator[](std::size_t index) const { return Value(index < size() ? value_->elements[index] : nullptr); }

std::uint64_t Value::number() const {
  const std::string_view digits = text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

Reply::Reply(std::unique_ptr<ReplyMemory> memory, const ReplyNode* root) : memory_(std::move(memory)), root_(root) {}
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(Reply&&) noexcept = default;
Reply::~Reply() = default;

ReplyParser::ReplyParser() : reader_(redisReaderCreateWithFunctions(functions())) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

ReplyParser::~ReplyParser() { redisReaderFree(reader_); }

void ReplyParser::feed(BytesView bytes) {
  unfinished_ += bytes.size();
  redisReaderFeed(reader_, bytes.data(), bytes.size());  // an error stays with the reader, and next() reports it
}

Result<std::optional<Reply>> ReplyParser::next() {
  if (unfinished_ > kReplyBytesMax) {
    return fail(Errc::unavailable, "redis reply", "an answer is larger than 64 MiB");
  }
  if (!memory_) memory_ = std::make_unique_for_overwrite<ReplyMemory>();
  reader_->privdata = memory_.get();
  void* reply = nullptr;
  if (redisReaderGetReply(reader_, &reply) != REDIS_OK) {
    return fail(Errc::unavailable, "redis reply", std::string("no Redis speaks there: ") + reader_->errstr);
  }
  if (reply == nullptr) return std::optional<Reply>();
  unfinished_ = 0;
  return std::optional<Reply>(Reply(std::move(memory_), static_cast<const ReplyNode*>(reply)));
}

}  // namespace tenure::redis
