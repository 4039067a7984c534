"""Bounds that int8 keeps by itself."""

from __future__ import annotations

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfdistil.exporting.tree import operator_kinds, read_tree, write_tree

BOUNDS = {
    schema.BuiltinOperator.MINIMUM: np.iinfo(np.int8).max,
    schema.BuiltinOperator.MAXIMUM: np.iinfo(np.int8).min,
}
"""What no int8 number is beyond: an operator with this constant gives back what it gets."""


def drop_clips(model: bytes) -> bytes:
    """Take out the MINIMUM and MAXIMUM that change no int8 number.

    The converter gives what a model clips the range that the clipped numbers had in calibration, at
    whose ends the operator in front saturates already. So the clip is left with nothing to do, but
    its kernels are slow: in a recurrence of 64 steps they took a quarter of the time. What is
    clipped further than its range, and what is not int8, stays.

    Args:
        model: a TensorFlow Lite flatbuffer.

    Returns:
        The flatbuffer, without these operators and what only they read or wrote.
    """
    tree = read_tree(model)
    kinds = operator_kinds(tree)
    for number, graph in enumerate(tree.subgraphs):
        source: dict[int, int] = {}  # what a dropped operator wrote: what it read
        kept = []
        for operator in graph.operators:
            operator.inputs = [source.get(int(at), int(at)) for at in operator.inputs]
            read = _passed_on(operator, kinds[operator.opcodeIndex], graph, tree.buffers)
            if read is None:
                kept.append(operator)
            else:
                source[int(operator.outputs[0])] = read
        if not source:
            continue
        graph.operators = kept
        graph.outputs = [source.get(int(at), int(at)) for at in graph.outputs]
        signatures = [s for s in tree.signatureDefs or [] if s.subgraphIndex == number]
        for signature in signatures:
            for output in signature.outputs:
                output.tensorIndex = source.get(output.tensorIndex, output.tensorIndex)
        _drop_tensors(graph, signatures)
    return write_tree(tree, flatbuffers.Builder(len(model)))


def _passed_on(
    operator: schema.OperatorT, kind: int, graph: schema.SubGraphT, buffers: list[schema.BufferT]
) -> int | None:
    """The tensor an operator gives back as it is, or None if it may change something."""
    if kind not in BOUNDS:
        return None
    written = graph.tensors[operator.outputs[0]]
    if written.type != schema.TensorType.INT8:
        return None
    for read, bound in (operator.inputs, operator.inputs[::-1]):
        constant = buffers[graph.tensors[bound].buffer].data
        if constant is None or len(constant) == 0:
            continue
        # The kernels compare the numbers as they are: all three have one scale and zero point.
        values = np.asarray(constant, np.uint8).view(np.int8)
        if (values == BOUNDS[kind]).all() and _form(graph.tensors[read]) == _form(written):
            return read
    return None


def _form(tensor: schema.TensorT) -> tuple[int, list[int], list[float], list[int]]:
    """What two tensors share that hold the same numbers for the same values."""
    scales = tensor.quantization or schema.QuantizationParametersT()
    shape, scale, zero = (
        [] if values is None else [*values]
        for values in (tensor.shape, scales.scale, scales.zeroPoint)
    )
    return tensor.type, shape, scale, zero


def _drop_tensors(graph: schema.SubGraphT, signatures: list[schema.SignatureDefT]) -> None:
    """Leave out the tensors that nothing names, and number the others anew."""
    named = {
        int(at)
        for places in (
            graph.inputs,
            graph.outputs,
            *(o.inputs for o in graph.operators),
            *(o.outputs for o in graph.operators),
            *(o.intermediates for o in graph.operators if o.intermediates is not None),
        )
        for at in places
    }
    place = {old: new for new, old in enumerate(sorted(named - {-1}))} | {-1: -1}
    graph.tensors = [graph.tensors[old] for old in place if old >= 0]
    graph.inputs = [place[int(at)] for at in graph.inputs]
    graph.outputs = [place[int(at)] for at in graph.outputs]
    for operator in graph.operators:
        operator.inputs = [place[int(at)] for at in operator.inputs]
        operator.outputs = [place[int(at)] for at in operator.outputs]
        if operator.intermediates is not None:
            operator.intermediates = [place[int(at)] for at in operator.intermediates]
    for signature in signatures:
        for tensor in (*signature.inputs, *signature.outputs):
            tensor.tensorIndex = place[tensor.tensorIndex]
