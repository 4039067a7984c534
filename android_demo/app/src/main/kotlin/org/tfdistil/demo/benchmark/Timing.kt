package org.tfdistil.demo.benchmark

import org.tfdistil.demo.quantile

/** Untimed calls at the start of each block: they bring the weights back into the caches. */
private const val REFILL = 3

/**
 * Wall-clock times of one thing.
 *
 * @property blocks milliseconds of each call, round by round.
 */
internal class Timing(
    val blocks: List<DoubleArray>,
) {
    private val sorted = blocks.flatMap { it.asList() }.sorted()

    val calls get() = sorted.size
    val mean get() = sorted.average()

    /** The median of each round. */
    val medians = blocks.map { it.sorted().quantile(0.5) }

    fun quantile(q: Double) = sorted.quantile(q)
}

/**
 * How much slower one thing is than another, from rounds in which both were timed.
 *
 * @property median of the rounds' ratios of medians; [low] and [high] are the lowest and highest.
 */
internal class Ratio(
    slower: Timing,
    faster: Timing,
) {
    private val rounds = slower.medians.zip(faster.medians) { slow, fast -> slow / fast }.sorted()

    val median get() = rounds.quantile(0.5)
    val low get() = rounds.first()
    val high get() = rounds.last()
}

/**
 * Times things in turns: a block of calls of each, then the next round, so that a slow moment of the
 * phone falls on all of them.
 *
 * @param calls name to what is timed, which gets the number of the call.
 * @param count timed calls of each at least; rounded up to whole blocks.
 * @param rounds how many blocks they are cut into.
 * @param warmUp untimed calls of each before all else.
 * @param progress told the name, the round from 0 and the number of rounds before each block.
 */
internal fun timeInTurns(
    calls: Map<String, (Int) -> Unit>,
    count: Int,
    rounds: Int,
    warmUp: Int,
    progress: (String, Int, Int) -> Unit,
): Map<String, Timing> {
    val turns = minOf(rounds, count)
    val perBlock = (count + turns - 1) / turns
    for (call in calls.values) repeat(warmUp, call)
    val times = calls.mapValues { mutableListOf<DoubleArray>() }
    for (turn in 0 until turns) {
        for ((name, call) in calls) {
            progress(name, turn, turns)
            repeat(minOf(REFILL, perBlock), call)
            times.getValue(name) +=
                DoubleArray(perBlock) { number ->
                    val start = System.nanoTime()
                    call(number)
                    (System.nanoTime() - start) / 1e6
                }
        }
    }
    return times.mapValues { Timing(it.value) }
}
