package org.tfdistil.nlp

/**
 * What a model is for.
 *
 * @property kind `tags`, `intent_slots`, `classes` or `pair`.
 * @property outputs what the model scores, in order.
 */
public class Task internal constructor(
    public val kind: String,
    public val outputs: List<Output>,
) {
    /** Whether the model wants pairs of texts. */
    public val pairs: Boolean get() = kind == "pair"

    internal companion object {
        private const val MOST_LABELS = 10_000

        /** @throws ModelFileException a kind that is unknown, or labels that do not fit it. */
        fun read(
            task: Fields,
            heads: Fields?,
        ): Task {
            val kind = task.text("kind")
            val outputs =
                when (kind) {
                    "tags" -> listOf(wordOutput("tags", "tags", task, heads))
                    "intent_slots" ->
                        listOf(wordOutput("slots", "slots", task, heads), textOutput("intent", "intents", task, heads))
                    "classes", "pair" -> listOf(textOutput("class", "labels", task, heads))
                    else -> throw ModelFileException("the task ${Fields.shown(kind)} is unknown to this version. Update the app")
                }
            val unknown = heads?.names?.minus(outputs.map { it.name }.toSet()).orEmpty()
            if (unknown.isNotEmpty()) heads?.fail("has a head of ${Fields.shown(unknown.first())}, no output of the task")
            return Task(kind, outputs)
        }

        private fun wordOutput(
            name: String,
            key: String,
            task: Fields,
            heads: Fields?,
        ): Output {
            val tags = labels(key, task)
            WordLabels.complaint(tags)?.let { task.fail("$it, in '$key'") }
            val labels = if (task.flag("continuation")) tags + WordLabels.CONTINUATION else tags
            val words = WordLabels(labels)
            return Output(name, labels, WordHead(words, decoder(name, words, heads)))
        }

        private fun textOutput(
            name: String,
            key: String,
            task: Fields,
            heads: Fields?,
        ): Output {
            val labels = labels(key, task)
            val head = heads?.takeIf { name in it }?.fields(name)
            if (head != null && head.text("kind") != "linear") {
                head.fail("is of the kind ${Fields.shown(head.text("kind"))}; a text has linear ones. Update the app")
            }
            return Output(name, labels, null)
        }

        private fun labels(
            key: String,
            task: Fields,
        ): List<String> {
            val labels = task.texts(key)
            if (labels.size !in 1..MOST_LABELS) task.fail("has ${labels.size} '$key'; expected 1 to $MOST_LABELS")
            if (labels.toSet().size < labels.size) task.fail("has a label twice in '$key'")
            return labels
        }

        private fun decoder(
            name: String,
            labels: WordLabels,
            heads: Fields?,
        ): Decoder {
            val head = heads?.takeIf { name in it }?.fields(name) ?: return LinearDecoder(labels)
            return when (val kind = head.text("kind")) {
                "linear" -> LinearDecoder(labels)
                "crf" -> CrfDecoder(labels, potentials(head.fields("constants"), labels.size))
                else -> head.fail("is of the kind ${Fields.shown(kind)}; this version knows linear and crf. Update the app")
            }
        }

        private fun potentials(
            constants: Fields,
            labels: Int,
        ): DoubleArray {
            val rows = constants.list("potentials")
            val numbers = rows.flatMap { it as? List<*> ?: constants.fail("has a row of potentials that is no list") }
            if (rows.size != labels + 2 || rows.any { (it as List<*>).size != labels } || numbers.any { it !is Number }) {
                constants.fail("has no potentials of ${labels + 2} rows of $labels numbers")
            }
            return DoubleArray(numbers.size) { (numbers[it] as Number).toDouble() }
        }
    }
}

/**
 * One set of labels.
 *
 * @property name `tags`, `slots`, `intent` or `class`.
 * @property labels in the order of the scores.
 */
public class Output internal constructor(
    public val name: String,
    public val labels: List<String>,
    internal val head: WordHead?,
) {
    /** Whether each word has a label of its own, not the whole text. */
    public val words: Boolean get() = head != null
}

/** How the scores of words become tags. */
internal class WordHead(
    val labels: WordLabels,
    val decoder: Decoder,
)
