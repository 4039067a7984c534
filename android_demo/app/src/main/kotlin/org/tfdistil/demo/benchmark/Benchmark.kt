package org.tfdistil.demo.benchmark

import org.tfdistil.nlp.Pipeline
import java.nio.ByteBuffer

/** What is being timed. */
internal enum class Part { ONLINE, BATCH, TEXT }

/** Told what is going on: the part, the model, the round from 0 and the number of rounds. */
internal typealias Progress = (Part, String, Int, Int) -> Unit

/**
 * One model of a run.
 *
 * @property file its name on disk.
 * @property onlineShape of the signature with the fewest rows, which [online] is of.
 * @property batchShape of the one with the most rows; null, as [batch], if there is only one.
 * @property residentBytes memory that the process took for it; null if the phone does not tell.
 * @property text from a text to its labels; null for a file without what it takes.
 */
internal class Measurement(
    val name: String,
    val file: String,
    val bytes: Long,
    val parameters: Long,
    val loadMs: Double,
    val residentBytes: Long?,
    val onlineShape: Shape,
    val online: Timing,
    val batchShape: Shape?,
    val batch: Timing?,
    val text: Timing?,
) {
    /** Texts per second in batches, by the median batch; null without batches. */
    val queriesPerSecond get() = batch?.let { timing -> batchShape?.let { 1e3 * it.batch / timing.quantile(0.5) } }
}

/**
 * Times files side by side, as `tfdistil-benchmark` does on a computer.
 *
 * @param files name of a file to its bytes, memory-mapped.
 * @param texts that text-to-labels latency is measured with.
 * @throws org.tfdistil.nlp.ModelFileException a file that cannot be timed.
 */
internal fun measure(
    files: Map<String, ByteBuffer>,
    protocol: Protocol,
    texts: List<String>,
    progress: Progress,
): List<Measurement> {
    val models = mutableListOf<TimedModel>()
    try {
        for ((file, bytes) in files) models += TimedModel(file, bytes, protocol)
        val online = models.associate { it.name to it.caller(it.shapes.first()) }
        val batch = models.filter { it.shapes.size > 1 }.associate { it.name to it.caller(it.shapes.last()) }
        val text =
            models.mapNotNull { model ->
                model.pipeline?.let { pipeline -> model.name to { number: Int -> answer(pipeline, texts[number % texts.size]) } }
            }

        fun time(
            part: Part,
            calls: Map<String, (Int) -> Unit>,
            count: Int,
            warmUp: Int,
        ) = timeInTurns(calls, count, protocol.rounds, warmUp) { name, turn, turns -> progress(part, name, turn, turns) }

        val onlineTimes = time(Part.ONLINE, online, protocol.queries, protocol.warmUp)
        val batchTimes = time(Part.BATCH, batch, protocol.batches, minOf(3, protocol.warmUp))
        val textTimes = time(Part.TEXT, text.toMap(), protocol.queries, protocol.warmUp)
        return models.map { model ->
            Measurement(
                name = model.name.removeSuffix(".tflite"),
                file = model.name,
                bytes = model.bytes.capacity().toLong(),
                parameters = model.parameters,
                loadMs = model.loadMs,
                residentBytes = model.residentBytes,
                onlineShape = model.shapes.first(),
                online = onlineTimes.getValue(model.name),
                batchShape = model.shapes.last().takeIf { model.name in batchTimes },
                batch = batchTimes[model.name],
                text = textTimes[model.name],
            )
        }
    } finally {
        models.forEach { it.close() }
    }
}

private fun answer(
    pipeline: Pipeline,
    text: String,
) {
    pipeline.answer(text)
}
