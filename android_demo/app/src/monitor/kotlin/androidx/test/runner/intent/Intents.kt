package androidx.test.runner.intent

import android.app.Instrumentation.ActivityResult
import android.content.Intent

/** Would be told of each intent; nobody listens here. */
interface IntentMonitor

/** Where the monitor is found. */
object IntentMonitorRegistry {
    private var monitor: IntentMonitor? = null

    @JvmStatic
    fun registerInstance(instance: IntentMonitor?) {
        monitor = instance
    }

    @JvmStatic
    fun getInstance(): IntentMonitor = checkNotNull(monitor) { "no intent monitor yet" }
}

/** Answers an intent in place of another app. */
fun interface IntentStubber {
    fun getActivityResultForIntent(intent: Intent): ActivityResult?
}

/** Holds at most one stubber. */
object IntentStubberRegistry {
    private var stubber: IntentStubber? = null

    @JvmStatic
    fun load(instance: IntentStubber) {
        stubber = instance
    }

    @JvmStatic
    fun isLoaded(): Boolean = stubber != null

    @JvmStatic
    fun getInstance(): IntentStubber = checkNotNull(stubber) { "no intent stubber loaded" }

    @JvmStatic
    fun reset() {
        stubber = null
    }
}
