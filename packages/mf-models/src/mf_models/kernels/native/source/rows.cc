// What reads whole rows: RMS norm and cross-entropy.
// Sources: Zhang and Sennrich 2019, Root Mean Square Layer Normalization, equation 4.

#include <algorithm>
#include <vector>

#include "operator.h"
#include "vector.h"

using namespace mf;

// The parts of the rows whose gradients of a weight are summed apart: enough to keep many threads busy.
constexpr int64_t kPieces = 32;

// Inputs: x [..., D], weight [D], epsilon [1]. Outputs: y like x, and 1 / root of each row.
MF_OPERATOR(mf_rms_norm) {
  const float *x = arguments.input(0), *weight = arguments.input(1);
  const float epsilon = arguments.input(2)[0];
  float *y = arguments.output(3), *inverse = arguments.output(4);
  const int64_t width = arguments.last_extent(0), rows = arguments.elements(0) / width;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = x + row * width;
    Vector squares{};
    for_stretches(0, width, [&](int64_t at, int count) {
      const Vector value = load_some(in + at, count);
      squares += value * value;
    });
    const float factor = inverse[row] = 1.0f / std::sqrt(sum_of(squares) / width + epsilon);
    for_stretches(0, width, [&](int64_t at, int count) {
      store_some(y + row * width + at, load_some(in + at, count) * splat(factor) * load_some(weight + at, count), count);
    });
  }
}

// Inputs: x, weight, the inverse roots, gradient of y. Outputs: gradients of x and of the weight.
MF_OPERATOR(mf_rms_norm_backward) {
  const float *x = arguments.input(0), *weight = arguments.input(1), *inverse = arguments.input(2);
  const float* y_gradient = arguments.input(3);
  float *x_gradient = arguments.output(4), *weight_gradient = arguments.output(5);
  const int64_t width = arguments.last_extent(0), rows = arguments.elements(0) / width;
  // A sum for each piece of the rows, added up in their order: the same bits whatever the number of threads.
  std::vector<float> partial(kPieces * width, 0.0f);
#pragma omp parallel for schedule(static)
  for (int64_t piece = 0; piece < kPieces; ++piece) {
    float* const own = partial.data() + piece * width;
    for (int64_t row = rows * piece / kPieces; row < rows * (piece + 1) / kPieces; ++row) {
      const float *in = x + row * width, *g = y_gradient + row * width;
      const Vector factor = splat(inverse[row]);
      Vector products{};
      for_stretches(0, width, [&](int64_t at, int count) {
        const Vector part = load_some(g + at, count) * load_some(in + at, count) * factor;
        store_some(own + at, load_some(own + at, count) + part, count);
        products += part * load_some(weight + at, count);
      });
      const Vector mean = splat(sum_of(products) / width);
      for_stretches(0, width, [&](int64_t at, int count) {
        const Vector direct = load_some(g + at, count) * load_some(weight + at, count);
        store_some(x_gradient + row * width + at, (direct - load_some(in + at, count) * factor * mean) * factor, count);
      });
    }
  }
  std::memset(weight_gradient, 0, sizeof(float) * width);
  for (size_t begin = 0; begin < partial.size(); begin += width)
    for (int64_t at = 0; at < width; ++at) weight_gradient[at] += partial[begin + at];
}

// Inputs: logits [N, V], labels [N] int32. Outputs: losses [N], and the logarithm of each row's sum of exponentials.
MF_OPERATOR(mf_cross_entropy) {
  const float* logits = arguments.input(0);
  const int32_t* labels = arguments.integers(1);
  float *losses = arguments.output(2), *log_sums = arguments.output(3);
  const int64_t rows = arguments.extent(0, 0), width = arguments.extent(0, 1);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = logits + row * width;
    Vector most = splat(in[0]);
    for_stretches(0, width, [&](int64_t at, int count) {
      if (count == kLanes) {
        most = larger(load(in + at), most);
      } else {
        for (int lane = 0; lane < count; ++lane) most = larger(splat(in[at + lane]), most);
      }
    });
    const float highest = largest_of(most);
    Vector sum{};
    float rest = 0.0f;
    for_stretches(0, width, [&](int64_t at, int count) {
      if (count == kLanes) {
        sum += exponential(load(in + at) - splat(highest));
      } else {
        for (int lane = 0; lane < count; ++lane) rest += std::exp(in[at + lane] - highest);
      }
    });
    log_sums[row] = highest + std::log(sum_of(sum) + rest);
    losses[row] = log_sums[row] - in[labels[row]];
  }
}

// Inputs: logits, labels, the logarithms, gradient of the losses. Output: gradient of the logits.
MF_OPERATOR(mf_cross_entropy_backward) {
  const float* logits = arguments.input(0);
  const int32_t* labels = arguments.integers(1);
  const float *log_sums = arguments.input(2), *loss_gradient = arguments.input(3);
  float* logits_gradient = arguments.output(4);
  const int64_t rows = arguments.extent(0, 0), width = arguments.extent(0, 1);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = logits + row * width;
    float* out = logits_gradient + row * width;
    const Vector log_sum = splat(log_sums[row]), factor = splat(loss_gradient[row]);
    for_stretches(0, width, [&](int64_t at, int count) {
      store_some(out + at, exponential(load_some(in + at, count) - log_sum) * factor, count);
    });
    out[labels[row]] -= loss_gradient[row];
  }
}
