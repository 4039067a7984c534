package org.tfdistil.demo

import android.graphics.Bitmap
import android.graphics.Color
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.annotation.Config

/** Pictures for the documentation, and that they show what they are meant to. */
@RunWith(RobolectricTestRunner::class)
class ScreenshotTest {
    @Test
    @Config(qualifiers = PHONE)
    fun light() = check("phone-light", ENGLISH) { dark, bright -> bright > dark }

    @Test
    @Config(qualifiers = "$PHONE_SIZE-night-hdpi")
    fun dark() = check("phone-dark", GERMAN) { dark, bright -> dark > bright }

    @Test
    @Config(qualifiers = "ar-rEG-ldrtl-$PHONE")
    fun rightToLeft() = check("phone-rtl", ARABIC) { dark, bright -> bright > dark }

    @Test
    @Config(qualifiers = "w1024dp-h600dp-land-mdpi")
    fun tablet() = check("tablet-light", ENGLISH) { dark, bright -> bright > dark }

    @Test
    @Config(qualifiers = "w1024dp-h600dp-land-night-mdpi")
    fun tabletDark() = check("tablet-dark", SPANISH) { dark, bright -> dark > bright }

    private fun check(
        name: String,
        text: String,
        fits: (Int, Int) -> Boolean,
    ) = Screen().use { screen ->
        screen.enter("")
        for (end in 4..text.length step 4) screen.enter(text.substring(0, end))
        screen.enter(text)
        val picture = screen.photograph(name)
        val (dark, bright) = pixels(picture).partition { Color.luminance(it) < 0.18f }
        assertTrue("$name: ${dark.size} dark pixels, ${bright.size} bright ones", fits(dark.size, bright.size))
        assertTrue("$name has hardly a colour", pixels(picture).toSet().size > 20)
    }

    private fun pixels(picture: Bitmap): List<Int> {
        val found = IntArray(picture.width * picture.height)
        picture.getPixels(found, 0, picture.width, 0, 0, picture.width, picture.height)
        return found.asList()
    }

    private companion object {
        const val PHONE_SIZE = "w360dp-h720dp-port"
        const val PHONE = "$PHONE_SIZE-hdpi"
        const val ENGLISH = "remind me to water the plants on Friday at 9"
        const val GERMAN = "stell einen Wecker für Freitag um 8 Uhr"
        const val SPANISH = "dime el pronóstico en Sevilla para este fin de semana"
        const val ARABIC = "اضبط المنبه على الساعة 7 صباحًا في الرياض"
    }
}
