// Winograd's filters: SPLIT² of Taps each way, at all their points.
#pragma once
#include "multiply.h"
#include "parallel.h"
#include "tiles.h"

template <class Taps, int SPLIT>
constexpr size_t filter_values(int c, int n) {
    return size_t(Taps::POINTS * Taps::POINTS * SPLIT * SPLIT) * c * n;
}

// A filter's taps for 16 columns of a panel, (side², c, 32), at all points of both directions.
template <class Taps, int SPLIT>
static inline void at_points(const float* taps, int c, int split, Vector (&at)[Taps::POINTS][Taps::POINTS]) {
    constexpr int N = Taps::POINTS, T = Taps::TAPS, SIDE = SPLIT == 1 ? 3 : 7;
    Vector rows[N][T];
    for (int x = 0; x < T; x++) {
        Vector column[T] = {}, points[N];
        for (int y = 0; y < T; y++) {
            const int down = split / SPLIT * T + y, across = split % SPLIT * T + x;
            if (down < SIDE && across < SIDE) column[y] = load(taps + size_t(down * SIDE + across) * c * PANEL);
        }
        filter<Taps>(column, points);
        for (int i = 0; i < N; i++) rows[i][x] = points[i];
    }
    for (int i = 0; i < N; i++) filter<Taps>(rows[i], at[i]);
}

// (n / 32, taps², c, 32) -> (points, n / 32, split² · c, 32). A hundredth of the work for one picture, so it is done
// for each: kept in the style's file, filters at their points would be four times as large.
template <class Taps, int SPLIT, class T>
static void transform_filters(const float* weights, int c, int n, T* u) {
    constexpr int N = Taps::POINTS, S = SPLIT * SPLIT, SIDE = SPLIT == 1 ? 3 : 7;
    share(n / PANEL * S, 0, [&](int block, float*) {
        const int o = block / S, s = block % S;
        for (int k = 0; k < c; k += 2)
            for (int half = 0; half < PANEL; half += LANES) {
                const float* taps = weights + (size_t(o) * SIDE * SIDE * c + k) * PANEL + half;
                Vector even[N][N], odd[N][N];
                at_points<Taps, SPLIT>(taps, c, s, even);
                at_points<Taps, SPLIT>(taps + PANEL, c, s, odd);
                for (int i = 0; i < N; i++)
                    for (int j = 0; j < N; j++) {
                        const size_t panel = size_t(i * N + j) * (n / PANEL) + o;
                        put_weights(u + (panel * S + s) * c * PANEL, k, half, even[i][j], odd[i][j]);
                    }
            }
    });
}
