package org.tfdistil.nlp

import java.io.File
import java.nio.ByteBuffer
import java.security.MessageDigest

/** The conformance vectors of `tests/vectors`, which Python writes and is held to as well. */
internal object Vectors {
    private val folder = File(System.getProperty("vectors"))

    /** The items of a file: each is one object with one key, whose value is a list. */
    fun items(
        name: String,
        decimal: (String) -> Double = String::toDouble,
    ): List<Any?> {
        val content = Json.parse(ByteBuffer.wrap(File(folder, "$name.json").readBytes()), decimal) as Map<*, *>
        return content.values.single() as List<*>
    }

    fun read(name: String): List<Fields> = items(name).map { Fields.asFields(it, name)!! }
}

/** The hexadecimal digits of bytes. */
internal fun ByteArray.hex(): String = joinToString("") { (it.toInt() and 0xFF).toString(16).padStart(2, '0') }

internal fun sha256(bytes: ByteArray): ByteArray = MessageDigest.getInstance("SHA-256").digest(bytes)

/** A list of numbers, which JSON has as longs. */
internal fun ints(value: Any?): List<Int> = (value as List<*>).map { (it as Long).toInt() }

/** Words that come split: each a part of the text of all of them. */
internal fun wordsOf(words: List<String>): Words =
    Words().apply {
        begin(words.joinToString(" "))
        var at = 0
        for (word in words) {
            add(at, at + word.length)
            at += word.length + 1
        }
    }

/** Places of words in code points. */
internal fun placesOf(words: Words): List<List<Int>> {
    var unit = 0
    var codePoint = 0
    return (0 until words.size).map { word ->
        codePoint += Character.codePointCount(words.text, unit, words.start(word))
        val start = codePoint
        codePoint += Character.codePointCount(words.text, words.start(word), words.end(word))
        unit = words.end(word)
        listOf(start, codePoint)
    }
}
