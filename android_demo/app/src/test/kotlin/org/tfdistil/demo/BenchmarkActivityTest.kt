package org.tfdistil.demo

import android.content.Intent
import android.view.WindowManager
import android.widget.LinearLayout
import android.widget.TextView
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Before
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.Robolectric
import org.robolectric.RobolectricTestRunner
import org.robolectric.RuntimeEnvironment
import org.robolectric.annotation.Config
import java.io.File

@RunWith(RobolectricTestRunner::class)
@Config(qualifiers = "w360dp-h720dp-port-hdpi")
class BenchmarkActivityTest {
    private val context = RuntimeEnvironment.getApplication()
    private val folder = File(context.filesDir, "benchmark")

    @Before
    fun models() {
        Phone.start()
        folder.mkdirs()
        for (name in ModelStore(context).bundled()) {
            context.assets.open("$name").use { input -> File(folder, name).outputStream().use(input::copyTo) }
        }
    }

    @Test
    fun `an intent as adb sends it is answered with a file`() {
        val result = run(intent("bilstm.tflite,pqrnn.tflite"))
        val models = result.getJSONArray("models")
        assertEquals(listOf("bilstm", "pqrnn"), List(2) { models.getJSONObject(it).getString("name") })
        val first = models.getJSONObject(0)
        assertEquals(File(folder, "bilstm.tflite").length(), first.getLong("bytes"))
        assertTrue(first.getLong("parameters") in 100_000..first.getLong("bytes"))
        assertTrue(first.getLong("resident_bytes") in 0..1_000_000_000)
        val online = first.getJSONObject("online_ms")
        assertEquals(1, online.getInt("batch"))
        assertEquals(32, online.getInt("length"))
        assertEquals(6, online.getInt("calls"))
        assertTrue(online.getDouble("p50") in 0.0..online.getDouble("p99"))
        assertEquals(32, first.getJSONObject("batch_ms").getInt("batch"))
        assertTrue(first.getJSONObject("text_ms").getDouble("p50") > online.getDouble("lowest_block") / 10)
        val ratio = result.getJSONObject("ratios").getJSONObject("pqrnn").getJSONObject("online")
        assertTrue(ratio.getDouble("low") <= ratio.getDouble("high"))
        assertEquals(2, result.getJSONObject("protocol").getInt("batches"))
        assertTrue(result.getJSONObject("environment").getString("tensorflow-lite").startsWith("2."))
        // tests/benchmarks reads it in Python.
        File("target/benchmark.json").writeText(result.toString(2))
    }

    @Test
    fun `what cannot be timed is said in the file`() {
        File(folder, "broken.tflite").writeBytes(ByteArray(100))
        assertTrue(error("absent.tflite").contains("absent.tflite is not in files/benchmark"))
        assertTrue(error("broken.tflite").contains("TensorFlow Lite does not load it"))
        assertTrue(error("../secret.tflite").contains("give names of files in files/benchmark"))
        assertTrue(run(intent("bilstm.tflite").putExtra("threads", 0)).getString("error").contains("give 1 to 256"))
        for (number in listOf("queries", "batches", "rounds", "warmup")) {
            val said = run(intent("bilstm.tflite").putExtra(number, Int.MAX_VALUE)).getString("error")
            assertTrue(said, said.startsWith("$number is 2147483647; give"))
        }
        assertTrue(error("..").contains("is not in files/benchmark"))
    }

    @Test
    fun `an id that is no name of a file is said where the app's own result would be`() {
        for (id in listOf("../secret", "x".repeat(300), "")) {
            val said = run(intent("bilstm.tflite").putExtra("id", id), File(folder, "app.json")).getString("error")
            assertTrue(said, said.startsWith("id is '"))
        }
    }

    @Test
    fun `the button times the models of the app, with the screen on`() {
        val few = Intent().putExtra("queries", 4).putExtra("rounds", 2).putExtra("warmup", 1)
        Robolectric.buildActivity(BenchmarkActivity::class.java, few).use { controller ->
            val activity = controller.setup().get()
            assertTrue(activity.window.attributes.flags and WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON != 0)
            val start = activity.findViewById<TextView>(R.id.start)
            assertTrue(start.isEnabled)
            start.performClick()
            assertFalse(start.isEnabled)
            Phone.until("the end") { start.isEnabled }
            assertEquals(ModelStore(context).bundled().size, activity.findViewById<LinearLayout>(R.id.results).childCount)
            assertTrue(File(folder, "app.json").isFile)
            photograph(activity.window.decorView, "phone-benchmark")
        }
    }

    private fun error(models: String) = run(intent(models)).getString("error")

    private fun intent(models: String) =
        Intent()
            .putExtra("models", models)
            .putExtra("id", "token-1")
            .putExtra("queries", 6)
            .putExtra("batches", 2)
            .putExtra("rounds", 2)
            .putExtra("warmup", 1)

    private fun run(
        intent: Intent,
        file: File = File(folder, "token-1.json"),
    ): JSONObject {
        file.delete()
        Robolectric.buildActivity(BenchmarkActivity::class.java, intent).use { controller ->
            controller.setup()
            Phone.until("the result") { file.isFile }
        }
        assertFalse(File(file.path + ".part").exists())
        return JSONObject(file.readText())
    }
}
