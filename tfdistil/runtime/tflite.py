"""The parts of a TensorFlow Lite flatbuffer: what the interpreter reads, with checked indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tfdistil.errors import ModelFileError
from tfdistil.runtime.flatbuffer import DamagedFlatbuffer, Flatbuffer, Table

MAGIC = b"TFL3"
"""Bytes 4 to 7 of a TensorFlow Lite flatbuffer."""

ELEMENT_BITS = {
    "float32": 32, "float16": 16, "int32": 32, "uint8": 8, "int64": 64, "string": 0, "bool": 8,
    "int16": 16, "complex64": 64, "int8": 8, "float64": 64, "complex128": 128, "uint64": 64,
    "resource": 0, "variant": 0, "uint32": 32, "uint16": 16, "int4": 4, "bfloat16": 16, "int2": 2,
    "uint4": 4, "float8_e4m3fn": 8, "float8_e5m2": 8,
}  # fmt: skip
"""Element types in the order of their codes, with the size of one; 0 where it is not fixed."""

ELEMENT_TYPES = tuple(ELEMENT_BITS)

_OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6
RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM
EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN
EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX
MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV
SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT
REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU
REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL
PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE
READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM
MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX
UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT
STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM
STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM
STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT
STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER
STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE
STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""

OPERATORS = tuple(_OPERATORS.split())
"""Built-in operators in the order of their codes."""


class Quantization(NamedTuple):
    """``value = (q - zero point) · scale``, of the whole tensor or of each slice of an axis.

    ``details`` says that there is another kind of quantization, which tfdistil does not write.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    details: bool


class Tensor(NamedTuple):
    """A tensor. ``type`` is a key of `ELEMENT_BITS`; of a ``sparse`` one not all is stored."""

    shape: tuple[int, ...]
    type: str
    buffer: int
    quantization: Quantization | None
    variable: bool
    sparse: bool


class Operator(NamedTuple):
    """An operator. An input of -1 is one that is left out.

    ``name`` is one of `OPERATORS`, or ``custom:NAME``.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: int
    options: Table | None


class Subgraph(NamedTuple):
    """Operators in the order in which they run."""

    tensors: list[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: list[Operator]

    def operator_counts(self) -> dict[str, int]:
        """Operator to how often it is there, the most frequent first."""
        return dict(Counter(operator.name for operator in self.operators).most_common())


class Signature(NamedTuple):
    """An entry point: the names of inputs and outputs, with their tensors."""

    key: str
    subgraph: int
    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, int]]


class Model(NamedTuple):
    """A flatbuffer.

    ``buffers`` are the constants' bytes, ``metadata`` has some by name; ``outside`` says that there
    are constants that are not in the flatbuffer.
    """

    subgraphs: list[Subgraph]
    buffers: list[memoryview]
    signatures: list[Signature]
    metadata: dict[str, bytes]
    outside: bool

    def constants(self) -> dict[int, Tensor]:
        """Each buffer that holds a constant to a tensor that has it; subgraphs share buffers."""
        tensors = (tensor for graph in self.subgraphs for tensor in graph.tensors)
        return {t.buffer: t for t in tensors if len(self.buffers[t.buffer])}

    def constant_bytes(self) -> dict[str, int]:
        """Element type to the bytes of all constants of it, the most first."""
        sizes: Counter[str] = Counter()
        for buffer, tensor in self.constants().items():
            sizes[tensor.type] += len(self.buffers[buffer])
        return dict(sizes.most_common())


def read_model(data: bytes) -> Model:
    """Read a flatbuffer. Every index in what is returned is one of something that exists.

    Args:
        data: a TensorFlow Lite flatbuffer, with or without associated files at its end.

    Raises:
        ModelFileError: no flatbuffer, or one whose offsets or indices point nowhere.
    """
    if data[4:8] != MAGIC:
        raise ModelFileError("this is no TensorFlow Lite flatbuffer: no TFL3 at byte 4")
    try:
        return _model(Flatbuffer(data).root())
    except DamagedFlatbuffer as error:
        raise ModelFileError(f"the graph is no sound flatbuffer: {error}") from None


def _model(root: Table) -> Model:
    names = [_operator_name(code) for code in root.tables(1)]
    tables = root.tables(4)
    buffers = [table.content(0) for table in tables]
    outside = bool(root.tables(8) or root.tables(9)) or any(
        table.number(1, "Q") > 1 or table.number(2, "Q") > 1 for table in tables
    )
    subgraphs = [
        _subgraph(table, f"subgraph {number}", names, len(buffers))
        for number, table in enumerate(root.tables(2))
    ]
    signatures = [_signature(table, subgraphs) for table in root.tables(7)]
    metadata = {}
    for table in root.tables(6):
        name, number = table.text(0), table.number(1, "I")
        _check_indices([number], len(buffers), f"the metadata {name[:40]!r}", "buffer")
        metadata[name] = bytes(buffers[number])
    return Model(subgraphs, buffers, signatures, metadata, outside)


def _operator_name(table: Table) -> str:
    # Codes up to 126 stand in the older field, whose default the newer one has.
    code = max(table.number(0, "b"), table.number(3, "i"))
    name = OPERATORS[code] if 0 <= code < len(OPERATORS) else f"OPERATOR_{code}"
    return f"custom:{table.text(1)}" if name == "CUSTOM" else name


def _subgraph(table: Table, where: str, names: list[str], buffers: int) -> Subgraph:
    known: dict[int, Quantization] = {}
    tensors = [
        _tensor(one, f"tensor {n} of {where}", known) for n, one in enumerate(table.tables(0))
    ]
    _check_indices((t.buffer for t in tensors), buffers, where, "buffer")
    count = len(tensors)
    inputs, outputs = table.numbers(1, "i"), table.numbers(2, "i")
    _check_indices(inputs + outputs, count, where, "tensor")
    operators = []
    for number, one in enumerate(table.tables(3)):
        place = f"operator {number} of {where}"
        code = one.number(0, "I")
        if code >= len(names):
            raise ModelFileError(f"{place} names operator code {code}; there are {len(names)}")
        kind = one.number(3, "B")
        options = one.table(4) if kind else None  # what has no type is not read
        found = Operator(names[code], one.numbers(1, "i"), one.numbers(2, "i"), kind, options)
        _check_indices((i for i in found.inputs if i != -1), count, place, "tensor")
        _check_indices(found.outputs + one.numbers(8, "i"), count, place, "tensor")
        operators.append(found)
    return Subgraph(tensors, inputs, outputs, operators)


def _tensor(table: Table, where: str, known: dict[int, Quantization]) -> Tensor:
    code = table.number(1, "b")
    if not 0 <= code < len(ELEMENT_TYPES):
        raise ModelFileError(f"{where} has the element type {code}, which this version has not")
    return Tensor(
        table.numbers(0, "i"),
        ELEMENT_TYPES[code],
        table.number(2, "I"),
        _quantization(table.table(4), known),
        bool(table.number(5, "B")),
        table.table(6) is not None or bool(table.tables(9)),
    )


def _quantization(table: Table | None, known: dict[int, Quantization]) -> Quantization | None:
    """Thousands of tensors may share one."""
    if table is None:
        return None
    if table.at not in known:
        known[table.at] = Quantization(
            table.numbers(2, "f"),
            table.numbers(3, "q"),
            table.number(6, "i"),
            bool(table.number(4, "B")),
        )
    return known[table.at]


def _signature(table: Table, subgraphs: list[Subgraph]) -> Signature:
    key, number = table.text(2), table.number(4, "I")
    where = f"signature {key[:40]!r}"
    _check_indices([number], len(subgraphs), where, "subgraph")
    sides = []
    for field in (0, 1):
        side = [(one.text(0), one.number(1, "I")) for one in table.tables(field)]
        _check_indices((i for _, i in side), len(subgraphs[number].tensors), where, "tensor")
        sides.append(side)
    return Signature(key, number, *sides)


def _check_indices(indices: Iterable[int], count: int, where: str, what: str) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise ModelFileError(f"{where} names {what} {index}; there are {count}")
