package org.tfdistil.nlp

/**
 * `Replace`, from left to right: of a text that stands there [repeats] times in a row. The pattern ` {2,}` is a
 * space two times and more.
 */
internal class Replace(
    pattern: String,
    content: String,
    private val repeats: IntRange,
) : Normalizer {
    private val pattern = IntList().apply { addText(pattern) }
    private val content = IntList().apply { addText(content) }

    override fun normalize(
        from: IntList,
        to: IntList,
    ) {
        var at = 0
        while (at < from.size) {
            val found = minOf(repeatsAt(from, at), repeats.last)
            if (found < repeats.first) {
                to.add(from[at++])
            } else {
                to.addAll(content)
                at += found * pattern.size
            }
        }
    }

    private fun repeatsAt(
        from: IntList,
        start: Int,
    ): Int {
        var at = start
        val end = minOf(from.size.toLong(), start + repeats.last.toLong() * pattern.size)
        while (at < end && from[at] == pattern[(at - start) % pattern.size]) at++
        return (at - start) / pattern.size
    }
}
