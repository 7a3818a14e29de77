// Winograd's minimal filtering (Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", 2016) in one
// dimension: four outputs of a filter of three or four taps for six or seven multiplications. In two, that is 2.25
// multiplications an output instead of 9, and 3.06 instead of 16.
//
// Polynomials are taken at points, multiplied there, and found again. Points in pairs of opposite sign halve the work.
// These keep rounding errors small, of float32 as of bfloat16, by a search over sixteenths: with 0, ±1, ±2, which papers
// have, they are twice as large, and so they are for four taps with ±½, ±1, ±1½.
#pragma once
#include "vector.h"

constexpr int OUT = 4;  // outputs of a tile, and what one begins after the other

struct ThreeTaps {  // at 0, ±A, ±B, ∞
    static constexpr int POINTS = 6, TAPS = 3;
    static constexpr float A = 0.625f, B = 1.5f, AT[] = {0, A, -A, B, -B};

    static inline void input(const Vector* d, Vector* t) {
        constexpr float a = A * A, b = B * B;
        const Vector even_a = d[4] - b * d[2], odd_a = A * (d[3] - b * d[1]);
        const Vector even_b = d[4] - a * d[2], odd_b = B * (d[3] - a * d[1]);
        t[0] = d[4] - (a + b) * d[2] + (a * b) * d[0];
        t[1] = even_a + odd_a;
        t[2] = even_a - odd_a;
        t[3] = even_b + odd_b;
        t[4] = even_b - odd_b;
        t[5] = d[5] - (a + b) * d[3] + (a * b) * d[1];
    }

    static inline void output(const Vector* m, Vector* y) {
        const Vector even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
        y[0] = m[0] + even_a + even_b;
        y[1] = A * odd_a + B * odd_b;
        y[2] = (A * A) * even_a + (B * B) * even_b;
        y[3] = (A * A * A) * odd_a + (B * B * B) * odd_b + m[5];
    }
};

struct FourTaps {  // at ±A, ±B, ±C, ∞
    static constexpr int POINTS = 7, TAPS = 4;
    static constexpr float A = 0.3125f, B = 0.8125f, C = 1.625f, AT[] = {A, -A, B, -B, C, -C};

    static inline void input(const Vector* d, Vector* t) {
        constexpr float a = A * A, b = B * B, c = C * C;
        pair(d, t, A, b, c);
        pair(d, t + 2, B, a, c);
        pair(d, t + 4, C, a, b);
        t[6] = d[6] - (a + b + c) * d[4] + (a * b + b * c + c * a) * d[2] - (a * b * c) * d[0];
    }

    static inline void output(const Vector* m, Vector* y) {
        const Vector even_a = m[0] + m[1], odd_a = m[0] - m[1], even_b = m[2] + m[3], odd_b = m[2] - m[3];
        const Vector even_c = m[4] + m[5], odd_c = m[4] - m[5];
        y[0] = even_a + even_b + even_c;
        y[1] = A * odd_a + B * odd_b + C * odd_c;
        y[2] = (A * A) * even_a + (B * B) * even_b + (C * C) * even_c;
        y[3] = (A * A * A) * odd_a + (B * B * B) * odd_b + (C * C * C) * odd_c + m[6];
    }

  private:
    static inline void pair(const Vector* d, Vector* t, float p, float q, float r) {
        const Vector odd = d[5] - (q + r) * d[3] + (q * r) * d[1];
        const Vector even = p * (d[4] - (q + r) * d[2] + (q * r) * d[0]);
        t[0] = odd + even;
        t[1] = odd - even;
    }
};

// A filter at each point, over the product of the point's distances from the others.
template <class Taps>
static inline void filter(const Vector* taps, Vector* t) {
    for (int i = 0; i < Taps::POINTS - 1; i++) {
        float distances = 1;
        for (int j = 0; j < Taps::POINTS - 1; j++)
            if (j != i) distances *= Taps::AT[i] - Taps::AT[j];
        Vector value = taps[Taps::TAPS - 1];
        for (int tap = Taps::TAPS - 2; tap >= 0; tap--) value = value * Taps::AT[i] + taps[tap];
        t[i] = value * (1 / distances);
    }
    t[Taps::POINTS - 1] = taps[Taps::TAPS - 1];
}
