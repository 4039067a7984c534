package org.tfdistil.nlp

import java.nio.ByteBuffer

/**
 * Makes the featurizer of a model file.
 *
 * @param settings `featurizer` of `tfdistil.json`.
 * @param assets the files of the zip.
 */
internal class FeaturizerFiles(
    private val settings: Fields,
    private val assets: Map<String, ByteBuffer>,
) {
    /** @throws ModelFileException a kind that is unknown, or settings and files that do not fit it. */
    fun open(): Featurizer =
        when (val kind = settings.text("kind")) {
            "subwords" -> subwords(null)
            "projection" -> projection()
            "subwords+projection" -> subwords(hashed())
            else -> settings.fail("is of the kind ${Fields.shown(kind)}; this version knows $KINDS. Update the app")
        }

    private fun hashed(): ProjectionSpec {
        val spec = spec()
        if (spec.eos) settings.fail("has <EOS> in projection.json; there is none beside pieces")
        return spec
    }

    private fun spec(): ProjectionSpec = ProjectionSpec.read(file("projection.json"))

    private fun projection(): Featurizer {
        val spec = spec()
        val ends = if (spec.eos) 1 else 0
        val length = maxLength(3 + ends)
        return ProjectionFeaturizer(spec, length, overlap(length - ends))
    }

    private fun subwords(hashed: ProjectionSpec?): Featurizer {
        val separators = settings.number("separators", 1..MOST_SEPARATORS, 1)
        val length = maxLength(4 + separators)
        // Which pieces are scored matters in training; a word's first piece is among them in any case.
        val alignment = if ("alignment" in settings) settings.text("alignment") else "first"
        if (alignment != "first" && alignment != "x") settings.fail("has the alignment ${Fields.shown(alignment)}; expected first or x")
        return SubwordFeaturizer(
            TokenizerFile.read(file("tokenizer.json", ::libraryDecimal)),
            SubwordFeaturizer.Settings(
                length,
                overlap(length - 2),
                id("cls"),
                id("sep"),
                id("pad"),
                id("unk"),
                settings.flag("token_types", false),
                separators,
            ),
            hashed,
        )
    }

    private fun file(
        name: String,
        decimal: (String) -> Double = String::toDouble,
    ): Fields {
        val content = assets[name] ?: settings.fail("needs $name; it is missing. Export the model again")
        return Fields.parse(content, name, decimal)
    }

    private fun maxLength(shortest: Int): Int = settings.number("max_length", shortest..Int.MAX_VALUE)

    /** Of windows that share more each word would be in dozens of them. */
    private fun overlap(budget: Int): Int = settings.number("overlap", 0..budget - (budget + 3) / 4, budget / 4)

    private fun id(name: String): Int = settings.number(name, 0..Int.MAX_VALUE)

    private companion object {
        const val MOST_SEPARATORS = 1000
        const val KINDS = "subwords and projection, and subwords+projection"
    }
}
