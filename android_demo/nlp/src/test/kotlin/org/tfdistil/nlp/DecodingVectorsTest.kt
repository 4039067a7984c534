package org.tfdistil.nlp

import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Test

/** `tests/vectors/decoding-*.json`: paths label for label, probabilities as far as `exp` and `log` agree. */
class DecodingVectorsTest {
    @Test
    fun steps() {
        for (item in Vectors.read("decoding-steps")) {
            val all = WordLabels(item.texts("labels"))
            val places = 0 until all.size
            assertEquals(ints(item.list("start")), places.filter { all.mayStart(it) })
            assertEquals(ints(item.list("end")), places.filter { all.mayEnd(it) })
            assertEquals(item.list("follow").map(::ints), places.map { label -> places.filter { all.mayFollow(label, it) } })
            assertEquals(places.map { next -> places.filter { all.mayFollow(it, next) } }, all.before.map { it.toList() })
        }
    }

    @Test
    fun cases() {
        for (item in Vectors.read("decoding-cases")) {
            val names = item.texts("labels")
            val head = WordLabels(names)
            val scores = Scores(numbers(item.list("scores")).map { it.toFloat() }.toFloatArray(), names.size)
            val decoder =
                if ("potentials" in item) {
                    CrfDecoder(head, numbers(item.list("potentials")).toDoubleArray())
                } else {
                    LinearDecoder(head)
                }
            val path = decoder.path(scores)
            assertEquals(ints(item.list("path")), path.toList())
            val tags = path.map { head.inIob2[it] }
            assertEquals(item.texts("tags"), tags)
            val probabilities = decoder.probabilities(scores, path)
            assertArrayEquals(item.list("probabilities").map { (it as Number).toDouble() }.toDoubleArray(), probabilities, CLOSE)
            val spans = ArrayList<List<Any?>>()
            forEachSpan(tags, probabilities) { label, first, end, score -> spans.add(listOf(label, first.toLong(), end.toLong(), score)) }
            val expected = item.list("spans").map { it as List<*> }
            assertEquals(expected.map { it.take(3) }, spans.map { it.take(3) })
            for ((one, other) in expected.zip(spans)) assertEquals(one[3] as Double, other[3] as Double, CLOSE)
        }
    }

    private fun numbers(rows: List<Any?>): List<Double> = rows.flatMap { row -> (row as List<*>).map { (it as Number).toDouble() } }

    private companion object {
        const val CLOSE = 1e-9
    }
}
