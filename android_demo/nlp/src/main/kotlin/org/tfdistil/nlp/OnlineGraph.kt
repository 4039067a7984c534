package org.tfdistil.nlp

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The signature `online` with the buffers of its inputs and outputs: windows in, float scores out.
 *
 * @throws ModelFileException inputs or outputs that are not those of the featurizer and the task.
 */
internal class OnlineGraph(
    model: ModelFile,
    private val featurizer: Featurizer,
    private val graph: Graph,
) {
    private val signature = model.signatures.getValue("online")

    init {
        val bytes = (signature.inputs.values + signature.outputs.values).sumOf { it.bytes.toLong() }
        if (bytes > MOST_BYTES) {
            throw ModelFileException("the signature 'online' takes and gives $bytes bytes; expected at most $MOST_BYTES. Export the model again")
        }
    }

    private val inputs = signature.inputs.mapValues { (name, tensor) -> input(name, tensor) }
    private val outputs = model.task.outputs.map { output(it, model) }
    private val buffers =
        outputs.flatMap { listOfNotNull(it.logits, it.path) }.associate { it.name to it.buffer }

    init {
        if (signature.length < featurizer.maxLength) {
            throw ModelFileException(
                "the signature 'online' has ${signature.length} positions; windows have up to ${featurizer.maxLength}. Export the model again",
            )
        }
        for ((output, tensor) in model.paths) {
            if (model.task.outputs.none { it.name == output && it.words }) {
                throw ModelFileException("the file has the path ${Fields.shown(tensor)} of ${Fields.shown(output)}, no output of words")
            }
        }
    }

    /**
     * What the graph gives for one text.
     *
     * @property scores of all words, or the one row of the text.
     * @property path label ids of all words where the graph finds them itself; of a text in several windows
     *   there is none: paths of windows do not join to the best one of the text.
     */
    class Values(
        val scores: Scores,
        val path: IntArray?,
    )

    /**
     * Runs the windows of one text.
     *
     * @return the values of each output of the task.
     * @throws ModelFileException logits that are no finite numbers.
     */
    fun run(windows: List<Window>): List<Values> {
        val each =
            windows.map { window ->
                for ((name, input) in inputs) input.fill(window.input(name))
                for (buffer in buffers.values) (buffer as Buffer).clear()
                graph.run(signature.name, inputs.mapValues { it.value.buffer }, buffers)
                outputs.map { it.values(window) }
            }
        return each.singleOrNull() ?: outputs.indices.map { at -> outputs[at].join(each.map { it[at] }) }
    }

    private fun input(
        name: String,
        tensor: Tensor,
    ): Input {
        val form =
            featurizer.inputs[name]
                ?: throw ModelFileException("the graph takes ${Fields.shown(name)}; the featurizer gives ${featurizer.inputs.keys}")
        val shape = listOf(signature.batch, signature.length) + listOfNotNull(form.width)
        if (tensor.type != form.type || tensor.shape != shape) {
            throw ModelFileException("the graph takes ${Fields.shown(name)} as $tensor; the featurizer gives ${form.type}$shape")
        }
        return Input(newBuffer(tensor), form)
    }

    private fun output(
        output: Output,
        model: ModelFile,
    ): TaskOutput {
        val name = model.outputs[output.name] ?: throw ModelFileException("no output of the graph is named for '${output.name}'")
        val rows = if (output.words) listOf(signature.batch, signature.length) else listOf(signature.batch)
        val logits = tensor(name, rows + output.labels.size)
        val quantized = logits.type != ElementType.INT32 && logits.scale > 0 && !logits.scale.isInfinite()
        if (logits.type != ElementType.FLOAT32 && !quantized) {
            throw ModelFileException("the graph gives ${Fields.shown(name)} as $logits; expected float32, or integers with a scale")
        }
        val path =
            model.paths[output.name]?.let { path ->
                val ids = tensor(path, rows)
                if (ids.type != ElementType.INT32) {
                    throw ModelFileException("the graph gives ${Fields.shown(path)} as $ids; expected int32, ids of labels")
                }
                GraphOutput(path, ids, newBuffer(ids))
            }
        return TaskOutput(output, GraphOutput(name, logits, newBuffer(logits)), path)
    }

    private fun tensor(
        name: String,
        shape: List<Int>,
    ): Tensor {
        val tensor =
            signature.outputs[name]
                ?: throw ModelFileException("the graph has no output ${Fields.shown(name)}, only ${Fields.shown(signature.outputs.keys)}")
        if (tensor.shape != shape) throw ModelFileException("the graph gives ${Fields.shown(name)} as $tensor; expected the shape $shape")
        return tensor
    }

    private fun newBuffer(tensor: Tensor): ByteBuffer = ByteBuffer.allocateDirect(tensor.bytes).order(ByteOrder.nativeOrder())

    private class Input(
        val buffer: ByteBuffer,
        private val form: InputForm,
    ) {
        /** The window, and padding up to the buffer's end. */
        fun fill(column: Column) {
            (buffer as Buffer).clear()
            column.writeTo(buffer)
            if (form.type == ElementType.UINT8) {
                while (buffer.hasRemaining()) buffer.put(form.padding.toByte())
            } else {
                while (buffer.hasRemaining()) buffer.putInt(form.padding)
            }
            (buffer as Buffer).clear()
        }
    }

    private class GraphOutput(
        val name: String,
        val tensor: Tensor,
        val buffer: ByteBuffer,
    ) {
        /** Element [at] as float32: `(q - zero point) * scale` if it is quantized. */
        fun float(at: Int): Float {
            val integer =
                when (tensor.type) {
                    ElementType.FLOAT32 -> return finite(buffer.getFloat(4 * at))
                    ElementType.INT8 -> buffer.get(at).toInt()
                    ElementType.UINT8 -> buffer.get(at).toInt() and 0xFF
                    ElementType.INT16 -> buffer.getShort(2 * at).toInt()
                    ElementType.INT32 -> buffer.getInt(4 * at)
                }
            return finite((integer.toFloat() - tensor.zeroPoint.toFloat()) * tensor.scale)
        }

        private fun finite(value: Float): Float {
            if (value.isNaN() || value.isInfinite()) throw ModelFileException("the graph gives logits for ${Fields.shown(name)} that are no finite numbers")
            return value
        }
    }

    private class TaskOutput(
        private val output: Output,
        val logits: GraphOutput,
        val path: GraphOutput?,
    ) {
        private val labels = output.labels.size

        fun values(window: Window): Values {
            if (!output.words) return Values(Scores(FloatArray(labels) { logits.float(it) }, labels), null)
            val firsts = window.firsts
            val scores = FloatArray(firsts.size * labels) { logits.float(firsts[it / labels] * labels + it % labels) }
            return Values(Scores(scores, labels), path?.let { ids -> IntArray(firsts.size) { ids.buffer.getInt(4 * firsts[it]) } })
        }

        /** Of several windows: the words of all, or the mean over them. */
        fun join(windows: List<Values>): Values {
            if (output.words) {
                val all = FloatArray(windows.sumOf { it.scores.values.size })
                var at = 0
                for (window in windows) {
                    window.scores.values.copyInto(all, at)
                    at += window.scores.values.size
                }
                return Values(Scores(all, labels), null)
            }
            val mean =
                FloatArray(labels) { label ->
                    var sum = 0f
                    for (window in windows) sum += window.scores[0, label]
                    sum / windows.size
                }
            return Values(Scores(mean, labels), null)
        }
    }

    private companion object {
        // A window of 512 positions with a thousand labels takes 2 MiB of them.
        const val MOST_BYTES = 64L shl 20
    }
}
