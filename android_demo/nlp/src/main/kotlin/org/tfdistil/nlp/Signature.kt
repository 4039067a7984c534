package org.tfdistil.nlp

import java.nio.ByteBuffer

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

    override fun toString(): String = "$type${Fields.shown(shape)}"
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
) {
    internal companion object {
        private const val MOST_BYTES = 1 shl 30

        // Codes of the schema to types.
        private val TYPES =
            mapOf(
                0 to ElementType.FLOAT32,
                2 to ElementType.INT32,
                3 to ElementType.UINT8,
                7 to ElementType.INT16,
                9 to ElementType.INT8,
            )

        /**
         * Reads the signatures that `tfdistil.json` names.
         *
         * @param graph the flatbuffer.
         * @param sizes of the signatures, each with a `batch` and a `length`.
         * @throws ModelFileException a graph that has them not, or is no sound flatbuffer.
         */
        fun readAll(
            graph: ByteBuffer,
            sizes: Fields,
        ): Map<String, Signature> {
            if ("online" !in sizes) sizes.fail("has no signature 'online'")
            return try {
                val model = Flatbuffer(graph).root
                val given = model.tables(7).associateBy { it.text(2) }
                val subgraphs = model.tables(2)
                sizes.names.associateWith { name ->
                    val found = given[name] ?: throw ModelFileException("the graph has no signature ${Fields.shown(name)}, only ${Fields.shown(given.keys)}")
                    val size = sizes.fields(name)
                    Signature(
                        name,
                        size.number("batch", 1..Int.MAX_VALUE),
                        size.number("length", 1..Int.MAX_VALUE),
                        tensors(found.tables(0), subgraphs[found.int(4)]),
                        tensors(found.tables(1), subgraphs[found.int(4)]),
                    )
                }
            } catch (error: IndexOutOfBoundsException) {
                throw ModelFileException("the graph is no sound flatbuffer: ${error.message}. Copy the file again", error)
            } catch (error: ArithmeticException) {
                throw ModelFileException("the graph is no sound flatbuffer: ${error.message}. Copy the file again", error)
            }
        }

        private fun tensors(
            names: List<Flatbuffer.Table>,
            subgraph: Flatbuffer.Table,
        ): Map<String, Tensor> {
            val tensors = subgraph.tables(0)
            return names.associate { it.text(0) to tensor(it.text(0), tensors[it.int(1)]) }
        }

        private fun tensor(
            name: String,
            table: Flatbuffer.Table,
        ): Tensor {
            val shape = table.ints(0)
            val type =
                TYPES[table.byte(1)]
                    ?: throw ModelFileException("${Fields.shown(name)} of the graph has an element type that this version does not know")
            val bytes = shape.fold(type.bytes.toLong()) { product, size -> minOf(product * size, MOST_BYTES + 1L) }
            if (shape.any { it < 1 } || bytes > MOST_BYTES) {
                throw ModelFileException("${Fields.shown(name)} of the graph has the shape ${Fields.shown(shape)}; expected at most $MOST_BYTES bytes")
            }
            val quantization = table.table(4)
            return Tensor(
                type,
                shape,
                quantization?.floats(2)?.singleOrNull() ?: 0f,
                quantization?.longs(3)?.singleOrNull()?.toInt() ?: 0,
            )
        }
    }
}
