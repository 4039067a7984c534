package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Test
import java.util.Random

/** What takes time with the square of a length here takes hours: the limits are a hundred times what is needed. */
class LongTextsTest {
    private val random = Random(18)

    @Test(timeout = 60_000)
    fun tenThousandLabels() {
        val names = listOf("O") + (1..4999).flatMap { listOf("B-$it", "I-$it") }
        val labels = WordLabels(names)
        val scores = Scores(FloatArray(WORDS * names.size) { random.nextFloat() }, names.size)
        val path = LinearDecoder(labels).path(scores)
        assertTrue(labels.isLegal(path))
        // No other one is as good as the best of those without inner labels, which are all legal.
        val beginnings = IntArray(WORDS) { word -> (names.indices).filter { it == 0 || it % 2 == 1 }.maxByOrNull { scores[word, it] }!! }
        val highest = IntArray(WORDS) { scores.best(it) }
        assertFalse(labels.isLegal(highest))
        assertTrue(sum(scores, path) in sum(scores, beginnings)..sum(scores, highest))
    }

    @Test(timeout = 60_000)
    fun aLinearDecoderFindsTheBestPathOfAll() {
        val labels = WordLabels(listOf("O", "I-a", "B-a", "B-b", "I-b", "X"))
        repeat(300) {
            // Few values, so that many paths are as good as others.
            val scores = Scores(FloatArray(4 * labels.size) { random.nextInt(4).toFloat() }, labels.size)
            val best = paths(labels.size, 4).filter(labels::isLegal).maxOf { sum(scores, it) }
            val found = LinearDecoder(labels).path(scores)
            assertTrue(labels.isLegal(found))
            assertEquals(best, sum(scores, found), 0f)
        }
    }

    @Test(timeout = 60_000)
    fun aMillionWordsWithASpanEach() {
        val word = "\uD83D\uDE00"
        val text = "$word ".repeat(MANY)
        val words = List(MANY) { Word(word, 2 * it, 2 * it + 1) }
        val answer = Answer(text, words, null, emptyList(), null, null, IntArray(MANY) { 3 * it })
        for (at in 0 until MANY) assertEquals(3 * at..3 * at + 1, answer.range(Span("a", 2 * at, 2 * at + 1, 1.0)))
        assertEquals("$word $word", answer.textOf(Span("a", 2 * MANY - 4, 2 * MANY - 1, 1.0)))
        assertEquals(" ", answer.textOf(Span("a", 1, 2, 1.0)))
    }

    private fun paths(
        labels: Int,
        words: Int,
    ): List<IntArray> = if (words == 0) listOf(IntArray(0)) else paths(labels, words - 1).flatMap { path -> (0 until labels).map { path + it } }

    private fun sum(
        scores: Scores,
        path: IntArray,
    ) = path.indices.map { scores[it, path[it]] }.sum()

    private companion object {
        const val WORDS = 1000
        const val MANY = 1_000_000
    }
}
