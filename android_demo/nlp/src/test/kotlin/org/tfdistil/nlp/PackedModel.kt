package org.tfdistil.nlp

import java.io.ByteArrayOutputStream
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.zip.CRC32
import java.util.zip.ZipEntry
import java.util.zip.ZipOutputStream

/** The model file of the vectors in its parts, and files put together of such parts, whose checksums fit. */
internal object PackedModel {
    const val CONFIG = "tfdistil.json"
    val file = File(System.getProperty("vectors"), "model.tflite").readBytes()
    private val archive = Archive.open(ByteBuffer.wrap(file))
    val graph = bytesOf(archive.model)
    val assets = archive.assets.mapValues { bytesOf(it.value) }
    val config = String(assets.getValue(CONFIG))

    /**
     * A model file.
     *
     * @param checksum of the graph, if it should not fit.
     * @param method how the zip stores its files.
     */
    fun of(
        config: String = this.config,
        graph: ByteArray = this.graph,
        others: Map<String, ByteArray> = assets - CONFIG,
        checksum: String = sha256(graph).hex(),
        method: Int = ZipEntry.STORED,
    ): ByteBuffer {
        var fitting = config.replace(sumOf("model"), "\"model\": \"$checksum\"")
        for ((name, content) in others) fitting = fitting.replace(sumOf(name), "\"$name\": \"${sha256(content).hex()}\"")
        return ByteBuffer.wrap(graph + zip(others + (CONFIG to fitting.toByteArray()), graph.size, method))
    }

    private fun sumOf(name: String) = Regex("\"${Regex.escape(name)}\": \"[0-9a-f]{64}\"")

    private fun zip(
        files: Map<String, ByteArray>,
        from: Int,
        method: Int,
    ): ByteArray {
        val zip = ByteArrayOutputStream()
        ZipOutputStream(zip).use { out ->
            for ((name, content) in files) {
                val entry = ZipEntry(name)
                entry.method = method
                entry.size = content.size.toLong()
                entry.crc = CRC32().apply { update(content) }.value
                out.putNextEntry(entry)
                out.write(content)
            }
        }
        return shifted(zip.toByteArray(), from, files.size)
    }

    /** A zip whose offsets count from a number of bytes before it. */
    private fun shifted(
        zip: ByteArray,
        by: Int,
        entries: Int,
    ): ByteArray {
        val data = ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN)
        val end = zip.size - 22
        var at = data.getInt(end + 16)
        data.putInt(end + 16, at + by)
        repeat(entries) {
            data.putInt(at + 42, data.getInt(at + 42) + by)
            at += 46 + data.getShort(at + 28) + data.getShort(at + 30) + data.getShort(at + 32)
        }
        return zip
    }

    private fun bytesOf(buffer: ByteBuffer) = ByteArray(buffer.remaining()).also { buffer.duplicate().get(it) }
}
