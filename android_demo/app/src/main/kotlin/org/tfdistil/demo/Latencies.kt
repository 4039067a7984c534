package org.tfdistil.demo

/** The times of the latest inferences. */
internal class Latencies(
    private val kept: Int = 100,
) {
    private val times = ArrayDeque<Double>()

    /** Adds a time in milliseconds, and drops the oldest one if there are more than `kept`. */
    fun add(milliseconds: Double): Speed {
        times.addLast(milliseconds)
        if (times.size > kept) times.removeFirst()
        val sorted = times.sorted()
        return Speed(milliseconds, sorted.quantile(0.5), sorted.quantile(0.9), times.size)
    }
}

/**
 * How fast a model answers, in milliseconds.
 *
 * @property latest the time of the latest text.
 * @property count how many texts [p50] and [p90] are of.
 */
internal data class Speed(
    val latest: Double,
    val p50: Double,
    val p90: Double,
    val count: Int,
)

/** The value that a share [q] of sorted values does not exceed; between two values, as NumPy has it. */
internal fun List<Double>.quantile(q: Double): Double {
    val place = q * (size - 1)
    val below = place.toInt()
    val above = minOf(below + 1, lastIndex)
    return this[below] + (this[above] - this[below]) * (place - below)
}
