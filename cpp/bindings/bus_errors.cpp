// A handler of SIGBUS, which writes a message before the process ends: a mapped file became
// shorter.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "bindings/bindings.hpp"
#include "data/array_views.hpp"

namespace nb = nanobind;

namespace manyclass {
namespace {

constexpr int kExitCode = 2;

// A handler may use nothing that allocates or locks.
std::array<char, 4096> message;
volatile std::sig_atomic_t length = 0;

void report_and_exit(int) {
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, message.data(), static_cast<std::size_t>(length));
  ::_exit(kExitCode);
}

// Where another handler is installed (faulthandler, another program's), that one stays.
void explain_bus_errors(nb::bytes text) {
  struct sigaction now{};
  if (::sigaction(SIGBUS, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == report_and_exit;
  if (!ours && ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)) return;
  const std::size_t size = std::min(text.size(), message.size());
  std::copy_n(text.c_str(), size, message.begin());
  length = static_cast<std::sig_atomic_t>(size);
  struct sigaction action{};
  action.sa_handler = report_and_exit;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

void bind_bus_errors(nb::module_& m) {
  m.def("explain_bus_errors", &explain_bus_errors, nb::arg("text"));
}

}  // namespace manyclass
