// bfloat16 convolutions for processors with AMX, whose tile multiplier is so fast that Winograd's transforms would cost
// more than they save: plain products of matrices, summed in float32. Inputs and weights are rounded, outputs are not.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include "direct.h"
#include "input.h"
#include "multiply.h"
#include "norm.h"
#include "parallel.h"

constexpr int HALVES = LINE<Half>;
constexpr int LINES = 32, ROW_BLOCK = 8;  // pixels and rows of a block
constexpr int MOST_LINES = 128;

// Linux gives a process tiles when it asks (ARCH_REQ_XCOMP_PERM, XTILEDATA).
static bool tiles_allowed() {
    static const bool allowed = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
    return allowed;
}

struct alignas(64) TileShapes {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Not on a stack: by what GCC is told, loading a configuration reads its first eight bytes, so others need not be there.
static constexpr TileShapes TILE_SHAPES;

// 32 pixels times 32 columns: pixel r is the lines chunk[i] + 32 r. Sums go to out, (32, 32).
static void product_of_tiles(const Half* const* chunk, int chunks, const Half* weights, float* out) {
    asm volatile("" ::: "memory");  // GCC is not told that tiles are loaded from memory: what was stored must be there
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int i = 0; i < chunks; i++, weights += 2 * TILE) {
        _tile_loadd(4, chunk[i], 64);
        _tile_loadd(6, weights, 64);
        _tile_loadd(7, weights + TILE, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, chunk[i] + TILE, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out, PANEL * sizeof(float));
    _tile_stored(1, out + LANES, PANEL * sizeof(float));
    _tile_stored(2, out + 16 * PANEL, PANEL * sizeof(float));
    _tile_stored(3, out + 16 * PANEL + LANES, PANEL * sizeof(float));
}

// Any kernel and stride; `u` is for the weights.
static void halves(const Input<Half>& in, int kernel, int stride, const float* weights, Half* u, Half* y, int n,
                   const Norm& norm) {
    const int groups = in.c / HALVES, count = kernel * kernel * groups, pad = stride == 1 ? kernel / 2 : 0;
    STD_TORCH_CHECK(in.c % HALVES == 0 && count <= MOST_LINES, "animegan: no layer of ", in.c, " channels for AMX");
    const int height = in.height / stride, width = in.width / stride;
    const int bands = (width + LINES - 1) / LINES, blocks = bands * ((height + ROW_BLOCK - 1) / ROW_BLOCK);
    const int patch_rows = (ROW_BLOCK - 1) * stride + kernel, patch_cols = (LINES - 1) * stride + kernel;
    const size_t phase = size_t(LINES + kernel) * HALVES, row = stride * phase, group = patch_rows * row;
    const size_t patch_floats = groups * group / 2, sums_floats = LINES * PANEL;
    std::vector<Sums> sums(blocks);
    round_weights(weights, size_t(kernel) * kernel * in.c, n, u);

    const size_t scratch = patch_floats + sums_floats + aside_floats(patch_rows, patch_cols, in.c);
    share(blocks, scratch, [&](int block, float* memory) {
        Half* patch = reinterpret_cast<Half*>(memory);
        float *out = memory + patch_floats, *aside = out + sums_floats;
        const int top = block / bands * ROW_BLOCK, left = block % bands * LINES;
        const int rows = std::min(ROW_BLOCK, height - top), cols = std::min(LINES, width - left);
        const auto at = [&](int i, int j) {
            return patch + i * row + j % stride * phase + size_t(j / stride) * HALVES;
        };
        gather(in, top * stride - pad, left * stride - pad, (rows - 1) * stride + kernel, (cols - 1) * stride + kernel,
               at, group, aside);
        _tile_loadconfig(&TILE_SHAPES);
        for (int o = 0; o < n; o += PANEL)
            for (int r = 0; r < rows; r++) {
                const Half* chunk[MOST_LINES];
                for (int dy = 0, i = 0; dy < kernel; dy++)
                    for (int dx = 0; dx < kernel; dx++)
                        for (int k = 0; k < groups; k++)
                            chunk[i++] = patch + k * group + (r * stride + dy) * row + dx % stride * phase +
                                         size_t(dx / stride) * HALVES;
                product_of_tiles(chunk, count, u + size_t(o) * count * HALVES, out);
                Lanes lanes;
                Half* to = y + (size_t(top + r) * width + left) * n + o;
                for (int q = 0; q < cols; q++, to += n)
                    for (int k = 0; k < PANEL; k += LANES) {
                        const Vector v = load(out + q * PANEL + k);
                        store(to + k, v);
                        lanes.add(v);
                    }
                lanes.flush(sums[block]);
            }
        _tile_release();
    });
    norm.finish(sums, double(height) * width * n, n);
}
