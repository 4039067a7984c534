package org.tfdistil.nlp

/**
 * The family `ngram`: each feature is the sign of a sum over all runs of 2, 3 and 4 characters.
 *
 * A code holds 32 pairs of bits, so it votes for 32 features at once: an even bit alone is +1, the odd
 * bit above it alone is -1. The 64 bits are counted together, in counters whose lowest binary digits
 * lie side by side in one word, the next ones in another (a carry-save adder). How many digits a count
 * has is known before it is made, so that no branch depends on a code, and the loops over codes are of
 * the plain kind that compilers make vector instructions of.
 *
 * @param most codes of a word.
 */
internal class Ngram(
    most: Int,
) : HashFamily {
    private val votes = LongArray(most + 1)
    private val digits = Array(MOST_DIGITS) { LongArray(most) }
    private var framed = ByteArray(64)
    private var starts = IntArray(64) // of characters in `framed`, and where the last one ends

    override fun hash(
        bytes: ByteArray,
        length: Int,
        codes: LongArray,
        count: Int,
    ) {
        val characters = frame(bytes, length)
        var grams = 0
        for (first in 0..characters - SHORTEST) {
            for (end in first + SHORTEST..minOf(first + LONGEST, characters)) {
                Murmur.hash(framed, starts[first], starts[end], votes, count)
                add(++grams, count)
            }
        }
        majority(digitsOf(grams), codes, count)
    }

    /** Puts the word between a byte FE and a byte FF, and notes where characters start: how many there are. */
    private fun frame(
        bytes: ByteArray,
        length: Int,
    ): Int {
        if (framed.size < length + 2) {
            framed = ByteArray(2 * length + 2)
            starts = IntArray(2 * length + 3)
        }
        framed[0] = 0xFE.toByte()
        bytes.copyInto(framed, 1, 0, length)
        framed[length + 1] = 0xFF.toByte()
        var characters = 0
        for (at in 0 until length + 2) {
            val continues = framed[at].toInt() and 0xC0 == 0x80
            if (!continues) starts[characters++] = at
        }
        starts[characters] = length + 2
        return characters
    }

    /** Counts the votes of the n-gram number [gram], from 1 on; what they carry over takes their place. */
    private fun add(
        gram: Int,
        count: Int,
    ) {
        for (code in 0 until count) votes[code] = singleBits(votes[code])
        for (digit in 0 until digitsOf(gram)) {
            val sums = digits[digit]
            // The first n-gram that needs a digit finds there what the word before left.
            if (gram == 1 shl digit) sums.fill(0)
            for (code in 0 until count) {
                val sum = sums[code]
                sums[code] = sum xor votes[code]
                votes[code] = sum and votes[code]
            }
        }
    }

    /** The bits that are set where the other one of their pair is not. */
    private fun singleBits(code: Long): Long {
        val swapped = ((code and EVEN) shl 1) or ((code ushr 1) and EVEN)
        return code and swapped.inv()
    }

    /** Pairs 01 where +1 has more votes, 10 where -1 has, 00 where they have as many. */
    private fun majority(
        used: Int,
        codes: LongArray,
        count: Int,
    ) {
        for (code in 0 until count) {
            var more = 0L
            var fewer = 0L
            for (digit in used - 1 downTo 0) {
                val plus = digits[digit][code] and EVEN
                val minus = (digits[digit][code] ushr 1) and EVEN
                val open = (more or fewer).inv()
                more = more or (plus and minus.inv() and open)
                fewer = fewer or (minus and plus.inv() and open)
            }
            codes[code] = more or (fewer shl 1)
        }
    }

    private companion object {
        const val SHORTEST = 2
        const val LONGEST = 4
        const val EVEN = 0x5555555555555555L
        const val MOST_DIGITS = 31 // of a counter: a count is an Int

        /** How many binary digits a count has. */
        fun digitsOf(count: Int) = Int.SIZE_BITS - Integer.numberOfLeadingZeros(count)
    }
}
