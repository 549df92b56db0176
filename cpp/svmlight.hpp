#pragma once
// Text in svmlight / LIBSVM format -> CSR arrays: one chunk of whole lines, one thread, no I/O.
//
// A line is "LABEL [qid:N] INDEX:VALUE INDEX:VALUE ... [# comment]". Nearly every feature of a real
// file is a short decimal number, so these take one pass over 32 bytes (read_feature). Whatever it
// does not recognise, errors too, goes to the careful code (SvmlightParser::read_token).
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace manyclass {

struct SvmlightOptions {
  std::int64_t n_features;  // 0: as many as the largest index tells
  bool zero_based;
  bool sort;            // rows may be unsorted
  bool sum_duplicates;  // rows may hold an index several times
};

// CSR arrays of the rows of a chunk; label codes point into `labels`, which point into the text.
template <class T, class Index>
struct SvmlightChunk {
  std::unique_ptr<Index[]> indices;  // from 0, strictly ascending in each row
  std::unique_ptr<T[]> values;
  std::unique_ptr<std::int64_t[]> row_ends;
  std::unique_ptr<std::int32_t[]> codes;
  std::vector<std::string_view> labels;   // distinct, in order of appearance
  std::vector<std::int64_t> label_lines;  // where each appeared first
  std::int64_t nnz = 0, n_rows = 0, n_lines = 0, max_index = -1;
};

struct Complaint {
  const char* problem;
  const char* advice;
};

struct SvmlightError : std::exception {
  Complaint complaint;
  std::string found;  // the beginning of the offending token
  std::int64_t line;  // from 1, within the chunk
  SvmlightError(Complaint what, std::string_view token, std::int64_t at)
      : complaint(what), found(token.substr(0, 80)), line(at) {}
  const char* what() const noexcept override { return complaint.problem; }
};

// A feature index needs more bits than the Index that the chunk is read with.
struct IndexTooWide : std::exception {};

namespace svmlight {

inline constexpr std::size_t kMaxLabel = 1024;
inline constexpr std::uint64_t kMaxIndex = std::numeric_limits<std::int64_t>::max() - 1;  // from 0
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

// Bit i is set if p[i] is no digit, i < 32; all higher bits are set.
inline std::uint64_t non_digits(const char* p) {
  std::uint64_t bits = ~std::uint64_t{0} << 32;
#if defined(__SSE2__)
  for (int part = 0; part < 2; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
    const __m128i shifted = _mm_add_epi8(bytes, _mm_set1_epi8(128 - '0'));  // digits come lowest
    const __m128i others = _mm_cmpgt_epi8(shifted, _mm_set1_epi8(-128 + 9));
    bits |= static_cast<std::uint64_t>(_mm_movemask_epi8(others)) << (16 * part);
  }
#else
  for (int i = 0; i < 32; ++i) bits |= std::uint64_t{!is_digit(p[i])} << i;
#endif
  return bits;
}

// 8 bytes of text, the first one lowest.
inline std::uint64_t eight_bytes(const char* p) {
  std::uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return std::endian::native == std::endian::little ? bytes : __builtin_bswap64(bytes);
}

// The number that the first n of 8 bytes spell, all of them digits, 1 <= n <= 8. Neighbours are
// joined to numbers of 2, 4, then 8 digits, several at once.
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

inline constexpr int kWindow = 40;  // bytes that read_feature may look at

// Reads "INDEX:[-]DIGITS[.DIGITS]" and returns its end, where a blank or a line end is; nullptr
// if the text is anything else, or longer than usual.
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

// What decimal digits say: digits * 10^exponent, cut after 19 significant digits.
struct Decimal {
  std::uint64_t digits = 0;
  int n_digits = 0;  // significant ones
  std::int64_t exponent = 0;
};

// Reads the digits at p into `decimal`; `scale` is -1 behind the decimal point and else 0.
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

// The decimal number as a double, rounded correctly; a tiny one is 0, as in Python. False if it
// is too large. `begin` to `end` is its text, without a sign.
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

// nan, inf, Infinity, ... in any case and with any sign
inline bool names_non_finite(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  std::string name(text.substr(0, 3));
  for (char& c : name) c |= 0x20;  // to lower case
  return name == "nan" || name == "inf";
}

inline constexpr Complaint kNoLabel{"the label is missing",
                                    "start the line with its label, which holds no ':'"};
inline constexpr Complaint kLongLabel{"the label is too long", "is this an svmlight file?"};
inline constexpr Complaint kOddLabel{"the label holds a control character",
                                     "is this an svmlight file, as text?"};
inline constexpr Complaint kNoColon{"a feature is not index:value",
                                    "write index:value; is the line cut off?"};
inline constexpr Complaint kNoIndex{"a feature's index is not a whole number", "write index:value"};
inline constexpr Complaint kNegativeIndex{"a feature's index is negative", "count from 1"};
inline constexpr Complaint kZeroIndex{"a feature's index is 0, but indices count from 1",
                                      "pass zero_based=True if this file counts from 0"};
inline constexpr Complaint kHugeIndex{"a feature's index does not fit in 64 bits",
                                      "renumber the features"};
inline constexpr Complaint kBeyond{"a feature's index is beyond n_features",
                                   "raise n_features or leave it out"};
inline constexpr Complaint kUnsorted{"a row's indices are not ascending", "pass sort=True"};
inline constexpr Complaint kDuplicate{"a row holds an index twice", "pass sum_duplicates=True"};
inline constexpr Complaint kNoValue{"a feature has no value",
                                    "write index:value; is the line cut off?"};
inline constexpr Complaint kNoNumber{"a feature's value is not a number", "write index:value"};
inline constexpr Complaint kNotFinite{"a feature's value is not finite",
                                      "replace it or leave the feature out"};
inline constexpr Complaint kOverflow{"a feature's value is too large for the dtype",
                                     "rescale the feature, or load float32 as float64"};
inline constexpr Complaint kBadQuery{"a query id is not a whole number", "write qid:N"};

}  // namespace svmlight

template <class T, class Index>
class SvmlightParser {
 public:
  SvmlightParser(std::string_view text, const SvmlightOptions& options)
      : options_(options), begin_(text.data()), end_(text.data() + text.size()) {
    const auto widest = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
    index_limit_ = std::min(widest, svmlight::kMaxIndex);
    if (options.n_features > 0) {
      index_limit_ = std::min(index_limit_, static_cast<std::uint64_t>(options.n_features) - 1);
    }
    // A feature takes 4 bytes at least (" 1:1"), a row 2 ("1\n"): no bound to check while reading.
    const std::size_t max_nnz = text.size() / 4 + 1;
    const std::size_t max_rows = text.size() / 2 + 1;
    chunk_.indices = std::make_unique_for_overwrite<Index[]>(max_nnz);
    chunk_.values = std::make_unique_for_overwrite<T[]>(max_nnz);
    chunk_.row_ends = std::make_unique_for_overwrite<std::int64_t[]>(max_rows);
    chunk_.codes = std::make_unique_for_overwrite<std::int32_t[]>(max_rows);
  }

  SvmlightChunk<T, Index> parse() && {
    for (const char* p = begin_; p < end_; ++p) {  // ++p: over the line's end
      p = skip_blanks(p);
      if (p < end_ && *p != '\n' && *p != '#') p = read_row(p);
      if (p < end_ && *p == '#') p = std::find(p, end_, '\n');
      ++chunk_.n_lines;
    }
    return std::move(chunk_);
  }

 private:
  const char* read_row(const char* p) {
    const std::int64_t row_begin = chunk_.nnz;
    p = read_features(read_label(p));
    if (must_tidy_) tidy_row(row_begin, p);
    if (chunk_.nnz > row_begin) {
      const auto last = static_cast<std::int64_t>(chunk_.indices[chunk_.nnz - 1]);
      chunk_.max_index = std::max(chunk_.max_index, last);
    }
    chunk_.row_ends[chunk_.n_rows++] = chunk_.nnz;
    return p;
  }

  const char* read_label(const char* p) {
    const std::string_view label = token_at(p);
    if (label != label_) {
      const auto next_code = static_cast<std::int32_t>(chunk_.labels.size());
      const auto [known, is_new] = codes_.try_emplace(label, next_code);
      if (is_new) add_label(label);
      label_ = label;
      code_ = known->second;
    }
    chunk_.codes[chunk_.n_rows] = code_;
    return p + label.size();
  }

  void add_label(std::string_view label) {
    const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
    if (label.find(':') != label.npos) fail(svmlight::kNoLabel, label);
    if (std::any_of(label.begin(), label.end(), is_control)) fail(svmlight::kOddLabel, label);
    if (label.size() > svmlight::kMaxLabel) fail(svmlight::kLongLabel, label);
    chunk_.labels.push_back(label);
    chunk_.label_lines.push_back(chunk_.n_lines + 1);
  }

  const char* read_features(const char* p) {
    Index* const indices = chunk_.indices.get();
    T* const values = chunk_.values.get();
    const std::uint64_t base = options_.zero_based ? 0 : 1;
    std::int64_t nnz = chunk_.nnz;
    std::uint64_t least = 0;  // that the next index must be
    for (;;) {
      svmlight::Feature feature;
      const bool near_end = end_ - p < svmlight::kWindow;
      const char* next = near_end || *p != ' ' ? nullptr : svmlight::read_feature(p + 1, feature);
      if (!next) {
        p = skip_blanks(p);
        if (p == end_ || *p == '\n' || *p == '#') break;
        const std::string_view token = token_at(p);
        next = p + token.size();
        if (!read_token(token, feature)) {
          p = next;
          continue;
        }
      }
      const std::uint64_t index = feature.index - base;  // 0 - 1 is beyond every limit
      if (index > index_limit_ || index < least) [[unlikely]]
        check_index(p, index, least);
      indices[nnz] = static_cast<Index>(index);
      values[nnz++] = static_cast<T>(feature.value);
      least = index + 1;
      p = next;
    }
    chunk_.nnz = nnz;
    return p;
  }

  // Any "index:value"; false for "qid:N", which is no feature.
  bool read_token(std::string_view token, svmlight::Feature& feature) const {
    const std::size_t colon = token.find(':');
    if (colon == token.npos) fail(svmlight::kNoColon, token);
    const std::string_view key = token.substr(0, colon), value = token.substr(colon + 1);
    if (key == "qid") {
      const bool negative = value.starts_with('-');
      if (!svmlight::is_whole(value.substr(negative))) fail(svmlight::kBadQuery, token);
      return false;
    }
    read_index(key, token, feature.index);
    read_value(value, token, feature.value);
    return true;
  }

  void read_index(std::string_view text, std::string_view token, std::uint64_t& index) const {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (!svmlight::is_whole(text)) fail(svmlight::kNoIndex, token);
    if (negative) fail(svmlight::kNegativeIndex, token);
    const auto status = std::from_chars(text.data(), text.data() + text.size(), index).ec;
    if (status != std::errc()) fail(svmlight::kHugeIndex, token);
  }

  void read_value(std::string_view text, std::string_view token, double& value) const {
    if (text.empty()) fail(svmlight::kNoValue, token);
    switch (svmlight::read_number(text, value)) {
      case svmlight::Number::not_a_number:
        fail(svmlight::names_non_finite(text) ? svmlight::kNotFinite : svmlight::kNoNumber, token);
      case svmlight::Number::finite:
        if (std::isfinite(static_cast<T>(value))) return;
        [[fallthrough]];
      case svmlight::Number::overflow:
        fail(svmlight::kOverflow, token);
    }
  }

  // An index (from 0) that is beyond the limit or below `least`: an error, or work for tidy_row.
  void check_index(const char* p, std::uint64_t index, std::uint64_t least) {
    const std::string_view token = token_at(skip_blanks(p));
    if (index == ~std::uint64_t{0}) fail(svmlight::kZeroIndex, token);
    const auto n_features = static_cast<std::uint64_t>(options_.n_features);
    if (n_features > 0 && index >= n_features) fail(svmlight::kBeyond, token);
    if (index > svmlight::kMaxIndex) fail(svmlight::kHugeIndex, token);
    if (index > index_limit_) throw IndexTooWide();
    if (index >= least) return;
    const bool is_repeated = index + 1 == least;
    if (is_repeated && !options_.sum_duplicates) fail(svmlight::kDuplicate, token);
    if (!is_repeated && !options_.sort) fail(svmlight::kUnsorted, token);
    must_tidy_ = true;
  }

  // Sorts the row from `begin` on by index and sums equal ones. `p` is in its line.
  void tidy_row(std::int64_t begin, const char* p) {
    must_tidy_ = false;
    Index* const indices = chunk_.indices.get();
    T* const values = chunk_.values.get();
    std::vector<std::pair<Index, T>> entries;
    for (std::int64_t i = begin; i < chunk_.nnz; ++i) entries.emplace_back(indices[i], values[i]);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t last = begin - 1;
    for (const auto& [index, value] : entries) {
      if (last >= begin && indices[last] == index) {
        if (!options_.sum_duplicates) fail(svmlight::kDuplicate, as_written(index), p);
        values[last] += value;
        if (!std::isfinite(values[last])) fail(svmlight::kOverflow, as_written(index), p);
      } else {
        indices[++last] = index;
        values[last] = value;
      }
    }
    chunk_.nnz = last + 1;
  }

  std::string as_written(Index index) const {
    return std::to_string(static_cast<std::uint64_t>(index) + !options_.zero_based);
  }

  const char* skip_blanks(const char* p) const {
    while (p < end_ && svmlight::is_blank(*p)) ++p;
    return p;
  }

  std::string_view token_at(const char* p) const {
    const char* q = p;
    while (q < end_ && !svmlight::ends_token(*q)) ++q;
    return {p, q};
  }

  [[noreturn]] void fail(Complaint complaint, std::string_view token) const {
    fail(complaint, token, token.data());
  }
  [[noreturn]] void fail(Complaint complaint, std::string_view found, const char* where) const {
    throw SvmlightError(complaint, found, 1 + std::count(begin_, where, '\n'));
  }

  const SvmlightOptions options_;
  const char* const begin_;
  const char* const end_;
  std::uint64_t index_limit_;  // the largest index that is stored, from 0
  bool must_tidy_ = false;     // the row is unsorted or holds duplicates
  std::string_view label_;     // of the row before, and its code
  std::int32_t code_ = 0;
  std::unordered_map<std::string_view, std::int32_t> codes_;
  SvmlightChunk<T, Index> chunk_;
};

template <class T, class Index>
SvmlightChunk<T, Index> parse_svmlight(std::string_view text, const SvmlightOptions& options) {
  return SvmlightParser<T, Index>(text, options).parse();
}

}  // namespace manyclass
