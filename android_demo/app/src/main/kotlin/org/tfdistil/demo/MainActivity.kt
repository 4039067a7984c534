package org.tfdistil.demo

import android.app.Activity
import android.app.AlertDialog
import android.content.ActivityNotFoundException
import android.content.ClipboardManager
import android.content.Intent
import android.content.res.Configuration
import android.os.Bundle
import android.text.Editable
import android.text.TextWatcher
import android.text.format.Formatter
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.widget.EditText
import android.widget.TextView

/** The screen: a text, and what the model says of it while it is typed. */
class MainActivity : Activity() {
    private lateinit var models: ModelStore
    private lateinit var session: Session
    private lateinit var answers: AnswerView
    private lateinit var input: EditText
    private lateinit var secondInput: EditText

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContentView(R.layout.main)
        setActionBar(findViewById(R.id.toolbar))
        answers = AnswerView(findViewById(android.R.id.content))
        models = ModelStore(applicationContext)
        input = findViewById<EditText>(R.id.input).also { it.addTextChangedListener(asking) }
        secondInput = findViewById<EditText>(R.id.second_input).also { it.addTextChangedListener(asking) }
        onClick(R.id.samples) { chooseSample() }
        onClick(R.id.paste) { paste() }
        onClick(R.id.clear) { clear() }
        onClick(R.id.change_model) { chooseModel() }
        onClick(R.id.dismiss) { session.tell(null) }

        session = lastNonConfigurationInstance as Session? ?: newSession(savedInstanceState)
        session.observer = ::show
    }

    override fun onRetainNonConfigurationInstance(): Any = session.also { it.observer = null }

    override fun onSaveInstanceState(outState: Bundle) {
        super.onSaveInstanceState(outState)
        outState.putString(MODEL, session.modelName)
    }

    override fun onDestroy() {
        if (!isChangingConfigurations) session.close()
        super.onDestroy()
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        menuInflater.inflate(R.menu.main, menu)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        if (item.itemId != R.id.run_benchmark) return super.onOptionsItemSelected(item)
        startActivity(Intent(this, BenchmarkActivity::class.java))
        return true
    }

    override fun onActivityResult(
        requestCode: Int,
        resultCode: Int,
        data: Intent?,
    ) {
        val uri = data?.data
        if (requestCode == CHOOSE_FILE && resultCode == RESULT_OK && uri != null) session.import(uri)
    }

    private fun newSession(savedInstanceState: Bundle?): Session {
        val session = Session(models)
        val name = savedInstanceState?.getString(MODEL) ?: models.bundled().firstOrNull()
        if (name != null) session.open(name)
        return session
    }

    private fun show(state: State) {
        val night = resources.configuration.uiMode and Configuration.UI_MODE_NIGHT_MASK == Configuration.UI_MODE_NIGHT_YES
        val colors = LabelColors(state.model?.spanLabels.orEmpty(), night)
        answers.highlight(input.text, state.answer, colors)
        answers.show(state.answer, colors)
        showSpeed(state.speed)
        showModel(state.model)
        find(R.id.notice).visibility = if (state.notice == null) View.GONE else View.VISIBLE
        text(R.id.notice_text).text = state.notice?.let { getString(it.text, *it.arguments.toTypedArray()) }
    }

    private fun showSpeed(speed: Speed?) {
        val none = getString(R.string.no_time)
        text(R.id.latency).text = speed?.let { milliseconds(it.latest) } ?: none
        text(R.id.median).text = speed?.let { milliseconds(it.p50) } ?: none
        text(R.id.ninetieth).text = speed?.let { milliseconds(it.p90) } ?: none
        text(R.id.latest).text = speed?.let { resources.getQuantityString(R.plurals.of_latest, it.count, it.count) }
    }

    private fun showModel(model: ModelFacts?) {
        text(R.id.model_name).text = model?.name ?: getString(R.string.model_none)
        text(R.id.model_facts).text =
            model?.let {
                getString(R.string.model_facts, Formatter.formatShortFileSize(this, it.bytes), getString(task(it.kind)))
            }
        find(R.id.second).visibility = if (model?.pairs == true) View.VISIBLE else View.GONE
    }

    private fun task(kind: String) =
        when (kind) {
            "tags" -> R.string.task_tags
            "classes" -> R.string.task_classes
            "pair" -> R.string.task_pair
            else -> R.string.task_intent_slots
        }

    private fun milliseconds(time: Double) = getString(R.string.milliseconds, significant(time))

    private fun chooseSample() {
        val samples = resources.getStringArray(R.array.samples)
        AlertDialog
            .Builder(this)
            .setTitle(R.string.samples)
            .setItems(samples) { _, which -> replace(samples[which]) }
            .show()
    }

    private fun paste() {
        val clip = getSystemService(ClipboardManager::class.java).primaryClip
        val text = if (clip != null && clip.itemCount > 0) clip.getItemAt(0).coerceToText(this) else null
        if (text.isNullOrEmpty()) return session.tell(Notice(R.string.nothing_to_paste))
        replace(text.toString())
        if (input.length() < text.length) session.tell(Notice(R.string.pasted_in_part, listOf(input.length().toString())))
    }

    private fun clear() {
        input.text.clear()
        secondInput.text.clear()
    }

    private fun replace(text: String) {
        input.setText(text)
        input.setSelection(input.length()) // of a long text only a part is there
    }

    private fun chooseModel() {
        val bundled = models.bundled()
        val choices = bundled + getString(R.string.from_storage)
        AlertDialog
            .Builder(this)
            .setTitle(R.string.change_model)
            .setItems(choices.toTypedArray()) { _, which ->
                if (which < bundled.size) session.open(bundled[which]) else chooseFile()
            }.show()
    }

    private fun chooseFile() {
        val intent = Intent(Intent.ACTION_OPEN_DOCUMENT).addCategory(Intent.CATEGORY_OPENABLE).setType("*/*")
        try {
            startActivityForResult(intent, CHOOSE_FILE)
        } catch (_: ActivityNotFoundException) {
            session.tell(Notice(R.string.no_chooser))
        }
    }

    private fun onClick(
        id: Int,
        action: () -> Unit,
    ) = find(id).setOnClickListener { action() }

    private fun find(id: Int): View = findViewById(id)

    private fun text(id: Int): TextView = findViewById(id)

    private val asking =
        object : TextWatcher {
            override fun beforeTextChanged(
                text: CharSequence,
                start: Int,
                count: Int,
                after: Int,
            ) = Unit

            override fun onTextChanged(
                text: CharSequence,
                start: Int,
                before: Int,
                count: Int,
            ) = Unit

            override fun afterTextChanged(text: Editable) =
                session.ask(Question(input.text.toString(), secondInput.text.toString()))
        }

    private companion object {
        const val CHOOSE_FILE = 1
        const val MODEL = "model"
    }
}
