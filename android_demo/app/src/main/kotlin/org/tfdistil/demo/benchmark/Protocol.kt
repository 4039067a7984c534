package org.tfdistil.demo.benchmark

/**
 * What is measured.
 *
 * @property queries timed calls of the smallest batch of each model.
 * @property batches timed calls of the largest batch.
 * @property rounds blocks the calls are cut into; models take turns block by block.
 * @property warmUp untimed calls before.
 * @property threads of the interpreter.
 * @property seed of the random inputs.
 * @throws IllegalArgumentException a number that is out of its range.
 */
internal data class Protocol(
    val queries: Int = 1000,
    val batches: Int = 100,
    val rounds: Int = 10,
    val warmUp: Int = 20,
    val threads: Int = 1,
    val seed: Int = 0,
) {
    init {
        require(queries >= 1) { "queries is $queries; give 1 or more" }
        require(batches >= 1) { "batches is $batches; give 1 or more" }
        require(rounds >= 1) { "rounds is $rounds; give 1 or more" }
        require(warmUp >= 0) { "warmup is $warmUp; give 0 or more" }
        require(threads in 1..256) { "threads is $threads; give 1 to 256" }
    }
}
