// A model of PyTorch's caching allocator for CUDA: it tracks sizes and addresses only, and holds no memory.
//
// Sizes and rules are those of c10/cuda/CUDACachingAllocator.cpp: blocks of multiples of 512 bytes; up to 1 MiB from
// segments of 2 MiB, below 10 MiB from segments of 20 MiB, beyond that from segments of their own, in multiples of
// 2 MiB; the smallest free block that fits is taken, split if enough remains, and merged with its neighbours when it
// is freed. Segments stay reserved until the cache is emptied or memory runs out. Bytes live elsewhere (memory.h).
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iomanip>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace standin {

constexpr int DEVICES = 2;
constexpr size_t SMALLEST = 512;
constexpr size_t SMALL = size_t(1) << 20;
constexpr size_t SMALL_SEGMENT = size_t(2) << 20;
constexpr size_t LARGE_SEGMENT = size_t(20) << 20;
constexpr size_t OWN_SEGMENT = size_t(10) << 20;
constexpr size_t ROUND_OWN = size_t(2) << 20;

struct Piece {
  uint64_t address;
  size_t size;
  bool small;
  size_t requested = 0;
  bool used = false;
  Piece *before = nullptr, *after = nullptr; // neighbours in the segment

  bool whole() const {
    return before == nullptr && after == nullptr;
  }
};

struct Tally {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;

  void change(int64_t n) {
    current += n;
    peak = std::max(peak, current);
    (n > 0 ? allocated : freed) += n > 0 ? n : -n;
  }
};

enum Kind { ALLOCATION, SEGMENT, INACTIVE, ALLOCATED, RESERVED, INACTIVE_BYTES, REQUESTED, KINDS };
enum Which { ALL, SMALL_POOL, LARGE_POOL, POOLS };

// One change of a device's memory, recorded for h2d.memory_timeline().
struct Change {
  enum What : int64_t { ALLOCATED, FREED, REFUSED, RELEASED };
  int64_t number; // in the order of all changes of all devices
  int64_t what;
  int64_t address; // of a block; 0 for the others
  int64_t size; // bytes of a block; bytes requested, rounded up, if they were refused
  int64_t reserved; // bytes that the pool holds afterwards
};

// The number of the last allocation, refusal or release that this thread caused; -1 when it has been told.
inline thread_local int64_t untold = -1;

inline std::string in_words(size_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2);
  if (bytes <= 1024) {
    text << bytes << " bytes";
  } else if (bytes <= 1048576) {
    text << bytes / 1024.0 << " KiB";
  } else if (bytes <= 1073741824) {
    text << bytes / 1048576.0 << " MiB";
  } else {
    text << bytes / 1073741824.0 << " GiB";
  }
  return text.str();
}

class Pool {
 public:
  // Allocates `n` bytes, n > 0; raises torch.OutOfMemoryError.
  Piece* take(size_t n) {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t size = rounded(n);
    bool small = size <= SMALL;
    Piece* piece = best(size, small);
    if (piece == nullptr) {
      piece = segment(size, small);
    }
    if (piece == nullptr) {
      retries_++;
      release();
      note(Change::RELEASED, 0, 0);
      piece = segment(size, small);
    }
    if (piece == nullptr) {
      ooms_++;
      fail(n);
    }
    size_t rest = piece->size - size;
    bool was_split = !piece->whole();
    if (was_split) {
      tally(INACTIVE, small, -1);
      tally(INACTIVE_BYTES, small, -int64_t(piece->size));
    }
    if (small ? rest >= SMALLEST : rest > SMALL) {
      auto* remainder = new Piece{piece->address + size, rest, small};
      remainder->before = piece;
      remainder->after = piece->after;
      if (piece->after) {
        piece->after->before = remainder;
      }
      piece->after = remainder;
      piece->size = size;
      free_[small].insert(remainder);
      tally(INACTIVE, small, 1);
      tally(INACTIVE_BYTES, small, rest);
    }
    piece->used = true;
    piece->requested = n;
    tally(ALLOCATION, small, 1);
    tally(ALLOCATED, small, piece->size);
    tally(REQUESTED, small, n);
    note(Change::ALLOCATED, piece->address, piece->size);
    return piece;
  }

  void give(Piece* piece) {
    std::lock_guard<std::mutex> lock(mutex_);
    bool small = piece->small;
    tally(ALLOCATION, small, -1);
    tally(ALLOCATED, small, -int64_t(piece->size));
    tally(REQUESTED, small, -int64_t(piece->requested));
    note(Change::FREED, piece->address, piece->size);
    piece->used = false;
    if (Piece* next = piece->after; next && !next->used) {
      forget(next);
      piece->size += next->size;
      piece->after = next->after;
      if (next->after) {
        next->after->before = piece;
      }
      delete next;
    }
    if (Piece* last = piece->before; last && !last->used) {
      forget(last);
      last->size += piece->size;
      last->after = piece->after;
      if (piece->after) {
        piece->after->before = last;
      }
      delete piece;
      piece = last;
    }
    free_[small].insert(piece);
    if (!piece->whole()) {
      tally(INACTIVE, small, 1);
      tally(INACTIVE_BYTES, small, piece->size);
    }
  }

  // Refuses an allocation that cannot fit, before a kernel makes it.
  void expect(size_t n) {
    if (n < roughly_left_.load(std::memory_order_relaxed)) {
      return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    size_t size = rounded(n);
    bool small = size <= SMALL;
    Piece wanted{0, size, small};
    if (free_[small].lower_bound(&wanted) != free_[small].end()) {
      return;
    }
    size_t cached = 0;
    for (auto& set : free_) {
      for (Piece* piece : set) {
        cached += piece->whole() ? piece->size : 0;
      }
    }
    if (reserved() - cached + segment_size(size) > allowed()) {
      ooms_++;
      fail(n);
    }
  }

  void empty_cache() {
    std::lock_guard<std::mutex> lock(mutex_);
    release();
    note(Change::RELEASED, 0, 0);
  }

  void reset_peaks() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& kind : tallies_) {
      for (auto& one : kind) {
        one.peak = one.current;
      }
    }
  }

  void reset_accumulated() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& kind : tallies_) {
      for (auto& one : kind) {
        one.allocated = one.freed = 0;
      }
    }
    retries_ = ooms_ = segments_made_ = segments_freed_ = 0;
  }

  void set_capacity(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    capacity_ = bytes;
    update();
  }

  void set_fraction(double fraction) {
    std::lock_guard<std::mutex> lock(mutex_);
    fraction_ = fraction;
    update();
  }

  double fraction() {
    std::lock_guard<std::mutex> lock(mutex_);
    return fraction_ < 0 ? 1.0 : fraction_;
  }

  // Begins to record the changes of this pool, from none on, or ends it.
  void record(bool on) {
    std::lock_guard<std::mutex> lock(mutex_);
    recording_ = on;
    changes_.clear();
  }

  // Takes out the oldest changes, `most` at most; returns how many.
  size_t changes(Change* out, size_t most) {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t count = std::min(most, changes_.size());
    std::copy_n(changes_.begin(), count, out);
    changes_.erase(changes_.begin(), changes_.begin() + count);
    return count;
  }

  std::pair<size_t, size_t> info() {
    std::lock_guard<std::mutex> lock(mutex_);
    return {capacity_ > reserved() ? capacity_ - reserved() : 0, capacity_};
  }

  template <typename Function>
  void read(Function function) {
    std::lock_guard<std::mutex> lock(mutex_);
    function(tallies_, retries_, ooms_, segments_made_, segments_freed_);
  }

  // All segments with their blocks, in JSON, under the names of torch.cuda.memory_snapshot().
  std::string snapshot(int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::ostringstream text;
    text << '[';
    for (auto& [address, first] : segments_) {
      size_t total = 0, allocated = 0, requested = 0;
      std::ostringstream blocks;
      for (Piece* piece = first; piece; piece = piece->after) {
        total += piece->size;
        allocated += piece->used ? piece->size : 0;
        requested += piece->used ? piece->requested : 0;
        blocks << (piece == first ? "" : ",") << "{\"address\":" << piece->address << ",\"size\":" << piece->size
               << ",\"requested_size\":" << (piece->used ? piece->requested : 0) << ",\"state\":\""
               << (piece->used ? "active_allocated" : "inactive") << "\"}";
      }
      text << (address == segments_.begin()->first ? "" : ",") << "{\"device\":" << device
           << ",\"address\":" << address << ",\"total_size\":" << total << ",\"allocated_size\":" << allocated
           << ",\"active_size\":" << allocated << ",\"requested_size\":" << requested << ",\"stream\":0"
           << ",\"segment_type\":\"" << (first->small ? "small" : "large") << "\",\"blocks\":[" << blocks.str()
           << "]}";
    }
    text << ']';
    return text.str();
  }

  // Locked during a fork, so that the child does not get a half-changed state.
  void lock() {
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
  }

  int number = 0;

 private:
  struct Less {
    bool operator()(const Piece* a, const Piece* b) const {
      return a->size != b->size ? a->size < b->size : a->address < b->address;
    }
  };

  static size_t rounded(size_t n) {
    return n < SMALLEST ? SMALLEST : (n + SMALLEST - 1) / SMALLEST * SMALLEST;
  }

  static size_t segment_size(size_t size) {
    return size <= SMALL ? SMALL_SEGMENT
        : size < OWN_SEGMENT ? LARGE_SEGMENT
                             : (size + ROUND_OWN - 1) / ROUND_OWN * ROUND_OWN;
  }

  size_t reserved() const {
    return tallies_[RESERVED][ALL].current;
  }

  size_t allowed() const {
    return fraction_ < 0 ? capacity_ : std::min(capacity_, size_t(fraction_ * double(capacity_)));
  }

  void update() {
    size_t left = allowed() > reserved() ? allowed() - reserved() : 0;
    roughly_left_.store(left > LARGE_SEGMENT ? left - LARGE_SEGMENT : 0, std::memory_order_relaxed);
  }

  void tally(Kind kind, bool small, int64_t n) {
    tallies_[kind][ALL].change(n);
    tallies_[kind][small ? SMALL_POOL : LARGE_POOL].change(n);
  }

  Piece* best(size_t size, bool small) {
    Piece wanted{0, size, small};
    auto found = free_[small].lower_bound(&wanted);
    if (found == free_[small].end()) {
      return nullptr;
    }
    Piece* piece = *found;
    free_[small].erase(found);
    return piece;
  }

  Piece* segment(size_t size, bool small) {
    size_t bytes = segment_size(size);
    if (reserved() + bytes > allowed()) {
      return nullptr;
    }
    auto* piece = new Piece{next_address_, bytes, small};
    next_address_ += (bytes + ROUND_OWN - 1) / ROUND_OWN * ROUND_OWN;
    segments_[piece->address] = piece;
    segments_made_++;
    tally(SEGMENT, small, 1);
    tally(RESERVED, small, bytes);
    update();
    return piece;
  }

  void release() {
    for (auto& set : free_) {
      for (auto at = set.begin(); at != set.end();) {
        Piece* piece = *at;
        if (!piece->whole()) {
          ++at;
          continue;
        }
        at = set.erase(at);
        segments_.erase(piece->address);
        segments_freed_++;
        tally(SEGMENT, piece->small, -1);
        tally(RESERVED, piece->small, -int64_t(piece->size));
        delete piece;
      }
    }
    update();
  }

  void note(Change::What what, uint64_t address, size_t size) {
    if (!recording_) {
      return;
    }
    static std::atomic<int64_t> numbers{0};
    int64_t number = numbers++;
    changes_.push_back({number, what, int64_t(address), int64_t(size), int64_t(reserved())});
    if (what != Change::FREED) {
      untold = number;
    }
  }

  void forget(Piece* piece) {
    free_[piece->small].erase(piece);
    tally(INACTIVE, piece->small, -1);
    tally(INACTIVE_BYTES, piece->small, -int64_t(piece->size));
  }

  // The message has CUDA's order and CUDA's numbers: the segment that the request needs, and not the request itself; the
  // memory of the process, which is the pool's here.
  [[noreturn]] void fail(size_t n) {
    size_t size = rounded(n);
    note(Change::REFUSED, 0, size);
    size_t free = capacity_ > reserved() ? capacity_ - reserved() : 0;
    size_t used = tallies_[ALLOCATED][ALL].current;
    std::string limit = fraction_ < 0 ? "" : in_words(allowed()) + " allowed; ";
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        false,
        "STANDIN out of memory. Tried to allocate ",
        in_words(segment_size(size)),
        ". GPU ",
        number,
        " has a total capacity of ",
        in_words(capacity_),
        " of which ",
        in_words(free),
        " is free. Including non-PyTorch memory, this process has ",
        in_words(reserved()),
        " memory in use. ",
        limit,
        "Of the allocated memory ",
        in_words(used),
        " is allocated by PyTorch, and ",
        in_words(reserved() - used),
        " is reserved by PyTorch but unallocated.");
    throw 0; // never reached: the check raises
  }

  std::mutex mutex_;
  std::set<Piece*, Less> free_[2]; // free pieces: of large segments, of small segments
  std::map<uint64_t, Piece*> segments_; // by address, each with its first piece
  std::array<std::array<Tally, POOLS>, KINDS> tallies_{};
  uint64_t next_address_ = uint64_t(0x7f) << 40;
  size_t capacity_ = size_t(4) << 30;
  double fraction_ = -1;
  std::atomic<size_t> roughly_left_{0};
  int64_t retries_ = 0, ooms_ = 0, segments_made_ = 0, segments_freed_ = 0;
  bool recording_ = false;
  std::vector<Change> changes_;
};

inline Pool& pool(int device) {
  static auto* all = new Pool[DEVICES];
  return all[device];
}

} // namespace standin
