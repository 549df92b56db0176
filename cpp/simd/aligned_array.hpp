#pragma once
// An array of zeros, aligned to 64 bytes for vector loads.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace manyclass {

template <class T>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t size)
      : size_(size), data_(static_cast<T*>(::operator new(size * sizeof(T), kAlignment))) {
    std::fill_n(data_.get(), size, T{0});
  }
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlignment); }
  };
  std::size_t size_;
  std::unique_ptr<T, Free> data_;
};

}  // namespace manyclass
