package org.tfdistil.nlp

/** `Sequence`: one normalizer after the other; none of them leaves a word as it is. */
internal class NormalizerSequence(
    private val parts: List<Normalizer>,
) : Normalizer {
    private var before = IntList()
    private var after = IntList()

    override fun normalize(
        from: IntList,
        to: IntList,
    ) {
        before.clear()
        before.addAll(from)
        for (part in parts) {
            after.clear()
            part.normalize(before, after)
            before = after.also { after = before }
        }
        to.addAll(before)
    }
}

/** `Sequence`: each cuts what the one before it left; none of them leaves a word whole. */
internal class PreTokenizerSequence(
    private val cutters: List<PreTokenizer>,
) : PreTokenizer {
    private var before = Parts()
    private var after = Parts()
    private val part = IntList()

    override fun cut(
        from: IntList,
        to: IntList,
        ends: IntList,
    ) {
        before.clear()
        before.text.addAll(from)
        before.ends.add(from.size)
        for (cutter in cutters) {
            after.clear()
            var start = 0
            for (at in 0 until before.ends.size) {
                part.clear()
                part.addAll(before.text, start, before.ends[at])
                start = before.ends[at]
                cutter.cut(part, after.text, after.ends)
            }
            before = after.also { after = before }
        }
        val first = to.size
        to.addAll(before.text)
        for (at in 0 until before.ends.size) ends.add(first + before.ends[at])
    }

    private class Parts {
        val text = IntList()
        val ends = IntList()

        fun clear() {
            text.clear()
            ends.clear()
        }
    }
}

/** Ends the part that [to] ends with, unless nothing has come since the one before it. */
internal fun endPart(
    to: IntList,
    ends: IntList,
) {
    val before = if (ends.size == 0) 0 else ends[ends.size - 1]
    if (to.size > before) ends.add(to.size)
}
