package org.tfdistil.nlp

/**
 * The labels of words, in IOB2 or IOBES: which may begin a text, which may follow which, which may end it.
 *
 * @param labels `O`, and others with the mark of a scheme and a type, as `B-city`; perhaps [CONTINUATION],
 *   the label of a word's further pieces, which no word may have.
 */
internal class WordLabels(
    labels: List<String>,
) {
    val size: Int = labels.size

    /** The tag of IOB2 that each label means. */
    val inIob2: List<String> = labels.map { label -> IN_IOB2[label.take(2)]?.let { it + label.drop(2) } ?: label }

    private val follows = if (labels.any { it.startsWith("E-") || it.startsWith("S-") }) IOBES else IOB2
    private val marks = CharArray(size) { if (labels[it] == CONTINUATION) NO_WORD else labels[it].first() }
    private val types = numbered(labels.map { it.drop(2) })
    private val starts = BooleanArray(size) { marks[it] in follows.getValue(OUTSIDE) }
    private val ends = BooleanArray(size) { marks[it] == NO_WORD || OUTSIDE in follows.getValue(marks[it]) }

    fun mayStart(label: Int): Boolean = starts[label]

    fun mayEnd(label: Int): Boolean = ends[label]

    /** Whether a word of the label [next] may come after one of the label [label]. */
    fun mayFollow(
        label: Int,
        next: Int,
    ): Boolean {
        if (marks[next] !in CONTINUES) return ends[label] && starts[next]
        return marks[label] != NO_WORD && types[label] == types[next] && marks[next] in follows.getValue(marks[label])
    }

    /** The labels that may come before each one, in order. Labels that have the same ones share the array. */
    val before: List<IntArray> =
        run {
            val all = 0 until size
            val ofType = all.groupBy { types[it] }
            val enders = all.filter { ends[it] }.toIntArray()
            val none = IntArray(0)
            val within = HashMap<Pair<Char, Int>, IntArray>()
            all.map { next ->
                if (marks[next] in CONTINUES) {
                    within.getOrPut(marks[next] to types[next]) { ofType.getValue(types[next]).filter { mayFollow(it, next) }.toIntArray() }
                } else {
                    if (starts[next]) enders else none
                }
            }
        }

    /** Whether a path has only ids of labels, allowed steps and an allowed end. */
    fun isLegal(path: IntArray): Boolean {
        if (path.isEmpty()) return true
        if (path.any { it !in 0 until size }) return false
        return mayStart(path.first()) &&
            mayEnd(path.last()) &&
            (1 until path.size).all { mayFollow(path[it - 1], path[it]) }
    }

    companion object {
        /** The label of the pieces of a word after its first one. */
        const val CONTINUATION = "X"
        private const val NO_WORD = 'X'
        private const val OUTSIDE = 'O'
        private const val CONTINUES = "IE"

        // By the mark of a label, those that may follow it; see tfdistil/data/schemes.py.
        private val IOB2 = mapOf('O' to "OB", 'B' to "OBI", 'I' to "OBI")
        private val IOBES = mapOf('O' to "OBS", 'B' to "IE", 'I' to "IE", 'E' to "OBS", 'S' to "OBS")
        private val IN_IOB2 = mapOf("E-" to "I-", "S-" to "B-")

        /** Why labels are not those of a scheme, or null if they are. */
        fun complaint(labels: List<String>): String? {
            val iobes = labels.any { it.startsWith("E-") || it.startsWith("S-") }
            val known = (if (iobes) IOBES else IOB2).keys.filter { it != OUTSIDE }.map { "$it-" }
            val odd = labels.find { it != "O" && it.take(2) !in known }
            return when {
                "O" !in labels -> "is without the label O"
                odd != null -> "has the label ${Fields.shown(odd)}; expected O, and others that begin with ${known.joinToString(" or ")}"
                else -> null
            }
        }

        private fun numbered(names: List<String>): IntArray {
            val numbers = HashMap<String, Int>()
            return IntArray(names.size) { numbers.getOrPut(names[it]) { numbers.size } }
        }
    }
}

/**
 * The entities that legal tags of IOB2 make: words from the first to the one after the last, and a score.
 *
 * @param probabilities of the tags; a span's score is their geometric mean.
 */
internal inline fun forEachSpan(
    tags: List<String>,
    probabilities: DoubleArray,
    action: (label: String, first: Int, end: Int, score: Double) -> Unit,
) {
    var first = 0
    while (first < tags.size) {
        if (!tags[first].startsWith("B-")) {
            first++
            continue
        }
        var end = first + 1
        while (end < tags.size && tags[end].startsWith("I-")) end++
        var logs = 0.0
        for (word in first until end) logs += Math.log(maxOf(probabilities[word], LEAST_PROBABILITY))
        action(tags[first].drop(2), first, end, Math.exp(logs / (end - first)))
        first = end
    }
}

internal const val LEAST_PROBABILITY: Double = 1e-12
