package org.tfdistil.demo

import org.junit.Assert.assertEquals
import org.junit.Test
import java.util.Locale

class NumbersTest {
    @Test
    fun `three digits count, zeros among them`() {
        val before = Locale.getDefault()
        try {
            Locale.setDefault(Locale.US)
            assertEquals(
                listOf("3.20", "3.00", "0.0120", "0.0123", "12.3", "100", "1,230"),
                listOf(3.2, 3.0, 0.012, 0.012345, 12.345, 99.96, 1234.0).map(::significant),
            )
            Locale.setDefault(Locale.GERMANY)
            assertEquals("3,20", significant(3.2))
        } finally {
            Locale.setDefault(before)
        }
    }
}
