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

    // Schemes forbid half of all steps, or more.
    private val after = Array(count) { label -> possible { steps[label * count + it] } }
    private val before = Array(count) { label -> possible { steps[it * count + label] } }

    private inline fun possible(step: (Int) -> Double) = (0 until count).filter { step(it) > Double.NEGATIVE_INFINITY }.toIntArray()

    override fun path(scores: Scores): IntArray {
        val suffixes = suffixes(scores, ::highestOf)
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
        val suffixes = suffixes(scores, ::logSum)
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
        join: (ways: DoubleArray, count: Int) -> Double,
    ): Array<DoubleArray> {
        val found = Array(scores.rows) { DoubleArray(count) }
        val ways = DoubleArray(count)
        for (word in scores.rows - 1 downTo 0) {
            for (label in 0 until count) {
                val beyond =
                    if (word == scores.rows - 1) {
                        end[label]
                    } else {
                        for ((way, next) in after[label].withIndex()) ways[way] = steps[label * count + next] + found[word + 1][next]
                        join(ways, after[label].size)
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
                        for ((way, last) in before[label].withIndex()) ways[way] = steps[last * count + label] + found[word - 1][last]
                        logSum(ways, before[label].size)
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

        /** The highest of the first [count] values; of none, minus infinity. */
        fun highestOf(
            values: DoubleArray,
            count: Int,
        ): Double {
            var highest = Double.NEGATIVE_INFINITY
            for (at in 0 until count) highest = maxOf(highest, values[at])
            return highest
        }

        /** The log of the sum of the exponentials of the first [count] values. */
        fun logSum(
            values: DoubleArray,
            count: Int,
        ): Double {
            val highest = highestOf(values, count)
            if (highest == Double.NEGATIVE_INFINITY) return highest
            var sum = 0.0
            for (at in 0 until count) sum += Math.exp(values[at] - highest)
            return highest + Math.log(sum)
        }
    }
}
