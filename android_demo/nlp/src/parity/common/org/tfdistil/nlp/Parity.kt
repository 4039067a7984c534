package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import java.io.File
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption
import kotlin.math.abs

/** Compares with the answers that `python -m tests.parity.make_answers` wrote to the folder of the property `answers`. */
internal object Parity {
    private val folder = File(System.getProperty("answers"))

    /**
     * Answers all texts of all files and prints what differs, a row of a table each.
     *
     * @param open makes the interpreter of a file.
     */
    fun compareAll(open: (ModelFile) -> Graph): List<Differences> {
        val files = folder.listFiles { file -> file.extension == "tflite" }!!.sorted()
        assertTrue("no file in $folder", files.isNotEmpty())
        println("| file | texts | words | other labels | other offsets | equal logits | furthest | scores |")
        return files.map { file -> compare(file, open).also(::println) }
    }

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
            // An answer a line: all of them together are more values than a file of ours may have.
            File(folder, "${file.nameWithoutExtension}.json").useLines { lines ->
                for (line in lines.filter { it.startsWith("{\"text\"") }) {
                    val expected = Fields.parse(ByteBuffer.wrap(line.removeSuffix(",").toByteArray()), file.name)
                    found.add(expected, pipeline.answer(expected.text("text")), recorded.of(expected.text("text")), recorded.scales)
                }
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

        private val outputs = model.signatures.getValue("online").outputs

        /** A quantum of each output; of float ones there is none, and 1 stands for it. */
        val scales =
            model.task.outputs.associate { output ->
                val scale = outputs.getValue(model.outputs.getValue(output.name)).scale
                output.name to if (scale > 0) scale else 1f
            }

        fun of(text: String): Map<String, FloatArray> {
            model.splitter.split(text, words)
            val values = online.run(featurizer.encode(words))
            return model.task.outputs.map { it.name }.zip(values.map { it.scores.values }).toMap()
        }
    }

    /**
     * Quanta. Python sends many windows of a long text through the signature `batch`, whose scales were
     * rounded by themselves: by a millionth, which is a quarter of a thousandth of 255 quanta. What differs
     * otherwise differs by a whole one.
     */
    const val SAME = 1e-3

    /** What differs, of how many. */
    internal class Differences(
        val file: String,
    ) {
        private var texts = 0
        private var words = 0
        var labels = 0
            private set
        var offsets = 0
            private set
        var quanta = 0.0
            private set

        /** Texts with other labels although their logits are the same. */
        var unexplained = 0
            private set
        private var scores = 0.0
        private var logits = 0
        private var equal = 0

        fun add(
            expected: Fields,
            found: Answer,
            ours: Map<String, FloatArray>,
            scales: Map<String, Float>,
        ) {
            texts++
            words += found.words.size
            val distance = distance(expected, ours, scales)
            quanta = maxOf(quanta, distance)
            val spans = expected.list("spans").map { it as List<*> }
            val tags = if ("tags" in expected) expected.texts("tags") else null
            val label = if ("label" in expected) expected.text("label") else null
            if (expected.list("words").map(::ints) != found.words.map { listOf(it.start, it.end) }) offsets++
            if (tags != found.tags || label != found.label) {
                labels++
                if (distance <= SAME) unexplained++
            } else if (spans.map { it.take(3) } != found.spans.map { listOf(it.label, it.start.toLong(), it.end.toLong()) }) {
                offsets++
            } else {
                for ((one, other) in spans.zip(found.spans)) scores = maxOf(scores, abs(one[3] as Double - other.score))
            }
        }

        /** How far the logits of a text are apart, in quanta. */
        private fun distance(
            expected: Fields,
            ours: Map<String, FloatArray>,
            scales: Map<String, Float>,
        ): Double {
            var furthest = 0.0
            for ((name, values) in ours) {
                val given = expected.fields("logits").list(name).map { (it as Number).toFloat() }
                assertEquals(given.size, values.size)
                logits += values.size
                for (at in values.indices) {
                    val difference = abs(given[at] - values[at]) / scales.getValue(name).toDouble()
                    if (difference <= SAME) equal++
                    furthest = maxOf(furthest, difference)
                }
            }
            return furthest
        }

        override fun toString() =
            "| $file | $texts | $words | $labels | $offsets | " +
                "${"%.3f %%".format(100.0 * equal / logits)} | ${"%.4f".format(quanta)} | ${"%.0e".format(scores)} |"
    }
}
