// Blocks of work, shared out among torch's own threads: a second OpenMP runtime would bring a second pool of them.
#pragma once
#include <torch/csrc/stable/ops.h>

#include <atomic>

#include "memory.h"

template <class Work>
struct Job {
    const Work& work;
    int blocks;
    size_t scratch;
    std::atomic<int> next{0};
    std::atomic<bool> failed{false};

    // Each takes the next block when it is done with one, so that a thread that was held up keeps nobody waiting.
    void run() {
        static thread_local Scratch own;
        float* memory = own.of(scratch);
        if (!memory) failed = true;
        while (memory && !failed) {
            const int block = next++;
            if (block >= blocks) break;
            work(block, memory);
        }
    }
};

// work(block, scratch) for each block, with `scratch` floats that are this thread's.
template <class Work>
static void share(int blocks, size_t scratch, const Work& work) {
    Job<Work> job{work, blocks, scratch};
    torch::stable::parallel_for(0, torch::stable::get_num_threads(), 1, [&](int64_t, int64_t) { job.run(); });
    STD_TORCH_CHECK(!job.failed, "animegan: no memory for ", scratch * sizeof(float), " bytes of scratch");
}
