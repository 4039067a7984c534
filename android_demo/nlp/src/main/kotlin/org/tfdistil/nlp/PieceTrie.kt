package org.tfdistil.nlp

/**
 * The pieces of a vocabulary by their code points: a walk finds all pieces that a text begins with.
 *
 * An edge is an entry of one open-addressed table, its key the node and the code point, so that a walk
 * makes no objects and a vocabulary takes some ten bytes for each of its characters.
 */
internal class PieceTrie {
    private var keys = LongArray(1 shl 10) { FREE }
    private var children = IntArray(1 shl 10)
    private var edges = 0
    private val ids = IntList().apply { add(NONE) } // by node

    /**
     * Adds a piece; one that is there already gets the new id.
     *
     * @throws ModelFileException a piece so long that looking for it takes time with the square of a text's
     *   length, or pieces that need more memory than a phone's app has.
     */
    fun add(
        piece: String,
        id: Int,
    ) {
        if (piece.length > LONGEST) {
            throw ModelFileException("the tokenizer has a piece of ${piece.length} characters, ${Fields.shown(piece)}; expected at most $LONGEST. $AGAIN")
        }
        var node = ROOT
        var at = 0
        while (at < piece.length) {
            val codePoint = piece.codePointAt(at)
            at += Character.charCount(codePoint)
            node = child(node, codePoint).takeIf { it != NONE } ?: grow(node, codePoint)
        }
        ids[node] = id
    }

    /** The node that a code point leads to, or [NONE]. */
    fun child(
        node: Int,
        codePoint: Int,
    ): Int {
        val at = place(key(node, codePoint))
        return if (keys[at] == FREE) NONE else children[at]
    }

    /** The node that a text leads to from the root, or [NONE]. */
    fun find(text: String): Int {
        var node = ROOT
        var at = 0
        while (at < text.length && node != NONE) {
            val codePoint = text.codePointAt(at)
            at += Character.charCount(codePoint)
            node = child(node, codePoint)
        }
        return node
    }

    /** The id of the piece that ends at a node, or [NONE]. */
    fun id(node: Int): Int = ids[node]

    /** The id of the piece that a part of a text is, or [NONE]. */
    fun id(
        text: IntList,
        start: Int,
        end: Int,
    ): Int {
        var node = ROOT
        var at = start
        while (at < end && node != NONE) node = child(node, text[at++])
        return if (node == NONE) NONE else id(node)
    }

    /** The id of a piece, or [NONE]. */
    fun id(piece: String): Int = find(piece).let { if (it == NONE) NONE else id(it) }

    private fun grow(
        node: Int,
        codePoint: Int,
    ): Int {
        if (++edges > MOST_EDGES) throw ModelFileException("the tokenizer's pieces have more than $MOST_EDGES beginnings. $AGAIN")
        if (2 * edges > keys.size) enlarge()
        val child = ids.size
        ids.add(NONE)
        val key = key(node, codePoint)
        val at = place(key)
        keys[at] = key
        children[at] = child
        return child
    }

    private fun enlarge() {
        val (oldKeys, oldChildren) = keys to children
        keys = LongArray(2 * oldKeys.size) { FREE }
        children = IntArray(2 * oldKeys.size)
        for (from in oldKeys.indices) {
            if (oldKeys[from] == FREE) continue
            val at = place(oldKeys[from])
            keys[at] = oldKeys[from]
            children[at] = oldChildren[from]
        }
    }

    private fun key(
        node: Int,
        codePoint: Int,
    ) = (node.toLong() shl CODE_POINT_BITS) or codePoint.toLong()

    /** Where a key is, or would be. */
    private fun place(key: Long): Int {
        val mask = keys.size - 1
        var at = Spread.place(key, keys.size)
        while (keys[at] != key && keys[at] != FREE) at = (at + 1) and mask
        return at
    }

    companion object {
        const val ROOT = 0
        const val NONE = -1
        private const val FREE = -1L
        private const val CODE_POINT_BITS = 21
        private const val LONGEST = 1000
        private const val MOST_EDGES = 1 shl 21 // eight for each of XLM-R's 250,002 pieces
        private const val AGAIN = "Export the model again"
    }
}

/**
 * Where keys lie in a table of open addresses, whose size is a power of two: the highest bits of a product.
 * The factor is another one in each process, so that no file can be made whose keys all fall together.
 */
internal object Spread {
    private val factor = java.util.Random().nextLong() or 1

    fun place(
        key: Long,
        size: Int,
    ): Int = (key * factor ushr Long.SIZE_BITS - Integer.numberOfTrailingZeros(size)).toInt()
}
