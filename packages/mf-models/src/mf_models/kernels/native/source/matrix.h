// Products of small matrices that lie in the cache: the inner part of attention.
#pragma once
#include "vector.h"

namespace mf {

// A matrix whose element (row, column) lies at data[row * row_step + column * column_step].
struct Left {
  const float* data;
  int row_step;
  int column_step;
};

// kRows x (kVectors * 16) elements of C, kept in registers while the inner dimension runs.
template <int kRows, int kVectors>
inline void multiply_tile(int inner, Left a, const float* b, int b_step, float* c, int c_step, bool add) {
  Vector sums[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) sums[i][j] = add ? load(c + i * c_step + kLanes * j) : Vector{};
  for (int p = 0; p < inner; ++p) {
    Vector row[kVectors];
    for (int j = 0; j < kVectors; ++j) row[j] = load(b + static_cast<int64_t>(p) * b_step + kLanes * j);
    for (int i = 0; i < kRows; ++i) {
      const Vector factor = splat(a.data[i * a.row_step + p * a.column_step]);
      for (int j = 0; j < kVectors; ++j) sums[i][j] += factor * row[j];
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) store(c + i * c_step + kLanes * j, sums[i][j]);
}

template <int kVectors>
inline void multiply_columns(int rows, int inner, Left a, const float* b, int b_step, float* c, int c_step, bool add) {
  int i = 0;
  const auto tile = [&](auto multiply, int step) {
    for (; i + step <= rows; i += step) {
      multiply(inner, Left{a.data + i * a.row_step, a.row_step, a.column_step}, b, b_step, c + i * c_step, c_step, add);
    }
  };
#ifdef __AVX512F__
  tile(multiply_tile<kVectors == 4 ? 6 : 8, kVectors>, kVectors == 4 ? 6 : 8);
  tile(multiply_tile<4, kVectors>, 4);
#endif
  tile(multiply_tile<2, kVectors>, 2);
  tile(multiply_tile<1, kVectors>, 1);
}

// C = A B, or C += A B. A is rows x inner, B inner x columns; `columns` is a multiple of 16.
inline void multiply(int rows, int columns, int inner, Left a, const float* b, int b_step, float* c, int c_step,
                     bool add) {
  int j = 0;
#ifdef __AVX512F__
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) multiply_columns<4>(rows, inner, a, b + j, b_step, c + j, c_step, add);
#endif
  for (; j + 2 * kLanes <= columns; j += 2 * kLanes) multiply_columns<2>(rows, inner, a, b + j, b_step, c + j, c_step, add);
  for (; j < columns; j += kLanes) multiply_columns<1>(rows, inner, a, b + j, b_step, c + j, c_step, add);
}

}  // namespace mf
