package org.tfdistil.demo.benchmark

import org.json.JSONArray
import org.json.JSONObject

/**
 * A run in the form that `tfdistil-benchmark --json` writes: times in milliseconds.
 *
 * @param models as [measure] gives them; the others are compared with the first one.
 * @param environment what it was measured on.
 */
internal fun report(
    models: List<Measurement>,
    protocol: Protocol,
    environment: JSONObject,
): JSONObject =
    JSONObject()
        .put("models", JSONArray(models.map(::modelJson)))
        .put("ratios", JSONObject(models.drop(1).associate { it.name to ratioJson(it, models.first()) }))
        .put("protocol", protocolJson(protocol))
        .put("environment", environment)

/** What is written in place of a [report]. */
internal fun failure(message: String): JSONObject = JSONObject().put("error", message)

private fun modelJson(model: Measurement) =
    JSONObject()
        .put("name", model.name)
        .put("file", model.file)
        .put("bytes", model.bytes)
        .put("parameters", model.parameters)
        .put("online_ms", shapedJson(model.online, model.onlineShape))
        .put("batch_ms", orNull(model.batch?.let { shapedJson(it, checkNotNull(model.batchShape)) }))
        .put("queries_per_second", orNull(model.queriesPerSecond))
        .put("text_ms", orNull(model.text?.let(::timingJson)))
        .put("cold_text_ms", JSONObject.NULL)
        .put("load_ms", model.loadMs)
        .put("resident_bytes", orNull(model.residentBytes))

private fun timingJson(timing: Timing) =
    JSONObject()
        .put("p50", timing.quantile(0.5))
        .put("p90", timing.quantile(0.9))
        .put("p99", timing.quantile(0.99))
        .put("mean", timing.mean)
        .put("calls", timing.calls)
        .put("lowest_block", timing.medians.min())
        .put("highest_block", timing.medians.max())

private fun shapedJson(
    timing: Timing,
    shape: Shape,
) = timingJson(timing).put("batch", shape.batch).put("length", shape.length)

private fun ratioJson(
    slower: Measurement,
    faster: Measurement,
) = JSONObject()
    .put("online", ratioJson(slower.online, faster.online))
    .put("batch", orNull(slower.batch?.let { slow -> faster.batch?.let { fast -> ratioJson(slow, fast) } }))
    .put("bytes", slower.bytes.toDouble() / faster.bytes)

private fun ratioJson(
    slower: Timing,
    faster: Timing,
): JSONObject {
    val ratio = Ratio(slower, faster)
    return JSONObject().put("median", ratio.median).put("low", ratio.low).put("high", ratio.high)
}

private fun protocolJson(protocol: Protocol) =
    JSONObject()
        .put("queries", protocol.queries)
        .put("batches", protocol.batches)
        .put("rounds", protocol.rounds)
        .put("warm_up", protocol.warmUp)
        .put("threads", protocol.threads)
        .put("seed", protocol.seed)

private fun orNull(value: Any?) = value ?: JSONObject.NULL
