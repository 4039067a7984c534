package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Test

/** In the library that Python runs, called from the JVM: all is equal. */
class LiteRtParityTest {
    private val lite = LiteRt.load(System.getProperty("litert"))

    @Test
    fun sameAnswers() {
        for (found in Parity.compareAll { LiteRtGraph(lite, it.graph) }) {
            assertEquals(found.file, 0, found.labels + found.offsets)
            assertEquals(found.file, 0.0, found.quanta, Parity.SAME)
        }
    }
}
