package org.tfdistil.demo

import org.tfdistil.nlp.Answer

/**
 * What the screen shows.
 *
 * @property model the model that answers; null until the first one is open.
 * @property question what [answer] is the answer to.
 * @property answer null if there is nothing to answer.
 * @property speed null before the first answer of [model].
 * @property notice what went wrong; null if nothing did.
 */
internal data class State(
    val model: ModelFacts? = null,
    val question: Question = Question("", ""),
    val answer: Answer? = null,
    val speed: Speed? = null,
    val notice: Notice? = null,
)

/**
 * What is known of an open model.
 *
 * @property kind of its task.
 * @property spanLabels the labels that its spans may have.
 */
internal data class ModelFacts(
    val name: String,
    val bytes: Long,
    val kind: String,
    val spanLabels: List<String>,
) {
    val pairs get() = kind == "pair"

    companion object {
        fun of(model: Model): ModelFacts {
            val words = model.file.task.outputs.filter { it.words }.flatMap { it.labels }
            val types = words.filter { '-' in it }.map { it.substringAfter('-') }.distinct()
            return ModelFacts(model.name, model.file.size, model.file.task.kind, types)
        }
    }
}

/** Something to tell, in words that the resources have. */
internal data class Notice(
    val text: Int,
    val arguments: List<String> = emptyList(),
)
