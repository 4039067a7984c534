package org.tfdistil.nlp

/**
 * A model file that cannot be used: [message] says what came, what was expected, and what to do. It has at
 * most 500 characters, whatever the file calls its parts.
 */
public class ModelFileException(message: String, cause: Throwable? = null) : Exception(message.take(MOST_CHARACTERS), cause) {
    private companion object {
        const val MOST_CHARACTERS = 500
    }
}
