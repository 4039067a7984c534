package org.tfdistil.demo.benchmark

import android.os.Build
import org.json.JSONObject
import org.tensorflow.lite.TensorFlowLite
import java.io.File
import java.io.IOException

/** What Linux calls the instructions that the speed of int8 depends on, to their usual names. */
private val INSTRUCTIONS =
    mapOf(
        "asimddp" to "dotprod",
        "i8mm" to "i8mm",
        "sme" to "sme",
        "avx2" to "avx2",
        "avx_vnni" to "avx_vnni",
        "avx512_vnni" to "avx512_vnni",
    )

/** The phone, its processor and the runtime. */
internal fun environment(): JSONObject =
    JSONObject()
        .put("cpu", "${Build.HARDWARE} (${Build.MANUFACTURER} ${Build.MODEL})")
        .put("machine", Build.SUPPORTED_ABIS.first())
        .put("instructions", instructions())
        .put("cores", Runtime.getRuntime().availableProcessors())
        .put("system", "Android ${Build.VERSION.RELEASE} (API ${Build.VERSION.SDK_INT})")
        .put("tensorflow-lite", TensorFlowLite.runtimeVersion())

private fun instructions(): String {
    val lines =
        try {
            File("/proc/cpuinfo").readLines()
        } catch (_: IOException) {
            return "" // not every phone lets an app read it
        }
    val flags = lines.filter { it.startsWith("Features") || it.startsWith("flags") }
    val has = flags.flatMap { it.substringAfter(':').split(' ') }.toSet()
    return INSTRUCTIONS.filterKeys { it in has }.values.joinToString(" ")
}
