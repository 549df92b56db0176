#pragma once
// How the threads of the Newton phase share a pass over examples, and what each adds up for itself.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "newton/arrays.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class NewtonTeam {
 public:
  using Array = typename NewtonArrays<T>::Array;
  using Total = typename NewtonArrays<T>::Total;

  NewtonTeam(const NewtonArrays<T>& arrays, int n_threads, std::function<void()> poll)
      : arrays_(arrays), team_(n_threads), work_(std::move(poll)) {
    for (int member = 0; member < team_.size(); ++member) sums_.emplace_back(arrays.numbers());
  }

  std::size_t size() const { return sums_.size(); }
  ThreadTeam& threads() { return team_; }
  InterruptPoll& work() { return work_; }

  const Array& moves(int member) { return sums_of(member).moves; }
  const Array& product(int member) { return sums_of(member).product; }

  // call(member, begin, end) for shares of parts of n items, of so many multiply-adds each;
  // after(part's begin, part's end) once all have done theirs.
  template <class Call, class After>
  void in_chunks(std::int64_t n, double each, Call call, After after) {
    work_.in_chunks(n, each, [&](std::int64_t begin, std::int64_t end) {
      const auto share_of = [&](int member) {
        call(member, cut(begin, end, member), cut(begin, end, member + 1));
      };
      if (each * static_cast<double>(end - begin) < kTooLittle) {
        for (int member = 0; member < team_.size(); ++member) share_of(member);
      } else {
        team_.run(share_of);
      }
      after(begin, end);
    });
  }
  template <class Call>
  void in_chunks(std::int64_t n, double each, Call call) {
    in_chunks(n, each, call, [](std::int64_t, std::int64_t) {});
  }
  // Where the member's share of [begin, end) begins.
  std::int64_t cut(std::int64_t begin, std::int64_t end, int member) const {
    return begin + (end - begin) * member / team_.size();
  }

  // Rows whose steps go to the member's moves, and from there to its total before they are so many
  // that rounding tells; `call` says whether there were any.
  template <class Call>
  void in_small_chunks(int member, std::int64_t begin, std::int64_t end, Call call) {
    MemberSums& own = sums_of(member);
    for (; begin < end; begin += kFewRows) {
      if (!call(begin, std::min(begin + kFewRows, end))) continue;
      arrays_.centre(own.moves);
      arrays_.add(1, own.moves, own.total);
      arrays_.clear(own.moves);
    }
  }
  // The totals of all members, to `total`.
  void gather(const Total& total) {
    for (MemberSums& own : sums_) {
      for (std::size_t j = 0; j < arrays_.numbers(); ++j) total.data()[j] += own.total.data()[j];
      arrays_.clear(own.total);
    }
  }
  // The products of all members, to `out`.
  void gather_products(const Array& out) {
    for (MemberSums& own : sums_) {
      arrays_.axpy(1, own.product, out);
      arrays_.clear(own.product);
    }
  }

 private:
  static constexpr double kTooLittle = 1 << 18;  // multiply-adds that are not worth waking a thread
  static constexpr std::int64_t kFewRows = 256;

  struct MemberSums {
    explicit MemberSums(std::size_t numbers) : moves(numbers), total(numbers), product(numbers) {}
    Array moves;    // steps of W(z), ...
    Total total;    // ... and those of more rows
    Array product;  // a share of H times a direction
  };
  MemberSums& sums_of(int member) { return sums_[static_cast<std::size_t>(member)]; }

  const NewtonArrays<T>& arrays_;
  ThreadTeam team_;
  InterruptPoll work_;
  std::vector<MemberSums> sums_;
};

}  // namespace manyclass
