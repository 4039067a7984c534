package org.tfdistil.demo

import android.os.Bundle
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.Robolectric
import org.robolectric.RobolectricTestRunner
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows.shadowOf
import java.io.File

/** What becomes of text and model when a file, the permission to read it, or the process of the app goes away. */
@RunWith(RobolectricTestRunner::class)
class LostModelTest {
    private val context = RuntimeEnvironment.getApplication()
    private val file =
        File(context.cacheDir, "chosen one.tflite").also { file ->
            context.assets.open("pqrnn.tflite").use { input -> file.outputStream().use(input::copyTo) }
        }
    private val storage = Storage.with(file)

    @Test
    fun `a file that was deleted since it was listed is refused in words`() {
        file.delete()
        refused("7 was not opened: it is not there any more. Choose another file")
    }

    @Test
    fun `a file that may not be read any more is refused in words`() {
        storage.withdrawn = true
        refused("7 was not opened: this app may not read it any more. Choose the file again")
    }

    @Test
    fun `a file that is no model is refused by the name it is shown with`() {
        file.writeText("no model")
        refused("chosen one.tflite was not opened: the file has no assets at its end")
    }

    @Test
    fun `a chosen model outlives the permission, its file and the process`() {
        val screen = Screen().also { chosen(it) }
        storage.withdrawn = true
        file.delete()
        screen.enter(TEXT)
        val answer = shown(screen)
        Screen(screen.endProcess()).use { again ->
            Phone.until("the answer again") { again.rows.isNotEmpty() }
            assertEquals(answer, shown(again))
            assertEquals(TEXT, again.input.text.toString())
            assertFalse(again.shown(R.id.notice))
        }
    }

    @Test
    fun `a phone that is turned while the process is away shows the same`() {
        val screen = Screen().also { chosen(it) }
        screen.enter(TEXT)
        screen.input.setSelection(3, 7)
        val answer = shown(screen)
        val state = screen.endProcess()
        RuntimeEnvironment.setQualifiers("+w720dp-h360dp-land")
        Screen(state).use { again ->
            Phone.until("the answer again") { again.rows.isNotEmpty() }
            assertEquals(answer, shown(again))
            assertEquals(TEXT, again.input.text.toString())
            assertEquals(3 to 7, again.input.selectionStart to again.input.selectionEnd)
        }
    }

    @Test
    fun `a process that ends again before its model is open loses nothing`() {
        val screen = Screen().also { chosen(it) }
        screen.enter(TEXT)
        val first = screen.endProcess()
        val short = Robolectric.buildActivity(MainActivity::class.java).setup(first)
        val second = Bundle()
        short.saveInstanceState(second).pause().stop().destroy()
        Screen(second).use { again ->
            assertEquals("chosen one.tflite", again.text(R.id.model_name))
            assertEquals(TEXT, again.input.text.toString())
        }
    }

    @Test
    fun `a file that is chosen while the process is away is opened by the next one`() {
        val screen = Screen()
        val asked = screen.askForFile()
        val state = screen.endProcess()
        Screen(state).use { again ->
            // The phone remembers for the activity what it has asked for.
            again.activity.startActivityForResult(asked, 1)
            shadowOf(again.activity).nextStartedActivityForResult
            again.answerChooser(asked, Storage.URI)
            Phone.until("the chosen model") { again.text(R.id.model_name) == "chosen one.tflite" }
        }
    }

    @Test
    fun `without the copy a model of the app answers, and it is said why`() {
        val screen = Screen().also { chosen(it) }
        screen.enter(TEXT)
        val state = screen.endProcess()
        assertTrue(File(context.filesDir, "chosen").deleteRecursively())
        Screen(state).use { again ->
            Phone.until("an answer") { again.rows.isNotEmpty() }
            assertEquals(ModelStore(context).bundled().first(), again.text(R.id.model_name))
            assertEquals(TEXT, again.input.text.toString())
            assertTrue(again.shown(R.id.notice))
            assertEquals("chosen one.tflite was not opened: the app has no copy of it any more. Choose the file again", again.text(R.id.notice_text))
        }
    }

    private fun chosen(screen: Screen) {
        screen.choose(Storage.URI)
        Phone.until("the chosen model") { screen.text(R.id.model_name) == "chosen one.tflite" }
    }

    private fun refused(expected: String) =
        Screen().use { screen ->
            screen.enter(TEXT)
            val before = shown(screen)
            screen.choose(Storage.URI)
            Phone.until("a notice") { screen.shown(R.id.notice) }
            assertTrue(screen.text(R.id.notice_text), screen.text(R.id.notice_text).startsWith(expected))
            assertEquals(before, shown(screen))
        }

    private fun shown(screen: Screen) = listOf(R.id.model_name, R.id.label, R.id.label_score).map(screen::text) to screen.rows

    private companion object {
        const val TEXT = "set an alarm for seven tomorrow morning"
    }
}
