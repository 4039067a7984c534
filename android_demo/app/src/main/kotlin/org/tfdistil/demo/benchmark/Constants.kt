package org.tfdistil.demo.benchmark

import org.tfdistil.nlp.Flatbuffer
import java.nio.ByteBuffer

/**
 * What a graph's constants say: how many parameters there are, and how many rows its largest table has.
 *
 * @param graph a TensorFlow Lite flatbuffer that an interpreter has loaded already.
 */
internal class Constants(
    graph: ByteBuffer,
) {
    private val model = Flatbuffer(graph).root
    private val filled = model.tables(BUFFERS).map { it.count(BUFFER_DATA) > 0 }
    private val codes = model.tables(OPERATOR_CODES)
    private val subgraphs = model.tables(SUBGRAPHS)

    /** Numbers in weights and biases. Integers without a scale are shapes, axes and indices. */
    val parameters: Long =
        subgraphs
            .flatMap { it.tables(TENSORS) }
            .filter { constant(it) && (it.byte(TENSOR_TYPE) <= FLOAT16 || scaled(it)) }
            .associateBy { it.int(TENSOR_BUFFER) } // subgraphs share buffers
            .values
            .sumOf { tensor -> tensor.ints(TENSOR_SHAPE).fold(1L) { product, size -> product * size } }

    /** Ids below this are in every table; 2 if the graph looks nothing up. */
    val vocabulary: Int = subgraphs.maxOfOrNull(::largestTable) ?: 2

    private fun largestTable(graph: Flatbuffer.Table): Int {
        val tensors = graph.tables(TENSORS)
        val unpacked = mutableMapOf<Int, Int>() // what a float16 table is turned into, to the table
        var rows = 2
        for (operator in graph.tables(OPERATORS)) {
            val inputs = operator.ints(OPERATOR_INPUTS)
            when (kind(operator)) {
                DEQUANTIZE -> unpacked[operator.ints(OPERATOR_OUTPUTS)[0]] = inputs[0]
                GATHER -> rows = maxOf(rows, rowsOf(tensors[unpacked[inputs[0]] ?: inputs[0]]))
                EMBEDDING_LOOKUP -> rows = maxOf(rows, rowsOf(tensors[unpacked[inputs[1]] ?: inputs[1]]))
            }
        }
        return rows
    }

    private fun rowsOf(tensor: Flatbuffer.Table): Int {
        val shape = tensor.ints(TENSOR_SHAPE)
        return if (constant(tensor) && shape.size == 2) shape[0] else 0
    }

    private fun constant(tensor: Flatbuffer.Table) = filled[tensor.int(TENSOR_BUFFER)]

    private fun scaled(tensor: Flatbuffer.Table) = (tensor.table(TENSOR_QUANTIZATION)?.count(QUANTIZATION_SCALE) ?: 0) > 0

    private fun kind(operator: Flatbuffer.Table): Int {
        val code = codes[operator.int(OPERATOR_CODE)]
        return maxOf(code.int(CODE), code.byte(CODE_BEFORE_127))
    }

    /** Fields of the schema, by the table they are of. */
    private companion object {
        const val OPERATOR_CODES = 1
        const val SUBGRAPHS = 2
        const val BUFFERS = 4
        const val TENSORS = 0
        const val OPERATORS = 3
        const val TENSOR_SHAPE = 0
        const val TENSOR_TYPE = 1
        const val TENSOR_BUFFER = 2
        const val TENSOR_QUANTIZATION = 4
        const val QUANTIZATION_SCALE = 2
        const val OPERATOR_CODE = 0
        const val OPERATOR_INPUTS = 1
        const val OPERATOR_OUTPUTS = 2
        const val CODE_BEFORE_127 = 0
        const val CODE = 3
        const val BUFFER_DATA = 0

        const val FLOAT16 = 1
        const val DEQUANTIZE = 6
        const val EMBEDDING_LOOKUP = 7
        const val GATHER = 36
    }
}
