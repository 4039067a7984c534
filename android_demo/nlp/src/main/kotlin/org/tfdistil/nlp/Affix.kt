package org.tfdistil.nlp

/**
 * The families `affix8`, `affix16` and `affix32`: codes that follow the word from its beginning and
 * from its end in turn.
 *
 * @param bits of each step.
 */
internal class Affix(
    private val bits: Int,
) : HashFamily {
    private val mask = (1L shl bits) - 1

    override fun hash(
        bytes: ByteArray,
        length: Int,
        codes: LongArray,
        count: Int,
    ) {
        var left = length * MULTIPLIER
        var right = length * SECOND_MULTIPLIER
        var fromStart = MULTIPLIER
        var fromEnd = SECOND_MULTIPLIER
        var at = 0
        for (made in 0 until count step 2) {
            val steps = Long.SIZE_BITS / bits - (if (made == 0) 1 else 0)
            repeat(steps) {
                fromStart = ((fromStart shl 8) or (bytes[at].toLong() and 0xFF)) * MULTIPLIER
                fromEnd = ((fromEnd shl 8) or (bytes[length - 1 - at].toLong() and 0xFF)) * SECOND_MULTIPLIER
                left = (left shl bits) or (fromStart and mask)
                right = (right shl bits) or (fromEnd and mask)
                at = if (at + 1 == length) 0 else at + 1
            }
            codes[made] = left
            codes[made + 1] = right
        }
    }
}
