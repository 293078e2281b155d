// Causal attention with grouped heads and rotary positions, forward and backward, without a matrix of all scores.
//
// Legend: B rows, T tokens, N query heads, K key/value heads, G = N / K, H head width, C = rotated part of H / 2.
// A task is one key/value head of one row with the G query heads that read it; its queries and keys are taken in blocks
// of kBlock. Heads are padded to whole vectors with zeros, texts to whole blocks.
// Source: Dao et al. 2022, FlashAttention, algorithms 1 and 4; Su et al. 2021, RoFormer, equation 34.

#include <algorithm>
#include <vector>

#include "matrix.h"
#include "operator.h"

namespace {

using namespace mf;

constexpr int kBlock = 64;
constexpr float kHidden = -1e30f;

struct Sizes {
  int rows, tokens, heads, kv_heads, width;
  int rotated;         // C
  int angle_rows;      // rows of the tables of angles: 1, or one for each row of the batch
  int span;            // how many keys a query sees at most, its own among them
  float scale;
  int padded_width;    // whole vectors
  int padded_tokens;   // whole blocks

  int group() const { return heads / kv_heads; }
  int64_t plane() const { return static_cast<int64_t>(padded_tokens) * padded_width; }
};

// Inputs of both directions: q [B, T, N, H], k and v [B, T, K, H], cos and sin [1 or B, T, C], and the numbers: scale,
// span, and C or 0 where nothing is rotated.
Sizes sizes_of(const Arguments& arguments) {
  const float* numbers = arguments.input(5);
  Sizes sizes{};
  sizes.rows = static_cast<int>(arguments.extent(0, 0));
  sizes.tokens = static_cast<int>(arguments.extent(0, 1));
  sizes.heads = static_cast<int>(arguments.extent(0, 2));
  sizes.width = static_cast<int>(arguments.extent(0, 3));
  sizes.kv_heads = static_cast<int>(arguments.extent(1, 2));
  sizes.angle_rows = static_cast<int>(arguments.extent(3, 0));
  sizes.scale = numbers[0];
  sizes.span = static_cast<int>(numbers[1]);
  sizes.rotated = static_cast<int>(numbers[2]);
  sizes.padded_width = (sizes.width + kLanes - 1) / kLanes * kLanes;
  sizes.padded_tokens = (sizes.tokens + kBlock - 1) / kBlock * kBlock;
  return sizes;
}

struct Angles {
  const float* cos;
  const float* sin;
};

Angles angles_of(const Arguments& arguments, const Sizes& sizes, int row) {
  const int64_t offset = sizes.angle_rows == 1 ? 0 : static_cast<int64_t>(row) * sizes.tokens * sizes.rotated;
  return Angles{arguments.input(3) + offset, arguments.input(4) + offset};
}

// One head of a row, token after token `step` floats apart, into a plane [padded tokens, padded width].
void gather(float* plane, const float* head, int64_t step, const Sizes& sizes) {
  for (int t = 0; t < sizes.tokens; ++t) std::memcpy(plane + t * sizes.padded_width, head + t * step, 4 * sizes.width);
}

void scatter(float* head, int64_t step, const float* plane, const Sizes& sizes) {
  for (int t = 0; t < sizes.tokens; ++t) std::memcpy(head + t * step, plane + t * sizes.padded_width, 4 * sizes.width);
}

// Turn each pair (i, i + C) of a plane by its angle, in direction 1 or back (-1), and multiply all by `factor`.
void rotate(float* plane, Angles angles, float direction, float factor, const Sizes& sizes) {
  const int half = sizes.rotated;
  for (int t = 0; t < sizes.tokens; ++t) {
    float* token = plane + t * sizes.padded_width;
    const float* cos = angles.cos + static_cast<int64_t>(t) * half;
    const float* sin = angles.sin + static_cast<int64_t>(t) * half;
    for (int i = 0; i < half; ++i) {
      const float first = token[i], second = token[half + i];
      const float c = cos[i] * factor, s = sin[i] * factor * direction;
      token[i] = first * c - second * s;
      token[half + i] = second * c + first * s;
    }
    for (int i = 2 * half; i < sizes.width; ++i) token[i] *= factor;
  }
}

void transpose(float* to, const float* plane, const Sizes& sizes) {
  for (int t = 0; t < sizes.padded_tokens; ++t)
    for (int i = 0; i < sizes.padded_width; ++i) {
      to[static_cast<int64_t>(i) * sizes.padded_tokens + t] = plane[static_cast<int64_t>(t) * sizes.padded_width + i];
    }
}

// The first block of keys that the queries of a block see.
int first_block(int query_block, int span) { return std::max(0, query_block - span + 1) / kBlock * kBlock; }

// Calls hide(row, column) for what a block of queries that begins at i does not see of the keys that begin at j.
template <class F>
void for_hidden(int i, int j, int span, F hide) {
  if (i != j && i + kBlock - 1 - span < j) return;
  for (int a = 0; a < kBlock; ++a)
    for (int c = 0; c < kBlock; ++c)
      if (j + c > i + a || j + c <= i + a - span) hide(a, c);
}

// The block of queries [kBlock, H] against all keys that they see: weighted values, and for each query the logarithm of
// the sum of its exponentiated scores.
void attend_block(float* out, float* log_sums, int i, const float* q, const float* k_transposed, const float* v,
                  float* scores, const Sizes& sizes) {
  const int width = sizes.padded_width;
  float highest[kBlock], sums[kBlock];
  std::fill(highest, highest + kBlock, kHidden);
  std::fill(sums, sums + kBlock, 0.0f);
  std::memset(out, 0, sizeof(float) * kBlock * width);
  for (int j = first_block(i, sizes.span); j <= i; j += kBlock) {
    multiply(kBlock, kBlock, width, Left{q + i * width, width, 1}, k_transposed + j, sizes.padded_tokens, scores, kBlock,
             false);
    for_hidden(i, j, sizes.span, [&](int a, int c) { scores[a * kBlock + c] = kHidden; });
    for (int a = 0; a < kBlock; ++a) {
      float* row = scores + a * kBlock;
      Vector most = load(row);
      for (int c = kLanes; c < kBlock; c += kLanes) most = larger(most, load(row + c));
      const float now = std::max(highest[a], largest_of(most));
      // A query of a window may see nothing of its first block: all its scores there are equal, and must weigh nothing.
      const float base = now == kHidden ? 0.0f : now;
      Vector sum{};
      for (int c = 0; c < kBlock; c += kLanes) {
        const Vector weight = exponential(load(row + c) - splat(base));
        const Vector shown = load(row + c) <= splat(0.5f * kHidden) ? Vector{} : weight;
        store(row + c, shown);
        sum += shown;
      }
      const float shrink = highest[a] == now ? 1.0f : std::exp(highest[a] - now);
      sums[a] = sums[a] * shrink + sum_of(sum);
      highest[a] = now;
      if (shrink != 1.0f) {
        for (int d = 0; d < width; d += kLanes) store(out + a * width + d, load(out + a * width + d) * splat(shrink));
      }
    }
    multiply(kBlock, width, kBlock, Left{scores, kBlock, 1}, v + j * width, width, out, width, true);
  }
  for (int a = 0; a < kBlock; ++a) {
    for (int d = 0; d < width; d += kLanes) store(out + a * width + d, load(out + a * width + d) * splat(1.0f / sums[a]));
    log_sums[a] = highest[a] + std::log(sums[a]);
  }
}

}  // namespace

// Outputs: o [B, T, N, H] and the logarithms of the sums [B, N, T].
MF_OPERATOR(mf_attention) {
  const Sizes sizes = sizes_of(arguments);
  const int64_t q_step = static_cast<int64_t>(sizes.heads) * sizes.width;
  const int64_t k_step = static_cast<int64_t>(sizes.kv_heads) * sizes.width;
  float* const o = arguments.output(6);
  float* const log_sums = arguments.output(7);
#pragma omp parallel
  {
    const int64_t plane = sizes.plane();
    std::vector<float> memory(4 * plane + kBlock * kBlock + kBlock * sizes.padded_width);
    float* const k = memory.data();
    float* const k_transposed = k + plane;
    float* const v = k_transposed + plane;
    float* const q = v + plane;
    float* const scores = q + plane;
    float* const block = scores + kBlock * kBlock;
#pragma omp for schedule(dynamic, 1)
    for (int task = 0; task < sizes.rows * sizes.kv_heads; ++task) {
      const int row = task / sizes.kv_heads, kv_head = task % sizes.kv_heads;
      const Angles angles = angles_of(arguments, sizes, row);
      const int64_t k_begin = row * sizes.tokens * k_step + static_cast<int64_t>(kv_head) * sizes.width;
      gather(k, arguments.input(1) + k_begin, k_step, sizes);
      rotate(k, angles, 1.0f, 1.0f, sizes);
      transpose(k_transposed, k, sizes);
      gather(v, arguments.input(2) + k_begin, k_step, sizes);
      for (int head = kv_head * sizes.group(); head < (kv_head + 1) * sizes.group(); ++head) {
        const int64_t q_begin = row * sizes.tokens * q_step + static_cast<int64_t>(head) * sizes.width;
        gather(q, arguments.input(0) + q_begin, q_step, sizes);
        rotate(q, angles, 1.0f, sizes.scale, sizes);
        for (int i = 0; i < sizes.tokens; i += kBlock) {
          float block_sums[kBlock];
          attend_block(block, block_sums, i, q, k_transposed, v, scores, sizes);
          const int count = std::min(kBlock, sizes.tokens - i);
          for (int a = 0; a < count; ++a) {
            std::memcpy(o + q_begin + (i + a) * q_step, block + a * sizes.padded_width, 4 * sizes.width);
          }
          std::memcpy(log_sums + (static_cast<int64_t>(row) * sizes.heads + head) * sizes.tokens + i, block_sums, 4 * count);
        }
      }
    }
  }
}

// Inputs beyond those of the forward: o, the logarithms, and the gradient of o. Outputs: the gradients of q, k and v.
MF_OPERATOR(mf_attention_backward) {
  const Sizes sizes = sizes_of(arguments);
  const int64_t q_step = static_cast<int64_t>(sizes.heads) * sizes.width;
  const int64_t k_step = static_cast<int64_t>(sizes.kv_heads) * sizes.width;
  const int width = sizes.padded_width;
#pragma omp parallel
  {
    const int64_t plane = sizes.plane();
    std::vector<float> memory(10 * plane + 2 * kBlock * kBlock + 2 * sizes.padded_tokens);
    float* const k = memory.data();
    float* const k_transposed = k + plane;
    float* const v = k_transposed + plane;
    float* const v_transposed = v + plane;
    float* const q = v_transposed + plane;
    float* const o = q + plane;
    float* const o_gradient = o + plane;
    float* const q_gradient = o_gradient + plane;
    float* const k_gradient = q_gradient + plane;
    float* const v_gradient = k_gradient + plane;
    float* const weights = v_gradient + plane;
    float* const score_gradient = weights + kBlock * kBlock;
    float* const log_sums = score_gradient + kBlock * kBlock;
    float* const row_sums = log_sums + sizes.padded_tokens;
#pragma omp for schedule(dynamic, 1)
    for (int task = 0; task < sizes.rows * sizes.kv_heads; ++task) {
      const int row = task / sizes.kv_heads, kv_head = task % sizes.kv_heads;
      const Angles angles = angles_of(arguments, sizes, row);
      const int64_t k_begin = row * sizes.tokens * k_step + static_cast<int64_t>(kv_head) * sizes.width;
      gather(k, arguments.input(1) + k_begin, k_step, sizes);
      rotate(k, angles, 1.0f, 1.0f, sizes);
      transpose(k_transposed, k, sizes);
      gather(v, arguments.input(2) + k_begin, k_step, sizes);
      transpose(v_transposed, v, sizes);
      std::memset(k_gradient, 0, sizeof(float) * plane);
      std::memset(v_gradient, 0, sizeof(float) * plane);
      for (int head = kv_head * sizes.group(); head < (kv_head + 1) * sizes.group(); ++head) {
        const int64_t q_begin = row * sizes.tokens * q_step + static_cast<int64_t>(head) * sizes.width;
        gather(q, arguments.input(0) + q_begin, q_step, sizes);
        rotate(q, angles, 1.0f, sizes.scale, sizes);
        gather(o, arguments.input(6) + q_begin, q_step, sizes);
        gather(o_gradient, arguments.input(8) + q_begin, q_step, sizes);
        const int64_t sums_begin = (static_cast<int64_t>(row) * sizes.heads + head) * sizes.tokens;
        std::memcpy(log_sums, arguments.input(7) + sums_begin, 4 * sizes.tokens);
        for (int t = 0; t < sizes.tokens; ++t) {
          Vector sum{};
          for (int d = 0; d < width; d += kLanes) sum += load(o + t * width + d) * load(o_gradient + t * width + d);
          row_sums[t] = sum_of(sum);
        }
        std::memset(q_gradient, 0, sizeof(float) * plane);
        for (int i = 0; i < sizes.tokens; i += kBlock) {
          for (int j = first_block(i, sizes.span); j <= i; j += kBlock) {
            multiply(kBlock, kBlock, width, Left{q + i * width, width, 1}, k_transposed + j, sizes.padded_tokens, weights,
                     kBlock, false);
            multiply(kBlock, kBlock, width, Left{o_gradient + i * width, width, 1}, v_transposed + j, sizes.padded_tokens,
                     score_gradient, kBlock, false);
            for (int a = 0; a < kBlock; ++a) {
              float* const weight = weights + a * kBlock;
              float* const gradient = score_gradient + a * kBlock;
              const Vector log_sum = splat(log_sums[i + a]), row_sum = splat(row_sums[i + a]);
              for (int c = 0; c < kBlock; c += kLanes) {
                const Vector shown = exponential(load(weight + c) - log_sum);
                store(weight + c, shown);
                store(gradient + c, shown * (load(gradient + c) - row_sum));
              }
            }
            for_hidden(i, j, sizes.span,
                       [&](int a, int c) { weights[a * kBlock + c] = score_gradient[a * kBlock + c] = 0.0f; });
            multiply(kBlock, width, kBlock, Left{weights, 1, kBlock}, o_gradient + i * width, width,
                     v_gradient + j * width, width, true);
            multiply(kBlock, width, kBlock, Left{score_gradient, 1, kBlock}, q + i * width, width, k_gradient + j * width,
                     width, true);
            multiply(kBlock, width, kBlock, Left{score_gradient, kBlock, 1}, k + j * width, width, q_gradient + i * width,
                     width, true);
          }
        }
        rotate(q_gradient, angles, -1.0f, sizes.scale, sizes);
        scatter(arguments.output(9) + q_begin, q_step, q_gradient, sizes);
      }
      rotate(k_gradient, angles, -1.0f, 1.0f, sizes);
      scatter(arguments.output(10) + k_begin, k_step, k_gradient, sizes);
      scatter(arguments.output(11) + k_begin, k_step, v_gradient, sizes);
    }
  }
}
