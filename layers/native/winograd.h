// Convolutions 3×3 and 7×7 of stride 1. A block of tiles is transformed into V, (points, c / 16, tiles, 16); then each
// point is a product of matrices, [tiles × c] · [c × n]; then M, the same for n, is transformed into the output. V, M
// and a patch of input stay in the second-level cache.
//
// 7×7 has an eighth, empty row and column of taps, and is four filters of 4×4. As they lie four pixels apart, and so
// do tiles, each reads V of a neighbouring tile: V is made once for all four.
#pragma once
#include "filters.h"
#include "input.h"
#include "multiply.h"
#include "norm.h"
#include "parallel.h"
#include "tiles.h"

constexpr int TILES = 64;   // of a block, about
constexpr int SEGMENT = 8;  // tiles whose patch is gathered at a time
constexpr int MOST_CHUNKS = 64;

template <class Taps, class T>
static void transform_input(const float* patch, int cols, int c, int tiles, T* v, size_t point, size_t group) {
    constexpr int N = Taps::POINTS;
    for (int k = 0; k < c; k += LANES)
        for (int t = 0; t < tiles; t++) {
            const float* from = patch + size_t(t) * OUT * c + k;
            Vector columns[N][N];
            for (int j = 0; j < N; j++) {
                Vector in[N], out[N];
                for (int i = 0; i < N; i++) in[i] = load(from + size_t(i * cols + j) * c);
                Taps::input(in, out);
                for (int i = 0; i < N; i++) columns[i][j] = out[i];
            }
            for (int i = 0; i < N; i++) {
                Vector out[N];
                Taps::input(columns[i], out);
                for (int j = 0; j < N; j++) put(v + (i * N + j) * point + size_t(t) * LINE<T>, group, k, out[j]);
            }
        }
}

// A row of tiles, of which `rows` and `cols` pixels lie in the picture, for a panel of channels.
template <class Taps, class T>
static void transform_output(const float* m, size_t point, size_t group, int tiles, T* y, int n, int width, int rows,
                             int cols, Sums& sums) {
    constexpr int N = Taps::POINTS;
    for (int t = 0; t < tiles; t++) {
        const int down = std::min(rows, OUT), across = std::min(cols - t * OUT, OUT);
        Lanes lanes;
        for (int k = 0; k < PANEL / LANES; k++) {
            const float* from = m + k * group + size_t(t) * LANES;
            Vector columns[OUT][N];
            for (int j = 0; j < N; j++) {
                Vector in[N], out[OUT];
                for (int i = 0; i < N; i++) in[i] = load(from + (i * N + j) * point);
                Taps::output(in, out);
                for (int i = 0; i < OUT; i++) columns[i][j] = out[i];
            }
            for (int i = 0; i < down; i++) {
                Vector out[OUT];
                Taps::output(columns[i], out);
                T* to = y + (size_t(i) * width + t * OUT) * n + k * LANES;
                for (int j = 0; j < across; j++, to += n) {
                    store(to, out[j]);
                    lanes.add(out[j]);
                }
            }
        }
        lanes.flush(sums);
    }
}

// SPLIT² filters of Taps each way; `u` is for them.
template <class Taps, int SPLIT, class T>
static void winograd(const Input<T>& in, const float* weights, T* u, T* y, int n, const Norm& norm) {
    constexpr int N = Taps::POINTS, HALO = SPLIT - 1, PAD = SPLIT == 1 ? 1 : 3;
    const int c = in.c, lines = c / LINE<T>, chunks = SPLIT * SPLIT * lines;
    STD_TORCH_CHECK(c % LINE<T> == 0 && chunks <= MOST_CHUNKS, "animegan: not for ", c, " channels");
    const int down = (in.height + OUT - 1) / OUT, across = (in.width + OUT - 1) / OUT;
    // With a halo, blocks are about square, so that little of V is made twice.
    const int bands = (across - 1) / (HALO ? TILES / 4 : TILES) + 1, wide = (across + bands - 1) / bands;
    const int high = std::clamp(TILES / wide, 1, HALO ? 4 : down), blocks = bands * ((down + high - 1) / high);

    // A line more than the tiles take: else the same tile of every point would compete for one set of the cache.
    const size_t v_point = size_t(wide + HALO) * (high + HALO) * c + LINE<T>;
    const size_t m_point = size_t(wide) * high * PANEL + LANES;
    const size_t v_floats = N * N * v_point * sizeof(T) / sizeof(float);
    const size_t patch_floats = size_t(N) * (SEGMENT * OUT + N) * c;
    const size_t scratch = v_floats + N * N * m_point + patch_floats + aside_floats(N, SEGMENT * OUT + N, c);
    std::vector<Sums> sums(blocks);
    transform_filters<Taps, SPLIT>(weights, c, n, u);

    share(blocks, scratch, [&](int block, float* memory) {
        T* v = reinterpret_cast<T*>(memory);
        float *m = memory + v_floats, *patch = m + N * N * m_point, *aside = patch + patch_floats;
        const int top = block / bands * high, left = block % bands * wide;
        const int rows = std::min(high, down - top), cols = std::min(wide, across - left), v_cols = cols + HALO;
        const size_t v_group = size_t(v_cols) * (rows + HALO) * LINE<T>, m_group = size_t(cols) * rows * LANES;
        for (int r = 0; r < rows + HALO; r++)
            for (int q = 0; q < v_cols; q += SEGMENT) {
                const int tiles = std::min(SEGMENT, v_cols - q), pixels = tiles * OUT + N - OUT;
                const auto at = [&](int i, int j) { return patch + size_t(i * pixels + j) * c; };
                gather(in, (top + r) * OUT - PAD, (left + q) * OUT - PAD, N, pixels, at, LANES, aside);
                T* to = v + size_t(r * v_cols + q) * LINE<T>;
                transform_input<Taps>(patch, pixels, c, tiles, to, v_point, v_group);
            }
        // Tiles that a filter reads lie in one run, or with a halo in one a row.
        const int runs = HALO ? rows : 1, length = HALO ? cols : rows * cols;
        for (int o = 0; o < n; o += PANEL) {
            for (int point = 0; point < N * N; point++)
                for (int run = 0; run < runs; run++)
                    in_rows(length, [&](int begin, int end) {
                        const T* chunk[MOST_CHUNKS];
                        for (int s = 0, i = 0; s < SPLIT * SPLIT; s++)
                            for (int k = 0; k < lines; k++)
                                chunk[i++] = v + point * v_point + k * v_group +
                                             size_t((run + s / SPLIT) * v_cols + s % SPLIT + begin) * LINE<T>;
                        const T* panel = u + (size_t(point) * n + o) * SPLIT * SPLIT * c;
                        float* out = m + point * m_point + size_t(run * cols + begin) * LANES;
                        multiply<LINE<T>, LINE<T>>(end - begin, chunk, chunks, panel, out, LANES, m_group);
                    });
            for (int r = 0; r < rows; r++) {
                const int y0 = (top + r) * OUT, x0 = left * OUT;
                transform_output<Taps>(m + size_t(r) * cols * LANES, m_point, m_group, cols,
                                       y + (size_t(y0) * in.width + x0) * n + o, n, in.width, in.height - y0,
                                       in.width - x0, sums[block]);
            }
        }
    });
    norm.finish(sums, double(in.height) * in.width * n, n);
}
