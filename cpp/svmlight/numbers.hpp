#pragma once
// Numbers in svmlight text: a fast path for short decimals (nearly all features), and a
// general path for other numbers.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace manyclass::svmlight {

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr std::int64_t kWholePowers[] = {1,      10,      100,      1000,     10000,
                                                100000, 1000000, 10000000, 100000000};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }
inline bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '#'; }

inline bool is_whole(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Bit i is set if p[i] is not a digit, i < 32; all higher bits are set.
inline std::uint64_t non_digits(const char* p) {
  std::uint64_t bits = ~std::uint64_t{0} << 32;
#if defined(__SSE2__)
  for (int part = 0; part < 2; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
    const __m128i shifted = _mm_add_epi8(bytes, _mm_set1_epi8(128 - '0'));  // digits become lowest
    const __m128i others = _mm_cmpgt_epi8(shifted, _mm_set1_epi8(-128 + 9));
    bits |= static_cast<std::uint64_t>(_mm_movemask_epi8(others)) << (16 * part);
  }
#else
  for (int i = 0; i < 32; ++i) bits |= std::uint64_t{!is_digit(p[i])} << i;
#endif
  return bits;
}

// 8 bytes of text; the first byte is the lowest.
inline std::uint64_t eight_bytes(const char* p) {
  std::uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return std::endian::native == std::endian::little ? bytes : __builtin_bswap64(bytes);
}

// The number in the first n of 8 bytes, which are all digits, 1 <= n <= 8. Neighbors are
// combined into numbers of 2, 4, then 8 digits, several at once.
inline std::int64_t short_number(std::uint64_t bytes, int n) {
  bytes = (bytes - 0x3030303030303030u) << (64 - 8 * n);  // leading zeros up to 8 digits
  bytes = bytes * 10 + (bytes >> 8);
  bytes = (bytes & 0x000000FF000000FFu) * 0x000F424000000064u +
          (bytes >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u;
  return static_cast<std::int64_t>(bytes >> 32);
}

// The digits of "WHOLE.FRACTION" at p, read without the point: n_whole (1 to 7) and n (1 to 8).
inline std::int64_t digits_around_point(const char* p, int n_whole, int n) {
  const std::uint64_t whole = eight_bytes(p);
  if (n_whole + n > 8) {
    const std::int64_t fraction = short_number(eight_bytes(p + n_whole + 1), n);
    return short_number(whole, n_whole) * kWholePowers[n] + fraction;
  }
  const std::uint64_t behind = ~std::uint64_t{0} << (8 * n_whole);
  return short_number((whole & ~behind) | (eight_bytes(p + 1) & behind), n_whole + n);
}

struct Feature {
  std::uint64_t index;  // as written
  double value;
};

inline constexpr int kWindow = 40;  // maximum number of bytes that read_feature reads

// Reads "INDEX:[-]DIGITS[.DIGITS]" and returns its end, a blank or a line end; nullptr if
// the text has a different form or is longer than usual.
inline const char* read_feature(const char* p, Feature& feature) {
  std::uint64_t marks = non_digits(p);
  const int colon = std::countr_zero(marks);
  if (colon < 1 || colon > 8 || p[colon] != ':') return nullptr;
  feature.index = static_cast<std::uint64_t>(short_number(eight_bytes(p), colon));
  marks &= marks - 1;
  const bool negative = p[colon + 1] == '-';
  marks = negative ? marks & (marks - 1) : marks;
  const int begin = colon + 1 + negative;
  int end = std::countr_zero(marks);
  const int n_whole = end - begin;
  if (n_whole < 1 || n_whole > 7) return nullptr;
  double value;
  if (p[end] == '.') {
    end = std::countr_zero(marks & (marks - 1));
    const int n = end - begin - n_whole - 1;
    if (n < 1 || end >= 32) return nullptr;
    if (n <= 8) {  // both operands are exact, so the quotient is rounded correctly
      value = static_cast<double>(digits_around_point(p + begin, n_whole, n)) / kPowers[n];
    } else {
      std::from_chars(p + begin, p + end, value);
    }
  } else {
    value = static_cast<double>(short_number(eight_bytes(p + begin), n_whole));
  }
  if (p[end] != ' ' && p[end] != '\n') return nullptr;
  feature.value = negative ? -value : value;
  return p + end;
}

enum class Number { finite, overflow, not_a_number };

// A decimal number, digits * 10^exponent, truncated after 19 significant digits.
struct Decimal {
  std::uint64_t digits = 0;
  int n_digits = 0;  // significant digits
  std::int64_t exponent = 0;
};

// Reads the digits at p into `decimal`; `scale` is -1 after the decimal point, else 0.
inline const char* read_digits(const char* p, const char* end, int scale, Decimal& decimal) {
  for (; p < end && is_digit(*p); ++p) {
    const bool kept = decimal.n_digits < 19;
    if (kept) decimal.digits = decimal.digits * 10 + static_cast<unsigned char>(*p - '0');
    decimal.n_digits += kept && decimal.digits != 0;
    decimal.exponent += scale + !kept;
  }
  return p;
}

// Reads "e[+-]DIGITS" into the exponent; nullptr if there are no digits.
inline const char* read_exponent(const char* p, const char* end, Decimal& decimal) {
  const bool negative = ++p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* begin = p;
  std::int64_t exponent = 0;
  for (; p < end && is_digit(*p); ++p) {
    exponent = std::min<std::int64_t>(exponent * 10 + (*p - '0'), 1'000'000'000'000);
  }
  decimal.exponent += negative ? -exponent : exponent;
  return p == begin ? nullptr : p;
}

// The decimal number as a double, rounded correctly; tiny numbers become 0, as in Python. False
// if the number is too large. [begin, end) is its text without a sign.
inline bool to_double(const Decimal& decimal, const char* begin, const char* end, double& value) {
  const auto [digits, n_digits, exponent] = decimal;
  value = static_cast<double>(digits);
  if (digits == 0) return true;
  if (digits >> 53 == 0 && exponent >= -22 && exponent <= 22) {  // both factors are exact
    value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
    return true;
  }
  if (std::from_chars(begin, end, value).ec == std::errc()) return true;
  value = 0;
  return exponent + n_digits <= 0;
}

inline Number read_number(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const bool negative = text.starts_with('-');
  const char* begin = text.data() + (negative || text.starts_with('+'));
  Decimal decimal;
  const char* p = read_digits(begin, end, 0, decimal);
  auto n_read = p - begin;
  if (p < end && *p == '.') {
    const char* fraction = p + 1;
    p = read_digits(fraction, end, -1, decimal);
    n_read += p - fraction;
  }
  if (n_read == 0) return Number::not_a_number;
  if (p < end && (*p == 'e' || *p == 'E')) p = read_exponent(p, end, decimal);
  if (p != end) return Number::not_a_number;
  if (!to_double(decimal, begin, end, value)) return Number::overflow;
  if (negative) value = -value;
  return Number::finite;
}

// nan, inf, Infinity, ... in any case and with any sign.
inline bool names_non_finite(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  std::string name(text.substr(0, 3));
  for (char& c : name) c |= 0x20;  // to lower case
  return name == "nan" || name == "inf";
}

}  // namespace manyclass::svmlight
