package org.tfdistil.nlp


/**
 * Text to labels: the same answers as `tfdistil.Runtime` of Python gives. Of one thread at a time.
 *
 * @param model what the file says of itself.
 * @param graph an interpreter that holds `model.graph`.
 * @throws ModelFileException a file whose parts do not fit each other.
 */
public class Pipeline(
    private val model: ModelFile,
    graph: Graph,
) {
    private val featurizer = model.newFeaturizer()
    private val online = OnlineGraph(model, featurizer, graph)
    private val words = Words()
    private val second = Words()

    /**
     * Answers for one text.
     *
     * @throws ModelFileException the graph gives logits that are no finite numbers.
     * @throws IllegalArgumentException the model wants pairs of texts.
     */
    public fun answer(text: String): Answer {
        require(!model.task.pairs) { "the model's task is '${model.task.kind}': it takes two texts, answer(first, second)" }
        model.splitter.split(text, words)
        return decode(text, featurizer.encode(words))
    }

    /**
     * Answers for a pair of texts; words and spans are those of the first one.
     *
     * @throws ModelFileException as of the other [answer].
     * @throws IllegalArgumentException the model wants single texts.
     */
    public fun answer(
        first: String,
        second: String,
    ): Answer {
        require(model.task.pairs) { "the model's task is '${model.task.kind}': it takes one text, answer(text)" }
        model.splitter.split(first, words)
        model.splitter.split(second, this.second)
        return decode(first, featurizer.encode(words, this.second))
    }

    private fun decode(
        text: String,
        windows: List<Window>,
    ): Answer {
        val found = places(text)
        var tags: List<String>? = null
        val spans = ArrayList<Span>()
        var label: String? = null
        var labelScore: Double? = null
        val scores = online.run(windows)
        for ((output, values) in model.task.outputs.zip(scores)) {
            val head = output.head
            if (head == null) {
                val best = values.scores.best(0)
                label = output.labels[best]
                labelScore = values.scores.probability(0, best)
            } else {
                val path = values.path?.takeIf { head.labels.isLegal(it) } ?: head.decoder.path(values.scores)
                val iob2 = path.map { head.labels.inIob2[it] }
                tags = iob2
                if (iob2.any { it != "O" }) {
                    forEachSpan(iob2, head.decoder.probabilities(values.scores, path)) { name, first, end, score ->
                        spans.add(Span(name, found[first].start, found[end - 1].end, score))
                    }
                }
            }
        }
        return Answer(text, found, tags, spans, label, labelScore, IntArray(words.size, words::start))
    }

    /** The words with their places in code points. */
    private fun places(text: String): List<Word> {
        var unit = 0
        var codePoint = 0
        return List(words.size) { word ->
            codePoint += text.codePointCount(unit, words.start(word))
            val start = codePoint
            codePoint += text.codePointCount(words.start(word), words.end(word))
            unit = words.end(word)
            Word(text.substring(words.start(word), words.end(word)), start, codePoint)
        }
    }
}
