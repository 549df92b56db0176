// Engines of all layouts, for floats and doubles.
#include <cstddef>
#include <memory>
#include <utility>

#include "data/check_problem.hpp"
#include "dual/problem.hpp"
#include "engines/class_engine.hpp"
#include "engines/dense_engine.hpp"
#include "engines/engine.hpp"
#include "engines/mean_engine.hpp"
#include "engines/table_engine.hpp"

namespace manyclass {

template <class T>
std::unique_ptr<Engine> make_engine(std::shared_ptr<const Problem<T>> problem,
                                    const EngineOptions& options) {
  const int n_threads = options.n_threads;
  require(1 <= n_threads && n_threads <= kMaxThreads, "n_threads is out of range");
  if (options.storage != Storage::kByFeature) problem->check_no_sets();
  switch (options.storage) {
    case Storage::kTables:
      require(1 <= options.dense_from && options.dense_from <= kMaxCount,
              "dense_from must be positive, and less than 2^31");
      return std::make_unique<TableEngine<T>>(std::move(problem), options.order, n_threads,
                                              options.dense_from);
    case Storage::kByClass:
      return std::make_unique<ClassEngine<T>>(std::move(problem), n_threads);
    case Storage::kByFeature:
      break;
  }
  if (!options.lists && fits_lanes<T>(problem->examples().formulation, problem->n_classes())) {
    return std::make_unique<LaneEngine<T>>(std::move(problem), n_threads);
  }
  problem->check_no_sets();
  return std::make_unique<ListEngine<T>>(std::move(problem), n_threads);
}

template <class T>
std::unique_ptr<SharedMeanEngine> make_mean_engine(std::shared_ptr<const Problem<T>> problem) {
  problem->check_no_sets();
  if (fits_lanes<T>(problem->examples().formulation, problem->n_classes() + 1)) {
    return std::make_unique<MeanEngine<T, DualLanes<T>>>(std::move(problem));
  }
  return std::make_unique<MeanEngine<T, DualLists<T>>>(std::move(problem));
}

template std::unique_ptr<SharedMeanEngine> make_mean_engine(std::shared_ptr<const Problem<float>>);
template std::unique_ptr<SharedMeanEngine> make_mean_engine(std::shared_ptr<const Problem<double>>);
template std::unique_ptr<Engine> make_engine(std::shared_ptr<const Problem<float>>,
                                             const EngineOptions&);
template std::unique_ptr<Engine> make_engine(std::shared_ptr<const Problem<double>>,
                                             const EngineOptions&);

}  // namespace manyclass
