package org.tfdistil.nlp

/**
 * `ByteLevel` of GPT-2: runs of letters, of digits and of other signs, each with a space before it if there
 * is one; white space; English contractions. Of each part its bytes, as the characters that stand for them.
 *
 * @param addSpace whether a space is put before what does not begin with one.
 * @param split whether the text is cut at all.
 */
internal class ByteLevel(
    private val addSpace: Boolean,
    private val split: Boolean,
) : PreTokenizer {
    private val text = IntList()

    override fun cut(
        from: IntList,
        to: IntList,
        ends: IntList,
    ) {
        text.clear()
        if (addSpace && from[0] != SPACE) text.add(SPACE)
        text.addAll(from)
        var at = 0
        while (at < text.size) {
            val end = if (split) end(at) else text.size
            while (at < end) forEachByte(text[at++]) { to.add(SIGNS[it]) }
            endPart(to, ends)
        }
    }

    /** Where the part ends that begins at a place. */
    private fun end(at: Int): Int {
        val contraction = contraction(at)
        if (contraction > 0) return at + contraction
        val first = if (text[at] == SPACE && at + 1 < text.size && kind(at + 1) != WHITE) at + 1 else at
        val end = endOfRun(first)
        // The last one of several white spaces goes with what follows.
        return if (kind(first) == WHITE && end < text.size && end > first + 1) end - 1 else end
    }

    private fun contraction(at: Int): Int {
        if (text[at] != '\''.code) return 0
        return CONTRACTIONS.firstOrNull { ending -> at + ending.length < text.size && ending.indices.all { text[at + 1 + it] == ending[it].code } }
            ?.let { 1 + it.length } ?: 0
    }

    private fun endOfRun(start: Int): Int {
        var at = start + 1
        while (at < text.size && kind(at) == kind(start)) at++
        return at
    }

    private fun kind(at: Int): Int = KINDS[text[at]]

    private companion object {
        const val SPACE = ' '.code
        const val LETTER = 1
        const val NUMBER = 2
        const val WHITE = 3
        const val BYTES = 256
        val CONTRACTIONS = listOf("s", "t", "re", "ve", "m", "ll", "d")

        /** Bytes that can be seen in Latin-1 stand for themselves, others are the next code points from 256 on. */
        val SIGNS: IntArray =
            IntArray(BYTES).also { signs ->
                var others = BYTES
                for (byte in signs.indices) {
                    val seen = byte in 0x21..0x7E || byte in 0xA1..0xFF && byte != 0xAD
                    signs[byte] = if (seen) byte else others++
                }
            }

        val KINDS =
            CodePointTable().apply {
                forEachCodePoint(ByteLevelTables.LETTERS) { code, _ -> this[code] = LETTER }
                forEachCodePoint(ByteLevelTables.NUMBERS) { code, _ -> this[code] = NUMBER }
                forEachCodePoint(ByteLevelTables.SPACES) { code, _ -> this[code] = WHITE }
            }
    }
}
