package androidx.test.platform.app

import android.app.Instrumentation
import android.os.Bundle

/** Holds the instrumentation that Robolectric makes. */
object InstrumentationRegistry {
    private var current: Pair<Instrumentation, Bundle>? = null

    private val registered get() = checkNotNull(current) { "no instrumentation yet: is this a Robolectric test?" }

    @JvmStatic
    fun registerInstance(
        instrumentation: Instrumentation,
        arguments: Bundle,
    ) {
        current = instrumentation to arguments
    }

    @JvmStatic
    fun getInstrumentation(): Instrumentation = registered.first

    @JvmStatic
    fun getArguments(): Bundle = Bundle(registered.second)
}
