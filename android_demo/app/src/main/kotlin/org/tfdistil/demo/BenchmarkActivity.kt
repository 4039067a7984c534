package org.tfdistil.demo

import android.app.Activity
import android.content.Intent
import android.os.Bundle
import android.view.View
import android.view.WindowManager
import android.widget.LinearLayout
import android.widget.ProgressBar
import android.widget.TextView
import org.json.JSONObject
import org.tfdistil.demo.benchmark.Measurement
import org.tfdistil.demo.benchmark.Part
import org.tfdistil.demo.benchmark.Timing
import org.tfdistil.demo.benchmark.environment
import org.tfdistil.demo.benchmark.failure
import org.tfdistil.demo.benchmark.measure
import org.tfdistil.demo.benchmark.report
import org.tfdistil.nlp.ModelFileException
import java.io.File
import java.io.FileNotFoundException
import java.io.IOException
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors

/**
 * Times models, and writes what `tfdistil-benchmark --device android` reads.
 *
 * An intent with the extra `id` starts at once; without, a button does. See [BenchmarkRequest].
 */
class BenchmarkActivity : Activity() {
    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContentView(R.layout.benchmark)
        setActionBar(findViewById(R.id.toolbar))
        actionBar?.setDisplayHomeAsUpEnabled(true)
        window.addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON)
        findViewById<View>(R.id.start).setOnClickListener { start(intent) }
        if (savedInstanceState == null && intent.hasExtra("id")) start(intent)
    }

    private fun start(intent: Intent) {
        findViewById<View>(R.id.start).isEnabled = false
        findViewById<LinearLayout>(R.id.results).removeAllViews()
        status(getString(R.string.benchmark_opening))
        WORKER.execute { run(intent) }
    }

    private fun run(intent: Intent) {
        val folder = File(filesDir, "benchmark").apply { mkdirs() }
        var measured = emptyList<Measurement>()
        val result =
            try {
                val request = BenchmarkRequest.of(intent)
                measured = measure(files(request, folder), request.protocol, resources.getStringArray(R.array.samples).asList(), ::progress)
                report(measured, request.protocol, environment())
            } catch (error: ModelFileException) {
                failure(error.message.orEmpty())
            } catch (error: IOException) {
                failure(error.message ?: error.toString())
            } catch (error: RuntimeException) {
                failure(error.message ?: error.toString())
            }
        val file = File(folder, "${BenchmarkRequest.idOf(intent) ?: BenchmarkRequest.DEFAULT_ID}.json")
        write(result, file)
        runOnUiThread { show(result, measured, file) }
    }

    private fun files(
        request: BenchmarkRequest,
        folder: File,
    ) = if (request.models.isEmpty()) {
        val models = ModelStore(this)
        models.bundled().associateWith(models::map)
    } else {
        request.models.associateWith { name ->
            val file = File(folder, name)
            if (!file.isFile) throw FileNotFoundException("$name is not in files/benchmark; copy it there first")
            ModelStore.map(file)
        }
    }

    /** Under another name first, so that whoever waits for the file never reads half of it. */
    private fun write(
        result: JSONObject,
        file: File,
    ) {
        val unfinished = File(file.path + ".part")
        unfinished.writeText(result.toString(2))
        unfinished.renameTo(file)
    }

    private fun progress(
        part: Part,
        model: String,
        turn: Int,
        turns: Int,
    ) = runOnUiThread {
        val what =
            when (part) {
                Part.ONLINE -> R.string.benchmark_online
                Part.BATCH -> R.string.benchmark_batch
                Part.TEXT -> R.string.benchmark_text
            }
        status(getString(R.string.benchmark_round, model, getString(what), turn + 1, turns))
        findViewById<ProgressBar>(R.id.progress).apply {
            max = turns * Part.entries.size
            progress = turns * part.ordinal + turn
        }
    }

    private fun show(
        result: JSONObject,
        measured: List<Measurement>,
        file: File,
    ) {
        val error = if (result.has("error")) result.getString("error") else null
        status(if (error == null) getString(R.string.benchmark_done, file.toRelativeString(dataDir)) else getString(R.string.benchmark_failed, error))
        findViewById<ProgressBar>(R.id.progress).apply { progress = if (error == null) max else 0 }
        findViewById<View>(R.id.start).isEnabled = true
        measured.forEach(::showResult)
    }

    private fun showResult(model: Measurement) {
        val results = findViewById<LinearLayout>(R.id.results)
        val card = layoutInflater.inflate(R.layout.benchmark_result, results, false)
        card.findViewById<TextView>(R.id.result_name).text = model.file
        card.findViewById<TextView>(R.id.result_figures).text =
            listOfNotNull(
                line(R.string.benchmark_online, model.online),
                model.batch?.let { line(R.string.benchmark_batch, it) },
                model.text?.let { line(R.string.benchmark_text, it) },
            ).joinToString("\n")
        results.addView(card)
    }

    private fun line(
        what: Int,
        timing: Timing,
    ) = getString(R.string.benchmark_line, getString(what), significant(timing.quantile(0.5)), significant(timing.quantile(0.9)))

    private fun status(text: String) {
        findViewById<TextView>(R.id.status).text = text
    }

    private companion object {
        /** One for the process: two runs at once would time each other. */
        val WORKER: ExecutorService = Executors.newSingleThreadExecutor { Thread(it, "benchmark") }
    }
}
