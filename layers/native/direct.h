// The other convolutions, as products of matrices: 1×1, 3×3 of stride 2, and the first, whose three channels are too
// few for Winograd. Input is laid so that the outputs of a row read neighbours: even columns, then odd ones.
#pragma once
#include "input.h"
#include "multiply.h"
#include "norm.h"
#include "parallel.h"

constexpr int PIXELS = 112;  // outputs of a block: long enough that weights are read seldom
constexpr int FIRST = 7, COLOURS = 3;

template <class T>
constexpr int COLOUR_PITCH = std::is_same_v<T, Half> ? 4 : COLOURS;  // of a photo's pixel: bfloat16 goes in pairs

template <class T>
static void sum_up(const T* y, size_t floats, Sums& sums) {
    Lanes lanes;
    for (size_t i = 0; i < floats; i += LANES) {
        lanes.add(load(y + i));
        if (i % (FEW * LANES) == 0) lanes.flush(sums);
    }
    lanes.flush(sums);
}

// prepare(row, first column, columns, scratch) fills scratch; chunks(column, scratch, list) names what it is read from.
template <int PITCH, int LENGTH, class T, class Prepare, class Chunks>
static void in_blocks(int height, int width, int n, int count, size_t scratch, const T* weights, T* y,
                      const Norm& norm, Prepare prepare, Chunks chunks) {
    const int bands = (width + PIXELS - 1) / PIXELS, wide = (width + bands - 1) / bands, blocks = height * bands;
    std::vector<Sums> sums(blocks);
    share(blocks, scratch, [&](int block, float* memory) {
        T* patch = reinterpret_cast<T*>(memory);
        const int row = block / bands, left = block % bands * wide, pixels = std::min(wide, width - left);
        T* to = y + (size_t(row) * width + left) * n;
        prepare(row, left, pixels, patch);
        for (int o = 0; o < n; o += PANEL)
            in_rows(pixels, [&](int begin, int end) {
                const T* chunk[64];
                chunks(begin, patch, chunk);
                const T* panel = weights + size_t(o) * count * DEPTH<T, LENGTH>;
                multiply<PITCH, LENGTH>(end - begin, chunk, count, panel, to + size_t(begin) * n + o, n, LANES);
            });
        sum_up(to, size_t(pixels) * n, sums[block]);
    });
    norm.finish(sums, double(height) * width * n, n);
}

// (n / 32, depth, 32), in the type that is multiplied.
static void round_weights(const float* weights, size_t depth, int n, Half* u) {
    share(n / PANEL, 0, [&](int o, float*) {
        const float* from = weights + o * depth * PANEL;
        for (size_t k = 0; k < depth; k += 2)
            for (int half = 0; half < PANEL; half += LANES)
                put_weights(u + o * depth * PANEL, int(k), half, load(from + k * PANEL + half),
                            load(from + (k + 1) * PANEL + half));
    });
}

// 1×1 of stride 1, or 3×3 of stride 2 that begins at pixel 0.
template <class T>
static void direct(const Input<T>& in, int kernel, int stride, const T* weights, T* y, int n, const Norm& norm) {
    const int groups = in.c / LINE<T>, count = kernel * kernel * groups;
    STD_TORCH_CHECK(in.c % LINE<T> == 0 && count <= 64, "animegan: not for ", in.c, " channels");
    const int columns = PIXELS + kernel;
    const size_t phase = size_t(columns) * LINE<T>, row = stride * phase, group = kernel * row;
    const size_t patch_floats = groups * group * sizeof(T) / sizeof(float);
    const size_t scratch = patch_floats + aside_floats(kernel, stride * columns, in.c);
    const auto prepare = [&](int r, int left, int pixels, T* patch) {
        float* aside = reinterpret_cast<float*>(patch) + patch_floats;
        const auto at = [&](int i, int j) { return patch + i * row + j % stride * phase + size_t(j / stride) * LINE<T>; };
        gather(in, r * stride, left * stride, kernel, (pixels - 1) * stride + kernel, at, group, aside);
    };
    const auto chunks = [&](int begin, const T* patch, const T** chunk) {
        for (int dy = 0; dy < kernel; dy++)
            for (int dx = 0; dx < kernel; dx++)
                for (int k = 0; k < groups; k++)
                    *chunk++ = patch + k * group + dy * row + dx % stride * phase + size_t(dx / stride + begin) * LINE<T>;
    };
    in_blocks<LINE<T>, LINE<T>>(in.height / stride, in.width / stride, n, count, scratch, weights, y, norm, prepare,
                            chunks);
}

// (n / 32, 7, 7, 3, 32): a row of taps is a chunk, and each of its pixels has a fourth value, which is 0.
static void round_first(const float* weights, int n, Half* u) {
    for (int row = 0; row < n / PANEL * FIRST; row++, u += 2 * TILE)
        for (int column = 0; column < FIRST; column++, weights += COLOURS * PANEL)
            for (int half = 0; half < PANEL; half += LANES) {
                const float* colour = weights + half;
                put_weights(u, column * 4, half, load(colour), load(colour + PANEL));
                put_weights(u, column * 4 + 2, half, load(colour + 2 * PANEL), Vector{});
            }
}

// 7×7 of the photo itself, (h, w, 3): the seven pixels of a row of taps lie together.
template <class T>
static void first(const Input<T>& in, const T* weights, T* y, int n, const Norm& norm) {
    constexpr int PITCH = COLOUR_PITCH<T>;
    const size_t row = (PIXELS + FIRST) * PITCH;
    const auto prepare = [&](int r, int left, int pixels, T* patch) {
        for (int i = 0; i < FIRST; i++)
            for (int j = 0; j < pixels + FIRST - 1; j++) {
                const int from = reflect(r + i - FIRST / 2, in.h), at = reflect(left + j - FIRST / 2, in.w);
                T* to = patch + i * row + j * PITCH;
                to[PITCH - 1] = 0;
                std::memcpy(to, in.x + (size_t(from) * in.w + at) * COLOURS, COLOURS * sizeof(T));
            }
    };
    const auto chunks = [&](int begin, const T* patch, const T** chunk) {
        for (int i = 0; i < FIRST; i++) *chunk++ = patch + i * row + begin * PITCH;
    };
    in_blocks<PITCH, FIRST * PITCH>(in.h, in.w, n, FIRST, FIRST * row, weights, y, norm, prepare, chunks);
}
