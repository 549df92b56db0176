#pragma once
// The svmlight parser: its input, output and errors.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "svmlight/numbers.hpp"

namespace manyclass {

struct SvmlightOptions {
  std::int64_t n_features;  // 0: the largest index determines it
  bool zero_based;
  bool sort;                // rows may be unsorted
  bool sum_duplicates;      // rows may contain an index several times
  bool label_sets = false;  // labels are sets, "3,7,12"; long or empty sets are valid
};

// CSR arrays of the rows of a chunk. Label codes are indices of `labels`, which refer to the text.
template <class T, class Index>
struct SvmlightChunk {
  std::unique_ptr<Index[]> indices;  // from 0, strictly ascending in each row
  std::unique_ptr<T[]> values;
  std::unique_ptr<std::int64_t[]> row_ends;
  std::unique_ptr<std::int32_t[]> codes;
  std::vector<std::string_view> labels;   // distinct, in order of appearance
  std::vector<std::int64_t> label_lines;  // line of the first occurrence of each label
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

// A feature index needs more bits than the Index type of the chunk.
struct IndexTooWide : std::exception {};

namespace svmlight {

inline constexpr std::size_t kMaxLabel = 256;
inline constexpr std::uint64_t kMaxIndex = std::numeric_limits<std::int64_t>::max() - 1;  // from 0
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
                                     "rescale the feature"};
inline constexpr Complaint kOverflowsFloat{"a feature's value is too large for the dtype",
                                           "rescale the feature, or use float64"};
inline constexpr Complaint kBadQuery{"a query id is not a whole number", "write qid:N"};

}  // namespace svmlight

// Text in svmlight / LIBSVM format -> CSR arrays: one chunk of whole lines, one thread, no I/O.
//
// A line is "LABEL [qid:N] INDEX:VALUE INDEX:VALUE ... [# comment]". Nearly all features of real
// files are short decimal numbers, which take one pass over 32 bytes (read_feature). The general
// code (SvmlightParser::read_token) reads everything else, including errors.

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
    // A feature has at least 4 bytes (" 1:1"), a row 2 ("1\n"): no bound to check while reading.
    const std::size_t max_nnz = text.size() / 4 + 1;
    const std::size_t max_rows = text.size() / 2 + 1;
    chunk_.indices = std::make_unique_for_overwrite<Index[]>(max_nnz);
    chunk_.values = std::make_unique_for_overwrite<T[]>(max_nnz);
    chunk_.row_ends = std::make_unique_for_overwrite<std::int64_t[]>(max_rows);
    chunk_.codes = std::make_unique_for_overwrite<std::int32_t[]>(max_rows);
  }

  SvmlightChunk<T, Index> parse() && {
    for (const char* p = begin_; p < end_; ++p) {  // ++p: after the end of the line
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
    std::string_view label = token_at(p);
    if (options_.label_sets && label.find(':') != label.npos) label = {p, 0};  // no label
    if (label != label_ || label_.data() == nullptr) {
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
    if (label.size() > svmlight::kMaxLabel && !options_.label_sets) {
      fail(svmlight::kLongLabel, label);
    }
    chunk_.labels.push_back(label);
    chunk_.label_lines.push_back(chunk_.n_lines + 1);
  }

  const char* read_features(const char* p) {
    Index* const indices = chunk_.indices.get();
    T* const values = chunk_.values.get();
    const std::uint64_t base = options_.zero_based ? 0 : 1;
    std::int64_t nnz = chunk_.nnz;
    std::uint64_t least = 0;  // smallest valid next index
    for (;;) {
      svmlight::Feature feature;
      const bool near_end = end_ - p < svmlight::kWindow;
      const char* next = near_end || *p != ' ' ? nullptr : svmlight::read_feature(p + 1, feature);
      if (!next) {
        p = skip_blanks(p);
        if (p == end_ || *p == '\n' || *p == '#') break;
        const std::string_view token = feature_at(p);
        next = p + token.size();
        if (!read_token(token, feature)) {
          p = next;
          continue;
        }
      }
      const std::uint64_t index = feature.index - base;  // 0 - 1 exceeds every limit
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

  // Any "index:value"; false for "qid:N", which is not a feature.
  bool read_token(std::string_view token, svmlight::Feature& feature) const {
    const std::size_t colon = token.find(':');
    if (colon == token.npos) fail(svmlight::kNoColon, token);
    const std::string_view key = token.substr(0, colon);
    const char* begin = skip_blanks(token.data() + colon + 1);
    const std::string_view value{std::min(begin, token.data() + token.size()),
                                 token.data() + token.size()};
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
        fail(kTooLarge, token);
    }
  }

  // Handle an index (from 0) above the limit or below `least`: fail, or mark the row for tidy_row.
  void check_index(const char* p, std::uint64_t index, std::uint64_t least) {
    const std::string_view token = token_at(skip_blanks(p));
    if (index == ~std::uint64_t{0} && !options_.zero_based) fail(svmlight::kZeroIndex, token);
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

  // Sort the row that starts at `begin` by index and sum duplicates. `p` is in its line.
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
        if (!std::isfinite(values[last])) fail(kTooLarge, as_written(index), p);
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

  // A token, and the number after it if it ends in a colon: the data set protein has "63: .50".
  std::string_view feature_at(const char* p) const {
    const std::string_view token = token_at(p);
    if (!token.ends_with(':')) return token;
    const std::string_view value = token_at(skip_blanks(p + token.size()));
    if (value.empty() || value.find(':') != value.npos) return token;
    return {p, value.data() + value.size()};
  }

  [[noreturn]] void fail(Complaint complaint, std::string_view token) const {
    fail(complaint, token, token.data());
  }
  [[noreturn]] void fail(Complaint complaint, std::string_view found, const char* where) const {
    throw SvmlightError(complaint, found, 1 + std::count(begin_, where, '\n'));
  }

  static constexpr Complaint kTooLarge =
      sizeof(T) == 4 ? svmlight::kOverflowsFloat : svmlight::kOverflow;

  const SvmlightOptions options_;
  const char* const begin_;
  const char* const end_;
  std::uint64_t index_limit_;  // the largest index that is stored, from 0
  bool must_tidy_ = false;     // the row is unsorted or contains duplicates
  std::string_view label_;     // of the previous row, and its code
  std::int32_t code_ = 0;
  std::unordered_map<std::string_view, std::int32_t> codes_;
  SvmlightChunk<T, Index> chunk_;
};

template <class T, class Index>
SvmlightChunk<T, Index> parse_svmlight(std::string_view text, const SvmlightOptions& options) {
  return SvmlightParser<T, Index>(text, options).parse();
}

}  // namespace manyclass
