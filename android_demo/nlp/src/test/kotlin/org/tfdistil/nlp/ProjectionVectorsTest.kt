package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Test

/** `tests/vectors/projection-*.json`, byte for byte. */
class ProjectionVectorsTest {
    private val specs = Vectors.read("projection-specs").single()
    private val shown = ProjectionSpec.read(specs.fields("shown"))
    private val utterances = (1..4).flatMap { Vectors.read("projection-utterances-$it") }
    private val words = Words()

    @Test
    fun wordsAndShownBytes() {
        val featurizer = ProjectionFeaturizer(shown, LONG, 0)
        for (utterance in utterances) {
            val text = textOf(utterance)
            UnicodeSplitter.split(text, words)
            assertEquals(text, utterance.list("words").map(::ints), placesOf(words))
            if (words.size > 0) assertEquals(text, utterance.text("hex"), fingerprints(featurizer.encode(words).single()).hex())
        }
    }

    @Test
    fun digests() {
        val featurizers =
            specs.list("digested").map { ProjectionFeaturizer(ProjectionSpec.read(Fields.asFields(it, "digested")!!), LONG, 0) }
        for (utterance in utterances) {
            UnicodeSplitter.split(textOf(utterance), words)
            val found = featurizers.map { sha256(fingerprints(it.encode(words).single())).hex().take(8) }
            assertEquals(textOf(utterance), utterance.texts("digests"), found)
        }
    }

    @Test
    fun refused() {
        for (spec in specs.objects("refused")) assertThrows(ModelFileException::class.java) { ProjectionSpec.read(spec) }
    }

    @Test
    fun tokens() {
        for (item in Vectors.read("projection-tokens")) {
            val token = item.text("token").repeat(item.number("times", 1..LONG))
            for ((name, expected) in item.textsByName("hex")) {
                val spec = named(name)
                val bytes = ByteArray(spec.bytes)
                val fingerprints = Fingerprints(spec)
                if (item.flag("special")) {
                    fingerprints.ofToken(token, bytes, 0)
                } else {
                    fingerprints.ofWord(token, 0, token.length, bytes, 0)
                }
                assertEquals("$name of $token", expected, bytes.hex())
            }
        }
    }

    @Test
    fun windows() {
        for (item in Vectors.read("projection-windows")) {
            val given = (0 until item.number("words", 0..LONG)).map { "w$it" }
            val spec = spec(listOf("murmur" to 32), TernaryMap.OPERATOR, eos = item.flag("eos"))
            val overlap = item.number("overlap", 0..LONG)
            val rows = given.associateBy { word -> ByteArray(8).also { Fingerprints(spec).ofWord(word, 0, word.length, it, 0) }.hex() }
            val featurizer = ProjectionFeaturizer(spec, item.number("max_length", 1..LONG), overlap)
            val found =
                featurizer.encode(wordsOf(given)).map { window ->
                    val at = fingerprints(window).toList().chunked(8).mapNotNull { rows[it.toByteArray().hex()]?.drop(1)?.toInt() }
                    val first = at.firstOrNull() ?: 0
                    val owned = window.firsts.map { it + first }
                    Triple(first, (at.lastOrNull() ?: -1) + 1, (owned.firstOrNull() ?: 0) to (owned.lastOrNull() ?: -1) + 1)
                }
            val expected =
                item.list("windows").map { Fields.asFields(it, "window")!! }.map {
                    val (first, end) = ints(it.list("shown"))
                    val (firstOwned, endOwned) = ints(it.list("owned"))
                    Triple(first, end, firstOwned to endOwned)
                }
            assertEquals("$given", expected, found)
        }
    }

    @Test
    fun pairs() {
        for (item in Vectors.read("projection-pairs")) {
            val spec = spec(shown.families, shown.map, eos = item.flag("eos"))
            val featurizer = ProjectionFeaturizer(spec, item.number("max_length", 1..LONG), 0)
            val window = featurizer.encode(wordsOf(item.texts("first")), wordsOf(item.texts("second"))).single()
            assertEquals(ints(item.list("kept")).first(), window.firsts.size)
            assertEquals(item.text("hex"), fingerprints(window).hex())
        }
    }

    @Test
    fun whitespace() {
        for (item in Vectors.read("projection-whitespace")) {
            WhitespaceSplitter.split(item.text("text"), words)
            assertEquals(item.text("text"), item.list("words").map(::ints), placesOf(words))
        }
    }

    private fun textOf(utterance: Fields) = utterance.text("text").repeat(utterance.number("times", 1..LONG))

    private fun fingerprints(window: Window) = (window.input("fingerprint") as ByteColumn).values

    private fun named(name: String): ProjectionSpec =
        when (name) {
            "cased" ->
                ProjectionSpec(
                    listOf("murmur" to 4),
                    TernaryMap.OPERATOR,
                    compose = false,
                    lowercase = false,
                    capitalization = false,
                    eos = false,
                    shape = false,
                )
            "shape" ->
                ProjectionSpec(
                    listOf("murmur" to 4),
                    TernaryMap.UNBALANCED,
                    compose = true,
                    lowercase = true,
                    capitalization = false,
                    eos = false,
                    shape = true,
                )
            "capitals" ->
                ProjectionSpec(
                    listOf("murmur" to 4),
                    TernaryMap.PAPER,
                    compose = true,
                    lowercase = true,
                    capitalization = true,
                    eos = false,
                    shape = false,
                )
            else -> {
                val (family, map) = name.split('/')
                spec(listOf(family to 36), TernaryMap.valueOf(map.uppercase()), eos = false)
            }
        }

    private fun spec(
        families: List<Pair<String, Int>>,
        map: TernaryMap,
        eos: Boolean,
    ) = ProjectionSpec(families, map, compose = true, lowercase = true, capitalization = false, eos = eos, shape = false)

    private companion object {
        const val LONG = 100_000
    }
}
