package org.tfdistil.nlp

import java.nio.ByteBuffer

/**
 * A `.tflite` file made by `tfdistil-export`, read and checked.
 *
 * @property graph the flatbuffer, a slice of the bytes it was read from: what an interpreter loads.
 * @property size bytes of the file.
 * @property task what the model is for.
 * @property signatures the graph's entry points by name: `online`, and perhaps `batch`.
 * @property description what `tfdistil.json` says of how the model was made, such as `quantize`: `int8`.
 */
public class ModelFile private constructor(
    public val graph: ByteBuffer,
    public val size: Long,
    public val task: Task,
    public val signatures: Map<String, Signature>,
    public val description: Map<String, String>,
) {
    public companion object {
        /**
         * Reads a file, best given as a direct buffer: a memory-mapped one is not copied.
         *
         * @param bytes the file, from position to limit; the position stays.
         * @throws ModelFileException a file that is damaged, too new, or not made by tfdistil.
         */
        public fun read(bytes: ByteBuffer): ModelFile = throw ModelFileException("not written yet: ${bytes.remaining()}")
    }
}
