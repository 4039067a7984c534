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
}

/**
 * One set of labels.
 *
 * @property name `tags`, `slots`, `intent` or `class`.
 * @property words whether each word has a label of its own, not the whole text.
 * @property labels in the order of the scores.
 */
public class Output internal constructor(
    public val name: String,
    public val words: Boolean,
    public val labels: List<String>,
)
