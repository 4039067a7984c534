package org.tfdistil.nlp

/**
 * `Unigram` of SentencePiece: the pieces whose scores have the greatest sum. Of equal sums up to a place
 * the one whose last piece is longest is taken.
 *
 * A character that is no piece is unknown, at ten less than the lowest score; unknown ones in a row are
 * one piece, or the pieces of their bytes where there are these.
 *
 * @param scores by id.
 * @param unknown the id of the unknown piece.
 * @param bytes the ids of the 256 pieces of bytes, or null; -1 for one that is not there.
 */
internal class Unigram(
    private val pieces: PieceTrie,
    private val scores: DoubleArray,
    private val unknown: Int,
    private val bytes: IntArray?,
) : PieceModel {
    private val unknownScore = (scores.minOrNull() ?: 0.0) - PENALTY

    // By places, from the start of the text: the best sum up to there, its last piece, and where that begins.
    private var sums = DoubleArray(64)
    private val last = IntList()
    private val starts = IntList()
    private val path = IntList()
    private val utf8 = IntList()

    override fun encode(
        text: IntList,
        start: Int,
        end: Int,
        ids: IntList,
    ) {
        if (sums.size <= end - start) sums = DoubleArray(2 * (end - start) + 1)
        sums[0] = 0.0
        last.fill(end - start + 1, unknown)
        starts.fill(end - start + 1, NOWHERE)
        for (at in start until end) step(text, start, at, end)
        path.clear()
        var at = end - start
        while (at > 0) {
            path.add(at)
            at = starts[at]
        }
        append(text, start, ids)
    }

    /** Goes on from one place with every piece there is. */
    private fun step(
        text: IntList,
        start: Int,
        at: Int,
        end: Int,
    ) {
        var node = PieceTrie.ROOT
        var next = at
        var single = false
        while (next < end) {
            node = pieces.child(node, text[next++])
            if (node == PieceTrie.NONE) break
            val id = pieces.id(node)
            if (id == PieceTrie.NONE) continue
            if (next == at + 1) single = true
            offer(next - start, at - start, id, scores[id])
        }
        if (!single) offer(at + 1 - start, at - start, unknown, unknownScore)
    }

    private fun offer(
        place: Int,
        from: Int,
        id: Int,
        score: Double,
    ) {
        val sum = score + sums[from]
        if (starts[place] != NOWHERE && sum <= sums[place]) return
        sums[place] = sum
        last[place] = id
        starts[place] = from
    }

    private fun append(
        text: IntList,
        start: Int,
        ids: IntList,
    ) {
        var from = 0
        for (at in path.size - 1 downTo 0) {
            val place = path[at]
            val id = last[place]
            if (id == unknown && at > 0 && last[path[at - 1]] == unknown) continue
            if (id == unknown) appendUnknown(text, start + from, start + place, ids) else ids.add(id)
            from = place
        }
    }

    /** Unknown characters in a row; with scores above 0 together they may be a piece after all. */
    private fun appendUnknown(
        text: IntList,
        from: Int,
        until: Int,
        ids: IntList,
    ) {
        val whole = pieces.id(text, from, until)
        if (whole != PieceTrie.NONE) {
            ids.add(whole)
            return
        }
        utf8.clear()
        for (place in from until until) forEachByte(text[place]) { utf8.add(bytes?.get(it) ?: PieceTrie.NONE) }
        if ((0 until utf8.size).any { utf8[it] == PieceTrie.NONE }) ids.add(unknown) else ids.addAll(utf8)
    }

    private companion object {
        const val NOWHERE = -1
        const val PENALTY = 10.0
    }
}
