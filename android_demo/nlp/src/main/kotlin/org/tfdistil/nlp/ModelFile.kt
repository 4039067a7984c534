package org.tfdistil.nlp

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.security.MessageDigest

/**
 * A `.tflite` file made by `tfdistil-export`, read and checked against its checksums.
 *
 * @property graph the flatbuffer, a slice of the bytes it was read from: what an interpreter loads.
 * @property size bytes of the file.
 * @property task what the model is for.
 * @property signatures the graph's entry points by name: `online`, and perhaps `batch`.
 */
public class ModelFile private constructor(
    public val graph: ByteBuffer,
    public val size: Long,
    public val task: Task,
    public val signatures: Map<String, Signature>,
    internal val splitter: Splitter,
    internal val newFeaturizer: () -> Featurizer,
    internal val outputs: Map<String, String>,
    internal val paths: Map<String, String>,
) {
    public companion object {
        private const val CONFIG = "tfdistil.json"
        private const val FORMAT = 1
        private const val MAGIC = 0x334c4654 // TFL3

        /**
         * Reads a file, best given as a direct buffer: a memory-mapped one is not copied.
         *
         * @param bytes the file, from position to limit; the position stays.
         * @throws ModelFileException a file that is damaged, too new, or not made by tfdistil.
         */
        public fun read(bytes: ByteBuffer): ModelFile {
            val archive = Archive.open(bytes)
            val model = archive.model
            if (model.limit() < 8 || model.duplicate().order(ByteOrder.LITTLE_ENDIAN).getInt(4) != MAGIC) {
                throw ModelFileException("the file is no TensorFlow Lite model: no TFL3 at byte 4. Copy the file again")
            }
            val config = archive.assets[CONFIG] ?: throw ModelFileException("the file has no $CONFIG; tfdistil-export did not make it")
            val fields = Fields.parse(config, CONFIG)
            val format = fields.number("format", 1..Int.MAX_VALUE)
            if (format > FORMAT) {
                throw ModelFileException("the file has format $format; this version reads up to $FORMAT. Update the app")
            }
            verify(fields.textsByName("checksums"), archive.assets - CONFIG + ("model" to model))
            val heads = if ("heads" in fields) fields.fields("heads") else null
            val splitter = Splitter.of(fields.fields("splitter").text("kind"))
            val featurizer = FeaturizerFiles(fields.fields("featurizer"), archive.assets)
            return ModelFile(
                model,
                bytes.remaining().toLong(),
                Task.read(fields.fields("task"), heads),
                Signature.readAll(model, fields.fields("signatures")),
                splitter,
                featurizer::open,
                fields.textsByName("outputs"),
                if ("paths" in fields) fields.textsByName("paths") else emptyMap(),
            )
        }

        private fun verify(
            checksums: Map<String, String>,
            contents: Map<String, ByteBuffer>,
        ) {
            for (name in checksums.keys + contents.keys) {
                val found = contents[name]?.let { sha256(it) }
                if (found != checksums[name]) {
                    throw ModelFileException(
                        "the file is damaged: the checksum of ${Fields.shown(name)} is $found, expected " +
                            "${Fields.shown(checksums[name])}. Copy the file again, or export the model again",
                    )
                }
            }
        }

        private fun sha256(content: ByteBuffer): String {
            val digest = MessageDigest.getInstance("SHA-256")
            digest.update(content.duplicate())
            return digest.digest().joinToString("") { (it.toInt() and 0xFF).toString(16).padStart(2, '0') }
        }
    }
}
