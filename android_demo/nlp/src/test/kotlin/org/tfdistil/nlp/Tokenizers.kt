package org.tfdistil.nlp

import java.nio.ByteBuffer

/** The tokenizers of the vectors as `tokenizer.json` has them, and model files with such a file in them. */
internal object Tokenizers {
    private val rules = Vectors.items("pieces-rules").single() as String

    /** Word pieces, with each normalizer of the vectors. */
    fun wordPieces(): List<Map<String, Any?>> {
        val shared = asObject(Vectors.items("subwords-tokenizers").single())
        return asObject(shared["normalizers"]).values.map { asObject(shared["tokenizer"]) + ("normalizer" to it) }
    }

    /**
     * Each variant by its name.
     *
     * @param kind `unigram` or `bytes`.
     */
    fun of(kind: String): Map<String, Map<String, Any?>> {
        val shared = asObject(Vectors.items("pieces-$kind", ::libraryDecimal).single())
        val tokenizer = asObject(shared["tokenizer"])
        return asObject(shared["variants"]).mapValues { (_, changes) ->
            val parts = asObject(changes)
            val model = asObject(tokenizer["model"]) + asObject(parts["model"] ?: emptyMap<String, Any?>())
            val plain = mapOf("normalizer" to null, "pre_tokenizer" to null)
            asObject(withRules(tokenizer + plain + parts + ("model" to model)))
        }
    }

    /** A model file with word pieces in the place of the fingerprints. */
    fun packed(tokenizer: String): ByteBuffer {
        val config = PackedModel.config.replace("projection.json", NAME).replace(Regex("\"featurizer\": \\{[^}]*\\}"), FEATURIZER)
        val others = PackedModel.assets - PackedModel.CONFIG - "projection.json"
        return PackedModel.of(config = config, others = others + (NAME to tokenizer.toByteArray()))
    }

    /** Puts the map of rules where null stands for it. */
    private fun withRules(value: Any?): Any? =
        when (value) {
            is Map<*, *> ->
                value.mapValues { (name, part) -> if (name == "precompiled_charsmap") rules else if (name == "model") part else withRules(part) }
            is List<*> -> value.map(::withRules)
            else -> value
        }

    private fun asObject(value: Any?): Map<String, Any?> = (value as Map<*, *>).mapKeys { it.key as String }

    private const val NAME = "tokenizer.json"
    private const val FEATURIZER = "\"featurizer\": {\"kind\": \"subwords\", \"max_length\": 32, \"cls\": 0, \"pad\": 1, \"sep\": 2, \"unk\": 3}"
}
