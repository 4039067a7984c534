package org.tfdistil.nlp;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/**
 * What {@link FeaturizerBenchmark} times, in the processor's time for the thread: of use where other jobs run
 * beside it, whose turns are in the time of the clock.
 */
public class FeaturizerCpuTime {
    private static final int WARM_UP = 15_000;
    private static final int BLOCKS = 60;
    private static final int CALLS = 200;

    private static Object last; // so that no call can be left out

    /** Prints a line for each kind of featurizer, given with commas between, and each language. */
    public static void main(String[] arguments) throws IOException {
        for (String featurizer : arguments[0].split(",")) {
            for (String language : new String[] {"en", "tr", "hi", "zh"}) {
                double[] times = times(featurizer, language);
                System.out.printf("%s %s: best %.1f, median %.1f us%n", featurizer, language, times[0], times[BLOCKS / 2]);
            }
        }
    }

    /** Microseconds a call in each block, sorted. */
    private static double[] times(String featurizer, String language) throws IOException {
        FeaturizerBenchmark benchmark = new FeaturizerBenchmark();
        benchmark.featurizer = featurizer;
        benchmark.language = language;
        benchmark.words = 32;
        benchmark.make();
        call(benchmark, WARM_UP);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        double[] times = new double[BLOCKS];
        for (int block = 0; block < BLOCKS; block++) {
            long start = threads.getCurrentThreadCpuTime();
            call(benchmark, CALLS);
            times[block] = (threads.getCurrentThreadCpuTime() - start) / 1e3 / CALLS;
        }
        Arrays.sort(times);
        return times;
    }

    private static void call(FeaturizerBenchmark benchmark, int times) {
        for (int call = 0; call < times; call++) last = benchmark.featurize();
    }
}
