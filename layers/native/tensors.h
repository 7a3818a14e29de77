// Between torch's tensors and what the layers read and write.
#pragma once
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include "direct.h"
#include "input.h"
#include "memory.h"

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t MOST_SIDE = 1 << 20;  // far over what memory holds, and counts of bytes are far from overflowing

static const float* floats(const Tensor& tensor, int64_t count, const char* name) {
    STD_TORCH_CHECK(tensor.scalar_type() == ScalarType::Float && tensor.is_contiguous() && tensor.numel() == count,
                    "animegan: ", name, " must be ", count, " contiguous float32, and is ", tensor.numel());
    return static_cast<const float*>(tensor.const_data_ptr());
}

// `few`: channels that it may also have, though they fill no line, if nothing normalises them.
template <class T>
static Input<T> input(const Tensor& x, const Tensor& norm, int few = LINE<T>) {
    constexpr ScalarType type = std::is_same_v<T, Half> ? ScalarType::BFloat16 : ScalarType::Float;
    STD_TORCH_CHECK(x.dim() == 4 && x.size(0) == 1 && x.is_contiguous() && x.scalar_type() == type,
                    "animegan: a picture must be contiguous (1, H, W, C), all of one type");
    const int h = int(x.size(1)), w = int(x.size(2)), c = int(x.size(3));
    const bool whole = c > 0 && c % LINE<T> == 0;
    STD_TORCH_CHECK(h > 0 && w > 0 && (whole || (c == few && !norm.numel())), "animegan: no picture of these sizes");
    const float* through = norm.numel() ? floats(norm, 3 * c, "norm") : nullptr;
    return {static_cast<const T*>(x.const_data_ptr()), h, w, c, through, h, w, false};
}

// What is read at another size than its own becomes larger: the memory for that has no room for what lies between. A
// photo is read as it is.
template <class T>
static bool can_become(const Input<T>& in, int64_t height, int64_t width) {
    if (in.c == COLOURS) return height == in.h && width == in.w;
    return height >= in.h && width >= in.w && height <= MOST_SIDE && width <= MOST_SIDE;
}

// Of the same type. Its memory goes back when the last one lets go of it.
static Tensor empty(const Tensor& like, int64_t h, int64_t w, int64_t c) {
    const ScalarType type = like.scalar_type();
    const Blocks::Block block = blocks().take(h * w * c * (type == ScalarType::Float ? sizeof(float) : sizeof(Half)));
    STD_TORCH_CHECK(block.memory, "animegan: no memory for (", h, ", ", w, ", ", c, ")");
    return torch::stable::from_blob(block.memory, {1, h, w, c}, {h * w * c, w * c, c, 1}, like.device(), type,
                                    [block](void*) { blocks().give(block); });
}

template <class T>
static T* data(Tensor& tensor) {
    return static_cast<T*>(tensor.mutable_data_ptr());
}

// run(float{}) or run(Half{}), as the picture is.
template <class Run>
static auto typed(const Tensor& x, Run run) {
    return x.scalar_type() == ScalarType::BFloat16 ? run(Half{}) : run(float{});
}
