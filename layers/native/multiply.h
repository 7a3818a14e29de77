// The inner product of everything: up to 14 rows times 32 columns, whose 28 sums fill the registers. Each of its 28
// multiplications a step needs 16 loads, so that the multipliers are what it waits for.
#pragma once
#include "vector.h"

constexpr int PANEL = 2 * LANES;  // columns of weights that lie together: (columns / 32, depth, 32)
constexpr int MOST_ROWS = 14;

// Row r is the values at chunk + r · PITCH of each of `chunks`, LENGTH from each; sums go to out + r · row (+ right).
template <int ROWS, int PITCH, int LENGTH>
static void product(const float* const* chunk, int chunks, const float* weights, float* out, size_t row, size_t right) {
    Vector a[ROWS] = {}, b[ROWS] = {};
    for (int i = 0; i < chunks; i++) {
        const float* p = chunk[i];
        for (int k = 0; k < LENGTH; k++, p++, weights += PANEL) {
            const Vector left = load(weights), other = load(weights + LANES);
#pragma GCC unroll 14
            for (int r = 0; r < ROWS; r++) {
                a[r] += p[r * PITCH] * left;
                b[r] += p[r * PITCH] * other;
            }
        }
    }
#pragma GCC unroll 14
    for (int r = 0; r < ROWS; r++) {
        store(out + r * row, a[r]);
        store(out + r * row + right, b[r]);
    }
}

// The same with the number of rows known only at run time.
template <int PITCH, int LENGTH, int ROWS = MOST_ROWS>
static void multiply(int rows, const float* const* chunk, int chunks, const float* weights, float* out, size_t row,
                     size_t right) {
    if (rows == ROWS)
        product<ROWS, PITCH, LENGTH>(chunk, chunks, weights, out, row, right);
    else if constexpr (ROWS > 1)
        multiply<PITCH, LENGTH, ROWS - 1>(rows, chunk, chunks, weights, out, row, right);
}

// body(begin, end) for parts of 0…length, all about equally long and none longer than MOST_ROWS.
template <class Body>
static void in_rows(int length, Body body) {
    const int parts = (length + MOST_ROWS - 1) / MOST_ROWS;
    for (int part = 0; part < parts; part++) body(length * part / parts, length * (part + 1) / parts);
}
