package org.tfdistil.nlp

/** The types of element that inputs and outputs may have. */
public enum class ElementType(
    /** Bytes of one element. */
    public val bytes: Int,
) {
    FLOAT32(4),
    INT32(4),
    UINT8(1),
    INT8(1),
    INT16(2),
}

/**
 * An input or output of a [Signature].
 *
 * @property type of its elements.
 * @property shape its sizes; the first one is the batch.
 * @property scale of a quantized tensor, `value = (q - zeroPoint) * scale`; 0 of any other.
 * @property zeroPoint see [scale].
 */
public class Tensor internal constructor(
    public val type: ElementType,
    public val shape: List<Int>,
    public val scale: Float,
    public val zeroPoint: Int,
) {
    /** Bytes of the whole tensor. */
    public val bytes: Int get() = shape.fold(type.bytes) { product, size -> product * size }
}

/**
 * An entry point of the graph, of a fixed number of rows and positions.
 *
 * @property name `online` (one row) or `batch`.
 * @property batch rows.
 * @property length positions of a row.
 * @property inputs by name.
 * @property outputs by name.
 */
public class Signature internal constructor(
    public val name: String,
    public val batch: Int,
    public val length: Int,
    public val inputs: Map<String, Tensor>,
    public val outputs: Map<String, Tensor>,
)
