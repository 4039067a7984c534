package org.tfdistil.nlp

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The few parts of a TensorFlow Lite flatbuffer that say what its signatures take and give. Nobody vouches
 * for the bytes: a place outside of them is an [IndexOutOfBoundsException].
 */
public class Flatbuffer(
    bytes: ByteBuffer,
) {
    private val data: ByteBuffer = bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN)

    // Vectors may lie on top of each other, so that a small file could stand for endless data. What is asked
    // of a graph with thousands of tensors is a tenth of this.
    private var left = 1 shl 20

    /** Where all begins. */
    public val root: Table get() = Table(pointed(0))

    private fun pointed(at: Int): Int = Math.addExact(at, data.getInt(at))

    private fun uShort(at: Int): Int = data.getShort(at).toInt() and 0xFFFF

    /** Fields by their number in the schema; one that is absent has its default. */
    public inner class Table internal constructor(
        private val at: Int,
    ) {
        private val layout = Math.subtractExact(at, data.getInt(at))
        private val fields = (uShort(layout) - 4) / 2

        public fun int(
            field: Int,
            default: Int = 0,
        ): Int = place(field)?.let { data.getInt(it) } ?: default

        public fun byte(field: Int): Int = place(field)?.let { data.get(it).toInt() } ?: 0

        public fun table(field: Int): Table? = place(field)?.let { Table(pointed(it)) }

        public fun text(field: Int): String {
            val (first, size) = vector(field)
            checkInside(first, size, 1)
            val bytes = ByteArray(size)
            val source = data.duplicate()
            (source as Buffer).position(first)
            source.get(bytes)
            return String(bytes, Charsets.UTF_8)
        }

        public fun tables(field: Int): List<Table> {
            val (first, size) = vector(field)
            checkInside(first, size, 4)
            return List(size) { Table(pointed(first + 4 * it)) }
        }

        public fun ints(field: Int): List<Int> {
            val (first, size) = vector(field)
            checkInside(first, size, 4)
            return List(size) { data.getInt(first + 4 * it) }
        }

        public fun floats(field: Int): List<Float> {
            val (first, size) = vector(field)
            checkInside(first, size, 4)
            return List(size) { data.getFloat(first + 4 * it) }
        }

        public fun longs(field: Int): List<Long> {
            val (first, size) = vector(field)
            checkInside(first, size, 8)
            return List(size) { data.getLong(first + 8 * it) }
        }

        /** How many elements a vector has; 0 if it is absent. */
        public fun count(field: Int): Int = vector(field).second

        /** Where a vector begins, and how many elements it has. */
        private fun vector(field: Int): Pair<Int, Int> {
            val at = place(field)?.let { pointed(it) } ?: return 0 to 0
            return at + 4 to data.getInt(at)
        }

        private fun place(field: Int): Int? {
            if (field >= fields) return null
            return uShort(layout + 4 + 2 * field).takeIf { it != 0 }?.let { at + it }
        }
    }

    /** Before there is memory for them. */
    private fun checkInside(
        first: Int,
        size: Int,
        width: Int,
    ) {
        if (size !in 0..left || width.toLong() * size > data.limit() - first) {
            throw IndexOutOfBoundsException("$size elements at byte $first")
        }
        left -= size
    }
}
