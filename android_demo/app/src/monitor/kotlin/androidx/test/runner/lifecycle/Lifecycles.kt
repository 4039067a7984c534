package androidx.test.runner.lifecycle

import android.app.Activity

/** How far an application is. */
enum class ApplicationStage { PRE_ON_CREATE, CREATED }

/** How far an activity is. */
enum class Stage { PRE_ON_CREATE, CREATED, STARTED, RESUMED, PAUSED, STOPPED, RESTARTED, DESTROYED }

/** Would be told of the application's stages. */
interface ApplicationLifecycleMonitor

/** Knows the stage of each activity. */
interface ActivityLifecycleMonitor {
    fun getLifecycleStageOf(activity: Activity): Stage

    fun getActivitiesInStage(stage: Stage): Collection<Activity>
}

/** Where the activities' monitor is found. */
object ActivityLifecycleMonitorRegistry {
    private var monitor: ActivityLifecycleMonitor? = null

    @JvmStatic
    fun registerInstance(instance: ActivityLifecycleMonitor?) {
        monitor = instance
    }

    @JvmStatic
    fun getInstance(): ActivityLifecycleMonitor = checkNotNull(monitor) { "no lifecycle monitor yet" }
}

/** Where the application's monitor is found. */
object ApplicationLifecycleMonitorRegistry {
    private var monitor: ApplicationLifecycleMonitor? = null

    @JvmStatic
    fun registerInstance(instance: ApplicationLifecycleMonitor?) {
        monitor = instance
    }

    @JvmStatic
    fun getInstance(): ApplicationLifecycleMonitor = checkNotNull(monitor) { "no application monitor yet" }
}
