package org.tfdistil.demo.benchmark

import org.tensorflow.lite.DataType
import org.tensorflow.lite.Interpreter
import org.tensorflow.lite.Tensor
import org.tfdistil.demo.TfliteGraph
import org.tfdistil.nlp.ModelFile
import org.tfdistil.nlp.ModelFileException
import org.tfdistil.nlp.Pipeline
import java.io.Closeable
import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Random

/** Different random inputs a model is called with, in turn. */
private const val INPUTS = 64

/**
 * A signature of fixed shape.
 *
 * @property batch rows of every input.
 * @property length positions of every input; 0 where inputs have no second axis.
 */
internal class Shape(
    val signature: String,
    val batch: Int,
    val length: Int,
)

/**
 * A file to time, made by tfdistil or not.
 *
 * @property name what it is called in tables.
 * @property bytes the file, memory-mapped.
 * @throws ModelFileException the runtime does not load it, or it has no signatures of static shape.
 */
internal class TimedModel(
    val name: String,
    val bytes: ByteBuffer,
    private val protocol: Protocol,
) : Closeable {
    private val interpreter: Interpreter
    private val constants: Constants

    /** From the mapped file to the end of the first call, in milliseconds. */
    val loadMs: Double

    /** What the process has more in memory after a call of every signature than before the file; null if unknown. */
    val residentBytes: Long?

    /** Smallest batch first. */
    val shapes: List<Shape>

    /** Text to labels; null for a file without what it takes. */
    val pipeline: Pipeline?

    init {
        val before = residentBytes()
        val start = System.nanoTime()
        interpreter = TfliteGraph.interpreter(bytes, protocol.threads)
        constants = Constants(bytes)
        shapes = interpreter.signatureKeys.map(::shape).sortedBy { it.batch }
        if (shapes.isEmpty()) throw ModelFileException("$name has no signatures; convert it with some to time it")
        caller(shapes.first(), 1)(0)
        loadMs = (System.nanoTime() - start) / 1e6
        for (shape in shapes.drop(1)) caller(shape, 1)(0)
        val after = residentBytes()
        residentBytes = if (before != null && after != null) maxOf(0, after - before) else null
        pipeline = pipeline()
    }

    val parameters get() = constants.parameters

    /** A call of a signature with random inputs that fill all rows, arrays in, arrays out. */
    fun caller(
        shape: Shape,
        inputs: Int = INPUTS,
    ): (Int) -> Unit {
        val random = Random(protocol.seed.toLong())
        val filled = List(inputs) { tensors(shape, ::inputNames, ::input).mapValues { (name, tensor) -> fill(name, tensor, random) } }
        val outputs = tensors(shape, ::outputNames, ::output).mapValues { buffer(it.value) }
        return { number ->
            outputs.values.forEach(::rewind)
            interpreter.runSignature(filled[number % inputs], outputs, shape.signature)
        }
    }

    override fun close() = interpreter.close()

    private fun shape(signature: String): Shape {
        val inputs = inputNames(signature).map { input(it, signature) }
        if (inputs.any { it.shape().isEmpty() || it.shapeSignature().any { size -> size < 0 } }) {
            throw ModelFileException("$name: signature '$signature' has no static shapes to time")
        }
        val first = inputs.first().shape()
        return Shape(signature, first[0], first.getOrElse(1) { 0 })
    }

    private fun pipeline(): Pipeline? =
        try {
            val file = ModelFile.read(bytes)
            if (file.task.pairs) null else Pipeline(file, TfliteGraph(interpreter))
        } catch (_: ModelFileException) {
            null // a bare graph has no tokenizer
        }

    private fun fill(
        name: String,
        tensor: Tensor,
        random: Random,
    ): ByteBuffer {
        val buffer = buffer(tensor)
        val vocabulary = constants.vocabulary
        repeat(tensor.numElements()) {
            val id =
                when {
                    "mask" in name -> 1
                    "type" in name -> 0
                    else -> 1 + random.nextInt(vocabulary - 1)
                }
            when (tensor.dataType()) {
                DataType.INT32 -> buffer.putInt(id)
                DataType.INT64 -> buffer.putLong(id.toLong())
                DataType.UINT8, DataType.INT8 -> buffer.put(if ("mask" in name) 1 else random.nextInt(256).toByte())
                else -> buffer.putFloat(if ("mask" in name) 1f else random.nextGaussian().toFloat())
            }
        }
        rewind(buffer)
        return buffer
    }

    /** Through the base class: `ByteBuffer` has no `rewind` of its own on older phones. */
    private fun rewind(buffer: Buffer) {
        buffer.rewind()
    }

    private fun buffer(tensor: Tensor) = ByteBuffer.allocateDirect(tensor.numBytes()).order(ByteOrder.nativeOrder())

    private fun tensors(
        shape: Shape,
        names: (String) -> Array<String>,
        find: (String, String) -> Tensor,
    ) = names(shape.signature).associateWith { find(it, shape.signature) }

    private fun inputNames(signature: String) = interpreter.getSignatureInputs(signature)

    private fun outputNames(signature: String) = interpreter.getSignatureOutputs(signature)

    private fun input(
        name: String,
        signature: String,
    ) = interpreter.getInputTensorFromSignature(name, signature)

    private fun output(
        name: String,
        signature: String,
    ) = interpreter.getOutputTensorFromSignature(name, signature)
}
