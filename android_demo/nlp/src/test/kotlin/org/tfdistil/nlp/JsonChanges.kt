package org.tfdistil.nlp

import java.util.Random

/** Changes values of JSON at random: other types, huge numbers, parts in the place of others, twice or not at all. */
internal class JsonChanges(
    private val random: Random,
) {
    /** A value with one to three changes. */
    fun of(value: Map<String, Any?>): Any? {
        var changed: Any? = value
        repeat(1 + random.nextInt(3)) { changed = changed(changed, value) }
        return changed
    }

    /** Goes down to a place, and changes what is there. Few of the places are in long lists: all of those are alike. */
    private fun changed(
        value: Any?,
        whole: Any?,
    ): Any? {
        val here = random.nextInt(5) == 0
        return when {
            value is Map<*, *> && value.isNotEmpty() && !here -> {
                val key = value.keys.random()
                when (random.nextInt(12)) {
                    0 -> value - key
                    1 -> value - key + ("$key$key" to value[key])
                    2 -> value - key + (ODD.filterIsInstance<String>().random() to value[key])
                    else -> value + (key to changed(value[key], whole))
                }
            }

            value is List<*> && value.isNotEmpty() && !here -> {
                val at = random.nextInt(value.size)
                when (random.nextInt(12)) {
                    0 -> value.filterIndexed { index, _ -> index != at }
                    1 -> value + value[at]
                    2 -> List(3000) { value[at] }
                    3 -> value.shuffled(random)
                    else -> value.mapIndexed { index, item -> if (index == at) changed(item, whole) else item }
                }
            }

            random.nextInt(3) == 0 -> part(whole)
            random.nextInt(8) == 0 -> listOf(value)
            value is String && value.length < 100 && random.nextInt(3) == 0 -> value.repeat(listOf(0, 2, 5000).random())
            else -> ODD.random()
        }
    }

    /** Any part of a value. */
    private fun part(value: Any?): Any? {
        val inner = if (value is Map<*, *>) value.values.toList() else value as? List<*>
        return if (inner.isNullOrEmpty() || random.nextInt(4) == 0) value else part(inner.random())
    }

    private fun <T> Collection<T>.random(): T = elementAt(random.nextInt(size))

    private companion object {
        val ODD =
            listOf(
                null, -1L, 0L, 1L, 7L, 2147483647L, 2147483648L, Long.MIN_VALUE, 1e308, -1e308, 1e-320, 1.5, true, false,
                "", "\uD800", "a", "##", " ", "AAAA", "type", "BPE", "Unigram", "WordPiece", "Replace", "Sequence", "Lowercase", "ByteLevel",
                "first", "never", emptyList<Any>(), emptyMap<String, Any>(), listOf("a", "b"), listOf("a", 1.5), mapOf("String" to "a"),
            )
    }
}

/** Values as the text of a JSON file, which ends in the middle where it becomes too long. */
internal object JsonText {
    /** @param most characters, as good as. */
    fun of(
        value: Any?,
        most: Int = 4_000_000,
    ): String = StringBuilder().also { write(value, it, most) }.toString()

    private fun write(
        value: Any?,
        to: StringBuilder,
        most: Int,
    ) {
        when (value) {
            is Map<*, *> ->
                list(value.entries, "{}", to, most) { (key, item) ->
                    write(key, to, most)
                    to.append(':')
                    write(item, to, most)
                }
            is List<*> -> list(value, "[]", to, most) { write(it, to, most) }
            is String -> {
                to.append('"')
                for (character in value) character(character, to)
                to.append('"')
            }
            else -> to.append(value)
        }
    }

    private fun <T> list(
        items: Collection<T>,
        brackets: String,
        to: StringBuilder,
        most: Int,
        each: (T) -> Unit,
    ) {
        to.append(brackets[0])
        for ((at, item) in items.withIndex()) {
            if (to.length > most) return
            if (at > 0) to.append(',')
            each(item)
        }
        to.append(brackets[1])
    }

    private fun character(
        character: Char,
        to: StringBuilder,
    ) {
        val plain = character >= ' ' && character != '"' && character != '\\' && !character.isSurrogate()
        if (plain) to.append(character) else to.append("\\u%04x".format(character.code))
    }
}
