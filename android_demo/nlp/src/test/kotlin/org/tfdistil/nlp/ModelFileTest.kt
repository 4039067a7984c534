package org.tfdistil.nlp

import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.ByteArrayOutputStream
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Random
import java.util.zip.CRC32
import java.util.zip.Deflater
import java.util.zip.ZipEntry
import java.util.zip.ZipOutputStream

/** Files as they should be and as they should not: whatever is wrong is a [ModelFileException]. */
class ModelFileTest {
    private val file = File(System.getProperty("vectors"), "model.tflite").readBytes()
    private val archive = Archive.open(ByteBuffer.wrap(file))
    private val model = bytesOf(archive.model)
    private val config = String(bytesOf(archive.assets.getValue("tfdistil.json")))
    private val others = (archive.assets - "tfdistil.json").mapValues { bytesOf(it.value) }

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
        ModelFile.read(packed(config))
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
    fun graphsThatFitTheirChecksumRaiseNothingElse() {
        val random = Random(18)
        var refused = 0
        repeat(600) {
            val changed = model.copyOf()
            // Where the tables of tensors and signatures lie, and anywhere.
            repeat(1 + random.nextInt(8)) { changed[random.nextInt(changed.size)] = random.nextInt().toByte() }
            for (at in 0 until 4) if (random.nextInt(4) == 0) changed[at] = random.nextInt().toByte()
            if (refusal(packed(config, changed)) != null) refused++
        }
        assertTrue("$refused", refused > 100)
    }

    @Test
    fun settingsThatFitTheirChecksumRaiseNothingElse() {
        val random = Random(18)
        var refused = 0
        val odd = listOf("null", "-1", "0", "1e400", "1.5", "\"\"", "[]", "{}", "true", "99999999999999999999", "[[[[1]]]]")
        val places = Regex("(?<=: )(\"[^\"]*\"|-?[0-9.e+-]+|true|false)").findAll(config).map { it.range }.toList()
        repeat(1000) {
            val changed = config.replaceRange(places[random.nextInt(places.size)], odd[random.nextInt(odd.size)])
            if (refusal(packed(changed)) != null) refused++
        }
        assertTrue("$refused", refused > 500)
    }

    @Test
    fun refusals() {
        val cases =
            listOf(
                ByteBuffer.wrap(model) to "no assets at its end",
                ByteBuffer.allocate(0) to "no assets at its end",
                packed(config.replace("\"format\": 1", "\"format\": 2")) to "format 2; this version reads up to 1",
                packed(config.replace("\"unicode\"", "\"icu\"")) to "unknown word splitter 'icu'",
                packed(config.replace("\"intent_slots\"", "\"summary\"")) to "the task 'summary' is unknown",
                packed(config.replace("\"projection\"", "\"bytes\"")) to "of the kind 'bytes'; this version knows subwords and projection",
                packed(config.replace("\"kind\": \"crf\"", "\"kind\": \"maxent\"")) to "of the kind 'maxent'; this version knows linear and crf",
                packed(config.replace("\"O\",", "\"O\", \"X-y\",")) to "has the label 'X-y'",
                packed(config.dropLast(3)) to "tfdistil.json is no JSON",
                packed(config, byteArrayOf(0) + model) to "no TFL3 at byte 4",
                packed(config, name = "../model") to "an asset with the name '../model'",
                packed(config, method = ZipEntry.DEFLATED) to "is compressed or encrypted",
                packed(config, checksum = "00") to "the checksum of 'model' is",
            )
        for ((bytes, expected) in cases) {
            val error = refusal(bytes) ?: throw AssertionError("nothing is wrong where it should be: $expected")
            assertTrue("'${error.message}' instead of '$expected'", expected in error.message!!)
        }
    }

    @Test
    fun foreignTokenizersAreRefusedByName() {
        val file = (Vectors.items("subwords-tokenizers").single() as Map<*, *>)["tokenizer"] as Map<*, *>
        val cases =
            listOf(
                ("model" to mapOf("type" to "Unigram")) to "of the type 'Unigram'; this version knows WordPiece",
                ("normalizer" to mapOf("type" to "Precompiled")) to "of the type 'Precompiled'; this version knows BertNormalizer",
                ("pre_tokenizer" to mapOf("type" to "Metaspace")) to "of the type 'Metaspace'; this version knows BertPreTokenizer",
                ("pre_tokenizer" to null) to "has no pre_tokenizer",
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

    /** A model file with the checksums that fit it, where nothing else is said. */
    private fun packed(
        config: String,
        model: ByteArray = this.model,
        name: String = "projection.json",
        method: Int = ZipEntry.STORED,
        checksum: String = sha256(model).hex(),
    ): ByteBuffer {
        val sums = Regex("\"model\": \"[0-9a-f]*\"")
        val assets =
            others.mapKeys { (asset, _) -> if (asset == "projection.json") name else asset } +
                ("tfdistil.json" to config.replace(sums, "\"model\": \"$checksum\"").toByteArray())
        val bytes = ByteArrayOutputStream()
        bytes.write(model)
        val zip = ByteArrayOutputStream()
        ZipOutputStream(zip).use { out ->
            out.setLevel(Deflater.BEST_COMPRESSION)
            for ((asset, content) in assets) {
                val entry = ZipEntry(asset)
                entry.method = method
                entry.size = content.size.toLong()
                entry.crc = CRC32().apply { update(content) }.value
                out.putNextEntry(entry)
                out.write(content)
            }
        }
        bytes.write(shifted(zip.toByteArray(), model.size, assets.size))
        return ByteBuffer.wrap(bytes.toByteArray())
    }

    /** A zip whose offsets count from a number of bytes before it. */
    private fun shifted(
        zip: ByteArray,
        by: Int,
        entries: Int,
    ): ByteArray {
        val data = ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN)
        val end = zip.size - 22
        var at = data.getInt(end + 16)
        data.putInt(end + 16, at + by)
        repeat(entries) {
            data.putInt(at + 42, data.getInt(at + 42) + by)
            at += 46 + data.getShort(at + 28) + data.getShort(at + 30) + data.getShort(at + 32)
        }
        return zip
    }

    private fun bytesOf(buffer: ByteBuffer) = ByteArray(buffer.remaining()).also { buffer.duplicate().get(it) }
}
