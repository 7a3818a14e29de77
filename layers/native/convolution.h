// Which algorithm a convolution is. Filters are rounded, or taken to their points, anew for each picture.
#pragma once
#include "amx.h"
#include "direct.h"
#include "tensors.h"
#include "winograd.h"

template <class T>
struct Convolution {
    Input<T> in;
    int kernel, stride, n;
    const float* weights;
    Norm norm;

    bool known() const {
        const bool spread = in.c == COLOURS ? kernel == 7 : kernel == 1 || kernel == 3 || kernel == 7;
        return (stride == 1 && spread) || (stride == 2 && kernel == 3 && in.c != COLOURS);
    }

    void operator()(Tensor& y) const {
        if (in.c == COLOURS) return of_photo(y);
        if constexpr (HALF)
            if (tiles_allowed()) {
                Tensor u = filters(y, depth() * n);
                return halves(in, kernel, stride, weights, data<T>(u), data<T>(y), n, norm);
            }
        if (kernel == 3 && stride == 1) return with_points<ThreeTaps, 1>(y);
        if (kernel == 7) return with_points<FourTaps, 2>(y);
        plain(y);
    }

  private:
    static constexpr bool HALF = std::is_same_v<T, Half>;

    size_t depth() const { return size_t(kernel) * kernel * in.c; }

    static Tensor filters(const Tensor& like, size_t count) { return empty(like, 1, 1, int64_t(count)); }

    template <class Taps, int SPLIT>
    void with_points(Tensor& y) const {
        Tensor u = filters(y, filter_values<Taps, SPLIT>(in.c, n));
        winograd<Taps, SPLIT>(in, weights, data<T>(u), data<T>(y), n, norm);
    }

    void of_photo(Tensor& y) const {
        if constexpr (HALF) {
            Tensor u = filters(y, size_t(n) * FIRST * LINE<Half>);
            round_first(weights, n, data<T>(u));
            first(in, data<T>(u), data<T>(y), n, norm);
        } else {
            first(in, weights, data<T>(y), n, norm);
        }
    }

    void plain(Tensor& y) const {
        if constexpr (HALF) {
            Tensor u = filters(y, depth() * n);
            round_weights(weights, depth(), n, data<T>(u));
            direct(in, kernel, stride, data<T>(u), data<T>(y), n, norm);
        } else {
            direct(in, kernel, stride, weights, data<T>(y), n, norm);
        }
    }
};
