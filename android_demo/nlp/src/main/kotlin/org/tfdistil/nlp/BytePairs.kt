package org.tfdistil.nlp

/**
 * `BPE`: the characters of a part, of which two neighbours are merged as long as there is a merge for any,
 * the first one in the list of merges first, and the one more to the left first.
 *
 * @param pieces the vocabulary.
 * @param merges by ids.
 * @param unknown the id of a character that is no piece, or null: it vanishes.
 * @param fuseUnknown whether unknown characters in a row are one piece.
 * @param wholeFirst whether a part that is a piece is not merged at all.
 */
internal class BytePairs(
    private val pieces: PieceTrie,
    private val merges: Merges,
    private val unknown: Int?,
    private val fuseUnknown: Boolean,
    private val wholeFirst: Boolean,
) : PieceModel {
    private val symbols = IntList() // REMOVED behind a merge
    private val before = IntList()
    private val after = IntList()
    private val queue = LongQueue()

    override fun encode(
        text: IntList,
        start: Int,
        end: Int,
        ids: IntList,
    ) {
        val whole = if (wholeFirst) pieces.id(text, start, end) else PieceTrie.NONE
        if (whole != PieceTrie.NONE) {
            ids.add(whole)
            return
        }
        begin(text, start, end)
        for (at in 0 until symbols.size - 1) offer(at)
        while (!queue.isEmpty) {
            val entry = queue.take()
            val at = entry.toInt()
            // Unless another merge came first.
            if (rank(at) == (entry ushr Int.SIZE_BITS).toInt()) merge(at)
        }
        for (at in 0 until symbols.size) if (symbols[at] != REMOVED) ids.add(symbols[at])
    }

    private fun begin(
        text: IntList,
        start: Int,
        end: Int,
    ) {
        symbols.clear()
        before.clear()
        after.clear()
        var wasUnknown = false
        for (at in start until end) {
            val id = pieces.id(text, at, at + 1)
            val isUnknown = id == PieceTrie.NONE
            val symbol = if (isUnknown) unknown else id
            if (symbol != null && !(isUnknown && wasUnknown && fuseUnknown)) {
                before.add(symbols.size - 1)
                symbols.add(symbol)
                after.add(symbols.size)
            }
            wasUnknown = isUnknown
        }
    }

    /** Queues the merge of a symbol with the next one, if there is one. */
    private fun offer(at: Int) {
        val rank = rank(at)
        if (rank != Merges.NONE) queue.add((rank.toLong() shl Int.SIZE_BITS) or at.toLong())
    }

    private fun rank(at: Int): Int =
        if (symbols[at] == REMOVED || after[at] == symbols.size) Merges.NONE else merges.rank(symbols[at], symbols[after[at]])

    private fun merge(at: Int) {
        val removed = after[at]
        symbols[at] = merges.merged(symbols[at], symbols[removed])
        symbols[removed] = REMOVED
        after[at] = after[removed]
        if (after[at] < symbols.size) {
            before[after[at]] = at
            offer(at)
        }
        if (before[at] >= 0) offer(before[at])
    }

    private companion object {
        const val REMOVED = -1
    }
}

/** Pairs of ids with their rank and the id they become; of a pair that is there twice the last one holds. */
internal class Merges(
    pairs: Int,
) {
    private val mask = Integer.highestOneBit(maxOf(pairs, 1)) * 4 - 1
    private val keys = LongArray(mask + 1) { FREE }
    private val ranks = IntArray(mask + 1)
    private val ids = IntArray(mask + 1)

    fun add(
        left: Int,
        right: Int,
        rank: Int,
        id: Int,
    ) {
        val at = place(left, right)
        keys[at] = key(left, right)
        ranks[at] = rank
        ids[at] = id
    }

    /** The rank of a pair, or [NONE]. */
    fun rank(
        left: Int,
        right: Int,
    ): Int {
        val at = place(left, right)
        return if (keys[at] == FREE) NONE else ranks[at]
    }

    /** What a pair becomes that has a rank. */
    fun merged(
        left: Int,
        right: Int,
    ): Int = ids[place(left, right)]

    private fun key(
        left: Int,
        right: Int,
    ) = (left.toLong() shl Int.SIZE_BITS) or right.toLong()

    private fun place(
        left: Int,
        right: Int,
    ): Int {
        val key = key(left, right)
        var at = Spread.place(key, keys.size)
        while (keys[at] != key && keys[at] != FREE) at = (at + 1) and mask
        return at
    }

    companion object {
        const val NONE = -1
        private const val FREE = -1L
    }
}

/** Numbers, the lowest of which comes first. */
private class LongQueue {
    private var values = LongArray(64)
    private var size = 0

    val isEmpty: Boolean get() = size == 0

    fun add(value: Long) {
        if (size == values.size) values = values.copyOf(2 * size)
        var at = size++
        while (at > 0 && values[(at - 1) / 2] > value) {
            values[at] = values[(at - 1) / 2]
            at = (at - 1) / 2
        }
        values[at] = value
    }

    fun take(): Long {
        val first = values[0]
        val moved = values[--size]
        var at = 0
        while (2 * at + 1 < size) {
            var child = 2 * at + 1
            if (child + 1 < size && values[child + 1] < values[child]) child++
            if (values[child] >= moved) break
            values[at] = values[child]
            at = child
        }
        values[at] = moved
        return first
    }
}
