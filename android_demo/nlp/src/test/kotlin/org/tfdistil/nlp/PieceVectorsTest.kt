package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test

/** `tests/vectors/pieces-*.json`, id for id: the tokenizers of XLM-R and RoBERTa. */
class PieceVectorsTest {
    @Test
    fun unigram() = compare("unigram")

    @Test
    fun bytePairs() = compare("bytes")

    @Test
    fun mergesMayBeTexts() {
        val file = Tokenizers.of("bytes").getValue("roberta")
        val model = file["model"] as Map<*, *>
        val merges = (model["merges"] as List<*>).map { (it as List<*>).joinToString(" ") }
        val older = featurizer(file + ("model" to model + ("merges" to merges)))
        for (item in Vectors.read("pieces-bytes-1")) {
            assertEquals(ints(item.list("ids").first()), ids(older, item.text("word")))
        }
    }

    private fun compare(kind: String) {
        val featurizers = Tokenizers.of(kind).values.map(::featurizer)
        var words = 0
        for (item in (1..PARTS).flatMap { Vectors.read("pieces-$kind-$it") }) {
            val word = item.text("word")
            assertEquals(word, item.list("ids").map(::ints), featurizers.map { ids(it, word) })
            words++
        }
        assertTrue("$words", words > 1000)
    }

    private fun featurizer(tokenizer: Map<String, Any?>): Featurizer {
        val settings = SubwordFeaturizer.Settings(100_000, 0, CLS, SEP, PAD, UNKNOWN, false, 2)
        return SubwordFeaturizer(TokenizerFile.read(Fields(tokenizer, "tokenizer.json")), settings)
    }

    private fun ids(
        featurizer: Featurizer,
        word: String,
    ): List<Int> {
        val window = featurizer.encode(wordsOf(listOf(word))).single()
        return (window.input("input_ids") as IntColumn).values.drop(1).dropLast(1)
    }

    private companion object {
        const val PARTS = 3
        const val CLS = 0
        const val PAD = 1
        const val SEP = 2
        const val UNKNOWN = 3
    }
}
