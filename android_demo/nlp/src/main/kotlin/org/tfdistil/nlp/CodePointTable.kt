package org.tfdistil.nlp

/**
 * A number for each code point, 0 where none was set.
 *
 * Code points lie in blocks, and blocks with nothing in them are one and the same: a lookup is two
 * array accesses, and the table of a few thousand ranges takes some kilobytes.
 */
internal class CodePointTable {
    private val blocks = Array(CODE_POINTS shr BLOCK_BITS) { EMPTY }

    operator fun get(codePoint: Int): Int = blocks[codePoint shr BLOCK_BITS][codePoint and BLOCK_MASK]

    operator fun set(
        codePoint: Int,
        value: Int,
    ) {
        val at = codePoint shr BLOCK_BITS
        if (blocks[at] === EMPTY) blocks[at] = IntArray(1 shl BLOCK_BITS)
        blocks[at][codePoint and BLOCK_MASK] = value
    }

    private companion object {
        const val BLOCK_BITS = 7
        const val BLOCK_MASK = (1 shl BLOCK_BITS) - 1
        const val CODE_POINTS = 0x110000
        val EMPTY = IntArray(1 shl BLOCK_BITS)
    }
}

/**
 * Reads the notation of the generated tables: entries with single spaces between them, each
 * `first-last/2=value`, both ends inclusive, in hexadecimal. `-last` is left out of a single code
 * point, `/2` takes every second one, and `=value` is there where there is something to say.
 */
internal inline fun forEachCodePoint(
    entries: String,
    action: (codePoint: Int, value: String) -> Unit,
) {
    for (entry in entries.split(' ')) {
        val codePoints = entry.substringBefore('=')
        val value = entry.substringAfter('=', "")
        val ends = codePoints.removeSuffix("/2").split('-')
        val step = if (codePoints.endsWith("/2")) 2 else 1
        for (codePoint in ends.first().toInt(16)..ends.last().toInt(16) step step) action(codePoint, value)
    }
}
