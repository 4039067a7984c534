package org.tfdistil.nlp

/** Changes the code points of a word before it is cut. */
internal fun interface Normalizer {
    /** Appends to [to], which is empty, what the word [from] becomes. */
    fun normalize(
        from: IntList,
        to: IntList,
    )
}

/** Cuts a word into parts, each of which the vocabulary sees by itself. */
internal fun interface PreTokenizer {
    /** Appends to [to] the code points that are left of [from], which is not empty, and to [ends] where each part of them ends. */
    fun cut(
        from: IntList,
        to: IntList,
        ends: IntList,
    )
}

/** A vocabulary and how parts of words are made of its pieces. */
internal fun interface PieceModel {
    /** Appends to [ids] the pieces of the code points from [start] to [end]. */
    fun encode(
        text: IntList,
        start: Int,
        end: Int,
        ids: IntList,
    )
}

/**
 * Words to pieces, as the library `tokenizers` of Hugging Face does it. Of one thread at a time; makes
 * no objects for a word.
 */
internal class Tokenizer(
    private val normalizer: Normalizer,
    private val preTokenizer: PreTokenizer,
    private val model: PieceModel,
) {
    private val given = IntList()
    private val normalized = IntList()
    private val parts = IntList()
    private val ends = IntList()

    /** Appends to [ids] the pieces of a part of a text, a word. */
    fun encode(
        text: CharSequence,
        start: Int,
        end: Int,
        ids: IntList,
    ) {
        given.clear()
        normalized.clear()
        parts.clear()
        ends.clear()
        given.addText(text, start, end)
        normalizer.normalize(given, normalized)
        if (normalized.size == 0) return
        preTokenizer.cut(normalized, parts, ends)
        var from = 0
        for (part in 0 until ends.size) {
            model.encode(parts, from, ends[part], ids)
            from = ends[part]
        }
    }
}
