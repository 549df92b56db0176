#pragma once
// Polls for interrupts, such as Ctrl-C, after a given amount of work.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace manyclass {

// A callback that is called regularly, and throws to stop the work.
using Poll = std::function<void()>;

// Multiply-adds between two polls: about 20 ms.
inline constexpr double kWorkBetweenPolls = 1 << 28;

// Counts multiply-adds, and polls every 2^28 of them, about every 20 ms.
class InterruptPoll {
 public:
  explicit InterruptPoll(Poll poll) : poll_(std::move(poll)) {}

  void spend(double multiply_adds) {
    done_ += multiply_adds;
    if (done_ < kWorkBetweenPolls) return;
    done_ = 0;
    poll_();
  }
  // call(begin, end) for chunks of n items with `each` multiply-adds per item; a chunk has at least
  // `fewest` items. Polls between the chunks.
  template <class Call>
  void in_chunks(std::int64_t n, double each, Call call, double fewest = kFewest) {
    const auto part = static_cast<std::int64_t>(std::max(kWorkBetweenPolls / each, fewest));
    for (std::int64_t begin = 0; begin < n; begin += part) {
      const std::int64_t end = std::min(begin + part, n);
      call(begin, end);
      spend(each * static_cast<double>(end - begin));
    }
  }

 private:
  static constexpr double kFewest = 32;  // items
  Poll poll_;
  double done_ = 0;  // since the last poll
};

}  // namespace manyclass
