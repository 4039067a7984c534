package org.tfdistil.demo

import android.net.Uri
import android.os.Handler
import android.os.Looper
import org.tfdistil.nlp.Answer
import org.tfdistil.nlp.ModelFileException
import java.io.Closeable
import java.io.IOException
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicInteger

/**
 * What outlives a turn of the phone: the open model, its thread, and what it answered last.
 *
 * All calls come from the main thread. Models are opened and asked on a thread of their own, one thing
 * after the other. Of several questions the last one wins: those that are overtaken are neither
 * computed, if they have not begun, nor shown.
 */
internal class Session(
    private val models: ModelStore,
) : Closeable {
    private val main = Handler(Looper.getMainLooper())
    private val worker = Executors.newSingleThreadExecutor { Thread(it, "model") }
    private val latest = AtomicInteger()
    private val typed = Runnable { submit(state.question, latest.get()) }
    private var model: Model? = null // of the worker alone
    private var latencies = Latencies() // of the worker alone
    private var opening: String? = null

    var state = State()
        private set(value) {
            field = value
            observer?.invoke(value)
        }

    /** Told of the state now and whenever it changes. */
    var observer: ((State) -> Unit)? = null
        set(value) {
            field = value
            value?.invoke(state)
        }

    /** The model that a later session should open: the one that answers, or is going to. */
    val modelName get() = state.model?.name ?: opening

    /** Opens a model of the app, or the one chosen before. */
    fun open(name: String) {
        opening = name
        load({ name }) { models.open(name) }
    }

    /** Opens a file from storage. If it cannot be used, all stays as it is, and a notice says why. */
    fun import(uri: Uri) = load({ models.nameOf(uri) }) { models.import(uri) }

    /** Answers soon, unless another question comes before. */
    fun ask(question: Question) {
        latest.incrementAndGet()
        state = state.copy(question = question)
        main.removeCallbacks(typed)
        main.postDelayed(typed, PAUSE_MS)
    }

    fun tell(notice: Notice?) {
        state = state.copy(notice = notice)
    }

    override fun close() {
        observer = null
        main.removeCallbacksAndMessages(null)
        worker.execute { model?.close() }
        worker.shutdown()
    }

    private fun load(
        name: () -> String,
        opening: () -> Model,
    ) = worker.execute {
        val reason = attempt { use(opening()) } ?: return@execute
        // The model that was open before the phone ended the app may be gone.
        if (model == null) models.bundled().firstOrNull()?.let { first -> attempt { use(models.open(first)) } }
        val notice = Notice(R.string.model_refused, listOf(name(), reason))
        post { tell(notice) }
    }

    private fun use(opened: Model) {
        model?.close()
        model = opened
        latencies = Latencies()
        val facts = ModelFacts.of(opened)
        post {
            state = State(facts, state.question)
            ask(state.question)
        }
    }

    private fun submit(
        question: Question,
        number: Int,
    ) = worker.execute {
        val asked = model
        if (asked == null || number != latest.get()) return@execute
        if (question.empty) {
            show(number) { it.copy(answer = null) }
            return@execute
        }
        var answer: Answer? = null
        var speed: Speed? = null
        val reason =
            attempt {
                val start = System.nanoTime()
                answer = asked.answer(question)
                speed = latencies.add((System.nanoTime() - start) / 1e6)
            }
        val notice = reason?.let { Notice(R.string.answer_failed, listOf(it)) }
        show(number) { it.copy(answer = answer, speed = speed ?: it.speed, notice = notice ?: it.notice) }
    }

    private fun show(
        number: Int,
        change: (State) -> State,
    ) = post {
        if (number == latest.get()) state = change(state)
    }

    /** To the main thread; dropped if the session is closed by then: nothing can be asked any more. */
    private fun post(action: () -> Unit) {
        main.post { if (!worker.isShutdown) action() }
    }

    /** Null if all went well, or else the reason in words. A hostile file must not end the app. */
    private fun attempt(action: () -> Unit): String? =
        try {
            action()
            null
        } catch (error: ModelFileException) {
            error.message
        } catch (error: IOException) {
            error.toString()
        } catch (error: RuntimeException) {
            error.toString()
        } catch (error: OutOfMemoryError) {
            error.toString()
        }

    private companion object {
        const val PAUSE_MS = 60L
    }
}
