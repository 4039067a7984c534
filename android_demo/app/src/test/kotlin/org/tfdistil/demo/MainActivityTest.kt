package org.tfdistil.demo

import android.content.ClipData
import android.content.ClipboardManager
import android.content.res.Configuration
import android.net.Uri
import android.text.Layout
import android.view.View
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import org.robolectric.shadows.ShadowAlertDialog
import org.robolectric.shadows.ShadowLooper
import java.io.File
import java.util.concurrent.TimeUnit

@RunWith(RobolectricTestRunner::class)
class MainActivityTest {
    @Test
    fun `labels appear while typing, and are the model's own`() {
        Screen().use { screen ->
            val text = "set an alarm for seven tomorrow morning"
            text.indices.forEach { screen.input.append(text.substring(it, it + 1)) }
            screen.enter(text)
            val name = screen.text(R.id.model_name)
            val expected = ModelStore(screen.activity).open(name).use { it.answer(Question(text, "")) }
            assertEquals(expected.label, screen.text(R.id.label))
            assertEquals(expected.spans.map { it.label }.distinct(), screen.rows.map { it.first })
            assertEquals(expected.spans.map(expected::textOf), screen.coloured)
            assertTrue(expected.spans.isNotEmpty())
            assertTrue(screen.text(R.id.latency).endsWith(" ms"))
            assertTrue(screen.view(R.id.label).contentDescription.contains(checkNotNull(expected.label)))
        }
    }

    @Test
    fun `the last of many texts wins`() {
        Screen().use { screen ->
            val samples = screen.activity.resources.getStringArray(R.array.samples)
            samples.forEach(screen.input::setText)
            screen.enter(samples.last())
            val expected = ModelStore(screen.activity).open(screen.text(R.id.model_name)).use { it.answer(Question(samples.last(), "")) }
            assertEquals(expected.label, screen.text(R.id.label))
            assertEquals(expected.spans.map(expected::textOf), screen.coloured)
        }
    }

    @Test
    fun `an empty text has no answer`() {
        Screen().use { screen ->
            screen.enter("play some jazz")
            screen.view(R.id.clear).performClick()
            Phone.until("no answer") { screen.text(R.id.label) == screen.activity.getString(R.string.answer_empty) }
            assertTrue(screen.rows.isEmpty())
            assertTrue(screen.coloured.isEmpty())
            assertFalse(screen.shown(R.id.notice))
        }
    }

    @Test
    fun `a text of 5,000 characters is answered`() {
        Screen().use { screen ->
            val sentence = "wake me up at seven and play some jazz 🎷 "
            val long = sentence.repeat(5000 / sentence.length + 1).take(5000)
            screen.enter(long)
            assertEquals(long, screen.input.text.toString())
            assertTrue(screen.coloured.size > 10)
            assertFalse(screen.shown(R.id.notice))
        }
    }

    @Test
    fun `turning the phone keeps text, answer, model and times`() {
        Screen().use { screen ->
            screen.enter("stell einen Wecker für Freitag um 8 Uhr")
            val before = listOf(R.id.label, R.id.model_name, R.id.latest).map(screen::text) + screen.rows
            val first = screen.activity
            val turned = Configuration(first.resources.configuration).apply { orientation = Configuration.ORIENTATION_LANDSCAPE }
            screen.controller.configurationChange(turned)
            assertTrue("not recreated", first !== screen.activity)
            Phone.until("the answer again") { screen.rows.isNotEmpty() && screen.text(R.id.latest) != before[2] }
            assertEquals("stell einen Wecker für Freitag um 8 Uhr", screen.input.text.toString())
            assertEquals(before[0], screen.text(R.id.label))
            assertEquals(before[1], screen.text(R.id.model_name))
            assertTrue(screen.text(R.id.latest).contains("2"))
            assertEquals(before.drop(3), screen.rows)
        }
    }

    @Test
    fun `right-to-left text is set from the right, with its spans`() {
        Screen().use { screen ->
            screen.enter("תעיר אותי מחר בשעה 7:30 בתל אביב")
            screen.view(android.R.id.content).measureAgain()
            assertEquals(Layout.DIR_RIGHT_TO_LEFT, screen.input.layout.getParagraphDirection(0))
            val expected =
                ModelStore(screen.activity).open(screen.text(R.id.model_name)).use { it.answer(Question(screen.input.text.toString(), "")) }
            assertEquals(expected.spans.map(expected::textOf), screen.coloured)
        }
    }

    @Test
    fun `a sample and the clipboard fill the text`() {
        Screen().use { screen ->
            screen.view(R.id.samples).performClick()
            val dialog = shadowOf(ShadowAlertDialog.getLatestAlertDialog())
            dialog.clickOnItem(3)
            assertEquals(screen.activity.resources.getStringArray(R.array.samples)[3], screen.input.text.toString())

            val clipboard = screen.activity.getSystemService(ClipboardManager::class.java)
            screen.view(R.id.paste).performClick()
            assertEquals(screen.activity.getString(R.string.nothing_to_paste), screen.text(R.id.notice_text))
            clipboard.setPrimaryClip(ClipData.newPlainText("", "turn the lights off 💡"))
            screen.view(R.id.paste).performClick()
            assertEquals("turn the lights off 💡", screen.input.text.toString())
        }
    }

    @Test
    fun `another model of the app answers when it is chosen`() {
        Screen().use { screen ->
            screen.enter("play some jazz")
            screen.pick(Screen.PQRNN)
            Phone.until("its answer") { screen.text(R.id.latest).isNotEmpty() }
            val expected = ModelStore(screen.activity).open(Screen.PQRNN).use { it.answer(Question("play some jazz", "")) }
            assertEquals(expected.label, screen.text(R.id.label))
        }
    }

    @Test
    fun `a file that is not ours is refused in words, and nothing is lost`() {
        Screen().use { screen ->
            screen.enter("play some jazz")
            val before = listOf(R.id.label, R.id.model_name, R.id.latest).map(screen::text)
            for ((name, bytes) in strangers(screen)) {
                val file = File(screen.activity.cacheDir, name).apply { writeBytes(bytes) }
                screen.choose(Uri.fromFile(file))
                Phone.until("a notice of $name") { screen.text(R.id.notice_text).contains(name) }
                assertTrue(screen.shown(R.id.notice))
                assertEquals(before, listOf(R.id.label, R.id.model_name, R.id.latest).map(screen::text))
                screen.view(R.id.dismiss).performClick()
                assertFalse(screen.shown(R.id.notice))
            }
        }
    }

    @Test
    fun `a model from storage is opened, and outlives its file`() {
        Screen().use { screen ->
            val file = File(screen.activity.cacheDir, "from storage.tflite")
            screen.activity.assets.open("pqrnn.tflite").use { input -> file.outputStream().use(input::copyTo) }
            screen.choose(Uri.fromFile(file))
            Phone.until("the model") { screen.text(R.id.model_name) == file.name }
            file.delete()
            screen.enter("play some jazz")
            assertTrue(screen.text(R.id.latest).isNotEmpty())
            assertFalse(screen.shown(R.id.notice))
        }
    }

    @Test
    fun `a megabyte is cut, and that is said`() {
        Screen().use { screen ->
            val clipboard = screen.activity.getSystemService(ClipboardManager::class.java)
            clipboard.setPrimaryClip(ClipData.newPlainText("", "wake me up ".repeat(100_000)))
            screen.view(R.id.paste).performClick()
            assertEquals(20_000, screen.input.length())
            assertTrue(screen.text(R.id.notice_text).contains("the first 20000 characters"))
            Phone.until("an answer") { screen.text(R.id.latest).isNotEmpty() }
        }
    }

    @Test
    fun `leaving while a model is opened ends quietly`() {
        repeat(5) {
            Screen().use { screen ->
                val models = ModelStore(screen.activity)
                val session = Session(models)
                var told = 0
                session.observer = { told++ }
                session.open(models.bundled().first())
                Thread.sleep(20L * it)
                session.close()
                Thread.sleep(500)
                ShadowLooper.idleMainLooper(1, TimeUnit.SECONDS)
                assertEquals(1, told)
            }
        }
    }

    @Test
    fun `two models chosen quickly, the last one answers`() {
        Screen().use { screen ->
            screen.enter("play some jazz")
            val names = ModelStore(screen.activity).bundled()
            for (name in listOf(Screen.PQRNN, Screen.BILSTM, Screen.PQRNN)) {
                screen.view(R.id.change_model).performClick()
                shadowOf(ShadowAlertDialog.getLatestAlertDialog()).clickOnItem(names.indexOf(name))
            }
            Phone.until("the last model, and its answer") {
                screen.text(R.id.model_name) == Screen.PQRNN && screen.text(R.id.latest).contains("latest text")
            }
            val expected = ModelStore(screen.activity).open(Screen.PQRNN).use { it.answer(Question("play some jazz", "")) }
            assertEquals(expected.label, screen.text(R.id.label))
        }
    }

    @Test
    fun `a model from storage does not hide one of the app`() {
        Screen().use { screen ->
            val models = ModelStore(screen.activity)
            val file = File(screen.activity.cacheDir, "bilstm.tflite")
            screen.activity.assets.open("pqrnn.tflite").use { input -> file.outputStream().use(input::copyTo) }
            assertEquals("bilstm (1).tflite", models.import(Uri.fromFile(file)).use { it.name })
            val sizes = listOf("pqrnn.tflite", "bilstm (1).tflite").map { name -> models.open(name).use { it.file.size } }
            assertEquals(sizes[0], sizes[1])
            assertTrue(models.open("bilstm.tflite").use { it.file.size } != sizes[1])
        }
    }

    @Test
    fun `a name of another app is a name of a file here`() {
        val models = ModelStore(RuntimeEnvironment.getApplication())
        val names = listOf("..", "", "x".repeat(300) + ".tflite", "a\u0000b\nc.tflite").map { models.nameOf(Uri.Builder().scheme("file").appendPath(it).build()) }
        assertEquals(listOf("model.tflite", "model.tflite", "x".repeat(73) + ".tflite", "abc.tflite"), names)
    }

    @Test
    fun `every control says what it is`() {
        Screen().use { screen ->
            screen.enter("wake me up at seven")
            assertEquals(View.ACCESSIBILITY_LIVE_REGION_POLITE, screen.view(R.id.label).accessibilityLiveRegion)
            for (id in listOf(R.id.samples, R.id.paste, R.id.clear, R.id.change_model)) {
                assertTrue(screen.text(id).isNotEmpty())
                assertTrue(screen.view(id).isClickable)
            }
            assertTrue(screen.input.hint.isNotEmpty())
        }
    }

    private fun strangers(screen: Screen): Map<String, ByteArray> {
        val ours = screen.activity.assets.open("bilstm.tflite").use { it.readBytes() }
        return mapOf(
            "empty.tflite" to ByteArray(0),
            "holiday.jpg" to byteArrayOf(-1, -40, -1, -32) + ByteArray(5000),
            "cut.tflite" to ours.copyOf(ours.size / 2),
            "changed.tflite" to ours.copyOf().also { it[ours.size / 3] = (it[ours.size / 3] + 1).toByte() },
        )
    }

    private fun View.measureAgain() {
        measure(
            View.MeasureSpec.makeMeasureSpec(width, View.MeasureSpec.EXACTLY),
            View.MeasureSpec.makeMeasureSpec(height, View.MeasureSpec.EXACTLY),
        )
        layout(left, top, right, bottom)
    }
}
