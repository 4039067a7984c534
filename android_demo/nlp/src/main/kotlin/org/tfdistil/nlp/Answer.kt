package org.tfdistil.nlp

/**
 * A word of a text. Offsets count code points, as in Python; [Answer.range] has those of a Kotlin string.
 *
 * @property text the word.
 * @property start its first code point.
 * @property end the code point after its last.
 */
public data class Word(
    public val text: String,
    public val start: Int,
    public val end: Int,
)

/**
 * A labelled stretch of a text, an entity or a slot.
 *
 * @property label its type.
 * @property start its first code point.
 * @property end the code point after its last.
 * @property score the geometric mean of the probabilities of its words' tags, in (0, 1].
 */
public data class Span(
    public val label: String,
    public val start: Int,
    public val end: Int,
    public val score: Double,
)

/**
 * What a model says of a text: `tfdistil.runtime.Result` of Python.
 *
 * @property text the text.
 * @property words its words, in order.
 * @property tags a legal IOB2 tag of each word; null if the model gives none.
 * @property spans what the tags make, in order.
 * @property label intent or class; null if the model gives none.
 * @property labelScore the label's probability; null without a label.
 * @param units where each word begins in [text], in UTF-16 units.
 */
public class Answer internal constructor(
    public val text: String,
    public val words: List<Word>,
    public val tags: List<String>?,
    public val spans: List<Span>,
    public val label: String?,
    public val labelScore: Double?,
    private val units: IntArray,
) {
    /** Where a span lies in [text], in the UTF-16 units of a `Spannable`: from `first` to `last`, both inclusive. */
    public fun range(span: Span): IntRange = unit(span.start) until unit(span.end)

    /** Counted from the word before it: from the text's beginning, many spans would take time with the square of its length. */
    private fun unit(codePoint: Int): Int {
        val found = words.binarySearchBy(codePoint) { it.start }
        val word = if (found >= 0) found else -found - 2
        return if (word < 0) text.offsetByCodePoints(0, codePoint) else text.offsetByCodePoints(units[word], codePoint - words[word].start)
    }

    /** The part of [text] that a span covers. */
    public fun textOf(span: Span): String = text.substring(range(span))
}
