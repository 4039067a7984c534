package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import java.util.Random

/**
 * Tokenizers of strangers, in a model file whose checksums fit: whatever is in them, they cut any text, or are
 * refused by a [ModelFileException] with a short message; nothing else is raised, and nothing takes long.
 *
 * `-Dfuzz=5000` changes as many of each kind instead of some hundred.
 */
class HostileTokenizersTest {
    private val rounds = System.getProperty("fuzz").toInt()
    private val changes = JsonChanges(Random(18))

    @Test
    fun wordPieces() = survives(Tokenizers.wordPieces())

    @Test
    fun unigrams() = survives(Tokenizers.of("unigram").values.toList())

    @Test
    fun bytePairs() = survives(Tokenizers.of("bytes").values.toList())

    @Test(timeout = 100_000)
    fun tooMuch() {
        val letter = "\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}"
        val doubling = "{$letter,\"content\":\"aa\"}"
        val lowercase = "{\"type\":\"Lowercase\"}"
        val pieces = "\"type\":\"WordPiece\",\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\",\"max_input_chars_per_word\":2147483647"

        fun sequence(parts: List<String>) = "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[${parts.joinToString(",")}]},\"model\":{$pieces,\"vocab\":{\"a\":0}}}"

        fun vocabulary(pairs: Sequence<String>) = "{\"model\":{$pieces,\"vocab\":{\"a\":0,${pairs.joinToString(",")}}}}"
        // Made one by one: the tests' own heap is small, too.
        val cases =
            listOf<Pair<() -> String, String>>(
                { sequence(List(60) { doubling }) } to "a text becomes more than 4194304 characters",
                { sequence(List(101) { lowercase }) } to "is one of more than 100 parts",
                { sequence(listOf("{$letter,\"content\":\"${"b".repeat(1001)}\"}")) } to "is of a text of 1001 characters",
                { vocabulary(sequenceOf("\"${"a".repeat(1001)}\":1")) } to "has a piece of 1001 characters, 'aaa",
                { vocabulary((0 until 3000).asSequence().map { "\"%04d${"b".repeat(900)}\":1".format(it) }) } to "have more than 2097152 beginnings",
                { vocabulary((0 until 1_100_000).asSequence().map { "\"$it\":1" }) } to "more than 1048576 values",
            )
        for ((json, expected) in cases) {
            val said = refusal(json(), TEXTS) ?: throw AssertionError("nothing is wrong where it should be: $expected")
            assertTrue("'$said' instead of '$expected'", expected in said)
        }
        assertEquals(null, refusal(vocabulary((0 until 1_000_000).asSequence().map { "\"$it\":1" }), TEXTS))
    }

    /** Were the factor known, all of these keys would begin their search at one place, and each pass all before it. */
    @Test(timeout = 100_000)
    fun keysThatWouldFallTogether() {
        val known = -0x61c8864680b583ebL
        var inverse = known // by Newton's iteration, which doubles the digits that are right
        repeat(5) { inverse *= 2 - known * inverse }
        val random = Random(18)
        val keys = generateSequence { (random.nextLong() and PLACE.inv()) * inverse }.filter { it >= 0 && it.toInt() >= 0 }.take(1 shl 19).toList()
        val merges = Merges(keys.size)
        for ((rank, key) in keys.withIndex()) merges.add((key ushr 32).toInt(), key.toInt(), rank, rank)
        for ((rank, key) in keys.withIndex()) assertEquals(rank, merges.rank((key ushr 32).toInt(), key.toInt()))
    }

    private fun survives(tokenizers: List<Map<String, Any?>>) {
        var refused = 0
        repeat(rounds) { round ->
            val json = JsonText.of(changes.of(tokenizers[round % tokenizers.size]))
            val start = System.nanoTime()
            val said = refusal(json, TEXTS)
            val seconds = (System.nanoTime() - start) / 1e9
            assertTrue("$seconds s for ${json.take(2000)}", seconds < MOST_SECONDS)
            if (said != null) {
                assertTrue(said, said.length in 20..500)
                refused++
            }
        }
        println("$refused of $rounds refused")
        assertTrue("$refused of $rounds", refused in rounds / 4..rounds * 9 / 10)
    }

    private companion object {
        const val MOST_SECONDS = 20
        const val PLACE = 0x1fffffL shl 32 // what was a place in a table of two million
        val TEXTS = listOf("", "wake me up at 7:30", "\uD83D é\u0301 \uD83D\uDE00 " + "la ".repeat(300), "a".repeat(20_000), "ﷺ가".repeat(2000))

        /** What is said of a tokenizer, or null if it cuts the texts; whatever else is raised goes through. */
        fun refusal(
            json: String,
            texts: List<String>,
        ): String? =
            try {
                val model = ModelFile.read(Tokenizers.packed(json))
                val featurizer = model.newFeaturizer()
                val words = Words()
                for (text in texts) {
                    WhitespaceSplitter.split(text, words)
                    val windows = featurizer.encode(words)
                    assertEquals(words.size, windows.sumOf { it.firsts.size })
                }
                null
            } catch (error: ModelFileException) {
                error.message
            }
    }
}
