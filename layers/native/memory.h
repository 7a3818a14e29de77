// Memory for pictures between layers, kept for the next layer and the next photo. Photos are of all sizes, and an
// allocator that cuts such blocks out of each other's remains ends with holes that nothing fits into: a process then
// grows for hours (docs/performance.md). Here there are as many blocks as were ever needed at once.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

class Blocks {
  public:
    struct Block {
        void* memory;
        size_t bytes;
    };

    // The smallest that suffices. Where none does, the largest gives way to a larger one. Null memory: there is none.
    Block take(size_t bytes) {
        const std::lock_guard<std::mutex> guard(lock_);
        auto found = std::find_if(free_.begin(), free_.end(), [&](const Block& each) { return each.bytes >= bytes; });
        if (found == free_.end()) {
            if (!free_.empty()) {
                munmap(free_.back().memory, free_.back().bytes);
                free_.pop_back();
            }
            return fresh((bytes / HUGE_PAGE + 1) * HUGE_PAGE);
        }
        const Block block = *found;
        free_.erase(found);
        return block;
    }

    void give(Block block) {
        const std::lock_guard<std::mutex> guard(lock_);
        const auto larger = [&](const Block& each) { return each.bytes > block.bytes; };
        free_.insert(std::find_if(free_.begin(), free_.end(), larger), block);
    }

  private:
    static constexpr size_t HUGE_PAGE = 2 << 20;

    static Block fresh(size_t bytes) {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return {nullptr, 0};
        madvise(memory, bytes, MADV_HUGEPAGE);
        return {memory, bytes};
    }

    std::mutex lock_;
    std::vector<Block> free_;  // from small to large
};

// Left to the end of the process: tensors may outlive everything static.
static inline Blocks& blocks() {
    static Blocks& all = *new Blocks;
    return all;
}

// A thread's own for one kind of layer, which grows to what that ever needed.
class Scratch {
  public:
    // Null: there is no memory.
    float* of(size_t floats) {
        const size_t bytes = (floats * sizeof(float) / 64 + 1) * 64;
        if (bytes > bytes_) {
            std::free(memory_);
            memory_ = static_cast<float*>(std::aligned_alloc(64, bytes));
            bytes_ = memory_ ? bytes : 0;
        }
        return memory_;
    }
    ~Scratch() { std::free(memory_); }

  private:
    float* memory_ = nullptr;
    size_t bytes_ = 0;
};
