package org.tfdistil.demo

import java.math.BigDecimal
import java.math.MathContext
import java.text.NumberFormat

/** Three digits that count, as the language writes them: 0.0120, 1.23, 123. */
internal fun significant(value: Double): String {
    val rounded = BigDecimal(value).round(MathContext(3))
    val digits = maxOf(0, 3 - rounded.precision() + rounded.scale())
    return NumberFormat
        .getNumberInstance()
        .apply {
            minimumFractionDigits = digits
            maximumFractionDigits = digits
        }.format(rounded)
}
