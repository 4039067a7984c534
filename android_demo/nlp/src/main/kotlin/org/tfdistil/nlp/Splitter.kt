package org.tfdistil.nlp

/** Splits a text into words, as docs/projection.md says. */
internal fun interface Splitter {
    /** Fills [words] with those of [text]. */
    fun split(
        text: CharSequence,
        words: Words,
    )

    companion object {
        /**
         * @param kind the name in the model file.
         * @throws ModelFileException a name that is unknown.
         */
        fun of(kind: String): Splitter =
            when (kind) {
                "unicode" -> UnicodeSplitter
                "whitespace" -> WhitespaceSplitter
                else -> throw ModelFileException(
                    "unknown word splitter ${Fields.shown(kind)}; this version knows unicode and whitespace. Update the app",
                )
            }
    }
}

/** The maximal runs of characters that are no white space. */
internal object WhitespaceSplitter : Splitter {
    override fun split(
        text: CharSequence,
        words: Words,
    ) {
        words.begin(text)
        var start = -1
        for (at in text.indices) { // white space is in the basic plane
            val space = CharacterClass.of(text[at].code) == CharacterClass.SPACE
            if (space && start >= 0) words.add(start, at)
            if (space) start = -1 else if (start < 0) start = at
        }
        if (start >= 0) words.add(start, text.length)
    }
}

/** Runs of letters and digits, single symbols, single characters of scripts without spaces. */
internal object UnicodeSplitter : Splitter {
    private const val INSIDE_WORDS = "'’·‧׳״"
    private const val INSIDE_NUMBERS = ".,:٫٬"
    private const val ZERO_WIDTH_JOINER = '\u200D'
    private const val STACKERS = "\u17D2\u1039"

    override fun split(
        text: CharSequence,
        words: Words,
    ) {
        words.begin(text)
        var start = -1 // of the current word, -1 if there is none
        var word = CharacterClass.LETTER // its kind: LETTER (a run), SYMBOL or UNSPACED
        var base = CharacterClass.LETTER // class of its last character that is neither mark nor format
        var at = 0
        while (at < text.length) {
            val codePoint = Character.codePointAt(text, at)
            val next = at + Character.charCount(codePoint)
            val kind = CharacterClass.of(codePoint)
            val attached = kind == CharacterClass.MARK || kind == CharacterClass.FORMAT
            val continues =
                start >= 0 &&
                    (
                        attached ||
                            when (word) {
                                CharacterClass.SYMBOL ->
                                    kind == CharacterClass.SYMBOL && text[at - 1] == ZERO_WIDTH_JOINER

                                CharacterClass.UNSPACED ->
                                    kind == CharacterClass.UNSPACED && text[at - 1] in STACKERS

                                else -> isOfRuns(kind) || kind == CharacterClass.SYMBOL && joins(text, at, base)
                            }
                    )
            if (!continues) {
                if (start >= 0) words.add(start, at)
                start = if (CharacterClass.beginsWord(kind)) at else -1
                word = if (kind == CharacterClass.SYMBOL || kind == CharacterClass.UNSPACED) kind else CharacterClass.LETTER
                base = kind
            } else if (!attached) {
                base = kind
            }
            at = next
        }
        if (start >= 0) words.add(start, text.length)
    }

    private fun isOfRuns(kind: Int) = kind == CharacterClass.LETTER || kind == CharacterClass.DIGIT

    /** Whether the symbol at [at], of the basic plane, connects the run before it with what comes next. */
    private fun joins(
        text: CharSequence,
        at: Int,
        base: Int,
    ): Boolean {
        if (at + 1 >= text.length) return false
        val after = Character.codePointAt(text, at + 1)
        return when (text[at]) {
            in INSIDE_WORDS -> isOfRuns(CharacterClass.of(after))
            in INSIDE_NUMBERS -> base == CharacterClass.DIGIT && CharacterClass.of(after) == CharacterClass.DIGIT
            '"' -> text[at - 1] in 'א'..'ת' && after in 'א'.code..'ת'.code
            else -> false
        }
    }
}

/** The classes of the splitter: fixed ranges of Unicode 14, not those of the platform. */
internal object CharacterClass {
    const val LETTER = 0
    const val SPACE = 1
    const val CONTROL = 2
    const val FORMAT = 3
    const val MARK = 4
    const val SYMBOL = 5
    const val DIGIT = 6
    const val UNSPACED = 7

    private val table =
        CodePointTable().apply {
            val inOrder =
                listOf(
                    UnicodeClasses.SPACES to SPACE,
                    UnicodeClasses.CONTROLS to CONTROL,
                    UnicodeClasses.FORMATS to FORMAT,
                    UnicodeClasses.MARKS to MARK,
                    UnicodeClasses.SYMBOLS to SYMBOL,
                    UnicodeClasses.DIGITS to DIGIT,
                    UnicodeClasses.UNSPACED to UNSPACED,
                )
            for ((ranges, kind) in inOrder) {
                // The first class that holds a code point is its class.
                forEachCodePoint(ranges) { codePoint, _ -> if (this[codePoint] == LETTER) this[codePoint] = kind }
            }
        }

    fun of(codePoint: Int): Int = table[codePoint]

    fun beginsWord(kind: Int): Boolean = kind != SPACE && kind != CONTROL && kind != FORMAT
}
