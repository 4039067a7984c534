package org.tfdistil.nlp

/**
 * Reads `tokenizer.json` of Hugging Face. The parts that tfdistil's own tokenizers and those of BERT have
 * are known; others are refused by name.
 */
internal object TokenizerFile {
    /** @throws ModelFileException a part that is unknown, or no tokenizer. */
    fun read(file: Fields): Tokenizer {
        for (token in if ("added_tokens" in file) file.list("added_tokens") else emptyList()) {
            val added = Fields.asFields(token, "an added token of tokenizer.json") ?: file.fail("has an added token that is no object")
            // Special ones are ordinary text in a text.
            if (!added.flag("special")) added.fail("is ${Fields.shown(added.text("content"))}, which is not special. $REMEDY")
        }
        return Tokenizer(normalizer(part(file, "normalizer")), preTokenizer(part(file, "pre_tokenizer")), model(file.fields("model")))
    }

    private fun part(
        file: Fields,
        name: String,
    ): Fields = if (name in file) file.fields(name) else file.fail("has no $name, which this version cannot do without. $REMEDY")

    private fun normalizer(fields: Fields): Normalizer {
        if (fields.text("type") != "BertNormalizer") unknown(fields, "BertNormalizer")
        val lowercase = fields.flag("lowercase")
        return BertNormalizer(
            fields.flag("clean_text"),
            fields.flag("handle_chinese_chars"),
            if ("strip_accents" in fields) fields.flag("strip_accents") else lowercase,
            lowercase,
        )
    }

    private fun preTokenizer(fields: Fields): PreTokenizer {
        if (fields.text("type") != "BertPreTokenizer") unknown(fields, "BertPreTokenizer")
        return BertPreTokenizer
    }

    private fun model(fields: Fields): PieceModel {
        if (fields.text("type") != "WordPiece") unknown(fields, "WordPiece")
        val vocabulary = fields.fields("vocab")
        val pieces = PieceTrie()
        for (piece in vocabulary.names) pieces.add(piece, vocabulary.number(piece, 0..Int.MAX_VALUE))
        val unknown = fields.text("unk_token")
        return WordPiece(
            pieces,
            fields.text("continuing_subword_prefix"),
            if (unknown in vocabulary) vocabulary.number(unknown, 0..Int.MAX_VALUE) else fields.fail("has no piece ${Fields.shown(unknown)}"),
            fields.number("max_input_chars_per_word", 0..Int.MAX_VALUE),
        )
    }

    private fun unknown(
        part: Fields,
        known: String,
    ): Nothing = part.fail("is of the type ${Fields.shown(part.text("type"))}; this version knows $known. $REMEDY")

    private const val REMEDY = "Run the model with tfdistil.Runtime, or distil a student with word pieces of its own"
}
