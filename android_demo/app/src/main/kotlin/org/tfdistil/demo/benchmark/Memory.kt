package org.tfdistil.demo.benchmark

import java.io.File
import java.io.IOException

/** Bytes of this process in memory, of objects nobody refers to as few as may be; null if Linux does not tell. */
internal fun residentBytes(): Long? {
    Runtime.getRuntime().gc()
    return try {
        File("/proc/self/status").useLines { lines ->
            lines.firstOrNull { it.startsWith("VmRSS:") }?.split(Regex("\\s+"))?.get(1)?.let { 1024 * it.toLong() }
        }
    } catch (_: IOException) {
        null
    }
}
