package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Test

/** Numbers that the library `tokenizers` 0.23 reads as another double than the nearest, and others. */
class DecimalsTest {
    @Test
    fun asTheLibrary() {
        val cases =
            listOf(
                "-3.9299705028533936" to -3.9299705028533936,
                "-12.982908554684185" to -12.982908554684183,
                "-12.013631564778425" to -12.013631564778423,
                "-12.846008495951335" to -12.846008495951336,
                "-13.123456789012345678901" to -13.123456789012344,
                "123456789012345678901234.5" to 1.2345678901234567e+23,
                "-0.00000000000000000012345678901234567" to -1.2345678901234568e-19,
                "-7.0e-1" to -0.7,
                "-2.5E+2" to -250.0,
                "1e-5" to 1e-5,
                "-1.5e-320" to -1.5e-320,
                "0.3e-310" to 3e-311,
                "0.0e400" to 0.0,
                "-0.0" to -0.0,
            )
        for ((text, expected) in cases) assertEquals(text, expected, libraryDecimal(text), 0.0)
    }
}
