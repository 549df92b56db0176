#pragma once
// A handler of SIGBUS, which writes a message before the process ends: a mapped file became
// shorter.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace manyclass {

inline constexpr int kBusErrorCode = 2;  // exit code

// A signal handler must not allocate memory or lock.
inline std::array<char, 4096> bus_error_message;
inline volatile std::sig_atomic_t bus_error_length = 0;

inline void report_bus_error(int) {
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, bus_error_message.data(), bus_error_length);
  ::_exit(kBusErrorCode);
}

// A handler that is already installed (by faulthandler or a different program) is not replaced.
inline void explain_bus_errors(std::string_view text) {
  struct sigaction now{};
  if (::sigaction(SIGBUS, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == report_bus_error;
  if (!ours && ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)) return;
  const std::size_t size = std::min(text.size(), bus_error_message.size());
  std::copy_n(text.begin(), size, bus_error_message.begin());
  bus_error_length = static_cast<std::sig_atomic_t>(size);
  struct sigaction action{};
  action.sa_handler = report_bus_error;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace manyclass
