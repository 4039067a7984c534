package org.tfdistil.nlp

/**
 * Whether Normalization Form C of a word is to be found: all its code points are in the table
 * `NORMALIZED`, and it may not be in that form yet. Most words are, and need no `Normalizer`.
 */
internal fun needsComposing(word: IntList): Boolean {
    var lastClass = 0
    var composed = true
    for (at in 0 until word.size) {
        val properties = COMPOSITION[word[at]]
        if (properties and FROZEN == 0) return false
        val combiningClass = properties and CLASS_MASK
        if (properties and CHANGES != 0 || combiningClass != 0 && combiningClass < lastClass) composed = false
        lastClass = combiningClass
    }
    return !composed
}

private const val CLASS_MASK = 0xFF
private const val FROZEN = 0x100
private const val CHANGES = 0x200

private val COMPOSITION =
    CodePointTable().apply {
        forEachCodePoint(ProjectionTables.NORMALIZED) { code, _ -> this[code] = FROZEN }
        forEachCodePoint(ProjectionTables.COMPOSED) { code, _ -> this[code] = this[code] or CHANGES }
        forEachCodePoint(ProjectionTables.COMBINING) { code, number -> this[code] = this[code] or number.toInt(16) }
    }
