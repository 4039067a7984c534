package org.tfdistil.nlp

/**
 * Words that a window shows to the model, and those of them that it answers for.
 *
 * @property first first word shown; [end] the one after the last.
 * @property firstOwned first word scored; [endOwned] the one after the last.
 */
internal data class Stretch(
    val first: Int,
    val end: Int,
    val firstOwned: Int,
    val endOwned: Int,
)

/**
 * Cuts words into stretches of at most [budget] pieces; each word has one owner.
 *
 * Every stretch but the first begins with words that the one before it shows too: as many as fit into
 * [overlap] pieces and leave room for one new word. The last one reaches back as far as it can. A word is
 * owned by the stretch where the smaller of its contexts, pieces to its left and to its right, is largest,
 * the earlier one of equals. A stretch that owns nothing is left out.
 *
 * @param lengths pieces of each word, each from 1 to [budget].
 * @param overlap less than [budget].
 */
internal fun stretches(
    lengths: IntArray,
    budget: Int,
    overlap: Int,
): List<Stretch> {
    val words = lengths.size
    val before = LongArray(words + 1) // pieces before each word
    for (word in 0 until words) before[word + 1] = before[word] + lengths[word]
    if (before[words] <= budget) return listOf(Stretch(0, words, 0, words))
    val shown = ArrayList<IntRange>()
    var first = 0
    var end = 0
    while (end < words) {
        end = first
        while (end < words && before[end + 1] - before[first] <= budget) end++
        if (end == words) {
            while (before[end] - before[first - 1] <= budget) first--
        }
        shown.add(first until end)
        if (end < words) {
            first++
            while (before[end] - before[first] > overlap || before[end + 1] - before[first] > budget) first++
        }
    }
    return withOwners(shown, before)
}

private fun withOwners(
    shown: List<IntRange>,
    before: LongArray,
): List<Stretch> {
    val owned = Array(shown.size) { IntRange.EMPTY }
    var earliest = 0
    for (word in 0 until before.size - 1) {
        while (shown[earliest].last < word) earliest++
        var best = earliest
        var most = -1L
        for (at in earliest until shown.size) {
            if (shown[at].first > word) break
            val context = minOf(before[word] - before[shown[at].first], before[shown[at].last + 1] - before[word + 1])
            if (context > most) {
                best = at
                most = context
            }
        }
        owned[best] = (if (owned[best].isEmpty()) word else owned[best].first)..word
    }
    return shown.indices.filterNot { owned[it].isEmpty() }.map {
        Stretch(shown[it].first, shown[it].last + 1, owned[it].first, owned[it].last + 1)
    }
}

/**
 * How many pieces of each of two texts to keep: the longer one loses first. If both are longer than half,
 * each keeps half, and of equal ones the second keeps the odd piece.
 */
internal fun truncatePair(
    first: Int,
    second: Int,
    budget: Int,
): Pair<Int, Int> {
    if (first + second <= budget) return first to second
    var short = minOf(first, second)
    var long = maxOf(short, budget - short)
    if (short + long > budget) {
        short = budget / 2
        long = budget - short
    }
    return if (first > second) long to short else short to long
}
