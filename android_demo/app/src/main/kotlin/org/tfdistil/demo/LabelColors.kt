package org.tfdistil.demo

import android.graphics.Color

/**
 * A colour for each label, the same in every answer of a model.
 *
 * Ten hues in three shades; labels that follow each other in the alphabet are three hues apart. Text on
 * any of them has the contrast that WCAG asks for (4.5 to 1). From the 31st label on they repeat: the
 * label's name always stands beside its colour.
 *
 * @param labels all labels of the model.
 * @param night for a dark theme.
 */
internal class LabelColors(
    labels: List<String>,
    night: Boolean,
) {
    private val places = labels.distinct().sorted().withIndex().associate { (place, label) -> label to place }
    private val shades = if (night) NIGHT else DAY

    /** Behind the label and behind its words. */
    fun of(label: String): Int {
        val place = places.getOrElse(label) { places.size }
        val hue = (place * STEP % HUES) * (360f / HUES)
        val (saturation, value) = shades[place / HUES % shades.size]
        return Color.HSVToColor(floatArrayOf(hue, saturation, value))
    }

    private companion object {
        const val HUES = 10
        const val STEP = 3
        val DAY = listOf(0.28f to 0.98f, 0.42f to 0.9f, 0.12f to 0.88f)
        val NIGHT = listOf(0.62f to 0.42f, 0.85f to 0.34f, 0.35f to 0.38f)
    }
}
