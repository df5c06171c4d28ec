#pragma once

// Jump consistent hash (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
//
// It gives the published algorithm's results to the bit, without floating point. The obvious integer form,
// (bucket + 1) * 2^31 / divisor, is not that algorithm: the published one rounds the quotient and then the product to
// 53 bits, and now and then the product of exact integers comes out one lower. So the two roundings are done here,
// in integers, and neither the compiler's flags nor the processor's rounding mode can change who holds a key.

#include <bit>
#include <cstdint>

namespace tenure {

namespace jump_detail {

using Wide = unsigned __int128;

// A positive number as IEEE binary64 holds it: mantissa / 2^scale, the mantissa of at most 53 bits.
struct Rounded {
  std::uint64_t mantissa;
  int scale;
};

constexpr int bit_width(std::uint64_t word) { return 64 - std::countl_zero(word); }

// 2^31 / divisor, rounded to nearest; divisor is in [1, 2^31].
constexpr Rounded divide(std::uint64_t divisor) {
  if (std::has_single_bit(divisor)) return {(1ULL << 31) / divisor, 0};
  // 2^dividend_bits / divisor lies in (2^52, 2^53). The division is done in two halves that fit 64 bits.
  const int dividend_bits = 52 + bit_width(divisor);
  const int low_bits = dividend_bits - 52;
  const std::uint64_t high = (1ULL << 52) / divisor;
  const std::uint64_t rest = (1ULL << 52) % divisor << low_bits;
  std::uint64_t mantissa = (high << low_bits) + rest / divisor;
  // The remainder is never exactly half: that would make the divisor a power of two.
  if (rest % divisor * 2 > divisor) ++mantissa;
  return {mantissa, dividend_bits - 31};
}

// factor * value, rounded to nearest with ties to even, then cut to an integer; factor is in [1, 2^32].
constexpr std::uint64_t multiply(std::uint64_t factor, Rounded value) {
  Wide product = static_cast<Wide>(factor) * value.mantissa;
  const auto high = static_cast<std::uint64_t>(product >> 64);
  const int width = high != 0 ? 64 + bit_width(high) : bit_width(static_cast<std::uint64_t>(product));
  if (width > 53) {
    const int drop = width - 53;
    const Wide half = static_cast<Wide>(1) << (drop - 1);
    const Wide odd = product >> drop & 1;
    product = (product + half - 1 + odd) >> drop << drop;
  }
  return static_cast<std::uint64_t>(product >> value.scale);
}

}  // namespace jump_detail

// The bucket of the key among `buckets`, in [0, buckets); 0 if there are none. From n to n + 1 buckets a key either
// stays or moves to bucket n. Taking away any other bucket than the last renumbers, and moves many keys.
constexpr std::uint32_t jump_choose(std::uint64_t key_hash, std::uint32_t buckets) {
  std::uint64_t bucket = 0;
  std::uint64_t next = 0;
  while (next < buckets) {
    bucket = next;
    key_hash = key_hash * 2862933555777941757ULL + 1;
    next = jump_detail::multiply(bucket + 1, jump_detail::divide((key_hash >> 33) + 1));
  }
  return static_cast<std::uint32_t>(bucket);
}

}  // namespace tenure
