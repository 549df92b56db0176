#pragma once
// Input, output and errors of the svmlight parser.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manyclass {

struct SvmlightOptions {
  std::int64_t n_features;  // 0: the largest index decides
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

}  // namespace manyclass
