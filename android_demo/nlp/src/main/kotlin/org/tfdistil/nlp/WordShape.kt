package org.tfdistil.nlp

/**
 * What a word looks like, from its code points as they are written: docs/projection.md, section 4.
 * Of one thread at a time.
 */
internal class WordShape {
    /** Whether the first letter is a capital. */
    var firstIsCapital = false
        private set

    /** Whether there are letters and all are capitals. */
    var allAreCapitals = false
        private set

    private var mixed = false
    private var digit = false
    private var letterOrUnspaced = false
    private var hyphen = false
    private var apostrophe = false
    private var otherSymbol = false
    private var length = 0

    /** Reads a word. */
    fun read(codePoints: IntList) {
        readLetters(codePoints)
        digit = false
        letterOrUnspaced = false
        hyphen = false
        apostrophe = false
        otherSymbol = false
        length = codePoints.size
        for (at in 0 until codePoints.size) {
            val codePoint = codePoints[at]
            when (CharacterClass.of(codePoint)) {
                CharacterClass.DIGIT -> digit = true
                CharacterClass.LETTER, CharacterClass.UNSPACED -> letterOrUnspaced = true
                CharacterClass.MARK, CharacterClass.FORMAT -> length--
                CharacterClass.SYMBOL ->
                    when {
                        codePoint in APOSTROPHES -> apostrophe = true
                        codePoint in HYPHENS && at > 0 && at < codePoints.size - 1 -> hyphen = true
                        else -> otherSymbol = true
                    }
            }
        }
    }

    private fun readLetters(codePoints: IntList) {
        var letters = 0
        var capitals = 0
        firstIsCapital = false
        for (at in 0 until codePoints.size) {
            val codePoint = codePoints[at]
            if (!LetterCases.isLetter(codePoint)) continue
            val capital = LetterCases.isCapital(codePoint)
            if (letters++ == 0) firstIsCapital = capital
            if (capital) capitals++
        }
        allAreCapitals = letters > 0 && capitals == letters
        mixed = capitals < letters && capitals > (if (firstIsCapital) 1 else 0)
    }

    /** Feature [index] of those that follow the hashed ones: whether it is +1, else it is -1. */
    operator fun get(index: Int): Boolean =
        when (index) {
            0 -> firstIsCapital
            1 -> allAreCapitals
            2 -> mixed
            3 -> digit
            4 -> digit && !letterOrUnspaced
            5 -> hyphen
            6 -> apostrophe
            7 -> otherSymbol
            8 -> length < 2
            9 -> length in 2..3
            10 -> length in 4..6
            else -> length > 6
        }

    companion object {
        /** How many features there are: three bytes. */
        const val FEATURES = 12

        private const val HYPHENS = "-\u2010\u2011"
        private const val APOSTROPHES = "'\u2019"

        private operator fun String.contains(codePoint: Int) = indexOf(codePoint.toChar()) >= 0 && codePoint < 0x10000
    }
}
