package org.tfdistil.nlp

import com.sun.jna.Memory
import com.sun.jna.NativeLong
import com.sun.jna.Pointer
import com.sun.jna.ptr.LongByReference
import com.sun.jna.ptr.PointerByReference
import java.nio.Buffer
import java.nio.ByteBuffer

/** A graph in the very library that Python runs. Its memory lasts as long as the tests. */
internal class LiteRtGraph(
    private val lite: LiteRt,
    private val bytes: ByteBuffer,
) : Graph {
    private val environment = made { lite.LiteRtCreateEnvironment(0, null, it) }
    private val model =
        made { lite.LiteRtCreateModelFromBuffer(environment, bytes, NativeLong(bytes.limit().toLong()), it) }
    private val compiled = compile()
    private val signatures = HashMap<String, Entry>()

    init {
        for (at in 0 until count { lite.LiteRtGetNumModelSignatures(model, it) }) {
            val signature = made { lite.LiteRtGetModelSignature(model, NativeLong(at), it) }
            signatures[made { lite.LiteRtGetSignatureKey(signature, it) }.getString(0)] = Entry(at, signature)
        }
    }

    override fun run(
        signature: String,
        inputs: Map<String, ByteBuffer>,
        outputs: Map<String, ByteBuffer>,
    ) = signatures.getValue(signature).run(inputs, outputs)

    override fun close() = Unit

    private fun compile(): Pointer {
        val options = made { lite.LiteRtCreateOptions(it) }
        check(lite.LiteRtSetOptionsHardwareAccelerators(options, CPU))
        return made { lite.LiteRtCreateCompiledModel(environment, model, options, it) }
    }

    private inner class Entry(
        at: Long,
        signature: Pointer,
    ) {
        private val place = NativeLong(at)
        private val inputs =
            List(count { lite.LiteRtGetNumSignatureInputs(signature, it) }.toInt()) { NativeLong(it.toLong()) }.associate { n ->
                val name = made { lite.LiteRtGetSignatureInputName(signature, n, it) }.getString(0)
                val tensor = made { lite.LiteRtGetSignatureInputTensorByIndex(signature, n, it) }
                name to buffer(tensor, made { lite.LiteRtGetCompiledModelInputBufferRequirements(compiled, place, n, it) })
            }
        private val outputs =
            List(count { lite.LiteRtGetNumSignatureOutputs(signature, it) }.toInt()) { NativeLong(it.toLong()) }.associate { n ->
                val name = made { lite.LiteRtGetSignatureOutputName(signature, n, it) }.getString(0)
                val tensor = made { lite.LiteRtGetSignatureOutputTensorByIndex(signature, n, it) }
                name to buffer(tensor, made { lite.LiteRtGetCompiledModelOutputBufferRequirements(compiled, place, n, it) })
            }

        fun run(
            given: Map<String, ByteBuffer>,
            wanted: Map<String, ByteBuffer>,
        ) {
            for ((name, buffer) in inputs) locked(buffer, WRITE) { copy(given.getValue(name), it) }
            val (from, to) = inputs.values.toTypedArray() to outputs.values.toTypedArray()
            check(lite.LiteRtRunCompiledModel(compiled, place, NativeLong(from.size.toLong()), from, NativeLong(to.size.toLong()), to))
            for ((name, buffer) in wanted) locked(outputs.getValue(name), READ) { copy(it, buffer) }
        }

        private fun buffer(
            tensor: Pointer,
            requirements: Pointer,
        ): Pointer {
            val type = Memory(TYPE_BYTES)
            check(lite.LiteRtGetRankedTensorType(tensor, type))
            return made { lite.LiteRtCreateManagedTensorBufferFromRequirements(environment, type, requirements, it) }
        }

        private fun copy(
            from: ByteBuffer,
            to: Pointer,
        ) = to.write(0, ByteArray(from.capacity()).also { from.duplicate().get(it) }, 0, from.capacity())

        private fun copy(
            from: Pointer,
            to: ByteBuffer,
        ) {
            (to as Buffer).clear()
            to.put(from.getByteArray(0, to.capacity()))
            (to as Buffer).clear()
        }

        private fun locked(
            buffer: Pointer,
            mode: Int,
            use: (Pointer) -> Unit,
        ) {
            use(made { lite.LiteRtLockTensorBuffer(buffer, it, mode) })
            check(lite.LiteRtUnlockTensorBuffer(buffer))
        }
    }

    private fun made(make: (PointerByReference) -> Int): Pointer = PointerByReference().also { check(make(it)) }.value

    private fun count(get: (LongByReference) -> Int): Long = LongByReference().also { check(get(it)) }.value

    private fun check(status: Int) = check(status == 0) { "LiteRT gives the status $status" }

    private companion object {
        const val CPU = 1
        const val READ = 0
        const val WRITE = 1
        const val TYPE_BYTES = 256L // of a struct of some 70
    }
}
