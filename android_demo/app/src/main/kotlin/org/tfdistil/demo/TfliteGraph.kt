package org.tfdistil.demo

import org.tensorflow.lite.Interpreter
import org.tfdistil.nlp.Graph
import org.tfdistil.nlp.ModelFileException
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** A graph in TensorFlow Lite's interpreter. Of one thread at a time. */
internal class TfliteGraph(
    private val interpreter: Interpreter,
) : Graph {
    override fun run(
        signature: String,
        inputs: Map<String, ByteBuffer>,
        outputs: Map<String, ByteBuffer>,
    ) = refusing("the graph fails") {
        interpreter.runSignature(inputs, outputs, signature)
    }

    override fun close() = interpreter.close()

    companion object {
        /**
         * Loads a flatbuffer.
         *
         * @param flatbuffer a direct buffer, best a memory-mapped one; it must stay as it is.
         * @param threads the interpreter may use.
         * @throws ModelFileException the runtime does not take it.
         */
        fun interpreter(
            flatbuffer: ByteBuffer,
            threads: Int,
        ): Interpreter =
            refusing("TensorFlow Lite does not load it") {
                Interpreter(
                    flatbuffer.duplicate().order(ByteOrder.nativeOrder()),
                    Interpreter.Options().setNumThreads(threads),
                )
            }

        private inline fun <T> refusing(
            what: String,
            action: () -> T,
        ): T =
            try {
                action()
            } catch (error: IllegalArgumentException) {
                throw ModelFileException("$what: ${error.message}", error)
            } catch (error: IllegalStateException) {
                throw ModelFileException("$what: ${error.message}", error)
            }
    }
}
