// A product with a weight of 8-bit integers in blocks, for graphs.

#include <cstring>

#include "operator.h"
#include "products.h"
#include "team.h"

using namespace mf;

// Inputs: x [..., D], integers [F, G, 32], their scales [F, G] of half precision, and their offsets likewise where they
// have some. Output: [..., F].
MF_OPERATOR(mf_int8_linear) {
  const int64_t columns = arguments.last_extent(0), count = arguments.elements(0) / columns;
  const auto* integers = static_cast<const int8_t*>(arguments.data[1]);
  const auto* scales = static_cast<const uint16_t*>(arguments.data[2]);
  const int output = arguments.count - 1;
  const auto* offsets = output == 4 ? static_cast<const uint16_t*>(arguments.data[3]) : nullptr;
  const Matrix matrix{nullptr, integers, scales, offsets, nullptr, arguments.extent(1, 0), columns};
  Plane tokens(count, columns);
  for (int64_t token = 0; token < count; ++token) {
    std::memcpy(tokens.row(token), arguments.input(0) + token * columns, sizeof(float) * columns);
  }
#pragma omp parallel
  {
    const Part part = part_of(matrix.rows, omp_get_thread_num(), omp_get_num_threads());
    multiply_part(matrix, part, tokens.tokens(), arguments.output(output), matrix.rows);
  }
}
