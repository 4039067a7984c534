package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Test

/** `tests/vectors/subwords-*.json`, id for id. */
class SubwordVectorsTest {
    private val shared = Vectors.items("subwords-tokenizers").single() as Map<*, *>
    private val tokenizer = shared["tokenizer"] as Map<*, *>
    private val normalizers = shared["normalizers"] as Map<*, *>

    @Test
    fun pieces() {
        val featurizers = normalizers.keys.map { featurizer(it as String, 100_000, 0, false) }
        for (item in (1..PARTS).flatMap { Vectors.read("subwords-pieces-$it") }) {
            val word = item.text("word")
            val expected = item.list("ids").map(::ints)
            val found = featurizers.map { ids(it.encode(wordsOf(listOf(word))).single()).drop(1).dropLast(1) }
            assertEquals(word, expected, found)
        }
    }

    @Test
    fun windows() {
        for (item in Vectors.read("subwords-windows")) {
            val featurizer = featurizer("uncased", number(item, "max_length"), number(item, "overlap"), false)
            val windows = featurizer.encode(wordsOf(item.texts("words")))
            val expected = item.list("windows").map { Fields.asFields(it, "window")!! }
            assertEquals(expected.map { ints(it.list("ids")) }, windows.map(::ids))
            assertEquals(expected.map { ints(it.list("firsts")) }, windows.map { it.firsts.toList() })
        }
    }

    @Test
    fun pairs() {
        for (item in Vectors.read("subwords-pairs")) {
            val featurizer = featurizer("uncased", number(item, "max_length"), 0, true)
            val window = featurizer.encode(wordsOf(item.texts("first")), wordsOf(item.texts("second"))).single()
            assertEquals(ints(item.list("ids")), ids(window))
            assertEquals(ints(item.list("types")), (window.input("token_type_ids") as IntColumn).values.toList())
            assertEquals(ints(item.list("firsts")), window.firsts.toList())
        }
    }

    @Test
    fun hashes() {
        val item = Vectors.read("subwords-hashes").single()
        val spec = ProjectionSpec.read(item.fields("projection"))
        for (text in item.list("texts").map { Fields.asFields(it, "text")!! }) {
            val featurizer = featurizer("uncased", number(text, "max_length"), number(text, "overlap"), false, spec)
            val second = if ("second" in text) wordsOf(text.texts("second")) else null
            val windows = featurizer.encode(wordsOf(text.texts("first")), second)
            assertEquals(text.texts("hex"), windows.map { (it.input("fingerprint") as ByteColumn).values.hex() })
        }
    }

    @Test
    fun cuts() {
        for (item in Vectors.read("subwords-cuts")) {
            val budget = number(item, "budget")
            if ("pair" in item) {
                val (first, second) = ints(item.list("pair"))
                assertEquals(ints(item.list("kept")), truncatePair(first, second, budget).toList())
            } else {
                val found = stretches(ints(item.list("lengths")).toIntArray(), budget, number(item, "overlap"))
                assertEquals(item.list("stretches").map(::ints), found.map { listOf(it.first, it.end, it.firstOwned, it.endOwned) })
            }
        }
    }

    private fun featurizer(
        normalizer: String,
        maxLength: Int,
        overlap: Int,
        tokenTypes: Boolean,
        hashed: ProjectionSpec? = null,
    ): Featurizer {
        val changed = (tokenizer + ("normalizer" to normalizers[normalizer])).mapKeys { it.key as String }
        // The special tokens that train_wordpiece gives the first ids.
        val settings = SubwordFeaturizer.Settings(maxLength, overlap, CLS, SEP, PAD, UNKNOWN, tokenTypes, 1)
        return SubwordFeaturizer(TokenizerFile.read(Fields(changed, "tokenizer.json")), settings, hashed)
    }

    private fun ids(window: Window) = (window.input("input_ids") as IntColumn).values.toList()

    private fun number(
        item: Fields,
        name: String,
    ) = item.number(name, 0..1_000_000)

    private companion object {
        const val PARTS = 3
        const val PAD = 0
        const val UNKNOWN = 1
        const val CLS = 2
        const val SEP = 3
    }
}
