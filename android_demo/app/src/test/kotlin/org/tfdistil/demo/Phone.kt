package org.tfdistil.demo

import org.robolectric.shadows.ShadowLooper
import java.io.File
import java.time.Duration

/** The phone's own x86_64 library, on this machine: see `host/`. Loaded once, by who asks first. */
internal object Phone {
    private val libraries = listOf("libc", "libm", "libdl", "liblog", "libtensorflowlite_jni")

    init {
        for (name in libraries) System.load(File("../tflite/target/host/$name.so").canonicalPath)
    }

    /** Makes sure that it is there. */
    fun start() = Unit

    /** Lets the main thread work until something holds, or fails after [seconds] of real time: many, for busy machines. */
    fun until(
        what: String,
        seconds: Long = 600,
        holds: () -> Boolean,
    ) {
        val end = System.nanoTime() + seconds * 1_000_000_000
        while (!holds()) {
            check(System.nanoTime() < end) { "still waiting for $what after $seconds s" }
            ShadowLooper.idleMainLooper(STEP.toMillis(), java.util.concurrent.TimeUnit.MILLISECONDS)
            Thread.sleep(STEP.toMillis())
        }
    }

    private val STEP = Duration.ofMillis(20)
}
