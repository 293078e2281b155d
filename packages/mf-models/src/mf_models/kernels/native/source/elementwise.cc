// SwiGLU. Source: Shazeer 2020, GLU Variants Improve Transformer, section 2.

#include <algorithm>

#include "operator.h"
#include "vector.h"

namespace {

using namespace mf;

constexpr int64_t kChunk = 16384;  // elements that a thread takes at a time

template <class F>
void for_chunks(int64_t count, F f) {
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < count; begin += kChunk) for_stretches(begin, std::min(begin + kChunk, count), f);
}

}  // namespace

// Inputs: gate, up. Output: silu(gate) * up.
MF_OPERATOR(mf_swiglu) {
  const float *gate = arguments.input(0), *up = arguments.input(1);
  float* out = arguments.output(2);
  for_chunks(arguments.elements(0), [=](int64_t at, int count) {
    const Vector x = load_some(gate + at, count);
    store_some(out + at, x * sigmoid(x) * load_some(up + at, count), count);
  });
}

// Inputs: gate, up, gradient of the output. Outputs: gradients of gate and up.
MF_OPERATOR(mf_swiglu_backward) {
  const float *gate = arguments.input(0), *up = arguments.input(1), *out_gradient = arguments.input(2);
  float *gate_gradient = arguments.output(3), *up_gradient = arguments.output(4);
  for_chunks(arguments.elements(0), [=](int64_t at, int count) {
    const Vector x = load_some(gate + at, count), g = load_some(out_gradient + at, count);
    const Vector s = sigmoid(x), silu = x * s;
    store_some(gate_gradient + at, g * load_some(up + at, count) * (s + silu - silu * s), count);
    store_some(up_gradient + at, g * silu, count);
  });
}
