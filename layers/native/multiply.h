// The inner product of everything: up to 14 rows times 32 columns, whose 28 sums fill the registers. Each of its 28
// multiplications a step needs 16 loads, so that the multipliers are what it waits for. In bfloat16 a step is two values
// deep.
#pragma once
#include "vector.h"

constexpr int PANEL = 2 * LANES;  // columns of weights that lie together: (columns / 32, depth, 32)
constexpr int MOST_ROWS = 14;
constexpr int TILE = 16 * LINE<Half>;  // bfloat16 weights: (columns / 32, depth / 32, 2, 16, 16, 2), pairs along the depth

template <class T, int LENGTH>
constexpr int DEPTH = std::is_same_v<T, Half> ? LINE<Half> : LENGTH;  // what weights have for LENGTH values of a chunk

// Row r is the values at chunk + r · PITCH of each of `chunks`, LENGTH from each; sums go to out + r · row (+ right).
template <int ROWS, int PITCH, int LENGTH, class Out>
static void product(const float* const* chunk, int chunks, const float* weights, Out* out, size_t row, size_t right) {
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

static inline __m512bh pairs(const Half* from) {
    __m512bh v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

static inline __m512bh everywhere(const Half* pair) {
    int bits;
    std::memcpy(&bits, pair, sizeof bits);
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(bits));
}

template <int ROWS, int PITCH, int LENGTH, class Out>
static void product(const Half* const* chunk, int chunks, const Half* weights, Out* out, size_t row, size_t right) {
    static_assert(LENGTH % 2 == 0 && LENGTH <= LINE<Half>);
    __m512 a[ROWS] = {}, b[ROWS] = {};
    for (int i = 0; i < chunks; i++, weights += 2 * TILE)
        for (int k = 0; k < LENGTH / 2; k++) {
            const __m512bh left = pairs(weights + k * LINE<Half>), other = pairs(weights + k * LINE<Half> + TILE);
#pragma GCC unroll 14
            for (int r = 0; r < ROWS; r++) {
                const __m512bh value = everywhere(chunk[i] + r * PITCH + 2 * k);
                a[r] = _mm512_dpbf16_ps(a[r], value, left);
                b[r] = _mm512_dpbf16_ps(b[r], value, other);
            }
        }
#pragma GCC unroll 14
    for (int r = 0; r < ROWS; r++) {
        store(out + r * row, reinterpret_cast<Vector>(a[r]));
        store(out + r * row + right, reinterpret_cast<Vector>(b[r]));
    }
}

// The same with the number of rows known only at run time.
template <int PITCH, int LENGTH, int ROWS = MOST_ROWS, class T, class Out>
static void multiply(int rows, const T* const* chunk, int chunks, const T* weights, Out* out, size_t row, size_t right) {
    if (rows == ROWS)
        product<ROWS, PITCH, LENGTH>(chunk, chunks, weights, out, row, right);
    else if constexpr (ROWS > 1)
        multiply<PITCH, LENGTH, ROWS - 1>(rows, chunk, chunks, weights, out, row, right);
}

// Weights of depths k and k + 1, k even, for 16 columns of a panel.
static inline void put_weights(float* panel, int k, int column, Vector even, Vector odd) {
    store(panel + size_t(k) * PANEL + column, even);
    store(panel + size_t(k + 1) * PANEL + column, odd);
}

static inline void put_weights(Half* panel, int k, int column, Vector even, Vector odd) {
    const __m512i low = _mm512_cvtepu16_epi32(rounded(even)), high = _mm512_cvtepu16_epi32(rounded(odd));
    const __m512i both = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    Half* tiles = panel + size_t(k / LINE<Half>) * 2 * TILE + column / LANES * TILE;
    std::memcpy(tiles + k % LINE<Half> / 2 * LINE<Half>, &both, sizeof both);
}

// body(begin, end) for parts of 0…length, all about equally long and none longer than MOST_ROWS.
template <class Body>
static void in_rows(int length, Body body) {
    const int parts = (length + MOST_ROWS - 1) / MOST_ROWS;
    for (int part = 0; part < parts; part++) body(length * part / parts, length * (part + 1) / parts);
}
