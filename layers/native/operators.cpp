// torch.ops.animegan.*: the generator's layers for processors with AVX-512, for TorchScript modules that call them.
// Through PyTorch's stable ABI, so that a library serves any torch from 2.11 on. Pictures are (1, H, W, C), float32 or,
// where the processor multiplies that, bfloat16; all else is float32.
//
// A layer gives its output as its convolution left it, and `norm`, (3, C), which the next one reads it through.
//
// What does not fit is an error, and cannot happen: a manifest binds a style's module to the library that it was measured
// with. In the image, whose compiler brings a C++ runtime of its own, such an error would end the process.
#include <torch/csrc/stable/library.h>

#include <tuple>

#include "convolution.h"
#include "pixelwise.h"
#include "tensors.h"

using Layer = std::tuple<Tensor, Tensor>;

static Layer conv_operator(Tensor x, Tensor norm, Tensor weight, Tensor gamma, Tensor beta, double eps, double slope,
                           int64_t kernel, int64_t stride, int64_t height, int64_t width, bool align_corners) {
    return typed(x, [&](auto type) -> Layer {
        using T = decltype(type);
        Input<T> in = input<T>(x, norm, COLOURS);
        STD_TORCH_CHECK(can_become(in, height, width) && height >= stride && width >= stride,
                        "animegan: no picture of these sizes");
        in.height = int(height), in.width = int(width), in.align_corners = align_corners;
        const int64_t n = gamma.numel();
        STD_TORCH_CHECK(n > 0 && n % PANEL == 0, "animegan: ", n, " channels are no multiple of ", PANEL);
        Tensor through = torch::stable::new_empty(gamma, {3, n});
        const Norm to{floats(gamma, n, "gamma"), floats(beta, n, "beta"), eps, float(slope), data<float>(through)};
        const float* weights = floats(weight, kernel * kernel * in.c * n, "weight");
        const Convolution<T> convolve{in, int(kernel), int(stride), int(n), weights, to};
        STD_TORCH_CHECK(convolve.known(), "animegan: no convolution ", kernel, "×", kernel, " of stride ", stride);
        Tensor y = empty(x, height / stride, width / stride, n);
        convolve(y);
        return {y, through};
    });
}

static Layer depthwise_operator(Tensor x, Tensor norm, Tensor weight, Tensor bias, Tensor gamma, Tensor beta,
                                double eps, double slope) {
    return typed(x, [&](auto type) -> Layer {
        using T = decltype(type);
        const Input<T> in = input<T>(x, norm);
        Tensor y = empty(x, in.h, in.w, in.c), through = torch::stable::new_empty(gamma, {3, in.c});
        const Norm to{floats(gamma, in.c, "gamma"), floats(beta, in.c, "beta"), eps, float(slope), data<float>(through)};
        depthwise(in, floats(weight, 9 * in.c, "weight"), floats(bias, in.c, "bias"), data<T>(y), to);
        return {y, through};
    });
}

static Tensor add_operator(Tensor x, Tensor x_norm, Tensor y, Tensor y_norm) {
    return typed(x, [&](auto type) {
        using T = decltype(type);
        const Input<T> left = input<T>(x, x_norm), right = input<T>(y, y_norm);
        STD_TORCH_CHECK(left.h == right.h && left.w == right.w && left.c == right.c, "animegan: sizes differ");
        Tensor out = empty(x, left.h, left.w, left.c);
        sum(left, right, data<T>(out));
        return out;
    });
}

// float32 whatever it is made from: a picture's last rounding is to 256 levels.
static Tensor picture_operator(Tensor x, Tensor norm, Tensor weight) {
    return typed(x, [&](auto type) {
        const auto in = input<decltype(type)>(x, norm);
        Tensor out = empty(weight, in.h, in.w, COLOURS);
        picture(in, floats(weight, COLOURS * in.c, "weight"), data<float>(out));
        return out;
    });
}

STABLE_TORCH_LIBRARY(animegan, library) {
    library.def("conv(Tensor x, Tensor norm, Tensor weight, Tensor gamma, Tensor beta, float eps, "
                "float slope, int kernel, int stride, int height, int width, bool align_corners) -> (Tensor, Tensor)");
    library.def("depthwise(Tensor x, Tensor norm, Tensor weight, Tensor bias, Tensor gamma, "
                "Tensor beta, float eps, float slope) -> (Tensor, Tensor)");
    library.def("add(Tensor x, Tensor x_norm, Tensor y, Tensor y_norm) -> Tensor");
    library.def("picture(Tensor x, Tensor norm, Tensor weight) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(animegan, CPU, library) {
    library.impl("conv", TORCH_BOX(&conv_operator));
    library.impl("depthwise", TORCH_BOX(&depthwise_operator));
    library.impl("add", TORCH_BOX(&add_operator));
    library.impl("picture", TORCH_BOX(&picture_operator));
}
