package org.tfdistil.nlp

import java.nio.ByteBuffer

/**
 * An object of a JSON file, whose fields are asked for by name and form.
 *
 * Every function raises [ModelFileException] for a field that is missing or of another form.
 *
 * @param values the fields.
 * @param where what the object is called in an error.
 */
internal class Fields(
    private val values: Map<String, Any?>,
    private val where: String,
) {
    val names: Set<String> get() = values.keys

    operator fun contains(name: String): Boolean = values[name] != null

    fun text(name: String): String = value(name, "a text") { it as? String }

    fun flag(
        name: String,
        default: Boolean? = null,
    ): Boolean = if (default != null && name !in values) default else value(name, "true or false") { it as? Boolean }

    fun number(
        name: String,
        range: IntRange,
        default: Int? = null,
    ): Int {
        if (default != null && name !in values) return default
        return value(name, "a whole number of ${range.first} to ${range.last}") { given ->
            (given as? Long)?.takeIf { it in range.first..range.last }?.toInt()
        }
    }

    fun fields(name: String): Fields = value(name, "an object") { asFields(it, "$where.$name") }

    fun list(name: String): List<Any?> = value(name, "a list") { it as? List<*> }

    fun texts(name: String): List<String> =
        value(name, "a list of texts") { given -> (given as? List<*>)?.takeIf { all -> all.all { it is String } } }
            .map { it as String }

    /** Texts by name: `{"model": "..."}`. */
    fun textsByName(name: String): Map<String, String> {
        val fields = fields(name)
        return fields.names.associateWith { fields.text(it) }
    }

    /** Objects of a list. */
    fun objects(name: String): List<Fields> =
        list(name).mapIndexed { at, value -> asFields(value, "$where.$name[$at]") ?: fail("has '$name': ${shown(value)} at $at; expected an object") }

    fun fail(what: String): Nothing = throw ModelFileException("$where $what")

    private fun <T : Any> value(
        name: String,
        form: String,
        take: (Any?) -> T?,
    ): T = take(values[name]) ?: fail(if (name in values.keys) "has '$name': ${shown(values[name])}; expected $form" else "is without '$name', $form")

    companion object {
        private const val MOST_SHOWN = 40
        private const val MOST_LISTED = 10

        /** A value as fields, or null if it is no object. */
        fun asFields(
            value: Any?,
            where: String,
        ): Fields? {
            if (value !is Map<*, *>) return null
            @Suppress("UNCHECKED_CAST") // Json makes no other maps
            return Fields(value as Map<String, Any?>, where)
        }

        /**
         * Reads a file that holds one object.
         *
         * @param decimal reads numbers that are not whole.
         * @throws ModelFileException no JSON, too much of it, or another value.
         */
        fun parse(
            bytes: ByteBuffer,
            file: String,
            decimal: (String) -> Double = String::toDouble,
        ): Fields {
            val value =
                try {
                    Json.parse(bytes, decimal)
                } catch (error: JsonException) {
                    throw ModelFileException("$file cannot be read as JSON: ${error.message}. Copy the file again", error)
                }
            return asFields(value, file) ?: throw ModelFileException("$file is ${shown(value)}; expected an object")
        }

        /** A value in an error: short, whatever it is. */
        fun shown(value: Any?): String {
            val text =
                when (value) {
                    is String -> "'${value.take(MOST_SHOWN)}'"
                    is Collection<*> -> value.joinToString(", ", "[", "]", MOST_LISTED, transform = ::shown)
                    is Map<*, *> -> value.keys.joinToString(", ", "{", "}", MOST_LISTED, transform = ::shown)
                    else -> value.toString()
                }
            return if (text.length <= MOST_SHOWN) text else text.take(MOST_SHOWN - 3) + "..."
        }
    }
}
