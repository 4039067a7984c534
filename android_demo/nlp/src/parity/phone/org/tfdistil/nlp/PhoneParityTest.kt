package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Test
import org.tensorflow.lite.Interpreter
import java.io.File
import java.nio.ByteBuffer

/**
 * In a phone's own library for x86_64, by its own classes. Its kernels of int8 round otherwise than Python's, so
 * labels may differ, but only where logits do.
 */
class PhoneParityTest {
    @Test
    fun sameAnswers() {
        // Android's C library, made of this machine's, has to be there first.
        for (name in listOf("libc", "libm", "libdl", "liblog", "libtensorflowlite_jni")) {
            System.load(File(System.getProperty("phone"), "$name.so").canonicalPath)
        }
        for (found in Parity.compareAll { PhoneGraph(it.graph) }) {
            assertEquals(found.file, 0, found.offsets + found.unexplained)
        }
    }

    private class PhoneGraph(
        flatbuffer: ByteBuffer,
    ) : Graph {
        private val interpreter = Interpreter(flatbuffer)

        override fun run(
            signature: String,
            inputs: Map<String, ByteBuffer>,
            outputs: Map<String, ByteBuffer>,
        ) = interpreter.runSignature(inputs, outputs, signature)

        override fun close() = interpreter.close()
    }
}
