package org.tfdistil.nlp

import java.io.Closeable
import java.nio.ByteBuffer

/** An interpreter that holds the flatbuffer of a [ModelFile]. */
public interface Graph : Closeable {
    /**
     * Runs one signature.
     *
     * @param signature its name: `online` or `batch`.
     * @param inputs by name, all inputs of the signature: direct buffers in native byte order, whose
     *   whole capacity is the tensor.
     * @param outputs by name, those that are wanted: buffers of the same kind, which are filled.
     */
    public fun run(signature: String, inputs: Map<String, ByteBuffer>, outputs: Map<String, ByteBuffer>)
}
