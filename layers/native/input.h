// What a layer reads: the layer before as it was left, N×H×W×C. Normalising, leaky ReLU, bilinear resizing and padding
// by reflection happen on the way into a patch that stays in cache, instead of in a pass over memory each.
#pragma once
#include <algorithm>

#include "vector.h"

template <class T>
struct Input {
    const T* x;
    int h, w, c;
    const float* norm;  // (3, c): factors, summands, slopes; or null: read as it is
    int height, width;  // after resizing
    bool align_corners;

    bool resized() const { return h != height || w != width; }
};

// Past what a layer pads, where only unused parts of a tile read, any pixel will do.
static inline int reflect(int i, int n) {
    i = std::abs(i);
    return std::clamp(i < n ? i : 2 * (n - 1) - i, 0, n - 1);
}

template <class T>
static inline Vector activated(const Input<T>& in, const T* pixel, int k) {
    Vector v = load(pixel + k);
    if (!in.norm) return v;
    v = v * load(in.norm + k) + load(in.norm + in.c + k);
    return larger(v, load(in.norm + 2 * in.c + k) * v);
}

struct Between {
    int low, high;
    float share;
};

// As F.interpolate(mode="bilinear"): where pixel i of N lies among n.
static inline Between between(int i, int n, int N, bool align_corners) {
    const float at = align_corners ? i * (float(n - 1) / float(std::max(N - 1, 1)))
                                   : std::max((i + 0.5f) * (float(n) / float(N)) - 0.5f, 0.0f);
    const int low = std::min(int(at), n - 1);
    return {low, std::min(low + 1, n - 1), at - low};
}

static inline Vector mixed(const float* low, const float* high, float share) {
    const Vector a = load(low);
    return a + share * (load(high) - a);
}

struct Range {
    int first = 1 << 30, last = -1;
    void cover(Between b) {
        first = std::min(first, b.low);
        last = std::max(last, b.high);
    }
};

static inline size_t aside_floats(int rows, int cols, int c) { return size_t(rows + 3) * (cols + 3) * c; }

// Channels k…k+15 of a pixel: a line of 64 bytes has 16 float32 or 32 bfloat16, and a group is the lines of a patch.
static inline void put(float* pixel, size_t group, int k, Vector v) { store(pixel + k / LANES * group, v); }

static inline void put(Half* pixel, size_t group, int k, Vector v) {
    store(pixel + k / LINE<Half> * group + k % LINE<Half>, v);
}

// Pixels from (top, left) on go to at(r, q), in groups. `aside` is for resizing.
template <class T, class At>
static void gather(const Input<T>& in, int top, int left, int rows, int cols, At at, size_t group, float* aside) {
    const int c = in.c;
    const auto row_of = [&](int r) { return between(reflect(top + r, in.height), in.h, in.height, in.align_corners); };
    const auto col_of = [&](int q) { return between(reflect(left + q, in.width), in.w, in.width, in.align_corners); };
    if (!in.resized()) {
        for (int r = 0; r < rows; r++) {
            const T* row = in.x + size_t(reflect(top + r, in.h)) * in.w * c;
            for (int q = 0; q < cols; q++) {
                const T* pixel = row + size_t(reflect(left + q, in.w)) * c;
                for (int k = 0; k < c; k += LANES) put(at(r, q), group, k, activated(in, pixel, k));
            }
        }
        return;
    }
    Range ys, xs;
    for (int r = 0; r < rows; r++) ys.cover(row_of(r));
    for (int q = 0; q < cols; q++) xs.cover(col_of(q));
    float* wide = aside + size_t(xs.last - xs.first + 1) * c;  // the rows that are there, with all columns wanted
    for (int y = ys.first; y <= ys.last; y++) {
        const T* row = in.x + size_t(y) * in.w * c;
        for (int x = xs.first; x <= xs.last; x++)
            for (int k = 0; k < c; k += LANES)
                store(aside + size_t(x - xs.first) * c + k, activated(in, row + size_t(x) * c, k));
        for (int q = 0; q < cols; q++) {
            const Between b = col_of(q);
            const float *low = aside + size_t(b.low - xs.first) * c, *high = aside + size_t(b.high - xs.first) * c;
            float* to = wide + (size_t(y - ys.first) * cols + q) * c;
            for (int k = 0; k < c; k += LANES) store(to + k, mixed(low + k, high + k, b.share));
        }
    }
    for (int r = 0; r < rows; r++) {
        const Between b = row_of(r);
        for (int q = 0; q < cols; q++) {
            const float* low = wide + (size_t(b.low - ys.first) * cols + q) * c;
            const float* high = wide + (size_t(b.high - ys.first) * cols + q) * c;
            for (int k = 0; k < c; k += LANES) put(at(r, q), group, k, mixed(low + k, high + k, b.share));
        }
    }
}
