package org.tfdistil.nlp

/** From scores of words to legal labels, by the kind of the head that gave them. */
internal interface Decoder {
    /** The best legal path. */
    fun path(scores: Scores): IntArray

    /** The probability of each label of a path. */
    fun probabilities(
        scores: Scores,
        path: IntArray,
    ): DoubleArray
}

/** Of a linear head: the legal labels with the highest sum of scores, and their softmax probabilities. */
internal class LinearDecoder(
    private val labels: WordLabels,
) : Decoder {
    override fun path(scores: Scores): IntArray {
        val best = IntArray(scores.rows) { scores.best(it) }
        return if (labels.isLegal(best)) best else constrained(scores)
    }

    override fun probabilities(
        scores: Scores,
        path: IntArray,
    ): DoubleArray = DoubleArray(path.size) { scores.probability(it, path[it]) }

    /** Viterbi, forward, in double precision: sums over long texts. */
    private fun constrained(scores: Scores): IntArray {
        val count = labels.size
        val back = Array(scores.rows) { IntArray(count) }
        var best = DoubleArray(count) { if (labels.mayStart(it)) scores[0, it].toDouble() else Double.NEGATIVE_INFINITY }
        for (word in 1 until scores.rows) {
            val next = DoubleArray(count)
            for (label in 0 until count) {
                val from = highest(count) { if (labels.mayFollow(it, label)) best[it] else Double.NEGATIVE_INFINITY }
                back[word][label] = from
                val reached = if (labels.mayFollow(from, label)) best[from] else Double.NEGATIVE_INFINITY
                next[label] = reached + scores[word, label]
            }
            best = next
        }
        val path = IntArray(scores.rows)
        path[path.size - 1] = highest(count) { if (labels.mayEnd(it)) best[it] else Double.NEGATIVE_INFINITY }
        for (word in path.size - 1 downTo 1) path[word - 1] = back[word][path[word]]
        return path
    }
}

/** Where a number is highest; of equal ones the first. */
internal inline fun highest(
    count: Int,
    number: (Int) -> Double,
): Int {
    var best = 0
    var most = number(0)
    for (at in 1 until count) {
        val value = number(at)
        if (value > most) {
            best = at
            most = value
        }
    }
    return best
}
