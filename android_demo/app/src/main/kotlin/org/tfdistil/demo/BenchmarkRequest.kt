package org.tfdistil.demo

import android.content.Intent
import org.tfdistil.demo.benchmark.Protocol

/**
 * What an intent asks [BenchmarkActivity] for.
 *
 * @property models names of files in the app's folder `files/benchmark`; none: the models in the app.
 * @property id the result is written as `ID.json` beside them.
 */
internal data class BenchmarkRequest(
    val id: String,
    val models: List<String>,
    val protocol: Protocol,
) {
    companion object {
        const val DEFAULT_ID = "app"
        private val NAME = Regex("[A-Za-z0-9._-]{1,100}")

        /** The id of an intent; null if it is no name for a file, or not given. */
        fun idOf(intent: Intent): String? = intent.getStringExtra("id")?.takeIf { NAME.matches(it) }

        /**
         * Reads the extras `id`, `models`, `threads`, `warmup`, `queries`, `batches` and `rounds`.
         *
         * @throws IllegalArgumentException one that is out of its range, or names another folder.
         */
        fun of(intent: Intent): BenchmarkRequest {
            val models =
                intent
                    .getStringExtra("models")
                    .orEmpty()
                    .split(',')
                    .filter { it.isNotEmpty() }
            val id = intent.getStringExtra("id")
            require(id == null || NAME.matches(id)) { "id is '${id?.take(100)}'; give up to 100 letters, digits, '.', '_' and '-'" }
            for (name in models) require(NAME.matches(name)) { "models has '${name.take(100)}'; give names of files in files/benchmark" }
            val usual = Protocol()
            val queries = intent.getIntExtra("queries", usual.queries)
            val protocol =
                Protocol(
                    queries = queries,
                    batches = intent.getIntExtra("batches", maxOf(1, queries / 10)),
                    rounds = intent.getIntExtra("rounds", usual.rounds),
                    warmUp = intent.getIntExtra("warmup", usual.warmUp),
                    threads = intent.getIntExtra("threads", usual.threads),
                )
            return BenchmarkRequest(id ?: DEFAULT_ID, models, protocol)
        }
    }
}
