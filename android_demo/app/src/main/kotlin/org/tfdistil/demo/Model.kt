package org.tfdistil.demo

import org.tfdistil.nlp.Answer
import org.tfdistil.nlp.ModelFile
import org.tfdistil.nlp.Pipeline
import java.io.Closeable
import java.nio.ByteBuffer

/**
 * A model that answers. Of one thread at a time.
 *
 * @property name what the screen calls it.
 * @param bytes the file, memory-mapped.
 * @throws org.tfdistil.nlp.ModelFileException a file that cannot be used.
 */
internal class Model(
    val name: String,
    bytes: ByteBuffer,
    threads: Int = 1,
) : Closeable {
    val file = ModelFile.read(bytes)
    private val graph = TfliteGraph(TfliteGraph.interpreter(file.graph, threads))
    private val pipeline = Pipeline(file, graph)

    /** Whether it wants a second text. */
    val pairs get() = file.task.pairs

    /** @throws org.tfdistil.nlp.ModelFileException the graph fails on it. */
    fun answer(question: Question): Answer =
        if (pairs) pipeline.answer(question.first, question.second) else pipeline.answer(question.first)

    override fun close() = graph.close()
}

/** What is asked: a text, and a second one for models of pairs. */
internal data class Question(
    val first: String,
    val second: String,
) {
    /** Whether there is nothing to answer. */
    val empty get() = first.isEmpty()
}
