package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.File
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption
import kotlin.math.abs

/** The answers that `python -m tests.parity.make_answers` wrote, with the library that Python runs. */
class ParityTest {
    private val folder = File(System.getProperty("answers"))
    private val lite = LiteRt.load(System.getProperty("litert"))

    @Test
    fun pythonsLibrary() {
        for (file in modelFiles()) {
            val found = compare(file) { LiteRtGraph(lite, it.graph) }
            println(found)
            assertEquals(file.name, 0, found.labels + found.offsets)
            // Python sends many windows of a long text through `batch`, whose scales were rounded by themselves.
            assertEquals(file.name, 0.0, found.quanta, 1e-4)
        }
    }

    private fun modelFiles() = folder.listFiles { file -> file.extension == "tflite" }!!.sorted().also { assertTrue(it.isNotEmpty()) }

    /** Runs all texts of a file. */
    private fun compare(
        file: File,
        open: (ModelFile) -> Graph,
    ): Differences {
        val bytes = FileChannel.open(file.toPath(), StandardOpenOption.READ).use { it.map(FileChannel.MapMode.READ_ONLY, 0, it.size()) }
        val model = ModelFile.read(bytes)
        val found = Differences(file.name)
        open(model).use { graph ->
            val pipeline = Pipeline(model, graph)
            val recorded = RecordedLogits(model, graph)
            val answers = Fields.parse(ByteBuffer.wrap(File(folder, "${file.nameWithoutExtension}.json").readBytes()), "answers")
            for (item in answers.list("answers")) {
                val expected = Fields.asFields(item, file.name)!!
                found.add(expected, pipeline.answer(expected.text("text")), recorded.of(expected.text("text")), recorded.scales)
            }
        }
        return found
    }

    /** The float scores of a text, as the pipeline sees them. */
    private class RecordedLogits(
        private val model: ModelFile,
        graph: Graph,
    ) {
        private val featurizer = model.newFeaturizer()
        private val online = OnlineGraph(model, featurizer, graph)
        private val words = Words()

        val scales = model.task.outputs.associate { it.name to model.signatures.getValue("online").outputs.getValue(model.outputs.getValue(it.name)).scale }

        fun of(text: String): Map<String, FloatArray> {
            model.splitter.split(text, words)
            val values = online.run(featurizer.encode(words))
            return model.task.outputs.map { it.name }.zip(values.map { it.scores.values }).toMap()
        }
    }

    /** What differs, of how many. */
    private class Differences(
        private val file: String,
    ) {
        private var texts = 0
        private var words = 0
        var labels = 0
            private set
        var offsets = 0
            private set
        var quanta = 0.0
            private set
        private var scores = 0.0

        fun add(
            expected: Fields,
            found: Answer,
            logits: Map<String, FloatArray>,
            scales: Map<String, Float>,
        ) {
            texts++
            words += found.words.size
            val spans = expected.list("spans").map { it as List<*> }
            if (expected.list("words").map(::ints) != found.words.map { listOf(it.start, it.end) }) offsets++
            val tags = if ("tags" in expected) expected.texts("tags") else null
            val label = if ("label" in expected) expected.text("label") else null
            if (tags != found.tags || label != found.label) {
                labels++
            } else if (spans.map { it.take(3) } != found.spans.map { listOf(it.label, it.start.toLong(), it.end.toLong()) }) {
                offsets++
            } else {
                for ((one, other) in spans.zip(found.spans)) scores = maxOf(scores, abs(one[3] as Double - other.score))
            }
            for ((name, values) in logits) {
                val given = expected.fields("logits").list(name).map { (it as Number).toFloat() }
                assertEquals(given.size, values.size)
                for (at in values.indices) quanta = maxOf(quanta, abs(given[at] - values[at]) / scales.getValue(name).toDouble())
            }
        }

        override fun toString() = "| $file | $texts | $words | $labels | $offsets | ${"%.1f".format(quanta)} | ${"%.0e".format(scores)} |"
    }
}
