package org.tfdistil.demo

import android.content.ContentProvider
import android.content.ContentValues
import android.database.Cursor
import android.database.MatrixCursor
import android.net.Uri
import android.os.ParcelFileDescriptor
import android.provider.OpenableColumns
import org.robolectric.Robolectric
import java.io.File
import java.io.FileNotFoundException

/** Another app that has one file, until it deletes it, or the phone withdraws the permission to read it. */
internal class Storage : ContentProvider() {
    private lateinit var file: File
    var withdrawn = false

    override fun onCreate() = true

    override fun query(
        uri: Uri,
        columns: Array<String>?,
        selection: String?,
        arguments: Array<String>?,
        order: String?,
    ): Cursor {
        allow()
        return MatrixCursor(arrayOf(OpenableColumns.DISPLAY_NAME)).apply { if (file.exists()) addRow(arrayOf(file.name)) }
    }

    override fun openFile(
        uri: Uri,
        mode: String,
    ): ParcelFileDescriptor {
        allow()
        if (!file.exists()) throw FileNotFoundException("no such document")
        return ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY)
    }

    override fun getType(uri: Uri) = "application/octet-stream"

    override fun insert(
        uri: Uri,
        values: ContentValues?,
    ): Uri? = null

    override fun delete(
        uri: Uri,
        selection: String?,
        arguments: Array<String>?,
    ): Int = if (file.delete()) 1 else 0

    override fun update(
        uri: Uri,
        values: ContentValues?,
        selection: String?,
        arguments: Array<String>?,
    ): Int = 0

    /** In the words of Android. */
    private fun allow() {
        if (withdrawn) throw SecurityException("Permission Denial: opening provider $AUTHORITY requires that you obtain access using ACTION_OPEN_DOCUMENT")
    }

    companion object {
        private const val AUTHORITY = "org.example.storage"
        val URI: Uri = Uri.parse("content://$AUTHORITY/document/7")

        fun with(file: File): Storage = Robolectric.buildContentProvider(Storage::class.java).create(AUTHORITY).get().also { it.file = file }
    }
}
