package org.tfdistil.nlp

/** How many bytes a code point has in UTF-8. */
internal fun utf8Size(codePoint: Int): Int = if (codePoint < 0x80) 1 else if (codePoint < 0x800) 2 else if (codePoint < 0x10000) 3 else 4

/** The bytes of a code point in UTF-8, as numbers from 0 to 255. */
internal inline fun forEachByte(
    codePoint: Int,
    action: (Int) -> Unit,
) {
    if (codePoint < 0x80) return action(codePoint)
    val more = utf8Size(codePoint) - 1
    action((0xFF00 shr (more + 1) and 0xFF) or (codePoint shr 6 * more))
    for (at in more - 1 downTo 0) action(0x80 or (codePoint shr 6 * at and 0x3F))
}
