package org.tfdistil.nlp

/**
 * The words of a text as places in it, in UTF-16 units. Filled anew for each text.
 *
 * @property text what the places refer to.
 */
internal class Words {
    var text: CharSequence = ""
        private set
    var size = 0
        private set
    private var starts = IntArray(64)
    private var ends = IntArray(64)

    fun start(word: Int): Int = starts[word]

    fun end(word: Int): Int = ends[word]

    fun begin(text: CharSequence) {
        this.text = text
        size = 0
    }

    fun add(
        start: Int,
        end: Int,
    ) {
        if (size == starts.size) {
            starts = starts.copyOf(2 * size)
            ends = ends.copyOf(2 * size)
        }
        starts[size] = start
        ends[size++] = end
    }
}
