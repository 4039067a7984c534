package org.tfdistil.nlp

/**
 * `BertNormalizer`.
 *
 * @param cleanText whether control characters vanish and all white space becomes a space.
 * @param chinese whether spaces are put around Chinese characters.
 * @param stripAccents whether characters are taken apart and marks removed. (Where several that are not
 *   removed would change places, musical signs and tone marks of Hangul, they stay as they came.)
 * @param lowercase whether text is lower-cased.
 */
internal class BertNormalizer(
    private val cleanText: Boolean,
    private val chinese: Boolean,
    private val stripAccents: Boolean,
    private val lowercase: Boolean,
) : Normalizer {
    override fun normalize(
        from: IntList,
        to: IntList,
    ) {
        for (at in 0 until from.size) clean(from[at], to)
    }

    private fun clean(
        codePoint: Int,
        to: IntList,
    ) {
        val kind = if (cleanText) BertCharacters.kind(codePoint) else 0
        if (kind and BertCharacters.REMOVED != 0) return
        val kept = if (kind and BertCharacters.SPACE != 0) SPACE else codePoint
        val apart = chinese && BertCharacters.kind(kept) and BertCharacters.CHINESE != 0
        if (apart) to.add(SPACE)
        if (stripAccents) strip(kept, to) else lower(kept, to)
        if (apart) to.add(SPACE)
    }

    private fun strip(
        codePoint: Int,
        to: IntList,
    ) {
        if (codePoint in Hangul.SYLLABLES) {
            Hangul.forEachLetter(codePoint) { lower(it, to) }
        } else {
            BertCharacters.STRIPPED.forEach(codePoint) { lower(it, to) }
        }
    }

    private fun lower(
        codePoint: Int,
        to: IntList,
    ) {
        if (lowercase) BertCharacters.LOWER.forEach(codePoint) { to.add(it) } else to.add(codePoint)
    }

    private companion object {
        const val SPACE = ' '.code
    }
}

/** `BertPreTokenizer`: white space separates, punctuation stands alone. */
internal object BertPreTokenizer : PreTokenizer {
    override fun cut(
        from: IntList,
        to: IntList,
        ends: IntList,
    ) {
        for (at in 0 until from.size) {
            val kind = BertCharacters.kind(from[at])
            val alone = kind and BertCharacters.PUNCTUATION != 0
            if (alone || kind and BertCharacters.SEPARATOR != 0) endPart(to, ends)
            if (kind and BertCharacters.SEPARATOR == 0) to.add(from[at])
            if (alone) endPart(to, ends)
        }
        endPart(to, ends)
    }
}

/**
 * `WordPiece`: from left to right the longest piece there is; a part that cannot be made of pieces, or is
 * longer than [longest], is the unknown piece.
 *
 * @param pieces the vocabulary, with [prefix] before what continues a part.
 * @param unknown its id.
 * @param longest code points.
 */
internal class WordPiece(
    private val pieces: PieceTrie,
    prefix: String,
    private val unknown: Int,
    private val longest: Int,
) : PieceModel {
    private val inner = pieces.find(prefix)

    override fun encode(
        text: IntList,
        start: Int,
        end: Int,
        ids: IntList,
    ) {
        val before = ids.size
        var at = if (end - start > longest) NOWHERE else start
        while (at in 0 until end) at = longestPiece(text, at, end, if (at == start) PieceTrie.ROOT else inner, ids)
        if (at == NOWHERE) {
            ids.truncate(before)
            ids.add(unknown)
        }
    }

    /** Appends the longest piece from [at] on: where it ends, or [NOWHERE]. */
    private fun longestPiece(
        text: IntList,
        at: Int,
        end: Int,
        from: Int,
        ids: IntList,
    ): Int {
        var node = from
        var next = at
        var found = PieceTrie.NONE
        var foundEnd = NOWHERE
        while (node != PieceTrie.NONE && next < end) {
            node = pieces.child(node, text[next++])
            if (node != PieceTrie.NONE && pieces.id(node) != PieceTrie.NONE) {
                found = pieces.id(node)
                foundEnd = next
            }
        }
        if (foundEnd != NOWHERE) ids.add(found)
        return foundEnd
    }

    private companion object {
        const val NOWHERE = -1
    }
}

/** What BERT's tokenizer does with single code points, by the tables of the library `tokenizers`. */
internal object BertCharacters {
    const val REMOVED = 1
    const val SPACE = 2
    const val CHINESE = 4
    const val SEPARATOR = 8
    const val PUNCTUATION = 16

    private val kinds =
        CodePointTable().apply {
            val marks =
                listOf(
                    BertTables.REMOVED to REMOVED,
                    BertTables.SPACES to SPACE,
                    BertTables.CHINESE to CHINESE,
                    BertTables.SEPARATORS to SEPARATOR,
                    BertTables.PUNCTUATION to PUNCTUATION,
                )
            for ((ranges, mark) in marks) forEachCodePoint(ranges) { code, _ -> this[code] = this[code] or mark }
        }

    /** Code points to those without accents, which may be none. */
    val STRIPPED = Mapping(BertTables.STRIPPED)

    /** Code points to lower case. */
    val LOWER = Mapping(BertTables.LOWERCASE)

    fun kind(codePoint: Int): Int = kinds[codePoint]

    /** Code points to several others; those that are not named stay. */
    class Mapping(
        entries: String,
    ) {
        private val places = CodePointTable() // in `targets`, from 1 on
        private val targets = IntList() // how many, and then they

        init {
            forEachCodePoint(entries) { code, value ->
                places[code] = targets.size + 1
                val parts = if (value.isEmpty()) emptyList() else value.split('.')
                targets.add(parts.size)
                for (part in parts) targets.add(part.toInt(16))
            }
        }

        inline fun forEach(
            codePoint: Int,
            action: (Int) -> Unit,
        ) {
            val place = places[codePoint] - 1
            if (place < 0) return action(codePoint)
            for (at in place + 1..place + targets[place]) action(targets[at])
        }
    }
}

/** Syllables of Hangul fall apart into letters by a formula (Unicode standard, section 3.12). */
internal object Hangul {
    val SYLLABLES = 0xAC00..0xD7A3

    inline fun forEachLetter(
        syllable: Int,
        action: (Int) -> Unit,
    ) {
        val index = syllable - SYLLABLES.first
        action(FIRST_LEAD + index / (VOWELS * TAILS))
        action(FIRST_VOWEL + index % (VOWELS * TAILS) / TAILS)
        if (index % TAILS != 0) action(BEFORE_TAILS + index % TAILS)
    }

    private const val FIRST_LEAD = 0x1100
    private const val FIRST_VOWEL = 0x1161
    private const val BEFORE_TAILS = 0x11A7
    private const val VOWELS = 21
    private const val TAILS = 28
}
