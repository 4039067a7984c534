package org.tfdistil.nlp

/** The constants A and B of docs/projection.md, section 3. */
internal const val MULTIPLIER = -0x395b586ca42e166bL // c6a4a7935bd1e995
internal const val SECOND_MULTIPLIER = -0x61c8864680b587cbL // 9e3779b97f4a7835

/** A family of hashes: a word's bytes to codes of 64 bits. */
internal fun interface HashFamily {
    /**
     * @param bytes hold the word, [length] of them, at least one.
     * @param codes receives [count] codes from its beginning on; it has room for one more.
     */
    fun hash(
        bytes: ByteArray,
        length: Int,
        codes: LongArray,
        count: Int,
    )
}

/** The family `murmur`. */
internal object Murmur : HashFamily {
    override fun hash(
        bytes: ByteArray,
        length: Int,
        codes: LongArray,
        count: Int,
    ) = hash(bytes, 0, length, codes, count)

    /** The codes of the bytes from [start] to [end]; the rest as of [HashFamily.hash]. */
    fun hash(
        bytes: ByteArray,
        start: Int,
        end: Int,
        codes: LongArray,
        count: Int,
    ) {
        var h = (end - start) * MULTIPLIER
        var g = 0L
        var at = start
        while (at + 8 <= end) {
            h = (h xor shifted(littleEndian(bytes, at, 8) * MULTIPLIER) * MULTIPLIER) * MULTIPLIER
            g = g xor h
            at += 8
        }
        if (at < end) {
            h = (h xor littleEndian(bytes, at, end - at)) * MULTIPLIER
            g = g xor h
        }
        h = shifted(h) * MULTIPLIER
        g = g xor h
        h = shifted(h)
        g = shifted(g * SECOND_MULTIPLIER) * SECOND_MULTIPLIER
        codes[0] = h
        codes[1] = g
        // The last two codes are kept at hand: each pair waits for the one before it.
        var low = h
        var high = g
        var made = 2
        while (made < count) {
            val next = shifted(low) * MULTIPLIER
            low = shifted((high xor next) * SECOND_MULTIPLIER) * SECOND_MULTIPLIER
            high = shifted(next)
            codes[made] = low
            codes[made + 1] = high
            made += 2
        }
    }

    private fun shifted(value: Long) = value xor (value ushr 47)

    private fun littleEndian(
        bytes: ByteArray,
        start: Int,
        count: Int,
    ): Long {
        var value = 0L
        for (at in start + count - 1 downTo start) value = (value shl 8) or (bytes[at].toLong() and 0xFF)
        return value
    }
}
