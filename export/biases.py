"""A bias for every int8 matrix product, as tflite-runtime 2.14 on Arm needs one."""

from __future__ import annotations

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfdistil.exporting.tree import operator_kinds, read_tree, write_tree

INPUT, WEIGHTS, BIAS = range(3)
"""Places of a FULLY_CONNECTED's inputs."""


def add_biases(model: bytes) -> bytes:
    """Give every int8 FULLY_CONNECTED without a bias one of zeros.

    The converter writes none where a layer has none, as in a BiLSTM's recurrence and a
    transformer's attention. TensorFlow Lite allows that, but on Arm its 2.14 reads the bias of a
    product of several rows all the same, and the process dies. Zeros change no answer.

    Args:
        model: a TensorFlow Lite flatbuffer.

    Returns:
        The flatbuffer; its signatures share one constant of zeros per length.
    """
    tree = read_tree(model)
    kinds = operator_kinds(tree)
    zeros: dict[int, int] = {}
    for graph in tree.subgraphs:
        made: dict[tuple[int, bytes], int] = {}
        for operator in graph.operators:
            if kinds[operator.opcodeIndex] != schema.BuiltinOperator.FULLY_CONNECTED:
                continue
            inputs = [int(at) for at in operator.inputs]
            x, weights = graph.tensors[inputs[INPUT]], graph.tensors[inputs[WEIGHTS]]
            if x.type != schema.TensorType.INT8 or any(at >= 0 for at in inputs[BIAS:]):
                continue
            bias = _zero_bias(x, weights)
            (length,) = bias.shape
            key = (length, bias.quantization.scale.tobytes())
            if key not in made:
                if length not in zeros:
                    zeros[length] = len(tree.buffers)
                    tree.buffers.append(_zeros(length))
                bias.buffer = zeros[length]
                made[key] = len(graph.tensors)
                graph.tensors.append(bias)
            operator.inputs = [*inputs[:BIAS], made[key]]
    return write_tree(tree, flatbuffers.Builder(len(model)))


def _zero_bias(x: schema.TensorT, weights: schema.TensorT) -> schema.TensorT:
    """An int32 tensor in units of input scale × weight scale, one scale per channel or one."""
    bias = schema.TensorT()
    bias.shape = [int(weights.shape[0])]
    bias.type = schema.TensorType.INT32
    bias.quantization = schema.QuantizationParametersT()
    scales = np.asarray(weights.quantization.scale, np.float32)
    bias.quantization.scale = np.float32(x.quantization.scale[0]) * scales
    bias.quantization.zeroPoint = np.zeros(len(scales), np.int64)
    return bias


def _zeros(length: int) -> schema.BufferT:
    buffer = schema.BufferT()
    buffer.data = np.zeros(4 * length, np.uint8)
    return buffer
