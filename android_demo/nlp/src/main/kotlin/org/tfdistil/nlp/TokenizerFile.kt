package org.tfdistil.nlp

import java.util.Locale

/**
 * Reads `tokenizer.json` of Hugging Face: the parts that the tokenizers of BERT, RoBERTa and XLM-R have, and
 * those that tfdistil trains. Other parts, and settings of these that are not done here, are refused by name.
 */
internal class TokenizerFile private constructor() {
    private var parts = 0

    private val normalizers: Map<String, (Fields) -> Normalizer> =
        mapOf(
            "BertNormalizer" to ::bertNormalizer,
            "Lowercase" to { fields ->
                fields.knows()
                BertNormalizer(cleanText = false, chinese = false, stripAccents = false, lowercase = true)
            },
            "Precompiled" to { fields ->
                fields.knows("precompiled_charsmap")
                Precompiled(CharacterMap.read(fields))
            },
            "Replace" to ::replace,
            "Sequence" to { fields ->
                fields.knows("normalizers")
                NormalizerSequence(fields.objects("normalizers").map { part(it, normalizers) })
            },
        )

    private val preTokenizers: Map<String, (Fields) -> PreTokenizer> =
        mapOf(
            "BertPreTokenizer" to { fields ->
                fields.knows()
                BertPreTokenizer
            },
            "ByteLevel" to ::byteLevel,
            "Metaspace" to ::metaspace,
            "Sequence" to ::sequence,
            "WhitespaceSplit" to { fields ->
                fields.knows()
                WhitespaceSplit
            },
        )

    private val models: Map<String, (Fields) -> PieceModel> =
        mapOf("BPE" to ::bytePairs, "Unigram" to ::unigram, "WordPiece" to ::wordPiece)

    private fun tokenizer(file: Fields): Tokenizer {
        for (token in if ("added_tokens" in file) file.objects("added_tokens") else emptyList()) {
            // Special ones are ordinary text in a text.
            if (!token.flag("special")) token.fail("is ${Fields.shown(token.text("content"))}, which is not special. $REMEDY")
        }
        val normalizer = if ("normalizer" in file) part(file.fields("normalizer"), normalizers) else NormalizerSequence(emptyList())
        val preTokenizer = if ("pre_tokenizer" in file) part(file.fields("pre_tokenizer"), preTokenizers) else PreTokenizerSequence(emptyList())
        return Tokenizer(normalizer, preTokenizer, part(file.fields("model"), models))
    }

    private fun <T> part(
        fields: Fields,
        known: Map<String, (Fields) -> T>,
    ): T {
        if (++parts > MOST_PARTS) fields.fail("is one of more than $MOST_PARTS parts. $REMEDY")
        val type = fields.text("type")
        val read = known[type] ?: fields.fail("is of the type ${Fields.shown(type)}; this version knows ${known.keys.joinToString()}. $REMEDY")
        return read(fields)
    }

    private fun bertNormalizer(fields: Fields): Normalizer {
        fields.knows("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        val lowercase = fields.flag("lowercase")
        return BertNormalizer(
            fields.flag("clean_text"),
            fields.flag("handle_chinese_chars"),
            if ("strip_accents" in fields) fields.flag("strip_accents") else lowercase,
            lowercase,
        )
    }

    private fun replace(fields: Fields): Normalizer {
        fields.knows("pattern", "content")
        val pattern = fields.fields("pattern")
        val content = fields.text("content")
        for (text in listOf(content) + pattern.names.map(pattern::text)) {
            if (text.length > LONGEST) fields.fail("is of a text of ${text.length} characters; expected at most $LONGEST. $REMEDY")
        }
        if ("String" in pattern && pattern.text("String").isNotEmpty()) return Replace(pattern.text("String"), content, 1..1)
        if ("Regex" in pattern && pattern.text("Regex") == " {2,}") return Replace(" ", content, 2..Int.MAX_VALUE)
        val given = pattern.names.joinToString { "$it ${Fields.shown(pattern.text(it))}" }
        pattern.fail("is $given; this version knows texts that are not empty, and the Regex ' {2,}'. $REMEDY")
    }

    private fun sequence(fields: Fields): PreTokenizer {
        fields.knows("pretokenizers")
        val parts = fields.objects("pretokenizers")
        for (part in parts.drop(1)) {
            if (part.text("type") == "Metaspace" && part.text("prepend_scheme") == "first") {
                part.fail("has the prepend_scheme 'first' behind another pre-tokenizer. $REMEDY")
            }
        }
        return PreTokenizerSequence(parts.map { part(it, preTokenizers) })
    }

    private fun metaspace(fields: Fields): PreTokenizer {
        fields.knows("replacement", "prepend_scheme", "split")
        val replacement = fields.text("replacement")
        if (replacement.isEmpty() || replacement.codePointCount(0, replacement.length) != 1) {
            fields.fail("has the replacement ${Fields.shown(replacement)}; expected one character. Export the model again")
        }
        // A word is the first part of itself.
        val prepend =
            when (val scheme = fields.text("prepend_scheme")) {
                "always", "first" -> true
                "never" -> false
                else -> fields.fail("has the prepend_scheme ${Fields.shown(scheme)}; this version knows always, first and never. $REMEDY")
            }
        return Metaspace(replacement.codePointAt(0), prepend, fields.flag("split"))
    }

    private fun byteLevel(fields: Fields): PreTokenizer {
        fields.knows("add_prefix_space", "trim_offsets", "use_regex")
        return ByteLevel(fields.flag("add_prefix_space"), fields.flag("use_regex", true))
    }

    private fun wordPiece(fields: Fields): PieceModel {
        fields.knows("vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word")
        return WordPiece(
            vocabulary(fields.fields("vocab")),
            fields.text("continuing_subword_prefix"),
            idOf(fields.text("unk_token"), fields),
            fields.number("max_input_chars_per_word", 0..Int.MAX_VALUE),
        )
    }

    private fun bytePairs(fields: Fields): PieceModel {
        val settings = arrayOf("fuse_unk", "byte_fallback", "ignore_merges", "dropout", "continuing_subword_prefix", "end_of_word_suffix")
        fields.knows("vocab", "merges", "unk_token", *settings)
        if (fields.flag("byte_fallback", false)) fields.fail("has byte_fallback. $REMEDY")
        if ("dropout" in fields) fields.fail("has dropout, so that it cuts a word now one way, now another. $REMEDY")
        for (name in arrayOf("continuing_subword_prefix", "end_of_word_suffix")) {
            if (name in fields && fields.text(name).isNotEmpty()) fields.fail("has $name: ${Fields.shown(fields.text(name))}. $REMEDY")
        }
        val pairs = fields.list("merges")
        val merges = Merges(pairs.size)
        for ((rank, pair) in pairs.withIndex()) {
            val (left, right) = twoPieces(pair) ?: fields.fail("has the merge ${Fields.shown(pair)}; expected two pieces. Export the model again")
            merges.add(idOf(left, fields), idOf(right, fields), rank, idOf(left + right, fields))
        }
        return BytePairs(
            vocabulary(fields.fields("vocab")),
            merges,
            if ("unk_token" in fields) idOf(fields.text("unk_token"), fields) else null,
            fields.flag("fuse_unk", false),
            fields.flag("ignore_merges", false),
        )
    }

    /** A merge is a list of two pieces, or in older files a text with a space between them. */
    private fun twoPieces(pair: Any?): Pair<String, String>? {
        val parts = if (pair is String) pair.split(' ') else pair as? List<*>
        val (left, right) = parts?.takeIf { it.size == 2 } ?: return null
        return if (left is String && right is String) left to right else null
    }

    private fun unigram(fields: Fields): PieceModel {
        fields.knows("vocab", "unk_id", "byte_fallback")
        val entries = fields.list("vocab")
        val pieces = PieceTrie()
        val scores = DoubleArray(entries.size)
        for ((id, entry) in entries.withIndex()) {
            val (piece, score) = (entry as? List<*>)?.takeIf { it.size == 2 } ?: listOf(null, null)
            if (piece !is String || score !is Number) {
                fields.fail("has ${Fields.shown(entry)} at $id; expected a piece and its score. Export the model again")
            }
            pieces.add(piece, id)
            scores[id] = score.toDouble()
        }
        if ("unk_id" !in fields) fields.fail("has no unk_id, and fails on characters that are not there. $REMEDY")
        val bytes = if (fields.flag("byte_fallback", false)) IntArray(256) { pieces.id("<0x%02X>".format(Locale.ROOT, it)) } else null
        return Unigram(pieces, scores, fields.number("unk_id", 0 until entries.size), bytes)
    }

    private fun vocabulary(fields: Fields): PieceTrie {
        val pieces = PieceTrie()
        for (piece in fields.names) pieces.add(piece, fields.number(piece, 0..Int.MAX_VALUE))
        return pieces
    }

    private fun idOf(
        piece: String,
        model: Fields,
    ): Int {
        val vocabulary = model.fields("vocab")
        if (piece !in vocabulary) model.fail("has no piece ${Fields.shown(piece)}. Export the model again")
        return vocabulary.number(piece, 0..Int.MAX_VALUE)
    }

    /** Refuses settings that no version knew when this was written. */
    private fun Fields.knows(vararg settings: String) {
        val unknown = names - settings.toSet() - "type"
        if (unknown.isNotEmpty()) fail("has the setting ${Fields.shown(unknown.first())}, which this version does not know. $REMEDY")
    }

    companion object {
        private const val MOST_PARTS = 100
        private const val LONGEST = 1000
        private const val REMEDY = "Run the model with tfdistil.Runtime, or distil a student with word pieces of its own"

        /** @throws ModelFileException a part that is unknown, or no tokenizer. */
        fun read(file: Fields): Tokenizer = TokenizerFile().tokenizer(file)
    }
}
