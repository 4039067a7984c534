package org.tfdistil.nlp

/**
 * A decimal fraction as the library `tokenizers` reads it: the digits as one number, divided or multiplied
 * once by a power of ten. That is the last digit of a double off for one score in seven, and where
 * two ways to cut a word have equal scores, the last digit says which is taken.
 */
internal fun libraryDecimal(text: String): Double {
    var digits = 0UL
    var exponent = 0
    var fraction = false
    val mantissa = text.removePrefix("-").substringBefore('e').substringBefore('E')
    for (character in mantissa) {
        if (character == '.') {
            fraction = true
            continue
        }
        val digit = (character - '0').toULong()
        // Digits that 64 bits cannot hold are dropped.
        val fits = digits <= (ULong.MAX_VALUE - digit) / 10UL
        if (fits) digits = 10UL * digits + digit
        if (fits && fraction) exponent--
        if (!fits && !fraction) exponent++
    }
    exponent += text.lowercase().substringAfter('e', "0").toIntOrNull() ?: return text.toDouble()
    val value = scaled(digits.toDouble(), exponent)
    return if (text.startsWith('-')) -value else value
}

private fun scaled(
    value: Double,
    exponent: Int,
): Double =
    when {
        value == 0.0 -> value
        exponent >= 0 -> value * "1e$exponent".toDouble()
        exponent >= -GREATEST -> value / "1e${-exponent}".toDouble()
        else -> scaled(value / "1e$GREATEST".toDouble(), exponent + GREATEST)
    }

private const val GREATEST = 308
