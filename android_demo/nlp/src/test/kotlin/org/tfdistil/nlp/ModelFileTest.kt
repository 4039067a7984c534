package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.nio.ByteBuffer
import java.util.Random
import java.util.zip.ZipEntry

/** Files as they should be and as they should not: whatever is wrong is a [ModelFileException]. */
class ModelFileTest {
    private val file = PackedModel.file
    private val model = PackedModel.graph
    private val config = PackedModel.config

    @Test
    fun saysWhatItIs() {
        val read = ModelFile.read(ByteBuffer.wrap(file))
        assertEquals(file.size.toLong(), read.size)
        assertEquals("intent_slots", read.task.kind)
        assertEquals(listOf("slots" to true, "intent" to false), read.task.outputs.map { it.name to it.words })
        assertEquals(ByteBuffer.wrap(model), read.graph)
        val online = read.signatures.getValue("online")
        assertEquals(listOf(1, online.length), online.inputs.getValue("attention_mask").shape)
        assertEquals(ElementType.UINT8, online.inputs.getValue("fingerprint").type)
        assertTrue(online.outputs.values.all { it.scale > 0 })
    }

    @Test
    fun readsWhatItWritesItself() {
        ModelFile.read(PackedModel.of(config))
    }

    @Test
    fun everyTruncationIsNoticed() {
        for (size in file.indices step 97) assertThrows(ModelFileException::class.java) { ModelFile.read(ByteBuffer.wrap(file, 0, size)) }
    }

    @Test
    fun everyChangedByteOfTheGraphIsNoticed() {
        val random = Random(18)
        repeat(200) {
            val changed = file.copyOf()
            val at = random.nextInt(model.size)
            changed[at] = (changed[at] + 1 + random.nextInt(255)).toByte()
            assertThrows("byte $at", ModelFileException::class.java) { ModelFile.read(ByteBuffer.wrap(changed)) }
        }
    }

    @Test
    fun refusals() {
        val cases =
            listOf(
                ByteBuffer.wrap(model) to "no assets at its end",
                ByteBuffer.allocate(0) to "no assets at its end",
                PackedModel.of(config.replace("\"format\": 1", "\"format\": 2")) to "format 2; this version reads up to 1",
                PackedModel.of(config.replace("\"unicode\"", "\"icu\"")) to "unknown word splitter 'icu'",
                PackedModel.of(config.replace("\"intent_slots\"", "\"summary\"")) to "the task 'summary' is unknown",
                PackedModel.of(config.replace("\"projection\"", "\"bytes\"")) to "of the kind 'bytes'; this version knows subwords and projection",
                PackedModel.of(config.replace("\"kind\": \"crf\"", "\"kind\": \"maxent\"")) to "of the kind 'maxent'; this version knows linear and crf",
                PackedModel.of(config.replace("\"O\",", "\"O\", \"X-y\",")) to "has the label 'X-y'",
                PackedModel.of(config.dropLast(3)) to "tfdistil.json cannot be read as JSON",
                PackedModel.of(graph = byteArrayOf(0) + model) to "no TFL3 at byte 4",
                PackedModel.of(others = mapOf("../model" to ByteArray(1))) to "an asset with the name '../model'",
                PackedModel.of(method = ZipEntry.DEFLATED) to "is compressed or encrypted",
                PackedModel.of(checksum = "00") to "the checksum of 'model' is",
            )
        for ((bytes, expected) in cases) {
            val error = refusal(bytes) ?: throw AssertionError("nothing is wrong where it should be: $expected")
            assertTrue("'${error.message}' instead of '$expected'", expected in error.message!!)
        }
    }

    @Test
    fun foreignTokenizersAreRefusedByName() {
        val file = (Vectors.items("subwords-tokenizers").single() as Map<*, *>)["tokenizer"] as Map<*, *>
        val splitter = mapOf("type" to "WhitespaceSplit")
        val metaspace = mapOf("type" to "Metaspace", "replacement" to "_", "prepend_scheme" to "first", "split" to true)
        val cases =
            listOf(
                ("model" to mapOf("type" to "WordLevel")) to "of the type 'WordLevel'; this version knows BPE, Unigram, WordPiece",
                ("model" to mapOf("type" to "Unigram", "vocab" to listOf(listOf("a")))) to "has ['a'] at 0; expected a piece and its score",
                ("model" to mapOf("type" to "Unigram", "vocab" to listOf(listOf("a", 0L)))) to "has no unk_id",
                ("model" to mapOf("type" to "BPE", "byte_fallback" to true)) to "has byte_fallback",
                ("model" to mapOf("type" to "BPE", "dropout" to 0.1)) to "has dropout",
                ("model" to mapOf("type" to "BPE", "end_of_word_suffix" to "</w>")) to "has end_of_word_suffix: '</w>'",
                ("model" to mapOf("type" to "BPE", "merges" to listOf("ab"))) to "has the merge 'ab'; expected two pieces",
                ("model" to mapOf("type" to "BPE", "vocab" to emptyMap<String, Any>(), "merges" to listOf("a b"))) to "has no piece 'a'",
                ("normalizer" to mapOf("type" to "NFKC")) to "of the type 'NFKC'; this version knows BertNormalizer, Lowercase, Precompiled",
                ("normalizer" to mapOf("type" to "Precompiled", "precompiled_charsmap" to "?")) to "has a precompiled_charsmap that is no Base64",
                ("normalizer" to mapOf("type" to "Precompiled", "precompiled_charsmap" to "/////w==")) to "of 4 bytes whose trie has -1",
                ("normalizer" to mapOf("type" to "Replace", "pattern" to mapOf("Regex" to "a+"), "content" to "")) to "is Regex 'a+'",
                ("pre_tokenizer" to mapOf("type" to "Whitespace")) to "of the type 'Whitespace'; this version knows BertPreTokenizer, ByteLevel",
                ("pre_tokenizer" to metaspace + ("prepend_scheme" to "last")) to "has the prepend_scheme 'last'",
                ("pre_tokenizer" to metaspace + ("replacement" to "__")) to "has the replacement '__'; expected one character",
                ("pre_tokenizer" to metaspace + ("str_rep" to "_")) to "has the setting 'str_rep', which this version does not know",
                ("pre_tokenizer" to mapOf("type" to "Sequence", "pretokenizers" to listOf(splitter, metaspace))) to "'first' behind another",
                ("added_tokens" to listOf(mapOf("content" to "<b>", "special" to false))) to "is '<b>', which is not special",
            )
        for ((change, expected) in cases) {
            val changed = Fields((file + change).mapKeys { it.key as String }, "tokenizer.json")
            val error = assertThrows(ModelFileException::class.java) { TokenizerFile.read(changed) }
            assertTrue("'${error.message}' instead of '$expected'", expected in error.message!!)
        }
    }

    /** What [ModelFile] and the featurizer say of a file; whatever else they raise goes through. */
    private fun refusal(bytes: ByteBuffer): ModelFileException? =
        try {
            ModelFile.read(bytes).newFeaturizer()
            null
        } catch (error: ModelFileException) {
            error
        }
}
