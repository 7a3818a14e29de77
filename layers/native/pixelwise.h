// Layers without products of matrices: depthwise 3×3, the sum of a residual block, and the picture.
#pragma once
#include "input.h"
#include "norm.h"
#include "parallel.h"

constexpr int ACROSS = 16, DOWN = 4;  // pixels of a block

// weights: (9, c); channels convolved each by itself, bias added.
template <class T>
static void depthwise(const Input<T>& in, const float* weights, const float* bias, T* y, const Norm& norm) {
    const int c = in.c, bands = (in.w + ACROSS - 1) / ACROSS, blocks = bands * ((in.h + DOWN - 1) / DOWN);
    std::vector<Sums> sums(blocks);
    const auto work = [&](int block, float* patch) {  // of ACROSS · DOWN = FEW pixels
        const int top = block / bands * DOWN, left = block % bands * ACROSS;
        const int rows = std::min(DOWN, in.h - top), cols = std::min(ACROSS, in.w - left), row = (cols + 2) * c;
        const auto at = [&](int i, int j) { return patch + size_t(i) * row + size_t(j) * c; };
        gather(in, top - 1, left - 1, rows + 2, cols + 2, at, LANES, nullptr);
        Lanes lanes;
        for (int k = 0; k < c; k += LANES) {
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < cols; j++) {
                    Vector v = load(bias + k);
                    for (int tap = 0; tap < 9; tap++)
                        v += load(weights + tap * c + k) * load(at(i + tap / 3, j + tap % 3) + k);
                    store(y + (size_t(top + i) * in.w + left + j) * c + k, v);
                    lanes.add(v);
                }
            lanes.flush(sums[block]);
        }
    };
    share(blocks, size_t(DOWN + 2) * (ACROSS + 2) * c, work);
    norm.finish(sums, double(in.h) * in.w * c, c);
}

// x + y, both normalised first where they have something to normalise with.
template <class T>
static void sum(const Input<T>& x, const Input<T>& y, T* out) {
    share(x.h, 0, [&](int row, float*) {
        for (size_t i = size_t(row) * x.w * x.c, end = i + size_t(x.w) * x.c; i < end; i += x.c)
            for (int k = 0; k < x.c; k += LANES)
                store(out + i + k, activated(x, x.x + i, k) + activated(y, y.x + i, k));
    });
}

// 32 channels -> three colours, (h, w, 3): weights (3, c). tanh is left to torch, which has it vectorised.
template <class T>
static void picture(const Input<T>& in, const float* weights, float* out) {
    share(in.h, 0, [&](int row, float*) {
        for (size_t i = size_t(row) * in.w, end = i + in.w; i < end; i++) {
            Vector colour[3] = {};
            for (int k = 0; k < in.c; k += LANES) {
                const Vector v = activated(in, in.x + i * in.c, k);
                for (int o = 0; o < 3; o++) colour[o] += v * load(weights + o * in.c + k);
            }
            for (int o = 0; o < 3; o++) out[i * 3 + o] = total(colour[o]);
        }
    });
}
