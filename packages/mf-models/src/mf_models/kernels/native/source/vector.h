// Sixteen floats at a time, on whatever vector unit the processor has: the compiler splits them where it is narrower.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace mf {

constexpr int kLanes = 16;

// Declared with the alignment of a float, so that a load may begin anywhere.
typedef float Vector __attribute__((vector_size(4 * kLanes), aligned(4)));
typedef int32_t IntVector __attribute__((vector_size(4 * kLanes), aligned(4)));

inline Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline void store(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }

// The first `count` lanes; the others are 0.
inline Vector load_some(const float* from, int count) {
  float lanes[kLanes] = {};
  std::memcpy(lanes, from, sizeof(float) * count);
  return load(lanes);
}

inline void store_some(float* to, Vector value, int count) {
  float lanes[kLanes];
  store(lanes, value);
  std::memcpy(to, lanes, sizeof(float) * count);
}

// Sixteen bytes as floats. Compilers make scalar code of the conversion where it is not written by hand.
inline Vector widen(const int8_t* from) {
#if defined(__AVX512F__)
  return (Vector)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
  float lanes[kLanes];
  for (int half = 0; half < 2; ++half) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 8 * half));
    _mm256_storeu_ps(lanes + 8 * half, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
  }
  return load(lanes);
#else
  Vector value;
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = from[lane];
  return value;
#endif
}

// A number of half precision. Source: IEEE 754-2019, format binary16.
inline float half_to_float(uint16_t bits) {
#ifdef __F16C__
  return _cvtsh_ss(bits);
#else
  const float size = std::ldexp(static_cast<float>(bits & 0x3ff) + ((bits & 0x7c00) ? 1024.0f : 0.0f),
                                ((bits & 0x7c00) ? (bits >> 10 & 0x1f) - 1 : 0) - 24);
  return bits & 0x8000 ? -size : size;
#endif
}

inline Vector splat(float value) { return value - Vector{}; }
inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

inline float sum_of(Vector value) {
  // A tree: sixteen additions in a row would take longer than a short row's other work.
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) value[lane] += value[lane + width];
  }
  return value[0];
}

// Four sums one after another, each with the bits of `sum_of`.
inline void store_sums(float* to, Vector a, Vector b, Vector c, Vector d) {
#ifdef __AVX512F__
  // Halves are added, then quarters, pairs and single lanes, of several sums at a time.
  const auto halves = [](__m512 x, __m512 y) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x44), _mm512_shuffle_f32x4(x, y, 0xee));
  };
  const __m512 ab = halves((__m512)a, (__m512)b), cd = halves((__m512)c, (__m512)d);
  __m512 sums = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
  sums = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0x4e));
  sums = _mm512_add_ps(sums, _mm512_permute_ps(sums, 0xb1));
  _mm_storeu_ps(to, _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, sums)));
#else
  to[0] = sum_of(a), to[1] = sum_of(b), to[2] = sum_of(c), to[3] = sum_of(d);
#endif
}

inline float largest_of(Vector value) {
#ifdef __AVX512F__
  return _mm512_reduce_max_ps((__m512)value);
#else
  float found = value[0];
  for (int lane = 1; lane < kLanes; ++lane) found = value[lane] > found ? value[lane] : found;
  return found;
#endif
}

// e^x to about one unit in the last place, for x from -87 to 88; beyond, the value at the end. NaN stays NaN.
// Source: Moshier's Cephes library, expf: e^x = 2^n * e^r with |r| <= ln(2) / 2, and a polynomial for e^r.
inline Vector exponential(Vector x) {
  x = x < splat(-87.0f) ? splat(-87.0f) : x;
  x = x > splat(88.0f) ? splat(88.0f) : x;
  // Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number.
  const Vector shifted = x * splat(1.44269504f) + splat(12582912.0f);
  const Vector n = shifted - splat(12582912.0f);
  // ln(2) in two parts, so that the product with n is exact.
  const Vector r = x - n * splat(0.693359375f) + n * splat(2.12194440e-4f);
  Vector p = splat(1.9875691500e-4f);
  p = p * r + splat(1.3981999507e-3f);
  p = p * r + splat(8.3334519073e-3f);
  p = p * r + splat(4.1665795894e-2f);
  p = p * r + splat(1.6666665459e-1f);
  p = p * r + splat(5.0000001201e-1f);
  p = p * r * r + r + splat(1.0f);
  const IntVector exponent = (__builtin_convertvector(n, IntVector) + 127) << 23;
  return p * (Vector)exponent;  // its bits, as all casts between vectors of one size
}

inline Vector sigmoid(Vector x) { return splat(1.0f) / (splat(1.0f) + exponential(-x)); }

// Source: Hendrycks and Gimpel 2016, Gaussian Error Linear Units, section 2: the approximation with tanh, whose
// (1 + tanh(x)) / 2 is sigmoid(2 x).
inline Vector gelu(Vector x) { return x * sigmoid(splat(1.5957691216f) * (x + splat(0.044715f) * x * x * x)); }

// Calls f(begin, count) for stretches of at most kLanes elements.
template <class F>
inline void for_stretches(int64_t begin, int64_t end, F f) {
  for (; begin + kLanes <= end; begin += kLanes) f(begin, kLanes);
  if (begin < end) f(begin, static_cast<int>(end - begin));
}

}  // namespace mf
