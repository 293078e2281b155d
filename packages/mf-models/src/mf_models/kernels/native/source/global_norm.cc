// The Euclidean norm over many tensors.

#include <algorithm>
#include <vector>

#include "operator.h"
#include "vector.h"

namespace {

using namespace mf;

constexpr int64_t kChunk = 16384;  // elements whose squares are summed apart
constexpr int kSums = 4;           // vectors of sums that grow at a time: one alone would wait for itself

struct Stretch {
  const float* data;
  int64_t count;
};

double sum_of_squares(Stretch stretch) {
  Vector sums[kSums] = {};
  int64_t at = 0;
  for (; at + kSums * kLanes <= stretch.count; at += kSums * kLanes)
    for (int i = 0; i < kSums; ++i) {
      const Vector value = load(stretch.data + at + i * kLanes);
      sums[i] += value * value;
    }
  for_stretches(at, stretch.count, [&](int64_t begin, int count) {
    const Vector value = load_some(stretch.data + begin, count);
    sums[0] += value * value;
  });
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

}  // namespace

// Inputs: any number of tensors. Output: the root of the sum of the squares of all their elements, [1].
MF_OPERATOR(mf_global_norm) {
  std::vector<Stretch> stretches;
  for (int tensor = 0; tensor + 1 < arguments.count; ++tensor) {
    const int64_t elements = arguments.elements(tensor);
    for (int64_t begin = 0; begin < elements; begin += kChunk) {
      stretches.push_back(Stretch{arguments.input(tensor) + begin, std::min(kChunk, elements - begin)});
    }
  }
  // A sum for each stretch, added up in their order: the same bits whatever the number of threads.
  std::vector<double> sums(stretches.size());
#pragma omp parallel for schedule(static)
  for (size_t number = 0; number < stretches.size(); ++number) sums[number] = sum_of_squares(stretches[number]);
  double sum = 0.0;
  for (const double one : sums) sum += one;
  arguments.output(arguments.count - 1)[0] = static_cast<float>(std::sqrt(sum));
}
