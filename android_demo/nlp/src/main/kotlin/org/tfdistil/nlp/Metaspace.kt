package org.tfdistil.nlp

/**
 * `Metaspace` of SentencePiece.
 *
 * @param replacement the code point that stands for a space, and begins a part.
 * @param prepend whether it is put before what does not begin with it.
 * @param split whether the text is cut before each of them.
 */
internal class Metaspace(
    private val replacement: Int,
    private val prepend: Boolean,
    private val split: Boolean,
) : PreTokenizer {
    override fun cut(
        from: IntList,
        to: IntList,
        ends: IntList,
    ) {
        if (prepend && replaced(from[0]) != replacement) to.add(replacement)
        for (at in 0 until from.size) {
            val codePoint = replaced(from[at])
            if (split && codePoint == replacement) endPart(to, ends)
            to.add(codePoint)
        }
        endPart(to, ends)
    }

    private fun replaced(codePoint: Int) = if (codePoint == ' '.code) replacement else codePoint
}

/** `WhitespaceSplit`: white space separates. */
internal object WhitespaceSplit : PreTokenizer {
    override fun cut(
        from: IntList,
        to: IntList,
        ends: IntList,
    ) {
        for (at in 0 until from.size) {
            if (BertCharacters.kind(from[at]) and BertCharacters.SEPARATOR != 0) endPart(to, ends) else to.add(from[at])
        }
        endPart(to, ends)
    }
}
