package org.tfdistil.nlp

/**
 * A growing list of numbers, filled anew for each word or text, so that these need no memory of their own.
 *
 * @throws ModelFileException of what adds to it: rules that make a text endlessly longer.
 */
internal class IntList {
    private var values = IntArray(64)
    var size = 0
        private set

    operator fun get(at: Int): Int = values[at]

    operator fun set(
        at: Int,
        value: Int,
    ) {
        values[at] = value
    }

    fun clear() {
        size = 0
    }

    fun add(value: Int) {
        if (size == values.size) grow()
        values[size++] = value
    }

    private fun grow() {
        if (size >= MOST) throw ModelFileException("a text becomes more than $MOST characters or pieces. Give a shorter one, or another model")
        values = values.copyOf(2 * size)
    }

    /** Appends those of [other] from [from] to [until], the latter not included. */
    fun addAll(
        other: IntList,
        from: Int = 0,
        until: Int = other.size,
    ) {
        for (at in from until until) add(other[at])
    }

    /** Drops all but the first [size]. */
    fun truncate(size: Int) {
        this.size = size
    }

    /** Has [size] numbers from now on, all of them [value]. */
    fun fill(
        size: Int,
        value: Int,
    ) {
        clear()
        repeat(size) { add(value) }
    }

    /** Numbers [from] to [until], the latter not included, into an array. */
    fun copyInto(
        array: IntArray,
        at: Int,
        from: Int,
        until: Int,
    ) {
        values.copyInto(array, at, from, until)
    }

    /** Appends the code points of a part of a text; U+FFFD stands for a lone surrogate, which UTF-8 cannot hold. */
    fun addText(
        text: CharSequence,
        start: Int = 0,
        end: Int = text.length,
    ) {
        var at = start
        while (at < end) {
            val codePoint = Character.codePointAt(text, at)
            at += Character.charCount(codePoint)
            add(if (codePoint in SURROGATES) REPLACEMENT else codePoint)
        }
    }

    /** The text of these code points. */
    fun asText(): String = String(values, 0, size)

    private companion object {
        val SURROGATES = 0xD800..0xDFFF
        const val REPLACEMENT = 0xFFFD
        const val MOST = 1 shl 22
    }
}
