package androidx.test.internal.runner.lifecycle

import android.app.Activity
import android.app.Application
import androidx.test.runner.lifecycle.ActivityLifecycleMonitor
import androidx.test.runner.lifecycle.ApplicationLifecycleMonitor
import androidx.test.runner.lifecycle.ApplicationStage
import androidx.test.runner.lifecycle.Stage
import java.util.WeakHashMap

/** Keeps the stage that Robolectric signals for each activity. */
class ActivityLifecycleMonitorImpl : ActivityLifecycleMonitor {
    private val stages = WeakHashMap<Activity, Stage>()

    fun signalLifecycleChange(
        stage: Stage,
        activity: Activity,
    ) {
        stages[activity] = stage
    }

    override fun getLifecycleStageOf(activity: Activity): Stage = stages[activity] ?: Stage.PRE_ON_CREATE

    override fun getActivitiesInStage(stage: Stage): Collection<Activity> = stages.filterValues { it == stage }.keys
}

/** Hears of the application's stages, which no test of ours asks for. */
class ApplicationLifecycleMonitorImpl : ApplicationLifecycleMonitor {
    @Suppress("UNUSED_PARAMETER")
    fun signalLifecycleChange(
        application: Application,
        stage: ApplicationStage,
    ) = Unit
}
