package org.tfdistil.nlp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import kotlin.Pair;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * From a text of 32 or 64 words to what fills the graph's inputs.
 *
 * <p>In Java, because the processor that JMH generates its loops with reads no Kotlin.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class FeaturizerBenchmark {
    private static final Map<String, String> TEXTS = new HashMap<>();

    static {
        TEXTS.put("en", "Could you please play some relaxing music in the living room tomorrow morning at 7:30, ");
        TEXTS.put("tr", "Yarın sabah İstanbul'da oturma odasında rahatlatıcı müzik çal lütfen, şöför ışıkları da ");
        TEXTS.put("hi", "कृपया कल सुबह मुंबई में बैठक कक्ष में कुछ मधुर संगीत बजाओ और बत्तियाँ बंद करो ");
        TEXTS.put("zh", "请在明天早上七点半播放一些轻松的音乐并关灯");
    }

    /** What words become. */
    @Param({"murmur", "affix8", "affix16", "affix32", "ngram", "wordpiece", "unigram", "bytes"})
    public String featurizer;

    /** Of the text. */
    @Param({"en", "tr", "hi", "zh"})
    public String language;

    /** Of the text. */
    @Param({"32", "64"})
    public int words;

    private final Words places = new Words();
    private Featurizer made;
    private String text;

    /** Makes the featurizer and a text of that many words. */
    @Setup
    public void make() throws IOException {
        made = make(featurizer);
        String repeated = String.join("", Collections.nCopies(words, TEXTS.get(language)));
        UnicodeSplitter.INSTANCE.split(repeated, places);
        text = repeated.substring(0, places.end(words - 1));
    }

    /** Splits the text and makes its window. */
    @Benchmark
    public List<Window> featurize() {
        UnicodeSplitter.INSTANCE.split(text, places);
        return made.encode(places, null);
    }

    private static Featurizer make(String kind) throws IOException {
        switch (kind) {
            case "wordpiece":
                return pieces("subwords-tokenizers", Collections.emptyMap());
            case "unigram":
                return pieces("pieces-unigram", xlmr());
            case "bytes":
                return pieces("pieces-bytes", Collections.emptyMap());
            default:
                return projection(kind);
        }
    }

    private static Featurizer projection(String family) {
        List<Pair<String, Integer>> families = Collections.singletonList(new Pair<>(family, 1024));
        return new ProjectionFeaturizer(
                new ProjectionSpec(families, TernaryMap.OPERATOR, true, true, false, false), 512, 0);
    }

    private static Featurizer pieces(String file, Map<String, ?> changes) throws IOException {
        Map<String, Object> tokenizer = new HashMap<>(object(object(first(file)).get("tokenizer")));
        tokenizer.putAll(changes);
        return new SubwordFeaturizer(
                TokenizerFile.Companion.read(new Fields(tokenizer, file)),
                new SubwordFeaturizer.Settings(512, 0, 2, 3, 0, 1, false, 1));
    }

    /** The parts that XLM-R's tokenizer has around its pieces, with those of its rules that the vectors have. */
    private static Map<String, ?> xlmr() throws IOException {
        Map<String, Object> variant = object(object(object(first("pieces-unigram")).get("variants")).get("xlmr"));
        Map<String, Object> rules = new HashMap<>(object(variant.get("normalizer")));
        rules.put("precompiled_charsmap", first("pieces-rules"));
        Map<String, Object> parts = new HashMap<>(variant);
        parts.put("normalizer", rules);
        return parts;
    }

    /** The only item of a file of vectors. */
    private static Object first(String file) throws IOException {
        byte[] content = Files.readAllBytes(Paths.get(System.getProperty("vectors"), file + ".json"));
        Map<?, ?> all = (Map<?, ?>) Json.Companion.parse(ByteBuffer.wrap(content), Double::parseDouble);
        return ((List<?>) all.values().iterator().next()).get(0);
    }

    @SuppressWarnings("unchecked") // Json makes no other maps
    private static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }
}
