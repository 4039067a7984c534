package org.tfdistil.demo

import android.content.ContentResolver
import android.content.Context
import android.net.Uri
import android.provider.OpenableColumns
import org.tfdistil.nlp.ModelFileException
import java.io.File
import java.io.FileInputStream
import java.io.FileNotFoundException
import java.io.IOException
import java.io.InputStream
import java.nio.MappedByteBuffer
import java.nio.channels.FileChannel

/**
 * Where models come from: those in the app, and a file that was chosen, of which the app keeps a copy.
 *
 * The copy is what is mapped: another app may shorten its own file while it is in use here, and a
 * mapping of it would then end the process.
 */
internal class ModelStore(
    private val context: Context,
) {
    private val chosen = File(context.filesDir, "chosen")

    /** Names of the models in the app, in order. */
    fun bundled(): List<String> = context.assets.list("").orEmpty().filter { it.endsWith(".tflite") }.sorted()

    /**
     * Opens a model of the app, or the one that was chosen last.
     *
     * @throws IOException it cannot be mapped.
     * @throws ModelFileException it is gone, or cannot be used.
     */
    fun open(name: String): Model = Model(name, map(name))

    /** Maps the file of a model: see [open]. */
    fun map(name: String): MappedByteBuffer {
        val copy = File(chosen, name)
        if (copy.isFile) return map(copy)
        if (name !in bundled()) throw ModelFileException("the app has no copy of it any more. Choose the file again")
        return mapAsset(name)
    }

    /**
     * Opens a file from storage and keeps a copy of it, if it can be used. A model whose name is one in the
     * app gets another.
     *
     * @throws IOException it cannot be copied or mapped.
     * @throws ModelFileException it cannot be read any more, or cannot be used.
     */
    fun import(uri: Uri): Model {
        val (shown, input) = given(uri)
        val name = if (shown in bundled()) "${shown.removeSuffix(".tflite")} (1).tflite" else shown
        val copy = File(context.cacheDir, "incoming.tflite")
        try {
            input.use { from -> copy.outputStream().use { from.copyTo(it) } }
            val model = Model(name, map(copy))
            chosen.deleteRecursively()
            chosen.mkdirs()
            copy.renameTo(File(chosen, name)) // the mapping is of the file, not of its name
            return model
        } finally {
            copy.delete()
        }
    }

    /** A file that another app has, by its name and content. That app may have deleted it, and the phone may have withdrawn the permission. */
    private fun given(uri: Uri): Pair<String, InputStream> =
        try {
            nameOf(uri) to (context.contentResolver.openInputStream(uri) ?: throw FileNotFoundException())
        } catch (error: FileNotFoundException) {
            throw ModelFileException("it is not there any more. Choose another file", error)
        } catch (error: SecurityException) {
            throw ModelFileException("this app may not read it any more. Choose the file again", error)
        }

    /** What the app that has a file calls it, as the name of a file here. */
    fun nameOf(uri: Uri): String {
        val name = shownName(uri) ?: uri.lastPathSegment ?: uri.toString()
        val own = name.substringAfterLast('/').filterNot { it.isISOControl() || it.isSurrogate() }.takeLast(LONGEST_NAME)
        return if (own.all { it == '.' }) "model.tflite" else own
    }

    private fun shownName(uri: Uri): String? {
        if (uri.scheme != ContentResolver.SCHEME_CONTENT) return null
        return try {
            context.contentResolver.query(uri, arrayOf(OpenableColumns.DISPLAY_NAME), null, null, null)?.use { rows ->
                if (rows.moveToFirst()) rows.getString(0) else null
            }
        } catch (_: RuntimeException) {
            null // No permission, or whatever else goes wrong in the other app: it has a name all the same.
        }
    }

    private fun mapAsset(name: String): MappedByteBuffer =
        context.assets.openFd(name).use { asset ->
            FileInputStream(asset.fileDescriptor).use { input ->
                input.channel.map(FileChannel.MapMode.READ_ONLY, asset.startOffset, asset.declaredLength)
            }
        }

    companion object {
        private const val LONGEST_NAME = 80 // in UTF-8 at most 240 bytes; file systems take 255

        /** Maps a whole file. */
        fun map(file: File): MappedByteBuffer =
            FileInputStream(file).use { it.channel.map(FileChannel.MapMode.READ_ONLY, 0, file.length()) }
    }
}
