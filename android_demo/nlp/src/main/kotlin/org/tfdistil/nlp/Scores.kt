package org.tfdistil.nlp

/**
 * Scores of labels, row by row.
 *
 * @property values row after row.
 * @property labels scores in a row.
 */
internal class Scores(
    val values: FloatArray,
    val labels: Int,
) {
    val rows: Int get() = values.size / labels

    operator fun get(
        row: Int,
        label: Int,
    ): Float = values[row * labels + label]

    /** The label with the highest score; of equal ones the first. */
    fun best(row: Int): Int {
        var best = 0
        for (label in 1 until labels) if (this[row, label] > this[row, best]) best = label
        return best
    }

    /** The softmax probability of a label of a row. */
    fun probability(
        row: Int,
        label: Int,
    ): Double {
        val highest = this[row, best(row)]
        var sum = 0.0
        for (other in 0 until labels) sum += Math.exp((this[row, other] - highest).toDouble())
        return Math.exp((this[row, label] - highest).toDouble()) / sum
    }
}
