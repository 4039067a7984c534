package org.tfdistil.demo.benchmark

import java.nio.ByteBuffer
import java.nio.ByteOrder

/** A flatbuffer, as much of the format as it takes to look at tables. */
internal class Flatbuffer(
    buffer: ByteBuffer,
) {
    private val bytes: ByteBuffer = buffer.duplicate().order(ByteOrder.LITTLE_ENDIAN)

    val root get() = Table(follow(0))

    private fun follow(place: Int) = place + bytes.getInt(place)

    /** A table; its fields have the numbers of the schema. */
    inner class Table(
        private val start: Int,
    ) {
        fun int(
            field: Int,
            missing: Int,
        ) = find(field)?.let(bytes::getInt) ?: missing

        fun byte(
            field: Int,
            missing: Byte,
        ) = find(field)?.let { bytes.get(it) } ?: missing

        fun table(field: Int) = find(field)?.let { Table(follow(it)) }

        fun tables(field: Int) = elements(field) { Table(follow(it)) }

        fun ints(field: Int) = elements(field) { bytes.getInt(it) }

        /** How many elements a vector has; 0 if it is missing. */
        fun count(field: Int) = find(field)?.let { bytes.getInt(follow(it)) } ?: 0

        private fun <T> elements(
            field: Int,
            read: (Int) -> T,
        ): List<T> {
            val vector = find(field)?.let { follow(it) } ?: return emptyList()
            return List(bytes.getInt(vector)) { read(vector + 4 + 4 * it) }
        }

        private fun find(field: Int): Int? {
            val fields = start - bytes.getInt(start)
            val entry = 4 + 2 * field
            if (entry >= bytes.getShort(fields)) return null
            val offset = bytes.getShort(fields + entry).toInt()
            return if (offset == 0) null else start + offset
        }
    }
}
