package org.tfdistil.nlp

/**
 * Word pieces: `cls A sep`, and for a pair `cls A sep B sep`.
 *
 * Each word is tokenized by itself and has at least one piece, the unknown one if need be. A piece that
 * would be a special token to the model is unknown, too.
 *
 * @param hashed what the fingerprints of words are that stand beside their pieces; null: there are none.
 */
internal class SubwordFeaturizer(
    private val tokenizer: Tokenizer,
    private val settings: Settings,
    private val hashed: ProjectionSpec? = null,
) : Featurizer {
    /** What `tfdistil.json` says of the featurizer. */
    class Settings(
        val maxLength: Int,
        val overlap: Int,
        val cls: Int,
        val sep: Int,
        val pad: Int,
        val unknown: Int,
        val tokenTypes: Boolean,
        val separators: Int,
    )

    override val maxLength: Int get() = settings.maxLength

    override val inputs: Map<String, InputForm> =
        buildMap {
            put(INPUT_IDS, InputForm(ElementType.INT32, null, settings.pad))
            put(Window.ATTENTION_MASK, InputForm(ElementType.INT32, null, 0))
            put(Window.WORD_MASK, InputForm(ElementType.INT32, null, 0))
            if (settings.tokenTypes) put(TOKEN_TYPES, InputForm(ElementType.INT32, null, 0))
            if (hashed != null) put(FINGERPRINT, InputForm(ElementType.UINT8, hashed.bytes, hashed.map.padding.toInt()))
        }

    private val fingerprints = hashed?.let(::Fingerprints)
    private val one = Pieces()
    private val two = Pieces()

    override fun encode(
        first: Words,
        second: Words?,
    ): List<Window> {
        one.fill(first)
        if (second == null) return windows()
        two.fill(second)
        return listOf(pair())
    }

    private fun windows(): List<Window> {
        val budget = maxLength - 2
        if (one.total <= budget) return listOf(window(0, one.words, 0, one.words))
        // A word longer than a window keeps its first pieces.
        val lengths = IntArray(one.words) { minOf(one.length(it), budget) }
        return stretches(lengths, budget, settings.overlap).map { window(it.first, it.end, it.firstOwned, it.endOwned) }
    }

    private fun window(
        first: Int,
        end: Int,
        firstOwned: Int,
        endOwned: Int,
    ): Window {
        val budget = maxLength - 2
        val kept = (first until end).sumOf { minOf(one.length(it), budget) }
        val ids = IntArray(kept + 2)
        val rows = rows(ids.size)
        val firsts = IntArray(endOwned - firstOwned)
        ids[0] = settings.cls
        var at = 1
        for (word in first until end) {
            if (word in firstOwned until endOwned) firsts[word - firstOwned] = at
            val length = minOf(one.length(word), budget)
            one.ids.copyInto(ids, at, one.start(word), one.start(word) + length)
            rows?.put(one, word, at, at + length)
            at += length
        }
        ids[at] = settings.sep
        return Window(columns(ids, ids.size, rows), firsts)
    }

    private fun pair(): Window {
        val (kept, other) = truncatePair(one.total, two.total, maxLength - 2 - settings.separators)
        val ids = IntArray(kept + other + 2 + settings.separators) { settings.sep }
        ids[0] = settings.cls
        one.ids.copyInto(ids, 1, 0, kept)
        val second = 1 + kept + settings.separators
        two.ids.copyInto(ids, second, 0, other)
        val words = (0 until one.words).count { one.start(it) < kept }
        val rows = rows(ids.size)
        for (word in 0 until words) rows?.put(one, word, 1 + one.start(word), 1 + minOf(one.end(word), kept))
        for (word in 0 until two.words) {
            if (two.start(word) < other) rows?.put(two, word, second + two.start(word), second + minOf(two.end(word), other))
        }
        return Window(columns(ids, second, rows), IntArray(words) { 1 + one.start(it) })
    }

    private fun rows(positions: Int): Rows? = hashed?.let { Rows(it, positions) }

    /** Fingerprints of the positions of a window; those of special tokens are padding. */
    private class Rows(
        private val spec: ProjectionSpec,
        positions: Int,
    ) {
        private val bytes = ByteArray(positions * spec.bytes) { spec.map.padding }

        /** A word's fingerprint, at the positions from [from] to before [to]. */
        fun put(
            pieces: Pieces,
            word: Int,
            from: Int,
            to: Int,
        ) {
            val start = word * spec.bytes
            for (at in from until to) pieces.hashes.copyInto(bytes, at * spec.bytes, start, start + spec.bytes)
        }

        fun column() = ByteColumn(bytes, spec.bytes)
    }

    private fun columns(
        ids: IntArray,
        second: Int,
        rows: Rows?,
    ): Map<String, Column> =
        buildMap {
            put(INPUT_IDS, IntColumn(ids))
            put(Window.ATTENTION_MASK, IntColumn(IntArray(ids.size) { 1 }))
            if (settings.tokenTypes) put(TOKEN_TYPES, IntColumn(IntArray(ids.size) { if (it < second) 0 else 1 }))
            if (rows != null) put(FINGERPRINT, rows.column())
        }

    /** The pieces of all words of a text, one after the other, and the fingerprints of the words. */
    private inner class Pieces {
        val ids = IntList()
        var hashes = ByteArray(0)
            private set
        private val ends = IntList()

        val words: Int get() = ends.size
        val total: Int get() = ids.size

        fun start(word: Int): Int = if (word == 0) 0 else ends[word - 1]

        fun end(word: Int): Int = ends[word]

        fun length(word: Int): Int = end(word) - start(word)

        fun fill(words: Words) {
            ids.clear()
            ends.clear()
            for (word in 0 until words.size) {
                val before = ids.size
                tokenizer.encode(words.text, words.start(word), words.end(word), ids)
                if (ids.size == before) ids.add(settings.unknown)
                for (at in before until ids.size) if (isReserved(ids[at])) ids[at] = settings.unknown
                ends.add(ids.size)
            }
            if (hashed != null && fingerprints != null) {
                if (hashes.size < words.size * hashed.bytes) hashes = ByteArray(2 * words.size * hashed.bytes)
                for (word in 0 until words.size) {
                    fingerprints.ofWord(words.text, words.start(word), words.end(word), hashes, word * hashed.bytes)
                }
            }
        }

        private fun isReserved(id: Int) = id == settings.cls || id == settings.sep || id == settings.pad
    }

    companion object {
        private const val INPUT_IDS = "input_ids"
        private const val TOKEN_TYPES = "token_type_ids"
        private const val FINGERPRINT = "fingerprint"
    }
}
