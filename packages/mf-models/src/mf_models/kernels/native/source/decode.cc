// A step of a decoder, from tokens to logits, for as many tokens as generation has at a time; keys and values of earlier
// tokens are read from blocks that sequences share, and those of the step are written there.
//
// This is no operator of a graph: it is called as it stands, because calling a graph with hundreds of weights takes
// longer than a step of a small network. See mf_models/kernels/native/decoder.py for the other side of each structure.
//
// Legend: M tokens of the step, D model width, F inner width, N query heads, K key/value heads, H head width, C =
// rotated part of H / 2, V vocabulary, P tokens of a block of the cache.
// Sources: Touvron et al. 2023, LLaMA, section 2.2; Kwon et al. 2023, PagedAttention, section 4.1.

#include <algorithm>
#include <vector>

#include "products.h"
#include "team.h"
#include "vector.h"

namespace {

using namespace mf;

// One block of the network. A norm or a bias that it does not have is null.
struct Block {
  Matrix query, key, value, output, gate, up, down;
  const float *attention_norm, *query_norm, *key_norm, *attention_post_norm, *ffn_norm, *ffn_post_norm;
  float *keys, *values;
  int64_t window;  // how many keys a query sees at most, its own among them
};

// The network. Distances in the cache are in floats.
struct Decoder {
  const float* embedding;  // [V, D]
  const Block* blocks;
  const float* last_norm;
  const float* frequencies;  // [C], radians a position
  Matrix head;
  int64_t layers, width, heads, kv_heads, head_width, rotated;
  int64_t block_tokens, block_step, head_step, token_step;
  int64_t has_gelu;
  float epsilon, score_scale, score_cap, logit_cap, embedding_scale, amplitude;  // a cap of 0 is none
};

// What is asked for.
struct Step {
  const int32_t* ids;      // [M]
  const int32_t* places;   // [M], in the token's sequence; one of a sequence comes after those before it
  const int32_t* rows;     // [M], row of the tables
  const int32_t* tables;   // [rows, columns], the blocks of each sequence
  const int32_t* wanted;   // tokens whose logits are computed
  float* logits;           // [wanted tokens, V]
  int64_t tokens, columns, wanted_tokens;
};

// What the threads hand to each other.
struct Shared {
  Plane query, key, value, mixed, gate, up, added;
  std::vector<float> cos, sin;  // [M, C]

  Shared(const Decoder& decoder, int64_t tokens)
      : query(tokens, decoder.heads * decoder.head_width),
        key(tokens, decoder.kv_heads * decoder.head_width),
        value(tokens, decoder.kv_heads * decoder.head_width),
        mixed(tokens, decoder.heads * decoder.head_width),
        gate(tokens, decoder.blocks[0].gate.rows),
        up(tokens, decoder.blocks[0].gate.rows),
        added(tokens, decoder.width),
        cos(tokens * decoder.rotated),
        sin(tokens * decoder.rotated) {}
};

void normalize(float* to, const float* x, const float* weight, int64_t width, float epsilon) {
  Vector squares{};
  for_stretches(0, width, [&](int64_t at, int count) {
    const Vector value = load_some(x + at, count);
    squares += value * value;
  });
  const Vector factor = splat(1.0f / std::sqrt(sum_of(squares) / width + epsilon));
  for_stretches(0, width, [&](int64_t at, int count) {
    store_some(to + at, load_some(x + at, count) * factor * load_some(weight + at, count), count);
  });
}

// One thread's share of a step. All threads hold the residual stream, so that none waits for a norm of another.
class Worker {
 public:
  Worker(const Decoder& decoder, const Step& step, Shared& shared, Meeting& meeting, int thread, int threads)
      : decoder_(decoder), step_(step), shared_(shared), meeting_(meeting), thread_(thread), threads_(threads),
        stream_(step.tokens, decoder.width), normed_(step.tokens, decoder.width), query_(padded(decoder.head_width)),
        out_(padded(decoder.head_width)), scores_(step.columns * decoder.block_tokens + kLanes) {}

  void run() {
    embed();
    for (int64_t layer = 0; layer < decoder_.layers; ++layer) {
      const Block& block = decoder_.blocks[layer];
      normalize_all(block.attention_norm);
      project(block);
      meeting_.wait();
      cache(block);
      meeting_.wait();
      attend(block);
      meeting_.wait();
      multiply(block.output, shared_.mixed.tokens(), shared_.added);
      meeting_.wait();
      add(block.attention_post_norm);
      normalize_all(block.ffn_norm);
      feed(block);
      meeting_.wait();
      multiply(block.down, shared_.gate.tokens(), shared_.added);
      meeting_.wait();
      add(block.ffn_post_norm);
    }
    score();
  }

 private:
  static constexpr int kKeysAtOnce = 4;

  Part part_of(int64_t count) const { return mf::part_of(count, thread_, threads_); }

  void multiply(const Matrix& matrix, Tokens tokens, Plane& out) {
    multiply_part(matrix, part_of(matrix.rows), tokens, out.row(0), out.step);
  }

  void embed() {
    const Vector factor = splat(decoder_.embedding_scale);
    for (int64_t token = 0; token < step_.tokens; ++token) {
      const float* from = decoder_.embedding + step_.ids[token] * decoder_.width;
      for_stretches(0, decoder_.width, [&](int64_t at, int count) {
        store_some(stream_.row(token) + at, load_some(from + at, count) * factor, count);
      });
    }
  }

  void normalize_all(const float* weight) {
    for (int64_t token = 0; token < step_.tokens; ++token) {
      normalize(normed_.row(token), stream_.row(token), weight, decoder_.width, decoder_.epsilon);
    }
  }

  // What the threads have computed together goes into the stream.
  void add(const float* norm) {
    for (int64_t token = 0; token < step_.tokens; ++token) {
      const float* from = shared_.added.row(token);
      if (norm) {
        normalize(normed_.row(token), from, norm, decoder_.width, decoder_.epsilon);
        from = normed_.row(token);
      }
      float* const to = stream_.row(token);
      for_stretches(0, decoder_.width, [&](int64_t at, int count) {
        store_some(to + at, load_some(to + at, count) + load_some(from + at, count), count);
      });
    }
  }

  void project(const Block& block) {
    multiply(block.query, normed_.tokens(), shared_.query);
    multiply(block.key, normed_.tokens(), shared_.key);
    multiply(block.value, normed_.tokens(), shared_.value);
  }

  void feed(const Block& block) {
    multiply(block.gate, normed_.tokens(), shared_.gate);
    multiply(block.up, normed_.tokens(), shared_.up);
    const Part part = part_of(block.gate.rows);
    for (int64_t token = 0; token < step_.tokens; ++token) {
      float* const gate = shared_.gate.row(token);
      const float* up = shared_.up.row(token);
      for_stretches(part.begin, part.end, [&](int64_t at, int count) {
        const Vector x = load_some(gate + at, count);
        store_some(gate + at, (decoder_.has_gelu ? gelu(x) : x * sigmoid(x)) * load_some(up + at, count), count);
      });
    }
  }

  // Norm a head where heads are normed, then turn its pairs (i, i + C). Source: Su et al. 2021, RoFormer, equation 34.
  void place(float* to, const float* head, const float* norm, int64_t token) {
    if (norm) {
      normalize(to, head, norm, decoder_.head_width, decoder_.epsilon);
    } else {
      std::memcpy(to, head, sizeof(float) * decoder_.head_width);
    }
    const int64_t half = decoder_.rotated;
    const float *cos = shared_.cos.data() + token * half, *sin = shared_.sin.data() + token * half;
    for (int64_t i = 0; i < half; ++i) {
      const float first = to[i], second = to[half + i];
      to[i] = first * cos[i] - second * sin[i];
      to[half + i] = second * cos[i] + first * sin[i];
    }
  }

  // Calls f(task) for this thread's part of `count`: every so many, since later tokens see more keys.
  template <class F>
  void for_tasks(int64_t count, F f) {
    for (int64_t task = thread_; task < count; task += threads_) f(task);
  }

  int64_t place_in_cache(int64_t token, int64_t place, int64_t kv_head) const {
    const int32_t block = step_.tables[step_.rows[token] * step_.columns + place / decoder_.block_tokens];
    return block * decoder_.block_step + kv_head * decoder_.head_step +
           place % decoder_.block_tokens * decoder_.token_step;
  }

  void cache(const Block& block) {
    const int64_t width = decoder_.head_width;
    for_tasks(step_.tokens * decoder_.kv_heads, [&](int64_t task) {
      const int64_t token = task / decoder_.kv_heads, kv_head = task % decoder_.kv_heads;
      const int64_t to = place_in_cache(token, step_.places[token], kv_head);
      place(block.keys + to, shared_.key.row(token) + kv_head * width, block.key_norm, token);
      std::memcpy(block.values + to, shared_.value.row(token) + kv_head * width, sizeof(float) * width);
    });
  }

  void attend(const Block& block) {
    const int64_t group = decoder_.heads / decoder_.kv_heads, width = decoder_.head_width;
    // A thread takes all heads that see the same keys, where there are enough of those for all threads.
    const int64_t together = step_.tokens * decoder_.kv_heads >= 4 * threads_ ? group : 1;
    for_tasks(step_.tokens * decoder_.heads / together, [&](int64_t task) {
      for (int64_t number = task * together; number < (task + 1) * together; ++number) {
        const int64_t token = number / decoder_.heads, head = number % decoder_.heads;
        place(query_.data(), shared_.query.row(token) + head * width, block.query_norm, token);
        attend_head(block, token, head / group);
        std::memcpy(shared_.mixed.row(token) + head * width, out_.data(), sizeof(float) * width);
      }
    });
  }

  // Calls f(number, place in the cache, count) for the keys that a token sees, those of one block at a time.
  template <class F>
  void for_keys(const Block& block, int64_t token, int64_t kv_head, F f) {
    const int64_t last = step_.places[token], first = first_key(block, token);
    for (int64_t key = first; key <= last;) {
      const int64_t end = std::min(last + 1, (key / decoder_.block_tokens + 1) * decoder_.block_tokens);
      f(key - first, place_in_cache(token, key, kv_head), end - key);
      key = end;
    }
  }

  int64_t first_key(const Block& block, int64_t token) const {
    return std::max<int64_t>(0, step_.places[token] - block.window + 1);
  }

  // One query, in `query_`, over the keys of its sequence; the result stands in `out_`.
  void attend_head(const Block& block, int64_t token, int64_t kv_head) {
    const int64_t count = step_.places[token] - first_key(block, token) + 1;
    for_keys(block, token, kv_head, [&](int64_t number, int64_t at, int64_t keys) {
      float* to = scores_.data() + number;
      for (; keys >= kKeysAtOnce; keys -= kKeysAtOnce, to += kKeysAtOnce, at += kKeysAtOnce * decoder_.token_step) {
        Vector products[kKeysAtOnce] = {};
        multiply_keys<kKeysAtOnce>(block.keys + at, products);
        store_sums(to, products[0], products[1], products[2], products[3]);
      }
      for (; keys > 0; --keys, ++to, at += decoder_.token_step) {
        Vector product[1] = {};
        multiply_keys<1>(block.keys + at, product);
        *to = sum_of(product[0]);
      }
    });
    const float sum = weigh_scores(count);
    const Vector factor = splat(1.0f / sum);
    int64_t d = 0;
    for (; d + 4 * kLanes <= decoder_.head_width; d += 4 * kLanes) mix<4>(block, token, kv_head, d, kLanes, factor);
    for_stretches(d, decoder_.head_width, [&](int64_t at, int lanes) {
      mix<1>(block, token, kv_head, at, lanes, factor);
    });
  }

  // Adds the products of the query with some keys that lie one behind another.
  template <int kKeys>
  void multiply_keys(const float* keys, Vector* products) const {
    for_stretches(0, decoder_.head_width, [&](int64_t d, int lanes) {
      const Vector query = load_some(query_.data() + d, lanes);
      for (int key = 0; key < kKeys; ++key) {
        products[key] += query * load_some(keys + key * decoder_.token_step + d, lanes);
      }
    });
  }

  // Makes weights of the first scores, and returns their sum.
  float weigh_scores(int64_t count) {
    float* const scores = scores_.data();
    std::fill_n(scores + count, kLanes, -INFINITY);
    Vector most = splat(-INFINITY), sums{};
    for (int64_t at = 0; at < count; at += kLanes) {
      Vector score = load(scores + at) * splat(decoder_.score_scale);
      if (decoder_.score_cap > 0.0f) score = capped(score);
      store(scores + at, score);
      most = larger(most, score);
    }
    const Vector highest = splat(largest_of(most));
    for_stretches(0, count, [&](int64_t at, int lanes) {
      store_some(scores + at, exponential(load_some(scores + at, lanes) - highest), lanes);
      sums += load_some(scores + at, lanes);
    });
    return sum_of(sums);
  }

  Vector capped(Vector score) const {
    for (int lane = 0; lane < kLanes; ++lane) {
      score[lane] = decoder_.score_cap * std::tanh(score[lane] / decoder_.score_cap);
    }
    return score;
  }

  // The values of the keys by their weights: columns from `d` on, `kVectors` whole vectors or the first lanes of one.
  template <int kVectors>
  void mix(const Block& block, int64_t token, int64_t kv_head, int64_t d, int lanes, Vector factor) {
    const int loaded = kVectors > 1 ? kLanes : lanes;
    Vector sums[kVectors] = {};
    for_keys(block, token, kv_head, [&](int64_t number, int64_t at, int64_t keys) {
      for (int64_t key = 0; key < keys; ++key) {
        const Vector weight = splat(scores_[number + key]);
        const float* values = block.values + at + key * decoder_.token_step + d;
        for (int i = 0; i < kVectors; ++i) sums[i] += weight * load_some(values + i * kLanes, loaded);
      }
    });
    for (int i = 0; i < kVectors; ++i) store_some(out_.data() + d + i * kLanes, sums[i] * factor, loaded);
  }

  void score() {
    for (int64_t number = 0; number < step_.wanted_tokens; ++number) {
      normalize(normed_.row(number), stream_.row(step_.wanted[number]), decoder_.last_norm, decoder_.width,
                decoder_.epsilon);
    }
    const Part part = part_of(decoder_.head.rows);
    const Tokens tokens{normed_.row(0), step_.wanted_tokens, normed_.step};
    multiply_part(decoder_.head, part, tokens, step_.logits, decoder_.head.rows);
    if (decoder_.logit_cap == 0.0f) return;
    for (int64_t number = 0; number < step_.wanted_tokens; ++number)
      for (int64_t at = part.begin; at < part.end; ++at) {
        float& logit = step_.logits[number * decoder_.head.rows + at];
        logit = decoder_.logit_cap * std::tanh(logit / decoder_.logit_cap);
      }
  }

  const Decoder& decoder_;
  const Step& step_;
  Shared& shared_;
  Meeting& meeting_;
  const int thread_, threads_;
  Plane stream_, normed_;
  std::vector<float> query_, out_, scores_;
};

}  // namespace

// Computes a step. Tokens of one sequence see those of the step that stand before them.
extern "C" void mf_decode(const Decoder* decoder, const Step* step) {
  Shared shared(*decoder, step->tokens);
  for (int64_t token = 0; token < step->tokens; ++token)
    for (int64_t i = 0; i < decoder->rotated; ++i) {
      const float angle = static_cast<float>(step->places[token]) * decoder->frequencies[i];
      shared.cos[token * decoder->rotated + i] = std::cos(angle) * decoder->amplitude;
      shared.sin[token * decoder->rotated + i] = std::sin(angle) * decoder->amplitude;
    }
  Meeting meeting;
#pragma omp parallel
  {
#pragma omp single
    meeting.set_threads(omp_get_num_threads());
    Worker(*decoder, *step, shared, meeting, omp_get_thread_num(), omp_get_num_threads()).run();
  }
}
