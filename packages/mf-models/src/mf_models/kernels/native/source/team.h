// Threads that work on one thing in phases.
#pragma once
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace mf {

// Where all threads of a parallel region wait for each other. Phases take some microseconds, so a thread looks again and
// again before it lets others have the processor: to be woken up would take longer than the phase.
class Meeting {
 public:
  // For one of the threads, before any other comes.
  void set_threads(int threads) { threads_ = threads; }

  void wait() {
    const uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      return;
    }
    for (int looks = 0; round_.load(std::memory_order_acquire) == round; ++looks) {
      if (looks >= kLooks) sched_yield();
    }
  }

 private:
  static constexpr int kLooks = 20000;
  int threads_ = 1;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

// A stretch of work.
struct Part {
  int64_t begin, end;
};

// What one of the threads takes of `count` elements: whole groups of 16, so that no two write into one cache line.
inline Part part_of(int64_t count, int thread, int threads) {
  const int64_t groups = (count + 15) / 16;
  const int64_t begin = groups * thread / threads * 16, end = groups * (thread + 1) / threads * 16;
  return Part{begin < count ? begin : count, end < count ? end : count};
}

}  // namespace mf
