// Sums over the processes of one machine through memory that all of them map.
//
// Every rank has two buffers in the segment, which it fills in turn, and for each group of ranks a counter of the chunks
// that it has posted there, and one of those that it has taken from all members. A rank posts a chunk, waits until all
// members have posted theirs, adds them up in rank order, and says that it has taken them. Before it fills a buffer
// again it waits until the members of the group to which it had posted that buffer have taken it.
//
// A rank that waits looks for a moment and then sleeps in the kernel until the counter moves.

#include <cerrno>
#include <atomic>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kMaxRanks = 64;  // A group is a mask of 64 bits.
constexpr int kMaxGroups = 256;
constexpr int64_t kChunk = 64 * 1024;  // Floats: two chunks of each of a few ranks stay in a core's cache.
constexpr int kLooks = 2000;
constexpr int kNapSeconds = 1;
constexpr int kMourningSeconds = 3;  // The launcher, which knows more, acts first.

struct alignas(64) Seat {  // Of one rank in one group.
  std::atomic<uint32_t> posted;  // (number of the chunk << 1) | buffer
  std::atomic<uint32_t> taken;   // number of the chunk << 1
  std::atomic<int64_t> length[2];  // of the whole tensor whose chunk a buffer holds
};

struct Segment {
  uint64_t token;
  int64_t ranks;
  std::atomic<int32_t> process[kMaxRanks];
  std::atomic<uint64_t> members[kMaxGroups];  // 0 where there is no group yet
  Seat seats[];                               // [kMaxGroups][ranks], then the buffers [ranks][2][kChunk]
};

struct Posting {  // What one of this rank's buffers holds.
  int group = -1;
  uint32_t number = 0;
};

Segment* segment = nullptr;
int own_rank = 0;
int patience_seconds = 3600;
bool sees_processes = false;
Posting postings[2];
int next_buffer = 0;

int64_t size_of(int64_t ranks) {
  const int64_t head = sizeof(Segment) + sizeof(Seat) * kMaxGroups * ranks;
  return head + sizeof(float) * kChunk * 2 * ranks;
}

Seat& seat(int group, int rank) { return segment->seats[group * segment->ranks + rank]; }

float* buffer(int rank, int number) {
  char* first = reinterpret_cast<char*>(&segment->seats[kMaxGroups * segment->ranks]);
  return reinterpret_cast<float*>(first) + kChunk * (2 * rank + number);
}

bool is_member(int group, int rank) { return segment->members[group].load() >> rank & 1; }

[[noreturn]] void end(int group, const char* why, int rank) {
  char ranks[kMaxRanks * 4] = "";
  for (int member = 0, filled = 0; member < segment->ranks; ++member) {
    if (is_member(group, member)) filled += snprintf(ranks + filled, sizeof ranks - filled, " %d", member);
  }
  fprintf(stderr, "mf-parallel: sum over the ranks%s: rank %d %s rank %d.\n", ranks, own_rank, why, rank);
  fflush(stderr);
  // No exit handler: MindSpore's would wait for the ranks that are gone.
  _exit(1);
}

bool is_gone(int rank) { return sees_processes && kill(segment->process[rank].load(), 0) != 0 && errno == ESRCH; }

// Whether a counter has come to a number of 31 bits, which wraps around.
bool has_come(uint32_t counter, uint32_t number) { return static_cast<int32_t>((counter & ~1u) - (number << 1)) >= 0; }

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until a counter of another rank has come to a number, and returns it.
uint32_t await(std::atomic<uint32_t>& counter, uint32_t number, int group, int rank) {
  uint32_t value = counter.load(std::memory_order_acquire);
  for (int look = 0; look < kLooks && !has_come(value, number); ++look) {
    pause_briefly();
    value = counter.load(std::memory_order_acquire);
  }
  for (int naps = 0, gone_for = 0; !has_come(value, number);) {
    const timespec nap{kNapSeconds, 0};
    const long status = syscall(SYS_futex, &counter, FUTEX_WAIT, value, &nap, nullptr, 0);
    if (status != 0 && errno == ETIMEDOUT) {
      gone_for = is_gone(rank) ? gone_for + kNapSeconds : 0;
      if (gone_for >= kMourningSeconds) end(group, "waits in vain for the ended", rank);
      if (++naps * kNapSeconds >= patience_seconds) end(group, "has lost patience with", rank);
    }
    value = counter.load(std::memory_order_acquire);
  }
  return value;
}

void tell(std::atomic<uint32_t>& counter, uint32_t value) {
  counter.store(value, std::memory_order_release);
  syscall(SYS_futex, &counter, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void await_readers(const Posting& posting) {
  if (posting.group < 0) return;
  for (int member = 0; member < segment->ranks; ++member) {
    if (member != own_rank && is_member(posting.group, member)) {
      await(seat(posting.group, member).taken, posting.number, posting.group, member);
    }
  }
}

// Posts this rank's chunk and returns its number, of 31 bits.
uint32_t post(int group, const float* from, int64_t count, int64_t length) {
  const int chosen = next_buffer;
  next_buffer ^= 1;
  await_readers(postings[chosen]);
  std::memcpy(buffer(own_rank, chosen), from, sizeof(float) * count);
  Seat& own = seat(group, own_rank);
  const uint32_t number = ((own.posted.load(std::memory_order_relaxed) >> 1) + 1) & INT_MAX;
  own.length[chosen].store(length, std::memory_order_relaxed);
  tell(own.posted, number << 1 | chosen);
  postings[chosen] = {group, number};
  return number;
}

// The chunk that a member has posted under a number.
const float* posted(int group, int rank, uint32_t number, int64_t length) {
  Seat& theirs = seat(group, rank);
  const uint32_t value = await(theirs.posted, number, group, rank);
  // Whoever has posted the next chunk already has filled the other buffer: this one is kept until all have taken it.
  const int chosen = (value & 1) ^ (value >> 1 != number);
  if (theirs.length[chosen].load(std::memory_order_relaxed) != length) {
    end(group, "sums a tensor of another size than", rank);
  }
  return buffer(rank, chosen);
}

void add(float* __restrict sum, const float* __restrict term, int64_t count) {
  for (int64_t index = 0; index < count; ++index) sum[index] += term[index];
}

void sum_chunk(int group, const float* from, float* to, int64_t count, int64_t length) {
  const uint32_t number = post(group, from, count, length);
  bool is_first = true;
  for (int member = 0; member < segment->ranks; ++member) {
    if (!is_member(group, member)) continue;
    const float* term = posted(group, member, number, length);
    if (is_first) {
      std::memcpy(to, term, sizeof(float) * count);
    } else {
      add(to, term, count);
    }
    is_first = false;
  }
  tell(seat(group, own_rank).taken, number << 1);
}

}  // namespace

extern "C" {

// Maps the segment of a job; one rank creates it first. Returns 0, or the number of the error.
int mf_segment_open(const char* path, int create, uint64_t token, int ranks, int rank, int patience) {
  if (ranks > kMaxRanks) return E2BIG;
  const int file = open(path, create ? O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  // Room is taken at once: a write to memory for which there is none would end the process.
  int error = create ? posix_fallocate(file, 0, size_of(ranks)) : 0;
  void* mapped = MAP_FAILED;
  if (error == 0) {
    mapped = mmap(nullptr, size_of(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) error = errno;
  }
  close(file);
  if (error != 0) return error;
  auto* found = static_cast<Segment*>(mapped);
  if (create) {
    found->token = token;
    found->ranks = ranks;
  } else if (found->token != token || found->ranks != ranks) {
    munmap(mapped, size_of(ranks));
    return ESTALE;
  }
  found->process[rank].store(getpid());
  segment = found;
  own_rank = rank;
  patience_seconds = patience;
  return 0;
}

// To be called when all ranks have opened the segment: only a process that can be seen then can be missed later.
void mf_segment_complete() {
  sees_processes = true;
  for (int rank = 0; rank < segment->ranks; ++rank) {
    if (is_gone(rank)) sees_processes = false;
  }
}

// The number of the group of these ranks, the same for all of them; -1 where there are too many groups.
int mf_segment_group(uint64_t members) {
  for (int group = 0; group < kMaxGroups; ++group) {
    uint64_t there = 0;
    if (segment->members[group].compare_exchange_strong(there, members) || there == members) return group;
  }
  return -1;
}

// MindSpore's operator: the tensor, and the number of the group as a float, to the sum; all float32.
int mf_shared_sum(int count, void** tensors, int* dims, int64_t** shapes, const char**, void*, void*) {
  if (segment == nullptr || count != 3) return 1;
  int64_t length = 1;
  for (int dim = 0; dim < dims[0]; ++dim) length *= shapes[0][dim];
  const auto* from = static_cast<const float*>(tensors[0]);
  auto* to = static_cast<float*>(tensors[2]);
  const int group = static_cast<int>(std::lround(*static_cast<const float*>(tensors[1])));
  // An empty tensor is a chunk too, so that members with other sizes are found out.
  for (int64_t start = 0; start == 0 || start < length; start += kChunk) {
    sum_chunk(group, from + start, to + start, length - start < kChunk ? length - start : kChunk, length);
  }
  return 0;
}

}  // extern "C"
