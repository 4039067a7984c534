"""What the kernels of built-in operators expect of operands and options, and do not all check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tfdistil.errors import ModelFileError
from tfdistil.runtime.tflite import Model, Operator, Subgraph, Tensor

_QUANTIZED = ("int8", "uint8", "int16")
_MANY = 10_000  # operands of an operator that takes a list


class Operands(NamedTuple):
    """An operator with its tensors. An input that is left out is None."""

    operator: Operator
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    model: Model

    def option(self, field: int) -> int:
        """An int32 of the options; 0, as the kernels have it, where there are none."""
        options = self.operator.options
        return 0 if options is None else options.number(field, "i")

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of an input."""
        tensor = self.inputs[index]
        return () if tensor is None else tensor.shape

    def integers(self, index: int) -> list[int]:
        """The numbers of an input that is an int32 constant; none where it is not."""
        tensor = self.inputs[index]
        if tensor is None or tensor.type != "int32":
            return []
        return self.model.buffers[tensor.buffer].cast("i").tolist()


def called_subgraphs(operator: Operator) -> list[int]:
    """The subgraphs that a loop, a branch or an initializer runs."""
    fields = {"WHILE": 2, "IF": 2, "CALL_ONCE": 1, "CALL": 1}.get(operator.name, 0)
    options = operator.options
    return [0 if options is None else options.number(field, "i") for field in range(fields)]


def check_operator(operator: Operator, graph: Subgraph, model: Model) -> None:
    """Check the number of operands, their quantization, and the options that kernels divide by.

    Operators that no rule is for must have nothing but operands that exist.

    Raises:
        ModelFileError: what was expected.
    """
    name = operator.name
    if name in _REFUSED:
        raise ModelFileError("no file holds this operator")
    for index in called_subgraphs(operator):
        _expect(0 <= index < len(model.subgraphs), f"runs subgraph {index}")
    rule = RULES.get(name)
    if rule is None:
        return
    inputs, outputs = operator.inputs, operator.outputs
    least, most, optional = rule.inputs
    _expect(least <= len(inputs) <= most, f"has {len(inputs)} inputs")
    _expect(rule.outputs[0] <= len(outputs) <= rule.outputs[1], f"has {len(outputs)} outputs")
    for place, index in enumerate(inputs):
        _expect(index >= 0 or place >= optional, f"has no input {place}")
    if rule.options:
        _expect(operator.options_type in (0, rule.options), "has the options of another operator")
    tensors = graph.tensors
    operands = Operands(
        operator,
        [tensors[i] if i >= 0 else None for i in inputs],
        [tensors[i] for i in outputs],
        model,
    )
    if rule.kind != "plain":
        for place, tensor in enumerate((*operands.outputs, *operands.inputs)):
            # Of the operators, those with weights have them second, with a scale per channel.
            per_channel = rule.kind == "weighted" and place == len(outputs) + 1
            if tensor is not None and tensor.type in _QUANTIZED:
                count = len(tensor.quantization.scales) if tensor.quantization is not None else 0
                _expect(
                    count == 1 or (count > 1 and per_channel),
                    f"computes with integers that have {count} scales",
                )
    if rule.check is not None:
        rule.check(operands)


def _expect(truth: bool, otherwise: str) -> None:
    if not truth:
        raise ModelFileError(otherwise)


class _Rule(NamedTuple):
    inputs: tuple[int, int, int]  # the least, the most, and the first that may be left out
    outputs: tuple[int, int]
    kind: str  # of arithmetic: "plain" where integers of 8 and 16 bits need no scale
    options: int  # the code of its options, where they matter
    check: Callable[[Operands], None] | None


def _axis(axis: int, rank: int) -> int:
    _expect(-rank <= axis < rank, f"has the axis {axis} of {rank}")
    return axis % rank


def _check_split(operands: Operands) -> None:
    """``num_splits`` outputs, equal parts of the axis."""
    count, axis, shape = operands.option(0), operands.integers(0), operands.shape(1)
    _expect(count == len(operands.outputs), f"splits into {count}")
    _expect(len(axis) == 1, "splits along an axis that is no constant")
    size = shape[_axis(axis[0], len(shape))]
    _expect(size % count == 0, f"splits {size} into {count}")


def _check_unpack(operands: Operands) -> None:
    """``num`` outputs, as many as the axis is long."""
    count, shape = operands.option(0), operands.shape(0)
    size = shape[_axis(operands.option(1), len(shape))]
    _expect(count == len(operands.outputs) == size, f"unpacks {size} into {count}")


def _check_window(operands: Operands) -> None:
    """Strides that can be divided by."""
    strides = operands.option(1), operands.option(2)
    _expect(all(0 < n < 2**16 for n in strides), f"has the strides {strides}")


def _scales(tensors: Sequence[Tensor | None]) -> list[float]:
    """The scale of each of quantized integers, the largest of weights per channel."""
    return [
        max(tensor.quantization.scales)
        for tensor in tensors
        if tensor is not None
        and tensor.type in _QUANTIZED
        and tensor.quantization is not None
        and tensor.quantization.scales
    ]


def _check_sum(operands: Operands) -> None:
    """The kernel shifts sums of int8 by 20 bits, of int16 by 15, and aborts where that is less."""
    into, out = _scales(operands.inputs), _scales(operands.outputs)
    bits = 15 if operands.outputs[0].type == "int16" else 20
    _expect_smaller(2 * max(into, default=0.0), 2.0**bits * min(out, default=1.0))


def _check_squares(operands: Operands) -> None:
    """As `_check_sum`, of squares, shifted by 14 bits."""
    into, out = _scales(operands.inputs), _scales(operands.outputs)
    _expect_smaller((2 * max(into, default=0.0)) ** 2, 2.0**14 * min(out, default=1.0))


def _check_comparison(operands: Operands) -> None:
    """As `_check_sum`, of numbers that are not shifted."""
    _expect_smaller(max(_scales(operands.inputs), default=0.0), 1.0)


def _check_product(operands: Operands) -> None:
    """XNNPACK multiplies its sums by less than 256."""
    into, out = _scales(operands.inputs[:2]), _scales(operands.outputs)
    if len(into) == 2 and out:
        _expect_smaller(into[0] * into[1], 256.0 * out[0])


def _check_weighted_window(operands: Operands) -> None:
    _check_product(operands)
    _check_window(operands)


def _expect_smaller(scale: float, limit: float) -> None:
    _expect(scale < limit, f"has operands whose scales do not go together ({scale:g}, {limit:g})")


_COMPARISONS = ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")
_CHECKS: dict[str, tuple[int, Callable[[Operands], None]]] = {
    "ADD": (0, _check_sum),
    "SUB": (0, _check_sum),
    "SQUARED_DIFFERENCE": (0, _check_squares),
    **dict.fromkeys(_COMPARISONS, (0, _check_comparison)),
    "SPLIT": (35, _check_split),
    "UNPACK": (64, _check_unpack),
    "FULLY_CONNECTED": (8, _check_product),
    "BATCH_MATMUL": (101, _check_product),
    "CONV_2D": (1, _check_weighted_window),
    "DEPTHWISE_CONV_2D": (2, _check_weighted_window),
    "AVERAGE_POOL_2D": (5, _check_window),
    "MAX_POOL_2D": (5, _check_window),
}

# "2" inputs; "2-3" of which the third may be left out; "*" for a list.
_OPERANDS = """
computing 1 1: LOGISTIC TANH RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU GELU HARD_SWISH LEAKY_RELU EXP
    LOG SQRT RSQRT SQUARE ABS NEG FLOOR CEIL ROUND SIN COS SOFTMAX LOG_SOFTMAX L2_NORMALIZATION
    AVERAGE_POOL_2D MAX_POOL_2D
computing 2 1: ADD SUB MUL DIV SQUARED_DIFFERENCE POW LESS LESS_EQUAL GREATER
    GREATER_EQUAL MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN PRELU
weighted 2 1: BATCH_MATMUL
weighted 2-3 1: FULLY_CONNECTED CONV_2D DEPTHWISE_CONV_2D
computing * 1: ADD_N
plain 1 1: CAST QUANTIZE DEQUANTIZE LOGICAL_NOT SHAPE RANK ZEROS_LIKE SQUEEZE SIGN
plain 1-2 1: RESHAPE
plain 2 1: MAXIMUM MINIMUM EQUAL NOT_EQUAL FLOOR_DIV FLOOR_MOD LOGICAL_AND LOGICAL_OR REDUCE_ANY
    REDUCE_ALL ARG_MAX ARG_MIN TRANSPOSE PAD GATHER GATHER_ND EMBEDDING_LOOKUP EXPAND_DIMS TILE
    FILL BROADCAST_TO CUMSUM REVERSE_V2 REVERSE_SEQUENCE MIRROR_PAD
plain 3 1: SELECT SELECT_V2 SLICE PADV2 RANGE SCATTER_ND DYNAMIC_UPDATE_SLICE
plain 4 1: STRIDED_SLICE ONE_HOT
plain 2 2: TOPK_V2
plain 2 *: SPLIT
plain 3 *: SPLIT_V
plain 1 *: UNPACK
plain * 1: PACK CONCATENATION
"""

_REFUSED = ("DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES", "CALL")


def _read_rules() -> dict[str, _Rule]:
    found = {}
    for line in _OPERANDS.replace("\n    ", " ").strip().splitlines():
        head, names = line.split(": ")
        kind, inputs, outputs = head.split()
        least, _, most = inputs.replace("*", f"1-{_MANY}").partition("-")
        for name in names.split():
            options, check = _CHECKS.get(name, (0, None))
            optional = int(least) if inputs != "*" else _MANY
            found[name] = _Rule(
                (int(least), int(most or least), optional),
                (1, _MANY) if outputs == "*" else (int(outputs), int(outputs)),
                kind,
                options,
                check,
            )
    return found


RULES = _read_rules()
