// GroupNorm of one group: its statistics are the whole picture's, so a layer can only be normalised once all of it is
// there. A layer therefore leaves its output as it is, with a factor, a summand and a slope per channel for its reader.
#pragma once
#include <cmath>
#include <vector>

#include "vector.h"

struct Sums {
    double sum = 0, squares = 0;
};

constexpr int FEW = 64;

// float32 sums of about that many values in each lane, so that little is lost; all further ones are float64.
struct Lanes {
    Vector sum = {}, squares = {};

    inline void add(Vector v) {
        sum += v;
        squares += v * v;
    }
    void flush(Sums& into) {
        into.sum += total(sum);
        into.squares += total(squares);
        sum = squares = Vector{};
    }
};

struct Norm {
    const float *weight, *bias;
    double eps;
    float slope;  // of the leaky ReLU after it; 1 where there is none
    float* out;   // (3, channels): factors, summands, slopes

    // Blocks are added in their order, whichever thread had them: results do not depend on the number of threads.
    void finish(const std::vector<Sums>& blocks, double count, int channels) const {
        Sums all;
        for (const Sums& block : blocks) {
            all.sum += block.sum;
            all.squares += block.squares;
        }
        const double mean = all.sum / count, variance = all.squares / count - mean * mean;
        const double inverse = 1 / std::sqrt(std::fmax(variance, 0) + eps);
        for (int c = 0; c < channels; c++) {
            out[c] = float(weight[c] * inverse);
            out[channels + c] = float(bias[c] - mean * weight[c] * inverse);
            out[2 * channels + c] = slope;
        }
    }
};
