#pragma once
// The threads of the Newton method: their shares of a pass over the examples, and partial sums.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "data/examples.hpp"
#include "duals/dual_lanes.hpp"
#include "newton/arrays.hpp"
#include "newton/kernel_table.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_choice.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class NewtonTeam {
 public:
  using Array = typename NewtonArrays<T>::Array;
  using Total = typename NewtonArrays<T>::Total;

  NewtonTeam(const NewtonArrays<T>& arrays, int n_threads, std::function<void()> poll)
      : arrays_(arrays), team_(n_threads), choice_(team_.size()), work_(std::move(poll)) {
    for (int member = 0; member < team_.size(); ++member) sums_.emplace_back(arrays.numbers());
  }

  std::size_t size() const { return sums_.size(); }
  ThreadTeam& threads() { return team_; }
  InterruptPoll& work() { return work_; }

  const Array& moves(int member) { return sums_of(member).moves; }
  const Array& product(int member) { return sums_of(member).product; }

  // call(member, begin, end) for each member's share of a chunk of n items of `each` multiply-adds;
  // after(begin, end) when all members have finished the chunk.
  template <class Call, class After>
  void in_chunks(std::int64_t n, double each, Call call, After after) {
    work_.in_chunks(n, each, [&](std::int64_t begin, std::int64_t end) {
      const auto share_of = [&](int member) {
        call(member, cut(begin, end, member), cut(begin, end, member + 1));
      };
      by_all(each * static_cast<double>(end - begin), share_of);
      after(begin, end);
    });
  }
  template <class Call>
  void in_chunks(std::int64_t n, double each, Call call) {
    in_chunks(n, each, call, [](std::int64_t, std::int64_t) {});
  }
  // call(member) for all members, with `work` multiply-adds in total.
  template <class Call>
  void by_all(double work, Call call) {
    if (work < kTooLittle) {
      share_out(call, 1);
    } else {
      choice_.measure(work, [&](int n_threads) { return share_out(call, n_threads); });
    }
  }
  // The beginning of the member's share of [begin, end).
  std::int64_t cut(std::int64_t begin, std::int64_t end, int member) const {
    return begin + (end - begin) * member / team_.size();
  }

  // `call` adds the steps of at most kFewRows rows to the member's moves in T, and returns whether
  // there were steps. Moves are then added to the total in double, before rounding errors add up.
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
  // Add the totals of all members to `total`.
  void gather(const Total& total) {
    for (MemberSums& own : sums_) {
      for (std::size_t j = 0; j < arrays_.numbers(); ++j) total.data()[j] += own.total.data()[j];
      arrays_.clear(own.total);
    }
  }
  // Add the products of all members to `out`.
  void gather_products(const Array& out) {
    for (MemberSums& own : sums_) {
      arrays_.axpy(1, own.product, out);
      arrays_.clear(own.product);
    }
  }

 private:
  static constexpr double kTooLittle = 1 << 18;  // multiply-adds that take less time than a wake-up
  static constexpr std::int64_t kFewRows = 256;

  // All shares, on one thread or on all threads. The sums are the same.
  template <class Share>
  int share_out(Share share_of, int n_threads) {
    if (n_threads > 1) {
      team_.run(share_of);
    } else {
      for (int member = 0; member < team_.size(); ++member) share_of(member);
    }
    return n_threads;
  }

  struct MemberSums {
    explicit MemberSums(std::size_t numbers) : moves(numbers), total(numbers), product(numbers) {}
    Array moves;    // steps of W(z), ...
    Total total;    // ... and steps of more rows
    Array product;  // a share of H times a direction
  };
  MemberSums& sums_of(int member) { return sums_[member]; }

  const NewtonArrays<T>& arrays_;
  ThreadTeam team_;
  ThreadChoice choice_;
  InterruptPoll work_;
  std::vector<MemberSums> sums_;
};

// Passes over the examples that compute the response z(W), the change of W(z) by its moves, and the
// zone: the examples with a free z.
template <class T>
class ResponsePass {
 public:
  ResponsePass(const Examples<T>& examples, const NewtonKernels<T>& kernels, NewtonTeam<T>& team,
               const NewtonArrays<T>& arrays, DualLanes<T>& z)
      : kernels_(kernels),
        team_(team),
        arrays_(arrays),
        z_(z),
        zone_(examples.x.n_rows),
        share_(zone_.size()) {}

  std::int64_t n_zone() const { return n_zone_; }
  double pairs() const { return pairs_; }
  Response<T> response(int member) {
    return {z_, arrays_.view(team_.moves(member)), zone_.data(), share_.data()};
  }

  ResponseResult run(const Proximal<T>& problem, double row_work) {
    ResponseResult sum;
    std::vector<ResponseResult> parts(team_.size());
    team_.in_chunks(
        z_.n_rows(), row_work,
        [&](int member, std::int64_t begin, std::int64_t end) {
          ResponseResult& own = parts[member] = {};
          team_.in_small_chunks(member, begin, end, [&](std::int64_t from, std::int64_t to) {
            return respond(problem, member, begin, from, to, own);
          });
        },
        [&](std::int64_t begin, std::int64_t end) { collect(parts, begin, end, sum); });
    n_zone_ = sum.n_zone;
    pairs_ = sum.pairs;
    return sum;
  }

 private:
  // The zone of a member's share is stored from `first` on, the beginning of the share.
  bool respond(const Proximal<T>& problem, int member, std::int64_t first, std::int64_t begin,
               std::int64_t end, ResponseResult& sum) {
    Response<T> to = response(member);
    to.zone += first + sum.n_zone;
    to.share += first + sum.n_zone;
    const ResponseResult part = kernels_.respond(problem, to, begin, end);
    sum.add(part);
    return part.moved > 0;
  }
  // Join the zones of the members.
  void collect(const std::vector<ResponseResult>& parts, std::int64_t begin, std::int64_t end,
               ResponseResult& sum) {
    for (std::size_t member = 0; member < parts.size(); ++member) {
      const ResponseResult& part = parts[member];
      const std::int64_t from = team_.cut(begin, end, static_cast<int>(member));
      std::copy_n(zone_.data() + from, part.n_zone, zone_.data() + sum.n_zone);
      std::copy_n(share_.data() + from, part.n_zone, share_.data() + sum.n_zone);
      sum.add(part);
    }
  }

  const NewtonKernels<T>& kernels_;
  NewtonTeam<T>& team_;
  const NewtonArrays<T>& arrays_;
  DualLanes<T>& z_;
  std::vector<std::int32_t> zone_;
  std::vector<T> share_;
  std::int64_t n_zone_ = 0;
  double pairs_ = 0;
};

}  // namespace manyclass
