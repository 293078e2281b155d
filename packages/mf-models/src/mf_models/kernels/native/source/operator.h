// The form of a function that MindSpore calls as a custom operator of type "aot".
#pragma once
#include <cstdint>

namespace mf {

// Everything that MindSpore hands over: the inputs and after them the outputs, each with its shape.
struct Arguments {
  int count;
  void** data;
  int* ranks;
  int64_t** shapes;

  const float* input(int number) const { return static_cast<const float*>(data[number]); }
  const int32_t* integers(int number) const { return static_cast<const int32_t*>(data[number]); }
  float* output(int number) const { return static_cast<float*>(data[number]); }
  int64_t extent(int number, int dim) const { return shapes[number][dim]; }
  int64_t last_extent(int number) const { return shapes[number][ranks[number] - 1]; }

  int64_t elements(int number) const {
    int64_t count = 1;
    for (int dim = 0; dim < ranks[number]; ++dim) count *= shapes[number][dim];
    return count;
  }
};

}  // namespace mf

// Declares an operator; its body sees `arguments`. Zero is success.
#define MF_OPERATOR(name)                                                                                 \
  static void name##_body(const mf::Arguments& arguments);                                                \
  extern "C" int name(int count, void** data, int* ranks, int64_t** shapes, const char**, void*, void*) { \
    name##_body(mf::Arguments{count, data, ranks, shapes});                                               \
    return 0;                                                                                             \
  }                                                                                                       \
  static void name##_body(const mf::Arguments& arguments)
