package org.tfdistil.nlp

/** A model file that cannot be used: [message] says what came, what was expected, and what to do. */
public class ModelFileException(message: String, cause: Throwable? = null) : Exception(message, cause)
