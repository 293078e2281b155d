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
constexpr int kGroup = kLanes;  // queries of a block on the diagonal that are computed together, with the keys that they reach
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
    for_stretches(0, half, [&](int64_t i, int count) {
      const Vector first = load_some(token + i, count), second = load_some(token + half + i, count);
      const Vector c = load_some(cos + i, count) * splat(factor);
      const Vector s = load_some(sin + i, count) * splat(factor * direction);
      store_some(token + i, first * c - second * s, count);
      store_some(token + half + i, second * c + first * s, count);
    });
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

// A block of scores [kBlock, kBlock]: queries from i on, keys from j on. Where it lies on the diagonal, what is above it is
// neither computed nor read, up to whole groups.
struct Pair {
  int i, j, span;

  bool is_diagonal() const { return i == j; }
  bool is_whole() const { return !is_diagonal() && i + kBlock - 1 - span < j; }
  int step() const { return is_diagonal() ? kGroup : kBlock; }
  // How many of the keys the group of a query reaches.
  int reach(int query) const { return is_diagonal() ? query / kGroup * kGroup + kGroup : kBlock; }

  // The lanes from `key` on that a query sees; all bits of each or none.
  IntVector visible(int query, int key) const {
    IntVector lanes;
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = j + key + lane - i - query;
    return (lanes <= 0) & (lanes > -span);
  }
};

// scores = a b^T, where a [kBlock, H] belongs to the queries and b lies transposed.
void score(const Pair& pair, const float* a, const float* b_transposed, float* scores, const Sizes& sizes) {
  const int width = sizes.padded_width;
  for (int query = 0; query < kBlock; query += pair.step()) {
    multiply(pair.step(), pair.reach(query), width, Left{a + query * width, width, 1}, b_transposed + pair.j,
             sizes.padded_tokens, scores + query * kBlock, kBlock, false);
  }
}

// out [kBlock, H] of the queries += scores values, where values [kBlock, H] belong to the keys.
void add_values(const Pair& pair, const float* scores, const float* values, float* out, int width) {
  for (int query = 0; query < kBlock; query += pair.step()) {
    multiply(pair.step(), width, pair.reach(query), Left{scores + query * kBlock, kBlock, 1}, values, width,
             out + query * width, width, true);
  }
}

// out [kBlock, H] of the keys += scores^T a, where a [kBlock, H] belongs to the queries.
void add_to_keys(const Pair& pair, const float* scores, const float* a, float* out, int width) {
  for (int key = 0; key < kBlock; key += pair.step()) {
    const int first = pair.is_diagonal() ? key : 0;  // the first query that sees them
    multiply(pair.step(), width, kBlock - first, Left{scores + first * kBlock + key, 1, kBlock}, a + first * width, width,
             out + key * width, width, true);
  }
}

// What a block of queries has seen so far, one number a query.
struct Seen {
  float highest[kBlock];  // score
  Vector sums[kBlock];    // of exponentials of scores less the highest, in parts
};

// From scores to exponentials of scores less the highest so far, which may grow: `shrink` is what earlier ones then lose.
void exponentiate(const Pair& pair, float* scores, Seen& seen, float* shrink) {
  float now[kBlock];
  for (int a = 0; a < kBlock; ++a) {
    float* const row = scores + a * kBlock;
    Vector most = splat(seen.highest[a]);
    for (int c = 0; c < pair.reach(a); c += kLanes) {
      if (!pair.is_whole()) store(row + c, pair.visible(a, c) ? load(row + c) : splat(kHidden));
      most = larger(load(row + c), most);
    }
    now[a] = largest_of(most);
  }
  for (int a = 0; a < kBlock; a += kLanes) store(shrink + a, exponential(load(seen.highest + a) - load(now + a)));
  std::memcpy(seen.highest, now, sizeof now);
  for (int a = 0; a < kBlock; ++a) {
    float* const row = scores + a * kBlock;
    // A query of a window may see nothing of its first block: all its scores there are equal, and must weigh nothing.
    const Vector base = splat(now[a] == kHidden ? 0.0f : now[a]);
    Vector sum = seen.sums[a] * splat(shrink[a]);
    for (int c = 0; c < pair.reach(a); c += kLanes) {
      const Vector score = load(row + c);
      const Vector shown = score <= splat(0.5f * kHidden) ? Vector{} : exponential(score - base);
      store(row + c, shown);
      sum += shown;
    }
    seen.sums[a] = sum;
  }
}

void multiply_row(float* row, float factor, int width) {
  for (int d = 0; d < width; d += kLanes) store(row + d, load(row + d) * splat(factor));
}

// The block of queries [kBlock, H] against all keys that they see: weighted values, and for each query the logarithm of
// the sum of its exponentiated scores.
void attend_block(float* out, float* log_sums, int i, const float* q, const float* k_transposed, const float* v,
                  float* scores, const Sizes& sizes) {
  const int width = sizes.padded_width;
  Seen seen{};
  std::fill(seen.highest, seen.highest + kBlock, kHidden);
  std::memset(out, 0, sizeof(float) * kBlock * width);
  for (int j = first_block(i, sizes.span); j <= i; j += kBlock) {
    const Pair pair{i, j, sizes.span};
    float shrink[kBlock];
    score(pair, q + i * width, k_transposed, scores, sizes);
    exponentiate(pair, scores, seen, shrink);
    for (int a = 0; a < kBlock; ++a) {
      if (shrink[a] != 1.0f) multiply_row(out + a * width, shrink[a], width);
    }
    add_values(pair, scores, v + j * width, out, width);
  }
  for (int a = 0; a < kBlock; ++a) {
    const float sum = sum_of(seen.sums[a]);
    multiply_row(out + a * width, 1.0f / sum, width);
    log_sums[a] = seen.highest[a] + std::log(sum);
  }
}

// From scores to weights, and from the gradients of weights to those of scores.
void differentiate_weights(const Pair& pair, float* weights, float* gradients, const float* log_sums,
                           const float* row_sums) {
  for (int a = 0; a < kBlock; ++a) {
    float* const weight = weights + a * kBlock;
    float* const gradient = gradients + a * kBlock;
    const Vector log_sum = splat(log_sums[a]), row_sum = splat(row_sums[a]);
    for (int c = 0; c < pair.reach(a); c += kLanes) {
      const Vector all = exponential(load(weight + c) - log_sum);
      const Vector change = all * (load(gradient + c) - row_sum);
      const bool is_whole = pair.is_whole();
      store(weight + c, is_whole ? all : pair.visible(a, c) ? all : Vector{});
      store(gradient + c, is_whole ? change : pair.visible(a, c) ? change : Vector{});
    }
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
            const Pair pair{i, j, sizes.span};
            score(pair, q + i * width, k_transposed, weights, sizes);
            score(pair, o_gradient + i * width, v_transposed, score_gradient, sizes);
            differentiate_weights(pair, weights, score_gradient, log_sums + i, row_sums + i);
            add_to_keys(pair, weights, o_gradient + i * width, v_gradient + j * width, width);
            add_to_keys(pair, score_gradient, q + i * width, k_gradient + j * width, width);
            add_values(pair, score_gradient, k + j * width, q_gradient + i * width, width);
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
