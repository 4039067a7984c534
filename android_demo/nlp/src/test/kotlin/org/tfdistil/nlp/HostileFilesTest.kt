package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Random

/**
 * Files of strangers: whatever is in them, they are opened and answer, or are refused by a
 * [ModelFileException] with a short message. Nothing else is raised, in the memory that a phone has: the
 * tests run with a small heap.
 *
 * `-Dfuzz=10000` makes as many files of each kind instead of some hundred.
 */
class HostileFilesTest {
    private val rounds = System.getProperty("fuzz").toInt()
    private val random = Random(18)

    @Test
    fun damagedFiles() =
        mostAreRefused {
            val file = PackedModel.file.copyOf(PackedModel.file.size - if (random.nextInt(4) == 0) random.nextInt(100) else 0)
            // The zip's directory and the head of the graph are the places where a byte matters most.
            val from = if (random.nextBoolean()) file.size - 400 else 0
            repeat(1 + random.nextInt(8)) { file[from + random.nextInt(400)] = oddByte() }
            ByteBuffer.wrap(file)
        }

    @Test
    fun graphs() =
        mostAreRefused {
            val graph = PackedModel.graph.copyOf()
            val words = ByteBuffer.wrap(graph).order(ByteOrder.LITTLE_ENDIAN)
            repeat(1 + random.nextInt(8)) {
                val at = random.nextInt(graph.size / 4) * 4
                // A place of another table, a huge count, or noise.
                when (random.nextInt(3)) {
                    0 -> words.putInt(at, words.getInt(random.nextInt(graph.size / 4) * 4))
                    1 -> words.putInt(at, listOf(-1, Int.MAX_VALUE, Int.MIN_VALUE, graph.size, 0).random())
                    else -> graph[at] = oddByte()
                }
            }
            if (random.nextInt(2) == 0) words.putInt(0, random.nextInt(graph.size))
            PackedModel.of(graph = graph)
        }

    @Test
    fun configurations() = mostAreRefused { PackedModel.of(config = changed(PackedModel.config)) }

    @Test
    fun projections() {
        val projection = String(PackedModel.assets.getValue("projection.json"))
        mostAreRefused { PackedModel.of(others = mapOf("projection.json" to changed(projection).toByteArray())) }
    }

    @Test
    fun tooMuch() {
        val config = PackedModel.config
        val room = config.lastIndexOf('}')

        fun with(field: String) = config.take(room) + ", \"more\": $field}"
        // Made one by one: the tests' own heap is small, too.
        val cases =
            listOf<Pair<() -> String, String>>(
                { with("[" + "[],".repeat(4_000_000) + "0]") } to "more than 1048576 values",
                { with("[".repeat(1_000_000)) } to "more than 100 levels",
                { with(" ".repeat(40_000_000) + "0") } to "expected at most 33554432",
                { with("1" + "0".repeat(1_000_000) + "e400") } to "beyond all bounds",
                { config.replace("\"unicode\"", "\"${"é".repeat(5_000_000)}\"") } to "unknown word splitter 'éé",
                { config.replace("\"intent_slots\"", "[${"[9],".repeat(400_000)}0]") } to "has 'kind': [[9], [9], ",
            )
        for ((text, expected) in cases) refused(PackedModel.of(config = text()), expected)
    }

    @Test
    fun anInputThatClaimsAGigabyte() {
        val shape = Regex("\"length\": [0-9]+").find(PackedModel.config)!!
        val length = shape.value.substringAfter(": ").toInt()
        val graph = ByteBuffer.wrap(PackedModel.graph.copyOf()).order(ByteOrder.LITTLE_ENDIAN)
        // Each vector [1, length] and [1, length, n] of the graph becomes one of 2^22 positions.
        for (at in 0..graph.limit() - 8) if (graph.getInt(at) == 1 && graph.getInt(at + 4) == length) graph.putInt(at + 4, 1 shl 22)
        refused(
            PackedModel.of(config = PackedModel.config.replace(shape.value, "\"length\": ${1 shl 22}"), graph = graph.array()),
            "bytes; expected at most",
        )
    }

    @Test
    fun aVectorAsLongAsALargeFile() {
        // A graph whose table of signatures claims as many elements as 60 MB could hold.
        val graph = ByteBuffer.allocate(60_000_000).order(ByteOrder.LITTLE_ENDIAN)
        val fields = 7
        val tableAt = 64
        graph.putInt(0, tableAt).putInt(4, 0x334c4654)
        graph.putInt(tableAt, tableAt - 16).putShort(16, (4 + 2 * (fields + 1)).toShort()).putShort(16 + 4 + 2 * fields, 4)
        graph.putInt(tableAt + 4, 4).putInt(tableAt + 8, 14_000_000)
        refused(PackedModel.of(graph = graph.array()), "14000000 elements")
    }

    @Test
    fun labelsThatAreNotThoseOfTheGraph() {
        val config = PackedModel.config
        val intents = Regex("\"intents\": \\[\\s*").find(config)!!.range.last + 1
        refused(PackedModel.of(config = config.replaceRange(intents, intents, "\"one more\", ")), "expected the shape [1, ")
    }

    private fun refused(
        file: ByteBuffer,
        expected: String,
    ) {
        val said = refusal(file) ?: throw AssertionError("nothing is wrong where it should be: $expected")
        assertTrue("'$said' instead of '$expected'", expected in said)
        assertTrue("${said.length} characters", said.length <= 500)
    }

    private fun mostAreRefused(file: () -> ByteBuffer) {
        val said = List(rounds) { refusal(file()) }
        assertEquals(emptyList<String>(), said.filter { it != null && it.length !in 20..500 })
        assertTrue("${said.count { it != null }} of $rounds", said.count { it != null } > rounds / 4)
    }

    /** What is said of a file, or null if it answers; whatever else is raised goes through. */
    private fun refusal(file: ByteBuffer): String? =
        try {
            val pipeline = Pipeline(ModelFile.read(file), Noise(random))
            for (text in TEXTS) pipeline.answer(text)
            null
        } catch (error: ModelFileException) {
            error.message
        } catch (error: IllegalArgumentException) {
            // The caller's own mistake, which a file of pairs makes of these tests.
            error.message?.takeIf { "it takes two texts" in it } ?: throw error
        }

    /** A JSON text of which a value or two are others, or are there twice, or not at all. */
    private fun changed(json: String): String {
        var text = json
        repeat(1 + random.nextInt(2)) {
            val places = VALUE.findAll(text).mapNotNull { it.groups[1] }.toList()
            // Of the thousands of numbers of a CRF a few are enough.
            val place = if (random.nextInt(8) == 0) places.random() else places.filter { it.value.first() != '-' }.takeLast(200).random()
            val other = if (random.nextInt(4) == 0) places.random().value else ODD.random()
            text = text.replaceRange(place.range, if (random.nextInt(8) == 0) "${place.value}, $other" else other)
        }
        return text
    }

    private fun oddByte() = if (random.nextBoolean()) random.nextInt().toByte() else listOf(0, -1, 127, -128).random().toByte()

    private fun <T> List<T>.random(): T = this[random.nextInt(size)]

    /** A graph that gives any bytes. */
    private class Noise(
        private val random: Random,
    ) : Graph {
        override fun run(
            signature: String,
            inputs: Map<String, ByteBuffer>,
            outputs: Map<String, ByteBuffer>,
        ) {
            for (buffer in outputs.values) {
                val bytes = ByteArray(buffer.capacity())
                random.nextBytes(bytes)
                buffer.duplicate().put(bytes)
            }
        }

        override fun close() = Unit
    }

    private companion object {
        val TEXTS = listOf("", "wake me up at 7:30", "\uD83D é\u0301 \uD83D\uDE00 " + "la ".repeat(300))
        val VALUE = Regex("\"[^\"]*\":|(\"[^\"]*\"|-?[0-9][0-9.e+-]*|true|false|null)")
        val ODD =
            listOf(
                "null", "-1", "0", "1", "4", "2147483647", "2147483648", "99999999999999999999", "1e400", "-1e300", "1.5", "NaN",
                "\"\"", "\"\\ud800\"", "\"O\"", "\"../x\"", "\"affix8\"", "[]", "{}", "true", "false", "[[[[1]]]]", "[\"murmur\", 4]",
            )
    }
}
