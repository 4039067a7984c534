package org.tfdistil.nlp

/**
 * Text to labels: the same answers as `tfdistil.Runtime` of Python gives. Of one thread at a time.
 *
 * @param model what the file says of itself.
 * @param graph an interpreter that holds `model.graph`.
 * @throws ModelFileException a file whose parts do not fit each other.
 */
public class Pipeline(
    model: ModelFile,
    graph: Graph,
) {
    private val parts = model to graph

    /**
     * Answers for one text.
     *
     * @throws ModelFileException the graph fails on it, or gives logits that are no finite numbers.
     * @throws IllegalArgumentException the model wants pairs of texts.
     */
    public fun answer(text: String): Answer = throw ModelFileException("not written yet: $text $parts")

    /**
     * Answers for a pair of texts; words and spans are those of the first one.
     *
     * @throws ModelFileException as of the other [answer].
     * @throws IllegalArgumentException the model wants single texts.
     */
    public fun answer(
        first: String,
        second: String,
    ): Answer = throw ModelFileException("not written yet: $first $second $parts")
}
