package org.tfdistil.nlp

import com.sun.jna.Library
import com.sun.jna.Native
import com.sun.jna.NativeLong
import com.sun.jna.Pointer
import com.sun.jna.ptr.LongByReference
import com.sun.jna.ptr.PointerByReference
import java.nio.ByteBuffer

/** The C interface of `libLiteRt.so`, which the Python package brings along. All return 0 if all is well. */
@Suppress("FunctionName") // C's
internal interface LiteRt : Library {
    fun LiteRtCreateEnvironment(count: Int, options: Pointer?, made: PointerByReference): Int

    fun LiteRtCreateModelFromBuffer(environment: Pointer, bytes: ByteBuffer, size: NativeLong, made: PointerByReference): Int

    fun LiteRtCreateOptions(made: PointerByReference): Int

    fun LiteRtSetOptionsHardwareAccelerators(options: Pointer, set: Int): Int

    fun LiteRtCreateCompiledModel(environment: Pointer, model: Pointer, options: Pointer, made: PointerByReference): Int

    fun LiteRtGetNumModelSignatures(model: Pointer, count: LongByReference): Int

    fun LiteRtGetModelSignature(model: Pointer, at: NativeLong, found: PointerByReference): Int

    fun LiteRtGetSignatureKey(signature: Pointer, found: PointerByReference): Int

    fun LiteRtGetNumSignatureInputs(signature: Pointer, count: LongByReference): Int

    fun LiteRtGetNumSignatureOutputs(signature: Pointer, count: LongByReference): Int

    fun LiteRtGetSignatureInputName(signature: Pointer, at: NativeLong, found: PointerByReference): Int

    fun LiteRtGetSignatureOutputName(signature: Pointer, at: NativeLong, found: PointerByReference): Int

    fun LiteRtGetSignatureInputTensorByIndex(signature: Pointer, at: NativeLong, found: PointerByReference): Int

    fun LiteRtGetSignatureOutputTensorByIndex(signature: Pointer, at: NativeLong, found: PointerByReference): Int

    fun LiteRtGetRankedTensorType(tensor: Pointer, type: Pointer): Int

    fun LiteRtGetCompiledModelInputBufferRequirements(model: Pointer, signature: NativeLong, at: NativeLong, found: PointerByReference): Int

    fun LiteRtGetCompiledModelOutputBufferRequirements(model: Pointer, signature: NativeLong, at: NativeLong, found: PointerByReference): Int

    fun LiteRtCreateManagedTensorBufferFromRequirements(
        environment: Pointer,
        type: Pointer,
        requirements: Pointer,
        made: PointerByReference,
    ): Int

    fun LiteRtLockTensorBuffer(buffer: Pointer, address: PointerByReference, mode: Int): Int

    fun LiteRtUnlockTensorBuffer(buffer: Pointer): Int

    fun LiteRtRunCompiledModel(
        model: Pointer,
        signature: NativeLong,
        inputCount: NativeLong,
        inputs: Array<Pointer>,
        outputCount: NativeLong,
        outputs: Array<Pointer>,
    ): Int

    companion object {
        /** @param file the library's path. */
        fun load(file: String): LiteRt = Native.load(file, LiteRt::class.java)
    }
}
