// Sixteen float32 at a time, in the vector types that GCC and Clang share: operators work on all of them, and a product
// and a sum become one fused instruction. With AVX-512 such a vector is one register.
//
// Pictures between layers are float32 or bfloat16, the type T of all that reads or writes them; what is computed on the
// way is float32.
#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

using Vector = float __attribute__((vector_size(64)));
using Half = uint16_t;  // the bits of a bfloat16
constexpr int LANES = 16;

template <class T>
constexpr int LINE = 64 / sizeof(T);  // values of a cache line

static inline Vector load(const float* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float* to, Vector v) { std::memcpy(to, &v, sizeof v); }

// To the nearest, which takes a processor with AVX512-BF16.
static inline __m256i rounded(Vector v) {
    const auto halves = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v));
    __m256i bits;
    std::memcpy(&bits, &halves, sizeof bits);
    return bits;
}

static inline Vector load(const Half* from) {
    __m256i bits;
    std::memcpy(&bits, from, sizeof bits);
    return reinterpret_cast<Vector>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

static inline void store(Half* to, Vector v) {
    const __m256i bits = rounded(v);
    std::memcpy(to, &bits, sizeof bits);
}

static inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

static inline float total(Vector v) { return _mm512_reduce_add_ps(reinterpret_cast<__m512>(v)); }
