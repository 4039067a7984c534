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
        require(queries in 1..MOST_CALLS) { "queries is $queries; give 1 to $MOST_CALLS" }
        require(batches in 1..MOST_CALLS) { "batches is $batches; give 1 to $MOST_CALLS" }
        require(rounds in 1..MOST_CALLS) { "rounds is $rounds; give 1 to $MOST_CALLS" }
        require(warmUp in 0..MOST_CALLS) { "warmup is $warmUp; give 0 to $MOST_CALLS" }
        require(threads in 1..256) { "threads is $threads; give 1 to 256" }
    }

    private companion object {
        const val MOST_CALLS = 1_000_000 // each time of a call is kept
    }
}
