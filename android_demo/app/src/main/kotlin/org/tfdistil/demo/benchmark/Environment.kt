package org.tfdistil.demo.benchmark

import android.os.Build
import org.json.JSONArray
import org.json.JSONObject
import org.tensorflow.lite.TensorFlowLite
import java.io.File
import java.io.IOException

/** What decides how fast int8 is, by the names that Linux has for it. */
private val INSTRUCTIONS = listOf("asimddp", "i8mm", "sve", "avx2", "avx512_vnni")

/** The phone, its processor and the runtime. */
internal fun environment(): JSONObject =
    JSONObject()
        .put("cpu", Build.HARDWARE)
        .put("cores", Runtime.getRuntime().availableProcessors())
        .put("instructions", JSONArray(instructions()))
        .put("system", "Android ${Build.VERSION.RELEASE} (API ${Build.VERSION.SDK_INT})")
        .put("device", "${Build.MANUFACTURER} ${Build.MODEL}")
        .put("tensorflow-lite", TensorFlowLite.runtimeVersion())

private fun instructions(): List<String> {
    val lines =
        try {
            File("/proc/cpuinfo").readLines()
        } catch (_: IOException) {
            return emptyList() // not every phone lets an app read it
        }
    val known = lines.filter { it.startsWith("Features") || it.startsWith("flags") }.flatMap { it.substringAfter(':').split(' ') }.toSet()
    return INSTRUCTIONS.filter { it in known }
}
