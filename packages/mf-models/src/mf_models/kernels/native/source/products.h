// Products of a weight matrix, as it lies in memory, with some tokens: what generation spends its time on.
//
// Weights are read from memory once for all tokens: some rows stay in the cache while the tokens pass by, and each of
// their vectors is used for several tokens while it is in a register. The order of additions is the same for any number
// of tokens, so what is computed beside a token does not change its bits.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "team.h"
#include "vector.h"

namespace mf {

constexpr int kBlockWeights = 32;    // weights that share a scale
constexpr int64_t kRowsInCache = 32;  // stay there while the tokens pass by

// Bytes between what is computed with and what is asked of the memory meanwhile. A processor that looks ahead by itself
// is led astray by several short rows that are read at once.
constexpr int64_t kAhead = 8192;

// Rows and tokens whose sums fit in the registers. Integers take some for their scales.
#ifdef __AVX512F__
constexpr int kRowsAtOnce = 4, kTokensAtOnce = 6, kTokensOfIntegers = 4;
#else
constexpr int kRowsAtOnce = 2, kTokensAtOnce = 2, kTokensOfIntegers = 2;
#endif

inline int64_t padded(int64_t columns) { return (columns + kBlockWeights - 1) / kBlockWeights * kBlockWeights; }

// A matrix [rows, columns] and a bias, or null. Either floats, or integers of whole blocks with a scale for each, and
// with an offset for each or null.
struct Matrix {
  const float* floats;
  const int8_t* integers;
  const uint16_t *scales, *offsets;
  const float* bias;
  int64_t rows, columns;
};

// Tokens [count, width]: `step` is their distance, a multiple of 32; behind `width` they are 0.
struct Tokens {
  const float* data;
  int64_t count, step;
};

// Memory of tokens; each begins at a cache line, so that no vector lies in two.
struct Plane {
  int64_t count, step;
  std::unique_ptr<float, decltype(&std::free)> memory;

  Plane(int64_t count, int64_t width)
      : count(count), step(padded(width)), memory(static_cast<float*>(std::aligned_alloc(64, bytes())), &std::free) {
    std::memset(memory.get(), 0, bytes());
  }

  float* row(int64_t token) { return memory.get() + token * step; }
  Tokens tokens() const { return Tokens{memory.get(), count, step}; }

 private:
  size_t bytes() const { return sizeof(float) * std::max<int64_t>(count, 1) * step; }
};

// Rows of floats and how they are read, some vectors at a time: first the whole steps, then the rest of a row.
struct FloatRows {
  static constexpr int kTokens = kTokensAtOnce, kVectors = 1;
  const float* data;
  int64_t columns, step;

  int64_t steps() const { return columns / kLanes; }
  int rest() const { return static_cast<int>(columns % kLanes); }
  FloatRows from(int64_t row) const { return FloatRows{data + row * step, columns, step}; }
  void read(int row, int64_t number, Vector* to) const {
    const float* from = data + row * step + number * kLanes;
    __builtin_prefetch(reinterpret_cast<const char*>(from) + kAhead);
    to[0] = load(from);
  }
  void read_rest(int row, Vector* to) const { to[0] = load_some(data + row * step + steps() * kLanes, rest()); }
};

// Likewise of integers, whose last block is always whole. Those without offsets have code of their own.
template <bool kHasOffsets>
struct IntegerRows {
  static constexpr int kTokens = kTokensOfIntegers, kVectors = kBlockWeights / kLanes;
  const int8_t* integers;
  const uint16_t *scales, *offsets;
  int64_t blocks;  // of a row

  int64_t steps() const { return blocks; }
  int rest() const { return 0; }
  IntegerRows from(int64_t row) const {
    const int64_t place = row * blocks;
    const uint16_t* const own = kHasOffsets ? offsets + place : nullptr;
    return IntegerRows{integers + place * kBlockWeights, scales + place, own, blocks};
  }
  void read(int row, int64_t number, Vector* to) const {
    const int64_t place = row * blocks + number;
    __builtin_prefetch(integers + place * kBlockWeights + kAhead);
    const Vector scale = splat(half_to_float(scales[place]));
    for (int i = 0; i < kVectors; ++i) to[i] = widen(integers + place * kBlockWeights + i * kLanes) * scale;
    if constexpr (kHasOffsets) {
      // Those products are exact, so that a weight is rounded once, as where somebody expands it.
      const Vector offset = splat(half_to_float(offsets[place]));
      for (int i = 0; i < kVectors; ++i) to[i] += offset;
    }
  }
  void read_rest(int, Vector*) const {}
};

// kRows rows times kTokens tokens; the sums stay in registers. A product goes to out[token * out_step + number of row].
template <class Rows, int kRows, int kTokens>
inline void multiply_tile(const Rows rows, const float* bias, Tokens tokens, float* out, int64_t out_step) {
  constexpr int kVectors = Rows::kVectors;
  Vector sums[kRows][kTokens] = {};
  const auto add = [&](int64_t number, auto read) {
    const float* x = tokens.data + number * kVectors * kLanes;
    Vector weights[kRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) read(i, weights[i]);
#pragma GCC unroll 8
    for (int part = 0; part < kVectors; ++part)
#pragma GCC unroll 8
      for (int j = 0; j < kTokens; ++j) {
        const Vector value = load(x + j * tokens.step + part * kLanes);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) sums[i][j] += weights[i][part] * value;
      }
  };
  const int64_t steps = rows.steps();
  for (int64_t number = 0; number < steps; ++number) add(number, [&](int i, Vector* to) { rows.read(i, number, to); });
  if (rows.rest()) add(steps, [&](int i, Vector* to) { rows.read_rest(i, to); });
#pragma GCC unroll 8
  for (int j = 0; j < kTokens; ++j) {
    float* const to = out + j * out_step;
    if constexpr (kRows == 4) {
      store_sums(to, sums[0][j], sums[1][j], sums[2][j], sums[3][j]);
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) to[i] = sum_of(sums[i][j]);
    }
    if (bias) {
      for (int i = 0; i < kRows; ++i) to[i] += bias[i];
    }
  }
}

// Some rows times as many tokens as go in whole tiles of kTokens, from `done` on; counts them there.
template <class Rows, int kTokens>
inline void multiply_tiles(const Rows rows, int64_t count, const float* bias, Tokens tokens, int64_t& done, float* out,
                           int64_t out_step) {
  for (; done + kTokens <= tokens.count; done += kTokens) {
    const Tokens some{tokens.data + done * tokens.step, kTokens, tokens.step};
    float* const to = out + done * out_step;
    int64_t row = 0;
    const auto bias_of = [&] { return bias ? bias + row : nullptr; };
    for (; row + kRowsAtOnce <= count; row += kRowsAtOnce) {
      multiply_tile<Rows, kRowsAtOnce, kTokens>(rows.from(row), bias_of(), some, to + row, out_step);
    }
    for (; row < count; ++row) multiply_tile<Rows, 1, kTokens>(rows.from(row), bias_of(), some, to + row, out_step);
  }
}

// Some rows times all tokens: out[token * out_step + number of row].
template <class Rows>
inline void multiply_rows(const Rows rows, int64_t count, const float* bias, Tokens tokens, float* out,
                          int64_t out_step) {
  int64_t done = 0;
  if constexpr (Rows::kTokens > 4) {
    // The last eight go in two tiles of four: one of two has too few sums to keep the processor busy.
    const bool has_eight = tokens.count >= 8 && tokens.count % Rows::kTokens == 2;
    const Tokens some{tokens.data, has_eight ? tokens.count - 8 : tokens.count, tokens.step};
    multiply_tiles<Rows, Rows::kTokens>(rows, count, bias, some, done, out, out_step);
  }
  if constexpr (Rows::kTokens > 2) multiply_tiles<Rows, 4>(rows, count, bias, tokens, done, out, out_step);
  multiply_tiles<Rows, 2>(rows, count, bias, tokens, done, out, out_step);
  multiply_tiles<Rows, 1>(rows, count, bias, tokens, done, out, out_step);
}

// The weights of some rows of integers, as floats.
template <class Rows>
inline FloatRows expanded(const Rows rows, int64_t count, std::vector<float>& memory) {
  const int64_t step = rows.blocks * kBlockWeights;
  memory.resize(count * step);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t block = 0; block < rows.blocks; ++block) {
      Vector weights[Rows::kVectors];
      rows.read(static_cast<int>(row), block, weights);
      for (int i = 0; i < Rows::kVectors; ++i) {
        store(memory.data() + row * step + block * kBlockWeights + i * kLanes, weights[i]);
      }
    }
  return FloatRows{memory.data(), step, step};
}

// Some rows of integers times all tokens. Where each weight is used by many tiles, it is widened once for all of them.
template <class Rows>
inline void multiply_integers(const Rows rows, int64_t count, const float* bias, Tokens tokens, float* out,
                              int64_t out_step, std::vector<float>& memory) {
  if (tokens.count > 4 * kTokensOfIntegers) {
    multiply_rows(expanded(rows, count, memory), count, bias, tokens, out, out_step);
  } else {
    multiply_rows(rows, count, bias, tokens, out, out_step);
  }
}

// Part of the rows of a matrix times all tokens: out[token * out_step + row].
inline void multiply_part(const Matrix& matrix, Part part, Tokens tokens, float* out, int64_t out_step) {
  std::vector<float> memory;
  for (int64_t row = part.begin; row < part.end; row += kRowsInCache) {
    const int64_t count = std::min(kRowsInCache, part.end - row);
    const float* bias = matrix.bias ? matrix.bias + row : nullptr;
    if (!matrix.integers) {
      const FloatRows rows{matrix.floats, matrix.columns, matrix.columns};
      multiply_rows(rows.from(row), count, bias, tokens, out + row, out_step);
      continue;
    }
    const int64_t blocks = padded(matrix.columns) / kBlockWeights;
    const auto multiply = [&](auto rows) {
      multiply_integers(rows.from(row), count, bias, tokens, out + row, out_step, memory);
    };
    if (matrix.offsets) {
      multiply(IntegerRows<true>{matrix.integers, matrix.scales, matrix.offsets, blocks});
    } else {
      multiply(IntegerRows<false>{matrix.integers, matrix.scales, nullptr, blocks});
    }
  }
}

}  // namespace mf
