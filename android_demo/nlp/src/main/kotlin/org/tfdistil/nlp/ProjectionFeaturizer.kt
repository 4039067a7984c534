package org.tfdistil.nlp

/**
 * Fingerprints: one position for each word; docs/projection.md, section 5.
 *
 * @param spec what the fingerprints are.
 * @param maxLength positions of a window.
 * @param overlap words that neighbouring windows share.
 */
internal class ProjectionFeaturizer(
    private val spec: ProjectionSpec,
    override val maxLength: Int,
    private val overlap: Int,
) : Featurizer {
    override val inputs: Map<String, InputForm> =
        mapOf(
            FINGERPRINT to InputForm(ElementType.UINT8, spec.bytes, spec.map.padding.toInt()),
            Window.ATTENTION_MASK to InputForm(ElementType.INT32, null, 0),
            Window.WORD_MASK to InputForm(ElementType.INT32, null, 0),
        )

    private val fingerprints = Fingerprints(spec)
    private val ends = if (spec.eos) 1 else 0 // positions of <EOS> after a text

    override fun encode(
        first: Words,
        second: Words?,
    ): List<Window> {
        if (second != null) return listOf(pair(first, second))
        val budget = maxLength - ends
        if (first.size <= budget) return listOf(window(first, 0, first.size, 0, first.size))
        return stretches(IntArray(first.size) { 1 }, budget, overlap).map {
            window(first, it.first, it.end, it.firstOwned, it.endOwned)
        }
    }

    private fun window(
        words: Words,
        first: Int,
        end: Int,
        firstOwned: Int,
        endOwned: Int,
    ): Window {
        val rows = Rows(maxOf(end - first + ends, 1))
        rows.words(words, first, end)
        if (spec.eos) rows.token(Fingerprints.END) else if (first == end) rows.token(Fingerprints.NULL)
        return rows.window(IntArray(endOwned - firstOwned) { firstOwned - first + it })
    }

    private fun pair(
        first: Words,
        second: Words,
    ): Window {
        val (kept, other) = truncatePair(first.size, second.size, maxLength - ends - 1)
        val rows = Rows(kept + 1 + other + ends)
        rows.words(first, 0, kept)
        rows.token(Fingerprints.END)
        rows.words(second, 0, other)
        if (spec.eos) rows.token(Fingerprints.END)
        return rows.window(IntArray(kept) { it })
    }

    /** The positions of a window, filled from the left. */
    private inner class Rows(
        private val positions: Int,
    ) {
        private val bytes = ByteArray(positions * spec.bytes)
        private var at = 0

        fun words(
            words: Words,
            first: Int,
            end: Int,
        ) {
            for (word in first until end) {
                fingerprints.ofWord(words.text, words.start(word), words.end(word), bytes, at)
                at += spec.bytes
            }
        }

        fun token(token: String) {
            fingerprints.ofToken(token, bytes, at)
            at += spec.bytes
        }

        fun window(firsts: IntArray): Window {
            val columns =
                mapOf(
                    FINGERPRINT to ByteColumn(bytes, spec.bytes),
                    Window.ATTENTION_MASK to IntColumn(IntArray(positions) { 1 }),
                )
            return Window(columns, firsts)
        }
    }

    private companion object {
        const val FINGERPRINT = "fingerprint"
    }
}
