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
  using Array = typename NewtonSpace<T>::Array;
  using Total = typename NewtonSpace<T>::Total;

  NewtonTeam(const NewtonSpace<T>& space, int n_threads, std::function<void()> poll)
      : space_(space), team_(n_threads), work_(std::move(poll)) {
    for (int member = 0; member < team_.size(); ++member) mine_.emplace_back(space.numbers());
  }

  std::size_t size() const { return mine_.size(); }
  Team& threads() { return team_; }
  Work& work() { return work_; }

  const Array& moves(int member) { return mine(member).moves; }
  const Array& product(int member) { return mine(member).product; }

  // call(member, begin, end) for shares of parts of n items, of so many multiply-adds each;
  // after(part's begin, part's end) once all have done theirs.
  template <class Call, class After>
  void in_parts(std::int64_t n, double each, Call call, After after) {
    work_.in_parts(n, each, [&](std::int64_t begin, std::int64_t end) {
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
  void in_parts(std::int64_t n, double each, Call call) {
    in_parts(n, each, call, [](std::int64_t, std::int64_t) {});
  }
  // Where the member's share of [begin, end) begins.
  std::int64_t cut(std::int64_t begin, std::int64_t end, int member) const {
    return begin + (end - begin) * member / team_.size();
  }

  // Rows whose steps go to the member's moves, and from there to its total before they are so many
  // that rounding tells; `call` says whether there were any.
  template <class Call>
  void in_small_parts(int member, std::int64_t begin, std::int64_t end, Call call) {
    Mine& own = mine(member);
    for (; begin < end; begin += kFewRows) {
      if (!call(begin, std::min(begin + kFewRows, end))) continue;
      space_.centre(own.moves);
      space_.add(1, own.moves, own.total);
      space_.clear(own.moves);
    }
  }
  // The totals of all members, to `total`.
  void gather(const Total& total) {
    for (Mine& own : mine_) {
      for (std::size_t j = 0; j < space_.numbers(); ++j) total.data()[j] += own.total.data()[j];
      space_.clear(own.total);
    }
  }
  // The products of all members, to `out`.
  void gather_products(const Array& out) {
    for (Mine& own : mine_) {
      space_.axpy(1, own.product, out);
      space_.clear(own.product);
    }
  }

 private:
  static constexpr double kTooLittle = 1 << 18;  // multiply-adds that are not worth waking a thread
  static constexpr std::int64_t kFewRows = 256;

  struct Mine {
    explicit Mine(std::size_t numbers) : moves(numbers), total(numbers), product(numbers) {}
    Array moves;    // steps of W(z), ...
    Total total;    // ... and those of more rows
    Array product;  // a share of H times a direction
  };
  Mine& mine(int member) { return mine_[static_cast<std::size_t>(member)]; }

  const NewtonSpace<T>& space_;
  Team team_;
  Work work_;
  std::vector<Mine> mine_;
};

}  // namespace manyclass
