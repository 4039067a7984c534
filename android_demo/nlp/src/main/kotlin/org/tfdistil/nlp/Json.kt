package org.tfdistil.nlp

import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException

/**
 * A strict reader of JSON (RFC 8259): what Android's `org.json` takes beyond it is refused, and so are
 * numbers that are not finite. Of keys that occur twice in an object the last one holds.
 *
 * Values are `Map<String, Any?>`, `List<Any?>`, `String`, `Long` (a number without fraction and exponent
 * that fits), `Double`, `Boolean` and null.
 */
internal class Json private constructor(
    private val text: String,
    private val decimal: (String) -> Double,
) {
    private var at = 0
    private var depth = 0
    private var values = 0

    private fun document(): Any? {
        val value = value()
        if (at < text.length) fail("'${text[at]}' after the end")
        return value
    }

    /** A value with the white space around it. */
    private fun value(): Any? {
        if (++values > MOST_VALUES) fail("more than $MOST_VALUES values")
        skipSpace()
        val value =
            when (peek()) {
                '{' -> nested(::members)
                '[' -> nested(::elements)
                '"' -> string()
                't' -> literal("true", true)
                'f' -> literal("false", false)
                'n' -> literal("null", null)
                else -> number()
            }
        skipSpace()
        return value
    }

    private fun <T> nested(read: () -> T): T {
        at++
        if (++depth > MOST_NESTED) fail("more than $MOST_NESTED levels")
        return read().also { depth-- }
    }

    private fun members(): Map<String, Any?> {
        val found = LinkedHashMap<String, Any?>()
        skipSpace()
        if (taken('}')) return found
        do {
            skipSpace()
            if (peek() != '"') fail("expected a key")
            val key = string()
            skipSpace()
            expect(':')
            found[key] = value()
        } while (taken(','))
        expect('}')
        return found
    }

    private fun elements(): List<Any?> {
        val found = ArrayList<Any?>()
        skipSpace()
        if (taken(']')) return found
        do {
            found.add(value())
        } while (taken(','))
        expect(']')
        return found
    }

    private fun string(): String {
        val start = ++at
        while (peek() != '"' && peek() != '\\') at = plain()
        if (peek() == '"') return text.substring(start, at++)
        val found = StringBuilder().append(text, start, at)
        while (peek() != '"') {
            if (peek() == '\\') {
                found.append(escaped())
            } else {
                found.append(peek())
                at = plain()
            }
        }
        at++
        return found.toString()
    }

    /** Where the character after this one is; a control character may not stand in a string. */
    private fun plain(): Int {
        if (peek() < ' ') fail("a control character in a string")
        return at + 1
    }

    private fun escaped(): Char {
        at++
        val kind = peek()
        at++
        return when (kind) {
            '"', '\\', '/' -> kind
            'b' -> '\b'
            'f' -> '\u000C'
            'n' -> '\n'
            'r' -> '\r'
            't' -> '\t'
            'u' -> unit()
            else -> fail("the escape \\$kind")
        }
    }

    private fun unit(): Char {
        if (at + 4 > text.length) fail("an end within an escape")
        var value = 0
        repeat(4) {
            val digit = text[at++]
            value = 16 * value +
                when (digit) {
                    in '0'..'9' -> digit - '0'
                    in 'a'..'f' -> digit - 'a' + 10
                    in 'A'..'F' -> digit - 'A' + 10
                    else -> fail("'$digit' among the digits of an escape")
                }
        }
        return value.toChar()
    }

    private fun number(): Any {
        val start = at
        if (peek() == '-') at++
        if (peek() == '0') at++ else digits()
        var whole = true
        if (at < text.length && text[at] == '.') {
            whole = false
            at++
            digits()
        }
        if (at < text.length && (text[at] == 'e' || text[at] == 'E')) {
            whole = false
            at++
            if (peek() == '+' || peek() == '-') at++
            digits()
        }
        val digits = text.substring(start, at)
        val number = (if (whole) digits.toLongOrNull() else null) ?: decimal(digits)
        if (number is Double && number.isInfinite()) fail("a number beyond all bounds")
        return number
    }

    private fun digits() {
        val start = at
        while (at < text.length && text[at] in '0'..'9') at++
        if (at == start) fail("'${peek()}' where a value or a digit was expected")
    }

    private fun <T> literal(
        word: String,
        value: T,
    ): T {
        if (!text.startsWith(word, at)) fail("a word that is none of true, false and null")
        at += word.length
        return value
    }

    private fun skipSpace() {
        while (at < text.length && text[at] in " \t\n\r") at++
    }

    private fun peek(): Char = if (at < text.length) text[at] else fail("an early end")

    private fun taken(mark: Char): Boolean = (at < text.length && text[at] == mark).also { if (it) at++ }

    private fun expect(mark: Char) {
        if (!taken(mark)) fail("expected '$mark'")
    }

    private fun fail(what: String): Nothing = throw JsonException("$what, at character $at of ${text.length}")

    companion object {
        private const val MOST_NESTED = 100

        // Twice the largest tokenizers; a phone's app has memory for so much and not for ten times that.
        private const val MOST_BYTES = 32 shl 20
        private const val MOST_VALUES = 1 shl 20

        /**
         * @param decimal reads numbers that are no `Long`.
         * @throws JsonException what is no JSON, or has more values or levels than any file of ours.
         */
        fun parse(
            text: String,
            decimal: (String) -> Double = String::toDouble,
        ): Any? = Json(text, decimal).document()

        /** Reads UTF-8, from position to limit; the rest as of the other [parse]. */
        fun parse(
            bytes: ByteBuffer,
            decimal: (String) -> Double = String::toDouble,
        ): Any? {
            if (bytes.remaining() > MOST_BYTES) throw JsonException("${bytes.remaining()} bytes; expected at most $MOST_BYTES")
            val text =
                try {
                    Charsets.UTF_8.newDecoder().decode(bytes.duplicate()).toString()
                } catch (error: CharacterCodingException) {
                    throw JsonException("bytes that are no UTF-8", error)
                }
            return parse(text, decimal)
        }
    }
}

/** What is no JSON, or too much of it: [message] says where. */
internal class JsonException(message: String, cause: Throwable? = null) : Exception(message, cause)
