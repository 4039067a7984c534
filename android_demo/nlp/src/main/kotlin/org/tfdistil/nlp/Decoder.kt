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
    private val sources = labels.before.distinct() // arrays that are one and the same
    private val sourceOf = sources.withIndex().associate { (at, source) -> source to at }.let { at -> labels.before.map(at::getValue) }.toIntArray()

    override fun path(scores: Scores): IntArray {
        val best = IntArray(scores.rows) { scores.best(it) }
        return if (labels.isLegal(best)) best else constrained(scores)
    }

    override fun probabilities(
        scores: Scores,
        path: IntArray,
    ): DoubleArray = DoubleArray(path.size) { scores.probability(it, path[it]) }

    /**
     * Viterbi, forward, in double precision: sums over long texts. Labels with the same labels before them
     * share one search, so that a word takes time with the number of labels, not with its square.
     */
    private fun constrained(scores: Scores): IntArray {
        val back = Array(scores.rows) { IntArray(sources.size) }
        var best = DoubleArray(labels.size) { if (labels.mayStart(it)) scores[0, it].toDouble() else Double.NEGATIVE_INFINITY }
        for (word in 1 until scores.rows) {
            val from = back[word]
            for ((at, source) in sources.withIndex()) from[at] = if (source.isEmpty()) NOWHERE else source[highest(source.size) { best[source[it]] }]
            best =
                DoubleArray(labels.size) { label ->
                    val last = from[sourceOf[label]]
                    (if (last == NOWHERE) Double.NEGATIVE_INFINITY else best[last]) + scores[word, label]
                }
        }
        val path = IntArray(scores.rows)
        path[path.size - 1] = highest(labels.size) { if (labels.mayEnd(it)) best[it] else Double.NEGATIVE_INFINITY }
        for (word in path.size - 1 downTo 1) path[word - 1] = back[word][sourceOf[path[word]]]
        return path
    }

    private companion object {
        const val NOWHERE = -1
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
