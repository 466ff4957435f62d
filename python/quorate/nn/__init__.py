"""Layers of neural networks, as functions of secret arrays: `qr.nn.conv2d(x, weights)`.

Weights may be secret inputs of any party, or public numbers. The default layout is that of ONNX and PyTorch, `"NCHW"`:
images (batch, channels, rows, columns), filters (filters, channels, rows, columns). With `layout="NHWC"`, as in TFLite,
images are (batch, rows, columns, channels) and filters (filters, rows, columns, channels).

Every function is composed of operations that have docstrings of their own: products, comparisons, real functions.
`mpc.explain` predicts the cost of a layer.
"""

from quorate.functions import gelu, relu, sigmoid, softmax, tanh
from quorate.nn._activation import elu, hard_sigmoid, hard_swish, leaky_relu, prelu, relu6, silu
from quorate.nn._attention import attention, embedding
from quorate.nn._convolution import conv1d, conv2d, linear
from quorate.nn._normalisation import batch_norm, layer_norm
from quorate.nn._pooling import avg_pool2d, flatten, global_avg_pool2d, max_pool2d, upsample
from quorate.nn._recurrent import gru, lstm
from quorate.nn._transposed import conv_transpose2d

__all__ = [
    "attention",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "elu",
    "embedding",
    "flatten",
    "gelu",
    "global_avg_pool2d",
    "gru",
    "hard_sigmoid",
    "hard_swish",
    "layer_norm",
    "leaky_relu",
    "linear",
    "lstm",
    "max_pool2d",
    "prelu",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
    "upsample",
]
