#include "log/redis/reply_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.h"

namespace tenure::redis {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
// Reserved at first for an announced text. More follows as the bytes arrive.
constexpr std::size_t kTextBytesFirst = 1U << 20;

// A small number in the common case. Numbers with more digits take the slow path.
constexpr std::size_t kHeadDigitsMax = 9;

bool read_number(BytesView text, std::int64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_kind(char first) { return first == '$' || first == '*' || first == ':' || first == '+' || first == '-'; }

}  // namespace

ReplyParser::ReplyParser(std::size_t reply_bytes_max) : reply_bytes_max_(reply_bytes_max) {}
ReplyParser::~ReplyParser() = default;

void ReplyParser::feed(BytesView bytes) {
  ASSERT(input_.empty());
  input_ = bytes;
}

Result<std::optional<Reply>> ReplyParser::next() {
  while (!input_.empty()) {
    if (!memory_) {
      memory_ = std::make_unique_for_overwrite<ReplyMemory>();
      root_ = memory_->take_nodes(1);
      values_ = bytes_ = 0;
    }
    const Step step = text_.node == nullptr ? take_value() : take_text();
    if (step == Step::broken) return fail(Errc::unavailable, "redis reply", "the server is not Redis: " + why_);
    if (step == Step::taken && is_whole()) return std::optional<Reply>(Reply(std::move(memory_), root_));
  }
  return std::optional<Reply>();
}

ReplyParser::Step ReplyParser::broken(std::string why) {
  why_ = std::move(why);
  return Step::broken;
}

// The place of the next value.
ReplyNode& ReplyParser::place() {
  if (depth_ == 0) return *root_;
  Open& open = open_[depth_ - 1];
  --open.left;
  return *open.next++;
}

// True with the last element of the outermost array, or with a value outside arrays.
bool ReplyParser::is_whole() {
  while (depth_ > 0 && open_[depth_ - 1].left == 0) --depth_;
  return depth_ == 0;
}

ReplyParser::Step ReplyParser::take_value() {
  const char kind = line_.empty() ? input_.front() : '\0';
  std::int64_t size = 0;
  if ((kind == '$' || kind == '*') && read_head(size)) return kind == '$' ? begin_text(size) : begin_array(size);
  return take_line();
}

// The common case: a small number that has arrived completely. take_line() handles the rest.
bool ReplyParser::read_head(std::int64_t& size) {
  const std::size_t most = std::min(input_.size(), kHeadDigitsMax + 1);
  std::size_t at = 1;
  for (; at < most && input_[at] >= '0' && input_[at] <= '9'; ++at) size = size * 10 + (input_[at] - '0');
  if (at == 1 || at + 2 > input_.size() || input_[at] != '\r' || input_[at + 1] != '\n') return false;
  bytes_ += at + 2;
  input_.remove_prefix(at + 2);
  return true;
}

ReplyParser::Step ReplyParser::take_line() {
  if (line_.empty() && !is_kind(input_.front())) {
    return broken("an answer begins with the byte " + std::to_string(static_cast<unsigned char>(input_.front())));
  }
  const std::size_t end = input_.find('\n');
  const BytesView piece = input_.substr(0, end);
  if (line_.size() + piece.size() > kLineBytesMax) {
    return broken("a line of more than " + std::to_string(kLineBytesMax) + " bytes");
  }
  input_.remove_prefix(std::min(piece.size() + 1, input_.size()));
  if (end != BytesView::npos && line_.empty()) return read_line(piece);
  line_ += piece;
  if (end == BytesView::npos) return Step::more;
  return read_line(std::exchange(line_, {}));
}

// `line` is without the final line feed.
ReplyParser::Step ReplyParser::read_line(BytesView line) {
  if (line.back() != '\r') return broken("a line without a proper end");
  bytes_ += line.size() + 1;
  if (bytes_ > reply_bytes_max_) return broken("an answer of more than " + std::to_string(reply_bytes_max_) + " bytes");
  const BytesView rest = line.substr(1, line.size() - 2);
  if (line.front() == '+') return put_text(ReplyNode::Kind::text, rest);
  if (line.front() == '-') return put_text(ReplyNode::Kind::error, rest);
  std::int64_t number = 0;
  if (!read_number(rest, number)) return broken("a number that is not one");
  if (line.front() == '$') return begin_text(number);
  if (line.front() == '*') return begin_array(number);
  ReplyNode& node = place();
  node.kind = ReplyNode::Kind::integer;
  node.integer = number;
  return Step::taken;
}

ReplyParser::Step ReplyParser::begin_array(std::int64_t size) {
  if (size < -1) return broken("an array of " + std::to_string(size) + " elements");
  ReplyNode& node = place();
  node.kind = size < 0 ? ReplyNode::Kind::nil : ReplyNode::Kind::array;
  node.size = 0;
  if (size <= 0) return Step::taken;
  if (size > static_cast<std::int64_t>(kValuesMax - values_)) {
    return broken("an answer of more than " + std::to_string(kValuesMax) + " values");
  }
  if (depth_ == kDepthMax) return broken("arrays in more than " + std::to_string(kDepthMax) + " arrays");
  const auto count = static_cast<std::size_t>(size);
  values_ += count;
  ReplyNode* const elements = memory_->take_nodes(count);
  node.size = static_cast<std::uint32_t>(count);
  node.elements = elements;
  open_[depth_++] = {elements, count};
  return Step::taken;
}

ReplyParser::Step ReplyParser::begin_text(std::int64_t size) {
  if (size == -1) {
    place().kind = ReplyNode::Kind::nil;
    return Step::taken;
  }
  if (size < 0) return broken("a text of " + std::to_string(size) + " bytes");
  const auto bytes = static_cast<std::size_t>(size);
  if (bytes_ + bytes > reply_bytes_max_) {
    return broken("an answer of more than " + std::to_string(reply_bytes_max_) + " bytes");
  }
  bytes_ += bytes + kLineEnd.size();
  // Most texts have arrived completely.
  if (input_.size() >= bytes + kLineEnd.size()) {
    if (input_[bytes] != '\r' || input_[bytes + 1] != '\n') return broken("a text is longer than was said");
    const BytesView text = input_.substr(0, bytes);
    input_.remove_prefix(bytes + kLineEnd.size());
    return put_text(ReplyNode::Kind::text, text);
  }
  text_ = {.node = &place(), .size = bytes};
  const bool large = ReplyMemory::is_large(bytes);
  text_.room = large ? std::min(bytes, kTextBytesFirst) : bytes;
  text_.into = large ? memory_->take_block(text_.room) : memory_->take_text(bytes);
  return Step::more;
}

// Nothing else is taken from the memory before the text is complete.
void ReplyParser::make_room(std::size_t bytes) {
  if (bytes <= text_.room) return;
  text_.room = std::min(std::max(bytes, 2 * text_.room), text_.size);
  text_.into = memory_->replace_block(text_.filled, text_.room);
}

ReplyParser::Step ReplyParser::take_text() {
  if (text_.filled < text_.size) {
    const BytesView piece = input_.substr(0, text_.size - text_.filled);
    make_room(text_.filled + piece.size());
    std::copy_n(piece.data(), piece.size(), text_.into + text_.filled);
    text_.filled += piece.size();
    input_.remove_prefix(piece.size());
  }
  while (!input_.empty() && text_.filled < text_.size + kLineEnd.size()) {
    if (input_.front() != kLineEnd[text_.filled - text_.size]) return broken("a text is longer than was said");
    input_.remove_prefix(1);
    ++text_.filled;
  }
  if (text_.filled < text_.size + kLineEnd.size()) return Step::more;
  ReplyNode& node = *std::exchange(text_.node, nullptr);
  node.kind = ReplyNode::Kind::text;
  node.size = static_cast<std::uint32_t>(text_.size);
  node.text = text_.into;
  return Step::taken;
}

ReplyParser::Step ReplyParser::put_text(ReplyNode::Kind kind, BytesView text) {
  ReplyNode& node = place();
  char* const copy = memory_->take_text(text.size());
  std::copy_n(text.data(), text.size(), copy);
  node.kind = kind;
  node.size = static_cast<std::uint32_t>(text.size());
  node.text = copy;
  return Step::taken;
}

}  // namespace tenure::redis
