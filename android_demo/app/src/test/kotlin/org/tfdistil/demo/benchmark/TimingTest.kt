package org.tfdistil.demo.benchmark

import org.junit.Assert.assertEquals
import org.junit.Test

class TimingTest {
    @Test
    fun `quantiles lie between values as NumPy's do`() {
        val timing = Timing(listOf(doubleArrayOf(4.0, 1.0), doubleArrayOf(3.0, 2.0)))
        assertEquals(2.5, timing.quantile(0.5), 1e-12) // np.quantile([1, 2, 3, 4], q)
        assertEquals(3.7, timing.quantile(0.9), 1e-12)
        assertEquals(listOf(2.5, 2.5), timing.medians)
        assertEquals(4, timing.calls)
    }

    @Test
    fun `models take turns, block by block, and each block is warmed up`() {
        val order = StringBuilder()
        val calls = listOf("a", "b").associateWith { name -> { _: Int -> order.append(name).let { } } }
        val rounds = mutableListOf<Pair<String, Int>>()
        val times = timeInTurns(calls, count = 3, rounds = 2, warmUp = 1) { name, turn, turns -> rounds += name to turn * turns }
        assertEquals("ab" + "aaaabbbb".repeat(2), order.toString()) // 2 timed calls after 2 untimed ones
        assertEquals(listOf("a" to 0, "b" to 0, "a" to 2, "b" to 2), rounds)
        assertEquals(4, times.getValue("a").calls)
    }

    @Test
    fun `a ratio is the median of the rounds' ratios`() {
        val slower = Timing(listOf(doubleArrayOf(4.0), doubleArrayOf(9.0), doubleArrayOf(30.0)))
        val faster = Timing(listOf(doubleArrayOf(2.0), doubleArrayOf(3.0), doubleArrayOf(5.0)))
        val ratio = Ratio(slower, faster)
        assertEquals(listOf(3.0, 2.0, 6.0), listOf(ratio.median, ratio.low, ratio.high))
    }
}
