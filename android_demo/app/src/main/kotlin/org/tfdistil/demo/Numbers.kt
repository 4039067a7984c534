package org.tfdistil.demo

import java.math.BigDecimal
import java.math.MathContext
import java.text.NumberFormat

/** Three digits that count, as the language writes them: 0.0123, 1.23, 123. */
internal fun significant(value: Double): String {
    val rounded = BigDecimal(value).round(MathContext(3))
    return NumberFormat.getNumberInstance().apply { maximumFractionDigits = maxOf(0, rounded.scale()) }.format(rounded)
}
