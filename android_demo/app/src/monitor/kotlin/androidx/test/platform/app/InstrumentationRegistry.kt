package androidx.test.platform.app

import android.app.Instrumentation
import android.os.Bundle

/** Holds the instrumentation that Robolectric makes. */
object InstrumentationRegistry {
    private var instrumentation: Instrumentation? = null
    private var arguments = Bundle()

    /** Null, with null, between two tests. */
    @JvmStatic
    fun registerInstance(
        instance: Instrumentation?,
        arguments: Bundle?,
    ) {
        this.instrumentation = instance
        this.arguments = arguments ?: Bundle()
    }

    @JvmStatic
    fun getInstrumentation(): Instrumentation = checkNotNull(instrumentation) { "this is no Robolectric test" }

    @JvmStatic
    fun getArguments(): Bundle = Bundle(arguments)
}
