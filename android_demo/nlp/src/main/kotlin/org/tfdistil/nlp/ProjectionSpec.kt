package org.tfdistil.nlp

/**
 * What decides about the bytes of a word: `projection.json`, see docs/projection.md.
 *
 * @property families hash families with the number of features each fills, in order.
 * @property map which values pairs of bits stand for.
 * @property compose whether words are put into Normalization Form C.
 * @property lowercase whether code points are mapped to their lower case.
 * @property capitalization whether the last two hashed features tell about capitals.
 * @property eos whether a token follows the words.
 * @property shape whether the features of a [WordShape] follow the hashed ones.
 */
internal class ProjectionSpec(
    val families: List<Pair<String, Int>>,
    val map: TernaryMap,
    val compose: Boolean,
    val lowercase: Boolean,
    val capitalization: Boolean,
    val eos: Boolean,
    val shape: Boolean,
) {
    /** Bytes of a word's fingerprint. */
    val bytes: Int = (families.sumOf { (_, features) -> features } + if (shape) WordShape.FEATURES else 0) / 4

    companion object {
        private const val ID = "tfdistil-projection-1"
        private const val MOST_FEATURES = 4096
        private val KEYS = setOf("spec", "families", "map", "normalization", "lowercase", "capitalization", "eos", "shape")
        val FAMILIES = listOf("murmur", "affix8", "affix16", "affix32", "ngram")

        /** @throws ModelFileException another spec, or settings that this one does not have. */
        fun read(fields: Fields): ProjectionSpec {
            val id = fields.text("spec")
            if (id != ID) fields.fail("has the spec ${Fields.shown(id)}; this version knows $ID. Update the app")
            val unknown = fields.names - KEYS
            if (unknown.isNotEmpty()) fields.fail("has the unknown setting ${Fields.shown(unknown.first())}")
            val families = fields.list("families").map { family(it, fields) }
            if (families.map { it.first }.toSet().size < families.size) fields.fail("has a hash family twice")
            val features = families.sumOf { it.second.toLong() }
            val shape = fields.flag("shape", false)
            val most = if (shape) MOST_FEATURES - WordShape.FEATURES else MOST_FEATURES
            if (features !in 4..most) fields.fail("has $features features of hash families; expected 4 to $most")
            val normalization = if ("normalization" in fields) fields.text("normalization") else "nfc"
            if (normalization != "nfc" && normalization != "none") {
                fields.fail("has the normalization ${Fields.shown(normalization)}; expected nfc or none")
            }
            val map = if ("map" in fields) fields.text("map") else "operator"
            return ProjectionSpec(
                families,
                TernaryMap.entries.find { it.name.lowercase() == map }
                    ?: fields.fail("has the map ${Fields.shown(map)}; expected operator, paper or unbalanced"),
                normalization == "nfc",
                fields.flag("lowercase", true),
                fields.flag("capitalization", false),
                fields.flag("eos", false),
                shape,
            )
        }

        private fun family(
            entry: Any?,
            fields: Fields,
        ): Pair<String, Int> {
            val (name, features) = (entry as? List<*>)?.takeIf { it.size == 2 } ?: listOf(null, null)
            val whole = (features as? Long)?.takeIf { it in 4..MOST_FEATURES && it % 4 == 0L }
            if (name !is String || name !in FAMILIES || whole == null) {
                fields.fail(
                    "has the hash family ${Fields.shown(entry)}; expected one of ${FAMILIES.joinToString()} " +
                        "with its features, a multiple of 4",
                )
            }
            return name to whole.toInt()
        }
    }
}

/**
 * Pairs of bits to -1, 0 or +1.
 *
 * @property values of the pairs 00, 01, 10, 11.
 */
internal enum class TernaryMap(
    private vararg val values: Int,
) {
    OPERATOR(0, 1, -1, 0),
    PAPER(-1, 0, 0, 1),
    UNBALANCED(0, 1, -1, 1),
    ;

    /** The lowest pair that stands for a value. */
    fun pairOf(value: Int): Int = values.indexOf(value)

    /** The byte of four features that are 0. */
    val padding: Byte get() = (0b01010101 * pairOf(0)).toByte()
}
