package org.tfdistil.demo

import android.app.Activity
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.Canvas
import android.net.Uri
import android.os.Bundle
import android.os.Parcel
import android.text.style.BackgroundColorSpan
import android.view.View
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView
import org.junit.Assert.assertEquals
import org.robolectric.Robolectric
import org.robolectric.Shadows.shadowOf
import org.robolectric.android.controller.ActivityController
import org.robolectric.shadows.ShadowAlertDialog
import java.io.File

/**
 * The main screen as its user sees it.
 *
 * @param saved what [endProcess] left of an earlier one.
 */
internal class Screen(
    saved: Bundle? = null,
) : AutoCloseable {
    val controller: ActivityController<MainActivity>

    init {
        Phone.start()
        val activity = Robolectric.buildActivity(MainActivity::class.java)
        controller = if (saved == null) activity.setup() else activity.setup(saved)
        Phone.until("a model") { text(R.id.model_facts).isNotEmpty() }
        // Somebody's own model may come before those of models.yaml.
        if (saved == null && text(R.id.model_name) != BILSTM) pick(BILSTM)
    }

    val activity: MainActivity get() = controller.get()
    val input: EditText get() = activity.findViewById(R.id.input)

    /** The lines below the label: what kind of span, and its texts with scores. */
    val rows: List<Pair<String, String>>
        get() {
            val rows = activity.findViewById<LinearLayout>(R.id.spans)
            return List(rows.childCount) {
                val row = rows.getChildAt(it)
                row.findViewById<TextView>(R.id.row_label).text.toString() to
                    row.findViewById<TextView>(R.id.row_texts).text.toString()
            }
        }

    /** The coloured parts of the text field. */
    val coloured: List<String>
        get() {
            val text = input.text
            val spans = text.getSpans(0, text.length, BackgroundColorSpan::class.java)
            return spans.map { text.substring(text.getSpanStart(it), text.getSpanEnd(it)) }
        }

    fun view(id: Int): View = activity.findViewById(id)

    fun text(id: Int): String = activity.findViewById<TextView>(id).text.toString()

    fun shown(id: Int) = view(id).visibility == View.VISIBLE

    /** Puts a text into the field at once, and waits for the answer to it. */
    fun enter(text: String) {
        val before = text(R.id.latest)
        val empty = activity.getString(R.string.answer_empty)
        input.setText(text)
        input.setSelection(text.length)
        Phone.until("an answer to '${text.take(40)}'") {
            if (text.isEmpty()) text(R.id.label) == empty else text(R.id.latest) != before || full
        }
    }

    /** Chooses a model of the app, and waits until it is open. */
    fun pick(name: String) {
        view(R.id.change_model).performClick()
        shadowOf(ShadowAlertDialog.getLatestAlertDialog()).clickOnItem(ModelStore(activity).bundled().indexOf(name))
        Phone.until(name) { text(R.id.model_name) == name }
    }

    /** Asks for a file from storage, and gives [uri] as the chooser of the phone would. */
    fun choose(uri: Uri) = answerChooser(askForFile(), uri)

    /** The intent by which a file from storage is asked for. */
    fun askForFile(): Intent {
        view(R.id.change_model).performClick()
        val choices = ModelStore(activity).bundled().size
        shadowOf(ShadowAlertDialog.getLatestAlertDialog()).clickOnItem(choices)
        val asked = shadowOf(activity).nextStartedActivityForResult.intent
        assertEquals(Intent.ACTION_OPEN_DOCUMENT, asked.action)
        return asked
    }

    fun answerChooser(
        asked: Intent,
        uri: Uri,
    ) = shadowOf(activity).receiveResult(asked, Activity.RESULT_OK, Intent().setData(uri))

    /** Ends as the phone ends an app it needs the memory of: what is left are bytes, of which the next process makes objects. */
    fun endProcess(): Bundle {
        val state = Bundle()
        controller.pause().stop().saveInstanceState(state).destroy()
        val parcel = Parcel.obtain()
        parcel.writeBundle(state)
        val bytes = parcel.marshall()
        val read = Parcel.obtain()
        read.unmarshall(bytes, 0, bytes.size)
        read.setDataPosition(0)
        return checkNotNull(read.readBundle(Screen::class.java.classLoader))
    }

    /** Writes what is on the screen to `target/screenshots`. */
    fun photograph(name: String): Bitmap = photograph(activity.window.decorView, name)

    override fun close() {
        controller.pause().stop().destroy()
    }

    private val full get() = text(R.id.latest).contains("100")

    companion object {
        // The models of models.yaml.
        const val BILSTM = "bilstm.tflite"
        const val PQRNN = "pqrnn.tflite"
    }
}

/** Draws a view into `target/screenshots`. */
internal fun photograph(
    view: View,
    name: String,
): Bitmap {
    val bitmap = Bitmap.createBitmap(view.width, view.height, Bitmap.Config.ARGB_8888)
    view.draw(Canvas(bitmap))
    val file = File("target/screenshots/$name.png").apply { parentFile.mkdirs() }
    file.outputStream().use { bitmap.compress(Bitmap.CompressFormat.PNG, 100, it) }
    return bitmap
}
