// Sixteen float32 at a time, in the vector types that GCC and Clang share: operators work on all of them, and a product
// and a sum become one fused instruction. With AVX-512 such a vector is one register.
#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

using Vector = float __attribute__((vector_size(64)));
constexpr int LANES = 16;

static inline Vector load(const float* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float* to, Vector v) { std::memcpy(to, &v, sizeof v); }

static inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

static inline float total(Vector v) { return _mm512_reduce_add_ps(reinterpret_cast<__m512>(v)); }
