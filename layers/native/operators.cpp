// torch.ops.animegan.*: the generator's layers for processors with AVX-512, for TorchScript modules that call them.
// Through PyTorch's stable ABI, so that a library serves any torch from 2.10 on. Tensors are float32, (1, H, W, C).
//
// A layer gives its output as its convolution left it, and `norm`, (3, C), which the next one reads it through.
//
// What does not fit is an error, and cannot happen: a manifest binds a style's module to the library that it was measured
// with. In the image, whose compiler brings a C++ runtime of its own, such an error would end the process.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <tuple>

#include "amx.h"
#include "direct.h"
#include "pixelwise.h"
#include "winograd.h"

using torch::stable::Tensor;
using Layer = std::tuple<Tensor, Tensor>;

static const float* floats(const Tensor& tensor, int64_t count, const char* name) {
    STD_TORCH_CHECK(tensor.scalar_type() == torch::headeronly::ScalarType::Float && tensor.is_contiguous() &&
                        tensor.numel() == count,
                    "animegan: ", name, " must be ", count, " contiguous float32, and is ", tensor.numel());
    return static_cast<const float*>(tensor.const_data_ptr());
}

static Input input(const Tensor& x, const Tensor& norm) {
    STD_TORCH_CHECK(x.dim() == 4 && x.size(0) == 1, "animegan: a picture must be (1, H, W, C)");
    const int h = int(x.size(1)), w = int(x.size(2)), c = int(x.size(3));
    STD_TORCH_CHECK(h > 0 && w > 0 && (c % LANES == 0 || c == COLOURS), "animegan: no picture of these sizes");
    const float* through = norm.numel() ? floats(norm, 3 * c, "norm") : nullptr;
    return {floats(x, x.numel(), "the picture"), h, w, c, through, h, w, false};
}

static Tensor picture_of(const Tensor& like, int64_t h, int64_t w, int64_t c) {
    return torch::stable::new_empty(like, {1, h, w, c});
}

static float* data(Tensor& tensor) { return static_cast<float*>(tensor.mutable_data_ptr()); }

static Layer conv_operator(Tensor x, Tensor norm, Tensor weight, Tensor gamma, Tensor beta, double eps, double slope,
                           int64_t kernel, int64_t stride, int64_t height, int64_t width, bool align_corners,
                           bool bfloat16) {
    Input in = input(x, norm);
    in.height = int(height), in.width = int(width), in.align_corners = align_corners;
    const int64_t n = gamma.numel();
    STD_TORCH_CHECK(height >= stride && width >= stride && stride > 0, "animegan: no picture of these sizes");
    STD_TORCH_CHECK(n > 0 && n % PANEL == 0, "animegan: ", n, " channels are no multiple of ", PANEL);
    Tensor y = picture_of(x, height / stride, width / stride, n), through = torch::stable::new_empty(x, {3, n});
    const Norm to{floats(gamma, n, "gamma"), floats(beta, n, "beta"), eps, float(slope), data(through)};
    const float* weights = floats(weight, kernel * kernel * in.c * n, "weight");
    const auto filters = [&](size_t count) { return torch::stable::new_empty(x, {int64_t(count)}); };
    const bool known = kernel == 1 || kernel == 3 || kernel == 7;
    if (bfloat16 && in.c != COLOURS && known && (stride == 1 || stride == 2) && tiles_allowed()) {
        Tensor u = filters(kernel * kernel * in.c * n / 2);
        halves(in, int(kernel), int(stride), weights, static_cast<uint16_t*>(u.mutable_data_ptr()), data(y), int(n), to);
    } else if (kernel == 3 && stride == 1) {
        Tensor u = filters(filter_floats<ThreeTaps, 1>(in.c, int(n)));
        winograd<ThreeTaps, 1>(in, weights, data(u), data(y), int(n), to);
    } else if (kernel == 7 && stride == 1 && in.c == COLOURS) {
        first(in, weights, data(y), int(n), to);
    } else if (kernel == 7 && stride == 1) {
        Tensor u = filters(filter_floats<FourTaps, 2>(in.c, int(n)));
        winograd<FourTaps, 2>(in, weights, data(u), data(y), int(n), to);
    } else if ((kernel == 1 && stride == 1) || (kernel == 3 && stride == 2)) {
        direct(in, int(kernel), int(stride), weights, data(y), int(n), to);
    } else {
        STD_TORCH_CHECK(false, "animegan: no convolution ", kernel, "×", kernel, " of stride ", stride);
    }
    return {y, through};
}

static Layer depthwise_operator(Tensor x, Tensor norm, Tensor weight, Tensor bias, Tensor gamma, Tensor beta,
                                double eps, double slope) {
    const Input in = input(x, norm);
    Tensor y = picture_of(x, in.h, in.w, in.c), through = torch::stable::new_empty(x, {3, in.c});
    const Norm to{floats(gamma, in.c, "gamma"), floats(beta, in.c, "beta"), eps, float(slope), data(through)};
    depthwise(in, floats(weight, 9 * in.c, "weight"), floats(bias, in.c, "bias"), data(y), to);
    return {y, through};
}

static Tensor add_operator(Tensor x, Tensor x_norm, Tensor y, Tensor y_norm) {
    const Input left = input(x, x_norm), right = input(y, y_norm);
    STD_TORCH_CHECK(left.h == right.h && left.w == right.w && left.c == right.c, "animegan: sizes differ");
    Tensor out = picture_of(x, left.h, left.w, left.c);
    sum(left, right, data(out));
    return out;
}

static Tensor picture_operator(Tensor x, Tensor norm, Tensor weight) {
    const Input in = input(x, norm);
    Tensor out = picture_of(x, in.h, in.w, COLOURS);
    picture(in, floats(weight, COLOURS * in.c, "weight"), data(out));
    return out;
}

STABLE_TORCH_LIBRARY(animegan, library) {
    library.def("conv(Tensor x, Tensor norm, Tensor weight, Tensor gamma, Tensor beta, float eps, "
                "float slope, int kernel, int stride, int height, int width, bool align_corners, "
                "bool bfloat16=False) -> (Tensor, Tensor)");
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
