package org.tfdistil.demo

import android.graphics.Color

/**
 * A colour for each label, the same in every answer of a model.
 *
 * Hues are spread by the golden angle over the model's labels in order, so neighbours in the list are
 * far apart in colour. Text on any of them has the contrast that WCAG asks for (4.5 to 1).
 *
 * @param labels all labels of the model.
 * @param night for a dark theme.
 */
internal class LabelColors(
    labels: List<String>,
    private val night: Boolean,
) {
    private val places = labels.distinct().sorted().withIndex().associate { (place, label) -> label to place }

    /** Behind the label and behind its words. */
    fun of(label: String): Int {
        val place = places.getOrElse(label) { places.size }
        val hue = (place * GOLDEN_ANGLE) % 360f
        return if (night) Color.HSVToColor(floatArrayOf(hue, 0.62f, 0.42f)) else Color.HSVToColor(floatArrayOf(hue, 0.32f, 0.97f))
    }

    private companion object {
        const val GOLDEN_ANGLE = 137.508f
    }
}
