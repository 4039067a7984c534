package org.tfdistil.nlp

/** Capitals and small letters by the table `LOWERCASE`, code point by code point. */
internal object LetterCases {
    private val offsets =
        CodePointTable().apply { forEachCodePoint(ProjectionTables.LOWERCASE) { code, offset -> this[code] = offset.toInt(16) } }
    private val small =
        CodePointTable().apply {
            forEachCodePoint(ProjectionTables.LOWERCASE) { code, offset -> this[code + offset.toInt(16)] = 1 }
        }

    /** The lower case of a code point, or itself. */
    fun lower(codePoint: Int): Int = codePoint + offsets[codePoint]

    fun isCapital(codePoint: Int): Boolean = offsets[codePoint] != 0

    /** Whether a code point is a letter that has a case. */
    fun isLetter(codePoint: Int): Boolean = isCapital(codePoint) || small[codePoint] != 0
}
