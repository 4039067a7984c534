package org.tfdistil.nlp

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The flatbuffer of a model file, and the files in the uncompressed zip behind it.
 *
 * @property model the bytes before the zip.
 * @property assets content of each file of the zip by its name.
 */
internal class Archive private constructor(
    val model: ByteBuffer,
    val assets: Map<String, ByteBuffer>,
) {
    companion object {
        private const val END_SIGNATURE = 0x06054b50
        private const val END_SIZE = 22
        private const val LONGEST_COMMENT = 0xFFFF
        private const val ENTRY_SIGNATURE = 0x02014b50
        private const val ENTRY_SIZE = 46
        private const val LOCAL_SIGNATURE = 0x04034b50
        private const val LOCAL_SIZE = 30
        private const val ENCRYPTED = 1
        private const val MOST_FILES = 1000
        private const val MOST_BYTES = 256L shl 20
        private val NAME = Regex("[A-Za-z0-9][A-Za-z0-9._-]*")
        private const val AGAIN = "Copy the file again, or export the model again"

        /** @throws ModelFileException no zip at the end, or one that `tfdistil-export` never writes. */
        fun open(bytes: ByteBuffer): Archive {
            val data = bytes.slice().order(ByteOrder.LITTLE_ENDIAN)
            return try {
                read(data)
            } catch (error: IndexOutOfBoundsException) {
                throw ModelFileException("the file's zip points outside of the file; it is damaged. $AGAIN", error)
            }
        }

        private fun read(data: ByteBuffer): Archive {
            val end = endRecord(data)
            val count = data.uShort(end + 10)
            val size = data.uInt(end + 12)
            // What the offsets count from: 0, unless something was put before the file.
            val origin = end - size - data.uInt(end + 16)
            if (origin != 0L || count !in 1..MOST_FILES) {
                throw ModelFileException("the file's zip has $count files or begins at $origin, not 0. $AGAIN")
            }
            var at = (end - size).toInt()
            val assets = LinkedHashMap<String, ByteBuffer>()
            var first = end
            var total = 0L
            repeat(count) {
                val nameSize = data.uShort(at + 28)
                val name = data.text(at + ENTRY_SIZE, nameSize)
                val local = data.uInt(at + 42)
                check(data, at, name)
                total += data.uInt(at + 24)
                if (total > MOST_BYTES) throw ModelFileException("the file claims more than $MOST_BYTES bytes of assets. $AGAIN")
                if (local >= end) throw IndexOutOfBoundsException()
                val content = content(data, local.toInt(), name, data.uInt(at + 24).toInt())
                if (assets.put(name, content) != null) throw ModelFileException("the file has two assets '$name'. $AGAIN")
                first = minOf(first, local.toInt())
                at += ENTRY_SIZE + nameSize + data.uShort(at + 30) + data.uShort(at + 32)
            }
            return Archive(data.part(0, first), assets)
        }

        /** Where the zip's last record is, behind which there may be a comment. */
        private fun endRecord(data: ByteBuffer): Int {
            val last = data.limit() - END_SIZE
            for (at in last downTo maxOf(0, last - LONGEST_COMMENT)) {
                if (data.getInt(at) == END_SIGNATURE && at + END_SIZE + data.uShort(at + 20) == data.limit()) return at
            }
            throw ModelFileException(
                "the file has no assets at its end: it is truncated, or a plain .tflite that tfdistil-export did not make. $AGAIN",
            )
        }

        private fun check(
            data: ByteBuffer,
            at: Int,
            name: String,
        ) {
            if (data.getInt(at) != ENTRY_SIGNATURE) throw ModelFileException("the file's zip is damaged at byte $at. $AGAIN")
            if (!NAME.matches(name)) throw ModelFileException("the file has an asset with the name ${Fields.shown(name)}. $AGAIN")
            val stored = data.uShort(at + 10) == 0 && data.uInt(at + 20) == data.uInt(at + 24)
            if (!stored || data.uShort(at + 8) and ENCRYPTED != 0) {
                throw ModelFileException("the asset '$name' is compressed or encrypted; tfdistil-export stores assets as they are. $AGAIN")
            }
        }

        private fun content(
            data: ByteBuffer,
            local: Int,
            name: String,
            size: Int,
        ): ByteBuffer {
            val nameSize = data.uShort(local + 26)
            if (data.getInt(local) != LOCAL_SIGNATURE || data.text(local + LOCAL_SIZE, nameSize) != name) {
                throw ModelFileException("the file's zip is damaged at byte $local. $AGAIN")
            }
            return data.part(local + LOCAL_SIZE + nameSize + data.uShort(local + 28), size)
        }

        private fun ByteBuffer.uShort(at: Int): Int = getShort(at).toInt() and 0xFFFF

        private fun ByteBuffer.uInt(at: Int): Long = getInt(at).toLong() and 0xFFFFFFFFL

        private fun ByteBuffer.text(
            at: Int,
            size: Int,
        ): String = String(ByteArray(size).also { part(at, size).get(it) }, Charsets.UTF_8)

        private fun ByteBuffer.part(
            at: Int,
            size: Int,
        ): ByteBuffer {
            if (at !in 0..limit() || size !in 0..limit() - at) throw IndexOutOfBoundsException("$size bytes at $at of ${limit()}")
            val view = duplicate()
            // As a Buffer: what ByteBuffer itself returns from these is no method of Android 7.
            (view as Buffer).position(at)
            (view as Buffer).limit(at + size)
            return view.slice().order(ByteOrder.nativeOrder())
        }
    }
}
