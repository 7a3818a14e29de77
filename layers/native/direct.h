// The other convolutions, as products of matrices: 1×1, 3×3 of stride 2, and the first, whose three channels are too
// few for Winograd. Input is laid so that the outputs of a row read neighbours: even columns, then odd ones.
#pragma once
#include "input.h"
#include "multiply.h"
#include "norm.h"
#include "parallel.h"

constexpr int PIXELS = 112;  // outputs of a block: long enough that weights are read seldom
constexpr int FIRST = 7, COLOURS = 3;

static void sum_up(const float* y, size_t floats, Sums& sums) {
    Lanes lanes;
    for (size_t i = 0; i < floats; i += LANES) {
        lanes.add(load(y + i));
        if (i % (FEW * LANES) == 0) lanes.flush(sums);
    }
    lanes.flush(sums);
}

// prepare(row, first column, columns, scratch) fills scratch; chunks(column, scratch, list) names what it is read from.
template <int PITCH, int LENGTH, class Prepare, class Chunks>
static void in_blocks(int height, int width, int n, int count, size_t scratch, const float* weights, float* y,
                      const Norm& norm, Prepare prepare, Chunks chunks) {
    const int bands = (width + PIXELS - 1) / PIXELS, wide = (width + bands - 1) / bands, blocks = height * bands;
    std::vector<Sums> sums(blocks);
    share(blocks, scratch, [&](int block, float* patch) {
        const int row = block / bands, left = block % bands * wide, pixels = std::min(wide, width - left);
        float* to = y + (size_t(row) * width + left) * n;
        prepare(row, left, pixels, patch);
        for (int o = 0; o < n; o += PANEL)
            in_rows(pixels, [&](int begin, int end) {
                const float* chunk[64];
                chunks(begin, patch, chunk);
                const float* panel = weights + size_t(o) * count * LENGTH;
                multiply<PITCH, LENGTH>(end - begin, chunk, count, panel, to + size_t(begin) * n + o, n, LANES);
            });
        sum_up(to, size_t(pixels) * n, sums[block]);
    });
    norm.finish(sums, double(height) * width * n, n);
}

// 1×1 of stride 1, or 3×3 of stride 2 that begins at pixel 0.
static void direct(const Input& in, int kernel, int stride, const float* weights, float* y, int n,
                   const Norm& norm) {
    const int groups = in.c / LANES, count = kernel * kernel * groups;
    STD_TORCH_CHECK(count <= 64, "animegan: ", in.c, " channels are too many");
    const int columns = PIXELS + kernel;
    const size_t phase = size_t(columns) * LANES, row = stride * phase, group = kernel * row;
    const size_t patch_floats = groups * group;
    const size_t scratch = patch_floats + aside_floats(kernel, stride * columns, in.c);
    const auto prepare = [&](int r, int left, int pixels, float* patch) {
        const auto at = [&](int i, int j) { return patch + i * row + j % stride * phase + size_t(j / stride) * LANES; };
        gather(in, r * stride, left * stride, kernel, (pixels - 1) * stride + kernel, at, group, patch + patch_floats);
    };
    const auto chunks = [&](int begin, const float* patch, const float** chunk) {
        for (int dy = 0; dy < kernel; dy++)
            for (int dx = 0; dx < kernel; dx++)
                for (int k = 0; k < groups; k++)
                    *chunk++ = patch + k * group + dy * row + dx % stride * phase + size_t(dx / stride + begin) * LANES;
    };
    in_blocks<LANES, LANES>(in.height / stride, in.width / stride, n, count, scratch, weights, y, norm, prepare,
                            chunks);
}

// 7×7 of the photo itself, (h, w, 3): the seven pixels of a row of taps are 21 values that lie together.
static void first(const Input& in, const float* weights, float* y, int n, const Norm& norm) {
    const size_t row = (PIXELS + FIRST) * COLOURS;
    const auto prepare = [&](int r, int left, int pixels, float* patch) {
        for (int i = 0; i < FIRST; i++)
            for (int j = 0; j < pixels + FIRST - 1; j++) {
                const int from = reflect(r + i - FIRST / 2, in.h), at = reflect(left + j - FIRST / 2, in.w);
                std::memcpy(patch + i * row + j * COLOURS, in.x + (size_t(from) * in.w + at) * COLOURS,
                            COLOURS * sizeof(float));
            }
    };
    const auto chunks = [&](int begin, const float* patch, const float** chunk) {
        for (int i = 0; i < FIRST; i++) *chunk++ = patch + i * row + begin * COLOURS;
    };
    in_blocks<COLOURS, FIRST * COLOURS>(in.h, in.w, n, FIRST, FIRST * row, weights, y, norm, prepare,
                                               chunks);
}
