package org.tfdistil.nlp

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.charset.CharacterCodingException
import kotlin.io.encoding.Base64
import kotlin.io.encoding.ExperimentalEncodingApi

/**
 * `Precompiled`: the rules of SentencePiece, as `tokenizers` follows them.
 *
 * A cluster of code points that has at most five bytes becomes what the shortest rule says that fits its
 * beginning, whatever the rest of it is. Else, and in longer clusters, so does each code point by itself.
 */
internal class Precompiled(
    private val rules: CharacterMap,
) : Normalizer {
    override fun normalize(
        from: IntList,
        to: IntList,
    ) {
        var at = 0
        while (at < from.size) {
            val end = Clusters.end(from, at)
            val small = end > at + 1 && (at until end).sumOf { utf8Size(from[it]) } <= MOST_BYTES
            if (!small || !rules.append(from, at, end, to)) {
                for (single in at until end) if (!rules.append(from, single, single + 1, to)) to.add(from[single])
            }
            at = end
        }
    }

    private companion object {
        const val MOST_BYTES = 5
    }
}

/**
 * `precompiled_charsmap`: the bytes of a double-array trie (Darts-clone) in 32-bit units, after their
 * number; then what its values point into, texts in UTF-8 that a zero ends.
 */
internal class CharacterMap private constructor(
    private val units: IntArray,
    private val targets: IntList,
    private val places: IntArray,
) {
    /** Appends what the shortest rule makes of a beginning of the code points from [at] to [end]; false if none fits. */
    fun append(
        from: IntList,
        at: Int,
        end: Int,
        to: IntList,
    ): Boolean {
        var place = places.getOrElse(find(from, at, end)) { NONE }
        if (place == NONE) return false
        while (place < targets.size && targets[place] != 0) to.add(targets[place++])
        return true
    }

    /** The value of the shortest key, or [NONE]. */
    private fun find(
        from: IntList,
        at: Int,
        end: Int,
    ): Int {
        var node = offset(units[0])
        for (index in at until end) {
            forEachByte(from[index]) { byte ->
                if (byte == 0) return NONE
                node = node xor byte
                val unit = units.getOrElse(node) { return NONE }
                if (unit and LABEL != byte) return NONE
                node = node xor offset(unit)
                if (unit and LEAF != 0) return units.getOrElse(node) { return NONE } and VALUE
            }
        }
        return NONE
    }

    private fun offset(unit: Int) = (unit ushr 10) shl (unit and FAR ushr 6)

    companion object {
        private const val NONE = -1
        private const val LEAF = 1 shl 8
        private const val FAR = 1 shl 9
        private const val VALUE = Int.MAX_VALUE
        private const val LABEL = Int.MIN_VALUE or 0xFF
        private const val MOST_CHARACTERS = 4 shl 20
        private const val AGAIN = "Export the model again"

        /** @throws ModelFileException no such map. */
        @OptIn(ExperimentalEncodingApi::class)
        fun read(fields: Fields): CharacterMap {
            val name = "precompiled_charsmap"
            val text = fields.text(name)
            if (text.length > MOST_CHARACTERS) fields.fail("has a $name of ${text.length} characters; expected at most $MOST_CHARACTERS. $AGAIN")
            val content =
                try {
                    Base64.decode(text)
                } catch (_: IllegalArgumentException) {
                    fields.fail("has a $name that is no Base64. $AGAIN")
                }
            val bytes = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN)
            val size = if (content.size < Int.SIZE_BYTES) 0 else bytes.getInt()
            if (size < Int.SIZE_BYTES || size > bytes.remaining()) fields.fail("has a $name of ${content.size} bytes whose trie has $size. $AGAIN")
            val units = IntArray(size / Int.SIZE_BYTES) { bytes.getInt() }
            val targets =
                try {
                    Charsets.UTF_8.newDecoder().decode(bytes).toString()
                } catch (_: CharacterCodingException) {
                    fields.fail("has a $name whose texts are no UTF-8. $AGAIN")
                }
            return CharacterMap(units, IntList().apply { addText(targets) }, placesByByte(targets))
        }

        /** Which code point begins at each byte of a text and at its end, [NONE] within one. */
        private fun placesByByte(text: String): IntArray {
            val codePoints = IntList().apply { addText(text) }
            val places = IntList()
            for (place in 0 until codePoints.size) {
                var byte = 0
                forEachByte(codePoints[place]) { places.add(if (byte++ == 0) place else NONE) }
            }
            places.add(codePoints.size)
            return IntArray(places.size) { places[it] }
        }
    }
}
