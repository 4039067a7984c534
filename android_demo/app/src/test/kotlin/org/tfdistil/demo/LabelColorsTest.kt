package org.tfdistil.demo

import android.content.Context
import android.graphics.Color
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.RuntimeEnvironment
import org.robolectric.annotation.Config

@RunWith(RobolectricTestRunner::class)
class LabelColorsTest {
    private val context: Context = RuntimeEnvironment.getApplication()
    private val labels = List(30) { "label $it" }

    @Test
    fun `text on any colour can be read by day`() = readable(night = false)

    @Test
    @Config(qualifiers = "night")
    fun `text on any colour can be read by night`() = readable(night = true)

    @Test
    fun `a label has one colour, whatever the order of the list`() {
        val colors = LabelColors(labels, night = false)
        val reversed = LabelColors(labels.reversed(), night = false)
        for (label in labels) assertEquals(colors.of(label), reversed.of(label))
        assertEquals(labels.size, labels.map(colors::of).distinct().size)
    }

    private fun readable(night: Boolean) {
        val text = context.getColor(R.color.text)
        for (label in labels) assertTrue(label, contrast(text, LabelColors(labels, night).of(label)) >= 4.5)
        for (id in listOf(R.color.text, R.color.text_quiet, R.color.accent)) {
            assertTrue(contrast(context.getColor(id), context.getColor(R.color.surface)) >= 4.5)
            assertTrue(contrast(context.getColor(id), context.getColor(R.color.background)) >= 4.5)
        }
        assertTrue(contrast(context.getColor(R.color.notice_text), context.getColor(R.color.notice)) >= 4.5)
    }

    /** As WCAG 2 has it. */
    private fun contrast(
        one: Int,
        other: Int,
    ): Double {
        val (dark, bright) = listOf(Color.luminance(one), Color.luminance(other)).sorted()
        return (bright + 0.05) / (dark + 0.05)
    }
}
