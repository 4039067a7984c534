package org.tfdistil.nlp

import java.nio.ByteBuffer

/** Words to windows, which the graph takes one by one. Of one thread at a time. */
internal interface Featurizer {
    /** The longest window. */
    val maxLength: Int

    /** The inputs that a window may have, by name. */
    val inputs: Map<String, InputForm>

    /**
     * The windows of a text, or the one of a pair; at least one, also of no words at all.
     *
     * @param second words of the second text of a pair.
     */
    fun encode(
        first: Words,
        second: Words? = null,
    ): List<Window>
}

/**
 * The form of an input.
 *
 * @property type of its elements.
 * @property width elements of a position; null if positions have no dimension of their own.
 * @property padding what fills up the positions after a window, in each element.
 */
internal class InputForm(
    val type: ElementType,
    val width: Int?,
    val padding: Int,
)

/**
 * A stretch of a text that fits into the model.
 *
 * @property inputs values of each position by input, without padding.
 * @property firsts the position of the first piece of each word that the window answers for.
 */
internal class Window(
    val inputs: Map<String, Column>,
    val firsts: IntArray,
) {
    /** An input, [WORD_MASK] among them: 1 at [firsts], 0 elsewhere. */
    fun input(name: String): Column {
        val column = inputs[name]
        if (column != null) return column
        val mask = IntArray(inputs.getValue(ATTENTION_MASK).positions)
        for (position in firsts) mask[position] = 1
        return IntColumn(mask)
    }

    companion object {
        const val ATTENTION_MASK = "attention_mask"
        const val WORD_MASK = "word_mask"
    }
}

/** Values of an input, position by position. */
internal interface Column {
    val positions: Int

    /** Writes the values to a buffer, from its position on. */
    fun writeTo(buffer: ByteBuffer)
}

internal class IntColumn(
    val values: IntArray,
) : Column {
    override val positions: Int get() = values.size

    override fun writeTo(buffer: ByteBuffer) {
        for (value in values) buffer.putInt(value)
    }
}

internal class ByteColumn(
    val values: ByteArray,
    private val width: Int,
) : Column {
    override val positions: Int get() = values.size / width

    override fun writeTo(buffer: ByteBuffer) {
        buffer.put(values)
    }
}
