package org.tfdistil.nlp

/**
 * Of a linear-chain CRF: the best legal path, and the marginal probabilities of its labels.
 *
 * @param labels which steps are legal.
 * @param potentials `[L + 2, L]`, row after row: the score of each label after each other one, of each as
 *   the first of a text, and of each as the last.
 */
internal class CrfDecoder(
    private val labels: WordLabels,
    potentials: DoubleArray,
) : Decoder {
    private val count = labels.size
    private val steps =
        DoubleArray(count * count) { score(potentials[it], labels.mayFollow(it / count, it % count)) }
    private val start = DoubleArray(count) { score(potentials[count * count + it], labels.mayStart(it)) }
    private val end = DoubleArray(count) { score(potentials[count * (count + 1) + it], labels.mayEnd(it)) }

    override fun path(scores: Scores): IntArray {
        val suffixes = suffixes(scores) { values -> values[highest(count) { values[it] }] }
        val path = IntArray(scores.rows)
        for (word in path.indices) {
            path[word] =
                highest(count) {
                    val before = if (word == 0) start[it] else steps[path[word - 1] * count + it]
                    before + suffixes[word][it]
                }
        }
        return path
    }

    override fun probabilities(
        scores: Scores,
        path: IntArray,
    ): DoubleArray {
        val suffixes = suffixes(scores) { logSum(it) }
        val prefixes = prefixes(scores)
        return DoubleArray(path.size) { word ->
            val through = DoubleArray(count) { prefixes[word][it] + suffixes[word][it] - scores[word, it] }
            val highest = through[highest(count) { through[it] }]
            var sum = 0.0
            for (value in through) sum += Math.exp(value - highest)
            Math.exp(through[path[word]] - highest) / sum
        }
    }

    /** For each word and label, its score and what [join] makes of all ways to go on from there. */
    private inline fun suffixes(
        scores: Scores,
        join: (ways: DoubleArray) -> Double,
    ): Array<DoubleArray> {
        val found = Array(scores.rows) { DoubleArray(count) }
        val ways = DoubleArray(count)
        for (word in scores.rows - 1 downTo 0) {
            for (label in 0 until count) {
                val beyond =
                    if (word == scores.rows - 1) {
                        end[label]
                    } else {
                        for (next in 0 until count) ways[next] = steps[label * count + next] + found[word + 1][next]
                        join(ways)
                    }
                found[word][label] = scores[word, label] + beyond
            }
        }
        return found
    }

    /** The log of the sum over all ways to each label, its own score with them. */
    private fun prefixes(scores: Scores): Array<DoubleArray> {
        val found = Array(scores.rows) { DoubleArray(count) }
        val ways = DoubleArray(count)
        for (word in 0 until scores.rows) {
            for (label in 0 until count) {
                val before =
                    if (word == 0) {
                        start[label]
                    } else {
                        for (last in 0 until count) ways[last] = steps[last * count + label] + found[word - 1][last]
                        logSum(ways)
                    }
                found[word][label] = scores[word, label] + before
            }
        }
        return found
    }

    private companion object {
        /** A score below this forbids a step; -10,000 is written. */
        const val FORBIDDEN = -5000.0

        fun score(
            potential: Double,
            legal: Boolean,
        ): Double = if (legal && potential > FORBIDDEN) potential else Double.NEGATIVE_INFINITY

        /** The log of the sum of the exponentials, added up one by one as NumPy's `logaddexp` does. */
        fun logSum(values: DoubleArray): Double {
            var sum = Double.NEGATIVE_INFINITY
            for (value in values) {
                val high = maxOf(sum, value)
                val low = minOf(sum, value)
                sum = if (low > Double.NEGATIVE_INFINITY) high + Math.log1p(Math.exp(low - high)) else high
            }
            return sum
        }
    }
}
