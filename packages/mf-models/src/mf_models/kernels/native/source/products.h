// Products of a weight matrix, as it lies in memory, with some tokens: what decoding spends its time on.
//
// Each weight is read from memory once, and used for all tokens while it is in a register. The order of additions is the
// same for any number of tokens, so what is computed beside a token does not change its bits.
#pragma once
#include <algorithm>
#include <vector>

#include "team.h"
#include "vector.h"

namespace mf {

constexpr int kBlockWeights = 32;       // weights that share a scale
constexpr int64_t kTokensAtOnce = 48;   // their values stay in the cache while all rows pass by

// Rows and tokens whose sums fit in the registers.
#ifdef __AVX512F__
constexpr int kRowsAtOnce = 4, kTokensInRegisters = 6;
#else
constexpr int kRowsAtOnce = 2, kTokensInRegisters = 2;
#endif

inline int64_t padded(int64_t columns) { return (columns + kBlockWeights - 1) / kBlockWeights * kBlockWeights; }

// A matrix [rows, columns] and a bias, or null. Either floats, or integers of whole blocks with a scale for each.
struct Matrix {
  const float* floats;
  const int8_t* integers;
  const uint16_t* scales;
  const float* bias;
  int64_t rows, columns;
};

// Tokens [count, width]: `step` is their distance, a multiple of 32; behind `width` they are 0.
struct Tokens {
  const float* data;
  int64_t count, step;
};

// Memory of tokens.
struct Plane {
  std::vector<float> memory;
  int64_t count, step;

  Plane(int64_t count, int64_t width) : memory(count * padded(width), 0.0f), count(count), step(padded(width)) {}

  float* row(int64_t token) { return memory.data() + token * step; }
  Tokens tokens() const { return Tokens{memory.data(), count, step}; }
};

// Rows of weights, from `row` on, and how they are read, 32 at a time.
struct FloatRows {
  const Matrix& matrix;
  int64_t row;

  void read(int number, int64_t block, Vector& first, Vector& second) const {
    const int64_t at = block * kBlockWeights, left = matrix.columns - at;
    const float* from = matrix.floats + (row + number) * matrix.columns + at;
    if (left >= kBlockWeights) {
      first = load(from);
      second = load(from + kLanes);
    } else {
      first = load_some(from, static_cast<int>(std::min<int64_t>(left, kLanes)));
      second = left > kLanes ? load_some(from + kLanes, static_cast<int>(left - kLanes)) : Vector{};
    }
  }
};

struct IntegerRows {
  const Matrix& matrix;
  int64_t row;

  void read(int number, int64_t block, Vector& first, Vector& second) const {
    const int64_t place = (row + number) * (padded(matrix.columns) / kBlockWeights) + block;
    const Vector scale = splat(half_to_float(matrix.scales[place]));
    first = widen(matrix.integers + place * kBlockWeights) * scale;
    second = widen(matrix.integers + place * kBlockWeights + kLanes) * scale;
  }
};

// kRows rows times kTokens tokens; the sums stay in registers. A product goes to out[token * out_step + number of row].
template <class Rows, int kRows, int kTokens>
inline void multiply_rows(Rows rows, const float* tokens, int64_t step, float* out, int64_t out_step) {
  Vector sums[kRows][kTokens] = {};
  const int64_t blocks = padded(rows.matrix.columns) / kBlockWeights;
  for (int64_t block = 0; block < blocks; ++block) {
    const float* x = tokens + block * kBlockWeights;
    Vector weights[2][kRows];
    for (int i = 0; i < kRows; ++i) rows.read(i, block, weights[0][i], weights[1][i]);
    for (int half = 0; half < 2; ++half)
      for (int j = 0; j < kTokens; ++j) {
        const Vector value = load(x + j * step + half * kLanes);
        for (int i = 0; i < kRows; ++i) sums[i][j] += weights[half][i] * value;
      }
  }
  for (int i = 0; i < kRows; ++i) {
    const float bias = rows.matrix.bias ? rows.matrix.bias[rows.row + i] : 0.0f;
    for (int j = 0; j < kTokens; ++j) out[j * out_step + i] = sum_of(sums[i][j]) + bias;
  }
}

template <class Rows, int kRows>
inline void multiply_tokens(Rows rows, Tokens tokens, float* out, int64_t out_step) {
  int64_t token = 0;
  const auto tile = [&](auto multiply, int count) {
    for (; token + count <= tokens.count; token += count) {
      multiply(rows, tokens.data + token * tokens.step, tokens.step, out + token * out_step, out_step);
    }
  };
  tile(multiply_rows<Rows, kRows, kTokensInRegisters>, kTokensInRegisters);
  if constexpr (kTokensInRegisters > 4) tile(multiply_rows<Rows, kRows, 4>, 4);
  if constexpr (kTokensInRegisters > 2) tile(multiply_rows<Rows, kRows, 2>, 2);
  tile(multiply_rows<Rows, kRows, 1>, 1);
}

template <class Rows>
inline void multiply_part(const Matrix& matrix, Part part, Tokens tokens, float* out, int64_t out_step) {
  for (int64_t begin = 0; begin < tokens.count; begin += kTokensAtOnce) {
    const int64_t count = std::min(kTokensAtOnce, tokens.count - begin);
    const Tokens some{tokens.data + begin * tokens.step, count, tokens.step};
    float* const to = out + begin * out_step;
    int64_t row = part.begin;
    for (; row + kRowsAtOnce <= part.end; row += kRowsAtOnce) {
      multiply_tokens<Rows, kRowsAtOnce>(Rows{matrix, row}, some, to + row, out_step);
    }
    for (; row < part.end; ++row) multiply_tokens<Rows, 1>(Rows{matrix, row}, some, to + row, out_step);
  }
}

// Some rows of a matrix times all tokens: out[token * out_step + row].
inline void multiply_part(const Matrix& matrix, Part part, Tokens tokens, float* out, int64_t out_step) {
  if (matrix.integers) {
    multiply_part<IntegerRows>(matrix, part, tokens, out, out_step);
  } else {
    multiply_part<FloatRows>(matrix, part, tokens, out, out_step);
  }
}

}  // namespace mf
