package org.tfdistil.nlp

import java.text.Normalizer

/**
 * Words to fingerprints, two bits a feature. Of one thread at a time; makes no objects but for words
 * that have to be composed.
 */
internal class Fingerprints(
    private val spec: ProjectionSpec,
) {
    private val codePoints = IntList()
    private val shape = WordShape()
    private var utf8 = ByteArray(64)
    private val codes = LongArray(spec.families.maxOf { codesOf(it.second) } + 1)
    private val families =
        spec.families.map { (name, features) -> Family(family(name, codesOf(features)), features / 4, name == "ngram") }

    /**
     * Writes the fingerprint of a part of a text, a word, to [out] from [at] on.
     *
     * @throws IndexOutOfBoundsException there are less than `spec.bytes` bytes left.
     */
    fun ofWord(
        text: CharSequence,
        start: Int,
        end: Int,
        out: ByteArray,
        at: Int,
    ) {
        codePoints.clear()
        if (start == end) codePoints.addText(NULL) else codePoints.addText(text, start, end)
        if (spec.compose && needsComposing(codePoints)) {
            val composed = Normalizer.normalize(codePoints.asText(), Normalizer.Form.NFC)
            codePoints.clear()
            codePoints.addText(composed)
        }
        write(spec.lowercase, out, at)
    }

    /** Writes the fingerprint of [END] or [NULL]; the rest as of [ofWord]. */
    fun ofToken(
        token: String,
        out: ByteArray,
        at: Int,
    ) {
        codePoints.clear()
        codePoints.addText(token)
        write(false, out, at)
    }

    private fun write(
        lowercase: Boolean,
        out: ByteArray,
        at: Int,
    ) {
        val length = encode(lowercase)
        var first = at
        for (family in families) {
            family.hash.hash(utf8, length, codes, codesOf(4 * family.bytes))
            for (byte in 0 until family.bytes) {
                val bits = (codes[byte / 8] ushr (byte % 8 * 8)).toInt()
                out[first + byte] = (if (family.signs && spec.map == TernaryMap.PAPER) inPaperMap(bits) else bits).toByte()
            }
            first += family.bytes
        }
        if (!spec.capitalization && !spec.shape) return
        shape.read(codePoints)
        if (spec.capitalization) out[first - 1] = withCapitals(out[first - 1])
        if (spec.shape) writeShape(out, first)
    }

    /** UTF-8 of the word: how many bytes. */
    private fun encode(lowercase: Boolean): Int {
        if (utf8.size < 4 * codePoints.size) utf8 = ByteArray(8 * codePoints.size)
        var size = 0
        for (index in 0 until codePoints.size) {
            val codePoint = codePoints[index]
            forEachByte(if (lowercase) LetterCases.lower(codePoint) else codePoint) { utf8[size++] = it.toByte() }
        }
        return size
    }

    /** The last hashed byte with its last two features replaced. */
    private fun withCapitals(last: Byte): Byte {
        val capitals = (sign(shape.firstIsCapital) shl 4) or (sign(shape.allAreCapitals) shl 6)
        return (last.toInt() and 0x0F or capitals).toByte()
    }

    /** Writes the features of the word's shape. */
    private fun writeShape(
        out: ByteArray,
        at: Int,
    ) {
        for (byte in 0 until WordShape.FEATURES / 4) {
            var bits = 0
            for (feature in 0 until 4) bits = bits or (sign(shape[4 * byte + feature]) shl 2 * feature)
            out[at + byte] = bits.toByte()
        }
    }

    /** The pair of +1 or -1. */
    private fun sign(isPlus: Boolean) = spec.map.pairOf(if (isPlus) 1 else -1)

    /** A byte of signs, 01 for +1 and 10 for -1, as the map `paper` has it: 11, 00, and 01 for 0. */
    private fun inPaperMap(signs: Int): Int {
        val plus = signs and 0x55
        val minus = (signs ushr 1) and 0x55
        return (plus shl 1) or (0x55 and minus.inv())
    }

    private class Family(
        val hash: HashFamily,
        val bytes: Int,
        val signs: Boolean,
    )

    companion object {
        /** Stands at the end of a text, and between the two texts of a pair. */
        const val END = "<EOS>"

        /** What an empty word is, and the only position of a text without words. */
        const val NULL = "<null>"

        private fun codesOf(features: Int) = (features + 31) / 32

        private fun family(
            name: String,
            codes: Int,
        ): HashFamily =
            when (name) {
                "murmur" -> Murmur
                "ngram" -> Ngram(codes)
                else -> Affix(name.removePrefix("affix").toInt())
            }
    }
}
