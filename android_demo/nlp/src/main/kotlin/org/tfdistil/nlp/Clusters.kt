package org.tfdistil.nlp

/**
 * Which code points one sees as one character (Unicode, annex 29), as far as clusters of at most five bytes go.
 *
 * Two syllables, flags or pictures joined have six bytes or more. Only behind a sign of two bytes that belongs
 * to what follows, and between © or ® and a picture, would they matter; no rules of SentencePiece's own have these.
 */
internal object Clusters {
    private const val EXTENDS = 1
    private const val PRECEDES = 2
    private const val CONTROL = 4

    private val kinds =
        CodePointTable().apply {
            val marks =
                listOf(
                    ClusterTables.EXTENDS to EXTENDS,
                    ClusterTables.PRECEDES to PRECEDES,
                    ClusterTables.CONTROLS to CONTROL,
                )
            for ((ranges, mark) in marks) forEachCodePoint(ranges) { code, _ -> this[code] = this[code] or mark }
        }

    /** Where the cluster ends that begins at a place. */
    fun end(
        text: IntList,
        start: Int,
    ): Int {
        var at = start
        while (at + 1 < text.size && text[at].isA(PRECEDES) && !text[at + 1].isA(CONTROL)) at++
        if (text[at].isA(CONTROL)) return at + if (text[at] == '\r'.code && at + 1 < text.size && text[at + 1] == '\n'.code) 2 else 1
        at++
        while (at < text.size && text[at].isA(EXTENDS)) at++
        return at
    }

    private fun Int.isA(kind: Int) = kinds[this] and kind != 0
}
